"""Parsers of the URL Standard that others wrote: lists of URLs in, lists of hrefs out.

ada-url from PyPI, which Node.js has, too, and whatwg-url from npm are in build/exchange after `make
fetch`. Chromium's is asked where it is installed.
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unicodedata
import urllib.parse

from fetched import BUILD, Missing, module

CHROMIUM = "/usr/bin/chromium"
HREF = "const href = (url) => { try { return new URL(url).href; } catch { return null; } };"


def by_ada(urls):
    ada_url = module("ada_url")

    def href(url):
        try:
            return ada_url.URL(url).href
        except ValueError:
            return None

    return list(map(href, urls))


def by_whatwg(urls):
    folder = BUILD / "whatwg-url"
    if not (folder / "node_modules" / "whatwg-url").exists():
        raise Missing("whatwg-url is missing: make fetch")
    if shutil.which("node") is None:
        raise Missing("node is not installed")
    script = (f"const {{ URL }} = require({json.dumps(str(folder / 'node_modules/whatwg-url'))});"
              "const urls = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
              f"{HREF} process.stdout.write(JSON.stringify(urls.map(href)));")
    ran = subprocess.run(["node", "-e", script], input=json.dumps(urls), stdout=subprocess.PIPE,
                         text=True, encoding="ascii", errors="surrogatepass", check=True)
    return json.loads(ran.stdout)


def by_chromium(urls):
    """By a page that writes what it made of the URLs into itself."""
    if shutil.which(CHROMIUM) is None:
        raise Missing("chromium is not installed")
    script = (f"{HREF} document.body.textContent = JSON.stringify({json.dumps(urls)}.map(href));")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        page.write_text("<!doctype html><meta charset=utf-8><body><script>"
                        + script.replace("<", "\\u003c") + "</script>", encoding="ascii")
        dom = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                              f"--user-data-dir={folder}/profile", "--dump-dom", page.as_uri()],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             check=True).stdout
    return json.loads(html.unescape(re.search(r"<body>(.*)</body>", dom, re.DOTALL)[1]))


def is_explained(parser, text, href):
    """Whether a parser may open something else than has the key (ext/URLS.md)."""
    text = urllib.parse.unquote(text)
    if parser is by_chromium:
        # It escapes a * before it maps a name. The standard opens such a name as it is.
        host = href.split("/")[2].rpartition("@")[2]
        return "%2A" in host and "%20" not in host
    # ada-url has rules of its own for names with letters from right to left
    # and for labels that begin with xn--. What this Python does not know may be such a letter.
    # Its marks, with which no label may begin, are those of Unicode 13.
    labels = re.split("[/@.\u3002\uff0e\uff61]", unicodedata.normalize("NFC", text))
    if any(unicodedata.category(label[0]).startswith("M") for label in labels if label):
        return True
    visible = "".join(character for character in unicodedata.normalize("NFKC", text)
                      if unicodedata.category(character) not in ("Cf", "Mn")).lower()
    return "xn-" in visible or any(unicodedata.bidirectional(character) in ("R", "AL", "AN", "")
                                   for character in text)

"""Parsers of the URL Standard that others wrote: lists of URLs in, lists of hrefs out.

ada-url from PyPI and whatwg-url from npm are in build/exchange after `make fetch`. Node's own and
Chromium's are asked where they are installed.
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

HERE = pathlib.Path(__file__).resolve().parent
CHROMIUM = "/usr/bin/chromium"


def answers(command, urls):
    ran = subprocess.run(command, input=json.dumps(urls), stdout=subprocess.PIPE, text=True,
                         encoding="ascii", errors="surrogatepass", check=True)
    return json.loads(ran.stdout)


def by_ada(urls):
    ada_url = module("ada_url")

    def href(url):
        try:
            return ada_url.URL(url).href
        except ValueError:
            return None

    return list(map(href, urls))


def node():
    if shutil.which("node") is None:
        raise Missing("node is not installed")
    return "node"


def by_whatwg(urls):
    folder = BUILD / "whatwg-url"
    if not (folder / "node_modules" / "whatwg-url").exists():
        raise Missing("whatwg-url is missing: make fetch")
    return answers([node(), HERE / "node_side.mjs", folder], urls)


def by_node(urls):
    return answers([node(), HERE / "node_side.mjs"], urls)


def by_chromium(urls):
    """By a page that writes what it made of the URLs into itself."""
    if shutil.which(CHROMIUM) is None:
        raise Missing("chromium is not installed")
    script = ("const href = (url) => { try { return new URL(url).href; } catch { return null; } };"
              f"document.body.textContent = JSON.stringify({json.dumps(urls)}.map(href));")
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
    if parser is by_node and "\u1e9e" in text:
        return True  # Node up to 20 has the tables before Unicode 15.1
    # ada-url, which Node has, too, has rules of its own for names with letters from right to left
    # and for labels that begin with xn--. What this Python does not know may be such a letter.
    # Its marks, with which no label may begin, are those of Unicode 13.
    labels = re.split("[/@.\u3002\uff0e\uff61]", unicodedata.normalize("NFC", text))
    if any(unicodedata.category(label[0]).startswith("M") for label in labels if label):
        return True
    visible = "".join(character for character in unicodedata.normalize("NFKC", text)
                      if unicodedata.category(character) not in ("Cf", "Mn")).lower()
    return "xn-" in visible or any(unicodedata.bidirectional(character) in ("R", "AL", "AN", "")
                                   for character in text)

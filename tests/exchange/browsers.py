"""Parsers of the URL Standard that others wrote: lists of URLs in, lists of hrefs out.

whatwg-url from npm is in build/exchange after `make fetch`. Chromium's is asked where it is
installed.
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from fetched import BUILD, Missing

CHROMIUM = "/usr/bin/chromium"
HREF = "const href = (url) => { try { return new URL(url).href; } catch { return null; } };"


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

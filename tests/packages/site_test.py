#!/usr/bin/env python3
"""The site of the pages: what MkDocs made of each, every link, and a look at it in Chromium."""
import functools
import html.parser
import http.server
import pathlib
import re
import threading
import unittest
from urllib.parse import unquote, urlparse

from common import BUILD, CHROMIUM, DRIVERS, TOP, chromium, needs, release

SITE = BUILD / "site/html"
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# Of the rules that axe breaks on pages of Material, those are let pass that it calls moderate.
AXE = """async () => (await axe.run()).violations
    .filter(({impact}) => impact === "serious" || impact === "critical")
    .map(({id, nodes}) => `${id}: ${nodes[0].html}`)"""
LOOKED_AT = ["index.html", "sql/QUESTIONS.html", "sql/which_list.sql.html",
             "ext/packages/python/index.html"]


class Read(html.parser.HTMLParser):
    """What a page links to, what it loads, and the names of its places."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.names = set(), set(), {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.names.add(given.get("id"))
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") != "canonical":
            self.loaded.add(given["href"])
        elif "src" in given:
            self.loaded.add(given["src"])


class Files(unittest.TestCase):
    def test_lists_tables_and_headings_are_those_of_the_sources(self):
        """MkDocs needs blank lines and four blanks where GitHub does not."""
        pages = [name for name in release.sources() if name.endswith(".md")]
        self.assertGreater(len(pages), 30)
        for name in pages:
            text = FENCE.sub("", (TOP / name).read_text(encoding="utf-8"))
            made = re.sub(r"(README)?\.md$", lambda found: "index.html" if found[1] else ".html",
                          name)
            article = re.search(r"<article.*</article>",
                                (SITE / made).read_text(encoding="utf-8"), re.DOTALL)[0]
            with self.subTest(page=name):
                self.assertEqual(
                    [len(re.findall(tag, article)) for tag in ("<li>", "<tr>", "<h[1-6]")],
                    [len(re.findall(marks, text, re.MULTILINE)) for marks in (
                        r"^ *(?:-|\d+\.) ", r"^\|(?!:?-)", "^#+ ")])

    def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(self):
        pages = {path: Read(path) for path in SITE.rglob("*.html") if path.name != "404.html"}
        followed = 0
        for path, page in pages.items():
            for link in page.links | page.loaded:
                address = urlparse(link)
                if link in page.links and (address.scheme or path.name == "try.html"):
                    continue
                with self.subTest(page=path.relative_to(SITE), link=link):
                    self.assertIn(address.scheme, ("", "data"))
                    if not address.scheme:
                        target = (path.parent / unquote(address.path) if address.path
                                  else path).resolve()
                        target /= "index.html" if target.is_dir() else ""
                        self.assertTrue(target.is_file())
                        if target in pages and target.name != "try.html":
                            self.assertIn(unquote(address.fragment), pages[target].names)
                        followed += 1
        self.assertGreater(followed, 2000)


@needs("npm", CHROMIUM)
class Looks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
        cls.addClassCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.shutdown)
        cls.address = f"http://127.0.0.1:{server.server_port}/"
        cls.axe = (DRIVERS / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
        cls.browser = cls.enterClassContext(chromium())

    def open(self, width, scheme):
        context = self.browser.new_context(viewport={"width": width, "height": 900},
                                           color_scheme=scheme, reduced_motion="reduce")
        self.addCleanup(context.close)
        page, self.wrong = context.new_page(), []
        page.on("request", lambda request: None if request.url.startswith((self.address, "blob:"))
                else self.wrong.append(request.url))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda message: self.wrong.append(message.text)
                if message.type == "error" else None)
        return page

    def test_two_widths_light_and_dark(self):
        for width, scheme, background in ((1280, "light", "rgb(255, 255, 255)"),
                                          (390, "dark", "rgb(30, 33, 41)")):
            page = self.open(width, scheme)
            for name in LOOKED_AT:
                with self.subTest(page=name, width=width):
                    page.goto(self.address + name, wait_until="load")
                    page.evaluate(self.axe)
                    self.assertEqual(page.evaluate(AXE), [])
                    self.assertEqual(
                        page.evaluate("document.documentElement.scrollWidth"), width)
                    self.assertEqual(page.evaluate(
                        "getComputedStyle(document.body).backgroundColor"), background)
            self.assertEqual(self.wrong, [])

    def test_search_finds_a_question(self):
        page = self.open(1280, "light")
        page.goto(self.address)
        page.fill(".md-search__input", "delete a key")
        found = page.locator(".md-search-result__article h2, .md-search-result__article h1",
                             has_text="How do I delete a key?")
        found.first.click()
        page.wait_for_url("**/sql/QUESTIONS.html**#how-do-i-delete-a-key")
        self.assertEqual(self.wrong, [])

    @unittest.skipUnless((SITE / "try.html").exists(), "skipped: make page was not run")
    def test_the_first_tab_is_the_page(self):
        page = self.open(1280, "light")
        page.goto(self.address + "ext/URLS.html")
        page.locator(".md-tabs__link").first.click()
        page.wait_for_selector("body[data-ready]")
        self.assertEqual(pathlib.PurePath(urlparse(page.url).path).name, "try.html")


if __name__ == "__main__":
    unittest.main()

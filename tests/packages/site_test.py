#!/usr/bin/env python3
"""The site of the pages: what MkDocs made of each, every link, and a look at it in Chromium."""
import base64
import functools
import html.parser
import http.server
import json
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
# What people type, and the pages that answer it.
SEARCHED = {
    "node": ["ext/packages/npm/index.html"],
    "WAL": ["sql/QUESTIONS.html"],
    "30 days": ["sql/index.html", "sql/QUESTIONS.html"],
    "expire": ["sql/index.html", "sql/QUESTIONS.html"],
    "webhook": ["sql/index.html", "sql/recent_events.sql.html", "sql/handled_events.sql.html"],
    "dedupe": ["sql/index.html"],
    "password": ["sql/passwords.sql.html"],
    "delete a key": ["sql/QUESTIONS.html"]}
# Of a page: the bar, the paper, the words of a heading and of a link, their letters and places.
LOOK = """() => {
    const style = (name) => getComputedStyle(document.querySelector(name));
    const {x, y} = document.querySelector("h1").getBoundingClientRect();
    const bar = document.querySelector(".md-tabs, #bar nav").getBoundingClientRect();
    return [style(".md-header, #bar").backgroundColor, style("body").backgroundColor,
            style("h1").color, style("h1").fontSize, style("h1").fontWeight,
            style("h1").fontFamily, style("article p > a, #recipe-links a").color,
            Math.round(x), Math.round(bar.bottom)];
}"""
COLOUR = """async (png) => {
    const image = await createImageBitmap(await (await fetch(png)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return [...canvas.getImageData(image.width / 2, 5, 1, 1).data.slice(0, 3)];
}"""
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(30, 33, 41)"
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

    def test_the_search_knows_pages_and_recipes_but_no_sources(self):
        entries = json.loads((SITE / "search/search_index.json").read_text())["docs"]
        found = {entry["location"].partition("#")[0] for entry in entries}
        recipes = {f"sql/{path.name}.html" for path in (TOP / "sql").glob("*.sql")}
        self.assertEqual({name for name in found if re.search(r"\.\w+\.html$", name)}, recipes)
        self.assertIn("sql/TROUBLE.html", found)
        self.assertNotIn("bloom_agg(key", "".join(
            entry["text"] for entry in entries if ".sql.html" in entry["location"]))

    def test_pages_of_packages_are_titled_by_their_language(self):
        titles = {}
        for path in SITE.glob("ext/packages/*/index.html"):
            text = path.read_text(encoding="utf-8")
            titles[path.parent.name] = [re.search(pattern, text)[1] for pattern in (
                "<title>(.*?)</title>", r"<h1[^>]*>(.*?)<a")]
        self.assertEqual(len(set(map(tuple, titles.values()))), len(titles))
        for folder, language in {"python": "Python", "npm": "Node.js", "go": "Go", "rust": "Rust",
                                 "java": "Java", "ruby": "Ruby", "web": "rowser"}.items():
            for title in titles[folder]:
                self.assertIn(language, title)

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
        for width, scheme, background in ((1280, "light", LIGHT), (390, "dark", DARK)):
            page = self.open(width, scheme)
            for name in LOOKED_AT:
                with self.subTest(page=name, width=width):
                    page.goto(self.address + name, wait_until="load")
                    page.evaluate(self.axe)
                    self.assertEqual(page.evaluate(AXE), [])
                    self.assertEqual(
                        page.evaluate("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.background(page), background)
            self.assertEqual(self.wrong, [])

    def background(self, page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    def test_no_block_is_cut(self):
        """And a line of a hundred characters is one line, as no page has a longer one of code."""
        page = self.open(1280, "light")
        looked = 0
        for path in sorted(SITE.rglob("*.html")):
            page.goto(self.address + str(path.relative_to(SITE)), wait_until="domcontentloaded")
            for text, width, room, letter in page.evaluate("""() => {
                    const measure = document.createElement("code");
                    measure.textContent = "x".repeat(100);
                    return [...document.querySelectorAll(".md-typeset pre > code")].map((code) => {
                        code.append(measure);
                        const {fontSize} = getComputedStyle(measure);
                        measure.style = "font-size: 1em; padding: 0; position: absolute;"
                            + " white-space: pre";
                        const letter = measure.getBoundingClientRect().width;
                        measure.remove();
                        const {paddingLeft, paddingRight} = getComputedStyle(code);
                        return [code.textContent.slice(0, 60), code.scrollWidth, code.clientWidth,
                                letter + parseFloat(paddingLeft) + parseFloat(paddingRight)];
                    });
                }"""):
                looked += 1
                with self.subTest(page=path.relative_to(SITE), block=text):
                    self.assertLessEqual(width, room)
                    self.assertLessEqual(letter, room)
        self.assertGreater(looked, 300)

    def test_the_chart_can_be_read_on_a_phone(self):
        page = self.open(360, "light")
        page.goto(self.address)
        letters = page.evaluate("""async () => {
            const image = document.querySelector("img[src$='figures.svg']");
            const svg = new DOMParser().parseFromString(await (await fetch(image.src)).text(),
                "image/svg+xml").documentElement;
            document.body.append(svg);
            return Math.min(...[...svg.querySelectorAll("text")].map((text) =>
                parseFloat(getComputedStyle(text).fontSize))) * image.width
                / svg.viewBox.baseVal.width;
        }""")
        self.assertGreater(letters, 11)

    def test_the_system_chooses_the_colours_until_the_reader_does(self):
        page = self.open(1280, "light")
        page.goto(self.address)

        def seen():
            chart = base64.b64encode(page.locator("img[src$='figures.svg']").screenshot())
            of_chart = page.evaluate(COLOUR, f"data:image/png;base64,{chart.decode()}")
            return self.background(page), of_chart == [255, 255, 255]
        for scheme, colours in (("light", (LIGHT, True)), ("dark", (DARK, False))) * 2:
            page.emulate_media(color_scheme=scheme)
            self.assertEqual(seen(), colours)
            page.reload()
            self.assertEqual(seen(), colours)
        for chosen, colours in (("Switch to light", (LIGHT, True)),
                                ("Switch to dark", (DARK, False))):
            page.click(f"label[title='{chosen}']:visible")
            for scheme in ("dark", "light"):
                page.emulate_media(color_scheme=scheme)
                page.goto(self.address)
                self.assertEqual(seen(), colours)
                if (SITE / "try.html").exists():
                    page.goto(self.address + "try.html")
                    self.assertEqual(self.background(page), colours[0])
                    page.goto(self.address)
        page.click("label[title='As the system has it']:visible")
        page.emulate_media(color_scheme="light")
        self.assertEqual(seen(), (LIGHT, True))

    def test_what_people_type_gives_the_right_page_first(self):
        for words, answers in SEARCHED.items():
            page = self.open(1280, "light")
            with page.expect_response("**/search_index.json"):
                page.goto(self.address)
            page.locator(".md-search__input").press_sequentially(words, delay=100)
            page.locator(".md-search-result__link").first.click()
            page.wait_for_url("**?h=**")
            with self.subTest(words=words):
                self.assertIn(urlparse(page.url).path.lstrip("/"), answers)
            self.assertEqual(self.wrong, [])

    @unittest.skipUnless((SITE / "try.html").exists(), "skipped: make page was not run")
    def test_the_page_to_try_it_has_the_look_of_the_site_a_way_in_and_back(self):
        for width, scheme in ((1280, "light"), (1920, "dark")):
            page = self.open(width, scheme)
            page.goto(self.address + "ext/URLS.html")
            look = page.evaluate(LOOK)
            tabs = page.locator(".md-tabs__link").all_inner_texts()
            page.locator(".md-tabs__link").first.click()
            page.wait_for_selector("body[data-ready]")
            self.assertEqual(pathlib.PurePath(urlparse(page.url).path).name, "try.html")
            self.assertEqual(page.evaluate(LOOK), look)
            self.assertEqual(page.locator("#site a").all_inner_texts(), tabs)
            page.click("#site >> text=Recipes")
            page.click("article >> text=many_lists.sql")
            page.click("text=run it in your browser")
            page.wait_for_selector("body[data-ready]")
            self.assertIn("There is one filter for each list", page.input_value("#sql"))
            page.click("#home")
            page.wait_for_url("**/index.html")
            self.assertEqual(self.wrong, [])

    @unittest.skipUnless((SITE / "try.html").exists(), "skipped: make page was not run")
    def test_the_page_to_try_it_leads_to_the_search_and_has_the_switch_of_the_colours(self):
        page = self.open(390, "dark")
        for words, colour in (("Switch to light", LIGHT), ("Switch to dark", DARK),
                              ("As the system has it", DARK)):
            page.goto(self.address + "try.html")
            page.wait_for_selector("body[data-ready]")
            self.assertEqual(
                page.evaluate("document.documentElement.scrollWidth"), 390)
            page.click(f"#bar button >> text={words}")
            self.assertEqual(self.background(page), colour)
            page.evaluate(self.axe)
            self.assertEqual(page.evaluate(AXE), [])
            page.click("#bar a >> text=Search")
            page.wait_for_url("**/index.html?q=")
            self.assertEqual(self.background(page), colour)
            self.assertTrue(page.locator(".md-search__input").evaluate(
                "(field) => field === document.activeElement"))
        self.assertEqual(self.wrong, [])


if __name__ == "__main__":
    unittest.main()

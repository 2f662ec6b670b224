#!/usr/bin/env python3
"""The site of the pages: what MkDocs made of each, and a look at it in Chromium."""
import json
import re
import unittest

from common import BUILD, CHROMIUM, DRIVERS, TOP, chromium, needs, release, served

SITE = BUILD / "site/html"
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# Of the rules that axe breaks on pages of Material, those are let pass that it calls moderate.
AXE = """async () => (await axe.run()).violations
    .filter(({impact}) => impact === "serious" || impact === "critical")
    .map(({id, nodes}) => `${id}: ${nodes[0].html}`)"""
# What people type, and the pages that answer it: one of them comes first, and all are on the first
# screen.
SEARCHED = {
    "node": ["ext/packages/npm/index.html"],
    "WAL": ["sql/QUESTIONS.html"],
    "30 days": ["sql/QUESTIONS.html", "sql/handled_events.sql.html"],
    "expire": ["sql/index.html"],
    "TTL": ["sql/index.html"],
    "webhook": ["sql/index.html", "sql/handled_events.sql.html"],
    "dedupe": ["sql/remove_duplicates.sql.html"],
    "tombstone": ["sql/tombstones.sql.html"],
    "deleted": ["sql/TROUBLE.html", "sql/tombstones.sql.html"],
    "spam": ["sql/spam.sql.html"],
    "union": ["sql/REFERENCE.html"],
    "false positives": ["sql/TROUBLE.html", "sql/QUESTIONS.html"],
    "read only": ["sql/QUESTIONS.html"],
    "password": ["sql/passwords.sql.html"],
    "delete a key": ["sql/QUESTIONS.html"]}
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(30, 33, 41)"
LOOKED_AT = ["index.html", "sql/QUESTIONS.html", "sql/which_list.sql.html",
             "ext/packages/python/index.html"]


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


@needs("npm", CHROMIUM)
class Looks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = cls.enterClassContext(served(SITE))
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
                    self.has_colour(page, background)
            self.assertEqual(self.wrong, [])

    def has_colour(self, page, colour):
        from playwright.sync_api import expect  # which waits; chromium() has told where it is

        expect(page.locator("body")).to_have_css("background-color", colour)

    def test_no_block_is_cut_and_nothing_is_loaded_from_elsewhere(self):
        """And a line of a hundred characters is one line, as no page has a longer one of code.
        MkDocs follows the links of all pages when it builds them."""
        page = self.open(1280, "light")
        looked = 0
        for path in sorted(SITE.rglob("*.html")):
            page.goto(self.address + str(path.relative_to(SITE)), wait_until="domcontentloaded")
            for text, hidden, line, room in page.locator(".md-typeset pre > code").evaluate_all(
                    """all => all.map((code) => {
                        const hidden = code.scrollWidth - code.clientWidth;
                        const span = code.appendChild(document.createElement("span"));
                        const widths = ["100ch", "100%"].map((width) => {
                            span.style = `display: inline-block; width: ${width}`;
                            return span.getBoundingClientRect().width;
                        });
                        span.remove();
                        return [code.textContent.slice(0, 60), hidden, ...widths];
                    })"""):
                looked += 1
                with self.subTest(page=path.relative_to(SITE), block=text):
                    self.assertLessEqual(hidden, 0)
                    self.assertLessEqual(line, room)
        self.assertGreater(looked, 300)
        self.assertEqual(self.wrong, [])

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
        for scheme, colour in (("light", LIGHT), ("dark", DARK)) * 2:
            page.emulate_media(color_scheme=scheme)
            self.has_colour(page, colour)
            page.reload()
            self.has_colour(page, colour)
        for chosen, colour in (("Switch to light", LIGHT), ("Switch to dark", DARK)):
            page.click(f"label[title='{chosen}']:visible")
            for scheme in ("dark", "light"):
                page.emulate_media(color_scheme=scheme)
                page.goto(self.address)
                self.has_colour(page, colour)
        page.click("label[title='As the system has it']:visible")
        page.emulate_media(color_scheme="light")
        self.has_colour(page, LIGHT)

    def test_what_people_type_gives_the_right_page_first(self):
        for words, answers in SEARCHED.items():
            page = self.open(1280, "light")
            with page.expect_response("**/search_index.json"):
                page.goto(self.address)
            page.locator(".md-search__input").press_sequentially(words, delay=100)
            page.locator(".md-search-result__link").first.wait_for()
            found = page.locator(".md-search-result__link").evaluate_all(
                """links => links.filter((link) => link.checkVisibility()
                    && link.getBoundingClientRect().top < innerHeight - 100)
                    .map(({pathname}) => pathname.slice(1))""")
            with self.subTest(words=words):
                self.assertIn(found[0], answers)
                self.assertLessEqual(set(answers), set(found))
            self.assertEqual(self.wrong, [])

    @unittest.skipUnless((SITE / "try.html").exists(), "skipped: make page was not run")
    def test_the_page_to_try_it_is_below_the_tabs_in_the_colours_that_the_reader_chose(self):
        for width, scheme, colour in ((1280, "light", LIGHT), (390, "dark", DARK)):
            page = self.open(width, scheme)
            frame = page.frame_locator("#try")
            page.goto(self.address + "sql/many_lists.sql.html")
            page.click("text=run it in your browser")
            frame.locator("body[data-ready]").wait_for()
            self.assertIn("There is one filter for each list",
                          frame.locator("#sql").input_value())
            self.has_colour(frame, colour)
            self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
            page.evaluate(self.axe)
            self.assertEqual(page.evaluate(AXE), [])
            for words in ("Switch to light", "Switch to dark"):
                page.click(f"label[title='{words}']:visible")
            self.has_colour(frame, DARK)
            page.reload()
            self.has_colour(frame, DARK)
        self.assertEqual(self.wrong, [])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Makes the picture of the page that README.md shows, of the page as `make page` builds it.

    screenshot.py [FILE]     instead of ext/packages/web/screenshot.png
"""
import sys

from common import BUILD, TOP, chromium

PICTURE = TOP / "ext/packages/web/screenshot.png"
LIST = "0.0.0.0 evil.example\n||host.example/malware/*"
URLS = ["HTTP://Sub.Evil.example:80/a/../b?c#d", r"http:\\host%2eexample\malware\x",
        "http://notevil.example/"]
# What is asked, and the answers, with a line around them, as the page that shows it may be white.
STYLE = """#ask > :not(#ask-form, #ask-form ~ *), #several ~ * { display: none !important }
#ask { padding: 12px; border: 1px solid #8d9299 }"""


def main(file=PICTURE):
    with chromium() as browser:
        page = browser.new_context(viewport={"width": 960, "height": 900}, color_scheme="light",
                                   reduced_motion="reduce", device_scale_factor=1.5).new_page()
        page.goto((BUILD / "web/index.html").as_uri())
        page.wait_for_selector("body[data-ready]")
        page.click("#own > summary")
        page.fill("#paste", LIST)
        page.click("#use-paste")
        page.wait_for_function("/^pasted/.test(document.getElementById('list-figures').innerText)")
        page.evaluate("lines => document.getElementById('urls').rows = lines", len(URLS))
        page.fill("#urls", "\n".join(URLS))
        page.click("#ask-form button[type=submit]")
        page.wait_for_selector("#several:visible")
        page.evaluate("document.activeElement.blur()")
        page.add_style_tag(content=STYLE)
        page.locator("#ask").screenshot(path=file)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Reads a list of URLs as JSON and writes what ada-url makes of each: its href, or null."""
import json
import sys

import ada_url


def href(url):
    try:
        return ada_url.URL(url).href
    except ValueError:
        return None


json.dump([href(url) for url in json.load(sys.stdin)], sys.stdout)

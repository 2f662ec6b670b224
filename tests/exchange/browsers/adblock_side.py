"""Reads rules of Adblock, each with URLs, as JSON, and writes which of the URLs the engine of Brave
blocks as a part of some other site, of any kind, with that rule only."""
import json
import sys

import adblock

KINDS = ("script", "image", "stylesheet", "xmlhttprequest", "sub_frame", "media", "font", "object",
         "ping", "websocket", "other", "document")


def blocked(rule, urls):
    rules = adblock.FilterSet()
    rules.add_filters([rule])
    engine = adblock.Engine(rules)
    return [any(engine.check_network_urls(url, "https://elsewhere.test/", kind).matched
                for kind in KINDS) for url in urls]


json.dump([blocked(rule, urls) for rule, urls in json.load(sys.stdin)], sys.stdout)

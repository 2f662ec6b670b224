#!/usr/bin/env python3
"""What README's query takes from lists of rules, beside what real engines stop when a person opens
the page: each rule by itself, and each host with all lists.

- Brave's engine, `adblock` from PyPI; uBlock's and Ghostery's from npm
- AdGuard's DNS engine, a Go module that brings lists along
- the lists of Debian's webext-ublock-origin-firefox: EasyList, EasyPrivacy, URLhaus and uBlock's

Engines differ among themselves, so the differences are of known kinds. A difference of another kind
fails, and so does a kind that has no difference. SEED and COUNT choose rules at random.
"""
import collections
import csv
import functools
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest

from fetched import BUILD, Missing, fetched, module
from foreign_test import TOP, WithExtension

COUNT = int(os.environ.get("COUNT", "3000"))
SEED = int(os.environ.get("SEED", "1"))
HERE = pathlib.Path(__file__).resolve().parent
LISTS = [f"assets/{name}.txt" for name in (
    "thirdparties/easylist/easylist", "thirdparties/easylist/easyprivacy",
    "thirdparties/urlhaus-filter/urlhaus-filter-online", "ublock/badware.min",
    "ublock/filters.min", "ublock/privacy.min")]
# Why an engine opens a page although the query takes the rule that names it.
OPENED = {
    "brave": {"all", "popup", "page", "bare", "open", "start", "spelling"},
    "ublock": {"page", "start", "part", "spelling"},
    "ghostery": {"popup", "to", "start", "part", "spelling"},
}
# Why it stops the page although the rule has a condition.
STOPPED = {"brave": {"own"}, "ublock": {"own"}, "ghostery": {"own", "inverse", "site"}}


def folder_of_lists():
    found = next(pathlib.Path("/usr/share/mozilla/extensions").glob("*/uBlock0@*"), None)
    if found is None:
        raise Missing("Debian's webext-ublock-origin-firefox is not installed")
    return found


@functools.cache
def lists():
    return [(folder_of_lists() / name).read_text() for name in LISTS]


def first(kinds, known):
    """The first of the known kinds that is true, or None."""
    return next((kind for kind, is_so in kinds.items() if is_so and kind in known), None)


def options(rule):
    found = re.search(r"\$([^$/]*)$", rule)
    return {option.split("=")[0] for option in found[1].split(",")} if found else set()


def opened(rule, key, known):
    named, pattern = options(rule), rule.split("$")[0].rstrip("^|*")
    is_page = key.count("/") > 1 or not key.endswith("/")
    return first({
        "all": "all" in named,  # Brave does not know it
        "popup": "popup" in named,  # an option that Brave and Ghostery do not know
        "to": "to" in named,  # Ghostery reads it in another way
        # As a page, they stop a page or a folder only with $document or $all.
        "page": is_page and not named & {"all", "doc", "document"},
        "bare": not rule.startswith("|"),  # a name by itself, which is a part of any address
        "start": re.match(r"\|(http:|\d)", rule),  # no URL begins so, or only one without TLS
        # Brave stops a page by ||h^ only.
        "open": not (rule.startswith("||") and "^" in rule),
        # uBlock drops a rule with denyallow that names no domains; AdGuard does not.
        "deny": "denyallow" in named and not named & {"domain", "from"},
        "part": pattern.startswith(".") or "*." in pattern,  # something has to be before it
        "spelling": key.rstrip("/").lower() not in rule.lower(),  # a port, // or an escape
    }, known)


def stopped(rule, known):
    named = options(rule)
    return first({
        "own": named & {"1p", "first-party", "~third-party"},  # who opens a page is on its own site
        "inverse": any(name.startswith("~") for name in named),  # all but some kinds of requests
        "site": named & {"domain", "from"},  # the rule's own page is among the domains
    }, known)


@functools.cache
def node():
    """The folder of the engines from npm."""
    folder = BUILD / "engines"
    if shutil.which("node") is None:
        raise Missing("node is not installed")
    if not (folder / "node_modules/@gorhill").exists():
        raise Missing("the engines from npm are missing: make fetch")
    shutil.copy(HERE / "engines.mjs", folder)
    return folder


def ask(texts, urls, rules):
    """What each engine says of URLs by all lists, and of pairs of a rule and a URL."""
    adblock, folder = module("adblock"), node()

    def engine(add):
        rules_of = adblock.FilterSet()
        add(rules_of)
        made = adblock.Engine(rules_of)
        return lambda url: made.check_network_urls(url, url, "document").matched

    whole = engine(lambda rules_of: [rules_of.add_filter_list(text) for text in texts])
    ran = subprocess.run(["node", "engines.mjs"], cwd=folder, text=True, check=True,
                         input=json.dumps({"lists": texts, "urls": urls, "rules": rules}),
                         stdout=subprocess.PIPE)
    return json.loads(ran.stdout) | {"brave": {
        "urls": list(map(whole, urls)),
        "rules": [engine(lambda rules_of: rules_of.add_filters([rule]))(url)
                  for rule, url in rules]}}


class WithEngines(WithExtension):
    def entries(self, text):
        """The rule, the key, and whether the query takes it, of each entry of a list."""
        return [(entry, key, stops_page) for entry, key, stops_page in self.rows(
            "SELECT entry, request_key, key IS NOT NULL FROM bloom_list(?1) "
            "WHERE request_key IS NOT NULL", text)]

    def or_skip(self, call, *arguments):
        try:
            return call(*arguments)
        except Missing as reason:
            return self.skipTest(f"skipped: {reason}")


class Published(WithEngines):
    def test_hosts_and_rules(self):
        texts = self.or_skip(lists)
        entries = [entry for text in texts for entry in self.entries(text)]
        taken = {key: rule for rule, key, takes in entries if takes}
        hosts = [key for key in taken if key.find("/") == len(key) - 1]
        answers = self.or_skip(ask, texts, [f"https://{key}" for key in hosts],
                               [(rule, f"https://{key}") for rule, key, _ in entries])
        self.assertGreater(len(hosts), 50000)
        # An engine stops https://KEY even if the rule is for names that only begin so.
        self.assertEqual([host for host in hosts if not re.search(r"([a-z]|\d|\])/$", host)], [])
        for engine, answer in answers.items():
            opens, stops, alone = collections.Counter(), collections.Counter(), {}
            for (rule, key, takes), stop in zip(entries, answer["rules"]):
                alone[key] = alone.get(key, False) or stop
                if takes and not stop:
                    opens[opened(rule, key, OPENED[engine]) or rule] += 1
                if stop and not takes:
                    stops[stopped(rule, STOPPED[engine]) or rule] += 1
            print(f"figures: {engine}: of {len(entries)} entries opened although taken {opens},"
                  f" stopped although not taken {stops}")
            self.assertEqual((opens.keys(), stops.keys()), (OPENED[engine], STOPPED[engine]))
            # All lists together: besides these, exceptions (@@) of a list let a host pass.
            for key, stop in zip(hosts, answer["urls"]):
                if not stop and not alone[key]:
                    self.assertTrue(opened(taken[key], key, OPENED[engine]), (engine, key))


class Harmless(WithEngines):
    """The README's query and the first recipe, with these lists and with pages that are harmless.
    They must flag those that an engine stops, and as many more as p allows, but no others."""
    LISTED = {"ero-advertising.com/": "||ero-advertising.com^", "myway.com/": "||myway.com^$all"}

    def urls(self):
        table = TOP.parent / "shared/data/urls_labelled.csv"
        if not table.exists():
            self.skipTest("skipped: the labelled URLs are not here")
        with table.open(encoding="utf-8", newline="") as lines:
            return [url for url, *kind in csv.reader(lines) if kind == ["benign"]]

    def test_the_first_query(self):
        texts, urls = self.or_skip(lists), self.urls()
        page = (TOP / "README.md").read_text(encoding="utf-8")
        made = re.search(r"(?s)\n(INSERT INTO filters [^;]*?bloom_list_agg\()'.*?'(.*?\));", page)
        query = re.search(r"SELECT bloom_check\(f, '", page)[0].rstrip("'") + "?1) FROM filters"
        self.rows("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL)")
        self.rows(f"{made[1]}value{made[2]} FROM json_each(?1)", json.dumps(texts))
        flagged = [url for url in urls if self.value(query, url) == 1]
        keys = {key: rule for text in texts for rule, key, takes in self.entries(text) if takes}
        listed = {key for url in flagged
                  for key, in self.rows("SELECT key FROM bloom_url_keys(?1)", url) if key in keys}
        print(f"figures: {len(flagged)} of {len(urls)} harmless URLs flagged, by {sorted(listed)}")
        self.assertEqual({key: keys[key] for key in listed}, self.LISTED)
        self.assertLessEqual(len(flagged), 6)  # 4 keys of a URL, 0.00001 of a key: 1 is expected
        answers = self.or_skip(ask, texts, [f"https://{key}" for key in sorted(listed)], [])
        self.assertEqual(answers["ublock"]["urls"], [True, True])

    def test_the_first_recipe(self):
        found, urls = self.or_skip(folder_of_lists), self.urls()
        with tempfile.TemporaryDirectory() as folder:
            visits = pathlib.Path(folder) / "visits.csv"
            with visits.open("w", encoding="utf-8", newline="") as lines:
                csv.writer(lines).writerows([("time", "url"), *(("now", url) for url in urls)])
            recipe = (TOP / "sql/which_list.sql").read_text(encoding="utf-8")
            recipe = recipe.split("-- From here on")[0].replace("sql/data/visits.csv", str(visits))
            recipe = recipe.replace(".mode column", ".mode tabs")
            recipe = re.sub(r"(?s)INSERT INTO lists VALUES\n.*?;", "INSERT INTO lists VALUES "
                            + ", ".join(f"('{name}', readfile('{found / name}'))" for name in LISTS)
                            + ";", recipe)
            run = subprocess.run(["sqlite3"], input=recipe, cwd=TOP, text=True, check=True,
                                 stdout=subprocess.PIPE)
        answer = run.stdout.split("Visits that a list covers\n")[1].split("\n\n")[0]
        self.assertEqual(sorted(line.split("\t")[-1] for line in answer.splitlines()),
                         sorted(self.LISTED.values()))


class Options(WithEngines):
    """Rules at random, with options that most engines know."""

    OPTIONS = ("script", "image", "xhr", "subdocument", "~script", "~image", "document", "popup",
               "third-party", "3p", "first-party", "1p", "~third-party", "important",
               "domain=a.example", "domain=~a.example", "domain=a.example|~b.a.example",
               "from=evil.example", "domain=~evil.example", "from=~www.evil.example",
               "domain=~example", "domain=~evil.*", "domain=~www.*", "domain=~no-reason.*",
               "denyallow=a.example", "denyallow=evil.example", "to=~a.example", "nothing",
               "badfilter",
               "all", "~document")

    def rules(self):
        source = random.Random(SEED)
        for _ in range(COUNT):
            host = source.choice(("evil.example", "www.evil.example", "192.0.2.7", "a-b.example"))
            path = source.choice(("^", "^", "/", "/a", "/a$b/c", "/a/"))
            options = source.sample(self.OPTIONS, source.randrange(4))
            names = [re.sub("^from|=.*|~", "", option) or "domain" for option in options]
            if len(set(names)) < len(names):
                continue  # twice the same, of which an engine makes nothing
            start = source.choice(("||", "||", "://"))
            yield f"{start}{host}{path}{'$' if options else ''}{','.join(options)}"

    def test_random_rules(self):
        """uBlock, which knows all of them, is the measure."""
        rules = list(self.rules())
        entries = [self.entries(rule) for rule in rules]
        pairs = [(rule, key, takes) for found in entries for rule, key, takes in found]
        answer = self.or_skip(ask, [], [], [(rule, f"https://{key}") for rule, key, _ in pairs])
        wrong = []
        for (rule, key, takes), stops in zip(pairs, answer["ublock"]["rules"]):
            explained = opened(rule, key, {"page", "deny"}) is not None
            if takes and not stops and not explained:
                wrong.append(("opened", rule))
            if stops and not takes and stopped(rule, {"own", "site"}) is None:
                wrong.append(("stopped", rule))
        self.assertEqual(wrong, [])
        self.assertTrue(COUNT // 10 < sum(takes for _, _, takes in pairs) < COUNT)


class Resolver(WithEngines):
    """Rules as AdGuard's DNS engine reads them, and the lists that it brings along. In these are
    also rules for browsers (.h^, ||h/ and others), of which the engine makes something else."""

    def engine(self):
        folder = BUILD / "adguard"
        shutil.copytree(HERE / "adguard_side", folder, dirs_exist_ok=True)
        self.or_skip(functools.partial(fetched, "go", "build", "-o", "side", ".", cwd=folder))
        return folder

    def ask(self, folder, rules, text="", hosts=()):
        ran = subprocess.run([folder / "side"], text=True, check=True, stdout=subprocess.PIPE,
                             input=json.dumps({"Rules": rules, "List": text, "Hosts": hosts}))
        return json.loads(ran.stdout)

    def test_options(self):
        folder = self.engine()
        answers = ("NXDOMAIN", "REFUSED", "SERVFAIL", "NOERROR", "0.0.0.0", "::", "127.0.0.1",
                   "192.0.2.7", "b.example", "NXDOMAIN;;", "NOERROR;;", "NOERROR;A;0.0.0.0",
                   "NOERROR;A;192.0.2.7", "NOERROR;AAAA;::", "NOERROR;CNAME;b.example")
        choices = [f"dnsrewrite={answer}" for answer in answers] + [
            "important", "dnstype=AAAA", "dnstype=~A", "client=192.0.2.7", "ctag=device_pc",
            "denyallow=a.example", "denyallow=evil.example", "denyallow=example|a.example",
            "denyallow=~a.example", "denyallow=other.*", "third-party", "script",
            "domain=a.example", "nothing"]
        rules = ["||evil.example^", "|evil.example^", "evil.example", "evil.example^",
                 *(f"||evil.example^${first},{second}" for first, second in itertools.product(
                     choices, choices) if first.split("=")[0] != second.split("=")[0])]
        stops = self.ask(folder, [(rule, "evil.example") for rule in rules])["Rules"]
        taken = [any(takes for *_, takes in self.entries(rule)) for rule in rules]
        self.assertEqual([pair for pair in zip(rules, taken, stops) if pair[1] != pair[2]], [])
        self.assertTrue(0 < sum(taken) < len(rules))

    def test_published(self):
        folder = self.engine()
        found = fetched("go", "list", "-m", "-f", "{{.Dir}}", "github.com/AdguardTeam/urlfilter",
                        cwd=folder, text=True).strip()
        for name in ("adguard_sdn_filter.txt", "hosts"):
            text = pathlib.Path(found, "testdata", name).read_text()
            passed = tuple(re.findall(r"^@@\|\|([a-z0-9.-]+)", text, re.MULTILINE))
            hosts = [key[:-1] for rule, key, takes in self.entries(text)
                     if takes and re.fullmatch(r"(\|\||)[a-z0-9][a-z0-9._-]*\^?", rule)
                     and not key[:-1].endswith(passed)]
            stops = self.ask(folder, [], text, hosts)["Hosts"]
            self.assertEqual([host for host, stop in zip(hosts, stops) if not stop], [], name)
            self.assertGreater(len(hosts), 20000)


if __name__ == "__main__":
    unittest.main()

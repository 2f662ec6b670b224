#!/usr/bin/env python3
"""Prints ext/url/idna_tables.h: what UTS #46 needs to know of each code point.

Sources: the mapping table of UTS #46 and the joining types, from the package idna of PyPI; the
general categories, bidirectional classes, combining classes and canonical decompositions, from the
package unicodedata2. Both must hold Unicode 17.0.0, as idna 3.18 and unicodedata2 17.0.1 do:

    pip install idna==3.18 unicodedata2==17.0.1
    python3 ext/url/idna_tables.py >ext/url/idna_tables.h

Keys are stored in filters, so the version never changes for the key rules that there are.
"""

import sys

import idna.idnadata
import idna.uts46data
import unicodedata2

VERSION = "17.0.0"
POINTS = 0x110000
HANGUL = range(0xAC00, 0xD7A4)  # composed by arithmetic, without a table

# The numbers of idna.c.
DISALLOWED, IGNORED, MAPPED, VALID = range(4)
BIDI = {"L": 0, "R": 1, "AL": 1, "AN": 2, "EN": 3, "NSM": 4,
        "ES": 5, "CS": 5, "ET": 5, "ON": 5, "BN": 5}
BIDI_NOWHERE = 6
JOINS_LEFT, JOINS_RIGHT, TRANSPARENT = 1, 2, 4
JOINING = {"L": JOINS_LEFT, "R": JOINS_RIGHT, "D": JOINS_LEFT | JOINS_RIGHT, "T": TRANSPARENT}


def read_mapping():
    """For each code point its status, and what replaces it."""
    starts = list(idna.uts46data.uts46_starts) + [POINTS]
    kinds = {"V": VALID, "D": VALID, "M": MAPPED, "I": IGNORED, "X": DISALLOWED}
    status, replacement = [], []
    for index, kind in enumerate(idna.uts46data.uts46_statuses):
        count = starts[index + 1] - starts[index]
        status += [kinds[chr(kind)]] * count
        replacement += [idna.uts46data.uts46_replacements[index]] * count
    return status, replacement


def read_joining():
    joining = {}
    for kind, ranges in idna.idnadata.joining_types.items():
        for packed in ranges:
            for point in range(packed >> 32, packed & 0xFFFFFFFF):
                joining[point] = kind
    return joining


def class_of(point, status, joining):
    """The bits that idna.c takes apart: status, combining class, bidirectional class, joining
    type, and whether it is a mark. Only what may stand in a label has more than its status."""
    if status[point] != VALID:
        return status[point]
    character = chr(point)
    category = unicodedata2.category(character)
    transparent = "T" if category in ("Mn", "Me", "Cf") else "U"
    return (status[point]
            | unicodedata2.combining(character) << 2
            | BIDI.get(unicodedata2.bidirectional(character), BIDI_NOWHERE) << 10
            | JOINING.get(joining.get(point, transparent), 0) << 13
            | (category[0] == "M") << 16)


def compositions():
    """Pairs of code points and what they compose to, all below U+10000, or composed in plane 1 of
    one there and a second one that is there, too, or below U+1000: 16 bits tell each."""
    found = []
    for point in range(POINTS):
        character = chr(point)
        parts = unicodedata2.decomposition(character)
        if point in HANGUL or not parts or parts.startswith("<"):
            continue
        if unicodedata2.normalize("NFC", character) == character:
            first, second = (int(part, 16) for part in parts.split())
            assert first >> 16 == point >> 16 <= 1, hex(point)
            assert second >> 16 == (point >> 16 and second & 0xFFFF >= 0x1000), hex(point)
            found.append((first, second, point))
    return sorted(found)


def show(declaration, numbers, form):
    print(f"static const {declaration} = {{")
    line = "   "
    for number in numbers:
        text = f" {form(number)},"
        if len(line) + len(text) > 100:
            print(line)
            line = "   "
        line += text
    print(f"{line}\n}};\n")


def main():
    for module, version in ((idna.uts46data, idna.uts46data.__version__),
                            (idna.idnadata, idna.idnadata.__version__),
                            (unicodedata2, unicodedata2.unidata_version)):
        if version != VERSION:
            sys.exit(f"{module.__name__} holds Unicode {version}, not {VERSION}")
    status, replacement = read_mapping()
    joining = read_joining()
    classes = [class_of(point, status, joining) for point in range(POINTS)]
    kinds = sorted(set(classes))
    assert len(kinds) <= 128
    numbers = {kind: number for number, kind in enumerate(kinds)}
    ranges = [point << 7 | numbers[classes[point]] for point in range(POINTS)
              if point == 0 or classes[point] != classes[point - 1]]

    # A code point that a single other one replaces is mapped by its distance within 16 bits and by
    # the plane; others by a text. Successive mapped ones with the same rule are one run.
    mapped = [point for point in range(POINTS) if status[point] == MAPPED]
    texts = b""
    for text in sorted({replacement[point] for point in mapped if len(replacement[point]) > 1},
                       key=lambda text: (-len(text.encode()), text)):
        texts += b"" if text.encode() in texts else text.encode()
    runs = []
    for point in mapped:
        text = replacement[point]
        encoded = text.encode()
        if len(text) == 1:
            rule = (0, ord(text) >> 16, (ord(text) - point) & 0xFFFF)
        else:
            rule = (1, len(encoded), texts.index(encoded))
        if not runs or runs[-1][1] != rule:
            runs.append((point, rule))
    assert all(point < 1 << 18 and rule[1] < 64 and rule[2] < 1 << 16 for point, rule in runs)

    pairs = compositions()
    low = sum(pair[2] < 0x10000 for pair in pairs)
    assert all(pair[2] < 0x10000 for pair in pairs[:low])
    order = sorted(range(len(pairs)), key=lambda index: pairs[index][2])
    # What is valid decomposes, if at all, into what composes to it again.
    assert all(unicodedata2.normalize("NFC", chr(point)) == chr(point)
               for point in range(POINTS) if status[point] == VALID)

    print("/* Generated by idna_tables.py from Unicode " + VERSION + "; not to be edited. */")
    print("#ifndef BLOOM_URL_IDNA_TABLES_H\n#define BLOOM_URL_IDNA_TABLES_H\n")
    print("#include <stdint.h>\n")
    print("/* clang-format off */")
    print("/* Ranges of code points: where each begins << 7 | the number of its class. */")
    show(f"uint32_t IDNA_RANGES[{len(ranges)}]", ranges, str)
    print("/* Classes: status | combining class << 2 | bidirectional class << 10 | joining << 13 |")
    print(" * mark << 16. */")
    show(f"uint32_t IDNA_CLASSES[{len(kinds)}]", kinds, str)
    print("/* Runs of mapped code points: where each begins << 7 | the plane of what replaces it,")
    print(" * and the distance to it modulo 2^16; or << 7 | 64 | the bytes of a text, and where")
    print(" * it begins in IDNA_TEXTS. */")
    show(f"uint32_t IDNA_MAPPED[{len(runs)}]",
         [point << 7 | rule[0] << 6 | rule[1] for point, rule in runs], str)
    show(f"uint16_t IDNA_MAPPED_TO[{len(runs)}]", [rule[2] for _, rule in runs], str)
    show(f"uint8_t IDNA_TEXTS[{len(texts)}]", texts, str)
    print("/* First, second and what they compose to, modulo 2^16, in order: below U+10000, then")
    print(" * above. */")
    print(f"enum {{ IDNA_PAIRS_LOW = {low}, IDNA_PAIRS = {len(pairs)} }};\n")
    show("uint16_t IDNA_COMPOSED[IDNA_PAIRS][3]", pairs,
         lambda pair: "{" + ", ".join(str(point & 0xFFFF) for point in pair) + "}")
    print("/* The pairs in the order of what they compose to. */")
    show("uint16_t IDNA_DECOMPOSED[IDNA_PAIRS]", order, str)
    print("/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints ext/filter/blocked_sizes.h: the bits per key that the layout `blocked` needs for a
false-positive rate.

The exact rate of a filter of 512-bit blocks with k probes per key, each drawn independently, at c
bits per key:

    rate(k, c) = sum over i of Poisson(i; 512 / c) * E[(X / 512)^k]

where X is the number of bits set in a block after i * k throws (Putze, Sanders, Singler, "Cache-,
Hash- and Space-Efficient Bloom Filters", 2007, whose closed formula takes the power of the mean of
X instead of the mean of its power and is 1 to 5 % too optimistic). Here the mean of the power is
taken exactly: k further throws hit j distinct bits with probability S(k, j) 512 (511) ... / 512^k
(S: Stirling numbers of the second kind), and by inclusion and exclusion these are all set with
probability sum over s of (-1)^s C(j, s) (1 - s/512)^(i k), which the Poisson mixture turns into
exp(-(512/c) (1 - (1 - s/512)^k)). The alternating sum cancels, hence 60 digits.

`blocked_sizes.py` prints the table; `blocked_sizes.py rate K BITS_PER_KEY` prints one rate.
"""

import sys
from decimal import ROUND_CEILING, Decimal, getcontext
from math import comb

getcontext().prec = 60

BLOCK_BITS = 512
OCTAVES = 30          # rates from 2^-30 (9.3e-10) to 1
ROWS_PER_OCTAVE = 8
FRACTION_BITS = 16    # fixed point of the bits per key
HASHES_MAXIMUM = 21   # what three 64-bit words of seven probes serve; the optimum at 2^-30
FEWER_HASHES_WORTH = Decimal(
    "1.002"
)  # 0.2 % of space for one probe less: a probe costs more time than that


def rate_terms(hashes):
    """Factors a and b such that rate(hashes, c) = sum of a * exp(-(512 / c) * b)."""
    stirling = [[0] * (hashes + 1) for _ in range(hashes + 1)]
    stirling[0][0] = 1
    for throws in range(1, hashes + 1):
        for distinct in range(1, throws + 1):
            stirling[throws][distinct] = (
                stirling[throws - 1][distinct - 1] + distinct * stirling[throws - 1][distinct])
    terms = []
    for missed in range(hashes + 1):
        ways = 0
        for distinct in range(max(missed, 1), hashes + 1):
            placements = 1
            for used in range(distinct):
                placements *= BLOCK_BITS - used
            ways += (
                (-1) ** missed * comb(distinct, missed) * stirling[hashes][distinct] * placements
            )
        terms.append((Decimal(ways) / Decimal(BLOCK_BITS) ** hashes,
                      1 - (1 - Decimal(missed) / BLOCK_BITS) ** hashes))
    return terms


TERMS = {hashes: rate_terms(hashes) for hashes in range(1, HASHES_MAXIMUM + 1)}


def rate(hashes, bits_per_key):
    load = BLOCK_BITS / Decimal(bits_per_key)
    return sum(a * (-load * b).exp() for a, b in TERMS[hashes])


def bits_needed(hashes, wanted_rate):
    """The fewest bits per key, to 10 digits, that keep the wanted rate with this number of
    hashes."""
    low, high = Decimal("0.0005"), Decimal(200)
    if wanted_rate >= 1:
        return Decimal(0)
    while high / low > Decimal("1.0000000001"):
        middle = (low * high).sqrt()
        if rate(hashes, middle) > wanted_rate:
            low = middle
        else:
            high = middle
    return high


def best_hashes(wanted_rate, guess):
    candidates = {hashes: bits_needed(hashes, wanted_rate)
                  for hashes in range(max(1, guess - 2), min(HASHES_MAXIMUM, guess + 3) + 1)}
    least = min(candidates.values())
    return min(h for h, bits in candidates.items() if bits <= least * FEWER_HASHES_WORTH)


def fixed(bits_per_key):
    return int((bits_per_key * 2 ** FRACTION_BITS).to_integral_value(ROUND_CEILING))


def print_table():
    print(
        "/* Made by ext/filter/blocked_sizes.py, which says how; a test compares the two. Do not"
        " edit."
    )
    print(" *")
    print(
        f" * One row for each {ROWS_PER_OCTAVE}th of an octave of the false-positive rate, from"
        f" 2^-{OCTAVES} to 1:"
    )
    print(
        f" * hashes, then the bits per key (in 1/{2 ** FRACTION_BITS}) at the lower and at the"
        " upper rate of the row. */"
    )
    print("/* clang-format off */")
    hashes = HASHES_MAXIMUM
    for octave in range(-OCTAVES, 0):
        cells = []
        for eighth in range(ROWS_PER_OCTAVE):
            lower, upper = (Decimal(2) ** octave * (1 + Decimal(e) / ROWS_PER_OCTAVE)
                            for e in (eighth, eighth + 1))
            hashes = best_hashes((lower * upper).sqrt(), hashes)
            cells.append(f"{{{hashes}, {fixed(bits_needed(hashes, lower))}, "
                         f"{fixed(bits_needed(hashes, upper))}}},")
        for half in (cells[:4], cells[4:]):
            print(" ".join(half))


if len(sys.argv) == 4 and sys.argv[1] == "rate":
    print(f"{rate(int(sys.argv[2]), Decimal(sys.argv[3])):.6e}")
elif len(sys.argv) == 1:
    print_table()
else:
    sys.exit(__doc__)

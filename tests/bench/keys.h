/* The keys of the benchmarks, made from their numbers: the same on every machine, different for
 * different numbers, and with nothing in common with the hashes under test.
 *
 *   random word   SplitMix64 of the number: a bijection, so distinct numbers give distinct words
 *   URL           60 to 80 bytes; where it begins to differ from others is a random word's digits,
 *                 so the
 * order of numbers is a random order of URLs
 */
#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BENCH_URL_LEAST = 60, BENCH_URL_MOST = 80 };

#define BENCH_STEP UINT64_C(0x9e3779b97f4a7c15)

/* SplitMix64 (Steele, Lea, Flood, 2014) of a state that goes on by BENCH_STEP. */
static inline uint64_t bench_mixed(uint64_t word) {
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static inline uint64_t bench_random(uint64_t number) {
    return bench_mixed((number + 1) * BENCH_STEP);
}

/* Writes the URL of a number, without a terminator, and returns its length. text has BENCH_URL_MOST
 * bytes. */
static inline size_t bench_url(uint64_t number, char *text) {
    static const char DIGITS[] = "abcdefghijklmnopqrstuvwxyz234567";
    static const char START[] = "https://www.";
    static const char MIDDLE[] = ".example.org/articles/";
    uint64_t unique = bench_random(number);
    uint64_t filling = bench_random(unique);
    size_t length = BENCH_URL_LEAST + (size_t)(filling % (BENCH_URL_MOST - BENCH_URL_LEAST + 1));
    size_t at = sizeof START - 1;
    memcpy(text, START, at);
    for (unsigned shift = 0; shift < 64; shift += 5)
        text[at++] = DIGITS[unique >> shift & 31];
    memcpy(text + at, MIDDLE, sizeof MIDDLE - 1);
    for (at += sizeof MIDDLE - 1; at < length; at++) {
        filling = filling << 59 | filling >> 5;
        text[at] = DIGITS[filling & 31];
    }
    return length;
}

#endif

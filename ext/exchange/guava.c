/* Format `guava`: what com.google.common.hash.BloomFilter.writeTo writes and readFrom reads, in Java.
 *
 *    0  1  strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *    1  1  k, 1 to 255
 *    2  4  words, big-endian and signed, so 1 to 2^31 - 1
 *    6     the words, big-endian, 64 bits each: bit b of the filter is bit b & 63 of word b >> 6
 *
 * The payload is the same words in little-endian, and each strategy is a layout, so only the order of bytes
 * changes. n and p are not stored.
 */
#include "exchange/exchange.h"

#include "filter/header.h"
#include "filter/version.h"
#include "filter/portable.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    AT_PROBES = 1,
    AT_WORDS = 2,
    HEADER_BYTES = 6,
    WORD_BITS = 64,
    WORD_BYTES = 8,
    PROBES_MAXIMUM = 255
};

/* By strategy. */
static const struct bloom_layout *const LAYOUTS[] = {&bloom_layout_classic32,
                                                     &bloom_layout_classic};

#define STRATEGY_COUNT (sizeof LAYOUTS / sizeof *LAYOUTS)

/* How java.io.ObjectOutputStream begins. Filters are Serializable, too, but that form is Java's alone. */
static const uint8_t SERIALIZED[] = {0xac, 0xed, 0x00, 0x05};

static bool guava_read(struct bloom_shape *shape, const uint8_t *bytes, uint64_t length,
                       char problem[BLOOM_PROBLEM_SIZE]) {
    if (length >= sizeof SERIALIZED && memcmp(bytes, SERIALIZED, sizeof SERIALIZED) == 0) {
        snprintf(
            problem, BLOOM_PROBLEM_SIZE,
            "are a serialised object of Java; write the filter with BloomFilter.writeTo instead of "
            "ObjectOutputStream");
        return false;
    }
    if (length < HEADER_BYTES) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "are cut off: there are %" PRIu64 ", the header of a Guava filter alone has %d; "
                 "store all that BloomFilter.writeTo writes",
                 length, HEADER_BYTES);
        return false;
    }
    if (bytes[0] >= STRATEGY_COUNT) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "are no Guava filter that release %s of this extension knows: the strategy in "
                 "their first byte "
                 "is %u, known are 0 (MURMUR128_MITZ_32) and 1 (MURMUR128_MITZ_64); write the "
                 "filter with "
                 "BloomFilter.writeTo or get a newer release",
                 BLOOM_RELEASE, bytes[0]);
        return false;
    }
    if (bytes[AT_PROBES] == 0) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "are damaged: they say 0 hashes per key, a Guava filter has 1 to %d; write the "
                 "filter again with "
                 "BloomFilter.writeTo",
                 PROBES_MAXIMUM);
        return false;
    }
    uint32_t words = (uint32_t)bytes[AT_WORDS] << 24 | (uint32_t)bytes[AT_WORDS + 1] << 16 |
                     (uint32_t)bytes[AT_WORDS + 2] << 8 | bytes[AT_WORDS + 3];
    if (words == 0 || words > INT32_MAX) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "are damaged: they say %" PRId64
                 " words of 64 bits, a Guava filter has 1 to %" PRId32
                 "; write the filter again with BloomFilter.writeTo",
                 words == 0 ? 0 : (int64_t)words - (INT64_C(1) << 32), INT32_MAX);
        return false;
    }
    if (length != HEADER_BYTES + (uint64_t)words * WORD_BYTES) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "were cut off or extended: there are %" PRIu64 ", their header says %" PRIu64
                 "; store exactly what BloomFilter.writeTo writes",
                 length, HEADER_BYTES + (uint64_t)words * WORD_BYTES);
        return false;
    }
    *shape = (struct bloom_shape){.layout = LAYOUTS[bytes[0]],
                                  .probes = bytes[AT_PROBES],
                                  .bits = (uint64_t)words * WORD_BITS};
    return true;
}

/* From the words of either byte order to the other. */
static void swap_words(uint8_t *into, const uint8_t *from, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += WORD_BYTES)
        bloom_store64(into + i, bloom_swap64(bloom_load64(from + i)));
}

static void guava_read_payload(const struct bloom_shape *shape, const uint8_t *bytes,
                               uint8_t *payload) {
    swap_words(payload, bytes + HEADER_BYTES, bloom_payload_bytes(shape));
}

static uint8_t strategy_of(const struct bloom_layout *layout) {
    uint8_t strategy = 0;
    while (strategy < STRATEGY_COUNT && LAYOUTS[strategy] != layout)
        strategy++;
    return strategy;
}

static bool guava_measure(const struct bloom_shape *shape, uint64_t *length,
                          char problem[BLOOM_PROBLEM_SIZE]) {
    if (strategy_of(shape->layout) == STRATEGY_COUNT) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "has layout %s, which Guava does not know; build it with layout classic",
                 shape->layout->name);
        return false;
    }
    if (shape->bits % WORD_BITS != 0) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "has %" PRIu64 " bits, but Guava has only multiples of 64; build it with %" PRIu64
                 " bits, or with bloom_new and layout classic",
                 shape->bits, (shape->bits / WORD_BITS + 1) * WORD_BITS);
        return false;
    }
    if (shape->bits / WORD_BITS > INT32_MAX) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "has %" PRIu64 " bits, but Guava has at most %" PRIu64 "; build several filters",
                 shape->bits, (uint64_t)INT32_MAX * WORD_BITS);
        return false;
    }
    *length = HEADER_BYTES + bloom_payload_bytes(shape);
    return true;
}

static void guava_write(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes) {
    uint32_t words = (uint32_t)(shape->bits / WORD_BITS);
    bytes[0] = strategy_of(shape->layout);
    bytes[AT_PROBES] = (uint8_t)shape->probes;
    for (int i = 0; i < 4; i++)
        bytes[AT_WORDS + i] = (uint8_t)(words >> (24 - 8 * i));
    swap_words(bytes + HEADER_BYTES, payload, bloom_payload_bytes(shape));
}

const struct bloom_exchange bloom_exchange_guava = {
    .name = "guava",
    .read = guava_read,
    .read_payload = guava_read_payload,
    .measure = guava_measure,
    .write = guava_write,
};

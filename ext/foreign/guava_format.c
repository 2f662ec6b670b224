/* Formats `guava` and `guava-utf16`: what com.google.common.hash.BloomFilter.writeTo writes and
 * readFrom reads, in Java. The bytes do not show by which funnel keys were added, so there are two
 * formats:
 *
 *   guava         stringFunnel(UTF_8), longFunnel, byteArrayFunnel
 *   guava-utf16   unencodedCharsFunnel
 *
 *    0  1  strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *    1  1  k, 1 to 255
 *    2  4  words, big-endian and signed, so 1 to 2^31 - 1
 *    6     the words, big-endian, 64 bits each: bit b of the filter is bit b & 63 of word b >> 6
 *
 * The payload is the same words in little-endian, and each strategy is a layout, so only the order
 * of bytes changes. n and p are not stored. */
#include "foreign/exchange.h"
#include "foreign/words.h"

#include "base/version.h"
#include "filter/layouts/classic.h"

#include <inttypes.h>

enum {
    GUAVA_AT_PROBES = 1,
    GUAVA_AT_WORDS = 2,
    GUAVA_HEADER_BYTES = 6,
    GUAVA_STRATEGIES = 2,
    GUAVA_STRATEGY_32 = 0
};

/* `form` selects the funnel. */
enum { GUAVA_BYTES, GUAVA_UTF16, GUAVA_FUNNELS };

/* By funnel and strategy. The older strategy is read with the first funnel only. */
static const struct bloom_layout *const GUAVA_LAYOUTS[GUAVA_FUNNELS][GUAVA_STRATEGIES] = {
    {&bloom_layout_classic32, &bloom_layout_classic}, {NULL, &bloom_layout_classic_utf16}};

static bool guava_read(unsigned form, struct bloom_shape *shape, const uint8_t *bytes,
                       uint64_t length, bloom_problem problem) {
    const struct bloom_layout *const *layouts = GUAVA_LAYOUTS[form];
    if (!bloom_exchange_is_plain(bytes, length, problem))
        return false;
    if (!bloom_exchange_has_header(length, GUAVA_HEADER_BYTES, "Guava filter",
                                   "Store all that BloomFilter.writeTo writes", problem))
        return false;
    if (bytes[0] >= GUAVA_STRATEGIES)
        return bloom_fail(
            problem,
            "are not a Guava filter that release %s of this extension knows: the strategy in "
            "their first byte "
            "is %u, but known are 0 (MURMUR128_MITZ_32) and 1 (MURMUR128_MITZ_64). Write the "
            "filter with "
            "BloomFilter.writeTo or get a newer release",
            BLOOM_RELEASE, bytes[0]);
    if (layouts[bytes[0]] == NULL)
        return bloom_fail(
            problem, "are a Guava filter of the older strategy MURMUR128_MITZ_32, which is read as "
                     "format 'guava' alone. Write the filter with a current Guava");
    if (bytes[GUAVA_AT_PROBES] == 0)
        return bloom_fail(
            problem,
            "are damaged: they say 0 hashes per key, but a Guava filter has 1 to %d. Write the "
            "filter again with "
            "BloomFilter.writeTo",
            BLOOM_CLASSIC_PROBES_MAXIMUM);
    uint32_t words = bloom_load32_big(bytes + GUAVA_AT_WORDS);
    if (!bloom_exchange_words_fit(words, "Guava", problem))
        return false;
    if (!bloom_exchange_has_length(length, GUAVA_HEADER_BYTES + (uint64_t)words * BLOOM_WORD_BYTES,
                                   "Store exactly what BloomFilter.writeTo writes", problem))
        return false;
    *shape = (struct bloom_shape){.layout = layouts[bytes[0]],
                                  .probes = bytes[GUAVA_AT_PROBES],
                                  .bits = (uint64_t)words * BLOOM_WORD_BITS};
    return true;
}

static void guava_read_payload(const struct bloom_shape *shape, const uint8_t *bytes,
                               uint64_t length, uint8_t *payload) {
    (void)length;
    bloom_swap_words(payload, bytes + GUAVA_HEADER_BYTES, bloom_payload_bytes(shape));
}

static bool guava_measure(unsigned form, const struct bloom_shape *shape, uint64_t *length,
                          bloom_problem problem) {
    const struct bloom_layout *const *layouts = GUAVA_LAYOUTS[form];
    if (shape->layout != layouts[0] && shape->layout != layouts[1])
        return bloom_fail(
            problem, "has layout %s, which Guava does not know%s. Build it with layout %s",
            shape->layout->name, layouts[GUAVA_STRATEGY_32] == NULL ? " by this funnel" : "",
            layouts[1]->name);
    if (shape->bits % BLOOM_WORD_BITS != 0)
        return bloom_fail(problem,
                          "has %" PRIu64
                          " bits, but Guava has only multiples of 64. Build it with %" PRIu64
                          " bits, or with bloom_new and layout classic",
                          shape->bits, bloom_words_of(shape->bits) * BLOOM_WORD_BITS);
    if (shape->bits / BLOOM_WORD_BITS > INT32_MAX)
        return bloom_fail(problem,
                          "has %" PRIu64 " bits, but Guava has at most %" PRIu64
                          ". Build several filters",
                          shape->bits, (uint64_t)INT32_MAX * BLOOM_WORD_BITS);
    *length = GUAVA_HEADER_BYTES + bloom_payload_bytes(shape);
    return true;
}

static void guava_write(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes) {
    bytes[0] = shape->layout != &bloom_layout_classic32;
    bytes[GUAVA_AT_PROBES] = (uint8_t)shape->probes;
    bloom_store32_big(bytes + GUAVA_AT_WORDS, (uint32_t)(shape->bits / BLOOM_WORD_BITS));
    bloom_swap_words(bytes + GUAVA_HEADER_BYTES, payload, bloom_payload_bytes(shape));
}

const struct bloom_exchange bloom_exchange_guava = {
    .name = "guava",
    .form = GUAVA_BYTES,
    .read = guava_read,
    .read_payload = guava_read_payload,
    .measure = guava_measure,
    .write = guava_write,
};

const struct bloom_exchange bloom_exchange_guava_utf16 = {
    .name = "guava-utf16",
    .form = GUAVA_UTF16,
    .read = guava_read,
    .read_payload = guava_read_payload,
    .measure = guava_measure,
    .write = guava_write,
};

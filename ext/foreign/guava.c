/* The filters of Guava: their hashing of text as UTF-16, older layout and formats.
 *
 * Formats `guava` and `guava-utf16`: what com.google.common.hash.BloomFilter.writeTo writes and
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

#include "base/utf8.h"
#include "base/version.h"
#include "hash/murmur3.h"

/* Hashing `utf16`: text as Guava's Funnels.unencodedCharsFunnel() feeds it to its hash, that is
 * MurmurHash3 x64 128 with seed 0 over its UTF-16 code units, each as two bytes, low one first.
 *
 * The keys are UTF-8. Each malformed piece (see base/utf8.h) counts as U+FFFD, as in Java's new
 * String(bytes, UTF_8). There are no other keys, because Guava has other funnels for numbers and
 * bytes, and one filter has one funnel.
 */

enum { REPLACEMENT = 0xfffd };

/* Code units on their way into the hash. */
struct utf16_stream {
    struct bloom_murmur3 state;
    uint64_t low, high; /* those that are in no block yet */
    uint64_t length;    /* bytes in all */
};

static inline void utf16_put(struct utf16_stream *stream, uint64_t unit) {
    unsigned waiting = stream->length % BLOOM_MURMUR3_BLOCK_BYTES;
    if (waiting < 8)
        stream->low |= unit << 8 * waiting;
    else
        stream->high |= unit << 8 * (waiting - 8);
    stream->length += 2;
    if (waiting == BLOOM_MURMUR3_BLOCK_BYTES - 2) {
        bloom_murmur3_block(&stream->state, stream->low, stream->high);
        stream->low = stream->high = 0;
    }
}

/* Four ASCII bytes, in the low half of a word, as four code units. */
static inline uint64_t utf16_widen(uint64_t bytes) {
    bytes = (bytes | bytes << 16) & UINT64_C(0x0000ffff0000ffff);
    return (bytes | bytes << 8) & UINT64_C(0x00ff00ff00ff00ff);
}

static inline bool utf16_is_ascii(uint64_t bytes) {
    return (bytes & UINT64_C(0x8080808080808080)) == 0;
}

/* Hashes ASCII, eight bytes at a time, whose code units are one block, and then the end of the text
 * if that is ASCII, too. No code unit may be waiting. Returns the number of bytes that were hashed.
 */
static inline size_t utf16_put_ascii(struct utf16_stream *stream, const uint8_t *text,
                                     size_t left) {
    enum { STEP = BLOOM_MURMUR3_BLOCK_BYTES / 2 };
    size_t taken = 0;
    for (; left - taken >= STEP; taken += STEP) {
        uint64_t word = bloom_load64(text + taken);
        if (!utf16_is_ascii(word))
            break;
        bloom_murmur3_block(&stream->state, utf16_widen(word & UINT32_MAX),
                            utf16_widen(word >> 32));
    }
    if (left - taken > 0 && left - taken < STEP) {
        uint64_t word = bloom_load_partial(text + taken, left - taken);
        if (utf16_is_ascii(word)) {
            stream->low = utf16_widen(word & UINT32_MAX);
            stream->high = utf16_widen(word >> 32);
            taken = left;
        }
    }
    stream->length += 2 * taken;
    return taken;
}

static void utf16_text(const uint64_t seed[2], const void *text, size_t length, uint64_t *words) {
    const uint8_t *at = text;
    struct utf16_stream stream = {.length = 0};
    (void)seed;
    while (length > 0) {
        if (stream.length % BLOOM_MURMUR3_BLOCK_BYTES == 0) {
            size_t ascii = utf16_put_ascii(&stream, at, length);
            at += ascii;
            length -= ascii;
            if (length == 0)
                break;
        }
        size_t taken;
        uint32_t character = bloom_utf8_read(at, length, &taken);
        at += taken;
        length -= taken;
        if (character == BLOOM_NOT_UTF8) {
            utf16_put(&stream, REPLACEMENT);
        } else if (character > 0xffff) {
            character -= 0x10000;
            utf16_put(&stream, 0xd800 + (character >> 10));
            utf16_put(&stream, 0xdc00 + (character & 0x3ff));
        } else {
            utf16_put(&stream, character);
        }
    }
    bloom_murmur3_tail(&stream.state, stream.low, stream.high);
    bloom_murmur3_end(stream.state, stream.length, words);
}

const struct bloom_hashing bloom_hashing_utf16 = {
    .keys = "text",
    .number = 3,
    .text_only = true,
    .bytes = utf16_text,
};

/* Layout `classic32`: k bits anywhere in the filter, where Guava's older MURMUR128_MITZ_32 puts
 * them. Only the first word of a key's hash counts.
 *
 * The layout exists for filters that Guava wrote with that strategy, the one of its first releases.
 * No filter is made in it: a step has 31 bits, so that positions from 2^31 on (256 MiB) are never
 * used. */

enum { CLASSIC32_NUMBER = 3 };

BLOOM_WALK_MEMBERS(classic32, 1, bloom_walk32_begin, bloom_walk32_step);

const struct bloom_layout bloom_layout_classic32 = {
    .name = "classic32",
    .hashing = &bloom_hashing_murmur3,
    .number = CLASSIC32_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_CLASSIC_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS, /* as Guava counts them */
    .advice = "layout classic32 is only for filters imported from Guava's older strategy "
              "MURMUR128_MITZ_32. Ask for layout classic",
    BLOOM_WALK_LAYOUT(classic32),
};

enum { GUAVA_AT_PROBES = 1, GUAVA_AT_WORDS = 2, GUAVA_HEADER_BYTES = 6, GUAVA_STRATEGIES = 2 };

static bool guava_read(struct bloom_foreign *filter, bloom_problem problem) {
    const uint8_t *bytes = filter->bytes;
    struct bloom_shape *shape = &filter->shape;
    if (!bloom_foreign_is_plain(filter, problem) ||
        !bloom_foreign_has_header(filter, GUAVA_HEADER_BYTES, problem))
        return false;
    if (bytes[0] >= GUAVA_STRATEGIES)
        return bloom_fail(
            problem,
            "are not a Guava filter that release %s of this extension knows: the strategy in "
            "their first byte is %u, but only 0 (MURMUR128_MITZ_32) and 1 (MURMUR128_MITZ_64) are "
            "known. Write the filter with BloomFilter.writeTo or get a newer release",
            BLOOM_RELEASE, bytes[0]);
    if (bytes[0] == 0 && shape->layout != &bloom_layout_classic)
        return bloom_fail(problem,
                          "are a Guava filter of the older strategy MURMUR128_MITZ_32, which only "
                          "format 'guava' reads. Write the filter with a current Guava");
    if (bytes[0] == 0)
        shape->layout = &bloom_layout_classic32;
    return bloom_foreign_has_java_row(filter, GUAVA_HEADER_BYTES, bytes[GUAVA_AT_PROBES], problem);
}

static bool guava_fits(const struct bloom_shape *shape, bloom_problem problem) {
    if (shape->bits % BLOOM_WORD_BITS != 0)
        return bloom_fail(problem,
                          "has %" PRIu64
                          " bits, but Guava has only multiples of 64. Build it with %" PRIu64
                          " bits, or with bloom_new and layout classic",
                          shape->bits, bloom_words_of(shape->bits) * BLOOM_WORD_BITS);
    return shape->bits <= BLOOM_FOREIGN_JAVA_BITS ||
           bloom_fail(problem,
                      "has %" PRIu64 " bits, but Guava has at most %" PRIu64
                      ". Build several filters",
                      shape->bits, BLOOM_FOREIGN_JAVA_BITS);
}

static uint64_t guava_header(const struct bloom_shape *shape, const uint8_t *payload,
                             uint8_t *header) {
    (void)payload;
    header[0] = shape->layout != &bloom_layout_classic32;
    header[GUAVA_AT_PROBES] = (uint8_t)shape->probes;
    bloom_store32_big(header + GUAVA_AT_WORDS, (uint32_t)(shape->bits / BLOOM_WORD_BITS));
    return GUAVA_HEADER_BYTES;
}

#define GUAVA_FORMAT(format_name, format_layout, older_layout, unknown_layout)                     \
    {                                                                                              \
        .name = format_name, .layout = &format_layout, .older = older_layout,                      \
        .unknown = unknown_layout, .system = "Guava", .advice = BLOOM_WRITE_TO,                    \
        .big_endian = true, .read = guava_read, .fits = guava_fits, .header = guava_header,        \
    }

const struct bloom_exchange bloom_exchange_guava =
    GUAVA_FORMAT("guava", bloom_layout_classic, &bloom_layout_classic32,
                 "Guava does not know. Build it with layout classic");
const struct bloom_exchange bloom_exchange_guava_utf16 =
    GUAVA_FORMAT("guava-utf16", bloom_layout_classic_utf16, NULL,
                 "Guava does not know by this funnel. Build it with layout classic-utf16");

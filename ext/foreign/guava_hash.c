/* Hashing `utf16`: text as Guava's Funnels.unencodedCharsFunnel() feeds it to its hash, that is
 * MurmurHash3 x64 128 with seed 0 over its UTF-16 code units, each as two bytes, low one first.
 *
 * The keys are UTF-8. Each malformed piece (see base/utf8.h) counts as U+FFFD, as in Java's new
 * String(bytes, UTF_8). There are no other keys, because Guava has other funnels for numbers and
 * bytes, and one filter has one funnel.
 */
#include "hash/hashing.h"

#include "base/utf8.h"
#include "hash/murmur3.h"

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
    .name = "utf16",
    .keys = "text",
    .number = 3,
    .words = 2,
    .text_only = true,
    .bytes = utf16_text,
};

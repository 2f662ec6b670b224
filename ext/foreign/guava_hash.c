/* Hashing `utf16`: text as Guava's Funnels.unencodedCharsFunnel() feeds it to its hash, that is
 * MurmurHash3 x64 128 with seed 0 over its UTF-16 code units, each as two bytes, low one first.
 *
 * SQLite hands text over as UTF-8. Where that is malformed, U+FFFD takes the place of each longest
 * piece that could begin a character, or else of one byte; an encoded surrogate is one such piece.
 * This is what Java makes of such bytes (new String(bytes, UTF_8)). There are no other keys: Guava
 * has other funnels for numbers and bytes, and one filter has one funnel.
 */
#include "hash/hashing.h"

#include "hash/murmur3.h"

enum { REPLACEMENT = 0xfffd, CONTINUATION_LEAST = 0x80, CONTINUATION_MOST = 0xbf };

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

/* Takes ASCII, eight bytes at a time, whose code units are one block; and then the rest of the text
 * if it is ASCII, too. No code unit may be waiting. Returns the number of bytes taken. */
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

/* Reads the character that begins at text and is not ASCII; returns how many bytes it took. */
static size_t utf16_decode(const uint8_t *text, size_t left, uint32_t *character) {
    uint8_t lead = text[0];
    uint8_t least = CONTINUATION_LEAST, most = CONTINUATION_MOST; /* of the byte after the lead */
    size_t more;
    if (lead >= 0xc2 && lead <= 0xdf) {
        more = 1;
        *character = lead & 0x1f;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        more = 2;
        *character = lead & 0x0f;
        least = lead == 0xe0 ? 0xa0 : least; /* no longer than needed */
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        more = 3;
        *character = lead & 0x07;
        least = lead == 0xf0 ? 0x90 : least;
        most = lead == 0xf4 ? 0x8f : most; /* up to U+10FFFF */
    } else {
        *character = REPLACEMENT;
        return 1;
    }
    for (size_t i = 1; i <= more; i++) {
        if (i == left || text[i] < least || text[i] > most) {
            *character = REPLACEMENT;
            return i;
        }
        *character = *character << 6 | (text[i] & 0x3f);
        least = CONTINUATION_LEAST;
        most = CONTINUATION_MOST;
    }
    if (*character >= 0xd800 && *character <= 0xdfff)
        *character = REPLACEMENT;
    return more + 1;
}

static bool utf16_text(const uint64_t seed[2], const void *text, size_t length, uint64_t *words) {
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
        uint32_t character = *at;
        size_t taken = character < 0x80 ? 1 : utf16_decode(at, length, &character);
        at += taken;
        length -= taken;
        if (character > 0xffff) {
            character -= 0x10000;
            utf16_put(&stream, 0xd800 + (character >> 10));
            utf16_put(&stream, 0xdc00 + (character & 0x3ff));
        } else {
            utf16_put(&stream, character);
        }
    }
    bloom_murmur3_tail(&stream.state, stream.low, stream.high);
    bloom_murmur3_end(stream.state, stream.length, words);
    return true;
}

const struct bloom_hashing bloom_hashing_utf16 = {
    .name = "utf16",
    .keys = "text",
    .number = 3,
    .words = 2,
    .text = utf16_text,
};

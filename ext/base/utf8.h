/* UTF-8 by RFC 3629: no surrogates, nothing overlong, nothing above U+10FFFF. */
#ifndef BLOOM_BASE_UTF8_H
#define BLOOM_BASE_UTF8_H

#include "base/portable.h"

#include <stdbool.h>
#include <stddef.h>

#define BLOOM_NOT_UTF8 UINT32_MAX

#define BLOOM_BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Returns the character that begins at text, of which `left` bytes (at least 1) are left, and sets
 * *taken to its length. If the bytes are malformed, returns BLOOM_NOT_UTF8, and *taken is the
 * length of the longest piece that could begin a character, at least 1. An encoded surrogate is one
 * such piece. */
static inline uint32_t bloom_utf8_read(const uint8_t *text, size_t left, size_t *taken) {
    const uint32_t lead = text[0];
    uint32_t least = 0x80, most = 0xbf; /* of the second byte */
    *taken = 1;
    if (lead < 0x80)
        return lead;
    if (lead < 0xc2 || lead > 0xf4)
        return BLOOM_NOT_UTF8;
    if (lead == 0xe0 || lead == 0xf0) /* shorter characters would begin below */
        least = lead == 0xe0 ? 0xa0 : 0x90;
    if (lead == 0xf4)
        most = 0x8f;
    const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t character = lead & (0x7fU >> length);
    for (; *taken < length; ++*taken, least = 0x80, most = 0xbf) {
        if (*taken == left || text[*taken] < least || text[*taken] > most)
            return BLOOM_NOT_UTF8;
        character = character << 6 | (text[*taken] & 0x3fU);
    }
    return character >= 0xd800 && character < 0xe000 ? BLOOM_NOT_UTF8 : character;
}

/* Returns true if a text is valid. */
static inline bool bloom_is_utf8(const uint8_t *text, size_t length) {
    size_t taken, i = 0;
    while (length - i >= 8 && (bloom_load64(text + i) & UINT64_C(0x8080808080808080)) == 0)
        i += 8;
    for (; i < length; i += taken)
        if (bloom_utf8_read(text + i, length - i, &taken) == BLOOM_NOT_UTF8)
            return false;
    return true;
}

#endif

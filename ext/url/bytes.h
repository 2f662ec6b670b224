/* Bytes of URLs: letters, digits, escapes, UTF-8. */
#ifndef BLOOM_URL_BYTES_H
#define BLOOM_URL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What url_code_point gives for bytes that are no UTF-8. */
#define URL_NO_CODE_POINT UINT32_MAX

static inline bool url_is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

static inline bool url_is_letter(uint8_t byte) {
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

static inline uint8_t url_lower(uint8_t byte) {
    return (uint8_t)(byte - 'A') < 26 ? (uint8_t)(byte + 0x20) : byte;
}

/* The value of a hexadecimal digit, 16 for any other byte. */
static inline unsigned url_digit(uint8_t byte) {
    unsigned letter = (unsigned)(byte | 0x20) - 'a';
    return url_is_digit(byte) ? byte - (unsigned)'0' : letter < 6 ? letter + 10 : 16;
}

/* A browser takes both slashes for the same, except in the query. */
static inline bool url_is_slash(uint8_t byte) {
    return byte == '/' || byte == '\\';
}

/* Tabs and line breaks, which are taken out wherever they stand. */
static inline bool url_is_line_break(uint8_t byte) {
    return byte == '\t' || byte == '\r' || byte == '\n';
}

/* The first such byte from start on, or length when there is none. */
static inline size_t url_find(const uint8_t *text, size_t start, size_t length, uint8_t byte) {
    const uint8_t *found =
        start < length ? (const uint8_t *)memchr(text + start, byte, length - start) : NULL;
    return found != NULL ? (size_t)(found - text) : length;
}

/* The code point at *i of UTF-8 by RFC 3629, behind which *i then stands; or URL_NO_CODE_POINT. */
static inline uint32_t url_code_point(const uint8_t *text, size_t length, size_t *i) {
    static const uint32_t LEAST[4] = {0, 0x80, 0x800, 0x10000};
    uint32_t first = text[(*i)++];
    unsigned more = first < 0x80 ? 0 : first < 0xc0 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (more > length - *i || first >= 0xf8 || more == 4)
        return URL_NO_CODE_POINT;
    uint32_t point = more == 0 ? first : first & (0x3fU >> more);
    for (unsigned j = 0; j < more; j++) {
        uint32_t next = text[(*i)++];
        if ((next & 0xc0) != 0x80)
            return URL_NO_CODE_POINT;
        point = point << 6 | (next & 0x3f);
    }
    return point < LEAST[more] || (point >= 0xd800 && point < 0xe000) || point > 0x10ffff
               ? URL_NO_CODE_POINT
               : point;
}

#endif

/* Bytes of URLs: letters, digits, escapes, UTF-8, and eight bytes at a time. */
#ifndef BLOOM_URL_BYTES_H
#define BLOOM_URL_BYTES_H

#include "base/portable.h"
#include "base/utf8.h"

#include <stdbool.h>

static inline bool url_is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

static inline bool url_is_letter(uint8_t byte) {
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

static inline uint8_t url_lower(uint8_t byte) {
    return (uint8_t)(byte - 'A') < 26 ? (uint8_t)(byte + 0x20) : byte;
}

/* Returns the value of a hexadecimal digit, or 16 for any other byte. */
static inline unsigned url_digit(uint8_t byte) {
    unsigned letter = (unsigned)(byte | 0x20) - 'a';
    return url_is_digit(byte) ? byte - (unsigned)'0' : letter < 6 ? letter + 10 : 16;
}

/* Both slashes are the same to a browser, except in the query. */
static inline bool url_is_slash(uint8_t byte) {
    return byte == '/' || byte == '\\';
}

/* Returns where the byte first occurs from start on, or length if it does not. */
static inline size_t url_find(const uint8_t *text, size_t start, size_t length, uint8_t byte) {
    const uint8_t *found =
        start < length ? (const uint8_t *)memchr(text + start, byte, length - start) : NULL;
    return found != NULL ? (size_t)(found - text) : length;
}

/* Returns the character at *i of UTF-8, or BLOOM_NOT_UTF8, and moves *i to the next one. */
static inline uint32_t url_code_point(const uint8_t *text, size_t length, size_t *i) {
    size_t taken;
    uint32_t point = bloom_utf8_read(text + *i, length - *i, &taken);
    *i += taken;
    return point;
}

/* Returns the eight bytes at a place as a word, the first one lowest, with zeros after the end. */
static inline uint64_t url_word(const uint8_t *text, size_t at, size_t length) {
    const size_t left = length - at;
    uint64_t word = 0;
    if (left >= sizeof word)
        return bloom_load64(text + at);
    if (length >= sizeof word)
        return bloom_load64(text + length - sizeof word) >> 1 >> (63 - 8 * left);
    while (length > at)
        word = word << 8 | text[--length];
    return word;
}

/* A word with the same byte eight times. */
static inline uint64_t url_eight(uint8_t byte) {
    return UINT64_C(0x0101010101010101) * byte;
}

/* Sets the topmost bit of each byte that is zero, and perhaps of the byte above such a byte. */
static inline uint64_t url_zeros(uint64_t word) {
    return (word - url_eight(1)) & ~word & url_eight(128);
}

/* Sets the topmost bit of each byte from low to high. All bytes of the word are below 128. */
static inline uint64_t url_between(uint64_t word, uint8_t low, uint8_t high) {
    return (word + url_eight((uint8_t)(128 - low))) & ~(word + url_eight((uint8_t)(127 - high)));
}

#endif

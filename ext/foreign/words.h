/* What the formats share that have big-endian words of 64 bits. */
#ifndef BLOOM_FOREIGN_WORDS_H
#define BLOOM_FOREIGN_WORDS_H

#include "base/portable.h"
#include "filter/layouts/classic.h"

enum { BLOOM_WORD_BYTES = BLOOM_WORD_BITS / 8 };

/* Load and store eight or four bytes at any address as a big-endian number. */
static inline uint64_t bloom_load64_big(const uint8_t *bytes) {
    return bloom_swap64(bloom_load64(bytes));
}

static inline void bloom_store64_big(uint8_t *bytes, uint64_t value) {
    bloom_store64(bytes, bloom_swap64(value));
}

static inline uint32_t bloom_load32_big(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline void bloom_store32_big(uint8_t *bytes, uint32_t value) {
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Returns 32 bits as Java reads them: all its integers are signed. */
static inline int64_t bloom_signed32(uint32_t value) {
    return value <= INT32_MAX ? (int64_t)value : (int64_t)value - (INT64_C(1) << 32);
}

/* Returns the number of words for this many bits. */
static inline uint64_t bloom_words_of(uint64_t bits) {
    return bits / BLOOM_WORD_BITS + (bits % BLOOM_WORD_BITS != 0);
}

#endif

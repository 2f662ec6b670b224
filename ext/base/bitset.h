/* Payloads as sets of bits, for merging and counting, whatever the layout: by words, of which
 * compilers make vector code. */
#ifndef BLOOM_BASE_BITSET_H
#define BLOOM_BASE_BITSET_H

#include "base/portable.h"

#include <stddef.h>

/* What is merged at a time: two words, where the compiler has vectors of them. Of a plain loop it
 * would make none with -O2, because it cannot know that no store changes what is loaded later. */
#ifdef __GNUC__
typedef uint64_t bloom_words __attribute__((vector_size(16)));
#else
typedef uint64_t bloom_words;
#endif

/* Merges words, of which no byte may depend on another one. */
typedef bloom_words bloom_words_merge(bloom_words a, bloom_words b);

/* into = merge(a, b) for the given number of bytes. into may be a, but must not overlap otherwise.
 */
BLOOM_INLINE void bloom_merge_bytes(uint8_t *into, const uint8_t *a, const uint8_t *b, size_t bytes,
                                    bloom_words_merge *merge) {
    bloom_words first = {0}, second = {0};
    size_t i = 0;
    for (; i + sizeof first <= bytes; i += sizeof first) {
        memcpy(&first, a + i, sizeof first);
        memcpy(&second, b + i, sizeof second);
        first = merge(first, second);
        memcpy(into + i, &first, sizeof first);
    }
    memcpy(&first, a + i, bytes - i); /* the rest of the words is merged, too, and not used */
    memcpy(&second, b + i, bytes - i);
    first = merge(first, second);
    memcpy(into + i, &first, bytes - i);
}

static inline bloom_words bloom_words_or(bloom_words a, bloom_words b) {
    return a | b;
}

static inline bloom_words bloom_words_and(bloom_words a, bloom_words b) {
    return a & b;
}

static inline void bloom_bitset_union(uint8_t *into, const uint8_t *a, const uint8_t *b,
                                      size_t bytes) {
    bloom_merge_bytes(into, a, b, bytes, bloom_words_or);
}

static inline void bloom_bitset_intersect(uint8_t *into, const uint8_t *a, const uint8_t *b,
                                          size_t bytes) {
    bloom_merge_bytes(into, a, b, bytes, bloom_words_and);
}

/* Returns the number of bits that are set. */
static inline uint64_t bloom_bitset_ones(const uint8_t *set, size_t bytes) {
    uint64_t ones = 0;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8)
        ones += bloom_popcount64(bloom_load64(set + i));
    for (; i < bytes; i++)
        ones += bloom_popcount64(set[i]);
    return ones;
}

#endif

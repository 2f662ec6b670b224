/* The layout hashes: the sorted set of the hashes of keys, for loading many keys into a filter
 * table at once.
 *
 * Its payload is the hashes, 8 bytes each, little-endian, ascending, no two equal; zeros when there
 * are none. m is 64 n, at least 64; p is 0, since an absent key is found only when its whole hash
 * equals that of a key in the set, which has probability n / 2^64. Byte 40 tells the types of the
 * keys: see hashes.h.
 *
 * Hashes are spread evenly whatever the keys are, unless somebody chose the keys. So each hash is
 * put where its upper bits say, in stretches that fit a cache. The hashes that share a place are
 * then sorted there: a few of them, or all n when they were chosen, in n log n steps. */
#include "filter/hashes.h"

#include "filter/key_set.h"
#include "filter/portable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HASHES_NUMBER = 13,
    HASH_BYTES = 8,
    /* The topmost bits of a hash choose its stretch, when there are many hashes; the bits below
     * choose its place in the stretch. */
    STRETCH_BITS = 8,
    PLACE_BITS = 11,
    FEW_HASHES = 1 << 14, /* one stretch; beyond, a key set comes in partitions */
    INSERTION_MOST = 24
};

uint64_t bloom_hashes_at(const uint8_t *payload, uint64_t index) {
    return bloom_load64(payload + index * HASH_BYTES);
}

static bool hashes_size_for_keys(struct bloom_shape *shape, const struct bloom_key_summary *keys,
                                 char problem[BLOOM_PROBLEM_SIZE]) {
    (void)problem;
    shape->probes = 1;
    shape->bits = (keys->keys > 0 ? keys->keys : 1) * 8 * HASH_BYTES;
    return true;
}

static bool hashes_valid(const struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]) {
    if (shape->capacity <= BLOOM_CAPACITY_MAXIMUM &&
        shape->bits == (shape->capacity > 0 ? shape->capacity : 1) * 8 * HASH_BYTES &&
        shape->extra[0] <= (BLOOM_HASHES_OF_TEXT | BLOOM_HASHES_OF_NUMBERS) && shape->extra[1] == 0)
        return true;
    snprintf(problem, BLOOM_PROBLEM_SIZE,
             "is damaged: its numbers do not go together for layout hashes; make it anew with "
             "bloom_hashes");
    return false;
}

static bool hashes_check(const struct bloom_shape *shape, const uint8_t *payload,
                         const uint64_t *words) {
    uint64_t from = 0, to = shape->capacity;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2, hash = bloom_hashes_at(payload, middle);
        if (hash == words[0])
            return true;
        if (hash < words[0])
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

static void hashes_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                              const uint64_t *words, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = hashes_check(shape, payload, words + i);
}

static struct bloom_estimate hashes_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload) {
    (void)payload;
    return (struct bloom_estimate){
        .count = (double)shape->capacity, .rate = ldexp((double)shape->capacity, -64), .fill = -1};
}

/* Building */

static int compare_hashes(const void *a, const void *b) {
    const uint64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

static void sort_place(uint64_t *hashes, size_t count) {
    if (count > INSERTION_MOST) {
        qsort(hashes, count, sizeof *hashes, compare_hashes);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint64_t hash = hashes[i];
        size_t at = i;
        for (; at > 0 && hashes[at - 1] > hash; at--)
            hashes[at] = hashes[at - 1];
        hashes[at] = hash;
    }
}

/* Sorts count hashes at bytes, whose topmost `skipped` bits are equal. False: no memory. */
static bool sort_stretch(const struct bloom_memory *memory, uint8_t *bytes, size_t count,
                         unsigned skipped) {
    const unsigned shift = 64 - skipped - PLACE_BITS, mask = (1u << PLACE_BITS) - 1;
    uint64_t *ends = bloom_allocate(memory, (mask + 2) * sizeof *ends);
    uint64_t *sorted = bloom_allocate(memory, count * sizeof *sorted);
    if (ends != NULL && sorted != NULL) {
        memset(ends, 0, (mask + 2) * sizeof *ends);
        for (size_t i = 0; i < count; i++)
            ends[(bloom_hashes_at(bytes, i) >> shift & mask) + 1]++;
        for (size_t place = 1; place <= mask; place++)
            ends[place] += ends[place - 1];
        for (size_t i = 0; i < count; i++) {
            uint64_t hash = bloom_hashes_at(bytes, i);
            sorted[ends[hash >> shift & mask]++] = hash;
        }
        for (size_t place = 0, from = 0; place <= mask; from = ends[place++])
            sort_place(sorted + from, (size_t)(ends[place] - from));
        for (size_t i = 0; i < count; i++)
            bloom_store64(bytes + i * HASH_BYTES, sorted[i]);
    }
    bool done = ends != NULL && sorted != NULL;
    bloom_release(memory, ends);
    bloom_release(memory, sorted);
    return done;
}

static void take(void *argument, const uint64_t *words, size_t count) {
    uint8_t **end = argument;
    for (size_t i = 0; i < count; i++, *end += HASH_BYTES)
        bloom_store64(*end, words[i]);
}

/* The keys come in the order of their upper bits when there are many. */
static enum bloom_built hashes_build(struct bloom_shape *shape, uint8_t *payload,
                                     const struct bloom_key_set *keys) {
    const uint64_t count = shape->capacity;
    const unsigned skipped = count > FEW_HASHES ? STRETCH_BITS : 0;
    uint64_t since_asked = 0;
    uint8_t *end = payload;
    if (!bloom_key_set_each(keys, take, &end))
        return BLOOM_BUILD_INTERRUPTED;
    for (uint64_t from = 0, to; from < count; from = to) {
        uint64_t upper = skipped > 0 ? bloom_hashes_at(payload, from) >> (64 - skipped) : 0;
        for (to = from + 1; to < count; to++)
            if (skipped > 0 && bloom_hashes_at(payload, to) >> (64 - skipped) != upper)
                break;
        if (!sort_stretch(keys->memory, payload + from * HASH_BYTES, (size_t)(to - from), skipped))
            return BLOOM_BUILD_NO_MEMORY;
        if (bloom_key_set_interrupted(keys, to - from, &since_asked))
            return BLOOM_BUILD_INTERRUPTED;
    }
    return BLOOM_BUILT;
}

const struct bloom_layout bloom_layout_hashes = {
    .name = "hashes",
    .hashing = &bloom_hashing_murmur3,
    .number = HASHES_NUMBER,
    .hash_words = 1,
    .keying = true,
    .unlisted = true,
    .exact = true,
    .probes_maximum = 1,
    .bits_multiple = 8 * HASH_BYTES,
    .advice = "it is made of a finished set: make it anew of all keys, as in bloom_hashes(key)",
    .size_for_keys = hashes_size_for_keys,
    .valid = hashes_valid,
    .check = hashes_check,
    .check_many = hashes_check_many,
    .build = hashes_build,
    .estimate = hashes_estimate,
};

/* A key set returns many keys in the order of their topmost bits. So they form stretches, which are
 * sorted one after the other: a hash is put into its place by its next bits, and the few hashes
 * that share a place are sorted there. If the keys were chosen, all n may share a place; they take
 * n log n steps. */
#include "filter/key_set.h"

#include "base/portable.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* When there are many hashes, the topmost bits choose the stretch of a hash. The bits below
     * choose its place in the stretch. */
    STRETCH_BITS = 8,
    PLACE_BITS = 11,
    FEW_HASHES = 1 << 14, /* one stretch */
    INSERTION_MOST = 24
};

static_assert((int)STRETCH_BITS <= (int)BLOOM_KEY_SET_PARTITION_BITS &&
                  (int)FEW_HASHES >= (int)BLOOM_KEY_SET_UNPARTITIONED,
              "more hashes than FEW_HASHES come in the order of their topmost bits");

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

/* Sorts hashes whose topmost `skipped` bits are equal. Returns false when there is no memory. */
static bool sort_stretch(const struct bloom_memory *memory, uint64_t *hashes, size_t count,
                         unsigned skipped) {
    const unsigned shift = 64 - skipped - PLACE_BITS, mask = (1u << PLACE_BITS) - 1;
    uint64_t *ends = bloom_allocate(memory, (mask + 2) * sizeof *ends);
    uint64_t *sorted = bloom_allocate(memory, count * sizeof *sorted);
    if (ends != NULL && sorted != NULL) {
        memset(ends, 0, (mask + 2) * sizeof *ends);
        for (size_t i = 0; i < count; i++)
            ends[(hashes[i] >> shift & mask) + 1]++;
        for (size_t place = 1; place <= mask; place++)
            ends[place] += ends[place - 1];
        for (size_t i = 0; i < count; i++)
            sorted[ends[hashes[i] >> shift & mask]++] = hashes[i];
        for (size_t place = 0, from = 0; place <= mask; from = ends[place++])
            sort_place(sorted + from, (size_t)(ends[place] - from));
        memcpy(hashes, sorted, count * sizeof *hashes);
    }
    bool done = ends != NULL && sorted != NULL;
    bloom_release(memory, ends);
    bloom_release(memory, sorted);
    return done;
}

static void take(void *argument, const uint64_t *words, size_t count) {
    uint64_t **end = argument;
    memcpy(*end, words, count * sizeof *words);
    *end += count;
}

/* Moves the distinct ones of sorted hashes to `to`, which may be where they are or before. Returns
 * the end of them. */
static uint64_t *move_distinct(uint64_t *to, const uint64_t *sorted, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (i == 0 || sorted[i] != to[-1])
            *to++ = sorted[i];
    return to;
}

static enum bloom_built sort_all(struct bloom_hashes *hashes, const struct bloom_key_set *keys) {
    const uint64_t count = hashes->count;
    const unsigned skipped = count > FEW_HASHES ? STRETCH_BITS : 0;
    uint64_t since_poll = 0;
    uint64_t *all = hashes->hashes, *end = all;
    if (!bloom_key_set_each(keys, take, &end))
        return BLOOM_BUILD_INTERRUPTED;
    end = all;
    for (uint64_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count; to++)
            if (skipped > 0 && (all[from] ^ all[to]) >> (64 - STRETCH_BITS) != 0)
                break;
        if (!sort_stretch(keys->memory, all + from, (size_t)(to - from), skipped))
            return BLOOM_BUILD_NO_MEMORY;
        end = move_distinct(end, all + from, (size_t)(to - from));
        if (bloom_key_set_interrupted(keys, to - from, &since_poll))
            return BLOOM_BUILD_INTERRUPTED;
    }
    hashes->count = (uint64_t)(end - all);
    return BLOOM_BUILT;
}

enum bloom_built bloom_hashes_sort(struct bloom_hashes *hashes, const struct bloom_key_set *keys) {
    hashes->hashes = NULL;
    hashes->count = bloom_key_set_size(keys);
    if (hashes->count == 0)
        return BLOOM_BUILT;
    hashes->hashes = bloom_allocate(keys->memory, hashes->count * sizeof *hashes->hashes);
    if (hashes->hashes == NULL)
        return BLOOM_BUILD_NO_MEMORY;
    enum bloom_built built = sort_all(hashes, keys);
    if (built != BLOOM_BUILT) {
        bloom_release(keys->memory, hashes->hashes);
        hashes->hashes = NULL;
    }
    return built;
}

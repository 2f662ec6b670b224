/* Debian's libbloom (package libbloom-dev) behind floor.h. Compiled without -Iext: <bloom.h> is
 * libbloom's. */
#include "floor.h"

#include <bloom.h>
#include <limits.h>
#include <stdlib.h>

struct floor_libbloom {
    struct bloom bloom;
};

struct floor_libbloom *floor_libbloom_new(size_t capacity, double rate) {
    struct floor_libbloom *filter = calloc(1, sizeof *filter);
    if (filter == NULL || capacity > INT_MAX ||
        bloom_init(&filter->bloom, (int)capacity, rate) != 0) {
        free(filter);
        return NULL;
    }
    return filter;
}

void floor_libbloom_reset(struct floor_libbloom *filter) {
    bloom_reset(&filter->bloom);
}

void floor_libbloom_free(struct floor_libbloom *filter) {
    if (filter != NULL)
        bloom_free(&filter->bloom);
    free(filter);
}

uint64_t floor_libbloom_bits(const struct floor_libbloom *filter) {
    return (uint64_t)filter->bloom.bits;
}

unsigned floor_libbloom_hashes(const struct floor_libbloom *filter) {
    return (unsigned)filter->bloom.hashes;
}

static inline const void *key(const struct floor_keys *keys, size_t i, int *length) {
    if (!keys->text) {
        *length = sizeof keys->first[i];
        return &keys->first[i];
    }
    *length = (int)(keys->starts[i + 1] - keys->starts[i]);
    return keys->urls + keys->starts[i];
}

void floor_libbloom_add(struct floor_libbloom *filter, const struct floor_keys *keys) {
    int length;
    for (size_t i = 0; i < keys->count; i++) {
        const void *bytes = key(keys, i, &length);
        bloom_add(&filter->bloom, bytes, length);
    }
}

uint64_t floor_libbloom_check(struct floor_libbloom *filter, const struct floor_keys *keys) {
    uint64_t found = 0;
    int length;
    for (size_t i = 0; i < keys->count; i++) {
        const void *bytes = key(keys, i, &length);
        found += (uint64_t)bloom_check(&filter->bloom, bytes, length);
    }
    return found;
}

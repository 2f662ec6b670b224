/* Debian's libbloom (package libbloom-dev) behind floor.h. It hashes every key itself; a hash that
 * others are given is a key of 8 bytes. Compiled without -Iext: <bloom.h> is libbloom's. */
#include "floor.h"

#include <bloom.h>
#include <limits.h>
#include <stdlib.h>

static void *make(uint64_t capacity, double rate, uint64_t bits) {
    (void)bits;
    struct bloom *filter = calloc(1, sizeof *filter);
    if (filter == NULL || capacity > INT_MAX || bloom_init(filter, (int)capacity, rate) != 0) {
        free(filter);
        return NULL;
    }
    return filter;
}

static void reset(void *filter) {
    bloom_reset(filter);
}

static void release(void *filter) {
    bloom_free(filter);
    free(filter);
}

static uint64_t bits(const void *filter) {
    return (uint64_t)((const struct bloom *)filter)->bits;
}

static void add_bytes(void *filter, const void *key, size_t length) {
    bloom_add(filter, key, (int)length);
}

static bool check_bytes(const void *filter, const void *key, size_t length) {
    return bloom_check((struct bloom *)filter, key, (int)length) != 0;
}

static void add(void *filter, const uint64_t *hash) {
    add_bytes(filter, hash, sizeof *hash);
}

static bool check(const void *filter, const uint64_t *hash) {
    return check_bytes(filter, hash, sizeof *hash);
}

const struct floor_peer floor_libbloom = {
    .name = "libbloom",
    .make = make,
    .reset = reset,
    .release = release,
    .bits = bits,
    .add = add,
    .check = check,
    .add_bytes = add_bytes,
    .check_bytes = check_bytes,
};

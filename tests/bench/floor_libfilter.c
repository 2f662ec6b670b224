/* libfilter's split block filter (the one of Parquet and Impala), of its c/include/filter/block.h,
 * behind floor.h. Compiled for this very processor when PEERS has its sources; see run.sh. It has
 * no functions for many keys. */
#include "floor.h"

#include <filter/block.h>

#include <stdlib.h>
#include <string.h>

struct split {
    libfilter_block block;
    uint64_t bytes;
};

/* All memory is touched before anything is timed. */
static void split_touch(struct split *filter) {
    memset(filter->block.block_.block, 0, libfilter_block_size_in_bytes(&filter->block));
}

static void *split_make(uint64_t capacity, double rate, uint64_t bits) {
    (void)bits;
    struct split *filter = malloc(sizeof *filter);
    if (filter == NULL)
        return NULL;
    filter->bytes = libfilter_block_bytes_needed((double)capacity, rate);
    if (libfilter_block_init(filter->bytes, &filter->block) < 0) {
        free(filter);
        return NULL;
    }
    split_touch(filter);
    return filter;
}

/* By a new one: libfilter_block_zero_out takes the memory away. */
static void split_reset(void *opaque) {
    struct split *filter = opaque;
    libfilter_block_destruct(&filter->block);
    if (libfilter_block_init(filter->bytes, &filter->block) < 0)
        abort();
    split_touch(filter);
}

static void split_release(void *opaque) {
    struct split *filter = opaque;
    libfilter_block_destruct(&filter->block);
    free(filter);
}

static uint64_t split_bits(const void *opaque) {
    const struct split *filter = opaque;
    return 8 * libfilter_block_size_in_bytes(&filter->block);
}

static void split_add(void *opaque, const uint64_t *hash) {
    struct split *filter = opaque;
    libfilter_block_add_hash(*hash, &filter->block);
}

static bool split_check(const void *opaque, const uint64_t *hash) {
    const struct split *filter = opaque;
    return libfilter_block_find_hash(*hash, &filter->block);
}

const struct floor_peer floor_libfilter = {
    .name = "libfilter",
    .make = split_make,
    .reset = split_reset,
    .release = split_release,
    .bits = split_bits,
    .add = split_add,
    .check = split_check,
};

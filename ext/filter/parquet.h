/* The inner loop of layout `parquet`: testing the eight bits of a key in its block. parquet.c
 * defines the layout, finds blocks and overlaps cache misses. Every kernel gives the same answers
 * as the portable one. */
#ifndef BLOOM_PARQUET_H
#define BLOOM_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bloom_parquet_kernel {
    const char *name;
    bool (*supported)(void); /* by this processor */
    bool (*check)(const uint8_t *block, uint64_t word);
    /* The same for count keys whose blocks are on their way into the cache. */
    void (*check_batch)(const uint8_t *const *blocks, const uint64_t *words, size_t count,
                        uint8_t *found);
};

/* All kernels of this build, fastest first, the last one portable; ends with NULL. */
extern const struct bloom_parquet_kernel *const bloom_parquet_kernels[];

#endif

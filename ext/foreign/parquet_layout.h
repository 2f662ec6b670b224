/* The inner loops of layout `parquet`, which parquet_layout.c defines. They test the eight bits of
 * a key in its block, with the contracts of the members of the same names in layout.h. Every kernel
 * gives the same answers as the portable one. */
#ifndef BLOOM_FOREIGN_PARQUET_LAYOUT_H
#define BLOOM_FOREIGN_PARQUET_LAYOUT_H

#include "filter/layout.h"

struct bloom_parquet_kernel {
    const char *name;
    bool (*supported)(void); /* by this processor */
    bool (*check)(const struct bloom_shape *shape, const uint8_t *payload, const uint64_t *words);
    void (*check_many)(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *words, size_t count, uint8_t *found);
};

/* All kernels of this build, fastest first, the last one portable; ends with NULL. */
extern const struct bloom_parquet_kernel *const bloom_parquet_kernels[];

#endif

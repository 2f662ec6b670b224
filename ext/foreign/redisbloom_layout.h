/* What a filter of layout `redisbloom` keeps for Redis in the extra words of its header: see
 * redisbloom_layout.c. */
#ifndef BLOOM_FOREIGN_REDISBLOOM_LAYOUT_H
#define BLOOM_FOREIGN_REDISBLOOM_LAYOUT_H

#include "filter/layout.h"

#define BLOOM_REDISBLOOM_NONSCALING (UINT64_C(1) << 32)

/* Half of it is still a double with all its digits. */
#define BLOOM_REDISBLOOM_RATE_MINIMUM 1e-300

/* Returns the rate of the one link that the filter is. */
static inline double bloom_redisbloom_link_rate(const struct bloom_shape *shape) {
    return (shape->extra[0] & BLOOM_REDISBLOOM_NONSCALING) != 0 ? shape->rate : shape->rate / 2;
}

/* Returns true when RedisBloom can have such a filter: its loader computes k from the bits per key.
 * These may differ from those of n and p in the last digits, as logarithms of different machines
 * do. */
bool bloom_redisbloom_is_of_redis(const struct bloom_shape *shape);

#endif

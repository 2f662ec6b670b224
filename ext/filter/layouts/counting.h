/* What only filters of layout counting can do. */
#ifndef BLOOM_FILTER_LAYOUTS_COUNTING_H
#define BLOOM_FILTER_LAYOUTS_COUNTING_H

#include "filter/layout.h"

/* Returns how often a key was added, 0 to BLOOM_REPEATS_MAXIMUM: sometimes more, never less. */
unsigned bloom_counting_times(const struct bloom_shape *shape, const uint8_t *payload,
                              const uint64_t *words);

/* Removes a key once. A key that is certainly not in changes nothing. */
void bloom_counting_remove(const struct bloom_shape *shape, uint8_t *payload,
                           const uint64_t *words);

/* Returns the shape of the filter of layout blocked that has the same keys. */
struct bloom_shape bloom_counting_as_blocked(const struct bloom_shape *shape);

/* Writes the payload of that filter: bit by bit what blocked makes of the same keys. */
void bloom_counting_convert(const struct bloom_shape *shape, const uint8_t *payload,
                            uint8_t *blocked);

#endif

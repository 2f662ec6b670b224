/* Listing the keys of a filter of layout bitmap. */
#ifndef BLOOM_FILTER_LAYOUTS_BITMAP_H
#define BLOOM_FILTER_LAYOUTS_BITMAP_H

#include "filter/layout.h"

/* Writes the smallest keys from first to last, ascending, or the largest ones, descending. Writes
 * at most `room` keys and returns their number. first <= last < shape->bits. */
size_t bloom_bitmap_list(const struct bloom_shape *shape, const uint8_t *payload, uint64_t first,
                         uint64_t last, bool descending, uint64_t *keys, size_t room);

#endif

/* What the two layouts share that have blocks of 512 places: blocked.c stores a bit at each place,
 * counting.c a counter. blocked.c describes where the places of a key are. */
#ifndef BLOOM_FILTER_LAYOUTS_BLOCKED_H
#define BLOOM_FILTER_LAYOUTS_BLOCKED_H

#include "filter/layout.h"
#include "filter/layouts/kernels/kernel.h"

/* The most probes that a key has: three words of seven. */
#define BLOOM_BLOCKED_PROBES_MAXIMUM (3 * BLOOM_PROBES_PER_WORD)

/* Returns the check of this processor. Whoever keeps a filter of layout blocked and checks it often
 * saves a call by it. */
bloom_word_check *bloom_blocked_word_check(void);

/* The member size of both layouts. The arithmetic is of integers, on the bits of the double p, so
 * that every machine gets the same size: a filter that is built again elsewhere must have the same
 * bytes. */
bool bloom_blocked_size(struct bloom_shape *shape, bloom_problem problem);

#endif

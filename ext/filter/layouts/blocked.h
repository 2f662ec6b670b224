/* What the two layouts share that have blocks of 512 places: blocked.c stores a bit at each place,
 * counting.c a counter. blocked.c describes where the places of a key are. Both have the same
 * number of blocks for n and p, and the same estimates from the number of set places. */
#ifndef BLOOM_FILTER_LAYOUTS_BLOCKED_H
#define BLOOM_FILTER_LAYOUTS_BLOCKED_H

#include "filter/layout.h"
#include "filter/layouts/kernels/kernel.h"

/* The most probes that a key has: three words of seven. */
#define BLOOM_BLOCKED_PROBES_MAXIMUM (3 * BLOOM_PROBES_PER_WORD)

/* Returns the check of this processor. Whoever keeps a filter of layout blocked and checks it often
 * saves a call by it. */
bloom_word_check *bloom_blocked_word_check(void);

/* Chooses probes and blocks for the capacity and rate of a shape. Returns false when it is not
 * possible to keep the rate. */
bool bloom_blocked_choose(struct bloom_shape *shape, uint64_t *blocks, bloom_problem problem);

/* Estimates from the number of set places in each of the blocks. */
struct bloom_estimate bloom_blocked_estimate_of(uint64_t blocks, uint32_t probes,
                                                const struct bloom_tally *tally);

/* Returns the mean number of set places for this many distinct keys. */
double bloom_blocked_expected_ones(uint64_t blocks, uint32_t probes, double keys);

#endif

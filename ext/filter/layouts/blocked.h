/* What the two layouts with blocks of 512 places share: blocked.c keeps a bit at each place,
 * counting.c a counter. kernel.h says where the places of a key are. Both have the same
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

/* Chooses probes, and blocks, for the capacity and rate of a shape. Returns false and says why in
 * problem when the rate cannot be kept. */
bool bloom_blocked_choose(struct bloom_shape *shape, uint64_t *blocks, bloom_problem problem);

/* Estimates from the number of set places in each of so many blocks. */
struct bloom_estimate bloom_blocked_estimate_of(uint64_t blocks, uint32_t probes,
                                                const struct bloom_tally *tally);

/* The mean number of set places when so many distinct keys are in. */
double bloom_blocked_expected_ones(uint64_t blocks, uint32_t probes, double keys);

#endif

/* What the layouts share whose keys live in blocks of 512 places each: blocked.c keeps a bit at
 * each place, counting.c a counter. Where the places of a key are, blocked_kernel.h says; how many
 * blocks there are, and what a number of set places tells, is the same for both. */
#ifndef BLOOM_BLOCKED_H
#define BLOOM_BLOCKED_H

#include "filter/blocked_kernel.h"
#include "filter/layout.h"

/* Probes of a key: three words of seven. */
#define BLOOM_BLOCKED_PROBES_MAXIMUM (3 * BLOOM_PROBES_PER_WORD)

/* Chooses probes, and blocks, for the capacity and rate of a shape. Returns false and says why in
 * problem when the rate cannot be kept. */
bool bloom_blocked_choose(struct bloom_shape *shape, uint64_t *blocks,
                          char problem[BLOOM_PROBLEM_SIZE]);

/* What so many blocks with so many set places each tell. */
struct bloom_estimate bloom_blocked_estimate_of(uint64_t blocks, uint32_t probes,
                                                const struct bloom_tally *tally);

/* Set places on average when so many distinct keys are in. */
double bloom_blocked_expected_ones(uint64_t blocks, uint32_t probes, double keys);

#endif

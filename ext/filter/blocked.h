/* Single blocks of layout blocked, for whoever keeps them elsewhere than in one payload: the filter table
 * stores each stretch of blocks in a database page of its own.
 */
#ifndef BLOOM_LAYOUT_BLOCKED_H
#define BLOOM_LAYOUT_BLOCKED_H

#include "filter/blocked_kernel.h"
#include "filter/layout.h"

/* Blocks in a filter of that shape, and the number of the one that decides about a key whose hash begins with
 * value. */
uint64_t bloom_blocked_blocks(const struct bloom_shape *shape);
uint64_t bloom_blocked_block_of(const struct bloom_shape *shape, uint64_t value);

/* Adds a key to its block, or tells whether it is probably in. */
void bloom_blocked_add(const struct bloom_shape *shape, uint8_t block[BLOOM_BLOCK_BYTES],
                       uint64_t value);
bool bloom_blocked_check(const struct bloom_shape *shape, const uint8_t block[BLOOM_BLOCK_BYTES],
                         uint64_t value);

/* How many blocks have how many bits set: all that an estimate needs. Begins as zeros; blocks that are
 * nowhere count as empty. */
struct bloom_blocked_tally {
    uint64_t blocks_with[BLOOM_BLOCK_BITS + 1];
};

void bloom_blocked_count(struct bloom_blocked_tally *tally, const uint8_t *blocks, uint64_t count);
/* Bits that are set on average when keys distinct keys are in. */
double bloom_blocked_expected_ones(const struct bloom_shape *shape, double keys);

struct bloom_estimate bloom_blocked_estimate(const struct bloom_shape *shape,
                                             const struct bloom_blocked_tally *tally);

#endif

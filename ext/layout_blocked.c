/* Layout `blocked`: every key lives in one block of 512 bits, so one cache line, or one database
 * page, decides.
 *
 * The first word v of a key's hash decides everything:
 *
 *   block     floor(v * blocks / 2^64)
 *   probes    nine bits each, taken from the top of a 64-bit word downwards, seven to a word (the
 * lowest bit is not used); the first word is v * FACTOR + OFFSET, each next one (w ^ w >> 32) *
 * FACTOR
 *
 * Bit b of a block is bit b & 7 of its byte b >> 3.
 *
 * The block comes from the high bits of v, the probes from a product into whose fields its low bits
 * enter, so that keys of one block are still told apart. OFFSET is there for the empty key, whose
 * hash is zero: without it all its probes would fall on one bit. Probes drawn like this behave as
 * independent ones: the rate measured is within sampling error of the exact mixture of
 * blocked_sizes.py from p = 0.5 to 10^-7.
 *
 * Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007.
 */
#include "bitset.h"
#include "layout.h"
#include "portable.h"
#include "sizing.h"

#include <math.h>
#include <stdio.h>

enum { LAYOUT_NUMBER = 1, BLOCK_BITS = 512, BLOCK_BYTES = BLOCK_BITS / 8, PROBES_PER_WORD = 7 };

/* 2^64 divided by the golden ratio, made odd; and the same of the square root of two. */
static const uint64_t FACTOR = 0x9e3779b97f4a7c15ULL;
static const uint64_t OFFSET = 0xb504f333f9de6485ULL;

static inline uint64_t first_probes(uint64_t value) {
    return value * FACTOR + OFFSET;
}

static inline uint64_t next_probes(uint64_t word) {
    return (word ^ word >> 32) * FACTOR;
}

static inline size_t block_offset(const struct bloom_shape *shape, uint64_t value) {
    return (size_t)bloom_reduce(value, shape->bits / BLOCK_BITS) * BLOCK_BYTES;
}

static void block_add(uint8_t *block, uint64_t value, uint32_t hashes) {
    for (uint64_t word = first_probes(value);; word = next_probes(word)) {
        uint64_t probes = word;
        for (unsigned i = 0; i < PROBES_PER_WORD; i++) {
            unsigned bit = (unsigned)(probes >> 55);
            block[bit >> 3] |= (uint8_t)(1u << (bit & 7));
            probes <<= 9;
            if (--hashes == 0)
                return;
        }
    }
}

static bool block_check(const uint8_t *block, uint64_t value, uint32_t hashes) {
    for (uint64_t word = first_probes(value);; word = next_probes(word)) {
        uint64_t probes = word;
        for (unsigned i = 0; i < PROBES_PER_WORD; i++) {
            unsigned bit = (unsigned)(probes >> 55);
            if ((block[bit >> 3] >> (bit & 7) & 1) == 0)
                return false;
            probes <<= 9;
            if (--hashes == 0)
                return true;
        }
    }
}

static bool blocked_size(struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t blocks;
    uint64_t keys = shape->capacity > 0 ? shape->capacity : 1;
    if (!bloom_sizing_blocked(keys, shape->rate, &shape->hashes, &blocks)) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "p = %g is less than layout blocked can keep (1e-9 up to 10^9 keys); "
                 "ask for a larger p or for layout classic",
                 shape->rate);
        return false;
    }
    shape->bits = blocks * BLOCK_BITS;
    return true;
}

static void blocked_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *values,
                        size_t count) {
    for (size_t i = 0; i < count; i++)
        block_add(payload + block_offset(shape, values[i]), values[i], shape->hashes);
}

static bool blocked_check(const struct bloom_shape *shape, const uint8_t *payload,
                          const uint64_t *value) {
    return block_check(payload + block_offset(shape, *value), *value, shape->hashes);
}

static void blocked_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                               const uint64_t *values, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = block_check(payload + block_offset(shape, values[i]), values[i], shape->hashes);
}

/* count: n keys leave a bit zero with probability (1 - 1/512)^(k i) over i ~ Poisson(n / blocks),
 * that is exp(-(n / blocks) (1 - (1 - 1/512)^k)), solved for n. rate: a key that is not in falls
 * into each block alike, so the mean over the blocks of (ones / 512)^k is what these very bits
 * give; the power of the mean would be too low. */
static struct bloom_estimate blocked_estimate(const struct bloom_shape *shape,
                                              const uint8_t *payload) {
    uint64_t blocks = shape->bits / BLOCK_BITS;
    struct bloom_estimate estimate = {0};
    uint64_t blocks_with[BLOCK_BITS + 1] = {0};
    for (uint64_t i = 0; i < blocks; i++)
        blocks_with[bloom_bitset_ones(payload + i * BLOCK_BYTES, BLOCK_BYTES)]++;
    for (unsigned ones = 0; ones <= BLOCK_BITS; ones++) {
        estimate.ones += blocks_with[ones] * ones;
        estimate.rate += (double)blocks_with[ones] * pow((double)ones / BLOCK_BITS, shape->hashes);
    }
    estimate.rate /= (double)blocks;
    double fill = (double)estimate.ones / (double)shape->bits;
    double bits_per_key = 1 - pow(1 - 1.0 / BLOCK_BITS, shape->hashes);
    estimate.count = fill > 0 ? -log1p(-fill) * (double)blocks / bits_per_key : 0;
    return estimate;
}

const struct bloom_layout bloom_layout_blocked = {
    .name = "blocked",
    .number = LAYOUT_NUMBER,
    .hash_words = 1,
    .hashes_maximum = 3 * PROBES_PER_WORD,
    .bits_multiple = BLOCK_BITS,
    .size = blocked_size,
    .add = blocked_add,
    .check = blocked_check,
    .check_many = blocked_check_many,
    .estimate = blocked_estimate,
};

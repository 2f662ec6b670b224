/* Layout `blocked`: every key lives in one block of 512 bits, so a check reads one cache line, or
 * one database page.
 *
 * The first word v of a key's hash decides everything:
 *
 *   block     floor(v * blocks / 2^64)
 *   probes    nine bits each, taken from the top of a 64-bit word downwards, seven to a word (the
 *             lowest bit is not used); the first word is v * FACTOR + OFFSET, each next one
 *             (w ^ w >> 32) * FACTOR
 *
 * Bit b of a block is bit b & 7 of its byte b >> 3.
 *
 * The block comes from the high bits of v. The probes come from a product that also mixes in the
 * low bits, so that keys of one block still have different probes. OFFSET is there for the empty
 * key, whose hash is zero: without it all probes of this key would fall on one bit. Probes drawn in
 * this way behave as if they were independent: from p = 0.5 to 10^-7 the measured rate is within
 * sampling error of the exact mixture in blocked_sizes.py.
 *
 * Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007. */
#include "filter/layouts/blocked.h"

#include "base/bitset.h"
#include "base/portable.h"
#include "filter/layouts/sizing.h"

#include <inttypes.h>
#include <math.h>

enum { BLOCKED_NUMBER = 1 };

static uint64_t blocked_count(const struct bloom_shape *shape) {
    return shape->bits / BLOOM_BLOCK_BITS;
}

static uint64_t blocked_of(const struct bloom_shape *shape, const uint64_t *words) {
    return bloom_reduce(words[0], shape->bits / BLOOM_BLOCK_BITS);
}

const struct bloom_kernel *const bloom_blocked_kernels[] = {
#ifdef BLOOM_X86_KERNELS
    &bloom_blocked_avx512,   &bloom_blocked_avx2,
#endif
#ifdef BLOOM_NEON_KERNEL
    &bloom_blocked_neon,
#endif
    &bloom_blocked_portable, NULL,
};

static struct bloom_kernel_choice blocked_kernel = {bloom_blocked_kernels, &bloom_kernel_undecided};

bloom_word_check *bloom_blocked_word_check(void) {
    return bloom_kernel_choose(&blocked_kernel)->check;
}

static bool blocked_check(const struct bloom_shape *shape, const uint8_t *payload,
                          const uint64_t *words) {
    return bloom_kernel(&blocked_kernel)->check(shape, payload, words[0]) != 0;
}

static bool blocked_check_block(const struct bloom_shape *shape, const uint8_t *block,
                                const uint64_t *words) {
    return bloom_kernel(&blocked_kernel)->check_block(shape, block, words);
}

static void blocked_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                               const uint64_t *words, size_t count, uint8_t *found) {
    bloom_kernel(&blocked_kernel)->check_many(shape, payload, words, count, found);
}

static void blocked_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                        size_t count) {
    bloom_kernel(&blocked_kernel)->add(shape, payload, words, count);
}

bool bloom_blocked_choose(struct bloom_shape *shape, uint64_t *blocks, bloom_problem problem) {
    uint64_t keys = shape->capacity > 0 ? shape->capacity : 1;
    if (!bloom_sizing_blocked(keys, shape->rate, &shape->probes, blocks)) {
        /* The smallest rate that FORMAT.md promises for this many keys, plus what rounding to three
         * digits may take away. */
        double least = (ldexp(1, -30) + ldexp((double)keys, -64)) * 1.005;
        char rate[BLOOM_NUMBER_SIZE], least_rate[BLOOM_NUMBER_SIZE];
        return bloom_fail(problem,
                          "a rate of %s is less than layout %s can keep for %" PRIu64 " keys. "
                          "Ask for %s or more",
                          bloom_number_text(rate, shape->rate, 6), shape->layout->name, keys,
                          bloom_number_text(least_rate, least, 3));
    }
    return true;
}

static bool blocked_size(struct bloom_shape *shape, bloom_problem problem) {
    uint64_t blocks;
    if (!bloom_blocked_choose(shape, &blocks, problem))
        return false;
    shape->bits = blocks * BLOOM_BLOCK_BITS;
    return true;
}

/* Counts the new ones while it adds, because counting the ones of the block before and after takes
 * longer. */
static unsigned blocked_add_block(const struct bloom_shape *shape, uint8_t *block,
                                  const uint64_t *words) {
    uint64_t word = bloom_probe_word(words[0]);
    unsigned more = 0;
    uint64_t probes = word;
    for (uint32_t i = 0, left = BLOOM_PROBES_PER_WORD; i < shape->probes; i++, left--) {
        if (left == 0) {
            probes = word = bloom_next_probe_word(word);
            left = BLOOM_PROBES_PER_WORD;
        }
        uint8_t *part = block + (probes >> 61) * 8;
        uint64_t old = bloom_load64(part), bit = probes >> 55 & 63;
        more += (unsigned)(~old >> bit & 1);
        bloom_store64(part, old | UINT64_C(1) << bit);
        probes <<= BLOOM_PROBE_BITS;
    }
    return more;
}

static void blocked_tally(struct bloom_tally *tally, const uint8_t *blocks, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        tally->blocks_with[bloom_bitset_ones(blocks + i * BLOOM_BLOCK_BYTES, BLOOM_BLOCK_BYTES)]++;
}

/* Returns the share of its bits that one key sets in an empty block. */
static double blocked_share_of_key(uint32_t probes) {
    return 1 - pow(1 - 1.0 / (double)BLOOM_BLOCK_BITS, probes);
}

/* Returns the logarithm of the probability that one key leaves a bit zero. The probability is 1 -
 * share / blocks, because the key falls into the bit's block with probability 1 / blocks. */
static double blocked_log_of_zero_left(uint64_t blocks, uint32_t probes) {
    return log1p(-blocked_share_of_key(probes) / (double)blocks);
}

double bloom_blocked_expected_ones(uint64_t blocks, uint32_t probes, double keys) {
    return -expm1(keys * blocked_log_of_zero_left(blocks, probes)) *
           (double)(blocks * BLOOM_BLOCK_BITS);
}

/* count is the number of keys that leave this many zeros on average. rate: an absent key falls into
 * each block with equal probability, so the rate is the mean over the blocks of (ones / 512)^k. The
 * power of the mean would be too low. */
struct bloom_estimate bloom_blocked_estimate_of(uint64_t blocks, uint32_t probes,
                                                const struct bloom_tally *tally) {
    struct bloom_estimate estimate = {0};
    for (unsigned ones = 0; ones <= BLOOM_BLOCK_BITS; ones++) {
        estimate.ones += tally->blocks_with[ones] * ones;
        estimate.rate +=
            (double)tally->blocks_with[ones] * pow((double)ones / (double)BLOOM_BLOCK_BITS, probes);
    }
    estimate.rate /= (double)blocks;
    estimate.fill = (double)estimate.ones / (double)(blocks * BLOOM_BLOCK_BITS);
    estimate.count = log1p(-estimate.fill) / blocked_log_of_zero_left(blocks, probes);
    return estimate;
}

static double blocked_expected_ones(const struct bloom_shape *shape, double keys) {
    return bloom_blocked_expected_ones(blocked_count(shape), shape->probes, keys);
}

static struct bloom_estimate blocked_estimate_of(const struct bloom_shape *shape,
                                                 const struct bloom_tally *tally) {
    return bloom_blocked_estimate_of(blocked_count(shape), shape->probes, tally);
}

static struct bloom_estimate blocked_estimate(const struct bloom_shape *shape,
                                              const uint8_t *payload) {
    struct bloom_tally tally = {0};
    blocked_tally(&tally, payload, blocked_count(shape));
    return blocked_estimate_of(shape, &tally);
}

static const struct bloom_blocks BLOCKED_BLOCKS = {
    .bytes = BLOOM_BLOCK_BYTES,
    .count = blocked_count,
    .of = blocked_of,
    .check = blocked_check_block,
    .add = blocked_add_block,
    .tally = blocked_tally,
    .estimate = blocked_estimate_of,
    .expected_ones = blocked_expected_ones,
};

const struct bloom_layout bloom_layout_blocked = {
    .name = "blocked",
    .hashing = &bloom_hashing_murmur3,
    .number = BLOCKED_NUMBER,
    .hash_words = 1,
    .keying = true,
    .probes_maximum = BLOOM_BLOCKED_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_BLOCK_BITS,
    .size = blocked_size,
    .add = blocked_add,
    .check = blocked_check,
    .check_many = blocked_check_many,
    .kernels = &blocked_kernel,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = blocked_estimate,
    .blocks = &BLOCKED_BLOCKS,
};

/* Layout `blocked`: every key lives in one block of 512 bits, so one cache line, or one database
 * page, decides.
 *
 * The first word v of a key's hash decides everything:
 *
 *   block     floor(v * blocks / 2^64)
 *   probes    nine bits each, taken from the top of a 64-bit word downwards, seven to a word (the lowest bit
 *             is not used); the first word is v * FACTOR + OFFSET, each next one (w ^ w >> 32) * FACTOR
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
#include "filter/blocked.h"
#include "filter/blocked_kernel.h"

#include "filter/bitset.h"
#include "filter/number.h"
#include "filter/portable.h"
#include "filter/sizing.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

/* Keys handled together: enough for some 10 cache misses to overlap, few enough to stay in the first-level
 * cache. */
enum { LAYOUT_NUMBER = 1, BATCH = 32 };

static uint64_t blocked_count(const struct bloom_shape *shape) {
    return shape->bits / BLOOM_BLOCK_BITS;
}

static uint64_t blocked_of(const struct bloom_shape *shape, const uint64_t *words) {
    return bloom_reduce(words[0], shape->bits / BLOOM_BLOCK_BITS);
}

static inline const uint8_t *block_of(const struct bloom_shape *shape, const uint8_t *payload,
                                      uint64_t value) {
    return payload + (size_t)blocked_of(shape, &value) * BLOOM_BLOCK_BYTES;
}

static inline uint32_t probes_of_word(uint32_t hashes) {
    return hashes < BLOOM_PROBES_PER_WORD ? hashes : BLOOM_PROBES_PER_WORD;
}

/* Sets the bit of probe number i of a word. */
static inline void add_probe(uint8_t *block, uint64_t word, unsigned i) {
    uint64_t probe = word >> (64 - BLOOM_PROBE_BITS - BLOOM_PROBE_BITS * i);
    uint8_t *part = block + (probe >> 6 & 7) * 8;
    bloom_store64(part, bloom_load64(part) | UINT64_C(1) << (probe & 63));
}

/* Shifts by constants, without a loop, let the probes of a word overlap: 5.6 against 6.2 ns a key for six. */
static inline void block_add(uint8_t *block, uint64_t word, uint32_t hashes) {
    for (;; word = bloom_next_probe_word(word)) {
        uint32_t probes_now = probes_of_word(hashes);
        switch (probes_now) {
        case 7:
            add_probe(block, word, 6); /* fall through */
        case 6:
            add_probe(block, word, 5); /* fall through */
        case 5:
            add_probe(block, word, 4); /* fall through */
        case 4:
            add_probe(block, word, 3); /* fall through */
        case 3:
            add_probe(block, word, 2); /* fall through */
        case 2:
            add_probe(block, word, 1); /* fall through */
        default:
            add_probe(block, word, 0);
        }
        hashes -= probes_now;
        if (hashes == 0)
            return;
    }
}

/* Leaves at the first zero: for a single key the branch lets the processor run ahead into the next one's
 * memory access, which costs half of what waiting for all probes does (28 against 57 ns at 100 million keys).
 */
static bool portable_check(const uint8_t *block, uint64_t word, uint32_t hashes) {
    for (;; word = bloom_next_probe_word(word)) {
        uint64_t probes = word;
        for (unsigned i = 0; i < BLOOM_PROBES_PER_WORD; i++, probes <<= BLOOM_PROBE_BITS) {
            unsigned bit = (unsigned)(probes >> 55);
            if ((block[bit >> 3] >> (bit & 7) & 1) == 0)
                return false;
            if (--hashes == 0)
                return true;
        }
    }
}

/* All probes of a word without a branch: the blocks of a batch are in cache, where mispredictions cost most
 * (5.5 against 10 ns). */
static void portable_check_batch(const uint8_t *const *blocks, const uint64_t *words, size_t count,
                                 uint32_t hashes, uint8_t *found) {
    for (size_t i = 0; i < count; i++) {
        uint64_t word = words[i];
        uint64_t all = 1;
        for (uint32_t left = hashes; left > 0 && all != 0; word = bloom_next_probe_word(word)) {
            uint32_t probes_now = probes_of_word(left);
            uint64_t probes = word;
            for (uint32_t j = 0; j < probes_now; j++, probes <<= BLOOM_PROBE_BITS)
                all &= bloom_load64(blocks[i] + (probes >> 61) * 8) >> (probes >> 55 & 63);
            left -= probes_now;
        }
        found[i] = (uint8_t)all;
    }
}

static bool portable_supported(void) {
    return true;
}

static const struct bloom_blocked_kernel PORTABLE = {"portable", portable_supported, portable_check,
                                                     portable_check_batch};

const struct bloom_blocked_kernel *const bloom_blocked_kernels[] = {
#ifdef BLOOM_X86_KERNELS
    &bloom_blocked_avx512,
    &bloom_blocked_avx2,
#endif
    &PORTABLE,
    NULL,
};

static const struct bloom_blocked_kernel *choose(void) {
    const struct bloom_blocked_kernel *const *candidate = bloom_blocked_kernels;
    while (!(*candidate)->supported())
        candidate++;
    return *candidate;
}

/* The kernel for this processor. Threads may choose at the same time: they choose the same. */
static inline const struct bloom_blocked_kernel *kernel(void) {
    static const struct bloom_blocked_kernel *_Atomic chosen;
    const struct bloom_blocked_kernel *known = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (known == NULL) {
        known = choose();
        atomic_store_explicit(&chosen, known, memory_order_relaxed);
    }
    return known;
}

bool bloom_blocked_choose(struct bloom_shape *shape, uint64_t *blocks,
                          char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t keys = shape->capacity > 0 ? shape->capacity : 1;
    if (!bloom_sizing_blocked(keys, shape->rate, &shape->probes, blocks)) {
        /* The least that FORMAT.md promises for so many keys, plus what rounding to three digits may take
         * away. */
        double least = (ldexp(1, -30) + ldexp((double)keys, -64)) * 1.005;
        char rate[BLOOM_NUMBER_SIZE], least_rate[BLOOM_NUMBER_SIZE];
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "p = %s is less than layout %s can keep for %" PRIu64 " keys; "
                 "ask for p = %s or more, or for layout classic",
                 bloom_number_text(rate, shape->rate, 6), shape->layout->name, keys,
                 bloom_number_text(least_rate, least, 3));
        return false;
    }
    return true;
}

static bool blocked_size(struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t blocks;
    if (!bloom_blocked_choose(shape, &blocks, problem))
        return false;
    shape->bits = blocks * BLOOM_BLOCK_BITS;
    return true;
}

/* Starts loading the blocks of a batch and notes where they are and which probes to look at. */
struct batch {
    const uint8_t *blocks[BATCH];
    uint64_t words[BATCH];
};

static inline void begin_batch(struct batch *batch, const struct bloom_shape *shape,
                               const uint8_t *payload, const uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        batch->blocks[i] = block_of(shape, payload, words[i]);
        BLOOM_PREFETCH(batch->blocks[i]);
        batch->words[i] = bloom_probe_word(words[i]);
    }
}

static inline size_t batch_of(size_t count) {
    return count < BATCH ? count : BATCH;
}

/* One batch is added while the next is being loaded. */
static void blocked_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                        size_t count) {
    struct batch batches[2];
    size_t now = batch_of(count);
    begin_batch(&batches[0], shape, payload, words, now);
    for (unsigned turn = 0; now > 0; turn ^= 1) {
        size_t next = batch_of(count - now);
        begin_batch(&batches[turn ^ 1], shape, payload, words + now, next);
        for (size_t i = 0; i < now; i++)
            block_add(payload + (batches[turn].blocks[i] - payload), batches[turn].words[i],
                      shape->probes);
        words += now;
        count -= now;
        now = next;
    }
}

static bool blocked_check(const struct bloom_shape *shape, const uint8_t *payload,
                          const uint64_t *value) {
    return kernel()->check(block_of(shape, payload, *value), bloom_probe_word(*value),
                           shape->probes);
}

/* One batch is tested while the next is being loaded. */
static void blocked_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                               const uint64_t *words, size_t count, uint8_t *found) {
    const struct bloom_blocked_kernel *chosen = kernel();
    struct batch batches[2];
    size_t now = batch_of(count);
    begin_batch(&batches[0], shape, payload, words, now);
    for (unsigned turn = 0; now > 0; turn ^= 1) {
        size_t next = batch_of(count - now);
        begin_batch(&batches[turn ^ 1], shape, payload, words + now, next);
        chosen->check_batch(batches[turn].blocks, batches[turn].words, now, shape->probes, found);
        words += now;
        found += now;
        count -= now;
        now = next;
    }
}

static unsigned blocked_block_add(const struct bloom_shape *shape, uint8_t *block,
                                  const uint64_t *words) {
    uint64_t before = bloom_bitset_ones(block, BLOOM_BLOCK_BYTES);
    block_add(block, bloom_probe_word(words[0]), shape->probes);
    return (unsigned)(bloom_bitset_ones(block, BLOOM_BLOCK_BYTES) - before);
}

static bool blocked_block_check(const struct bloom_shape *shape, const uint8_t *block,
                                const uint64_t *words) {
    return kernel()->check(block, bloom_probe_word(words[0]), shape->probes);
}

static void blocked_tally(struct bloom_tally *tally, const uint8_t *blocks, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        tally->blocks_with[bloom_bitset_ones(blocks + i * BLOOM_BLOCK_BYTES, BLOOM_BLOCK_BYTES)]++;
}

/* The share of the bits of a block that a key sets when all are zero. */
static double blocked_share_of_key(uint32_t probes) {
    return 1 - pow(1 - 1.0 / BLOOM_BLOCK_BITS, probes);
}

/* A key leaves a bit zero with probability 1 - share / blocks, since it comes into the bit's block
 * with 1 / blocks; this is its logarithm. */
static double blocked_log_of_zero_left(uint64_t blocks, uint32_t probes) {
    return log1p(-blocked_share_of_key(probes) / (double)blocks);
}

double bloom_blocked_expected_ones(uint64_t blocks, uint32_t probes, double keys) {
    return -expm1(keys * blocked_log_of_zero_left(blocks, probes)) *
           (double)(blocks * BLOOM_BLOCK_BITS);
}

/* count: the number of keys that leave as many zeros on average.
 * rate: a key that is not in falls into each block alike, so the mean over the blocks of
 * (ones / 512)^k is what these very bits give; the power of the mean would be too low. */
struct bloom_estimate bloom_blocked_estimate_of(uint64_t blocks, uint32_t probes,
                                                const struct bloom_tally *tally) {
    struct bloom_estimate estimate = {0};
    for (unsigned ones = 0; ones <= BLOOM_BLOCK_BITS; ones++) {
        estimate.ones += tally->blocks_with[ones] * ones;
        if (ones > 0)
            estimate.rate +=
                (double)tally->blocks_with[ones] * pow((double)ones / BLOOM_BLOCK_BITS, probes);
    }
    estimate.rate /= (double)blocks;
    estimate.fill = (double)estimate.ones / (double)(blocks * BLOOM_BLOCK_BITS);
    estimate.count =
        estimate.fill > 0 ? log1p(-estimate.fill) / blocked_log_of_zero_left(blocks, probes) : 0;
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
    .check = blocked_block_check,
    .add = blocked_block_add,
    .tally = blocked_tally,
    .estimate = blocked_estimate_of,
    .expected_ones = blocked_expected_ones,
};

const struct bloom_layout bloom_layout_blocked = {
    .name = "blocked",
    .hashing = &bloom_hashing_murmur3,
    .number = LAYOUT_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_BLOCKED_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_BLOCK_BITS,
    .size = blocked_size,
    .add = blocked_add,
    .check = blocked_check,
    .check_many = blocked_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = blocked_estimate,
    .blocks = &BLOCKED_BLOCKS,
};

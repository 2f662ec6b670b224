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
#include "filter/layouts/kernels/kernel.h"

#include "base/bitset.h"
#include "base/rounded.h"

#include <math.h>

enum { BLOCKED_NUMBER = 1 };

bool bloom_kernel_is_supported(const struct bloom_kernel *kernel) {
    return kernel->supported == NULL || kernel->supported();
}

const struct bloom_kernel *bloom_kernel_choose(struct bloom_kernel_choice *choice) {
    const struct bloom_kernel *const *candidate = choice->kernels;
    while (!bloom_kernel_is_supported(*candidate))
        candidate++;
    atomic_store_explicit(&choice->chosen, *candidate, memory_order_relaxed);
    return *candidate;
}

/* The number of probes, and the bits per key in 1 / 2^16 at the lower and at the upper end of the
 * rates of a row. Row 0 begins at 2^-30, and each row covers an eighth of an octave
 * (blocked_sizes.py). */
static const uint32_t BLOCKED_ROWS[][3] = {
#include "filter/layouts/blocked_sizes.h"
};

const struct bloom_kernel *const bloom_blocked_kernels[] = {
#ifdef BLOOM_X86_KERNELS
    &bloom_blocked_avx512,   &bloom_blocked_avx2,
#endif
#ifdef BLOOM_NEON_KERNEL
    &bloom_blocked_neon,
#endif
    &bloom_blocked_portable, NULL,
};

static struct bloom_kernel_choice blocked_kernel = {bloom_blocked_kernels, NULL};

const struct bloom_kernel *bloom_blocked_kernel(void) {
    return bloom_kernel(&blocked_kernel);
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

bool bloom_blocked_size(struct bloom_shape *shape, bloom_problem problem) {
    enum { OCTAVES = 30, ROW_BITS = 3, WITHIN_BITS = 16 };
    const uint64_t keys = shape->capacity > 0 ? shape->capacity : 1;
    /* The rate in units of 2^-64. Two keys with the same 64-bit value cannot be distinguished. An
     * absent key has the value of one of n keys with probability n / 2^64, so the bits must make up
     * for that. */
    struct bloom_rounded rate = bloom_rounded_double(shape->rate);
    rate.exponent += 64;
    uint64_t fixed = bloom_rounded_floor(rate);
    fixed = fixed > keys ? fixed - keys : 0;
    if (fixed >> (64 - OCTAVES) == 0) {
        /* The smallest rate that FORMAT.md promises for this many keys, plus what rounding to three
         * digits may take away. */
        double least = (ldexp(1, -OCTAVES) + ldexp((double)keys, -64)) * 1.005;
        char asked[BLOOM_NUMBER_SIZE], least_rate[BLOOM_NUMBER_SIZE];
        return bloom_fail(problem,
                          "a rate of %s is less than layout %s can keep for %" PRIu64 " keys. "
                          "Ask for %s or more",
                          bloom_number_text(asked, shape->rate, 6), shape->layout->name, keys,
                          bloom_number_text(least_rate, least, 3));
    }
    /* So high a rate takes one probe. What one probe needs is convex in the rate only up to 1 -
     * e^-2; from there on the chord below is too low. So rates above 7/8 are sized as 7/8. */
    const uint64_t seven_eighths = UINT64_C(7) << 61;
    if (fixed >= seven_eighths)
        fixed = seven_eighths - 1;
    /* Linear interpolation between the ends of a row: need falls and is convex in the rate for
     * given hashes, so the chord is never less than what is needed, and at p = 1 % less than 0.1 %
     * more. */
    unsigned octave = bloom_log2_floor(fixed); /* 63 for 0.5 <= rate < 1 */
    uint64_t within = fixed << (63 - octave)
                            << 1; /* the bits below the leading one, left-aligned */
    const uint32_t *row =
        BLOCKED_ROWS[((octave - (64 - OCTAVES)) << ROW_BITS) + (within >> (64 - ROW_BITS))];
    uint64_t part = within << ROW_BITS >> (64 - WITHIN_BITS);
    uint64_t bits_per_key = row[1] - ((uint64_t)(row[1] - row[2]) * part >> WITHIN_BITS);
    uint64_t blocks = (keys * bits_per_key + (UINT64_C(1) << 25) - 1) >> 25; /* of 2^9 * 2^16 */
    shape->probes = row[0];
    shape->bits = blocks * 8 * shape->layout->blocks->bytes;
    return true;
}

/* Counts the new ones while it adds, because counting the ones of the block before and after takes
 * longer. */
static unsigned blocked_add_block(const struct bloom_shape *shape, uint8_t *block,
                                  const uint64_t *words) {
    struct bloom_probes probes = bloom_probes_of(words[0]);
    unsigned more = 0;
    for (uint32_t i = 0; i < shape->probes; i++) {
        unsigned probe = bloom_probe_next(&probes);
        uint8_t *part = block + (probe >> 6) * 8;
        uint64_t old = bloom_load64(part);
        more += (unsigned)(~old >> (probe & 63) & 1);
        bloom_store64(part, old | UINT64_C(1) << (probe & 63));
    }
    return more;
}

static void blocked_tally(struct bloom_tally *tally, const uint8_t *blocks, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        tally->blocks_with[bloom_bitset_ones(blocks + i * BLOOM_BLOCK_BYTES, BLOOM_BLOCK_BYTES)]++;
}

static const struct bloom_blocks BLOCKED_BLOCKS = {
    .bytes = BLOOM_BLOCK_BYTES,
    .check = blocked_check_block,
    .add = blocked_add_block,
    .tally = blocked_tally,
};

const struct bloom_layout bloom_layout_blocked = {
    .name = "blocked",
    .hashing = &bloom_hashing_murmur3,
    .number = BLOCKED_NUMBER,
    .hash_words = 1,
    .keying = true,
    .probes_maximum = BLOOM_BLOCKED_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_BLOCK_BITS,
    .size = bloom_blocked_size,
    .add = blocked_add,
    .check = blocked_check,
    .check_many = blocked_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_estimate_blocks,
    .blocks = &BLOCKED_BLOCKS,
};

/* Layout `counting`: keys can be removed. It has the blocks and probes of `blocked`, with a counter
 * of four bits instead of each bit, so a block is 256 bytes.
 *
 *   counter c of a block    the lower (c even) or upper (c odd) four bits of its byte c >> 1
 *   add                     each of the k probes adds one to its counter; 15 stays 15
 *   remove                  each takes one from its counter, when every probe's counter is above
 *                           zero; 15 stays 15
 *   check                   every probe's counter is above zero
 *
 * A counter that has reached 15 no longer knows how many keys it counts, so it never changes again.
 * The filter may then answer "probably in" for keys that were removed, but it misses no key that is
 * in. In a filter as full as it was made for, counters count 0.56 to 0.6 probes on average, and at
 * most one in 10^14 reaches 15 (computed from Poisson distributions, mixed over blocks of more and
 * fewer keys; at 1 % it is 1.1 in 10^15). Fan, Cao, Almeida and Broder found that four bits are
 * enough ("Summary Cache: A Scalable Wide-Area Web Cache Sharing Protocol", 2000).
 *
 * Two probes of a key may fall on the same counter, which then goes up by two, and down by two.
 * Counters are sums, so they depend on which keys were added how often, and not on the order.
 * Removing a false positive corrupts the counts of other keys; a counter at zero stays there. */
#include "filter/layouts/kernels/kernel.h"

#include "base/bitset.h"

enum {
    COUNTING_NUMBER = 4,
    COUNTER_BITS = 4,
    COUNTER_FULL = BLOOM_REPEATS_MAXIMUM,
    COUNTING_BLOCK_BITS = BLOOM_BLOCK_BITS * COUNTER_BITS,
    COUNTING_BLOCK_BYTES = COUNTING_BLOCK_BITS / 8
};

/* The lowest bit of each counter of a word. */
#define COUNTER_LOWEST UINT64_C(0x1111111111111111)

static inline size_t counting_block_at(const struct bloom_shape *shape, uint64_t value) {
    return (size_t)bloom_reduce(value, shape->bits / COUNTING_BLOCK_BITS) * COUNTING_BLOCK_BYTES;
}

static inline unsigned counter_shift(unsigned counter) {
    return COUNTER_BITS * (counter & 1);
}

static inline unsigned counter_of(const uint8_t *block, unsigned counter) {
    return block[counter >> 1] >> counter_shift(counter) & COUNTER_FULL;
}

/* Returns how many counters were zero before. */
static inline unsigned counting_block_add(const struct bloom_shape *shape, uint8_t *block,
                                          const uint64_t *words) {
    struct bloom_probes probes = bloom_probes_of(words[0]);
    unsigned were_zero = 0;
    for (uint32_t i = 0; i < shape->probes; i++) {
        unsigned counter = bloom_probe_next(&probes);
        unsigned before = counter_of(block, counter);
        were_zero += before == 0;
        block[counter >> 1] =
            (uint8_t)(block[counter >> 1] + ((before < COUNTER_FULL) << counter_shift(counter)));
    }
    return were_zero;
}

/* Returns how many counters are zero now that were not before. */
static unsigned counting_block_remove(const struct bloom_shape *shape, uint8_t *block,
                                      const uint64_t *words) {
    struct bloom_probes probes = bloom_probes_of(words[0]);
    unsigned are_zero = 0;
    for (uint32_t i = 0; i < shape->probes; i++) {
        unsigned counter = bloom_probe_next(&probes);
        unsigned before = counter_of(block, counter);
        unsigned less = before > 0 && before < COUNTER_FULL;
        are_zero += before == 1;
        block[counter >> 1] = (uint8_t)(block[counter >> 1] - (less << counter_shift(counter)));
    }
    return are_zero;
}

/* The counter of probe number i of a word, less one: the topmost bit of the result is set when the
 * counter is zero. The upper five bits of a probe choose one of 32 words of the block, the lower
 * four a counter of it. */
static inline uint64_t counter_less_one(const uint8_t *block, uint64_t word, unsigned i) {
    unsigned from = 64 - BLOOM_PROBE_BITS - BLOOM_PROBE_BITS * i;
    uint64_t shift = (from > 1 ? word >> (from - 2) : word << (2 - from)) & 0x3c;
    return (bloom_load64(block + (word >> (from + 4) & 31) * 8) >> shift & COUNTER_FULL) - 1;
}

/* Tests all probes, with shifts by constants and without a branch on what it finds, because that
 * could not be predicted. */
static bool counting_check_portable(const struct bloom_shape *shape, const uint8_t *block,
                                    const uint64_t *words) {
    uint64_t word = bloom_probe_word(words[0]), less_one = 0;
    for (uint32_t left = shape->probes;; word = bloom_next_probe_word(word)) {
        uint32_t now = left < BLOOM_PROBES_PER_WORD ? left : BLOOM_PROBES_PER_WORD;
        switch (now) {
        case 7:
            less_one |= counter_less_one(block, word, 6); /* fall through */
        case 6:
            less_one |= counter_less_one(block, word, 5); /* fall through */
        case 5:
            less_one |= counter_less_one(block, word, 4); /* fall through */
        case 4:
            less_one |= counter_less_one(block, word, 3); /* fall through */
        case 3:
            less_one |= counter_less_one(block, word, 2); /* fall through */
        case 2:
            less_one |= counter_less_one(block, word, 1); /* fall through */
        default:
            less_one |= counter_less_one(block, word, 0);
        }
        left -= now;
        if (left == 0)
            return less_one >> 63 == 0;
    }
}

static const struct bloom_kernel COUNTING_PORTABLE = {
    .name = "portable",
    .check_block = counting_check_portable,
};

const struct bloom_kernel *const bloom_counting_kernels[] = {
#ifdef BLOOM_X86_KERNELS
    &bloom_counting_avx512,
#endif
    &COUNTING_PORTABLE,
    NULL,
};

static struct bloom_kernel_choice counting_kernel = {bloom_counting_kernels, NULL};

static inline bool counting_block_check(const struct bloom_shape *shape, const uint8_t *block,
                                        const uint64_t *words) {
    return bloom_kernel(&counting_kernel)->check_block(shape, block, words);
}

static inline void counting_set(const struct bloom_shape *shape, uint8_t *block,
                                const uint64_t *words) {
    counting_block_add(shape, block, words);
}

static void counting_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                         size_t count) {
    bloom_set_each(shape, payload, words, count, COUNTING_BLOCK_BYTES, counting_block_at,
                   counting_set);
}

static bool counting_check(const struct bloom_shape *shape, const uint8_t *payload,
                           const uint64_t *words) {
    return counting_block_check(shape, payload + counting_block_at(shape, words[0]), words);
}

static inline bool counting_find(const struct bloom_shape *shape, const uint8_t *block,
                                 const uint64_t *words, bool few) {
    (void)few;
    return counting_block_check(shape, block, words);
}

static void counting_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                                const uint64_t *words, size_t count, uint8_t *found) {
    bloom_find_each(shape, payload, words, count, found, COUNTING_BLOCK_BYTES, counting_block_at,
                    counting_find, false);
}

/* Returns the smallest of the key's counters. Each of them has counted the key as often as it was
 * added, up to 15. */
unsigned bloom_counting_times(const struct bloom_shape *shape, const uint8_t *payload,
                              const uint64_t *words) {
    const uint8_t *block = payload + counting_block_at(shape, words[0]);
    struct bloom_probes probes = bloom_probes_of(words[0]);
    unsigned least = COUNTER_FULL;
    for (uint32_t i = 0; i < shape->probes; i++) {
        unsigned counter = counter_of(block, bloom_probe_next(&probes));
        least = counter < least ? counter : least;
    }
    return least;
}

void bloom_counting_remove(const struct bloom_shape *shape, uint8_t *payload,
                           const uint64_t *words) {
    uint8_t *block = payload + counting_block_at(shape, words[0]);
    if (counting_block_check(shape, block, words))
        counting_block_remove(shape, block, words);
}

/* The lowest bit of each counter of a word that is above zero. */
static inline uint64_t counters_set(uint64_t word) {
    word |= word >> 2;
    return (word | word >> 1) & COUNTER_LOWEST;
}

/* Adds counters to counters: even and odd ones apart, in fields of eight bits, where the sum of two
 * has room; a sum above 15 shows in the field's fifth bit. */
static inline bloom_words counters_add(bloom_words a, bloom_words b) {
    const uint64_t even = UINT64_C(0x0f0f0f0f0f0f0f0f), fifth = UINT64_C(0x1010101010101010);
    bloom_words low = (a & even) + (b & even), high = (a >> 4 & even) + (b >> 4 & even);
    low |= (low & fifth) - ((low & fifth) >> 4);
    high |= (high & fifth) - ((high & fifth) >> 4);
    return (low & even) | (high & even) << 4;
}

static void counting_unite(uint8_t *into, const uint8_t *a, const uint8_t *b, size_t bytes) {
    bloom_merge_bytes(into, a, b, bytes, counters_add);
}

static void counting_tally(struct bloom_tally *tally, const uint8_t *blocks, uint64_t count) {
    for (uint64_t i = 0; i < count; i++, blocks += COUNTING_BLOCK_BYTES) {
        unsigned set = 0;
        for (unsigned at = 0; at < COUNTING_BLOCK_BYTES; at += sizeof(uint64_t))
            set += bloom_popcount64(counters_set(bloom_load64(blocks + at)));
        tally->blocks_with[set]++;
    }
}

struct bloom_shape bloom_counting_as_blocked(const struct bloom_shape *shape) {
    struct bloom_shape blocked = *shape;
    blocked.layout = &bloom_layout_blocked;
    blocked.bits /= COUNTER_BITS;
    return blocked;
}

/* The lowest bits of sixteen counters, side by side. */
static inline uint64_t counters_gather(uint64_t lowest) {
    lowest = (lowest | lowest >> 3) & UINT64_C(0x0303030303030303);
    lowest = (lowest | lowest >> 6) & UINT64_C(0x000f000f000f000f);
    lowest = (lowest | lowest >> 12) & UINT64_C(0x000000ff000000ff);
    return (lowest | lowest >> 24) & 0xffff;
}

/* The counters of a block are in the order of its bits, so counter i of the payload becomes bit i.
 */
void bloom_counting_convert(const struct bloom_shape *shape, const uint8_t *payload,
                            uint8_t *blocked) {
    for (uint64_t i = 0; i < shape->bits / 64; i++) {
        uint64_t bits = counters_gather(counters_set(bloom_load64(payload + 8 * i)));
        blocked[2 * i] = (uint8_t)bits;
        blocked[2 * i + 1] = (uint8_t)(bits >> 8);
    }
}

static const struct bloom_blocks COUNTING_BLOCKS = {
    .bytes = COUNTING_BLOCK_BYTES,
    .check = counting_block_check,
    .add = counting_block_add,
    .remove = counting_block_remove,
    .tally = counting_tally,
};

const struct bloom_layout bloom_layout_counting = {
    .name = "counting",
    .hashing = &bloom_hashing_murmur3,
    .number = COUNTING_NUMBER,
    .hash_words = 1,
    .keying = true,
    .probes_maximum = BLOOM_BLOCKED_PROBES_MAXIMUM,
    .bits_multiple = COUNTING_BLOCK_BITS,
    .repeats = true,
    .advice = "Counters do not show what two filters have in common, so convert both with "
              "bloom_convert(filter, 'blocked') first",
    .size = bloom_blocked_size,
    .add = counting_add,
    .check = counting_check,
    .check_many = counting_check_many,
    .unite = counting_unite,
    .estimate = bloom_estimate_blocks,
    .blocks = &COUNTING_BLOCKS,
};

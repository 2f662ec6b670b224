/* The kernel of layout blocked for any processor. There is a function for each number of probes, so
 * that no loop over them has an end to mispredict. */
#include "filter/layouts/kernels/kernel.h"

/* The bits of probes 2 to 5 of a word that choose a part of the block: each is in a separate byte.
 * Those of probe 6 are in two bytes. */
#define PORTABLE_UPPERS UINT64_C(0x0000381c0e070000)

/* Returns bit number i of a word's probes in bit 0. The nine bits of the probe are at the top of
 * the word; those of the next probe are moved there.
 *
 * The upper three bits choose one of the eight parts of the block. Once the word is rotated by
 * nine, the lower six are at its other end, where a shift finds them. uppers are the bytes of the
 * word AND PORTABLE_UPPERS in memory, or NULL. Upper bits that come from there need no shift, and
 * processors load three numbers in the time of two shifts. */
BLOOM_INLINE uint64_t portable_probe(const uint8_t *block, uint64_t *word, const uint8_t *uppers,
                                     unsigned i) {
    size_t offset = (size_t)(*word >> 61) * 8;
    if (uppers != NULL && i > 1 && i < 6)
        offset = (size_t)uppers[7 - i] << (i - 2);
    uint64_t part = bloom_load64(block + offset);
    BLOOM_COMPUTED(part);
    *word = *word << BLOOM_PROBE_BITS | *word >> (64 - BLOOM_PROBE_BITS);
    BLOOM_COMPUTED(*word);
    part >>= *word & 63;
    BLOOM_COMPUTED(part);
    return part;
}

/* Bit 0 of the result is 1 when all probes of a word, 1 to 7, are set. */
BLOOM_INLINE uint64_t portable_all(const uint8_t *block, uint64_t word, const uint8_t *uppers,
                                   unsigned probes) {
    uint64_t all = portable_probe(block, &word, uppers, 0);
    if (probes > 1)
        all &= portable_probe(block, &word, uppers, 1);
    if (probes > 2)
        all &= portable_probe(block, &word, uppers, 2);
    if (probes > 3)
        all &= portable_probe(block, &word, uppers, 3);
    if (probes > 4)
        all &= portable_probe(block, &word, uppers, 4);
    if (probes > 5)
        all &= portable_probe(block, &word, uppers, 5);
    if (probes > 6)
        all &= portable_probe(block, &word, uppers, 6);
    return all;
}

/* Of a key: of one to three words. */
BLOOM_INLINE int portable_check_probes(const struct bloom_shape *shape, const uint8_t *payload,
                                       uint64_t value, unsigned probes) {
    const unsigned most = BLOOM_PROBES_PER_WORD;
    const uint8_t *block = payload + bloom_block_offset(shape, value);
    uint64_t word = bloom_probe_word(value);
    uint64_t all = portable_all(block, word, NULL, probes < most ? probes : most);
    if (probes > most) {
        word = bloom_next_probe_word(word);
        all &= portable_all(block, word, NULL, probes < 2 * most ? probes - most : most);
    }
    if (probes > 2 * most)
        all &= portable_all(block, bloom_next_probe_word(word), NULL, probes - 2 * most);
    return (int)(all & 1);
}

/* The check for each number of probes that a key can have. */
#define PORTABLE_CHECK(probes)                                                                     \
    static int portable_check_##probes(const struct bloom_shape *shape, const uint8_t *payload,    \
                                       uint64_t value) {                                           \
        return portable_check_probes(shape, payload, value, probes);                               \
    }

/* clang-format off */
#define PORTABLE_EACH_OF_WORD(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define PORTABLE_EACH(X) \
    PORTABLE_EACH_OF_WORD(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) \
    X(20) X(21)
/* clang-format on */
#define PORTABLE_NAME(probes) portable_check_##probes,

PORTABLE_EACH(PORTABLE_CHECK)

/* By the number of probes. */
static bloom_word_check *const PORTABLE_CHECKS[] = {NULL, PORTABLE_EACH(PORTABLE_NAME)};

static_assert(sizeof PORTABLE_CHECKS / sizeof *PORTABLE_CHECKS == 3 * BLOOM_PROBES_PER_WORD + 1,
              "a check for each number of probes of layout blocked, 3 words of them at most");

static int portable_check(const struct bloom_shape *shape, const uint8_t *payload, uint64_t value) {
    return PORTABLE_CHECKS[shape->probes](shape, payload, value);
}

static bool portable_check_block(const struct bloom_shape *shape, const uint8_t *block,
                                 const uint64_t *words) {
    static const struct bloom_shape ONE_BLOCK = {.bits = BLOOM_BLOCK_BITS};
    return PORTABLE_CHECKS[shape->probes](&ONE_BLOCK, block, words[0]) != 0;
}

/* A key of a batch: its block, and the word of its probes. The bits are taken out of the word for
 * all probes together, because one by one, as the bytes are loaded, is slower with Clang. */
struct portable_key {
    const uint8_t *block;
    uint64_t word;
    uint8_t uppers[8];
};

static inline void portable_set_word(struct portable_key *key, uint64_t word) {
    key->word = word;
    bloom_store64(key->uppers, word & PORTABLE_UPPERS);
}

/* For each number of probes that a word can have: sets found to 1 for those of count keys whose
 * probes are set, else to 0. */
#define PORTABLE_BATCH(probes)                                                                     \
    static void portable_batch_##probes(const struct portable_key *keys, size_t count,             \
                                        uint8_t *found) {                                          \
        for (size_t i = 0; i < count; i++)                                                         \
            found[i] = portable_all(keys[i].block, keys[i].word, keys[i].uppers, probes) & 1;      \
    }

PORTABLE_EACH_OF_WORD(PORTABLE_BATCH)

#define PORTABLE_BATCH_NAME(probes) portable_batch_##probes,
typedef void portable_batch_function(const struct portable_key *keys, size_t count, uint8_t *found);
static portable_batch_function *const PORTABLE_BATCHES[] = {
    NULL, PORTABLE_EACH_OF_WORD(PORTABLE_BATCH_NAME)};

/* Finds the blocks of keys and starts loading them. */
static void portable_prepare(const struct bloom_shape *shape, const uint8_t *payload,
                             const uint64_t *words, size_t count, struct portable_key *keys) {
    const uint64_t blocks = shape->bits / BLOOM_BLOCK_BITS;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = bloom_reduce(words[i], blocks);
        BLOOM_COMPUTED(number); /* otherwise Clang shifts both halves of the product */
        keys[i].block = payload + number * BLOOM_BLOCK_BYTES;
        BLOOM_PREFETCH(keys[i].block);
        portable_set_word(&keys[i], bloom_probe_word(words[i]));
    }
}

/* Checks a stretch of keys at a time: while their blocks are loaded into the cache, their words are
 * written to memory. */
static void portable_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                                const uint64_t *words, size_t count, uint8_t *found) {
    const struct bloom_shape here = *shape; /* what is written to found cannot change it */
    struct portable_key keys[BLOOM_BLOCKS_AHEAD];
    uint8_t more[BLOOM_BLOCKS_AHEAD];
    while (count > 0) {
        size_t now = count < BLOOM_BLOCKS_AHEAD ? count : BLOOM_BLOCKS_AHEAD;
        uint32_t probes = here.probes < BLOOM_PROBES_PER_WORD ? here.probes : BLOOM_PROBES_PER_WORD;
        portable_prepare(&here, payload, words, now, keys);
        PORTABLE_BATCHES[probes](keys, now, found);
        for (uint32_t left = here.probes - probes; left > 0; left -= probes) {
            for (size_t i = 0; i < now; i++)
                portable_set_word(&keys[i], bloom_next_probe_word(keys[i].word));
            probes = left < BLOOM_PROBES_PER_WORD ? left : BLOOM_PROBES_PER_WORD;
            PORTABLE_BATCHES[probes](keys, now, more);
            for (size_t i = 0; i < now; i++)
                found[i] &= more[i];
        }
        words += now;
        found += now;
        count -= now;
    }
}

BLOOM_KERNEL_ONE(, portable, bloom_set_probes);

const struct bloom_kernel bloom_blocked_portable = {
    .name = "portable",
    BLOOM_KERNEL_ONE_MEMBERS(portable),
};

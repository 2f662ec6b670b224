/* The kernel of layout blocked for any processor, and the pattern of the others. See
 * blocked_kernel.h. */
#include "filter/blocked_kernel.h"

static bool portable_supported(void) {
    return true;
}

/* Bit 0 is that of probe number i of a word. */
static inline uint64_t portable_probe(const uint8_t *block, uint64_t word, unsigned i) {
    uint64_t probe = word >> (64 - BLOOM_PROBE_BITS - BLOOM_PROBE_BITS * i);
    return bloom_load64(block + (probe >> 6 & 7) * 8) >> (probe & 63);
}

/* Shifts by constants, without a loop over the probes, let them overlap. */
static inline bool portable_all(const uint8_t *block, uint64_t word, uint32_t probes) {
    uint64_t all = 1;
    for (;; word = bloom_next_probe_word(word)) {
        switch (probes) {
        default:
            all &= portable_probe(block, word, 6); /* fall through */
        case 6:
            all &= portable_probe(block, word, 5); /* fall through */
        case 5:
            all &= portable_probe(block, word, 4); /* fall through */
        case 4:
            all &= portable_probe(block, word, 3); /* fall through */
        case 3:
            all &= portable_probe(block, word, 2); /* fall through */
        case 2:
            all &= portable_probe(block, word, 1); /* fall through */
        case 1:
            all &= portable_probe(block, word, 0);
        }
        if (probes <= BLOOM_PROBES_PER_WORD)
            return all != 0;
        probes -= BLOOM_PROBES_PER_WORD;
    }
}

static bool portable_check_block(const struct bloom_shape *shape, const uint8_t *block,
                                 const uint64_t *words) {
    return portable_all(block, bloom_probe_word(words[0]), shape->probes);
}

static bool portable_check(const struct bloom_shape *shape, const uint8_t *payload,
                           const uint64_t *words) {
    return portable_check_block(shape, payload + bloom_block_offset(shape, words[0]), words);
}

static void portable_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                                const uint64_t *words, size_t count, uint8_t *found) {
    const struct bloom_shape here = *shape; /* what is written to found cannot change it */
    for (size_t i = 0; i < count && i < BLOOM_BLOCKS_AHEAD; i++)
        BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i]));
    for (size_t i = 0; i < count; i++) {
        if (i + BLOOM_BLOCKS_AHEAD < count)
            BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i + BLOOM_BLOCKS_AHEAD]));
        found[i] = portable_check(&here, payload, words + i);
    }
}

/* Sets the bit of probe number i of a word. */
static inline void portable_set(uint8_t *block, uint64_t word, unsigned i) {
    uint64_t probe = word >> (64 - BLOOM_PROBE_BITS - BLOOM_PROBE_BITS * i);
    uint8_t *part = block + (probe >> 6 & 7) * 8;
    bloom_store64(part, bloom_load64(part) | UINT64_C(1) << (probe & 63));
}

static inline void portable_set_all(uint8_t *block, uint64_t word, uint32_t probes) {
    for (;; word = bloom_next_probe_word(word)) {
        switch (probes) {
        default:
            portable_set(block, word, 6); /* fall through */
        case 6:
            portable_set(block, word, 5); /* fall through */
        case 5:
            portable_set(block, word, 4); /* fall through */
        case 4:
            portable_set(block, word, 3); /* fall through */
        case 3:
            portable_set(block, word, 2); /* fall through */
        case 2:
            portable_set(block, word, 1); /* fall through */
        case 1:
            portable_set(block, word, 0);
        }
        if (probes <= BLOOM_PROBES_PER_WORD)
            return;
        probes -= BLOOM_PROBES_PER_WORD;
    }
}

void bloom_blocked_portable_add(const struct bloom_shape *shape, uint8_t *payload,
                                const uint64_t *words, size_t count) {
    const struct bloom_shape here = *shape; /* what is written to payload cannot change it */
    for (size_t i = 0; i < count && i < BLOOM_BLOCKS_AHEAD && count > 1; i++)
        BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i]));
    for (size_t i = 0; i < count; i++) {
        if (i + BLOOM_BLOCKS_AHEAD < count)
            BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i + BLOOM_BLOCKS_AHEAD]));
        portable_set_all(payload + bloom_block_offset(&here, words[i]), bloom_probe_word(words[i]),
                         here.probes);
    }
}

const struct bloom_blocked_kernel bloom_blocked_portable = {
    .name = "portable",
    .supported = portable_supported,
    .check = portable_check,
    .check_many = portable_check_many,
    .add = bloom_blocked_portable_add,
    .check_block = portable_check_block,
};

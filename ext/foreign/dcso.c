/* The filters of DCSO's bloom: their hashing, layout and format.
 *
 * Format `dcso`: what github.com/DCSO/bloom (Go), flor (Python), fleur (C) and poppy (Rust, its
 * version 1) write. Everything is little-endian:
 *
 *    0  8  flags: the low byte is the version, 1; the others are 0
 *    8  8  n
 *   16  8  p, an IEEE 754 double
 *   24  8  k
 *   32  8  m
 *   40  8  N, the number of adds that changed a bit
 *   48     words of 64 bits, as many as hold m bits: the payload, filled up with zeros
 *          then any bytes up to the end: data that a tool keeps with the filter
 *
 * An import drops N and the data, because a filter of ours is only its parameters and its bits. An
 * export writes as N the estimate from the bits, at most n, because readers refuse to add when N
 * has reached n. It writes no data. */
#include "foreign/exchange.h"

/* Hashing `fnv`: FNV-1 with 64 bits (Fowler, Noll, Vo; multiplied first, then xored, so not
 * FNV-1a), as DCSO's bloom uses it. Text is its UTF-8 bytes, a BLOB its bytes. Numbers have no key.
 *
 * By definition each byte waits for the product of the byte before it. The loop takes eight bytes
 * at a time, because the end of a loop over single bytes would be mispredicted for each key. */

#define FNV_PRIME UINT64_C(0x100000001b3)

static void fnv_bytes(const uint64_t seed[2], const void *bytes, size_t length, uint64_t *words) {
    const uint8_t *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    (void)seed;
    for (; length >= 8; length -= 8, at += 8) {
        hash = hash * FNV_PRIME ^ at[0];
        hash = hash * FNV_PRIME ^ at[1];
        hash = hash * FNV_PRIME ^ at[2];
        hash = hash * FNV_PRIME ^ at[3];
        hash = hash * FNV_PRIME ^ at[4];
        hash = hash * FNV_PRIME ^ at[5];
        hash = hash * FNV_PRIME ^ at[6];
        hash = hash * FNV_PRIME ^ at[7];
    }
    for (; length > 0; length--)
        hash = hash * FNV_PRIME ^ *at++;
    words[0] = hash;
}

static const struct bloom_hashing HASHING_FNV = {
    .keys = "text and BLOBs",
    .number = 5,
    .bytes = fnv_bytes,
};

/* Layout `dcso`: k bits anywhere in the filter, where github.com/DCSO/bloom puts them (and flor,
 * fleur and poppy in its version 1).
 *
 * The product of a step is cut to 64 bits before the remainder is taken, so this is not a Lehmer
 * generator. This cut is part of the format. */

enum { DCSO_NUMBER = 9 };

#define DCSO_MODULUS (UINT64_MAX - 58)
#define DCSO_FACTOR (UINT64_MAX - 1468)

/* As Initialize(n, p), which takes |ceil(x)| of a negative x: that is floor(|x|). */
static bool dcso_size(struct bloom_shape *shape, bloom_problem problem) {
    uint64_t bits = bloom_rounded_floor(bloom_foreign_bits(shape));
    shape->probes = (uint32_t)bloom_rounded_ceiling(bloom_foreign_probes(shape, bits));
    return bloom_foreign_set_bits(shape, bits, BLOOM_BITS_MAXIMUM, problem);
}

static inline uint64_t dcso_reduced(uint64_t value) {
    return value >= DCSO_MODULUS ? value - DCSO_MODULUS : value;
}

static inline struct bloom_walk dcso_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = dcso_reduced(words[0])};
}

static inline uint64_t dcso_step(struct bloom_walk *walk) {
    return walk->at = dcso_reduced(walk->at * DCSO_FACTOR);
}

BLOOM_WALK_MEMBERS(dcso, 1, dcso_begin, dcso_step);

const struct bloom_layout bloom_layout_dcso = {
    .name = "dcso",
    .hashing = &HASHING_FNV,
    .number = DCSO_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = 1,
    .size = dcso_size,
    BLOOM_WALK_LAYOUT(dcso),
};

enum {
    DCSO_AT_CAPACITY = 8,
    DCSO_AT_RATE = 16,
    DCSO_AT_PROBES = 24,
    DCSO_AT_BITS = 32,
    DCSO_AT_COUNT = 40,
    DCSO_HEADER_BYTES = 48,
    DCSO_FORM = 1
};

static bool dcso_read(struct bloom_foreign *filter, bloom_problem problem) {
    struct bloom_shape *shape = &filter->shape;
    if (!bloom_foreign_has_header(filter, DCSO_HEADER_BYTES, problem))
        return false;
    uint64_t flags = bloom_load64(filter->bytes);
    if (flags != DCSO_FORM)
        return bloom_fail(problem,
                          "are not a filter of DCSO's bloom: they begin with the flags %" PRIx64
                          ", but its version 1 has 1, and 2 is poppy's own. Make the filter with "
                          "version 1",
                          flags);
    shape->capacity = bloom_load64(filter->bytes + DCSO_AT_CAPACITY);
    shape->rate = bloom_double_of_bits(bloom_load64(filter->bytes + DCSO_AT_RATE));
    if (!bloom_foreign_numbers(filter, bloom_load64(filter->bytes + DCSO_AT_PROBES),
                               bloom_load64(filter->bytes + DCSO_AT_BITS),
                               shape->capacity >= 1 && shape->capacity <= BLOOM_CAPACITY_MAXIMUM &&
                                   shape->rate > 0 && shape->rate < 1,
                               problem))
        return false;
    const uint64_t all = DCSO_HEADER_BYTES + bloom_words_of(shape->bits) * BLOOM_WORD_BYTES;
    if (filter->length > all)
        filter->length = all; /* data that a tool keeps with the filter */
    return bloom_foreign_has_row(filter, DCSO_HEADER_BYTES, problem) &&
           bloom_foreign_ends(filter, shape->bits, problem);
}

static bool dcso_fits(const struct bloom_shape *shape, bloom_problem problem) {
    return (shape->capacity > 0 && shape->rate > 0) ||
           bloom_fail(
               problem,
               "was made for n = 0 keys, and DCSO's bloom has no such filter. Build it for 1");
}

static uint64_t dcso_header(const struct bloom_shape *shape, const uint8_t *payload,
                            uint8_t *header) {
    bloom_store64(header, DCSO_FORM);
    bloom_store64(header + DCSO_AT_CAPACITY, shape->capacity);
    bloom_store64(header + DCSO_AT_RATE, bloom_bits_of_double(shape->rate));
    bloom_store64(header + DCSO_AT_PROBES, shape->probes);
    bloom_store64(header + DCSO_AT_BITS, shape->bits);
    bloom_store64(header + DCSO_AT_COUNT, bloom_foreign_count(shape, payload));
    return DCSO_HEADER_BYTES;
}

const struct bloom_exchange bloom_exchange_dcso = {
    .name = "dcso",
    .layout = &bloom_layout_dcso,
    .unknown = "DCSO's bloom does not know. Build it with layout dcso",
    .system = "DCSO's bloom",
    .advice = "Store the whole file",
    .read = dcso_read,
    .fits = dcso_fits,
    .header = dcso_header,
};

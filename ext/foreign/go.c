/* The filters of bits-and-blooms, a library for Go: their hashing, layout and format.
 *
 * Format `bits-and-blooms`: what version 3 of github.com/bits-and-blooms/bloom writes with WriteTo
 * and MarshalBinary.
 *
 *    0  8  m, big-endian
 *    8  8  k, big-endian
 *   16  8  L, the length of the row of bits
 *   24     the row, as words of 64 bits: bit b of the filter is bit b & 63 of word b >> 6
 *
 * L and the words are big-endian, or little-endian if the program has called bitset.LittleEndian().
 * L is usually m. If FromWithM made the filter from words, L is a multiple of 64. A row that
 * FromWithM made too short grows, as keys come, to the last bit that is set.
 *
 * All of these are read if the row has as many words as m needs. The byte order is the one in which
 * it does. There are m that are the same number in both byte orders, the least of which is
 * 0x101000000 (539 MB); then the words are read as big-endian. An export writes the usual form,
 * big-endian and with L = m. */
#include "foreign/exchange.h"

#include "hash/murmur3.h"

/* Hashing `murmur3-twice`: MurmurHash3 x64 128 with seed 0 of the key, and of the key followed by
 * one byte 01; four words, as Go's bits-and-blooms/bloom uses them. Text is its UTF-8 bytes, a BLOB
 * its bytes. Numbers have no key, because every Go program encodes them in its own way.
 *
 * Both hashes read the same full blocks of 16 bytes, so those blocks are mixed in only once. */

static void murmur3_twice_bytes(const uint64_t seed[2], const void *bytes, size_t length,
                                uint64_t *words) {
    size_t left = length % BLOOM_MURMUR3_BLOCK_BYTES;
    struct bloom_murmur3 state = {0, 0}, first;
    uint64_t low = 0, high = 0;
    (void)seed;
    if (length >= BLOOM_MURMUR3_BLOCK_BYTES)
        bloom_murmur3_blocks(&state, bytes, length / BLOOM_MURMUR3_BLOCK_BYTES);
    if (left > 0)
        bloom_murmur3_load_tail((const uint8_t *)bytes + length - left, left, &low, &high);
    first = state;
    bloom_murmur3_tail(&first, low, high);
    bloom_murmur3_end(first, length, words);
    if (left < 8)
        low |= UINT64_C(1) << 8 * left;
    else
        high |= UINT64_C(1) << 8 * (left - 8);
    if (left == BLOOM_MURMUR3_BLOCK_BYTES - 1)
        bloom_murmur3_block(&state, low, high);
    else
        bloom_murmur3_tail(&state, low, high);
    bloom_murmur3_end(state, length + 1, words + 2);
}

static const struct bloom_hashing HASHING_MURMUR3_TWICE = {
    .keys = "text and BLOBs",
    .number = 6,
    .bytes = murmur3_twice_bytes,
};

/* Layout `bits-and-blooms`: k bits anywhere in the filter, where version 3 of that library puts
 * them. */

enum { GO_NUMBER = 10, GO_HASH_WORDS = 4 };

/* As NewWithEstimates(n, p). The largest n and the least p take less than 2^52 bits. */
static bool go_size(struct bloom_shape *shape, bloom_problem problem) {
    shape->bits = bloom_rounded_ceiling(bloom_foreign_bits(shape));
    shape->probes = (uint32_t)bloom_rounded_ceiling(bloom_foreign_probes(shape, shape->bits));
    (void)problem;
    return true;
}

static inline struct bloom_walk go_begin(const uint64_t *words) {
    return (struct bloom_walk){.words = words};
}

static inline uint64_t go_step(struct bloom_walk *walk) {
    const uint64_t i = walk->at++;
    return walk->words[i & 1] + i * walk->words[2 + ((i + 1) >> 1 & 1)];
}

BLOOM_WALK_MEMBERS(go, GO_HASH_WORDS, go_begin, go_step);

const struct bloom_layout bloom_layout_go = {
    .name = "bits-and-blooms",
    .hashing = &HASHING_MURMUR3_TWICE,
    .number = GO_NUMBER,
    .hash_words = GO_HASH_WORDS,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = 1,
    .size = go_size,
    BLOOM_WALK_LAYOUT(go),
};

enum { GO_AT_PROBES = 8, GO_AT_LENGTH = 16, GO_HEADER_BYTES = 24 };

static bool go_read(struct bloom_foreign *filter, bloom_problem problem) {
    if (filter->length > 0 && filter->bytes[0] == '{')
        return bloom_fail(problem,
                          "are JSON. Write the filter with WriteTo or MarshalBinary instead");
    if (!bloom_foreign_has_header(filter, GO_HEADER_BYTES, problem))
        return false;
    uint64_t bits = bloom_load64_big(filter->bytes);
    uint64_t row_bits = bloom_load64_big(filter->bytes + GO_AT_LENGTH);
    filter->big_endian = bloom_words_of(row_bits) == bloom_words_of(bits);
    if (!filter->big_endian)
        row_bits = bloom_swap64(row_bits);
    return bloom_foreign_numbers(filter, bloom_load64_big(filter->bytes + GO_AT_PROBES), bits,
                                 bloom_words_of(row_bits) == bloom_words_of(bits), problem) &&
           bloom_foreign_has_row(filter, GO_HEADER_BYTES, problem) &&
           bloom_foreign_ends(filter, row_bits < bits ? row_bits : bits, problem);
}

static uint64_t go_header(const struct bloom_shape *shape, const uint8_t *payload,
                          uint8_t *header) {
    (void)payload;
    bloom_store64_big(header, shape->bits);
    bloom_store64_big(header + GO_AT_PROBES, shape->probes);
    bloom_store64_big(header + GO_AT_LENGTH, shape->bits);
    return GO_HEADER_BYTES;
}

const struct bloom_exchange bloom_exchange_go = {
    .name = "bits-and-blooms",
    .layout = &bloom_layout_go,
    .unknown = "bits-and-blooms does not know. Build it with layout bits-and-blooms",
    .system = "bits-and-blooms",
    .advice = "Store exactly what WriteTo or MarshalBinary writes",
    .big_endian = true,
    .read = go_read,
    .header = go_header,
};

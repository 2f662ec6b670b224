/* Format `go`: what version 3 of github.com/bits-and-blooms/bloom writes with WriteTo and
 * MarshalBinary.
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
#include "foreign/words.h"

#include "filter/layouts/classic_size.h"

#include <inttypes.h>

enum { GO_AT_PROBES = 8, GO_AT_LENGTH = 16, GO_HEADER_BYTES = 24 };

/* Returns true when the row is little-endian. */
static bool go_is_little(const uint8_t *bytes, uint64_t bits) {
    return bloom_words_of(bloom_load64_big(bytes + GO_AT_LENGTH)) != bloom_words_of(bits);
}

static bool go_read_header(struct bloom_shape *shape, const uint8_t *bytes, uint64_t *row,
                           bloom_problem problem) {
    uint64_t bits = bloom_load64_big(bytes), probes = bloom_load64_big(bytes + GO_AT_PROBES);
    if (probes < 1 || probes > BLOOM_FOREIGN_PROBES_MAXIMUM || bits < 1 ||
        bits > BLOOM_BITS_MAXIMUM)
        return bloom_fail(problem,
                          "are not a filter of bits-and-blooms: their header says %" PRIu64
                          " hashes and %" PRIu64 " bits. There must be 1 to %d and 1 to %" PRIu64
                          ". Write the filter with WriteTo or MarshalBinary",
                          probes, bits, BLOOM_FOREIGN_PROBES_MAXIMUM, BLOOM_BITS_MAXIMUM);
    *row = go_is_little(bytes, bits) ? bloom_load64(bytes + GO_AT_LENGTH)
                                     : bloom_load64_big(bytes + GO_AT_LENGTH);
    if (bloom_words_of(*row) != bloom_words_of(bits))
        return bloom_fail(problem,
                          "are not a filter of bits-and-blooms: their header says %" PRIu64
                          " bits, but a row of %" PRIu64
                          ". Write the filter with WriteTo or MarshalBinary",
                          bits, bloom_load64_big(bytes + GO_AT_LENGTH));
    *shape =
        (struct bloom_shape){.layout = &bloom_layout_go, .probes = (uint32_t)probes, .bits = bits};
    return bloom_exchange_probes_fit(shape, problem);
}

static bool go_read(unsigned form, struct bloom_shape *shape, const uint8_t *bytes, uint64_t length,
                    bloom_problem problem) {
    uint64_t row = 0;
    (void)form;
    if (length > 0 && bytes[0] == '{')
        return bloom_fail(problem,
                          "are JSON. Write the filter with WriteTo or MarshalBinary instead");
    if (!bloom_exchange_has_header(length, GO_HEADER_BYTES, "filter of bits-and-blooms",
                                   "Store all that WriteTo writes", problem))
        return false;
    if (!go_read_header(shape, bytes, &row, problem))
        return false;
    uint64_t expected = GO_HEADER_BYTES + bloom_words_of(shape->bits) * BLOOM_WORD_BYTES;
    if (!bloom_exchange_has_length(length, expected, "Store exactly what WriteTo writes", problem))
        return false;
    const uint8_t *last = bytes + length - BLOOM_WORD_BYTES;
    uint64_t word = go_is_little(bytes, shape->bits) ? bloom_load64(last) : bloom_load64_big(last);
    uint64_t within = row < shape->bits ? row : shape->bits;
    if (within % BLOOM_WORD_BITS != 0 && word >> (within % BLOOM_WORD_BITS) != 0)
        return bloom_fail(
            problem, "are damaged: bits are set beyond the last of the filter. Write it again with "
                     "WriteTo");
    return true;
}

/* The last word may be longer than the end of the payload. */
static void go_read_payload(const struct bloom_shape *shape, const uint8_t *bytes, uint64_t length,
                            uint8_t *payload) {
    (void)length;
    uint64_t size = bloom_payload_bytes(shape), full = size - size % BLOOM_WORD_BYTES;
    const uint8_t *row = bytes + GO_HEADER_BYTES;
    if (go_is_little(bytes, shape->bits)) {
        memcpy(payload, row, (size_t)size);
        return;
    }
    bloom_swap_words(payload, row, full);
    for (uint64_t i = full; i < size; i++)
        payload[i] = row[full + BLOOM_WORD_BYTES - 1 - (i - full)];
}

static bool go_measure(unsigned form, const struct bloom_shape *shape, uint64_t *length,
                       bloom_problem problem) {
    (void)form;
    if (!bloom_exchange_has_layout(shape, &bloom_layout_go, "bits-and-blooms", problem))
        return false;
    *length = GO_HEADER_BYTES + bloom_words_of(shape->bits) * BLOOM_WORD_BYTES;
    return true;
}

static void go_write(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes) {
    uint64_t size = bloom_payload_bytes(shape), full = size - size % BLOOM_WORD_BYTES;
    uint8_t *row = bytes + GO_HEADER_BYTES;
    bloom_store64_big(bytes, shape->bits);
    bloom_store64_big(bytes + GO_AT_PROBES, shape->probes);
    bloom_store64_big(bytes + GO_AT_LENGTH, shape->bits);
    if (full < size)
        memset(row + full, 0, BLOOM_WORD_BYTES);
    bloom_swap_words(row, payload, full);
    for (uint64_t i = full; i < size; i++)
        row[full + BLOOM_WORD_BYTES - 1 - (i - full)] = payload[i];
}

const struct bloom_exchange bloom_exchange_go = {
    .name = "go",
    .read = go_read,
    .read_payload = go_read_payload,
    .measure = go_measure,
    .write = go_write,
};

/* Format `dcso`: what github.com/DCSO/bloom (Go), flor (Python), fleur (C) and poppy (Rust, its
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
#include "foreign/words.h"

#include "filter/layouts/classic_size.h"

#include <inttypes.h>
#include <math.h>

enum {
    DCSO_AT_CAPACITY = 8,
    DCSO_AT_RATE = 16,
    DCSO_AT_PROBES = 24,
    DCSO_AT_BITS = 32,
    DCSO_AT_COUNT = 40,
    DCSO_HEADER_BYTES = 48,
    DCSO_FORM = 1
};

static bool dcso_read_header(struct bloom_shape *shape, const uint8_t *bytes,
                             bloom_problem problem) {
    uint64_t flags = bloom_load64(bytes), rate = bloom_load64(bytes + DCSO_AT_RATE);
    uint64_t capacity = bloom_load64(bytes + DCSO_AT_CAPACITY);
    uint64_t probes = bloom_load64(bytes + DCSO_AT_PROBES);
    uint64_t bits = bloom_load64(bytes + DCSO_AT_BITS);
    if (flags == 2)
        return bloom_fail(
            problem,
            "have version 2, which is poppy's own and not a DCSO filter. Make the filter with "
            "poppy's version 1");
    if (flags != DCSO_FORM)
        return bloom_fail(
            problem,
            "are not a DCSO filter that is known: they begin with the flags %016" PRIx64
            ", but a filter of version 1 has %016x. Write it with a current release",
            flags, (unsigned)DCSO_FORM);
    *shape = (struct bloom_shape){.layout = &bloom_layout_dcso, .capacity = capacity, .bits = bits};
    memcpy(&shape->rate, &rate, sizeof rate);
    if (capacity < 1 || capacity > BLOOM_CAPACITY_MAXIMUM || !(shape->rate > 0) ||
        !(shape->rate < 1)) {
        char number[BLOOM_NUMBER_SIZE];
        return bloom_fail(
            problem,
            "are damaged: their header says n = %" PRIu64 " and p = %s, but n must be 1 to "
            "%" PRIu64 ", p between 0 and 1. Fetch the file again",
            capacity, bloom_number_text(number, shape->rate, 6), BLOOM_CAPACITY_MAXIMUM);
    }
    if (probes < 1 || probes > BLOOM_FOREIGN_PROBES_MAXIMUM || bits < 1 ||
        bits > BLOOM_BITS_MAXIMUM)
        return bloom_fail(problem,
                          "are damaged: their header says %" PRIu64 " hashes and %" PRIu64
                          " bits, but there must be 1 to %d and 1 to %" PRIu64
                          ". Fetch the file again",
                          probes, bits, BLOOM_FOREIGN_PROBES_MAXIMUM, BLOOM_BITS_MAXIMUM);
    shape->probes = (uint32_t)probes;
    return bloom_exchange_probes_fit(shape, problem);
}

static bool dcso_read(unsigned form, struct bloom_shape *shape, const uint8_t *bytes,
                      uint64_t length, bloom_problem problem) {
    (void)form;
    if (!bloom_exchange_has_header(length, DCSO_HEADER_BYTES, "DCSO filter", "Store the whole file",
                                   problem))
        return false;
    if (!dcso_read_header(shape, bytes, problem))
        return false;
    uint64_t row = bloom_words_of(shape->bits) * BLOOM_WORD_BYTES;
    if (length - DCSO_HEADER_BYTES < row)
        return bloom_fail(problem,
                          "are cut off: there are %" PRIu64
                          ", but their header says at least %" PRIu64 ". Store the whole file",
                          length, DCSO_HEADER_BYTES + row);
    uint64_t last = bloom_load64(bytes + DCSO_HEADER_BYTES + row - BLOOM_WORD_BYTES);
    if (shape->bits % BLOOM_WORD_BITS != 0 && last >> (shape->bits % BLOOM_WORD_BITS) != 0)
        return bloom_fail(
            problem,
            "are damaged: bits are set beyond the last of the filter. Fetch the file again");
    return true;
}

static void dcso_read_payload(const struct bloom_shape *shape, const uint8_t *bytes,
                              uint64_t length, uint8_t *payload) {
    (void)length;
    memcpy(payload, bytes + DCSO_HEADER_BYTES, (size_t)bloom_payload_bytes(shape));
}

static bool dcso_measure(unsigned form, const struct bloom_shape *shape, uint64_t *length,
                         bloom_problem problem) {
    (void)form;
    if (!bloom_exchange_has_layout(shape, &bloom_layout_dcso, "DCSO's bloom", problem))
        return false;
    if (shape->capacity == 0 || shape->rate == 0)
        return bloom_fail(
            problem,
            "was made for n = 0 keys, and DCSO's bloom has no such filter. Build it for 1");
    *length = DCSO_HEADER_BYTES + bloom_words_of(shape->bits) * BLOOM_WORD_BYTES;
    return true;
}

static void dcso_write(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes) {
    uint64_t rate, row = bloom_words_of(shape->bits) * BLOOM_WORD_BYTES;
    memcpy(&rate, &shape->rate, sizeof rate);
    bloom_store64(bytes, DCSO_FORM);
    bloom_store64(bytes + DCSO_AT_CAPACITY, shape->capacity);
    bloom_store64(bytes + DCSO_AT_RATE, rate);
    bloom_store64(bytes + DCSO_AT_PROBES, shape->probes);
    bloom_store64(bytes + DCSO_AT_BITS, shape->bits);
    bloom_store64(bytes + DCSO_AT_COUNT, bloom_exchange_count(shape, payload));
    memset(bytes + DCSO_HEADER_BYTES + row - BLOOM_WORD_BYTES, 0, BLOOM_WORD_BYTES);
    memcpy(bytes + DCSO_HEADER_BYTES, payload, (size_t)bloom_payload_bytes(shape));
}

const struct bloom_exchange bloom_exchange_dcso = {
    .name = "dcso",
    .read = dcso_read,
    .read_payload = dcso_read_payload,
    .measure = dcso_measure,
    .write = dcso_write,
};

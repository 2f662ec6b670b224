/* Formats `parquet` and `parquet-int32`: the Bloom filter of one column in one row group, as it is
 * stored in an Apache Parquet file at bloom_filter_offset, or only its bitset.
 *
 *   header    BloomFilterHeader in Thrift's compact protocol: 15, then numBytes as a zigzag
 *             varint, then 1c 1c 00 00 three times (blocks, XXH64, no compression), then 00; 15 to
 *             19 bytes
 *   bitset    numBytes, a multiple of 32: the payload
 *
 * With a header the length is not a multiple of 32, so the two forms cannot be confused. Both are
 * read; an export writes the header. The bytes do not show what kind of values the column has, so
 * there are two formats. */
#include "foreign/exchange.h"
#include "foreign/parquet.h"

#include <inttypes.h>
#include <string.h>

enum { PARQUET_HEADER_MOST = 1 + 5 + 13 };

enum { PARQUET_FORM_ANY = 0, PARQUET_FORM_INT32 = 1 };

static const uint8_t PARQUET_FILE[] = {'P', 'A', 'R', '1'};
static const uint8_t PARQUET_FIELDS[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};

/* Writes the only header that a filter of this size has, and returns its length. */
static size_t parquet_header(uint64_t size, uint8_t header[PARQUET_HEADER_MOST]) {
    size_t at = 0;
    uint64_t zigzag = 2 * size;
    header[at++] = 0x15;
    for (; zigzag > 0x7f; zigzag >>= 7)
        header[at++] = (uint8_t)(zigzag | 0x80);
    header[at++] = (uint8_t)zigzag;
    memcpy(header + at, PARQUET_FIELDS, sizeof PARQUET_FIELDS);
    return at + sizeof PARQUET_FIELDS;
}

/* Returns the number of bytes before the bitset, or UINT64_MAX when the bytes are neither form. */
static uint64_t parquet_before(const uint8_t *bytes, uint64_t length) {
    uint64_t before = length % BLOOM_PARQUET_BLOCK_BYTES;
    uint8_t header[PARQUET_HEADER_MOST];
    if (before == 0)
        return 0;
    bool is_header = length - before <= INT32_MAX &&
                     parquet_header(length - before, header) == before &&
                     memcmp(bytes, header, (size_t)before) == 0;
    return is_header ? before : UINT64_MAX;
}

static const struct bloom_layout *parquet_layout(unsigned form) {
    return form == PARQUET_FORM_INT32 ? &bloom_layout_parquet_int32 : &bloom_layout_parquet;
}

static bool parquet_read(unsigned form, struct bloom_shape *shape, const uint8_t *bytes,
                         uint64_t length, bloom_problem problem) {
    if (length >= 2 * sizeof PARQUET_FILE &&
        memcmp(bytes, PARQUET_FILE, sizeof PARQUET_FILE) == 0 &&
        memcmp(bytes + length - sizeof PARQUET_FILE, PARQUET_FILE, sizeof PARQUET_FILE) == 0)
        return bloom_fail(
            problem, "are a whole Parquet file. Cut out the filter of one column and row group, at "
                     "bloom_filter_offset with bloom_filter_length");
    uint64_t before = parquet_before(bytes, length);
    if (length < BLOOM_PARQUET_BLOCK_BYTES || before == UINT64_MAX ||
        length - before > BLOOM_PARQUET_BITS_MAXIMUM / 8)
        return bloom_fail(
            problem,
            "are not a Bloom filter of Parquet: these %" PRIu64 " are neither a header of split "
            "blocks, XXH64 and no compression with the bitset that it announces, nor a bitset "
            "of whole blocks of 32. Take bloom_filter_length bytes at bloom_filter_offset",
            length);
    *shape = (struct bloom_shape){.layout = parquet_layout(form),
                                  .probes = BLOOM_PARQUET_PROBES,
                                  .bits = (length - before) * 8};
    return true;
}

/* The bitset is at the end, with or without a header. */
static void parquet_read_payload(const struct bloom_shape *shape, const uint8_t *bytes,
                                 uint64_t length, uint8_t *payload) {
    uint64_t size = bloom_payload_bytes(shape);
    memcpy(payload, bytes + (length - size), (size_t)size);
}

static bool parquet_measure(unsigned form, const struct bloom_shape *shape, uint64_t *length,
                            bloom_problem problem) {
    uint8_t header[PARQUET_HEADER_MOST];
    const struct bloom_layout *layout = parquet_layout(form);
    uint64_t size = bloom_payload_bytes(shape);
    if (shape->layout != layout)
        return bloom_fail(problem,
                          "has layout %s, which is not the layout of this format. Build it with "
                          "layout %s",
                          shape->layout->name, layout->name);
    if (size > INT32_MAX)
        return bloom_fail(problem,
                          "has %" PRIu64
                          " bytes of bits, but Parquet counts them with 31 bits. Build "
                          "several filters",
                          size);
    *length = size + parquet_header(size, header);
    return true;
}

static void parquet_write(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes) {
    uint8_t header[PARQUET_HEADER_MOST];
    uint64_t size = bloom_payload_bytes(shape);
    size_t before = parquet_header(size, header);
    memcpy(bytes, header, before);
    memcpy(bytes + before, payload, (size_t)size);
}

const struct bloom_exchange bloom_exchange_parquet = {
    .name = "parquet",
    .form = PARQUET_FORM_ANY,
    .read = parquet_read,
    .read_payload = parquet_read_payload,
    .measure = parquet_measure,
    .write = parquet_write,
};

const struct bloom_exchange bloom_exchange_parquet_int32 = {
    .name = "parquet-int32",
    .form = PARQUET_FORM_INT32,
    .read = parquet_read,
    .read_payload = parquet_read_payload,
    .measure = parquet_measure,
    .write = parquet_write,
};

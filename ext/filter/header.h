/* A filter as stored bytes: the header of format version 1, which has one or two lines of 64 bytes,
 * and then the payload. FORMAT.md is the specification. Only the functions here turn bytes into a
 * shape. */
#ifndef BLOOM_FILTER_HEADER_H
#define BLOOM_FILTER_HEADER_H

#include "base/portable.h"
#include "filter/layout.h"

/* The length of a header: one line, or two with a salt. */
#define BLOOM_HEADER_BYTES 64
#define BLOOM_HEADER_BYTES_MAXIMUM 128

/* What a filter begins with: 89 42 4c 4d. The first byte is neither ASCII nor UTF-8, so text is
 * never mistaken for a filter. */
#define BLOOM_MAGIC UINT32_C(0x4d4c4289)

/* The only version of the format. */
#define BLOOM_FORMAT_VERSION 1

/* Returns the length of the header, which the payload follows: 64 or 128. */
static inline unsigned bloom_header_bytes(const struct bloom_shape *shape) {
    return shape->keying.salted ? BLOOM_HEADER_BYTES_MAXIMUM : BLOOM_HEADER_BYTES;
}

/* Returns the length of a filter, header and payload. */
static inline uint64_t bloom_filter_bytes(const struct bloom_shape *shape) {
    return bloom_header_bytes(shape) + bloom_payload_bytes(shape);
}

/* Writes the header of a shape. Equal shapes have equal bytes. */
void bloom_header_write(const struct bloom_shape *shape, uint8_t *header);

/* Reads and validates length bytes of which nothing is known. Takes constant time, because it
 * touches only the header and the last byte. On true, shape is the shape of the filter, and the
 * bytes after the header are a payload that every function of the layout can use. On false, problem
 * completes "the filter ...". */
bool bloom_filter_read(struct bloom_shape *shape, const void *bytes, uint64_t length,
                       bloom_problem problem);

/* Returns true when bytes begin with a header that is intact. Call bloom_is_filter instead. */
bool bloom_is_header(const void *bytes, uint64_t length);

/* Returns true when the bytes of a key are a filter, whole or cut off, which nobody means as a key.
 * Somebody who does can add its hexadecimal digits. Inline, because each key of bytes is tested. */
static inline bool bloom_is_filter(const void *bytes, uint64_t length) {
    return length >= BLOOM_HEADER_BYTES && bloom_load32(bytes) == BLOOM_MAGIC &&
           bloom_is_header(bytes, length);
}

/* The same for a filter whose header was read before: checks its length, and that no bit after its
 * last is set. */
bool bloom_payload_read(const struct bloom_shape *shape, const void *bytes, uint64_t length,
                        bloom_problem problem);

#endif

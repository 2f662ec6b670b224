/* A filter as stored bytes: the header of format version 1, which has one or two lines of 64 bytes,
 * and then the payload. FORMAT.md is the specification. Only the functions here turn bytes into a
 * shape. */
#ifndef BLOOM_FILTER_HEADER_H
#define BLOOM_FILTER_HEADER_H

#include "filter/layout.h"

/* The length of a header: one line, or two with a salt. */
#define BLOOM_HEADER_BYTES 64
#define BLOOM_HEADER_BYTES_MAXIMUM 128

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

/* The same for a filter whose header was read before: checks its length, and that no bit after its
 * last is set. */
bool bloom_payload_read(const struct bloom_shape *shape, const void *bytes, uint64_t length,
                        bloom_problem problem);

#endif

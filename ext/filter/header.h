/* A filter as stored bytes: the header of format version 1, one line of 64 bytes or two, then the
 * payload. FORMAT.md is the specification; this is the only door through which bytes become a
 * shape. */
#ifndef BLOOM_FILTER_HEADER_H
#define BLOOM_FILTER_HEADER_H

#include "filter/layout.h"

/* A line of the header. A filter without a salt has one, a salted one has a second line. */
#define BLOOM_HEADER_BYTES 64
#define BLOOM_HEADER_BYTES_MAXIMUM 128

/* The one version of the format that there is. */
#define BLOOM_FORMAT_VERSION 1

/* Bytes of the header, all its lines, which the payload follows: 64 or 128. */
static inline unsigned bloom_header_bytes(const struct bloom_shape *shape) {
    return shape->keying.salted ? BLOOM_HEADER_BYTES_MAXIMUM : BLOOM_HEADER_BYTES;
}

/* Bytes of a whole filter: header and payload. */
static inline uint64_t bloom_filter_bytes(const struct bloom_shape *shape) {
    return bloom_header_bytes(shape) + bloom_payload_bytes(shape);
}

/* Writes the header of a shape, bloom_header_bytes of it. Equal shapes give equal bytes. */
void bloom_header_write(const struct bloom_shape *shape, uint8_t *header);

/* Reads and validates length bytes of which nothing is known; takes constant time and touches only
 * the header and the last byte. On true, shape is that of the filter, and what follows the header
 * may be used as its payload with every function of the layout. On false, problem completes the
 * sentence "the filter ...". */
bool bloom_filter_read(struct bloom_shape *shape, const void *bytes, uint64_t length,
                       bloom_problem problem);

/* The two parts of bloom_filter_read. The first reads the header alone, at the beginning of length
 * bytes, for a payload that may lie elsewhere. The second checks the length of a filter of known
 * shape, and the bits beyond its last. */
bool bloom_header_read(struct bloom_shape *shape, const void *bytes, uint64_t length,
                       bloom_problem problem);
bool bloom_payload_read(const struct bloom_shape *shape, const void *bytes, uint64_t length,
                        bloom_problem problem);

#endif

/* A filter as stored bytes: the 64-byte header of format version 1, then the payload. FORMAT.md is
 * the specification; this is the only door through which bytes become a shape.
 */
#ifndef BLOOM_HEADER_H
#define BLOOM_HEADER_H

#include "filter/layout.h"

#define BLOOM_HEADER_BYTES 64

/* The one version of the format that there is. */
#define BLOOM_FORMAT_VERSION 1

/* Bytes of a whole filter: header and payload. */
static inline uint64_t bloom_filter_bytes(const struct bloom_shape *shape) {
    return BLOOM_HEADER_BYTES + bloom_payload_bytes(shape);
}

/* Writes the header of a shape. Equal shapes give equal bytes. */
void bloom_header_write(const struct bloom_shape *shape, uint8_t header[BLOOM_HEADER_BYTES]);

/* Reads and validates length bytes of which nothing is known; takes constant time and touches only
 * the header and the last byte. On true, shape is that of the filter and bytes + BLOOM_HEADER_BYTES
 * may be used as its payload with every function of the layout. On false, problem completes the
 * sentence "the filter ...". */
bool bloom_filter_read(struct bloom_shape *shape, const void *bytes, uint64_t length,
                       char problem[BLOOM_PROBLEM_SIZE]);

/* Its two parts: all that the header alone tells, of at least BLOOM_HEADER_BYTES bytes, for a
 * payload that is elsewhere; and the length of a filter of known shape, with what lies beyond its
 * last bit. */
bool bloom_header_read(struct bloom_shape *shape, const uint8_t *header,
                       char problem[BLOOM_PROBLEM_SIZE]);
bool bloom_payload_read(const struct bloom_shape *shape, const void *bytes, uint64_t length,
                        char problem[BLOOM_PROBLEM_SIZE]);

#endif

/* Punycode (RFC 3492): labels of names beyond ASCII, in ASCII. */
#ifndef BLOOM_URL_PUNYCODE_H
#define BLOOM_URL_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

/* Names have at most 253 bytes, so that longer labels need not be tried: both functions take
 * quadratic time. */
enum { PUNYCODE_MOST = 255 };

/* Writes count code points, at most PUNYCODE_MOST and none beyond U+10FFFF, without the prefix
 * xn--; returns the number of bytes, or 0 when there would be more than most. */
size_t url_punycode_encode(const uint32_t *points, size_t count, uint8_t *to, size_t most);

/* The code points of such a text in lower case, without the prefix, of at most PUNYCODE_MOST bytes;
 * returns their number, or 0 when it is no Punycode. */
size_t url_punycode_decode(const uint8_t *text, size_t length, uint32_t points[PUNYCODE_MOST]);

#endif

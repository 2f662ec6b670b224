/* Punycode (RFC 3492): labels of names outside ASCII, written in ASCII. */
#ifndef BLOOM_URL_PUNYCODE_H
#define BLOOM_URL_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

/* Both functions take quadratic time. Names have at most 253 bytes, so longer labels need not be
 * tried. */
enum { PUNYCODE_MOST = 255 };

/* Writes `count` code points, at most PUNYCODE_MOST and none above U+10FFFF, without the prefix
 * xn--. Returns the number of bytes, or 0 if there would be more than `most`. */
size_t url_punycode_encode(const uint32_t *points, size_t count, uint8_t *to, size_t most);

/* Reads the code points of such a text in lower case, without the prefix, of at most PUNYCODE_MOST
 * bytes. Returns their number, or 0 if it is not Punycode. */
size_t url_punycode_decode(const uint8_t *text, size_t length, uint32_t points[PUNYCODE_MOST]);

#endif

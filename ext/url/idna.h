/* Names beyond ASCII as browsers look them up: UTS #46 as the URL Standard asks for it. */
#ifndef BLOOM_URL_IDNA_H
#define BLOOM_URL_IDNA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DNS has names of at most 253 bytes; a dot may follow. Escaped, each byte takes three. */
enum { IDNA_MOST = 255, IDNA_ESCAPED_MOST = 3 * IDNA_MOST };

/* The domain-to-ASCII of the URL Standard for a host, any bytes: mapping, NFC, Punycode, and the
 * checks of bidirectional text and joiners. Writes the name and its length. Returns false when the
 * bytes are not UTF-8, when the name is refused, and when it would be longer than `most`, which is
 * at most IDNA_ESCAPED_MOST. It takes linear time: a label takes at most quadratic time in its
 * length after the mapping, and that is bounded. */
bool url_idna(const uint8_t *bytes, size_t length, uint8_t *to, size_t most, size_t *used);

#endif

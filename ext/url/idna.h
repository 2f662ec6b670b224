/* Names outside ASCII as browsers look them up: UTS #46 as the URL Standard uses it. */
#ifndef BLOOM_URL_IDNA_H
#define BLOOM_URL_IDNA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names in DNS have at most 253 bytes, and a dot may follow. An escaped byte takes three. */
enum { IDNA_MOST = 255, IDNA_ESCAPED_MOST = 3 * IDNA_MOST };

/* Applies the URL Standard's domain-to-ASCII to a host: mapping, NFC, Punycode, and the checks of
 * bidirectional text and joiners. If `escape` is true, each blank and each `*` is escaped first, as
 * Chromium does. Writes the name and its length. Returns false if the bytes are not UTF-8, if the
 * name is refused, or if it would be longer than `most`, which is at most IDNA_ESCAPED_MOST. It
 * takes linear time, because a label is bounded after the mapping, although it takes quadratic time
 * in its length. */
bool url_idna(const uint8_t *bytes, size_t length, bool escape, uint8_t *to, size_t most,
              size_t *used);

#endif

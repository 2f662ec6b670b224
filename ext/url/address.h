/* IPv4 and IPv6 addresses as hosts of URLs. */
#ifndef BLOOM_URL_ADDRESS_H
#define BLOOM_URL_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IPV4_BYTES = 4, IPV6_GROUPS = 8 };

/* A name in lower case that inet_aton would take for an IPv4 address: one to four parts, the last
 * of which fills the bytes that are left. Of a part that is too large only the last bytes count.
 * The URL Standard refuses such parts; all that it takes is taken here, too. */
bool url_read_ipv4(const uint8_t *text, size_t length, uint8_t address[IPV4_BYTES]);

/* The same as the URL Standard has it for a host in lower case. A name that ends in a number must
 * be an address. */
enum url_number { URL_NO_NUMBER, URL_ADDRESS, URL_BAD_NUMBER };
enum url_number url_read_number(const uint8_t *text, size_t length, uint8_t address[IPV4_BYTES]);

/* An IPv6 address as RFC 4291 writes it, without brackets and zone. */
bool url_read_ipv6(const uint8_t *text, size_t length, uint16_t groups[IPV6_GROUPS]);

/* The same as Chromium reads it: each of the four parts of an IPv4 address at its end may be
 * hexadecimal or octal, as url_read_ipv4 has them. */
bool url_read_loose_ipv6(const uint8_t *text, size_t length, uint16_t groups[IPV6_GROUPS]);

/* Four decimal parts; returns the number of bytes, 15 at most. */
size_t url_write_ipv4(uint8_t *to, const uint8_t address[IPV4_BYTES]);

/* RFC 5952, in brackets; returns the number of bytes, 41 at most. */
size_t url_write_ipv6(uint8_t *to, const uint16_t groups[IPV6_GROUPS]);

#endif

/* IPv4 and IPv6 addresses as hosts of URLs. */
#ifndef BLOOM_URL_ADDRESS_H
#define BLOOM_URL_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IPV4_BYTES = 4, IPV6_GROUPS = 8 };

/* Reads a name in lower case as inet_aton does: one to four parts, the last of which fills the
 * bytes that are left. If a part is too large, only its last bytes count. The URL Standard
 * refuses such parts, but accepts nothing that is refused here. Returns false if it is not an
 * IPv4 address. */
bool url_read_ipv4(const uint8_t *text, size_t length, uint8_t address[IPV4_BYTES]);

/* Reads a host in lower case as the URL Standard does. A name that ends in a number must be an
 * address. */
enum url_number { URL_NO_NUMBER, URL_ADDRESS, URL_BAD_NUMBER };
enum url_number url_read_number(const uint8_t *text, size_t length, uint8_t address[IPV4_BYTES]);

/* Reads an IPv6 address as RFC 4291 writes it, without brackets and zone. Each of the four
 * parts of an IPv4 address at its end may be hexadecimal or octal, as in Chromium. */
bool url_read_ipv6(const uint8_t *text, size_t length, uint16_t groups[IPV6_GROUPS]);

/* Writes four decimal parts. Returns the number of bytes, at most 15. */
size_t url_write_ipv4(uint8_t *to, const uint8_t address[IPV4_BYTES]);

/* Writes the form of RFC 5952, in brackets. Returns the number of bytes, at most 41. */
size_t url_write_ipv6(uint8_t *to, const uint16_t groups[IPV6_GROUPS]);

#endif

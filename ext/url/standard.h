/* The URL Standard's parser (WHATWG) for http, https, ftp, ws and wss: where a browser goes.
 *
 * Text without a scheme counts as http. So does another scheme with two slashes after it, because
 * the same parts follow. The slashes of `file:` may be backslashes.
 */
#ifndef BLOOM_URL_STANDARD_H
#define BLOOM_URL_STANDARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the parts of a URL are, after its scheme and slashes. */
struct url_parts {
    size_t user;     /* where the user's name and password start, which an @ follows */
    size_t user_end; /* where they end; the same place if there are none */
    size_t host;     /* where the host starts: there, or after a bracket */
    size_t host_end; /* the colon before the port, or end; or a bracket */
    size_t end;      /* where path and query start */
    bool brackets;   /* the host is in brackets */
    bool scheme;     /* the text has one */
};

/* Trims C0 controls and spaces, removes tabs and line breaks, and drops the fragment. Returns how
 * many bytes it has written. */
size_t url_clean(const uint8_t *bytes, size_t length, uint8_t *to);

/* Finds the parts. Returns false if there is no host. If the brackets are why, all other parts have
 * been found. */
bool url_split(struct url_parts *parts, const uint8_t *text, size_t length);

/* What a browser opens: the host in ASCII, and path and query. `.` and `..` are resolved, and
 * backslashes of the path have become slashes. Nothing has been escaped. */
struct url_opened {
    size_t host;         /* bytes of the host */
    const uint8_t *rest; /* path and query */
    size_t rest_bytes;
    bool scheme; /* the text has one */
};

enum url_opening {
    URL_OPENED,
    URL_REFUSED, /* the standard's parser fails */
    URL_LENIENT, /* it fails at Punycode in an ASCII name, which Chromium opens all the same */
    URL_NOWHERE, /* a path, a query or nothing, for which the standard needs a base */
};

/* Writes the host to text, which has room for length + IDNA_MOST bytes, and the rest to scratch,
 * which has room for length. The three do not overlap. */
enum url_opening url_open(struct url_opened *opened, const uint8_t *bytes, size_t length,
                          uint8_t *text, uint8_t *scratch);

/* Resolves path and query in place, as a browser does. Returns their length. */
size_t url_resolve(uint8_t *text, size_t length);

/* The ASCII bytes that a host may have, in lower case, and 0 for all others. */
extern const uint8_t URL_HOST_BYTES[256];

/* Undoes escapes once, or if `again`, until there are none. to may be bytes. Returns how many bytes
 * are left. */
size_t url_unescape(const uint8_t *bytes, size_t length, bool again, uint8_t *to);

/* Returns true if what follows a colon is a port: nothing, or a number below 65,536. */
bool url_is_port(const uint8_t *text, size_t length);

#endif

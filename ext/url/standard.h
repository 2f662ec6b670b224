/* Where a browser goes: the URL Standard's parser (WHATWG) for http, https, ftp, ws and wss.
 *
 * What has no scheme counts as http. Another scheme with two slashes behind it counts as http, too:
 * what follows has the same parts. Those of `file:` may be backslashes.
 */
#ifndef BLOOM_URL_STANDARD_H
#define BLOOM_URL_STANDARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of a text behind scheme and slashes. */
struct url_parts {
    size_t user;     /* where the user's name and password start, with an @ behind, if any */
    size_t user_end; /* where they end */
    size_t host;     /* where the host starts: there, or behind a bracket */
    size_t host_end; /* the colon before the port, or end; or a bracket */
    size_t end;      /* where path and query start */
    bool brackets;   /* there are any behind the user: the host stands between them */
    bool scheme;     /* there is one */
};

/* Takes C0 controls and spaces off both ends, tabs and line breaks out, and the fragment away.
 * Returns how many bytes it has written. */
size_t url_clean(const uint8_t *bytes, size_t length, uint8_t *to);

/* Finds the parts. Returns false when there is no host, by how it begins, with nothing found; or by
 * its brackets, with all else found. */
bool url_split(struct url_parts *parts, const uint8_t *text, size_t length);

/* What a browser opens: the host of the standard, in ASCII, and path and query. `.` and `..` are
 * resolved there and backslashes of the path are slashes; nothing is escaped that came
 * unescaped. */
struct url_opened {
    size_t host;         /* bytes of the host */
    const uint8_t *rest; /* path and query */
    size_t rest_bytes;
    bool scheme; /* there is one */
};

enum url_opening {
    URL_OPENED,
    URL_REFUSED, /* the standard's parser fails */
    URL_LENIENT, /* it fails at Punycode in an ASCII name, which Chromium opens as it is */
    URL_NOWHERE, /* a path, a query, nothing: the standard needs a base */
};

/* Writes the host to text, which has room for length + IDNA_MOST bytes, and the rest to scratch,
 * which has room for length. The three do not overlap. */
enum url_opening url_open(struct url_opened *opened, const uint8_t *bytes, size_t length,
                          uint8_t *text, uint8_t *scratch);

/* Resolves path and query, in place, as a browser does; returns their length. */
size_t url_resolve(uint8_t *text, size_t length);

/* The ASCII bytes that a host may have, in lower case; 0 for all others. */
extern const uint8_t URL_HOST_BYTES[256];

/* Undoes escapes once, in place; returns how many bytes are left. */
size_t url_unescape_once(uint8_t *text, size_t length);

/* Whether a name in lower case is ASCII without Punycode, so that UTS #46 leaves it alone. */
bool url_is_ascii_name(const uint8_t *name, size_t length);

/* Whether the digits behind a colon are a port: none, or a number below 65,536. */
bool url_is_port(const uint8_t *text, size_t length);

#endif

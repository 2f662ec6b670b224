/* URLs as keys: the canonical form of a URL, and the keys under which a list may have it.
 *
 * Lists of addresses name hosts, folders and pages. Visits are whole URLs in every spelling. So
 * that both meet, a list entry is stored in its canonical form, and a visit is looked up under the
 * canonical forms of its page, its folders, its host and the domains above it.
 *
 * The canonical form is `host/path?query`, without a scheme, in printable ASCII. Every key of a URL
 * is a stretch of this text: a shorter host is its end, and a shorter path is its beginning. A key
 * is in canonical form itself.
 *
 * The form follows what a browser does: first the URL Standard's parser (standard.h), then the
 * canonical form of Google's Safe Browsing ("URLs and Hashing"; Update API v4, and v5 for IPv6). If
 * the former fails, only the latter is applied. ext/URLS.md specifies all of it for other programs.
 *
 * All functions take time linear in the length, for any bytes, and allocate nothing.
 */
#ifndef BLOOM_URL_URL_H
#define BLOOM_URL_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The canonical text of a URL: the host, the path, which begins with a slash, and the query, which
 * begins with a question mark or is empty. */
struct bloom_url {
    size_t host;   /* bytes of the host, at least 1 */
    size_t path;   /* where the path ends; the query follows */
    size_t length; /* bytes of all three */
    bool address;  /* the host is an IPv4 or IPv6 address */
    bool opened;   /* a browser opens it, or at least Chromium does */
    bool scheme;   /* the text begins with a scheme */
};

/* Five hosts, and for each of them six paths. */
#define BLOOM_URL_KEYS_MOST 30

/* A key: `length` bytes of the canonical text, from `start` on. */
struct bloom_url_key {
    size_t start;
    size_t length;
};

/* How many bytes of room bloom_url_parse needs for a URL of length bytes. The canonical text itself
 * has at most 3 * length + 256, because a name may become longer, but not as long as that. */
#define BLOOM_URL_ROOM(length) (4 * (uint64_t)(length) + 320)

/* Parses a URL of length bytes and writes its canonical text into text, which has room for
 * BLOOM_URL_ROOM and does not overlap bytes. bytes may be NULL if length is 0. Returns false if
 * there is no host. Then text is undefined. */
bool bloom_url_parse(struct bloom_url *url, const uint8_t *bytes, size_t length, uint8_t *text);

/* A plain URL: http:// or https:// or neither, a host, a port or none, and a path or none, in which
 * there is nothing to undo or to resolve. The host is an IPv4 address or a name in lower case, as
 * in a key. Nothing in it has a meaning in a line of a list, and it is not a range of addresses. So
 * it can be an entry as it is, and its key is its host with its path, or with a slash. */
struct bloom_url_plain {
    size_t host, host_end; /* the scheme is before the host */
    size_t path, end;      /* the port is before the path, which may be empty */
    bool address;
};

/* Reads the plain URL with which a text begins, up to a byte that cannot be in one. Returns false
 * if there is none, or if the text after it needs bloom_url_parse. */
bool bloom_url_read_plain(struct bloom_url_plain *plain, const uint8_t *text, size_t length);

/* Writes the canonical text of a plain URL, likewise. */
void bloom_url_write_plain(struct bloom_url *url, const struct bloom_url_plain *plain,
                           const uint8_t *text, uint8_t *to);

/* Makes the ASCII letters of a canonical text lower case, including those of escapes. */
void bloom_url_lower(uint8_t *text, size_t length);

/* Writes the keys of a parsed URL, each once, the most exact first: the hosts from the longest on,
 * and for each of them the paths from the longest on. Returns their number, 1 or more. */
unsigned bloom_url_keys(const struct bloom_url *url, const uint8_t *text,
                        struct bloom_url_key keys[BLOOM_URL_KEYS_MOST]);

#endif

/* URLs as keys: the canonical form of a URL, and the keys under which a list may hold it.
 *
 * The key of a URL is that of what a browser makes of it: first the URL Standard's parser
 * (standard.h), then the canonical form of Google's Safe Browsing ("URLs and Hashing"; Update API
 * v4, and v5 for IPv6), which browsers use. Where the former fails, the latter decides alone.
 * ext/URLS.md specifies all of it, for readers of any language.
 *
 * Lists of addresses name hosts, folders and pages; visits are whole URLs in every spelling. Both
 * meet when a list entry is stored in its canonical form, and a visit is looked up under the
 * canonical forms of all that it lies in: its page, its folders, its host, the domains above it.
 *
 * The canonical form here is `host/path?query`, without a scheme, of printable ASCII only. Every
 * key of a URL is a stretch of this text: a shorter host is its end, a shorter path its beginning.
 * A key is canonical itself.
 *
 * All functions take time linear in the length, whatever the bytes, and allocate nothing.
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
    size_t length; /* bytes of it all */
    bool address;  /* the host is an IPv4 or IPv6 address */
    bool opened;   /* a browser opens it, Chromium at least */
    bool scheme;   /* the text begins with a scheme */
};

/* Five hosts, and for each of them six paths. */
#define BLOOM_URL_KEYS_MOST 30

/* A key: length bytes of the canonical text, from start on. */
struct bloom_url_key {
    size_t start;
    size_t length;
};

/* The bytes of room that bloom_url_parse needs for a URL of length bytes. The canonical text itself
 * has at most 3 * length + 256: a name may become longer, but not as long as that. */
uint64_t bloom_url_room(size_t length);

/* The same as a constant. */
#define BLOOM_URL_ROOM(length) (4 * (length) + 320)

/* Writes the canonical text of length bytes into text, which has the room for it and does not
 * overlap bytes. bytes may be NULL when length is 0. Returns false when there is no host; text
 * then holds nothing of use. */
bool bloom_url_parse(struct bloom_url *url, const uint8_t *bytes, size_t length, uint8_t *text);

/* The length of the name of a host with which a text begins, if every parser leaves the name as it
 * is: in lower case, with a dot, not in Punycode, and not read as a number. Another byte follows
 * it, or the end of the text. Returns 0 if there is no such name. */
size_t bloom_url_plain_name(const uint8_t *text, size_t length);

/* Makes the ASCII letters of a canonical text lower case, those of escapes included. */
void bloom_url_lower(uint8_t *text, size_t length);

/* The keys of a parsed URL, each once, the most exact first: the hosts from the longest on, and
 * for each of them the paths from the longest on. Returns their number, 1 or more. */
unsigned bloom_url_keys(const struct bloom_url *url, const uint8_t *text,
                        struct bloom_url_key keys[BLOOM_URL_KEYS_MOST]);

#endif

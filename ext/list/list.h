/* Lists of malicious addresses as people download them: which entries a text holds.
 *
 * hosts files, rules of Adblock and uBlock, dnsmasq, unbound and response policy zones, CSV,
 * wildcards, defanged and quoted addresses, one URL or name a line. ext/URLS.md says how each is
 * read. Lines are told apart one by one, so that a list may mix forms.
 *
 * A list is read where it lies; nothing is allocated.
 */
#ifndef BLOOM_LIST_LIST_H
#define BLOOM_LIST_LIST_H

#include "list/list_line.h"
#include "url/url.h"

/* A line has at most so many bytes. */
enum { BLOOM_LIST_LINE_MOST = 16384 };

/* So many bytes without an entry, remarks or the rest of a long line, are passed in one go: some
 * milliseconds. */
enum { BLOOM_LIST_STRETCH = 1 << 18 };

struct bloom_list {
    const uint8_t *bytes;
    size_t length;
    size_t at;     /* where the next line begins */
    size_t sought; /* there is no end of that line before */
    uint64_t line; /* counts from 1, once a line has been read */
    struct list_state state;
    struct bloom_url url;
    uint8_t text[BLOOM_LIST_LINE_MOST];
    uint8_t key[BLOOM_URL_ROOM(BLOOM_LIST_LINE_MOST)];
};

/* An entry, or what is none for a reason. */
struct bloom_list_entry {
    uint64_t line;
    const uint8_t *written; /* in the list's bytes */
    size_t written_bytes;
    const uint8_t *key; /* as bloom_url makes it, until the next entry, and a zero byte after it;
                           NULL: there is none */
    size_t key_bytes;
    bool is_text;     /* what is written is valid UTF-8 */
    const char *note; /* why there is none; otherwise how it was read, or NULL */
};

/* Whether a text may be added as an entry by itself; url and key are what bloom_url_parse made of
 * it. With a scheme it may, and so may every key that a list gives. Without one a text is a line of
 * a list, and none, when its host is no name or address, or when it is a range of addresses, a
 * number, a date or a mail address. */
bool bloom_list_takes(const uint8_t *text, size_t length, const struct bloom_url *url,
                      const uint8_t *key);

/* Whether a text without a host looks like a line of a list; others are URLs without one, as of
 * mails. */
bool bloom_list_is_line(const uint8_t *text, size_t length);

/* Begins with a text, which must outlast the list. Returns NULL; or, for what is no text in UTF-8
 * but UTF-16, compressed or binary, what it is and what to do, behind "the text is". */
const char *bloom_list_begin(struct bloom_list *list, const uint8_t *bytes, size_t length);

enum bloom_list_step {
    BLOOM_LIST_ENTRY,
    BLOOM_LIST_PAUSE, /* after a stretch without one: ask again for the next */
    BLOOM_LIST_END
};

/* Goes to the next entry, in time linear in the bytes that it passes. */
enum bloom_list_step bloom_list_next(struct bloom_list *list, struct bloom_list_entry *entry);

#endif

/* Reads published lists of malicious addresses.
 *
 * The forms are hosts files, rules of Adblock and uBlock, rules of proxies such as Clash, dnsmasq,
 * unbound, response policy zones, CSV, wildcards, defanged and quoted addresses, and one URL or
 * name per line. ext/URLS.md says how each is read. The form of each line is found by itself, so a
 * list may mix forms.
 *
 * A list is read in place, and nothing is allocated.
 */
#ifndef BLOOM_LIST_LIST_H
#define BLOOM_LIST_LIST_H

#include "list/forms.h"
#include "url/url.h"

/* The longest line, in bytes. */
enum { BLOOM_LIST_LINE_MOST = 16384 };

struct bloom_list {
    const uint8_t *bytes;
    size_t length;
    size_t at;        /* where the next line begins */
    size_t line_feed; /* the first one from a place on that is not beyond the next line */
    uint64_t line;    /* counts from 1, once a line has been read */
    struct list_state state;
    struct bloom_url url;
    /* The entry that was read last: as text without wildcards and defanging, and its key. */
    struct list_piece judged; /* that entry as a field, with its form */
    enum list_form judged_form;
    size_t used; /* of the text */
    uint8_t text[BLOOM_LIST_LINE_MOST];
    uint8_t key[BLOOM_URL_ROOM(BLOOM_LIST_LINE_MOST)];
};

/* A row: an entry, or a part of the list that is not an entry, with the reason. */
struct bloom_list_entry {
    uint64_t line;
    const uint8_t *written; /* in the list's bytes */
    size_t written_bytes;
    const uint8_t *key; /* as bloom_url makes it, with a zero byte after it; NULL: not an entry.
                           Valid until the next call. */
    const uint8_t *request_key;   /* likewise, also if only single requests are stopped */
    size_t key_bytes, host_bytes; /* the host is the first part of the key */
    enum list_form form;
    bool is_text;     /* what is written is valid UTF-8 */
    const char *note; /* why it is not an entry, or how it was read; NULL: as a URL or name */
};

/* Returns true if a text may be added as an entry by itself. url and key are what bloom_url_parse
 * made of it. Every text with a scheme may, and every key that a list has. Without a scheme a text
 * may not if its host is not a name or address, or if it is a range of addresses, a number, a date
 * or a mail address. */
bool bloom_list_takes(const uint8_t *text, size_t length, const struct bloom_url *url,
                      const uint8_t *key);

/* Begins to read a text, which must outlast the list. Returns NULL on success. If the bytes are not
 * text in UTF-8, it returns what they are and what to do, to follow "the text is". */
const char *bloom_list_begin(struct bloom_list *list, const uint8_t *bytes, size_t length);

enum bloom_list_step {
    BLOOM_LIST_ENTRY,
    BLOOM_LIST_PAUSE, /* no entry for a while: call again */
    BLOOM_LIST_END
};

/* Reads the next row, in time linear in the bytes that it passes. */
enum bloom_list_step bloom_list_next(struct bloom_list *list, struct bloom_list_entry *entry);

/* For list.c: entry.c makes the key of an entry that list_narrow has found. Returns its form, or
 * why it is not an entry after all. */
enum list_form list_read(struct bloom_list *list, struct list_piece piece, enum list_form form);

/* Makes the key of a field that is a plain URL, as list_read would. Returns false, and does
 * nothing, if it is not one. */
bool list_read_plain(struct bloom_list *list, struct list_piece field);

/* Returns true if the key is for the machine itself: a blocking address, localhost.localdomain,
 * localhost4.localdomain4 or the like. A rule of Adblock that names such an address means it. */
bool list_is_local(const struct bloom_list *list);

/* Returns the form of an entry whose key is known, because some rules are for one page only, and
 * some names are those of the machine itself. */
static inline enum list_form list_settle(const struct bloom_list *list, enum list_form form) {
    const bool is_page = form == LIST_ADBLOCK && list->key[list->url.length - 1] != '/';
    const bool may_be_local =
        *list->key == 'l' ||
        (list->url.address &&
         (*list->key == '0' || *list->key == '[' || memcmp(list->key, "127", 3) == 0) &&
         form != LIST_ADBLOCK && form != LIST_ADBLOCK_OPTIONS && form != LIST_ADBLOCK_CONDITION);
    return may_be_local && list_is_local(list) ? LIST_LOCAL : is_page ? LIST_ADBLOCK_PAGE : form;
}

#endif

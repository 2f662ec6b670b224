/* Reads published lists of malicious addresses: hosts files, rules of Adblock and uBlock, rules of
 * proxies such as Clash, dnsmasq, unbound, response policy zones, CSV, wildcards, defanged and
 * quoted addresses, and one URL or name per line. ext/URLS.md says how each is read. A list may mix
 * forms, because each line is offered to one form after the other (ORDER in list.c). Each form is
 * one function in the file of its family: programs.c, adblock.c, rows.c and words.c. Nothing is
 * allocated. */
#ifndef BLOOM_LIST_LIST_H
#define BLOOM_LIST_LIST_H

#include "list/piece.h"
#include "url/url.h"

/* How an entry was read, or why a line is not one, each with its note. */
#define LIST_FORMS(FORM)                                                                           \
    FORM(LIST_OTHER, NULL)   /* not of the form that was asked, so the next one is */              \
    FORM(LIST_NOTHING, NULL) /* a remark, which has no row */                                      \
    FORM(LIST_NAMES, NULL)   /* several names, each of which is a field */                         \
    FORM(LIST_PLAIN, NULL)                                                                         \
    FORM(LIST_HOSTS, "hosts file")                                                                 \
    FORM(LIST_WHOLE, "whole line, with its commas, bars and spaces")                               \
    FORM(LIST_ADBLOCK, "Adblock rule")                                                             \
    FORM(LIST_ADBLOCK_PAGE, "Adblock rule, for this page only")                                    \
    FORM(LIST_ADBLOCK_OPTIONS, "Adblock rule, options ignored")                                    \
    FORM(LIST_ADBLOCK_CONDITION, "no entry: a rule with a condition")                              \
    FORM(LIST_DNSMASQ, "dnsmasq")                                                                  \
    FORM(LIST_UNBOUND, "unbound")                                                                  \
    FORM(LIST_ZONE, "policy zone")                                                                 \
    FORM(LIST_PROXY, "rule of a proxy")                                                            \
    FORM(LIST_ANCHORED, "regular expression for a host")                                           \
    FORM(LIST_FIELD, "one of several fields")                                                      \
    FORM(LIST_WILDCARD, "wildcard")                                                                \
    FORM(LIST_DEFANGED, "defanged")                                                                \
    FORM(LIST_BYTES, "not UTF-8, read byte by byte")                                               \
    FORM(LIST_EXCEPTION, "no entry: an exception")                                                 \
    FORM(LIST_MODIFIER, "no entry: it does not block")                                             \
    FORM(LIST_COSMETIC, "no entry: a cosmetic rule")                                               \
    FORM(LIST_EXPRESSION, "no entry: a regular expression")                                        \
    FORM(LIST_INNER_WILDCARD, "no entry: a wildcard in the middle")                                \
    FORM(LIST_PART, "no entry: only a part of an address")                                         \
    FORM(LIST_RANGE, "no entry: a range of addresses")                                             \
    FORM(LIST_NUMBER, "no entry: a number or a date")                                              \
    FORM(LIST_HASH, "no entry: a hash")                                                            \
    FORM(LIST_MAIL, "no entry: a mail address")                                                    \
    FORM(LIST_DIRECTIVE, "no entry: a directive")                                                  \
    FORM(LIST_SIGNATURE, "no entry: a rule of Suricata or Snort")                                  \
    FORM(LIST_TRIGGER, "no entry: a policy that is not about a name")                              \
    FORM(LIST_HEADING, "no entry: the heading of a table")                                         \
    FORM(LIST_NO_URL_FIELD, "no entry: no field is a URL")                                         \
    FORM(LIST_WORDS, "no entry: several words")                                                    \
    FORM(LIST_HOSTS_ADDRESS, "no entry: an address instead of a name")                             \
    FORM(LIST_NO_HOST, "no entry: it has no host")                                                 \
    FORM(LIST_NO_DOT, "no entry: a name without a dot")                                            \
    FORM(LIST_LOCAL, "no entry: the machine itself")                                               \
    FORM(LIST_UNOPENED, "no entry: the host is not a name or address")                             \
    FORM(LIST_TOO_LONG, "no entry: a line longer than 16384 bytes")
#define LIST_FORM(form, words) form,
enum list_form {
    LIST_FORMS(LIST_FORM) LIST_FORM_COUNT,
    LIST_NO_KEY = LIST_EXCEPTION /* from here on */
};
#undef LIST_FORM

/* The heading of a table: the sign between fields, and the number of fields, which is 0 if the list
 * has no heading. */
struct list_heading {
    uint8_t separator;
    unsigned fields;
    unsigned field; /* the one, from 0, whose name says that it is a host, an address or a URL */
    uint64_t named; /* bit i: field i may be the entry if that one is not */
};

/* The longest line, in bytes. */
enum { BLOOM_LIST_LINE_MOST = 16384 };

struct bloom_list {
    const uint8_t *bytes;
    size_t length;
    size_t at;        /* where the next line begins */
    size_t line_feed; /* the first one from a place on that is not beyond the next line */
    uint64_t line;    /* counts from 1, once a line has been read */
    bool begun;       /* a line has been read that is not a remark, so no heading can follow */
    bool adblock;     /* the list has the heading [Adblock ...] */
    bool defanged;    /* something defanged has been read */
    struct list_heading heading;
    /* The rest of a line with several names, and how it is read. */
    struct list_piece names;
    enum list_form names_form;
    /* The last options of a rule that do the same whatever its pattern is, from their dollar on. */
    struct list_piece kept;
    enum list_form kept_form;
    /* The field that was judged last, and what it is. */
    struct list_piece judged;
    enum list_form judged_form;
    /* Above is what bloom_list_begin sets. Below is the entry that was read last: as text without
     * wildcards and defanging, and its key. */
    struct bloom_url url;
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

/* Returns true if a text may be added as an entry by itself: every text with a scheme, every key
 * that a list has, and any other whose host is a name or address, unless it is a range, a number, a
 * date or a mail address. url and key are what bloom_url_parse made of it. */
bool bloom_list_takes(const uint8_t *text, size_t length, const struct bloom_url *url,
                      const uint8_t *key);

/* Begins to read a text, which must outlast the list. */
void bloom_list_begin(struct bloom_list *list, const uint8_t *bytes, size_t length);

enum bloom_list_step {
    BLOOM_LIST_ENTRY,
    BLOOM_LIST_PAUSE, /* no entry for a while: call again */
    BLOOM_LIST_END
};

/* Reads the next row, in time linear in the bytes that it passes. */
enum bloom_list_step bloom_list_next(struct bloom_list *list, struct bloom_list_entry *entry);

/* Returns the words for a form; NULL for LIST_PLAIN. */
const char *list_note(enum list_form form);

/* A form narrows a line of its own down to the entry and returns how it was read, or why there is
 * no entry. With LIST_HOSTS, LIST_DNSMASQ and LIST_NAMES it leaves several names. Any other line
 * is LIST_OTHER, and the form may have removed a remark or the marks of an item from it. */
typedef enum list_form list_reader(struct bloom_list *list, struct list_piece *line);

/* list.c */

/* Recognises remarks: #, !, ;, [Adblock Plus 2.0], sep=;, and // unless an address follows. */
bool list_is_remark(struct list_piece line);

/* Removes the remark after an entry. A dot or a colon is before it, and its sign follows a blank
 * and is not in quotation marks. */
struct list_piece list_without_remark(struct list_piece line);

/* entry.c */

/* Makes the key of an entry that a form has found. Returns its form, or why it is not one. */
enum list_form list_read(struct bloom_list *list, struct list_piece piece, enum list_form form);

/* The same for a field that is a plain URL. Returns false, and does nothing, for any other. */
bool list_read_plain(struct bloom_list *list, struct list_piece field);

/* Returns true if the key is for the machine itself: a blocking address or a name of its own. */
bool list_is_local(const struct bloom_list *list);

/* Returns the form of an entry whose key is known, because some rules are for one page only, and
 * some names are those of the machine itself. */
static inline enum list_form list_settle(const struct bloom_list *list, enum list_form form) {
    const uint8_t *key = list->key;
    const bool may_be_local = *key == '[' || *key == '0' || (*key == '1' && key[1] == '2') ||
                              (*key == 'l' && key[1] == 'o' && key[2] == 'c');
    if (may_be_local && form != LIST_ADBLOCK_CONDITION && list_is_local(list))
        return LIST_LOCAL;
    return form == LIST_ADBLOCK && key[list->url.length - 1] != '/' ? LIST_ADBLOCK_PAGE : form;
}

/* Recognises 192.0.2.7/32, 2001:db8::/32, 192.0.2.0/255.255.255.0, 192.0.2.1-192.0.2.9 and
 * 192.0.2.1-9. Otherwise removes a /32 or /128 after an address. If it may be a page, what is not
 * the first address of its network is one, as in 192.0.2.7/24. */
bool list_is_range(struct list_piece *piece, bool may_be_page);

/* adblock.c */
list_reader list_adblock;

/* Returns true if a pattern that nothing marks as a rule is only a part of an address. */
bool list_is_part(const struct bloom_list *list, struct list_piece pattern);

/* programs.c */
list_reader list_hosts, list_dnsmasq, list_unbound, list_zone, list_proxy, list_expression,
    list_signature;

/* Removes the next of several names from the list, which must have one, and returns it. */
struct list_piece list_next_name(struct list_piece *names, enum list_form form);

/* rows.c */
list_reader list_heading, list_row, list_fields;

/* words.c */
list_reader list_marks, list_map, list_words;

/* Returns the first defanged URL of a line of words, or else the first defanged host, or else the
 * first defanged address, which other hosts may have, too; empty if the line has nothing defanged.
 * Signs around it and a label such as `C2:` are removed. After what looks like a mail address, as
 * in good[.]example@evil[.]example, no host counts. */
struct list_piece list_find_defanged(struct bloom_list *list, struct list_piece line);

/* values.c */

/* The class of a field. From LIST_IS_RANGE on it can be what a row is about. */
enum list_class {
    LIST_IS_WORD,    /* or anything else that is not an entry */
    LIST_IS_PROSE,   /* the same, with three words in a row */
    LIST_IS_MISSING, /* there is no such field */
    LIST_IS_HOST_TYPE,
    LIST_IS_OTHER_TYPE, /* a word for a type such as sha256 */
    LIST_IS_RANGE,
    LIST_IS_DOUBTFUL, /* it looks like the name of a file or package */
    LIST_IS_ENTRY,
    LIST_IS_NAMES, /* several words, each of which is an entry */
    LIST_IS_URL,   /* with a scheme */
    LIST_IS_SURE   /* a URL that a person has defanged, or a word for a type is in front of it */
};

/* Returns the class of a field. From a field that was defanged it removes what follows the first
 * comma, bar or blank, because a person wrote that; from one without a scheme what follows a bar;
 * and from `Ip:192.0.2.9` the word for the type. */
enum list_class list_class_of(struct bloom_list *list, struct list_piece *field);

/* What the name of a column says of its fields, from the least certain on. */
enum list_rank {
    LIST_NO_COLUMN,
    LIST_VALUE_COLUMN,
    LIST_HOST_COLUMN,
    LIST_URL_COLUMN,
    LIST_INDICATOR_COLUMN,
    LIST_IOC_COLUMN,
    LIST_ENTRY_COLUMN
};

/* What a word says, in any case and with any signs between its letters: of the fields beside it if
 * it is in a row (a class), and of its column if it is in a heading. */
struct list_meaning {
    enum list_class type;
    enum list_rank column;
};
struct list_meaning list_meaning_of(struct list_piece word);

/* If a piece begins with hxxps or the like and a colon, returns the length before the colon.
 * Otherwise returns 0. */
size_t list_mangled_scheme(struct list_piece piece);

/* Writes an entry into the list's text, without what keeps people from clicking on it: hxxp, [.],
 * (dot), [:] and the like. If `escaped` is not NULL, it is two bytes that mean the second of them:
 * "" in a quoted field (RFC 4180), \. in an expression. Returns true if the entry was defanged. */
bool list_refang(struct bloom_list *list, struct list_piece piece, const char *escaped);

/* Returns true if the first word of a piece is defanged. Changes the list's text. */
bool list_is_defanged(struct bloom_list *list, struct list_piece piece);

#endif

/* What one line of a list says, in each form of ext/URLS.md.
 *
 * A line is narrowed down, from the outside to the entry, by functions that each know one form.
 * Each returns what the line turned out to be.
 */
#ifndef BLOOM_LIST_LIST_LINE_H
#define BLOOM_LIST_LIST_LINE_H

#include "list/list_span.h"

/* How an entry was read, or why there is none; the names are in LIST_NOTES. */
enum list_form {
    LIST_NOTHING, /* a remark: no row */
    LIST_PLAIN,
    LIST_HOSTS,
    LIST_WHOLE,
    LIST_ADBLOCK,
    LIST_ADBLOCK_PAGE,
    LIST_ADBLOCK_OPTIONS,
    LIST_ADBLOCK_CONDITION,
    LIST_DNSMASQ,
    LIST_UNBOUND,
    LIST_ZONE,
    LIST_FIELD,
    LIST_COLUMN, /* of a table with a heading */
    LIST_WILDCARD,
    LIST_DEFANGED,
    LIST_BYTES,
    LIST_NETWORK_OF_ONE,
    LIST_NO_KEY, /* from here on */
    LIST_EXCEPTION = LIST_NO_KEY,
    LIST_MODIFIER,
    LIST_COSMETIC,
    LIST_EXPRESSION,
    LIST_INNER_WILDCARD,
    LIST_PART, /* of addresses */
    LIST_RANGE,
    LIST_NUMBER,
    LIST_MAIL,
    LIST_DIRECTIVE,
    LIST_TRIGGER,
    LIST_HEADING,
    LIST_NO_URL_FIELD,
    LIST_WORDS,
    LIST_HOSTS_ADDRESS,
    LIST_NO_HOST,
    LIST_NO_DOT,
    LIST_UNOPENED,
    LIST_TOO_LONG,
};

/* The heading of a table: what separates fields, how many there are, and which of them, from 0, is
 * the entry. No fields: there is none. */
struct list_heading {
    uint8_t separator;
    unsigned fields, field;
    bool hosts_alone; /* there are paths in another field, and the entry would say too much */
};

/* What a line leaves for what comes behind it. */
struct list_state {
    /* What is left of a line with several names, and how it is read. */
    struct list_span names;
    enum list_form form;
    bool begun; /* a line was met that is no remark; before, there may be a heading */
    struct list_heading heading;
};

/* Narrows a line, without blanks around, down to its entry; of one with several names, these are
 * left in the state. */
enum list_form list_narrow(struct list_state *state, struct list_span *line);

/* Takes the next of several names off the state, which has some. */
struct list_span list_next_name(struct list_state *state);

/* 192.0.2.7/32, 2001:db8::/32, 192.0.2.0/255.255.255.0, 192.0.2.1-192.0.2.9, 192.0.2.1-9. Takes
 * the 32 or 128 away. */
enum list_form list_network(struct list_span *span);

/* What stands beside the key: how an entry was read, or why there is none; NULL for a plain one. */
const char *list_note(enum list_form form);

#endif

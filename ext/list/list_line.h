/* Finds the entry in one line of a list, in each form of ext/URLS.md. */
#ifndef BLOOM_LIST_LIST_LINE_H
#define BLOOM_LIST_LIST_LINE_H

#include "list/list_span.h"

/* How an entry was read, or why a line has none. LIST_NOTES has the words. */
enum list_form {
    LIST_NOTHING, /* a remark, which has no row */
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

/* The heading of a table: what separates fields, how many there are, and which of them, counted
 * from 0, is the entry. If there are no fields, the list has no heading. */
struct list_heading {
    uint8_t separator;
    unsigned fields, field;
    bool hosts_alone; /* paths are in another field, so the host alone would block too much */
};

/* What a line leaves for the next call. */
struct list_state {
    /* The rest of a line with several names, and how it is read. */
    struct list_span names;
    enum list_form form;
    bool begun; /* a line has been read that is not a remark, so no heading can follow */
    /* The options of the last rule and what they do, because most rules have the same. */
    struct list_span options;
    enum list_form with_options;
    struct list_heading heading;
};

/* Narrows a line, without blanks around it, down to its entry. If the line has several names, they
 * are left in the state instead. */
enum list_form list_narrow(struct list_state *state, struct list_span *line);

/* Removes the next of several names from the state, which must have one, and returns it. */
struct list_span list_next_name(struct list_state *state);

/* Recognises 192.0.2.7/32, 2001:db8::/32, 192.0.2.0/255.255.255.0, 192.0.2.1-192.0.2.9 and
 * 192.0.2.1-9. Removes a /32 or /128 that makes a network of one address. */
enum list_form list_network(struct list_span *span);

/* Reads the options of a rule that blocks a plain URL, from their dollar to the end of the line.
 * Returns their end, with the form of the rule; or their dollar, if list_narrow must read them. */
const uint8_t *list_plain_options(struct list_state *state, struct list_span rest,
                                  enum list_form *form);

/* Returns the words for a form; NULL for LIST_PLAIN. */
const char *list_note(enum list_form form);

#endif

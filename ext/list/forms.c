/* The order in which a line is offered to the forms, and the note of each form. A new form is one
 * function in the file of its family and one row of ORDER. */
#include "list/forms.h"

#define LIST_WORDS_OF(form, words) [form] = words,
static const char *const LIST_NOTES[] = {LIST_FORMS(LIST_WORDS_OF)};
#undef LIST_WORDS_OF

const char *list_note(enum list_form form) {
    return LIST_NOTES[form];
}

/* The first form that recognises a line reads it. Each row says why it is not further down. */
static list_reader *const ORDER[] = {
    list_heading, /* may be in a remark, and says how the lines after it are read */
    list_remark,  /* may contain anything */
    list_row,     /* knows its field by the heading, whatever is in the others */
    list_item,    /* removes the marks of YAML, so that the other forms see what is in the item */
    list_pattern, /* its bracket also begins rules of AdGuard */
    list_adblock, /* its signs are in no other form, and its options may contain any */
    list_hosts,   /* an address followed by names, of which a tab separates no fields */
    list_dnsmasq, /* these three begin with a word of their own, or have a record as second word; */
    list_unbound, /* their values contain the quotation marks and tabs that are asked for next */
    list_zone,    list_map, /* its key is a word for a type */
    list_proxy,             /* its first field is a word of its own */
    list_fields,            /* knows a page, which may contain commas and bars */
    list_range,             /* may contain blanks */
    list_words,             /* any other line with blanks */
    list_bare,              /* what is left is one word */
};

enum list_form list_narrow(struct list_state *state, struct list_span *line) {
    enum list_form form = LIST_OTHER;
    for (size_t i = 0; form == LIST_OTHER; i++)
        form = ORDER[i](state, line);
    return form;
}

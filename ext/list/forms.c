/* The order in which a line is offered to the forms, and the note of each form. A new form is one
 * function in the file of its family and one row of ORDER. */
#include "list/list.h"

#define LIST_WORDS_OF(form, words) [form] = words,
static const char *const LIST_NOTES[] = {LIST_FORMS(LIST_WORDS_OF)};
#undef LIST_WORDS_OF

const char *list_note(enum list_form form) {
    return LIST_NOTES[form];
}

static enum list_form list_remark(struct bloom_list *list, struct list_piece *line) {
    const bool is_empty = line->at == line->end;
    if (!is_empty && (!list_is_remark(*line) || *line->at == list->state.heading.separator)) {
        list->state.begun = true;
        return LIST_OTHER;
    }
    list->state.adblock |= !is_empty && *line->at == '[';
    return LIST_NOTHING;
}

/* Any line that is left: a URL or name, unless it is a part of an address or a hash. */
static enum list_form list_bare(struct bloom_list *list, struct list_piece *line) {
    return list_is_hash(*line)                                    ? LIST_HASH
           : list_is_part(list, *line) && !list_has_scheme(*line) ? LIST_PART
                                                                  : LIST_PLAIN;
}

/* The first form that recognises a line reads it. Each row says why it is not further down. */
static list_reader *const ORDER[] = {
    list_heading,    /* may be in a remark, and says how the lines after it are read */
    list_remark,     /* may contain anything */
    list_row,        /* knows its field by the heading, whatever is in the others */
    list_marks,      /* removes marks, so that the other forms see what is in the item */
    list_signature,  /* contains options and values of every kind */
    list_expression, /* its bar is also a sign of rules of Adblock */
    list_adblock,    /* its signs are in no other form, and its options may contain any */
    list_hosts,      /* an address followed by names, of which a tab separates no fields */
    list_dnsmasq,    /* these three begin with a word of their own, or have a record as second */
    list_unbound,    /* word; their values contain the quotation marks and tabs asked for next */
    list_zone,       list_map, /* its key is a word for a type, perhaps after a bracket */
    list_proxy,                /* its first field is a word of its own */
    list_fields,               /* knows a page, which may contain commas and bars */
    list_words,                /* any other line with blanks */
    list_bare,                 /* what is left is one word */
};

enum list_form list_narrow(struct bloom_list *list, struct list_piece *line) {
    enum list_form form = LIST_OTHER;
    for (size_t i = 0; form == LIST_OTHER; i++)
        form = ORDER[i](list, line);
    return form;
}

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

/* The first form that recognises a line reads it. Each row says why it is not further down. A form
 * with a sign reads only lines that begin with that. */
static const struct {
    list_reader *read;
    uint8_t sign;
} ORDER[] = {
    {list_heading, 0},      /* may be in a remark, and says how the lines after it are read */
    {list_remark, 0},       /* may contain anything */
    {list_row, 0},          /* knows its field by the heading, whatever is in the others */
    {list_marks, 0},        /* removes marks, so that the other forms see what is in the item */
    {list_signature, 0},    /* contains options and values of every kind */
    {list_pattern, '['},    /* its bracket also begins rules of AdGuard */
    {list_expression, '('}, /* its bar is also a sign of rules of Adblock */
    {list_adblock, 0},      /* its signs are in no other form, and its options may contain any */
    {list_hosts, 0},        /* an address followed by names, of which a tab separates no fields */
    {list_dnsmasq, 0},      /* these three begin with a word of their own, or have a record as */
    {list_unbound, 0},      /* second word; their values contain the quotation marks and tabs */
    {list_zone, 0},         /* asked for next */
    {list_map, 0},          /* its key is a word for a type */
    {list_proxy, 0},        /* its first field is a word of its own */
    {list_fields, 0},       /* knows a page, which may contain commas and bars */
    {list_words, 0},        /* any other line with blanks */
    {list_bare, 0},         /* what is left is one word */
};

enum list_form list_narrow(struct bloom_list *list, struct list_piece *line) {
    enum list_form form = LIST_OTHER;
    for (size_t i = 0; form == LIST_OTHER; i++)
        if (ORDER[i].sign == 0 || ORDER[i].sign == *line->at)
            form = ORDER[i].read(list, line);
    return form;
}

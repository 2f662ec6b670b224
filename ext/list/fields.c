/* Tables of fields, with a heading or without, and URLs among words. */
#include "list/forms.h"

#include <string.h>

/* Returns what separates the fields of a line whose first field is in quotation marks: a semicolon
 * if one follows that field, otherwise a comma. */
static uint8_t list_separator(struct list_span line) {
    bool quoted = false;
    do
        quoted ^= *line.at++ == '"';
    while (line.at < line.end && (quoted || *line.at == '"'));
    return line.at < line.end && *list_trim(line).at == ';' ? ';' : ',';
}

struct list_span list_next_field(struct list_span *rest, uint8_t separator) {
    struct list_span field = {rest->at, rest->at};
    const uint8_t *first = rest->at;
    while (first < rest->end && *first == ' ' && separator != ' ')
        first++;
    const bool marked = first < rest->end && *first == '"';
    const uint8_t *stop = list_find(*rest, separator), *most = stop, *quote;
    bool quoted = false;
    while (marked && (quote = list_find((struct list_span){field.end, most}, '"')) < most) {
        field.end = quote + 1;
        quoted = !quoted;
        if (!quoted && stop < field.end)
            stop = list_find((struct list_span){field.end, rest->end}, separator);
        most = quoted ? rest->end : stop;
    }
    field.end = most;
    rest->at = field.end + 1;
    field = list_trim(field);
    if (list_length(field) > 1 && *field.at == '"' && field.end[-1] == '"')
        field = list_trim((struct list_span){field.at + 1, field.end - 1});
    return field;
}

/* Chooses one of several fields: the first with a scheme, or else the first that is not a number or
 * date, if it has a dot or is the only field. Among words separated by blanks it must be a URL with
 * nothing but numbers and signs before it, because other lines are prose. */
static enum list_form list_field(struct list_span *line, uint8_t separator) {
    struct list_span rest = *line, first = {NULL, NULL};
    unsigned fields = 0;
    bool sought = true; /* all fields so far are numbers */
    for (; rest.at <= rest.end; fields++) {
        struct list_span field = list_next_field(&rest, separator);
        if (list_has_scheme(field)) {
            *line = field;
            return LIST_FIELD;
        }
        if (separator == ' ' && list_length(field) > 0 && url_is_letter(*field.at))
            return LIST_WORDS;
        if (sought) {
            first = field;
            sought = list_is_number(field);
        }
    }
    if (separator == ' ')
        return LIST_WORDS;
    if (fields > 1 && (!list_has(first, '.') || list_has(first, ' ')))
        return LIST_NO_URL_FIELD;
    *line = first;
    return LIST_FIELD;
}

/* Removes what YAML writes around an item of a list, as in - '+.h' # why and - DOMAIN-SUFFIX,h.
 * Other items of several words are prose, and URLs are found in them without this. */
enum list_form list_item(struct list_state *state, struct list_span *line) {
    *line = list_trim(*line); /* under a heading with tabs, it has those at its ends */
    if (line->at == line->end)
        return LIST_NOTHING;
    if (*line->at != '-' || !list_begins(*line, "- "))
        return LIST_OTHER;
    struct list_span rest = {line->at + 2, line->end}, item = list_unquoted(rest);
    const struct list_span word = list_word(&rest);
    rest = list_trim(rest);
    const bool is_word = rest.at == rest.end || *rest.at == '#';
    if (is_word)
        item = list_unquoted(word);
    struct list_span rule = item;
    const bool is_proxy = list_proxy(state, &rule) != LIST_OTHER;
    if (item.at < item.end && (is_proxy || (is_word && !list_has_scheme(item))))
        *line = item;
    return LIST_OTHER;
}

enum list_form list_tabs(struct list_state *state, struct list_span *line) {
    const bool tabs = list_has(*line, '\t');
    (void)state;
    if (*line->at != '"' && !tabs)
        return LIST_OTHER;
    return list_field(line, tabs ? '\t' : list_separator(*line));
}

enum list_form list_url(struct list_state *state, struct list_span *line) {
    (void)state;
    return list_has_scheme(*line) ? LIST_PLAIN : LIST_OTHER;
}

enum list_form list_separated(struct list_state *state, struct list_span *line) {
    const uint8_t sign = list_has(*line, ',') ? ',' : ';';
    struct list_span first = {line->at, list_find(*line, sign)};
    (void)state;
    if (first.end < line->end &&
        (!list_has(first, '/') || list_is_number(first) || list_network(&first) != LIST_PLAIN))
        return list_field(line, sign);
    return LIST_OTHER;
}

enum list_form list_words(struct list_state *state, struct list_span *line) {
    (void)state;
    return list_has(*line, ' ') ? list_field(line, ' ') : LIST_OTHER;
}

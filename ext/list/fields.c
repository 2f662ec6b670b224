/* Lines of several fields without a heading: rows of tables, maps of YAML, patterns of STIX, and
 * URLs among words. A row claims the indicator that it names, and nothing that is behind it, such
 * as the report about it. */
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
    const uint8_t *at = rest->at, *stop = at;
    while (at < rest->end && *at == ' ' && separator != ' ')
        at++;
    bool quoted = at < rest->end && *at == '"';
    if (!quoted)
        stop = list_find(*rest, separator);
    while (quoted) {
        at = list_find((struct list_span){at + 1, rest->end}, '"');
        at += at < rest->end;
        if (stop < at)
            stop = list_find((struct list_span){at, rest->end}, separator);
        at = list_find((struct list_span){at, stop}, '"');
        quoted = at < stop;
    }
    struct list_span field = list_trim((struct list_span){rest->at, stop});
    rest->at = stop + 1;
    if (list_length(field) > 1 && *field.at == '"' && field.end[-1] == '"')
        field = list_trim((struct list_span){field.at + 1, field.end - 1});
    return field;
}

/* Returns the type that the next field is a word for. */
static enum list_type list_next_type(struct list_span rest, uint8_t separator) {
    return rest.at > rest.end ? LIST_NO_TYPE : list_type_of(list_next_field(&rest, separator));
}

enum list_form list_choose(struct list_span *line, const struct list_heading *table) {
    struct list_span rest = *line, field = *line, entry = *line;
    enum list_type said = LIST_NO_TYPE; /* by the words for types before */
    enum list_value value = LIST_IS_WORD;
    const bool has_heading = table->fields > 0;
    unsigned fields = 0;
    for (; rest.at <= rest.end && (has_heading || value == LIST_IS_WORD); fields++) {
        field = list_next_field(&rest, table->separator);
        const bool named = fields == table->field || fields == table->second;
        if (value != LIST_IS_WORD || (table->certain && !named)) /* the fields are counted */
            continue;
        const enum list_type type = table->certain ? LIST_NO_TYPE : list_type_of(field), by = said;
        entry = field;
        if (type != LIST_NO_TYPE)
            said = type;
        if (type != LIST_NO_TYPE || list_length(field) == 0)
            continue;
        said = has_heading ? LIST_NO_TYPE : by == LIST_ENTRY_TYPE ? LIST_OTHER_TYPE : by;
        if (by == LIST_OTHER_TYPE || (has_heading && !named))
            continue;
        value = table->certain ? LIST_IS_ENTRY : list_value_of(&entry);
        if (table->certain || by == LIST_ENTRY_TYPE || value == LIST_IS_WORD)
            continue;
        if (value != LIST_IS_RANGE && (has_heading || !list_has_scheme(field))) {
            const enum list_type next = list_next_type(rest, table->separator);
            said = next == LIST_OTHER_TYPE ? next : said;
            if (value == LIST_IS_DOUBTFUL && next != LIST_ENTRY_TYPE)
                value = LIST_IS_WORD;
        }
        if (said == LIST_OTHER_TYPE)
            value = LIST_IS_WORD;
    }
    if (has_heading && fields != table->fields)
        return LIST_OTHER;
    if (value == LIST_IS_WORD && fields > 1)
        return LIST_NO_URL_FIELD;
    *line = value == LIST_IS_WORD ? field : entry; /* list_read says what is wrong with a field */
    return value == LIST_IS_RANGE ? LIST_RANGE : has_heading ? LIST_COLUMN : LIST_FIELD;
}

/* Reads a row without a heading. */
static enum list_form list_choose_any(struct list_span *line, uint8_t separator) {
    return list_choose(line, &(struct list_heading){.separator = separator});
}

/* Reads `key: value` of YAML, in which the key is a word for a type or `name`. */
enum list_form list_map(struct list_state *state, struct list_span *line) {
    (void)state;
    struct list_span rest = *line;
    const struct list_span key = list_split(&rest, ':');
    const bool is_name = list_is(key, "name");
    if (!url_is_letter(*line->at) || rest.at == rest.end || !list_is_blank(*rest.at) ||
        (!is_name && list_type_of(key) != LIST_ENTRY_TYPE))
        return LIST_OTHER;
    struct list_span value = list_unquoted(list_word(&rest));
    rest = list_trim(rest);
    if ((rest.at < rest.end && *rest.at != '#') ||
        list_value_of(&value) < (is_name ? LIST_IS_ENTRY : LIST_IS_DOUBTFUL))
        return LIST_OTHER;
    *line = value;
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
    struct list_span map = list_trim(rest);
    if (list_map(state, &map) != LIST_OTHER) {
        *line = map;
        return LIST_FIELD;
    }
    const struct list_span word = list_word(&rest);
    rest = list_trim(rest);
    const bool is_word = rest.at == rest.end || *rest.at == '#';
    if (is_word)
        item = list_unquoted(word);
    struct list_span rule = list_without_remark(item);
    const enum list_form form = rule.at < rule.end ? list_proxy(state, &rule) : LIST_OTHER;
    if (form != LIST_OTHER)
        *line = rule;
    else if (item.at < item.end && is_word && !list_has_scheme(item))
        *line = item;
    return form;
}

/* A pattern of STIX with one comparison: [domain-name:value = 'h']. */
enum list_form list_pattern(struct list_state *state, struct list_span *line) {
    (void)state;
    if (!list_begins(*line, "[") || !list_ends(*line, "']"))
        return LIST_OTHER;
    struct list_span value = {line->at + 1, line->end - 1};
    struct list_span object = list_trim(list_split(&value, '='));
    value = list_trim(value);
    if (!list_ends(object, ":value") || !list_begins(value, "'") ||
        list_find((struct list_span){value.at + 1, value.end}, '\'') != value.end - 1)
        return LIST_OTHER;
    object.end -= strlen(":value");
    *line = list_unquoted(value);
    return list_type_of(object) == LIST_ENTRY_TYPE ? LIST_FIELD : LIST_NO_URL_FIELD;
}

/* Returns true if a field is a number, or a range or network of addresses. */
static bool list_is_simple(struct list_span field) {
    return list_is_number(field) || list_network(&field) != LIST_PLAIN;
}

/* Returns true if a line is a row whose first field ends at a separator and is not a pattern of
 * Adblock or prose. list_value_of has returned the value of the field and left its beginning. A
 * page may contain the separator, unless a person has defanged it or a word for a type follows. */
static bool list_is_row(const struct list_state *state, struct list_span line, const uint8_t *end,
                        struct list_span first, enum list_value value) {
    const struct list_span field = {line.at, end};
    const bool has_slash = list_has(field, '/'), is_bar = *end == '|';
    if (value >= LIST_IS_DOUBTFUL)
        return !(state->adblock && is_bar) &&
               (!has_slash || list_is_defanged(first) || list_is_simple(field) ||
                list_next_type((struct list_span){end + 1, line.end}, *end) != LIST_NO_TYPE);
    const bool is_odd =
        state->adblock || list_has(field, ' ') || *line.at == '*' || *line.at == '-';
    return !(is_bar && end == line.at) &&
           (!is_odd || (!has_slash && !is_bar) || list_is_simple(field));
}

enum list_form list_fields(struct list_state *state, struct list_span *line) {
    if (list_has(*line, '\t'))
        return list_choose_any(line, '\t');
    if (*line->at == '"')
        return list_choose_any(line, list_separator(*line));
    struct list_span first = {line->at, list_find_either(*line, ',', ';')};
    const uint8_t *end = first.end = list_find(first, '|');
    const struct list_span field = first;
    if (end == line->end || *line->at == '/')
        return LIST_OTHER;
    const enum list_value value = list_value_of(&first);
    if (!list_is_row(state, *line, end, first, value))
        return LIST_OTHER;
    if (state->adblock && value < LIST_IS_DOUBTFUL)
        return LIST_NO_URL_FIELD;
    if (value == LIST_IS_ENTRY && list_trim(first).end == first.end &&
        list_type_of(field) == LIST_NO_TYPE &&
        (list_has_scheme(first) ||
         list_next_type((struct list_span){end + 1, line->end}, *end) != LIST_OTHER_TYPE)) {
        *line = first; /* as list_choose finds it, because most rows begin with it */
        return LIST_FIELD;
    }
    return list_choose_any(line, *end);
}

/* A line that begins with a URL is that URL, unless a person has defanged it and added words. A URL
 * among words has nothing but numbers and signs before it, because other lines are prose. */
enum list_form list_words(struct list_state *state, struct list_span *line) {
    struct list_span rest = *line, first = *line;
    (void)state;
    if (!list_has(*line, ' '))
        return LIST_OTHER;
    if (list_is_defanged(first) && list_value_of(&first) >= LIST_IS_DOUBTFUL) {
        *line = first;
        return LIST_FIELD;
    }
    if (list_has_scheme(*line))
        return LIST_PLAIN;
    while (rest.at <= rest.end) {
        struct list_span word = list_next_field(&rest, ' ');
        if (list_has_scheme(word)) {
            *line = word;
            return LIST_FIELD;
        }
        if (list_length(word) > 0 && url_is_letter(*word.at))
            break;
    }
    return LIST_WORDS;
}

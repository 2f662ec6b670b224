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

enum list_form list_choose(struct list_span *line, const struct list_heading *table) {
    struct list_span rest = *line, field = *line, entry = {NULL, NULL};
    enum list_type said = LIST_NO_TYPE; /* by the words for types before */
    bool is_range = false;
    unsigned fields = 0;
    for (; rest.at <= rest.end && (table->fields > 0 || entry.at == NULL); fields++) {
        field = list_next_field(&rest, table->separator);
        if (entry.at != NULL) /* the fields are counted */
            continue;
        const bool named = fields == table->field || fields == table->second;
        const enum list_type type = table->certain ? LIST_NO_TYPE : list_type_of(field), by = said;
        if (type != LIST_NO_TYPE) {
            said = type;
            continue;
        }
        if (list_length(field) == 0)
            continue;
        said = table->fields > 0 ? LIST_NO_TYPE : by == LIST_ENTRY_TYPE ? LIST_OTHER_TYPE : by;
        if (by == LIST_OTHER_TYPE || (table->fields > 0 && !named))
            continue;
        struct list_span after = rest, found = field;
        const bool certain = table->certain || by == LIST_ENTRY_TYPE;
        enum list_value value = table->certain ? LIST_IS_ENTRY : list_value_of(&found);
        if (value >= LIST_IS_DOUBTFUL && !certain &&
            (table->fields > 0 || !list_has_scheme(field))) {
            const enum list_type next =
                after.at > after.end ? LIST_NO_TYPE
                                     : list_type_of(list_next_field(&after, table->separator));
            said = next == LIST_OTHER_TYPE ? next : said;
            value =
                value == LIST_IS_ENTRY || next == LIST_ENTRY_TYPE ? LIST_IS_ENTRY : LIST_IS_WORD;
        }
        if (value == LIST_IS_WORD || (said == LIST_OTHER_TYPE && !certain))
            continue;
        entry = found;
        is_range = value == LIST_IS_RANGE;
    }
    if (table->fields > 0 && fields != table->fields)
        return LIST_OTHER;
    if (entry.at == NULL && fields > 1)
        return LIST_NO_URL_FIELD;
    *line = entry.at != NULL ? entry : field; /* what is wrong with the only field is found later */
    return is_range ? LIST_RANGE : table->fields > 0 ? LIST_COLUMN : LIST_FIELD;
}

/* Reads a row without a heading. */
static enum list_form list_choose_any(struct list_span *line, uint8_t separator) {
    return list_choose(line, &(struct list_heading){.separator = separator});
}

/* Reads `key: value` of YAML, in which the key is a word for a type or `name`. */
enum list_form list_map(struct list_state *state, struct list_span *line) {
    (void)state;
    const struct list_span key = {line->at, list_find(*line, ':')};
    const bool is_name = list_is(key, "name");
    if (!url_is_letter(*line->at) || key.end + 1 >= line->end || !list_is_blank(key.end[1]) ||
        (!is_name && list_type_of(key) != LIST_ENTRY_TYPE))
        return LIST_OTHER;
    struct list_span rest = {key.end + 1, line->end}, value = list_unquoted(list_word(&rest));
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
    struct list_span rest = {line->at + 2, line->end}, item = list_unquoted(rest), map;
    map = list_trim(rest);
    if (map.at < map.end && list_map(state, &map) != LIST_OTHER) {
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
    struct list_span object = {line->at + 1, list_find(*line, '=')}, value = object;
    object = list_trim(object);
    value = list_trim((struct list_span){value.end + (value.end < line->end), line->end - 1});
    if (!list_ends(object, ":value") || !list_begins(value, "'") ||
        list_find((struct list_span){value.at + 1, value.end}, '\'') != value.end - 1)
        return LIST_OTHER;
    object.end -= strlen(":value");
    *line = list_unquoted(value);
    return list_type_of(object) == LIST_ENTRY_TYPE ? LIST_FIELD : LIST_NO_URL_FIELD;
}

/* Returns true if a field is followed by a word for a type. */
static bool list_is_typed(struct list_span line, const uint8_t *end, uint8_t separator) {
    struct list_span rest = {end + 1, line.end};
    return list_type_of(list_next_field(&rest, separator)) != LIST_NO_TYPE;
}

/* Returns true if a line is a row with this separator after its first field, which is not a pattern
 * of Adblock or prose. A page may contain the separator, unless a person has defanged it or a word
 * for a type follows. */
static bool list_is_row(const struct list_state *state, struct list_span line, const uint8_t *end) {
    struct list_span first = {line.at, end}, network = first;
    const bool is_simple = list_is_number(first) || list_network(&network) != LIST_PLAIN;
    const bool has_slash = list_has(first, '/'), is_bar = *end == '|';
    const bool is_odd =
        state->adblock || list_has(first, ' ') || *line.at == '*' || *line.at == '-';
    if (list_value_of(&first) >= LIST_IS_DOUBTFUL)
        return !(state->adblock && is_bar) && (!has_slash || is_simple || list_is_defanged(first) ||
                                               list_is_typed(line, end, *end));
    return !(is_bar && end == line.at) && (is_simple || !is_odd || (!has_slash && !is_bar));
}

enum list_form list_fields(struct list_state *state, struct list_span *line) {
    const uint8_t *end = line->at;
    if (list_has(*line, '\t') || *line->at == '"')
        return list_choose_any(line, list_has(*line, '\t') ? '\t' : list_separator(*line));
    while (end < line->end && *end != ',' && *end != ';' && *end != '|')
        end++;
    if (end == line->end || *line->at == '/' || !list_is_row(state, *line, end))
        return LIST_OTHER;
    if (state->adblock && list_value_of(&(struct list_span){line->at, end}) < LIST_IS_DOUBTFUL)
        return LIST_NO_URL_FIELD;
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
            return LIST_WORDS;
    }
    return LIST_WORDS;
}

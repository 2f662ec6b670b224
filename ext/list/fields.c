/* Lines of several fields without a heading: rows of tables, maps of YAML, patterns of STIX, and
 * URLs among words. Each field of a row has a class (values.c), and a rule over the classes chooses
 * the entry. So a row claims the indicator that it names, and nothing that is behind it, such as
 * the report about it. */
#include "list/list.h"

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

void list_begin_row(struct bloom_list *list, struct list_row *row, struct list_span line,
                    uint8_t separator) {
    row->list = list;
    row->rest = line;
    row->separator = separator;
    row->about_others = 0;
    row->count = 0;
}

bool list_take_field(struct list_row *row) {
    if (row->rest.at > row->rest.end || row->count == LIST_FIELDS)
        return false;
    row->cells[row->count] = list_next_field(&row->rest, row->separator);
    row->classes[row->count++] = LIST_IS_UNKNOWN;
    return true;
}

enum list_class list_class_at(struct list_row *row, unsigned i) {
    while (row->count <= i && list_take_field(row))
        if (list_length(row->cells[row->count - 1]) == 0)
            row->count--; /* an empty field says nothing of those beside it */
    if (i >= row->count)
        return LIST_IS_MISSING;
    if (row->classes[i] == LIST_IS_UNKNOWN) {
        const bool is_about_others = row->about_others >> i & 1;
        row->fields[i] = row->cells[i];
        row->classes[i] =
            (uint8_t)(is_about_others ? LIST_IS_WORD : list_class_of(row->list, &row->fields[i]));
    }
    return (enum list_class)row->classes[i];
}

/* The rule. A word for a type says what the field after it is, or else the field before it, and
 * after one such as sha256 only another one such as url makes an entry. What looks like a file is
 * an entry only if a word says so. */
bool list_is_meant(enum list_class before, enum list_class class, enum list_class after,
                   enum list_class next, bool is_about_others) {
    if (class < LIST_IS_RANGE || before == LIST_IS_HOST_TYPE)
        return class >= LIST_IS_RANGE;
    const bool is_name = class == LIST_IS_DOUBTFUL || class == LIST_IS_ENTRY;
    if (is_about_others || (after == LIST_IS_OTHER_TYPE && is_name))
        return false;
    return class != LIST_IS_DOUBTFUL || (after == LIST_IS_HOST_TYPE && next < LIST_IS_RANGE);
}

unsigned list_choose(struct list_row *row) {
    enum list_class before = LIST_IS_MISSING, class = list_class_at(row, 0);
    bool is_about_others = false;
    for (unsigned i = 0; class != LIST_IS_MISSING; i++) {
        const bool may_be = class >= LIST_IS_RANGE && class < LIST_IS_URL; /* asked no more */
        const enum list_class after = may_be ? list_class_at(row, i + 1) : LIST_IS_MISSING;
        const enum list_class next =
            class == LIST_IS_DOUBTFUL ? list_class_at(row, i + 2) : LIST_IS_MISSING;
        if (list_is_meant(before, class, after, next, is_about_others))
            return i;
        is_about_others |= class == LIST_IS_OTHER_TYPE || (may_be && after == LIST_IS_OTHER_TYPE) ||
                           (class == LIST_IS_WORD && before == LIST_IS_HOST_TYPE);
        before = class;
        class = list_class_at(row, i + 1);
    }
    return LIST_FIELDS;
}

/* If all of several words are entries, leaves them in the state and returns true. */
static bool list_take_names(struct bloom_list *list, struct list_span words, enum list_form form) {
    bool are_entries = list_has(words, ' ');
    for (struct list_span rest = words; are_entries && rest.at < rest.end;) {
        struct list_span word = list_next_name(&rest, form);
        are_entries = list_class_of(list, &word) >= LIST_IS_ENTRY;
    }
    if (are_entries) {
        list->state.names = words;
        list->state.form = form;
    }
    return are_entries;
}

enum list_form list_take_entry(struct bloom_list *list, struct list_span *line,
                               const struct list_row *row, unsigned i, enum list_form form) {
    *line = row->fields[i];
    if (row->classes[i] == LIST_IS_RANGE)
        return LIST_RANGE;
    list_take_names(list, row->cells[i], form);
    return form;
}

/* Reads a row without a heading. */
static enum list_form list_read_row(struct bloom_list *list, struct list_span *line,
                                    uint8_t separator) {
    struct list_row row;
    list_begin_row(list, &row, *line, separator);
    const unsigned i = list_choose(&row);
    if (i < LIST_FIELDS)
        return list_take_entry(list, line, &row, i, LIST_FIELD);
    if (row.count > 1 || list_find(*line, separator) < line->end)
        return LIST_NO_URL_FIELD;
    if (row.count > 0)
        *line = row.cells[0]; /* list_read says what is wrong with it */
    return LIST_FIELD;
}

/* Reads `key: value` of YAML, in which the key is a word for a type or `name`. */
enum list_form list_map(struct bloom_list *list, struct list_span *line) {
    (void)list;
    struct list_span rest = *line;
    const struct list_span key = list_split(&rest, ':');
    const bool is_name = list_is(key, "name");
    if (!url_is_letter(*line->at) || rest.at == rest.end || !list_is_blank(*rest.at) ||
        (!is_name && list_meaning_of(key).type != LIST_IS_HOST_TYPE))
        return LIST_OTHER;
    struct list_span value = list_unquoted(list_word(&rest));
    rest = list_trim(rest);
    if ((rest.at < rest.end && *rest.at != '#') ||
        list_class_of(list, &value) < (is_name ? LIST_IS_ENTRY : LIST_IS_DOUBTFUL))
        return LIST_OTHER;
    *line = value;
    return LIST_FIELD;
}

/* A pattern of STIX with one comparison: [domain-name:value = 'h']. */
enum list_form list_pattern(struct bloom_list *list, struct list_span *line) {
    (void)list;
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
    return list_meaning_of(object).type == LIST_IS_HOST_TYPE ? LIST_FIELD : LIST_NO_URL_FIELD;
}

/* Returns true if a field is a number, or a range or network of addresses. */
static bool list_is_simple(struct list_span field) {
    return list_is_number(field) || list_network(&field) != LIST_PLAIN;
}

/* Returns true if a URL ends at a separator, although it may contain one: a bar, or a comma or
 * semicolon with a blank, a date or another URL after it. */
static bool list_ends_url(struct list_span rest, uint8_t separator) {
    const bool has_blank = list_has(rest, ' ');
    while (separator != '|' && !has_blank && rest.at < rest.end) {
        const struct list_span field = list_next_field(&rest, separator);
        if (list_has_scheme(field) || (list_is_number(field) && list_has(field, '-')))
            return true;
    }
    return separator == '|' || has_blank;
}

/* Returns true if a line is a row whose first field ends at a separator and is not a pattern of
 * Adblock or prose. list_class_of has returned the class of the field and left its beginning. A
 * page may contain the separator, unless a person has defanged it or a word for a type follows. */
static bool list_is_row(const struct bloom_list *list, struct list_span line, const uint8_t *end,
                        struct list_span first, enum list_class class) {
    const struct list_span field = {line.at, end}, rest = {end + 1, line.end};
    struct list_span next = rest;
    const bool has_slash = list_has(field, '/'), is_bar = *end == '|';
    if (class >= LIST_IS_DOUBTFUL)
        return !(list->state.adblock && is_bar) &&
               (!has_slash || list_is_defanged(first) || list_is_simple(field) ||
                list_meaning_of(list_next_field(&next, *end)).type != LIST_IS_WORD ||
                (class == LIST_IS_URL && list_ends_url(rest, *end)));
    const bool is_odd =
        list->state.adblock || list_has(field, ' ') || *line.at == '*' || *line.at == '-';
    return !(is_bar && end == line.at) &&
           (!is_odd || (!has_slash && !is_bar) || list_is_simple(field));
}

/* Returns a word without the label in front of it: C2:hxxp://h, link=hxxps://h, src="hxxps://h. */
static struct list_span list_after_label(struct list_span word) {
    struct list_span rest = {list_find_any(word, ":=./[") + 1, word.end};
    if (rest.at >= rest.end || strchr(":=", rest.at[-1]) == NULL)
        return word;
    rest.at += *rest.at == '"';
    return rest;
}

/* Returns the entry of a line of words, without signs around it and a label such as `C2:`. It is
 * the first defanged URL, or else the first defanged name of a host (and not of a file), or else
 * the first defanged address, because other hosts may have that address. What looks like a mail
 * address may be a host with another one in front of it, as in good[.]example@evil[.]example, so no
 * host after it counts. The result is empty if there is no entry. */
static struct list_span list_find_defanged(struct bloom_list *list, struct list_span line) {
    static const char AROUND[] = "`'\"(),;:<>*|-.+";
    const bool may_be = list_find_any(line, "[({]") < line.end || list_contains(line, "hxxp");
    struct list_span name = {line.end, line.end}, address = name;
    for (bool has_mail = false; may_be && line.at < line.end;) {
        struct list_span word = list_word(&line);
        while (word.at < word.end && memchr(AROUND, *word.at, strlen(AROUND)) != NULL)
            word.at++;
        while (word.at < word.end && memchr(AROUND, word.end[-1], strlen(AROUND)) != NULL)
            word.end--;
        const struct list_span rest = list_after_label(word);
        if (!list_is_defanged(word) && list_mangled_scheme(rest) == 0)
            continue;
        enum list_class class = list_class_of(list, &word);
        if (class < LIST_IS_RANGE && rest.at > word.at) {
            word = rest;
            class = list_class_of(list, &word);
        }
        if (class == LIST_IS_URL)
            return word;
        has_mail |= list_has(word, '@');
        if (class < LIST_IS_ENTRY || has_mail)
            continue;
        list_read(list, word, LIST_FIELD);
        struct list_span *first = list->url.address ? &address : &name;
        if (first->at == first->end)
            *first = word;
    }
    return name.at < name.end ? name : address;
}

enum list_form list_fields(struct bloom_list *list, struct list_span *line) {
    if (list_has(*line, '\t'))
        return list_read_row(list, line, '\t');
    if (*line->at == '"')
        return list_read_row(list, line, list_separator(*line));
    struct list_span first = {line->at, list_find_either(*line, ',', ';')};
    const uint8_t *end = first.end = list_find(first, '|');
    first = list_unquoted(first);
    if (*line->at == '/')
        return LIST_OTHER;
    if (list_has(*line, '|') && list_contains(*line, " |") && !list_contains(*line, "||"))
        return list_read_row(list, line, '|');
    if (end == line->end)
        return LIST_OTHER;
    const enum list_class class = list_class_of(list, &first);
    if (class < LIST_IS_RANGE && list_has(first, ' ') && !list_is_number(first) &&
        list_length(list_find_defanged(list, *line)) > 0)
        return LIST_OTHER; /* prose with commas */
    if (!list_is_row(list, *line, end, first, class))
        return LIST_OTHER;
    if (list->state.adblock && class < LIST_IS_DOUBTFUL)
        return LIST_NO_URL_FIELD;
    return list_read_row(list, line, *end);
}

/* A line that begins with a URL is that URL, unless a person has defanged it and added words. A URL
 * among words has nothing but numbers and signs before it, because other lines are prose. In a list
 * whose author defangs addresses, those that are not defanged are its sources. */
enum list_form list_words(struct bloom_list *list, struct list_span *line) {
    const struct list_span defanged = list_find_defanged(list, *line);
    const bool has_blank = list_has(*line, ' ');
    struct list_span rest = *line;
    if (!has_blank && (defanged.at == defanged.end || list_length(defanged) == list_length(*line)))
        return LIST_OTHER;
    if (defanged.at < defanged.end) {
        if (!list_take_names(list, *line, LIST_FIELD))
            *line = defanged;
        return LIST_FIELD;
    }
    if (list_has_scheme(*line))
        return LIST_PLAIN;
    while (rest.at <= rest.end && !list->state.defanged) {
        struct list_span word = list_next_field(&rest, ' ');
        if (list_has_scheme(word)) {
            *line = word;
            return LIST_FIELD;
        }
        if (list_length(word) > 0 && url_is_letter(*word.at))
            break;
    }
    rest = *line;
    struct list_span host = list_word(&rest);
    if (!list_begins(list_trim(rest), "@") || list_class_of(list, &host) < LIST_IS_DOUBTFUL)
        return LIST_WORDS;
    *line = host; /* h @schedule of dnscrypt-proxy */
    return LIST_FIELD;
}

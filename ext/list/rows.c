/* Rows of tables, with a heading or without one. Each field of a row has a class (values.c), and a
 * rule over the classes chooses the entry. So a row claims the indicator that it names, and nothing
 * that follows it, such as the report about it. */
#include "list/list.h"

/* The most fields of a row that are read, and those of them that are remembered: an entry is chosen
 * by the classes of the one before it and of two after it. */
enum { LIST_FIELDS = 64, LIST_REMEMBERED = 4 };

/* The fields of a row that are not empty, as far as they were asked for, with their classes. */
struct list_row {
    struct bloom_list *list;
    struct list_piece rest;
    uint8_t separator;
    unsigned read;   /* fields, with those that are empty */
    uint64_t barred; /* bit i: the heading says that field i, counted like that, is no entry */
    unsigned count;
    struct list_piece fields[LIST_REMEMBERED]; /* as far as they are entries */
    enum list_class classes[LIST_REMEMBERED];
};

/* Returns what follows the quotation marks with which a field begins, in which two mean one. */
static inline struct list_piece list_after_quotes(struct list_piece rest) {
    while (rest.at < rest.end && *rest.at == ' ')
        rest.at++;
    while (rest.at < rest.end && *rest.at == '"') {
        rest.at = list_find_either((struct list_piece){rest.at + 1, rest.end}, '"', '"');
        rest.at += rest.at < rest.end;
    }
    return rest;
}

/* Removes the first field from the rest of a line, and returns it as it is written. After the last
 * field the rest begins past the end of the line. */
static inline struct list_piece list_next_field(struct list_piece *rest, uint8_t separator) {
    const struct list_piece open = list_after_quotes(*rest),
                            field = {rest->at, list_find_either(open, separator, separator)};
    rest->at = field.end + 1;
    return field;
}

/* Returns the class of a field, and reads the row up to it. */
static enum list_class list_class_at(struct list_row *row, unsigned i) {
    while (row->count <= i && row->read < LIST_FIELDS && row->rest.at <= row->rest.end) {
        struct list_piece field = list_unquoted(list_next_field(&row->rest, row->separator));
        const bool is_barred = row->barred >> row->read++ & 1;
        if (field.at == field.end)
            continue; /* it says nothing of those beside it */
        row->classes[row->count % LIST_REMEMBERED] =
            is_barred ? list_meaning_of(field).type : list_class_of(row->list, &field);
        row->fields[row->count++ % LIST_REMEMBERED] = field;
    }
    return i < row->count ? row->classes[i % LIST_REMEMBERED] : LIST_IS_MISSING;
}

/* Narrows a line down to the entry of its row. A word for a type says what the field after it is,
 * or else the field before it. After one such as sha256, or after a word where a host should be, or
 * after prose and the URL of its source, only another word such as url makes an entry. Without a
 * heading, a word after a URL says nothing of it. What looks like a file is an entry only if a word
 * says so. */
static enum list_form list_read_row(struct list_row *row, struct list_piece *line) {
    enum list_class before = LIST_IS_MISSING, class, after;
    bool is_spoiled = false, has_prose = false;
    unsigned i = 0;
    for (; (class = list_class_at(row, i)) != LIST_IS_MISSING; i++, before = class) {
        if (class >= LIST_IS_RANGE && before == LIST_IS_HOST_TYPE)
            break;
        after = class >= LIST_IS_RANGE && (class < LIST_IS_URL || row->barred != 0)
                    ? list_class_at(row, i + 1)
                    : LIST_IS_MISSING;
        has_prose |= class == LIST_IS_PROSE;
        is_spoiled |= class == LIST_IS_OTHER_TYPE || after == LIST_IS_OTHER_TYPE ||
                      (class == LIST_IS_URL && has_prose) ||
                      (class < LIST_IS_HOST_TYPE && before == LIST_IS_HOST_TYPE);
        if (class < LIST_IS_RANGE || is_spoiled)
            continue;
        if (class != LIST_IS_DOUBTFUL ||
            (after == LIST_IS_HOST_TYPE && list_class_at(row, i + 2) < LIST_IS_RANGE))
            break;
    }
    if (class == LIST_IS_MISSING)
        return LIST_NO_URL_FIELD;
    *line = row->fields[i % LIST_REMEMBERED];
    return class == LIST_IS_RANGE ? LIST_RANGE : class == LIST_IS_NAMES ? LIST_NAMES : LIST_FIELD;
}

/* Returns true if what follows a page cannot go on with it, because it has a blank, a word for a
 * type, a date or another URL. */
static bool list_ends_page(struct list_piece rest, uint8_t separator) {
    bool ends = separator == '|' || list_has(rest, ' ');
    while (!ends && rest.at < rest.end) {
        const struct list_piece field = list_unquoted(list_next_field(&rest, separator));
        ends = list_has_scheme(field) || (list_is_number(field) && list_has(field, '-')) ||
               list_meaning_of(field).type != LIST_IS_WORD;
    }
    return ends;
}

/* Returns true if a line with commas, semicolons or bars is not a row: it is prose in which
 * something is defanged, or a page. Reads the first field. */
static bool list_is_no_row(struct list_row *row, struct list_piece line) {
    const enum list_class class = list_class_at(row, 0);
    if (row->read != 1)
        return false; /* the first field is empty */
    const struct list_piece first = row->fields[0];
    if (class < LIST_IS_RANGE)
        return list_has(first, ' ') && !list_is_number(first) &&
               list_length(list_find_defanged(row->list, line)) > 0;
    return class >= LIST_IS_DOUBTFUL && !list_is_defanged(row->list, first) &&
           list_read(row->list, first, LIST_FIELD) < LIST_NO_KEY &&
           row->list->url.length > row->list->url.host + 1 &&
           !list_ends_page(row->rest, row->separator);
}

/* A row without a heading. Its fields are separated by tabs, or else by bars after blanks, or else
 * by the first comma, semicolon or bar. A page may contain that, unless it is defanged. */
enum list_form list_fields(struct bloom_list *list, struct list_piece *line) {
    const bool has_tab = list_has(*line, '\t'), is_quoted = *line->at == '"',
               has_bar = list_has(*line, '|'), is_code = has_bar && list_contains(*line, " || "),
               has_bars = has_bar && !is_quoted && !is_code && list_contains(*line, " |");
    if (!has_tab && (list->adblock || *line->at == '/'))
        return LIST_OTHER;
    const uint8_t *end = list_find_any(list_after_quotes(*line), is_code ? ",;" : ",;|");
    if (!has_tab && end == line->end) {
        *line = list_unquoted(*line);
        return is_quoted ? LIST_FIELD : LIST_OTHER;
    }
    struct list_row row = {.list = list,
                           .rest = *line,
                           .separator = has_tab    ? '\t'
                                        : has_bars ? '|'
                                                   : *end};
    return !has_tab && !has_bars && !is_quoted && list_is_no_row(&row, *line)
               ? LIST_OTHER
               : list_read_row(&row, line);
}

/* The heading of a table: names of fields, one of which is the name of the entries. In a remark it
 * begins with `#`, or `#fields` of Zeek. */
enum list_form list_heading(struct bloom_list *list, struct list_piece *line) {
    if (list->begun || line->at == line->end)
        return LIST_OTHER;
    const bool is_zeek = list_begins(*line, "#fields\t");
    struct list_piece rest = *line;
    if (*rest.at == '#') {
        rest.at += is_zeek ? strlen("#fields\t") : 1;
        rest = list_trim(rest);
        rest.end = list_has(rest, ' ') ? rest.at : rest.end; /* with blanks it is prose */
    }
    struct list_heading read = {.separator = list_has(rest, '\t')  ? '\t'
                                             : list_has(rest, ',') ? ','
                                             : list_has(rest, ';') ? ';'
                                                                   : '|'};
    enum list_rank best = LIST_ENTRY_COLUMN;
    uint64_t columns[LIST_ENTRY_COLUMN + 1] = {0}; /* bit i: field i has that rank */
    bool has_path = false;
    while (rest.at <= rest.end) {
        struct list_piece field = list_unquoted(list_next_field(&rest, read.separator));
        struct list_piece value = field;
        if (read.fields == LIST_FIELDS ||
            (!is_zeek && list_class_of(list, &value) >= LIST_IS_RANGE))
            return LIST_OTHER;
        has_path |= list_is(field, "path");
        columns[list_meaning_of(field).column] |= (uint64_t)1 << read.fields++;
    }
    if (columns[LIST_HOST_COLUMN] != 0)
        columns[LIST_IOC_COLUMN] = 0; /* it describes them */
    while (best > LIST_NO_COLUMN && columns[best] == 0)
        best--;
    if (best == LIST_NO_COLUMN || read.fields < 2)
        return LIST_OTHER;
    const unsigned first = bloom_lowest_one64(columns[best]);
    const bool is_certain = best == LIST_URL_COLUMN || best == LIST_HOST_COLUMN;
    /* The host alone would block too much. */
    const bool needs_path = has_path && best == LIST_HOST_COLUMN;
    read.field = is_certain && !needs_path ? first : LIST_FIELDS;
    read.named = needs_path   ? 0
                 : is_certain ? ~columns[LIST_NO_COLUMN]
                              : columns[LIST_VALUE_COLUMN] | (uint64_t)1 << first;
    const bool is_remark = list_is_remark(*line);
    list->heading = read;
    list->begun = !is_remark;
    return is_remark ? LIST_NOTHING : LIST_HEADING;
}

/* A row of a table with a heading has as many fields as that. The entry is in the field that the
 * heading names, or in another one that may have it. */
enum list_form list_row(struct bloom_list *list, struct list_piece *line) {
    const struct list_heading *heading = &list->heading;
    struct list_piece rest = *line, named = {line->end, line->end};
    unsigned fields = 0;
    if (heading->fields == 0)
        return LIST_OTHER;
    for (; rest.at <= rest.end; fields++) {
        const struct list_piece field = list_next_field(&rest, heading->separator);
        named = fields == heading->field ? list_unquoted(field) : named;
    }
    if (fields != heading->fields)
        return LIST_OTHER;
    if (named.at == named.end || list_has(named, ' ') ||
        list_read(list, named, LIST_FIELD) >= LIST_NO_KEY) {
        struct list_row row = {.list = list,
                               .rest = *line,
                               .separator = heading->separator,
                               .barred = ~heading->named};
        return list_read_row(&row, line);
    }
    *line = named;
    return LIST_FIELD;
}

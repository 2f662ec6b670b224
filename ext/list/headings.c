/* The heading of a table of fields, and the rows under it. */
#include "list/list.h"

#include <string.h>

/* Returns true if a field of the first line can be the name of a field. Zeek's have dots, and look
 * like hosts. */
static bool list_can_be_name(struct bloom_list *list, struct list_span field, bool *has_dot) {
    if ((field.at < field.end && strchr("(./&?%", *field.at) != NULL) ||
        list_find_any(field, "\"$*<=>@[\\]^`{|}~") < field.end)
        return false;
    const bool is_word = list_class_of(list, &field) < LIST_IS_RANGE;
    *has_dot |= !is_word;
    return is_word || (!url_is_digit(*field.at) && !list_has_scheme(field));
}

/* Removes what is before the names of a heading: `#fields` of Zeek, or the sign of a remark without
 * blanks. A remark with blanks is prose, which leaves nothing. */
static struct list_span list_names_of(struct list_span line, bool *is_zeek) {
    *is_zeek = list_begins(line, "#fields\t");
    if (*is_zeek)
        line.at += strlen("#fields\t");
    if (*line.at != '#')
        return line;
    line = list_trim((struct list_span){line.at + 1, line.end});
    return list_length(line) < strlen("a,ip") || list_has(line, ' ')
               ? (struct list_span){line.end, line.end}
               : line;
}

/* Reads the heading of a table: names of fields, one of which is the name of the entries. Beside a
 * field of hosts, `ioc` describes them. */
static bool list_read_heading(struct bloom_list *list, struct list_span line) {
    unsigned first[LIST_COLUMNS]; /* field of each kind */
    bool has_path = false, dots = false, is_zeek;
    memset(first, 0xff, sizeof first);
    line = list_names_of(line, &is_zeek);
    struct list_heading read = {.separator = list_has(line, '\t')  ? '\t'
                                             : list_has(line, ',') ? ','
                                             : list_has(line, ';') ? ';'
                                                                   : '|'};
    for (struct list_span rest = line; rest.at <= rest.end && line.at < line.end; read.fields++) {
        const struct list_span field = list_next_field(&rest, read.separator);
        if (read.fields == LIST_FIELDS || !list_can_be_name(list, field, &dots))
            return false;
        const struct list_meaning meaning = list_meaning_of(field);
        has_path |= list_is(field, "path");
        read.about_others |= (uint64_t)(meaning.type == LIST_IS_OTHER_TYPE) << read.fields;
        if (first[meaning.column] > read.fields)
            first[meaning.column] = read.fields;
    }
    if (first[LIST_HOST_COLUMN] < read.fields)
        first[LIST_IOC_COLUMN] = LIST_FIELDS;
    unsigned column = LIST_COLUMNS - 1;
    while (column > LIST_NO_COLUMN && first[column] >= read.fields)
        column--;
    if (column == LIST_NO_COLUMN || read.fields < 2)
        return false;
    read.field = read.second = first[column];
    read.certain = column == LIST_URL_COLUMN || column == LIST_HOST_COLUMN;
    if (dots && !is_zeek && read.certain)
        return false; /* a row that begins with a word for a type */
    read.hosts_alone = has_path && column == LIST_HOST_COLUMN;
    if (column > LIST_URL_COLUMN && first[LIST_VALUE_COLUMN] < read.fields)
        read.second = first[LIST_VALUE_COLUMN];
    list->state.heading = read;
    return true;
}

enum list_form list_heading(struct bloom_list *list, struct list_span *line) {
    if (list->state.begun || line->at == line->end)
        return LIST_OTHER;
    const bool is_remark = list_is_remark(*line);
    if (!list_read_heading(list, *line))
        return LIST_OTHER;
    list->state.begun = !is_remark;
    return is_remark ? LIST_NOTHING : LIST_HEADING;
}

/* Returns true if a field whose name does not say what it is has an entry, by its class and by
 * those of the nearest fields that are not empty. */
static bool list_is_entry(struct list_row *row, unsigned i) {
    unsigned before = i, after = i + 1;
    while (before > 0 && list_length(row->cells[before - 1]) == 0)
        before--;
    while (after < row->count && list_length(row->cells[after]) == 0)
        after++;
    const enum list_class type = before > 0 ? list_class_at(row, before - 1) : LIST_IS_MISSING;
    const enum list_class class = list_class_at(row, i);
    return list_is_meant(type, class == LIST_IS_URL ? LIST_IS_ENTRY : class,
                         list_class_at(row, after), LIST_IS_MISSING, type == LIST_IS_OTHER_TYPE);
}

/* A row has as many fields as the heading, and is neither a rule of Adblock nor a line of a hosts
 * file. If the field that the heading names has no entry, the row is read from the left, except
 * the fields that are about something else. */
enum list_form list_row(struct bloom_list *list, struct list_span *line) {
    const struct list_heading *heading = &list->state.heading;
    if (heading->fields == 0 || list_begins(*line, "||") || list_begins(*line, "@@"))
        return LIST_OTHER;
    struct list_span first = {line->at, list_find(*line, heading->separator)};
    const struct list_span word = list_word(&first);
    if (heading->separator != '\t' && word.end < first.end && list_is_of_hosts(word))
        return LIST_OTHER;
    struct list_row row;
    unsigned i = heading->field;
    list_begin_row(list, &row, *line, heading->separator);
    while (list_take_field(&row))
        continue;
    if (row.count != heading->fields || row.rest.at <= row.rest.end)
        return LIST_OTHER;
    row.about_others = heading->about_others & ~((uint64_t)1 << i);
    if (heading->hosts_alone)
        return LIST_NO_URL_FIELD;
    if (!heading->certain) {
        i = list_is_entry(&row, i) ? i : heading->second;
        return list_is_entry(&row, i) ? list_take_entry(list, line, &row, i, LIST_COLUMN)
                                      : LIST_NO_URL_FIELD;
    }
    const struct list_span cell = row.cells[i];
    enum list_form form = LIST_COLUMN;
    if (list_class_at(&row, i) < LIST_IS_RANGE &&
        (list_is_number(cell) || list_find_any(cell, ".:") == cell.end)) {
        const unsigned other = list_choose(&row);
        if (other == LIST_FIELDS && list_length(cell) == 0)
            return LIST_NO_URL_FIELD;
        form = other < LIST_FIELDS ? LIST_FIELD : form;
        i = other < LIST_FIELDS ? other : i;
    }
    return list_take_entry(list, line, &row, i, form);
}

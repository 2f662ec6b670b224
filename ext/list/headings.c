/* The heading of a table of fields, and the rows under it. */
#include "list/forms.h"

#include <string.h>

/* Reads the heading of a table: names of fields, one of which is the name of the entries. It may be
 * in a remark, but a remark with blanks is prose. Beside a field of hosts, `ioc` describes them. */
static bool list_read_heading(struct list_span line, struct list_heading *heading) {
    enum { URLS = 4 }; /* how many of the names are for URLs */
    static const char *const NAMES[] = {"ioc_value",  "indicator",  "url",       "urls", "fqdn",
                                        "domain",     "domains",    "hostname",  "host", "ip",
                                        "ip_address", "ip address", "ipaddress", NULL};
    const char *const *best = NAMES + sizeof NAMES / sizeof *NAMES - 1;
    bool has_path = false, has_hosts = false, has_ioc = false;
    unsigned ioc = 0;
    if (*line.at == '#') {
        line = list_trim((struct list_span){line.at + 1, line.end});
        if (list_length(line) < strlen("a,ip") || list_has(line, ' '))
            return false; /* early, because a list may begin with many remarks */
    }
    struct list_heading read = {.separator = list_has(line, '\t')  ? '\t'
                                             : list_has(line, ',') ? ','
                                             : list_has(line, ';') ? ';'
                                                                   : '|'};
    for (struct list_span rest = line; rest.at <= rest.end; read.fields++) {
        struct list_span field = list_next_field(&rest, read.separator);
        for (const uint8_t *at = field.at; at < field.end; at++)
            if (!url_is_letter(*at) && !url_is_digit(*at) && strchr("_- ()", *at) == NULL)
                return false;
        has_path |= list_is(field, "path");
        if (list_is(field, "ioc") && !has_ioc) {
            has_ioc = true;
            ioc = read.fields;
        }
        const char *const *name = NAMES;
        while (*name != NULL && !list_is(field, *name))
            name++;
        has_hosts |= *name != NULL && name >= NAMES + URLS;
        if (name < best) {
            best = name;
            read.field = read.fields;
        }
    }
    if ((*best == NULL && !has_ioc) || read.fields < 2)
        return false;
    if (has_ioc && !has_hosts && best > NAMES)
        read.field = ioc;
    else
        read.hosts_alone = has_path && best >= NAMES + URLS;
    *heading = read;
    return true;
}

/* Returns true if a line is a row under a heading. It has as many fields, and is neither a rule of
 * Adblock nor a line of a hosts file. Leaves the field of the entry. */
static bool list_is_row(const struct list_heading *heading, struct list_span line,
                        struct list_span *entry) {
    struct list_span rest = line, word = list_word(&rest);
    unsigned count = 0;
    if (list_begins(line, "||") || list_begins(line, "@@") ||
        (heading->separator != '\t' && word.end < line.end &&
         (list_is_ipv4(word) || list_is_ipv6(word))))
        return false;
    for (rest = line; rest.at <= rest.end; count++) {
        struct list_span field = list_next_field(&rest, heading->separator);
        if (count == heading->field)
            *entry = field;
    }
    return count == heading->fields;
}

enum list_form list_heading(struct list_state *state, struct list_span *line) {
    if (state->begun || line->at == line->end)
        return LIST_OTHER;
    const bool is_remark = list_is_remark(*line);
    if (!list_read_heading(*line, &state->heading))
        return LIST_OTHER;
    state->begun = !is_remark;
    return is_remark ? LIST_NOTHING : LIST_HEADING;
}

enum list_form list_row(struct list_state *state, struct list_span *line) {
    struct list_span entry = *line;
    if (state->heading.fields == 0 || !list_is_row(&state->heading, *line, &entry))
        return LIST_OTHER;
    if (state->heading.hosts_alone || list_length(entry) == 0)
        return LIST_NO_URL_FIELD;
    *line = entry;
    return LIST_COLUMN;
}

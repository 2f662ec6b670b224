/* The heading of a table of fields, and the rows under it. */
#include "list/forms.h"

#include <limits.h>
#include <string.h>

/* The names of fields that are entries, from the best on: first those for anything, then those for
 * URLs and for hosts, and last those that other tables have as well. */
static const char LIST_COLUMNS[] =
    ",iocvalue,indicatorvalue,indicator,url,urls,fqdn,domain,domains,hostname,host,domainip,"
    "ipdomain,hostip,ip,ips,ipaddress,ipv4,ipport,domainname,c2,c2server,observable,value,data,";

/* Returns true if a field of the first line can be the name of a field. Zeek's have dots, and look
 * like hosts. */
static bool list_can_be_name(struct list_span field, bool *has_dot) {
    if ((field.at < field.end && strchr("(./&?%", *field.at) != NULL) ||
        list_find_any(field, "\"$*<=>@[\\]^`{|}~") < field.end)
        return false;
    const bool is_word = list_value_of(&field) == LIST_IS_WORD;
    *has_dot |= !is_word;
    return is_word || (!url_is_digit(*field.at) && !list_has_scheme(field));
}

/* Reads the heading of a table: names of fields, one of which is the name of the entries. It may be
 * in a remark, but a remark with blanks is prose. Beside a field of hosts, `ioc` describes them. */
static bool list_read_heading(struct list_span line, struct list_heading *heading) {
    const char *const urls = strstr(LIST_COLUMNS, ",url,"), *const hosts = strstr(urls, ",fqdn,");
    const char *const values = strstr(hosts, ",observable,"), *best = NULL, *rank;
    unsigned ioc = UINT_MAX, value = UINT_MAX;
    bool has_path = false, has_hosts = false, dots = false;
    const bool is_zeek = list_begins(line, "#fields\t");
    if (is_zeek)
        line.at += strlen("#fields\t");
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
        char folded[LIST_FOLDED];
        const struct list_span field = list_next_field(&rest, read.separator);
        if (!list_can_be_name(field, &dots))
            return false;
        rank = list_fold(field, true, folded) ? strstr(LIST_COLUMNS, folded) : NULL;
        has_path |= list_is(field, "path");
        if (ioc == UINT_MAX && list_is(field, "ioc"))
            ioc = read.fields;
        if (rank == NULL)
            continue;
        has_hosts |= rank >= hosts && rank < values;
        value = rank > values ? read.fields : value;
        if (best == NULL || rank < best) {
            best = rank;
            read.field = read.fields;
        }
    }
    if (ioc != UINT_MAX && !has_hosts && best != LIST_COLUMNS) {
        best = LIST_COLUMNS;
        read.field = ioc;
    }
    if (best == NULL || read.fields < 2)
        return false;
    read.certain = best >= urls && best < values;
    if (dots && !is_zeek && read.certain)
        return false; /* a row that begins with a word for a type */
    read.hosts_alone = has_path && best >= hosts && best < values;
    read.second = best < urls && value != UINT_MAX ? value : read.field;
    *heading = read;
    return true;
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

/* A row has as many fields as the heading, and is neither a rule of Adblock nor a line of a hosts
 * file. */
enum list_form list_row(struct list_state *state, struct list_span *line) {
    const struct list_heading *heading = &state->heading;
    if (heading->fields == 0 || list_begins(*line, "||") || list_begins(*line, "@@"))
        return LIST_OTHER;
    struct list_span first = {line->at, list_find(*line, heading->separator)};
    const struct list_span word = list_word(&first);
    if (heading->separator != '\t' && word.end < first.end && list_is_of_hosts(word))
        return LIST_OTHER;
    const enum list_form form = list_choose(line, heading);
    return form != LIST_OTHER && heading->hosts_alone ? LIST_NO_URL_FIELD : form;
}

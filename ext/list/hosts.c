/* Lines that are about hosts and nothing else: hosts files, networks, remarks around them. */
#include "list/forms.h"

#include <string.h>

enum list_form list_network(struct list_span *span) {
    if (span->at < span->end && url_is_letter(*span->at) && url_digit(*span->at) > 15)
        return LIST_PLAIN; /* early, because most names begin so */
    const uint8_t *slash = list_find(*span, '/'), *dash = list_find(*span, '-');
    struct list_span address = {span->at, slash}, bits = {slash + 1, span->end};
    const struct list_span first = list_trim((struct list_span){span->at, dash});
    unsigned count = 0;
    if (dash < span->end && list_is_ip(first)) {
        const struct list_span last = list_trim((struct list_span){dash + 1, span->end});
        return list_is_ip(last) || list_is_number(last) ? LIST_RANGE : LIST_PLAIN;
    }
    if (slash == span->end || !list_is_ip(address))
        return LIST_PLAIN;
    const bool version4 = !list_has(address, ':');
    if (version4 && list_is_ipv4(bits))
        return LIST_RANGE;
    const unsigned most = version4 ? 32 : 128;
    for (const uint8_t *at = bits.at; at < bits.end; at++) {
        count = url_is_digit(*at) ? 10 * count + url_digit(*at) : most + 1;
        if (count > most)
            return LIST_PLAIN; /* a page */
    }
    if (list_length(bits) == 0)
        return LIST_PLAIN;
    span->end = slash;
    return count == most ? LIST_NETWORK_OF_ONE : LIST_RANGE;
}

bool list_is_remark(struct list_span line) {
    struct list_span words = {line.at + list_begins(line, "\""), line.end - list_ends(line, "\"")};
    if (*line.at == '#' || *line.at == '!' || *line.at == ';' ||
        (list_length(words) == 5 && list_begins(words, "sep="))) /* how Excel names separators */
        return true;
    if (list_begins(line, "//"))
        return list_length(line) == 2 || list_has_blank(line) || line.at[2] == '/' ||
               line.at[2] == '-' || line.at[2] == '=';
    return line.end[-1] == ']' && (list_begins(line, "[adblock") || list_begins(line, "[ublock") ||
                                   list_begins(line, "[adguard"));
}

struct list_span list_without_remark(struct list_span line) {
    bool quoted = false, names = false;
    if (!list_has(line, '\t')) { /* first, because most lines have no such sign */
        const uint8_t *blank = list_find(line, ' ');
        while (blank + 1 < line.end && blank[1] != '#' && blank[1] != ';' && blank[1] != '/')
            blank = list_find((struct list_span){blank + 1, line.end}, ' ');
        if (blank + 1 >= line.end)
            return line;
    }
    for (const uint8_t *at = line.at; at < line.end; at++) {
        if (names && !quoted && list_is_blank(at[-1]) &&
            (*at == '#' || *at == ';' || list_begins((struct list_span){at, line.end}, "// ")))
            line.end = at;
        quoted ^= *at == '"';
        names |= *at == '.' || *at == ':';
    }
    return list_trim(line);
}

enum list_form list_remark(struct list_state *state, struct list_span *line) {
    const bool is_empty = line->at == line->end;
    if (!is_empty && (!list_is_remark(*line) || *line->at == state->heading.separator)) {
        state->begun = true;
        return LIST_OTHER;
    }
    state->adblock |= !is_empty && *line->at == '[';
    return LIST_NOTHING;
}

bool list_is_of_hosts(struct list_span address) {
    uint8_t bytes[IPV4_BYTES];
    uint16_t groups[IPV6_GROUPS];
    if (list_is(address, "0"))
        return true;
    if (list_is_ipv4(address)) {
        url_read_number(address.at, list_length(address), bytes);
        const unsigned first = bytes[0], second = bytes[1];
        return first == 0 || first == 10 || first == 127 || first >= 224 ||
               (first == 100 && second >= 64 && second < 128) || (first == 169 && second == 254) ||
               (first == 172 && second >= 16 && second < 32) || (first == 192 && second == 168);
    }
    address.end = list_find(address, '%');
    return url_read_ipv6(address.at, list_length(address), groups) &&
           (groups[0] < 0x2000 || groups[0] >= 0x4000);
}

/* A line of a hosts file: an address that blocks or that is of the own net, and names, which are
 * left in the state. Any other address is the entry, and what follows explains it. It may also be
 * the first one of a range. */
enum list_form list_hosts(struct list_state *state, struct list_span *line) {
    if (url_digit(*line->at) > 15 && *line->at != ':')
        return LIST_OTHER;
    struct list_span rest = *line, address = list_word(&rest), next;
    const bool is_zero = list_is(address, "0");
    if (address.end == line->end || (!is_zero && !list_is_ip(address)))
        return LIST_OTHER;
    rest.end = list_find(rest, '#');
    const struct list_span names = rest;
    next = list_word(&rest);
    if (next.at == next.end)
        return LIST_OTHER;
    struct list_span last = {next.at + list_begins(next, "-"), next.end};
    const bool is_address = list_is_ip(last);
    const bool is_dash =
        list_is(next, "-") ||
        (last.at > next.at && (is_address || list_is_number(last))); /* of a range */
    const bool is_public = !list_is_of_hosts(address);
    if (is_dash || (list_has_scheme(next) && !is_public))
        return LIST_OTHER;
    const struct list_span third = list_word(&rest); /* the size of a range is a number */
    if (!is_zero && !list_is_sink(address) && is_address &&
        (third.at == third.end || list_is_number(third)))
        return LIST_RANGE;
    if (is_public || (!is_zero && list_is_number(next))) {
        *line = address;
        return LIST_FIELD;
    }
    state->names = list_trim(names);
    state->form = LIST_HOSTS;
    return LIST_HOSTS;
}

struct list_span list_next_name(struct list_state *state) {
    return state->form == LIST_HOSTS ? list_word(&state->names) : list_split(&state->names, '/');
}

enum list_form list_range(struct list_state *state, struct list_span *line) {
    struct list_span span = *line;
    (void)state;
    return list_network(&span) == LIST_RANGE ? LIST_RANGE : LIST_OTHER;
}

/* Any line that is left: a URL or name, unless it is a part of an address. */
enum list_form list_bare(struct list_state *state, struct list_span *line) {
    return list_is_part(state, *line) && !list_has_scheme(*line) ? LIST_PART : LIST_PLAIN;
}

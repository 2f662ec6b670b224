/* Lines that are about hosts and nothing else: hosts files and ranges of addresses. */
#include "list/list.h"

/* Returns true if a hosts file gives an address to names: it blocks, or it is of the own net. */
static bool list_is_of_hosts(struct list_piece address) {
    uint16_t groups[IPV6_GROUPS];
    uint32_t bits;
    if (list_is(address, "0"))
        return true;
    if (list_read_ipv4(address, &bits))
        return bits >> 24 == 0 || bits >> 24 == 10 || bits >> 24 == 127 || bits >> 24 >= 224 ||
               bits >> 22 == (100 << 2 | 1) || bits >> 16 == (169 << 8 | 254) ||
               bits >> 20 == (172 << 4 | 1) || bits >> 16 == (192 << 8 | 168);
    address.end = list_find(address, '%');
    return url_read_ipv6(address.at, list_length(address), groups) &&
           (groups[0] < 0x2000 || groups[0] >= 0x4000);
}

/* A line of a hosts file: an address that blocks or that is of the own net, and names, which are
 * left in the state. Any other address is the entry, and what follows explains it. It may also be
 * the first one of a range. */
enum list_form list_hosts(struct bloom_list *list, struct list_piece *line) {
    if (url_digit(*line->at) > 15 && *line->at != ':')
        return LIST_OTHER;
    struct list_piece rest = *line, address = list_word(&rest), next;
    const bool is_zero = list_is(address, "0");
    if (address.end == line->end || (!is_zero && !list_is_ip(address)))
        return LIST_OTHER;
    rest.end = list_find(rest, '#');
    const struct list_piece names = rest;
    next = list_word(&rest);
    if (next.at == next.end)
        return LIST_OTHER;
    struct list_piece last = {next.at + list_begins(next, "-"), next.end};
    const bool is_address = list_is_ip(last);
    const bool is_dash =
        list_is(next, "-") ||
        (last.at > next.at && (is_address || list_is_number(last))); /* of a range */
    const bool is_public = !list_is_of_hosts(address);
    if (is_dash || (list_has_scheme(next) && !is_public))
        return LIST_OTHER;
    const struct list_piece third = list_word(&rest); /* the size of a range is a number */
    if (!is_zero && !list_is_sink(address) && is_address &&
        (third.at == third.end || list_is_number(third)))
        return LIST_RANGE;
    if (is_public || (!is_zero && list_is_number(next))) {
        *line = address;
        return LIST_FIELD;
    }
    return list_take_names(list, list_trim(names), LIST_HOSTS);
}

struct list_piece list_next_name(struct list_piece *names, enum list_form form) {
    if (form == LIST_DNSMASQ)
        return list_split(names, '/');
    struct list_piece name = list_word(names);
    *names = list_trim(*names);
    name.end -= name.at < name.end && (name.end[-1] == ',' || name.end[-1] == ';');
    return name;
}

/* The configuration of programs that block: hosts files, resolvers (dnsmasq, unbound, policy zones,
 * Pi-hole), proxies (Clash, mihomo, Surge, Loon, Quantumult X) and Suricata. A line is an entry
 * only if its program would not answer or not connect. */
#include "list/list.h"

/* Returns true if a hosts file gives an address to names: it blocks, or it is of the own net. */
static bool list_is_of_hosts(struct list_piece address) {
    uint16_t groups[IPV6_GROUPS];
    uint32_t bits;
    if (list_read_ipv4(address, &bits))
        return bits >> 24 == 0 || bits >> 24 == 10 || bits >> 24 >= 224 ||
               bits >> 22 == (100 << 2 | 1) || bits >> 16 == (169 << 8 | 254) ||
               bits >> 20 == (172 << 4 | 1) || bits >> 16 == (192 << 8 | 168);
    address.end = list_find(address, '%');
    return url_read_ipv6(address.at, list_length(address), groups) &&
           (groups[0] < 0x2000 || groups[0] >= 0x4000);
}

/* A line of a hosts file: an address that blocks or belongs to a private network, and names, which
 * are left. Any other address is the entry, and what follows explains it, or it is the first one of
 * a range. */
enum list_form list_hosts(struct bloom_list *list, struct list_piece *line) {
    (void)list;
    const uint8_t *at = line->at;
    while (at < line->end && url_digit(*at) < 16)
        at++;
    if (at == line->end || (*at != '.' && *at != ':' && !list_is_blank(*at)))
        return LIST_OTHER; /* early, because most lines do not begin so */
    struct list_piece rest = *line, address = list_word(&rest), next;
    const bool is_sink = list_is(address, "0") || list_is_sink(address);
    if (address.end == line->end || (!is_sink && !list_is_ip(address)))
        return LIST_OTHER;
    rest.end = list_find(rest, '#');
    const struct list_piece names = rest;
    next = list_word(&rest);
    if (next.at == next.end)
        return LIST_OTHER;
    const bool is_public = !is_sink && !list_is_of_hosts(address);
    struct list_piece range = {line->at, rest.end};
    if (list_is_range(&range, false))
        return LIST_RANGE;
    if (list_is(next, "-") || (!is_public && list_has_scheme(next)))
        return LIST_OTHER;
    const struct list_piece third = list_word(&rest); /* the size of a range is a number */
    if (!is_sink && list_is_ip(next) && (third.at == third.end || list_is_number(third)))
        return LIST_RANGE;
    if (is_public || list_is_number(next)) {
        *line = address;
        return LIST_FIELD;
    }
    *line = list_trim(names);
    return LIST_HOSTS;
}

struct list_piece list_next_name(struct list_piece *names, enum list_form form) {
    if (form == LIST_DNSMASQ)
        return list_split(names, '/');
    struct list_piece name = list_word(names);
    *names = list_trim(*names);
    name.end -= name.at < name.end && memchr(",;", name.end[-1], 2) != NULL;
    return name;
}

/* address=/h/i/0.0.0.0, server=/h/, local=/h/: the hosts are left. The answer for them
 * follows the last slash. There may be blanks around the equals sign. */
enum list_form list_dnsmasq(struct bloom_list *list, struct list_piece *line) {
    (void)list;
    struct list_piece hosts = *line;
    const struct list_piece name = list_trim(list_split(&hosts, '='));
    const bool is_address = list_is(name, "address");
    hosts = list_trim(hosts);
    if ((!is_address && !list_is(name, "server") && !list_is(name, "local")) ||
        !list_begins(hosts, "/"))
        return LIST_OTHER;
    hosts.at++;
    struct list_piece target = list_last(hosts, '/');
    if (target.at > hosts.at)
        hosts.end = target.at - 1;
    else
        target.at = target.end; /* there is only one slash */
    target = list_trim(target);
    if (list_length(target) > 0 && !(is_address && (list_is(target, "#") || list_is_sink(target))))
        return list_is(target, "#") ? LIST_EXCEPTION : LIST_MODIFIER;
    *line = hosts;
    return LIST_DNSMASQ;
}

/* local-zone: "h" type, local-data: "h A 0.0.0.0": leaves the host. */
enum list_form list_unbound(struct bloom_list *list, struct list_piece *line) {
    (void)list;
    const bool is_zone = list_begins(*line, "local-zone:");
    if (!is_zone && !list_begins(*line, "local-data:"))
        return LIST_OTHER;
    struct list_piece rest = *line, type;
    list_split(&rest, ':');
    rest = is_zone ? list_trim(rest) : list_unquoted(rest);
    *line = list_unquoted(list_word(&rest));
    type = list_unquoted(rest);
    if (!is_zone)
        return list_is_sink(list_last(list_last(type, ' '), '\t')) ? LIST_UNBOUND : LIST_MODIFIER;
    return list_ends(type, "transparent") || list_is_one_of(type, "inform,nodefault,noview,")
               ? LIST_EXCEPTION
               : LIST_UNBOUND;
}

/* h CNAME ., h 60 IN A 0.0.0.0: a record of a zone, of which the host is left. A host for which the
 * record has a name or an address of its own is not blocked. */
enum list_form list_zone(struct bloom_list *list, struct list_piece *line) {
    struct list_piece rest = *line, owner, type, target;
    if (*line->at == '$') /* other ones are rules of Adblock without a host */
        return list_is_one_of(list_word(&rest), "$generate,$include,$origin,$ttl,") ? LIST_DIRECTIVE
                                                                                    : LIST_NO_HOST;
    if (*line->at == '"' || list_has(*line, ',') || list_find_either(*line, ' ', '\t') == line->end)
        return LIST_OTHER; /* early, because most lines do */
    owner = list_word(&rest);
    type = list_word(&rest);
    if (list_is_defanged(list, owner)) /* a person has written it */
        return LIST_OTHER;
    while (type.at < type.end && (url_is_digit(*type.at) || list_is(type, "in")))
        type = list_word(&rest);
    target = list_word(&rest);
    target.end = list_find(target, ';');
    if (target.at == target.end)
        return LIST_OTHER;
    const bool is_name = list_is(type, "cname");
    if (!is_name && !list_is(type, "a") && !list_is(type, "aaaa"))
        return list_is_one_of(type, "dname,mx,ns,ptr,soa,srv,txt,") ? LIST_MODIFIER : LIST_OTHER;
    if (is_name && list_begins(target, "rpz-passthru"))
        return LIST_EXCEPTION;
    if (is_name ? !list_is_one_of(target, ".,*.,rpz-drop,rpz-drop.,") : !list_is_sink(target))
        return LIST_MODIFIER;
    *line = owner;
    return list_contains(owner, ".rpz-") ? LIST_TRIGGER : LIST_ZONE;
}

/* DOMAIN-SUFFIX,h and HOST,h,reject,no-resolve: a rule of Clash, mihomo, Surge, Loon or Quantumult
 * X, of which the host or network is left. */
enum list_form list_proxy(struct bloom_list *list, struct list_piece *line) {
    (void)list;
    struct list_piece rest = *line;
    const struct list_piece word = list_trim(list_split(&rest, ','));
    if (!url_is_letter(*line->at) || word.end == line->end)
        return LIST_OTHER;
    if (!list_is_one_of(word, "domain,domain-suffix,domain-wildcard,host,host-suffix,host-wildcard,"
                              "ip-cidr,ip-cidr6,ip6-cidr,"))
        return list_is_one_of(word, "domain-keyword,host-keyword,")       ? LIST_PART
               : list_is_one_of(word, "domain-regex,url-regex,")          ? LIST_EXPRESSION
               : list_is_one_of(word, "domain-set,rule-set,")             ? LIST_DIRECTIVE
               : list_is_one_of(word, "process-name,src-ip,src-ip-cidr,") ? LIST_NO_URL_FIELD
                                                                          : LIST_OTHER;
    *line = list_unquoted(list_split(&rest, ','));
    const struct list_piece policy = list_trim(list_split(&rest, ','));
    return list_is_one_of(policy, "direct,pass,proxy,") ? LIST_MODIFIER : LIST_PROXY;
}

/* (^|\.)h\.example$ of Pi-hole and of ACL files means a host and all below it. The host is left, in
 * which list_read removes the backslashes. */
enum list_form list_expression(struct bloom_list *list, struct list_piece *line) {
    (void)list;
    if (!list_begins(*line, "(^|\\.)") && !list_begins(*line, "(?:^|\\.)"))
        return LIST_OTHER;
    const struct list_piece host = {list_find(*line, ')') + 1, line->end - 1};
    bool is_host = *host.end == '$';
    for (const uint8_t *at = host.at; at < host.end; at++)
        is_host &=
            *at == '\\' ? at[1] == '.' : list_is_of_name(*at) || (*at == '.' && at[-1] == '\\');
    if (!is_host)
        return LIST_EXPRESSION;
    *line = host;
    return LIST_ANCHORED;
}

/* alert dns any any -> any any (msg:"..."; ...): a rule of Suricata or Snort. */
enum list_form list_signature(struct bloom_list *list, struct list_piece *line) {
    const struct list_piece action = {line->at, list_find(*line, ' ')};
    (void)list;
    return line->end[-1] == ')' && list_is_one_of(action, "alert,drop,log,pass,reject,") &&
                   list_contains(*line, "msg:")
               ? LIST_SIGNATURE
               : LIST_OTHER;
}

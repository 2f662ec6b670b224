/* Makes the key of an entry. */
#include "list/list.h"

struct list_piece list_trim_wide(struct list_piece piece) {
    static const char BLANKS[][4] = {
        /* clang-format off */
        " ", "\t", "\xc2\xa0", "\xe2\x80\x8b", "\xe2\x80\x8e", "\xe2\x80\xa8", "\xe2\x80\xaf",
        "\xe3\x80\x80", BLOOM_BYTE_ORDER_MARK
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof BLANKS / sizeof *BLANKS && !list_is_trimmed(piece);) {
        const bool begins = list_begins(piece, BLANKS[i]),
                   ends = !begins && list_ends(piece, BLANKS[i]);
        piece.at += begins ? strlen(BLANKS[i]) : 0;
        piece.end -= ends ? strlen(BLANKS[i]) : 0;
        i = begins || ends ? 0 : i + 1;
    }
    return piece;
}

struct list_piece list_without_marks(struct list_piece word) {
    while (list_length(word) > 2 && *word.at == word.end[-1] &&
           memchr("\"'`+", *word.at, 4) != NULL) {
        const struct list_piece inner = {word.at + 1, word.end - 1},
                                last = list_last(inner, *word.at);
        if (last.at > inner.at && last.at < inner.end)
            break;
        word = list_trim(inner);
    }
    word.at +=
        list_begins(word, "\\") && list_has_scheme((struct list_piece){word.at + 1, word.end});
    return word;
}

bool list_is_range(struct list_piece *piece, bool may_be_page) {
    const uint8_t *slash = list_find(*piece, '/'), *dash = list_find(*piece, '-');
    struct list_piece address = {piece->at, slash}, bits = {slash + 1, piece->end};
    const struct list_piece first = list_trim((struct list_piece){piece->at, dash});
    uint32_t value = 0, count = 0;
    if (dash < piece->end && list_is_ip(first)) {
        const struct list_piece last = list_trim((struct list_piece){dash + 1, piece->end});
        return list_is_ip(last) || list_is_number(last);
    }
    const bool version4 = list_read_ipv4(address, &value);
    if (slash == piece->end || bits.at == bits.end || (!version4 && !list_is_ipv6(address)))
        return false;
    if (version4 && list_is_ipv4(bits))
        return true;
    const uint32_t most = version4 ? 32 : 128;
    for (const uint8_t *at = bits.at; at < bits.end; at++) {
        count = url_is_digit(*at) ? 10 * count + url_digit(*at) : most + 1;
        if (count > most)
            return false; /* a page */
    }
    piece->end = slash;
    return count < most && !(may_be_page && version4 && (value & UINT32_MAX >> count) != 0);
}

/* Removes the wildcards at both ends: *.h, .h, +.h, h/\*, *://h, http://\*.h, and a label in
 * brackets that stands for any, as in [redacted].h. Returns true if there were any. */
static bool list_wildcard(struct list_piece *line) {
    const struct list_piece whole = *line;
    if (list_has_scheme(*line)) {
        const struct list_piece host = {list_find(*line, ':'), line->end};
        if (list_begins(*line, "*://") || list_begins(host, "://*."))
            line->at = host.at + strlen("://");
    }
    line->at += list_begins(*line, "*.") || list_begins(*line, "+.") ? 2 : list_begins(*line, ".");
    if (list_begins(*line, "[")) {
        const struct list_piece label = {list_find(*line, ']'), line->end};
        line->at = list_begins(label, "].") ? label.at + 2 : line->at;
    }
    line->end -= list_ends(*line, "/*");
    return line->at > whole.at || line->end < whole.end;
}

/* Recognises text that was not meant as a URL, although it may parse as one: a range, a mail
 * address, whose host everybody uses, or a number, because people write an address only in its
 * usual form. */
static enum list_form list_other(struct list_piece piece, bool is_address) {
    struct list_piece host = {piece.at + (list_begins(piece, "//") ? 2 : 0), piece.end};
    host.end = is_address ? list_find_any(host, "/?#\\") : host.at;
    host = list_last(host, '@');
    if (list_has_scheme(piece))
        return LIST_PLAIN;
    if (list_has(piece, '@') && !list_has(piece, '/'))
        return LIST_MAIL;
    if (list_is_range(&piece, true))
        return LIST_RANGE;
    const bool is_odd = is_address && *host.at != '[' && !list_is_ipv6(host) &&
                        !list_is_ipv4(list_split(&host, ':'));
    return is_odd || list_is_number(piece) ? LIST_NUMBER : LIST_PLAIN;
}

/* Returns true if the host is a name of letters, digits, hyphens, underscores and dots. */
static bool list_names_host(const struct bloom_url *url, const uint8_t *key) {
    size_t i = 0;
    while (i < url->host && (list_is_of_name(key[i]) || key[i] == '.'))
        i++;
    return i == url->host;
}

bool bloom_list_takes(const uint8_t *text, size_t length, const struct bloom_url *url,
                      const uint8_t *key) {
    struct list_piece piece = list_without_spaces((struct list_piece){text, text + length});
    return url->scheme || ((url->address || list_names_host(url, key)) &&
                           list_other(piece, url->address) == LIST_PLAIN);
}

bool list_is_local(const struct bloom_list *list) {
    struct list_piece host = {list->key, list->key + list->url.host};
    return list->url.address
               ? list->url.length == list->url.host + 1 && list_is_sink(host)
               : list_is_one_of(host, "localhost.local,localhost.localdomain,localhost.localhost,"
                                      "localhost4.localdomain4,localhost6.localdomain6,");
}

bool list_read_plain(struct bloom_list *list, struct list_piece field) {
    struct bloom_url_plain plain;
    if (!bloom_url_read_plain(&plain, field.at, list_length(field)) ||
        plain.end < list_length(field))
        return false;
    memcpy(list->text, field.at, list->used = plain.end);
    bloom_url_write_plain(&list->url, &plain, field.at, list->key);
    list->judged = field;
    list->judged_form = list_settle(list, LIST_FIELD);
    return true;
}

/* Makes the key of an entry that is not a plain URL. */
static enum list_form list_make(struct bloom_list *list, struct list_piece piece,
                                enum list_form form) {
    const char *escaped = form == LIST_FIELD ? "\"\"" : form == LIST_ANCHORED ? "\\." : NULL;
    const bool wildcard = list_wildcard(&piece);
    if (list_has(piece, '*') && !list_begins(piece, "h**p") && form != LIST_FIELD)
        return LIST_INNER_WILDCARD;
    const bool is_defanged = list_refang(list, piece, escaped);
    list->defanged |= is_defanged;
    piece = (struct list_piece){list->text, list->text + list->used};
    if (list_is_range(&piece, false))
        return LIST_RANGE;
    const bool has_host = bloom_url_parse(&list->url, piece.at, list_length(piece), list->key);
    enum list_form other = has_host && list->url.scheme
                               ? LIST_PLAIN
                               : list_other(piece, has_host && list->url.address);
    if (other >= LIST_NO_KEY)
        return other;
    if (!has_host)
        return LIST_NO_HOST;
    other =
        list_other((struct list_piece){list->key, list->key + list->url.length}, list->url.address);
    if (other >= LIST_NO_KEY)
        return other;
    if (form == LIST_PLAIN)
        form = !bloom_is_utf8(list->text, list->used) ? LIST_BYTES
               : list_find_any(piece, ", ;|") < piece.end
                   ? LIST_WHOLE /* warns, so it goes before others */
               : is_defanged ? LIST_DEFANGED
               : wildcard    ? LIST_WILDCARD
                             : form;
    form = list_settle(list, form);
    if (list->url.address)
        return form;
    if (!list->url.opened || !list_names_host(&list->url, list->key))
        return LIST_UNOPENED;
    return url_find(list->key, 0, list->url.host, '.') < list->url.host ? form : LIST_NO_DOT;
}

enum list_form list_read(struct bloom_list *list, struct list_piece piece, enum list_form form) {
    piece = list_trim(piece);
    if (form == LIST_HOSTS && list_is_ip(piece))
        return LIST_HOSTS_ADDRESS;
    if (form == LIST_FIELD && piece.at == list->judged.at && piece.end == list->judged.end)
        return list->judged_form;
    if (list_read_plain(list, piece))
        return list_settle(list, form);
    const enum list_form made = list_make(list, piece, form);
    list->judged = form == LIST_FIELD ? piece : (struct list_piece){NULL, NULL};
    list->judged_form = made;
    return made;
}

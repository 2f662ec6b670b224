/* Reads a list line by line, and each line in three steps. First list_narrow finds its form and the
 * part that is the entry (list_line.c). Then list_read undoes wildcards and defanging, makes the
 * key, and rejects what is not meant as an address. Lines that are nothing but a plain URL, as
 * most are, take a shortcut with the same result (list_next_plain). */
#include "list/list.h"

#include <string.h>

/* Removes the wildcards at both ends: *.h, .h, +.h, h/\*, *://h, http://\*.h. Returns true if there
 * were any. */
static bool list_wildcard(struct list_span *line) {
    const struct list_span whole = *line;
    const struct list_span host = {list_find(*line, ':'), line->end};
    if (list_begins(*line, "*://") || (list_has_scheme(*line) && list_begins(host, "://*.")))
        line->at = host.at + strlen("://");
    line->at += list_begins(*line, "*.") || list_begins(*line, "+.") ? 2 : list_begins(*line, ".");
    line->end -= list_ends(*line, "/*");
    return line->at > whole.at || line->end < whole.end;
}

/* Writes an entry without what keeps people from clicking on it: hxxp, [.], (dot), [:] and the
 * like. Round and curly brackets count only before the path. In a quoted field, two quotation marks
 * mean one (RFC 4180). Returns true if the entry was defanged. */
static bool list_refang(struct list_span span, bool quoted, uint8_t *to, size_t *used) {
    static const struct {
        const char *written, *meant;
    } PIECES[] = {{"[.]", "."}, {"[dot]", "."}, {"[:]", ":"}, {"[://]", "://"}, {"[/]", "/"},
                  {"(.)", "."}, {"(dot)", "."}, {"{.}", "."}, {"{dot}", "."}};
    bool defanged = false;
    unsigned slashes = 0;
    *used = 0;
    if (list_begins(span, "hxxp") || list_begins(span, "h**p") || list_begins(span, "fxp")) {
        struct list_span scheme = {span.at + (list_begins(span, "fxp") ? 3 : 4), span.end};
        scheme.at += list_begins(scheme, "s");
        if (list_begins(scheme, ":") || list_begins(scheme, "[:")) {
            memcpy(to, "ftp", 3); /* any scheme will do, because keys do not contain it */
            *used = 3;
            span.at = scheme.at;
            defanged = true;
        }
    }
    while (span.at < span.end) {
        size_t piece = sizeof PIECES / sizeof *PIECES;
        if (*span.at == '[' || ((*span.at == '(' || *span.at == '{') && slashes < 3))
            for (piece = 0; piece < sizeof PIECES / sizeof *PIECES; piece++)
                if (list_begins(span, PIECES[piece].written))
                    break;
        if (piece == sizeof PIECES / sizeof *PIECES) {
            slashes += *span.at == '/';
            span.at += quoted && list_begins(span, "\"\"");
            to[(*used)++] = *span.at++;
            continue;
        }
        memcpy(to + *used, PIECES[piece].meant, strlen(PIECES[piece].meant));
        *used += strlen(PIECES[piece].meant);
        span.at += strlen(PIECES[piece].written);
        defanged = true;
    }
    return defanged;
}

/* Recognises text that parses as a URL but was not meant as one: a number, or a mail address, whose
 * host everybody uses. */
static enum list_form list_other(struct list_span span) {
    if (list_has_scheme(span))
        return LIST_PLAIN;
    if (list_has(span, '@') && !list_has(span, '/'))
        return LIST_MAIL;
    return list_is_number(span) ? LIST_NUMBER : LIST_PLAIN;
}

/* Returns true if the host is a name of letters, digits, hyphens, underscores and dots. */
static bool list_names_host(const struct bloom_url *url, const uint8_t *key) {
    size_t i = 0;
    while (i < url->host && (url_is_letter(key[i]) || url_is_digit(key[i]) || key[i] == '-' ||
                             key[i] == '.' || key[i] == '_'))
        i++;
    return i == url->host;
}

/* Returns true if a text is a range of addresses (192.0.2.0/24) and not a page of one address
 * (192.0.2.7/24). In the first address of a network, the bits that tell its hosts apart are
 * zero. */
static bool list_is_range(struct list_span span) {
    uint8_t address[IPV4_BYTES];
    struct list_span rest = span;
    if (list_network(&rest) != LIST_RANGE)
        return false;
    if (rest.end == span.end || !list_is_ipv4(rest))
        return true;
    url_read_number(rest.at, list_length(rest), address);
    uint32_t bits = 0, value = 0;
    for (const uint8_t *at = rest.end + 1; at < span.end; at++)
        bits = 10 * bits + url_digit(*at);
    for (unsigned i = 0; i < IPV4_BYTES; i++)
        value = value << 8 | address[i];
    return (value & UINT32_MAX >> bits) == 0;
}

bool bloom_list_takes(const uint8_t *text, size_t length, const struct bloom_url *url,
                      const uint8_t *key) {
    struct list_span span = list_without_spaces((struct list_span){text, text + length});
    return url->scheme || ((url->address || list_names_host(url, key)) &&
                           list_other(span) == LIST_PLAIN && !list_is_range(span));
}

/* Returns the form of an entry whose key is known: some rules are for one page only. */
static enum list_form list_page(const struct bloom_list *list, enum list_form form) {
    return form == LIST_ADBLOCK && list->key[list->url.length - 1] != '/' ? LIST_ADBLOCK_PAGE
                                                                          : form;
}

/* Returns true if the key is for localhost.localdomain, localhost4.localdomain4 or the like. */
static bool list_is_local(const struct bloom_list *list) {
    if (*list->key != 'l') /* first, because this is asked for each key */
        return false;
    const struct list_span host = {list->key, list->key + list->url.host};
    const struct list_span name = {host.at, list_find(host, '.')}, domain = {name.end, host.end};
    return list_begins(name, "localhost") && list_length(name) <= strlen("localhost6") &&
           list_begins(domain, ".local") &&
           !list_has((struct list_span){domain.at + 1, domain.end}, '.');
}

/* Reads an entry that list_narrow has found, and returns its form. */
static enum list_form list_read(struct bloom_list *list, struct list_span span,
                                enum list_form form) {
    const bool is_rule =
        form == LIST_ADBLOCK || form == LIST_ADBLOCK_OPTIONS || form == LIST_ADBLOCK_CONDITION;
    struct bloom_url_plain plain;
    size_t used;
    span = list_trim(span);
    if (form == LIST_HOSTS && (list_is_ipv4(span) || list_is_ipv6(span)))
        return LIST_HOSTS_ADDRESS;
    if (bloom_url_read_plain(&plain, span.at, list_length(span)) &&
        plain.end == list_length(span)) {
        bloom_url_write_plain(&list->url, &plain, span.at, list->key);
        return list_is_local(list) ? LIST_LOCAL : list_page(list, form);
    }
    const bool is_whole = list_has(span, ',') || list_has(span, ' ');
    const bool quoted =
        (form == LIST_FIELD || form == LIST_COLUMN) && span.at > list->bytes && span.at[-1] == '"';
    const bool wildcard = list_wildcard(&span);
    enum list_form network = LIST_PLAIN;
    if (list_has(span, '*') && !list_begins(span, "h**p") && form != LIST_COLUMN)
        return LIST_INNER_WILDCARD;
    const bool defanged = list_refang(span, quoted, list->text, &used);
    span = (struct list_span){list->text, list->text + used};
    if (!is_rule)
        network = list_network(&span);
    if (network >= LIST_NO_KEY)
        return network;
    const bool has_host = bloom_url_parse(&list->url, span.at, list_length(span), list->key);
    enum list_form other = has_host && list->url.scheme ? LIST_PLAIN : list_other(span);
    if (other >= LIST_NO_KEY)
        return other;
    if (!has_host)
        return LIST_NO_HOST;
    /* A key must also be acceptable as an entry of its own. */
    const struct list_span key = {list->key, list->key + list->url.length};
    if (list_is_range(key))
        return LIST_RANGE;
    other = list_other(key);
    if (other >= LIST_NO_KEY)
        return other;
    if (form == LIST_PLAIN)
        form = !list_is_text(span) ? LIST_BYTES
               : defanged          ? LIST_DEFANGED
               : wildcard          ? LIST_WILDCARD
               : is_whole          ? LIST_WHOLE
                                   : network;
    form = list_is_local(list) ? LIST_LOCAL : list_page(list, form);
    if (list->url.address)
        return form;
    if (!list->url.opened || !list_names_host(&list->url, list->key))
        return LIST_UNOPENED;
    return url_find(list->key, 0, list->url.host, '.') < list->url.host ? form : LIST_NO_DOT;
}

/* Returns what bytes are that are not text in UTF-8, and what to do, as bloom_list_begin; NULL for
 * text. Nearly all binary files have a zero byte early on. */
static const char *list_no_text(const uint8_t *bytes, size_t length) {
    enum { EARLY = 512 };
    const bool zeros_follow = length >= 4 && bytes[0] != 0 && bytes[1] == 0; /* as in UTF-16 */
    const bool zeros_lead = length >= 4 && bytes[0] == 0 && bytes[1] != 0;
    const char *coded = list_no_utf8((struct list_span){bytes, bytes + length},
                                     (zeros_follow && bytes[2] != 0 && bytes[3] == 0) ||
                                         (zeros_lead && bytes[2] == 0 && bytes[3] != 0));
    if (coded != NULL)
        return coded;
    struct list_span early = {bytes, bytes + (length < EARLY ? length : EARLY)};
    if (list_has(early, 0))
        return "binary, with a zero byte near its beginning. Unpack it if it is compressed, and "
               "give the text of a list";
    struct list_span text = {bytes, bytes + length};
    text.at += list_begins(text, LIST_MARK) ? strlen(LIST_MARK) : 0;
    if (list_begins(text, "msfilterlist"))
        return "a Tracking Protection List of Internet Explorer. Give a list of another form";
    text = list_without_spaces(text);
    const bool begins_with_remark = list_begins(text, "#");
    while (list_begins(text, "#"))
        text = list_without_spaces((struct list_span){list_find(text, '\n'), text.end});
    const uint8_t first = text.at < text.end ? *text.at++ : '\0';
    text = list_without_spaces(text);
    const uint8_t second = text.at < text.end ? *text.at : '\0';
    if (first == '{' && second != '"' && (begins_with_remark || second == '+' || second == '-'))
        return "an action file of Privoxy. Give a list of another form";
    if (begins_with_remark && first != '{')
        return NULL;
    if (first == '<' && (url_is_letter(second) || second == '!' || second == '?'))
        return "HTML or XML. Give the text of a list, as its publisher offers it for download";
    if (first == '{' || (first == '[' && strchr("\"{[", second) != NULL && second != '\0'))
        return "JSON. Make each entry a line, as SELECT group_concat(value, char(10)) FROM "
               "json_each(text, '$') does. Instead of $ give the path of the entries, such as "
               "$.rules[0].domain_suffix. If each entry is an object, select FROM json_tree(text) "
               "WHERE key = 'url'";
    return NULL;
}

const char *bloom_list_begin(struct bloom_list *list, const uint8_t *bytes, size_t length) {
    list->bytes = bytes;
    list->length = length;
    list->at = list->sought = 0;
    list->line = 0;
    list->state = (struct list_state){.begun = false};
    return length > 0 ? list_no_text(bytes, length) : NULL; /* bytes may be NULL then */
}

/* Goes past a line that stops there. */
static void list_end_line(struct bloom_list *list, const uint8_t *stop) {
    const uint8_t *end = list->bytes + list->length;
    list->at = (size_t)(stop - list->bytes) + (stop < end);
    if (stop + 1 < end && stop[0] == '\r' && stop[1] == '\n')
        list->at++;
    list->sought = list->at;
    list->line++;
}

/* Returns true if one of the next eight bytes is LF or CR. */
static bool list_has_break(const uint8_t *bytes) {
    const uint64_t word = bloom_load64(bytes);
    return (url_zeros(word ^ url_eight('\n')) | url_zeros(word ^ url_eight('\r'))) != 0;
}

/* Reads the next line, without blanks around it, if it ends before that place in the list. */
static enum bloom_list_step list_next_line(struct bloom_list *list, size_t before,
                                           struct list_span *line) {
    if (list->at >= list->length)
        return BLOOM_LIST_END;
    const uint8_t *start = list->bytes + list->at, *end = list->bytes + list->length;
    const uint8_t *stop = list->bytes + list->sought;
    const uint8_t *most = list->bytes + before;
    while (most - stop >= 8 && !list_has_break(stop))
        stop += 8;
    while (stop < most && *stop != '\n' && *stop != '\r')
        stop++;
    list->sought = (size_t)(stop - list->bytes);
    if (stop >= most && stop < end)
        return BLOOM_LIST_PAUSE;
    *line = list_trim((struct list_span){start, stop});
    if (list->state.heading.separator == '\t' && list_has((struct list_span){start, stop}, '\t'))
        *line = (struct list_span){start, stop}; /* fields at the ends may be empty */
    if (list_begins(*line, LIST_MARK))           /* also of a file that was appended to another */
        *line = list_trim((struct list_span){line->at + strlen(LIST_MARK), stop});
    list_end_line(list, stop);
    return BLOOM_LIST_ENTRY;
}

/* Reads the next line if it is nothing but a plain URL, in one of the three most common forms. What
 * the other functions would find in such a line is known, so they are skipped. Returns false, and
 * reads nothing, if the next line is a different one. */
static bool list_next_plain(struct bloom_list *list, struct list_span *entry,
                            enum list_form *form) {
    enum { PLAIN_MOST = BLOOM_LIST_LINE_MOST - 16 }; /* with room for what is around it */
    const uint8_t *start = list->bytes + list->at, *end = list->bytes + list->length, *at = start;
    struct bloom_url_plain plain;
    if (list->sought != list->at || !list->state.begun || list->state.heading.fields > 0)
        return false;
    /* More than 10 bytes are left: the longer address and the blank after it can be read. */
    if (end - at > 10 && memcmp(at, "0.0.0.0", 7) == 0 && list_is_blank(at[7]))
        at += 8;
    else if (end - at > 10 && memcmp(at, "127.0.0.1", 9) == 0 && list_is_blank(at[9]))
        at += 10;
    *form = at > start ? LIST_HOSTS : LIST_PLAIN;
    if (at == start && end - at > 2 && at[0] == '|' && at[1] == '|') {
        *form = LIST_ADBLOCK;
        at += 2;
    } else if (at == start && at < end && (list->state.adblock || *at == '-' || *at == '_')) {
        return false; /* perhaps only a part of an address */
    }
    const uint8_t *most = end - at < PLAIN_MOST ? end : at + PLAIN_MOST;
    if (!bloom_url_read_plain(&plain, at, (size_t)(most - at)) ||
        (*form != LIST_PLAIN && plain.host > 0) || (*form == LIST_HOSTS && plain.address))
        return false;
    const uint8_t *stop = at + plain.end;
    if (*form == LIST_ADBLOCK) {
        if (stop[-1] == '-')
            return false; /* perhaps only a part of a name */
        stop += stop < most && *stop == '^';
        if (stop < most && *stop == '$')
            stop = list_plain_options(&list->state, (struct list_span){stop, most}, form);
    }
    if (*form >= LIST_NO_KEY || (stop < end && *stop != '\n' && *stop != '\r'))
        return false;
    bloom_url_write_plain(&list->url, &plain, at, list->key);
    *entry = *form == LIST_HOSTS ? (struct list_span){at, stop} : (struct list_span){start, stop};
    *form = list_is_local(list) ? LIST_LOCAL : list_page(list, *form);
    list_end_line(list, stop);
    return true;
}

enum bloom_list_step bloom_list_next(struct bloom_list *list, struct bloom_list_entry *entry) {
    const size_t left = list->length - list->sought;
    const size_t before = list->sought + (left < BLOOM_LIST_STRETCH ? left : BLOOM_LIST_STRETCH);
    struct list_span span = {NULL, NULL};
    enum list_form form = LIST_NOTHING;
    bool is_text = false; /* known to be text */
    for (;;) {
        if (list->state.names.at < list->state.names.end) {
            span = list_next_name(&list->state);
            form = list_read(list, span, list->state.form);
            break;
        }
        if (list_next_plain(list, &span, &form)) {
            is_text = true;
            break;
        }
        enum bloom_list_step step = list_next_line(list, before, &span);
        if (step != BLOOM_LIST_ENTRY)
            return step;
        if (list_length(span) > BLOOM_LIST_LINE_MOST) {
            span.end = span.at + BLOOM_LIST_LINE_MOST;
            form = LIST_TOO_LONG;
            break;
        }
        struct list_span whole = span;
        form = list_narrow(&list->state, &span);
        if (form == LIST_NOTHING || list->state.names.at < list->state.names.end)
            continue;
        if (form < LIST_NO_KEY)
            form = list_read(list, span, form);
        if (form != LIST_FIELD && form != LIST_COLUMN)
            span = whole;
        break;
    }
    if (form < LIST_NO_KEY)
        list->key[list->url.length] = '\0';
    *entry = (struct bloom_list_entry){
        .line = list->line,
        .written = span.at,
        .written_bytes = list_length(span),
        .is_text = is_text || list_is_text(span),
        .key = form < LIST_NO_KEY ? list->key : NULL,
        .key_bytes = form < LIST_NO_KEY ? list->url.length : 0,
        .note = list_note(form),
    };
    return BLOOM_LIST_ENTRY;
}

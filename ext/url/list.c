/* The entries of lists; see list.h. ext/URLS.md has the rules.
 *
 * A line is narrowed down, from the outside to the entry, by functions that each know one form.
 * Each returns what the line turned out to be.
 */
#include "url/list.h"

#include "url/address.h"
#include "url/bytes.h"

#include <string.h>

struct list_span {
    const uint8_t *at, *end;
};

/* How an entry was read, or why there is none; the names are in LIST_NOTES. */
enum list_form {
    LIST_NOTHING, /* a remark: no row */
    LIST_PLAIN,
    LIST_HOSTS,
    LIST_ADBLOCK,
    LIST_ADBLOCK_OPTIONS,
    LIST_DNSMASQ,
    LIST_UNBOUND,
    LIST_ZONE,
    LIST_FIELD,
    LIST_WILDCARD,
    LIST_DEFANGED,
    LIST_NETWORK_OF_ONE,
    LIST_NO_KEY, /* from here on */
    LIST_EXCEPTION = LIST_NO_KEY,
    LIST_MODIFIER,
    LIST_COSMETIC,
    LIST_EXPRESSION,
    LIST_INNER_WILDCARD,
    LIST_RANGE,
    LIST_NUMBER,
    LIST_MAIL,
    LIST_DIRECTIVE,
    LIST_NO_URL_FIELD,
    LIST_WORDS,
    LIST_HOSTS_ADDRESS,
    LIST_NO_HOST,
    LIST_NO_DOT,
    LIST_UNOPENED,
    LIST_TOO_LONG,
};

static const char *const LIST_NOTES[] = {
    [LIST_PLAIN] = NULL,
    [LIST_HOSTS] = "hosts file",
    [LIST_ADBLOCK] = "Adblock rule",
    [LIST_ADBLOCK_OPTIONS] = "Adblock rule, without its options",
    [LIST_DNSMASQ] = "dnsmasq",
    [LIST_UNBOUND] = "unbound",
    [LIST_ZONE] = "policy zone",
    [LIST_FIELD] = "field of several",
    [LIST_WILDCARD] = "wildcard",
    [LIST_DEFANGED] = "defanged",
    [LIST_NETWORK_OF_ONE] = "network of one address",
    [LIST_EXCEPTION] = "no entry: an exception",
    [LIST_MODIFIER] = "no entry: a rule that does not block",
    [LIST_COSMETIC] = "no entry: a cosmetic rule",
    [LIST_EXPRESSION] = "no entry: a regular expression",
    [LIST_INNER_WILDCARD] = "no entry: a wildcard inside",
    [LIST_RANGE] = "no entry: a range of addresses",
    [LIST_NUMBER] = "no entry: a number or a date",
    [LIST_MAIL] = "no entry: a mail address",
    [LIST_DIRECTIVE] = "no entry: a directive",
    [LIST_NO_URL_FIELD] = "no entry: no field is a URL",
    [LIST_WORDS] = "no entry: several words",
    [LIST_HOSTS_ADDRESS] = "no entry: an address in the place of a name",
    [LIST_NO_HOST] = "no entry: no host",
    [LIST_NO_DOT] = "no entry: a name without a dot",
    [LIST_UNOPENED] = "no entry: no name or address of a host",
    [LIST_TOO_LONG] = "no entry: a line longer than 16384 bytes",
};

/* --- Spans --- */

static size_t list_length(struct list_span span) {
    return (size_t)(span.end - span.at);
}

static bool list_is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t';
}

static struct list_span list_trim(struct list_span span) {
    while (span.at < span.end && list_is_blank(*span.at))
        span.at++;
    while (span.at < span.end && list_is_blank(span.end[-1]))
        span.end--;
    return span;
}

/* Whether a span begins with a word in lower case, in any case; list_ends_with likewise. */
static bool list_begins(struct list_span span, const char *word) {
    size_t length = strlen(word), i = 0;
    while (i < length && i < list_length(span) && url_lower(span.at[i]) == (uint8_t)word[i])
        i++;
    return i == length;
}

static bool list_ends(struct list_span span, const char *word) {
    size_t length = strlen(word);
    return list_length(span) >= length &&
           list_begins((struct list_span){span.end - length, span.end}, word);
}

static const uint8_t *list_find(struct list_span span, uint8_t byte) {
    return span.at + url_find(span.at, 0, list_length(span), byte);
}

static bool list_has(struct list_span span, uint8_t byte) {
    return list_find(span, byte) < span.end;
}

/* The first word, with blanks around, and what is left. */
static struct list_span list_word(struct list_span *rest) {
    struct list_span word = list_trim(*rest);
    rest->at = word.at;
    while (rest->at < rest->end && !list_is_blank(*rest->at))
        rest->at++;
    word.end = rest->at;
    return word;
}

/* The beginning of a URL with a scheme, perhaps defanged: "scheme", then "://" in any brackets. */
static bool list_has_scheme(struct list_span span) {
    size_t i = 0, length = list_length(span);
    while (i < length && (url_is_letter(span.at[i]) || url_is_digit(span.at[i]) ||
                          span.at[i] == '*' || span.at[i] == '+'))
        i++;
    span.at += i;
    return i > 0 && (list_begins(span, "://") || list_begins(span, "[:]//") ||
                     list_begins(span, "[://]") || list_begins(span, ":\\\\"));
}

/* --- Addresses --- */

static bool list_is_ipv4(struct list_span span) {
    uint8_t address[IPV4_BYTES];
    unsigned dots = 0;
    for (const uint8_t *at = span.at; at < span.end; at++) {
        dots += *at == '.';
        if (!url_is_digit(*at) && *at != '.')
            return false;
    }
    return dots == 3 && url_read_number(span.at, list_length(span), address) == URL_ADDRESS;
}

static bool list_is_ipv6(struct list_span span) {
    uint16_t groups[IPV6_GROUPS];
    span.end = list_find(span, '%');
    return url_read_ipv6(span.at, list_length(span), groups);
}

/* 192.0.2.7/32, 2001:db8::/32, 192.0.2.0/255.255.255.0, 192.0.2.1-192.0.2.9. Takes the 32 or 128
 * away. */
static enum list_form list_network(struct list_span *span) {
    const uint8_t *slash = list_find(*span, '/'), *dash = list_find(*span, '-');
    struct list_span address = {span->at, slash}, bits = {slash + 1, span->end};
    if (dash < span->end && list_is_ipv4(list_trim((struct list_span){span->at, dash})) &&
        list_is_ipv4(list_trim((struct list_span){dash + 1, span->end})))
        return LIST_RANGE;
    if (slash < span->end && list_is_ipv4(address) && list_is_ipv4(bits))
        return LIST_RANGE;
    if (slash == span->end || list_length(bits) < 1 || list_length(bits) > 3)
        return LIST_PLAIN;
    for (const uint8_t *at = bits.at; at < bits.end; at++)
        if (!url_is_digit(*at))
            return LIST_PLAIN;
    bool version4 = list_is_ipv4(address);
    if (!version4 && !list_is_ipv6(address))
        return LIST_PLAIN;
    span->end = slash;
    return list_begins(bits, version4 ? "32" : "128") && list_length(bits) == (version4 ? 2 : 3)
               ? LIST_NETWORK_OF_ONE
               : LIST_RANGE;
}

/* --- Forms of a line --- */

/* #, !, ;, // with a blank behind or in a line of several words, [Adblock Plus 2.0]. */
static bool list_is_remark(struct list_span line) {
    if (line.at == line.end || *line.at == '#' || *line.at == '!' || *line.at == ';')
        return true;
    if (list_begins(line, "//"))
        return list_length(line) == 2 || list_has(line, ' ') || list_has(line, '\t') ||
               line.at[2] == '/' || line.at[2] == '-' || line.at[2] == '=';
    return *line.at == '[' && line.end[-1] == ']' &&
           (list_has(line, ' ') || list_begins(line, "[adblock")) &&
           !list_is_ipv6((struct list_span){line.at + 1, line.end - 1});
}

/* Takes a remark behind a blank away. */
static struct list_span list_without_remark(struct list_span line) {
    for (const uint8_t *at = line.at + 1; at < line.end; at++)
        if (list_is_blank(at[-1]) &&
            (*at == '#' || *at == ';' || list_begins((struct list_span){at, line.end}, "// ")))
            line.end = at;
    return list_trim(line);
}

/* A rule of Adblock or uBlock. */
static bool list_is_cosmetic(struct list_span line) {
    for (const uint8_t *at = line.at; at + 1 < line.end; at++)
        if (*at == '#' && (at[1] == '#' || (at + 2 < line.end && at[2] == '#' &&
                                            strchr("@?$%", at[1]) != NULL && at[1] != '\0')))
            return !list_has_scheme(line);
    return false;
}

/* Whether the options of a rule make it one that rewrites what it is about, or takes another rule
 * back. */
static bool list_modifies(struct list_span options) {
    static const char *const MODIFIERS[] = {"badfilter",     "removeparam", "queryprune",
                                            "redirect-rule", "replace",     "header",
                                            "permissions",   "csp",         "rewrite"};
    while (options.at < options.end) {
        struct list_span option = {options.at, list_find(options, ',')};
        struct list_span name = {option.at, list_find(option, '=')};
        for (size_t i = 0; i < sizeof MODIFIERS / sizeof *MODIFIERS; i++)
            if (list_length(name) == strlen(MODIFIERS[i]) && list_begins(name, MODIFIERS[i]))
                return true;
        options.at = option.end < options.end ? option.end + 1 : options.end;
    }
    return false;
}

static enum list_form list_adblock(struct list_span *line) {
    enum list_form form = LIST_PLAIN;
    if (list_begins(*line, "@@"))
        return LIST_EXCEPTION;
    if (list_is_cosmetic(*line))
        return LIST_COSMETIC;
    if (list_begins(*line, "|")) {
        form = LIST_ADBLOCK;
        line->at += list_begins(*line, "||") ? 2 : 1;
    } else if (list_ends(*line, "^") || list_ends(*line, "^*")) {
        form = LIST_ADBLOCK;
    }
    /* Options behind the last dollar: letters, digits and what stands between them. */
    const uint8_t *dollar = line->end;
    while (dollar > line->at && (url_is_letter(dollar[-1]) || url_is_digit(dollar[-1]) ||
                                 (dollar[-1] != '\0' && strchr("~_,=|.*-", dollar[-1]) != NULL)))
        dollar--;
    if (dollar > line->at + 1 && dollar[-1] == '$' && dollar < line->end &&
        (form == LIST_ADBLOCK || dollar[-2] == '^' || dollar[-2] == '|' ||
         (*line->at == '/' && dollar[-2] == '/'))) {
        if (list_modifies((struct list_span){dollar, line->end}))
            return LIST_MODIFIER;
        line->end = dollar - 1;
        form = LIST_ADBLOCK_OPTIONS;
    }
    if (list_length(*line) > 1 && *line->at == '/' && line->at[1] != '/' && line->end[-1] == '/')
        return LIST_EXPRESSION;
    if (form == LIST_PLAIN)
        return form;
    while (line->at < line->end &&
           (line->end[-1] == '^' || line->end[-1] == '|' ||
            (line->end[-1] == '*' && list_length(*line) > 1 && line->end[-2] == '^')))
        line->end--;
    return list_has(*line, '^') ? LIST_INNER_WILDCARD : form;
}

/* A line of a resolver's configuration or zone: what names the host. */
static enum list_form list_resolver(struct list_span *line) {
    struct list_span rest = *line, word = list_word(&rest), next;
    if (list_begins(word, "address=/") || list_begins(word, "server=/") ||
        list_begins(word, "local=/")) {
        line->at = list_find(*line, '/') + 1;
        return LIST_DNSMASQ;
    }
    if (list_begins(word, "local-zone:") || list_begins(word, "local-data:")) {
        next = list_trim((struct list_span){list_find(*line, ':') + 1, line->end});
        if (list_begins(next, "\""))
            next = (struct list_span){next.at + 1, next.end};
        *line = list_word(&next);
        line->end = list_find(*line, '"');
        return LIST_UNBOUND;
    }
    if (list_begins(word, "$") || (list_length(word) == 1 && *word.at == '@'))
        return LIST_DIRECTIVE;
    for (unsigned words = 0; words < 4 && rest.at < rest.end; words++) {
        next = list_word(&rest);
        if (!list_begins(next, "cname") || list_length(next) != 5)
            continue;
        if (list_begins(list_word(&rest), "rpz-passthru"))
            return LIST_EXCEPTION;
        *line = word;
        return LIST_ZONE;
    }
    return LIST_PLAIN;
}

/* What separates the fields of a line that begins with one in quotation marks: a comma, or a
 * semicolon, which stands behind the mark that closes it. */
static uint8_t list_separator(struct list_span line) {
    bool quoted = false;
    do
        quoted ^= *line.at++ == '"';
    while (line.at < line.end && (quoted || *line.at == '"'));
    return line.at < line.end && *list_trim(line).at == ';' ? ';' : ',';
}

/* One of several fields, each perhaps in quotation marks: the first with a scheme; otherwise the
 * first of all, if named is set and it has a dot, or if it is the only one. Returns false when
 * there is none. */
static bool list_field(struct list_span *line, uint8_t separator, bool named) {
    struct list_span field, first = {NULL, NULL};
    unsigned fields = 0;
    for (const uint8_t *at = line->at; at <= line->end; at = field.end + 1, fields++) {
        bool quoted = false;
        field = (struct list_span){at, at};
        while (field.end < line->end && (quoted || *field.end != separator))
            quoted ^= *field.end++ == '"';
        struct list_span inner = list_trim(field);
        if (list_length(inner) > 1 && *inner.at == '"' && inner.end[-1] == '"')
            inner = list_trim((struct list_span){inner.at + 1, inner.end - 1});
        if (fields == 0)
            first = inner;
        if (list_has_scheme(inner)) {
            *line = inner;
            return true;
        }
    }
    bool is_first = fields == 1 || (named && list_has(first, '.') && !list_has(first, ' '));
    if (is_first)
        *line = first;
    return is_first;
}

/* *.h, .h, h/\*, *://h: what is behind and before. */
static enum list_form list_wildcard(struct list_span *line) {
    enum list_form form = LIST_PLAIN;
    if (list_begins(*line, "*://")) {
        line->at += 4;
        form = LIST_WILDCARD;
    }
    if (list_begins(*line, "*.") || list_begins(*line, ".")) {
        line->at += *line->at == '*' ? 2 : 1;
        form = LIST_WILDCARD;
    }
    if (list_ends(*line, "/*")) {
        line->end--;
        form = LIST_WILDCARD;
    }
    return form;
}

/* --- An entry --- */

/* Writes an entry without what keeps people from clicking on it: hxxp, [.], (dot), [:] and their
 * like. Round and curly brackets count before the path only. Of two quotation marks in a field
 * between such marks one is meant (RFC 4180). Returns whether it was defanged. */
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
            memcpy(to, "ftp", 3); /* any will do, since a key has none */
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

/* What a URL without a scheme is that is meant for none: 12345, 2024.01.01 and 10.1, which a
 * browser takes for IPv4 addresses; someone@mail.example, whose host everybody uses. */
static enum list_form list_other(struct list_span span) {
    unsigned dots = 0;
    const uint8_t *at = span.at;
    if (list_has_scheme(span))
        return LIST_PLAIN;
    if (list_has(span, '@') && !list_has(span, '/'))
        return LIST_MAIL;
    for (; at < span.end && (url_is_digit(*at) || *at == '.'); at++)
        dots += *at == '.';
    return at == span.end && dots < 3 && dots < list_length(span) ? LIST_NUMBER : LIST_PLAIN;
}

/* Whether the host is a name of letters, digits, hyphens, underscores and dots. */
static bool list_names_host(const struct bloom_url *url, const uint8_t *key) {
    size_t i = 0;
    while (i < url->host &&
           (url_is_letter(key[i]) || url_is_digit(key[i]) || strchr("-._", key[i]) != NULL))
        i++;
    return i == url->host;
}

bool bloom_list_takes(const uint8_t *text, size_t length, const struct bloom_url *url,
                      const uint8_t *key) {
    struct list_span span = {text, text + length};
    while (*span.at <= ' ') /* what has a host is not all blanks */
        span.at++;
    return list_has_scheme(span) ||
           ((url->address || list_names_host(url, key)) && list_other(span) != LIST_MAIL &&
            list_network(&span) == LIST_PLAIN);
}

/* Reads an entry that a line's form has left; returns its form. */
static enum list_form list_read(struct bloom_list *list, struct list_span span,
                                enum list_form form) {
    size_t used;
    span = list_trim(span);
    if (form == LIST_HOSTS && (list_is_ipv4(span) || list_is_ipv6(span)))
        return LIST_HOSTS_ADDRESS;
    enum list_form network = list_network(&span);
    enum list_form wildcard = list_wildcard(&span);
    if (network >= LIST_NO_KEY)
        return network;
    if (list_has(span, '*') && !list_begins(span, "h**p"))
        return LIST_INNER_WILDCARD;
    const bool quoted = form == LIST_FIELD && span.at > list->bytes && span.at[-1] == '"';
    bool defanged = list_refang(span, quoted, list->text, &used);
    enum list_form other = list_other((struct list_span){list->text, list->text + used});
    if (other >= LIST_NO_KEY)
        return other;
    if (form == LIST_PLAIN)
        form = defanged ? LIST_DEFANGED : wildcard != LIST_PLAIN ? wildcard : network;
    if (!bloom_url_parse(&list->url, list->text, used, list->key))
        return LIST_NO_HOST;
    if (list->url.address)
        return form;
    if (!list->url.opened || !list_names_host(&list->url, list->key))
        return LIST_UNOPENED;
    return url_find(list->key, 0, list->url.host, '.') < list->url.host ? form : LIST_NO_DOT;
}

/* --- Lines --- */

/* Whether a line is one of a hosts file: an address, and names that are left in the list's rest. */
static bool list_begin_hosts(struct bloom_list *list, struct list_span line) {
    struct list_span rest = line, address = list_word(&rest);
    if (list_trim(rest).at == line.end || *list_trim(rest).at == '-' ||
        (!list_is_ipv4(address) && !list_is_ipv6(address)))
        return false;
    list->rest = rest.at;
    list->rest_end = rest.end;
    list->form = LIST_HOSTS;
    return true;
}

/* The next of several names; false when there are no more. */
static bool list_next_name(struct bloom_list *list, struct list_span *name) {
    struct list_span rest = {list->rest, list->rest_end};
    if (list->form == LIST_DNSMASQ) {
        /* What is behind the last slash is an address. */
        name->at = rest.at;
        name->end = list_find(rest, '/');
        list->rest = name->end < rest.end ? name->end + 1 : rest.end;
        return name->end < rest.end;
    }
    *name = list_word(&rest);
    list->rest = rest.at;
    return name->at < name->end;
}

/* Narrows a line down to its entry. */
static enum list_form list_narrow(struct bloom_list *list, struct list_span *line) {
    enum list_form form;
    if (list_is_remark(*line))
        return LIST_NOTHING;
    form = list_adblock(line);
    if (form != LIST_PLAIN)
        return form;
    *line = list_without_remark(*line);
    if (list_begin_hosts(list, *line))
        return LIST_HOSTS;
    form = list_resolver(line);
    if (form == LIST_DNSMASQ) {
        list->rest = line->at;
        list->rest_end = line->end;
        list->form = form;
    }
    if (form != LIST_PLAIN)
        return form;
    const bool tabs = list_has(*line, '\t');
    if (*line->at == '"' || tabs)
        return list_field(line, tabs ? '\t' : list_separator(*line), true) ? LIST_FIELD
                                                                           : LIST_NO_URL_FIELD;
    if (list_has_scheme(*line))
        return LIST_PLAIN;
    if (list_has((struct list_span){line->at, list_find(*line, '/')}, ','))
        return list_field(line, ',', true) ? LIST_FIELD : LIST_NO_URL_FIELD;
    if (list_network(&(struct list_span){line->at, line->end}) == LIST_RANGE)
        return LIST_RANGE;
    if (list_has(*line, ' '))
        return list_field(line, ' ', false) ? LIST_FIELD : LIST_WORDS;
    return LIST_PLAIN;
}

/* What bytes are that are no text in UTF-8, as bloom_list_begin says it; NULL for all others.
 *
 * Compressed files begin with what their formats prescribe (RFC 1952, RFC 8878, and the notes of
 * PKWARE, bzip2 and xz). Of other files that are no text nearly all have a zero byte early on. */
static const char *list_no_text(const uint8_t *bytes, size_t length) {
    static const struct {
        const char *start, *what;
    } COMPRESSED[] = {
        {"\x1f\x8b", "compressed with gzip; unpack it first, as with gunzip"},
        {"BZh", "compressed with bzip2; unpack it first, as with bunzip2"},
        {"\xfd"
         "7zXZ",
         "compressed with xz; unpack it first, as with unxz"},
        {"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first, as with unzstd"},
        {"PK\x03\x04", "a zip archive; unpack it first, as with unzip"},
    };
    enum { EARLY = 512 };
    if (length == 0) /* bytes may be NULL */
        return NULL;
    /* With its own mark, or ASCII in it. */
    if (length >= 2 &&
        ((bytes[0] == 0xff && bytes[1] == 0xfe) || (bytes[0] == 0xfe && bytes[1] == 0xff) ||
         (length >= 4 && bytes[0] != 0 && bytes[1] == 0 && bytes[2] != 0 && bytes[3] == 0) ||
         (length >= 4 && bytes[0] == 0 && bytes[1] != 0 && bytes[2] == 0 && bytes[3] != 0)))
        return "UTF-16; make it UTF-8 first, as with iconv -f UTF-16 -t UTF-8";
    for (size_t i = 0; i < sizeof COMPRESSED / sizeof *COMPRESSED; i++)
        if (length >= strlen(COMPRESSED[i].start) &&
            memcmp(bytes, COMPRESSED[i].start, strlen(COMPRESSED[i].start)) == 0)
            return COMPRESSED[i].what;
    struct list_span early = {bytes, bytes + (length < EARLY ? length : EARLY)};
    if (list_has(early, 0))
        return "binary, with a zero byte near its beginning; give the text of a list";
    while (early.at < early.end && *early.at <= ' ')
        early.at++;
    if (list_begins(early, "<!doctype") || list_begins(early, "<html"))
        return "an HTML page; give the text of a list, as its publisher has it for download";
    return NULL;
}

const char *bloom_list_begin(struct bloom_list *list, const uint8_t *bytes, size_t length) {
    static const uint8_t MARK[] = {0xef, 0xbb, 0xbf};
    list->bytes = bytes;
    list->length = length;
    list->at = length >= sizeof MARK && memcmp(bytes, MARK, sizeof MARK) == 0 ? sizeof MARK : 0;
    list->sought = list->at;
    list->line = 0;
    list->rest = list->rest_end = NULL;
    return list_no_text(bytes, length);
}

/* Goes to the next line, without blanks around, if it ends before that place of the list. */
static enum bloom_list_step list_next_line(struct bloom_list *list, size_t before,
                                           struct list_span *line) {
    if (list->at >= list->length)
        return BLOOM_LIST_END;
    const uint8_t *start = list->bytes + list->at, *end = list->bytes + list->length;
    const uint8_t *stop = list->bytes + list->sought;
    const uint8_t *most = list->bytes + before;
    while (stop < most && *stop != '\n' && *stop != '\r')
        stop++;
    list->sought = (size_t)(stop - list->bytes);
    if (stop >= most && stop < end)
        return BLOOM_LIST_PAUSE;
    *line = list_trim((struct list_span){start, stop});
    list->at = list->sought + (stop < end);
    if (stop + 1 < end && stop[0] == '\r' && stop[1] == '\n')
        list->at++;
    list->sought = list->at;
    list->line++;
    return BLOOM_LIST_ENTRY;
}

enum bloom_list_step bloom_list_next(struct bloom_list *list, struct bloom_list_entry *entry) {
    const size_t left = list->length - list->sought;
    const size_t before = list->sought + (left < BLOOM_LIST_STRETCH ? left : BLOOM_LIST_STRETCH);
    struct list_span span = {NULL, NULL};
    enum list_form form = LIST_NOTHING;
    for (;;) {
        if (list->rest < list->rest_end) {
            if (!list_next_name(list, &span))
                continue;
            form = list_read(list, span, (enum list_form)list->form);
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
        form = list_narrow(list, &span);
        if (form == LIST_NOTHING || list->rest < list->rest_end)
            continue;
        if (form < LIST_NO_KEY)
            form = list_read(list, span, form);
        if (form != LIST_FIELD)
            span = whole;
        break;
    }
    *entry = (struct bloom_list_entry){
        .line = list->line,
        .written = span.at,
        .written_bytes = list_length(span),
        .key = form < LIST_NO_KEY ? list->key : NULL,
        .key_bytes = form < LIST_NO_KEY ? list->url.length : 0,
        .note = LIST_NOTES[form],
    };
    return BLOOM_LIST_ENTRY;
}

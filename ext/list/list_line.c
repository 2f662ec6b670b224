/* A line is narrowed down, from the outside to the entry, by functions that each know one form:
 * list_adblock, list_hosts, list_dnsmasq, list_unbound, list_zone, list_proxy, list_row (of a table
 * with a heading) and list_field (of a table without one). Each returns what the line turned out to
 * be, or LIST_PLAIN if it does not recognise its form. list_narrow calls them in order. */
#include "list/list_line.h"

#include <string.h>

#define LIST_WORDS_OF(form, words) [form] = words,
static const char *const LIST_NOTES[] = {LIST_FORMS(LIST_WORDS_OF)};
#undef LIST_WORDS_OF

const char *list_note(enum list_form form) {
    return LIST_NOTES[form];
}

/* --- Addresses --- */

enum list_form list_network(struct list_span *span) {
    const uint8_t *slash = list_find(*span, '/'), *dash = list_find(*span, '-');
    struct list_span address = {span->at, slash}, bits = {slash + 1, span->end};
    struct list_span first = list_trim((struct list_span){span->at, dash}), last;
    unsigned count = 0;
    if (dash < span->end && (list_is_ipv4(first) || list_is_ipv6(first))) {
        last = list_trim((struct list_span){dash + 1, span->end});
        return list_is_ipv4(last) || list_is_ipv6(last) || list_is_number(last) ? LIST_RANGE
                                                                                : LIST_PLAIN;
    }
    bool version4 = list_is_ipv4(address);
    if (slash == span->end || (!version4 && !list_is_ipv6(address)))
        return LIST_PLAIN;
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

/* --- Remarks and rules --- */

/* Recognises remarks: #, !, ;, // alone or in a line of several words, [Adblock Plus 2.0]. */
static bool list_is_remark(struct list_span line) {
    struct list_span words = {line.at + list_begins(line, "\""), line.end - list_ends(line, "\"")};
    if (list_length(words) == 5 && list_begins(words, "sep=")) /* how Excel names separators */
        return true;
    if (*line.at == '#' || *line.at == '!' || *line.at == ';')
        return true;
    if (list_begins(line, "//"))
        return list_length(line) == 2 || list_has(line, ' ') || list_has(line, '\t') ||
               line.at[2] == '/' || line.at[2] == '-' || line.at[2] == '=';
    return line.end[-1] == ']' && (list_begins(line, "[adblock") || list_begins(line, "[ublock") ||
                                   list_begins(line, "[adguard"));
}

/* Removes the remark after an entry. A dot or a colon is before it, and its sign follows a blank
 * and is not in quotation marks. */
static struct list_span list_without_remark(struct list_span line) {
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

/* Returns true if a # begins the mark of a cosmetic rule: ##, #@#, #?#, #$#, #%#, #$?# and so
 * on. */
static bool list_is_mark(struct list_span mark) {
    mark.at++;
    mark.at += list_begins(mark, "@");
    mark.at += list_begins(mark, "$?")
                   ? 2
                   : list_begins(mark, "?") || list_begins(mark, "$") || list_begins(mark, "%");
    return list_begins(mark, "#");
}

/* Returns true if what is before the mark of a rule can be the domains or pages that it is for.
 * They contain no scheme, quotation mark or semicolon, and no blank except after a comma. */
static bool list_is_scope(struct list_span scope) {
    for (const uint8_t *at = scope.at; at < scope.end; at++)
        if (*at == '"' || *at == ';' || (list_is_blank(*at) && at[-1] != ',') ||
            list_begins((struct list_span){at, scope.end}, "://"))
            return false;
    return true;
}

/* Returns true if a rule of Adblock, uBlock or AdGuard is about elements of a page. It has a mark
 * after the domains that it is for, or after a regular expression for them. With a blank before the
 * mark and one after it, it is a remark instead. */
static bool list_is_cosmetic(struct list_span line) {
    const uint8_t *at = line.at;
    if (list_begins(line, "[$"))
        at = list_find(line, ']') + (list_has(line, ']') ? 1 : 0);
    const struct list_span mark = {list_find((struct list_span){at, line.end}, '#'), line.end};
    if (at < line.end && *at == '/')
        return mark.at < line.end && mark.at[-1] == '/' && list_is_mark(mark);
    if (mark.at < line.end && list_is_mark(mark)) {
        const struct list_span scope = list_trim((struct list_span){at, mark.at});
        const uint8_t *after = list_find((struct list_span){mark.at + 1, line.end}, '#') + 1;
        return list_is_scope(scope) &&
               (scope.end == mark.at || (after < line.end && !list_is_blank(*after)));
    }
    const struct list_span dollar = {list_find((struct list_span){at, line.end}, '$'), line.end};
    if (!list_begins(dollar, "$$") && !list_begins(dollar, "$@$"))
        return false;
    while (at < dollar.at && (url_is_letter(*at) || url_is_digit(*at) || *at >= 0x80 ||
                              (*at != '\0' && strchr("-._,~*", *at) != NULL)))
        at++;
    return at == dollar.at && at > line.at;
}

/* What the options of rules do to a person who opens the page that a rule names. */
enum list_option {
    LIST_NO_OPTION,
    LIST_CHANGES,   /* makes a rule that does not block, for example one that cancels another */
    LIST_REWRITE,   /* the same, unless its value is an error or a blocking address */
    LIST_CONDITION, /* the rule does not stop everybody */
    LIST_VALUES,    /* the same, unless all its values are exceptions for other pages */
    LIST_KIND,      /* the rule stops this kind of requests, so without LIST_PAGE no page */
    LIST_PAGE,
    LIST_ANY_OPTION, /* any other */
};

/* Returns what an option does, by its name, which may have a ~ in front. */
static enum list_option list_option_of(struct list_span name) {
    static const struct {
        enum list_option option, with_tilde;
        const char *names;
    } OPTIONS[] = {
        {LIST_CONDITION, LIST_CONDITION, ",1p,3p,first-party,third-party,"},
        {LIST_CONDITION, LIST_NO_OPTION,
         ",dnstype,method,strict-first-party,strict-third-party,strict1p,strict3p,"},
        {LIST_VALUES, LIST_NO_OPTION, ",app,client,ctag,denyallow,domain,from,ipaddress,to,top,"},
        {LIST_PAGE, LIST_CONDITION, ",all,doc,document,"},
        {LIST_KIND, LIST_KIND,
         ",beacon,css,font,frame,image,media,mp4,object,object-subrequest,other,ping,popunder,"
         "popup,script,stylesheet,subdocument,webrtc,websocket,xhr,xmlhttprequest,"},
        {LIST_ANY_OPTION, LIST_ANY_OPTION, ",match-case,"},
        {LIST_ANY_OPTION, LIST_NO_OPTION, ",empty,important,network,reason,redirect,"},
        {LIST_REWRITE, LIST_NO_OPTION, ",dnsrewrite,"},
        {LIST_CHANGES, LIST_NO_OPTION,
         ",badfilter,content,cookie,csp,ehide,elemhide,extension,genericblock,generichide,ghide,"
         "header,hls,inline-font,inline-script,jsinject,jsonprune,permissions,queryprune,"
         "redirect-rule,referrerpolicy,removeheader,removeparam,replace,rewrite,shide,"
         "specifichide,stealth,uritransform,urlblock,urlskip,urltransform,xmlprune,"},
    };
    char sought[32] = ","; /* the name between two commas */
    size_t used = 1;
    const bool with_tilde = list_begins(name, "~");
    name.at += with_tilde;
    if (list_length(name) > sizeof sought - 3 || list_has(name, '\0'))
        return LIST_NO_OPTION;
    while (name.at < name.end)
        sought[used++] = (char)url_lower(*name.at++);
    sought[used] = ',';
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        if (strstr(OPTIONS[i].names, sought) != NULL)
            return with_tilde ? OPTIONS[i].with_tilde : OPTIONS[i].option;
    return sought[1] == '_' && sought[strspn(sought, ",_")] == '\0' ? LIST_ANY_OPTION
                                                                    : LIST_NO_OPTION;
}

/* Removes the first option and its value from the rest of them. */
static struct list_span list_next_option(struct list_span *options, struct list_span *value) {
    const struct list_span option = {options->at, list_find(*options, ',')};
    const struct list_span name = {option.at, list_find(option, '=')};
    options->at = option.end < options->end ? option.end + 1 : options->end;
    *value = (struct list_span){name.end < option.end ? name.end + 1 : name.end, option.end};
    return list_trim(name);
}

/* Returns the host of a pattern. */
static struct list_span list_pattern_host(struct list_span pattern) {
    pattern.at += list_begins(pattern, "http://") ? 7 : list_begins(pattern, "https://") ? 8 : 0;
    const uint8_t *end = pattern.at;
    while (end < pattern.end && *end != '\0' && strchr("/^:?|*", *end) == NULL)
        end++;
    return (struct list_span){pattern.at, end};
}

/* Returns true if a host is a domain or below it, or if the domain has a wildcard. */
static bool list_is_below(struct list_span host, struct list_span domain) {
    const size_t length = list_length(domain);
    if (list_has(domain, '*'))
        return true;
    if (list_length(host) < length)
        return false;
    const uint8_t *tail = host.end - length;
    for (size_t i = 0; i < length; i++)
        if (url_lower(tail[i]) != url_lower(domain.at[i]))
            return false;
    return length > 0 && (tail == host.at || tail[-1] == '.');
}

/* Returns true if a rule with these values, which have bars between them, does not stop everybody:
 * one of them is not an exception (~), or is an exception for the page that the rule names. */
static bool list_demands(struct list_span values, struct list_span pattern) {
    const struct list_span host = list_pattern_host(pattern);
    bool demands = list_length(values) == 0;
    while (values.at < values.end && !demands) {
        const struct list_span value = {values.at, list_find(values, '|')};
        demands =
            *value.at != '~' || list_is_below(host, (struct list_span){value.at + 1, value.end});
        values.at = value.end + (value.end < values.end);
    }
    return demands;
}

/* Returns true if what a resolver is to answer stops a page: an error, nothing, or a blocking
 * address. It is written NXDOMAIN, 0.0.0.0 or NOERROR;A;0.0.0.0. */
static bool list_answers_nothing(struct list_span value) {
    static const char *const ERRORS[] = {"nxdomain", "refused", "servfail", NULL};
    const struct list_span code = {value.at, list_find(value, ';')};
    struct list_span answer = value;
    while (list_has(answer, ';'))
        answer.at = list_find(answer, ';') + 1;
    return list_is_one_of(code, ERRORS) || list_is_sink(answer) ||
           (list_is(code, "noerror") && (code.end == value.end || answer.at == answer.end));
}

/* Returns whether a rule with some options does not block, has a condition, or stops whoever opens
 * what its pattern names. LIST_PLAIN means that some of them are not options. */
static enum list_form list_with_options(struct list_span options, struct list_span pattern) {
    bool known = true, changes = false, condition = false, kind = false, page = false;
    while (options.at < options.end) {
        struct list_span value, name = list_next_option(&options, &value);
        const enum list_option option = list_option_of(name);
        known = known && option != LIST_NO_OPTION;
        changes |=
            option == LIST_CHANGES || (option == LIST_REWRITE && !list_answers_nothing(value));
        condition |=
            option == LIST_CONDITION || (option == LIST_VALUES && list_demands(value, pattern));
        kind |= option == LIST_KIND;
        page |= option == LIST_PAGE;
    }
    return changes         ? LIST_MODIFIER
           : condition     ? LIST_ADBLOCK_CONDITION
           : !known        ? LIST_PLAIN
           : kind && !page ? LIST_ADBLOCK_CONDITION
                           : LIST_ADBLOCK_OPTIONS;
}

/* Returns the dollar before the options of a rule, or the end if there are none. It is the last
 * dollar that a name follows, and then nothing, a value or another option. */
static const uint8_t *list_options(struct list_span line) {
    const bool any = list_has(line, '$');
    for (const uint8_t *dollar = line.end; any && dollar-- > line.at + 1;) {
        const uint8_t *at = dollar + 1;
        if (*dollar != '$')
            continue;
        at += at < line.end && *at == '~';
        const uint8_t *name = at;
        while (at < line.end &&
               (url_is_letter(*at) || url_is_digit(*at) || *at == '-' || *at == '_'))
            at++;
        if (at > name && (at == line.end || *at == '=' || *at == ','))
            return dollar;
    }
    return line.end;
}

const uint8_t *list_plain_options(struct list_state *state, struct list_span rest,
                                  enum list_form *form) {
    const size_t length = list_length(state->options);
    if (length == 0 || list_length(rest) <= length ||
        memcmp(rest.at, state->options.at, length) != 0 || rest.at[length] != '\n') {
        const uint8_t *end = rest.at + 1;
        while (end < rest.end && (url_is_letter(*end) || url_is_digit(*end) ||
                                  (*end != '\0' && strchr("-_,.=|~", *end) != NULL))) {
            if (*end == '~' && (end[-1] == '=' || end[-1] == '|'))
                return rest.at; /* an exception, which may be for the page of the rule */
            end++;
        }
        if (list_options((struct list_span){rest.at - 1, end}) != rest.at)
            return rest.at;
        state->options = (struct list_span){rest.at, end};
        state->with_options =
            list_with_options((struct list_span){rest.at + 1, end}, (struct list_span){end, end});
        if (state->with_options == LIST_PLAIN)
            state->with_options = LIST_ADBLOCK_CONDITION;
    }
    *form = state->with_options;
    return rest.at + list_length(state->options);
}

/* Returns true if what is before options may be the pattern of a rule although nothing marks it as
 * one, such as .host/path, host/path and 2001:db8::1. */
static bool list_is_pattern(struct list_span pattern) {
    for (const uint8_t *at = pattern.at; at < pattern.end; at++)
        if (list_is_blank(*at) || *at == '"' || *at == ',' || *at == ';')
            return false;
    return (list_has(pattern, '.') || list_has(pattern, ':')) && !list_has_scheme(pattern);
}

/* Returns true if a pattern ends with a dot or a hyphen in the name of a host, which therefore goes
 * on. */
static bool list_ends_in_name(struct list_span pattern) {
    pattern.at += list_begins(pattern, "http://") ? 7 : list_begins(pattern, "https://") ? 8 : 0;
    return list_length(pattern) > 1 && (pattern.end[-1] == '.' || pattern.end[-1] == '-') &&
           !list_has(pattern, '/');
}

/* Returns true if a pattern that nothing marks as a rule is only a part of an address, as in
 * EasyList. In a list with the heading [Adblock ...] that is everything but a name, because uBlock
 * and AdGuard take a name for a host. A name that ends like a file is not a host. */
static bool list_is_part(const struct list_state *state, struct list_span pattern) {
    static const char *const FILES[] = {".css", ".gif", ".htm",  ".html", ".jpg", ".js",
                                        ".php", ".png", ".aspx", ".swf",  NULL};
    const bool is_odd = *pattern.at == '-' || *pattern.at == '_' || *pattern.at == '.';
    const char *const *file = FILES;
    if (!state->adblock && !is_odd)
        return false;
    while (*file != NULL && !list_ends(pattern, *file))
        file++;
    if (!state->adblock || *file != NULL)
        return *file != NULL;
    while (pattern.at < pattern.end &&
           (url_is_letter(*pattern.at) || url_is_digit(*pattern.at) || *pattern.at >= 0x80 ||
            *pattern.at == '-' || *pattern.at == '.' || *pattern.at == '_'))
        pattern.at++;
    return is_odd || pattern.at < pattern.end;
}

static enum list_form list_adblock(const struct list_state *state, struct list_span *line) {
    enum list_form form = LIST_PLAIN;
    if (list_begins(*line, "@@"))
        return LIST_EXCEPTION;
    if (list_is_cosmetic(*line))
        return LIST_COSMETIC;
    if (*line->at == '^') /* of a proxy that rewrites addresses */
        return LIST_EXPRESSION;
    *line = list_without_remark(*line);
    const bool anchored = list_begins(*line, "|");
    if (anchored) {
        form = LIST_ADBLOCK;
        line->at += list_begins(*line, "||") ? 2 : 1;
    } else if (list_ends(*line, "^") || list_ends(*line, "^*")) {
        form = LIST_ADBLOCK;
    }
    const uint8_t *dollar = list_options(*line);
    if (dollar < line->end) {
        const struct list_span pattern = list_trim((struct list_span){line->at, dollar});
        const bool is_rule = form == LIST_ADBLOCK || dollar[-1] == '^' || dollar[-1] == '|' ||
                             (*line->at == '/' && dollar[-1] == '/');
        enum list_form with = list_with_options((struct list_span){dollar + 1, line->end}, pattern);
        if (is_rule && with == LIST_PLAIN) /* a program drops a rule that it does not know */
            with = LIST_ADBLOCK_CONDITION;
        if (is_rule || (with != LIST_PLAIN && list_is_pattern(pattern))) {
            if (with == LIST_MODIFIER)
                return with;
            *line = pattern;
            form = with;
        }
    }
    if (list_length(*line) > 1 && *line->at == '/' && line->at[1] != '/' && line->end[-1] == '/')
        return LIST_EXPRESSION;
    if (list_ends_in_name(*line) && (form != LIST_PLAIN || list_begins(*line, ".")))
        return LIST_PART;
    if (form == LIST_PLAIN)
        return form;
    while (line->at < line->end &&
           (line->end[-1] == '^' || line->end[-1] == '|' ||
            (line->end[-1] == '*' && list_length(*line) > 1 && line->end[-2] == '^')))
        line->end--;
    if (!anchored && list_is_part(state, *line))
        return LIST_PART;
    if (list_has(*line, ' '))
        return LIST_WORDS;
    return list_has(*line, '^') ? LIST_INNER_WILDCARD : form;
}

/* Returns true if a line is an option of dnsmasq with hosts between slashes. There may be blanks
 * around its equals sign. */
static bool list_is_dnsmasq(struct list_span line) {
    static const char *const OPTIONS[] = {"address", "server", "local", NULL};
    const struct list_span name = {line.at, list_find(line, '=')};
    return name.end < line.end && list_is_one_of(list_trim(name), OPTIONS) &&
           list_begins(list_trim((struct list_span){name.end + 1, line.end}), "/");
}

/* address=/h/i/0.0.0.0, server=/h/, local=/h/: leaves the hosts. The answer for them follows the
 * last slash. */
static enum list_form list_dnsmasq(struct list_span *line) {
    const bool is_address = list_begins(*line, "address");
    struct list_span target = {line->end, line->end};
    line->at = list_find(*line, '/') + 1;
    while (target.at > line->at && target.at[-1] != '/')
        target.at--;
    if (target.at > line->at)
        line->end = target.at - 1;
    else
        target.at = target.end; /* there is only one slash */
    target = list_trim(target);
    if (list_length(target) == 0 || (is_address && (list_is(target, "#") || list_is_sink(target))))
        return LIST_DNSMASQ;
    return list_is(target, "#") ? LIST_EXCEPTION : LIST_MODIFIER;
}

/* Returns a word without blanks and quotation marks around it. */
static struct list_span list_unquoted(struct list_span word) {
    word = list_trim(word);
    word.at += list_begins(word, "'") || list_begins(word, "\"");
    word.end -= list_ends(word, "'") || list_ends(word, "\"");
    return word;
}

/* local-zone: "h" type, local-data: "h A 0.0.0.0": leaves the host. */
static enum list_form list_unbound(struct list_span *line) {
    static const char *const ANSWERED[] = {"transparent", "typetransparent", "always_transparent",
                                           "inform",      "nodefault",       "noview",
                                           NULL};
    const bool is_zone = list_begins(*line, "local-zone:");
    struct list_span rest = {list_find(*line, ':') + 1, line->end}, word;
    rest = list_trim(rest);
    const uint8_t quote = list_begins(rest, "'") ? '\'' : '"';
    rest.at += rest.at < rest.end && *rest.at == quote;
    *line = list_word(&rest);
    line->end = list_find(*line, quote);
    if (is_zone)
        return list_is_one_of(list_unquoted(rest), ANSWERED) ? LIST_EXCEPTION : LIST_UNBOUND;
    rest = list_trim((struct list_span){rest.at, list_find(rest, quote)});
    do
        word = list_word(&rest);
    while (rest.at < rest.end);
    return list_is_sink(word) ? LIST_UNBOUND : LIST_MODIFIER;
}

/* Returns true if two names are the same, except for a dot at the end. */
static bool list_is_same(struct list_span a, struct list_span b) {
    a.end -= list_ends(a, ".");
    b.end -= list_ends(b, ".");
    return list_length(a) == list_length(b) && memcmp(a.at, b.at, list_length(a)) == 0;
}

/* h CNAME ., h 60 IN A 0.0.0.0: a record of a zone, of which the host is left. A host for which the
 * record has a name or an address of its own is not blocked. */
static enum list_form list_zone(struct list_span *line) {
    static const char *const BLOCKS[] = {".", "*.", "rpz-drop.", "rpz-drop", NULL};
    static const char *const OTHERS[] = {"ns", "soa", "txt", "mx", "srv", "ptr", "dname", NULL};
    struct list_span rest = *line, owner = list_word(&rest), type = list_word(&rest), target;
    while (type.at < type.end && (url_is_digit(*type.at) || list_is(type, "in")))
        type = list_word(&rest);
    target = list_word(&rest);
    target.end = list_find(target, ';');
    if (target.at == target.end)
        return LIST_PLAIN;
    if (list_is_one_of(type, OTHERS))
        return LIST_MODIFIER;
    const bool is_name = list_is(type, "cname");
    if (!is_name && !list_is(type, "a") && !list_is(type, "aaaa"))
        return LIST_PLAIN;
    if (is_name && (list_begins(target, "rpz-passthru") || list_is_same(target, owner)))
        return LIST_EXCEPTION;
    if (is_name ? !list_is_one_of(target, BLOCKS) : !list_is_sink(target))
        return LIST_MODIFIER;
    *line = owner;
    for (; owner.at < owner.end; owner.at++)
        if (list_begins(owner, ".rpz-"))
            return LIST_TRIGGER;
    return LIST_ZONE;
}

/* A line of a resolver's configuration or zone: leaves the hosts. */
static enum list_form list_resolver(struct list_span *line) {
    if (list_is_dnsmasq(*line))
        return list_dnsmasq(line);
    if (list_begins(*line, "local-zone:") || list_begins(*line, "local-data:"))
        return list_unbound(line);
    if (list_begins(*line, "$") || list_begins(*line, "@ ") || list_begins(*line, "@\t"))
        return LIST_DIRECTIVE;
    return list_zone(line);
}

/* Returns what separates the fields of a line whose first field is in quotation marks: a semicolon
 * if one follows that field, otherwise a comma. */
static uint8_t list_separator(struct list_span line) {
    bool quoted = false;
    do
        quoted ^= *line.at++ == '"';
    while (line.at < line.end && (quoted || *line.at == '"'));
    return line.at < line.end && *list_trim(line).at == ';' ? ';' : ',';
}

/* Removes the first field from the rest of a line, and returns it without blanks and quotation
 * marks around it. After the last field the rest begins past the end of the line. */
static struct list_span list_next_field(struct list_span *rest, uint8_t separator) {
    struct list_span field = {rest->at, rest->at};
    const uint8_t *first = rest->at;
    while (first < rest->end && *first == ' ' && separator != ' ')
        first++;
    const bool marked = first < rest->end && *first == '"';
    const uint8_t *stop = list_find(*rest, separator), *most = stop, *quote;
    bool quoted = false;
    while (marked && (quote = list_find((struct list_span){field.end, most}, '"')) < most) {
        field.end = quote + 1;
        quoted = !quoted;
        if (!quoted && stop < field.end)
            stop = list_find((struct list_span){field.end, rest->end}, separator);
        most = quoted ? rest->end : stop;
    }
    field.end = most;
    rest->at = field.end + 1;
    field = list_trim(field);
    if (list_length(field) > 1 && *field.at == '"' && field.end[-1] == '"')
        field = list_trim((struct list_span){field.at + 1, field.end - 1});
    return field;
}

/* Chooses one of several fields: the first with a scheme, or else the first that is not a number or
 * date, if it has a dot or is the only field. Among words separated by blanks it must be a URL with
 * nothing but numbers and signs before it, because other lines are prose. */
static enum list_form list_field(struct list_span *line, uint8_t separator) {
    struct list_span rest = *line, first = {NULL, NULL};
    unsigned fields = 0;
    bool sought = true; /* all fields so far are numbers */
    for (; rest.at <= rest.end; fields++) {
        struct list_span field = list_next_field(&rest, separator);
        if (list_has_scheme(field)) {
            *line = field;
            return LIST_FIELD;
        }
        if (separator == ' ' && list_length(field) > 0 && url_is_letter(*field.at))
            return LIST_WORDS;
        if (sought) {
            first = field;
            sought = list_is_number(field);
        }
    }
    if (separator == ' ')
        return LIST_WORDS;
    if (fields > 1 && (!list_has(first, '.') || list_has(first, ' ')))
        return LIST_NO_URL_FIELD;
    *line = first;
    return LIST_FIELD;
}

/* DOMAIN-SUFFIX,h and HOST,h,reject,no-resolve: a rule of Clash, mihomo, Surge, Loon or Quantumult
 * X, of which the host or network is left. */
static enum list_form list_proxy(struct list_span *line) {
    static const char *const HOSTS[] = {
        "domain",        "domain-suffix", "domain-wildcard", "host",     "host-suffix",
        "host-wildcard", "ip-cidr",       "ip-cidr6",        "ip6-cidr", NULL};
    static const char *const PARTS[] = {"domain-keyword", "host-keyword", NULL};
    static const char *const EXPRESSIONS[] = {"domain-regex", "url-regex", NULL};
    static const char *const OTHER_LISTS[] = {"rule-set", "domain-set", NULL};
    static const char *const PASSES[] = {"direct", "pass", "proxy", NULL};
    struct list_span rest = *line, kind = list_next_field(&rest, ','), value, policy;
    if (rest.at > rest.end)
        return LIST_PLAIN;
    if (list_is_one_of(kind, PARTS))
        return LIST_PART;
    if (list_is_one_of(kind, EXPRESSIONS))
        return LIST_EXPRESSION;
    if (list_is_one_of(kind, OTHER_LISTS))
        return LIST_DIRECTIVE;
    if (!list_is_one_of(kind, HOSTS))
        return LIST_PLAIN;
    value = list_next_field(&rest, ',');
    policy = rest.at > rest.end ? value : list_next_field(&rest, ',');
    *line = value;
    return list_is_one_of(policy, PASSES) ? LIST_MODIFIER : LIST_PROXY;
}

/* Removes what YAML writes around an item of a list, as in - '+.h' # why and - DOMAIN-SUFFIX,h.
 * Other items of several words are prose, and URLs are found in them without this. */
static struct list_span list_item(struct list_span line) {
    if (*line.at != '-' || !list_begins(line, "- "))
        return line;
    struct list_span rest = {line.at + 2, line.end}, item = list_unquoted(rest);
    const struct list_span word = list_word(&rest);
    rest = list_trim(rest);
    const bool is_word = rest.at == rest.end || *rest.at == '#';
    if (is_word)
        item = list_unquoted(word);
    const bool is_proxy = list_proxy(&(struct list_span){item.at, item.end}) != LIST_PLAIN;
    return item.at < item.end && (is_proxy || (is_word && !list_has_scheme(item))) ? item : line;
}

/* Reads the heading of a table: names of fields, one of which is the name of the entries. It may be
 * in a remark, but a remark with blanks is prose. Beside a field of hosts, `ioc` describes them. */
static bool list_heading(struct list_span line, struct list_heading *heading) {
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
static bool list_row(const struct list_heading *heading, struct list_span line,
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

/* --- Lines --- */

/* A line of a hosts file: an address, and names, which are left in the state. An address may also
 * be followed by a count or a date, or be the first one of a range. */
static enum list_form list_hosts(struct list_state *state, struct list_span *line) {
    struct list_span rest = *line, address = list_word(&rest), next;
    const bool is_zero = list_is(address, "0");
    if (!is_zero && !list_is_ipv4(address) && !list_is_ipv6(address))
        return LIST_PLAIN;
    rest.end = list_find(rest, '#');
    const struct list_span names = rest;
    next = list_word(&rest);
    const bool is_dash =
        list_is(next, "-") || (list_begins(next, "-") && url_is_digit(next.at[1])); /* of a range */
    if (next.at == next.end || is_dash || list_has_scheme(next))
        return LIST_PLAIN;
    if (!is_zero && list_is_number(next)) {
        *line = address;
        return LIST_FIELD;
    }
    if (!is_zero && !list_is_sink(address) && (list_is_ipv4(next) || list_is_ipv6(next)))
        return LIST_RANGE;
    state->names = list_trim(names);
    state->form = LIST_HOSTS;
    return LIST_HOSTS;
}

struct list_span list_next_name(struct list_state *state) {
    struct list_span *rest = &state->names;
    if (state->form == LIST_HOSTS)
        return list_word(rest);
    const struct list_span name = {rest->at, list_find(*rest, '/')};
    rest->at = name.end < rest->end ? name.end + 1 : rest->end;
    return name;
}

enum list_form list_narrow(struct list_state *state, struct list_span *line) {
    enum list_form form;
    struct list_span entry = *line;
    const uint8_t separator = state->heading.separator;
    const bool is_empty = line->at == line->end;
    const bool is_remark = is_empty || (list_is_remark(*line) && *line->at != separator);
    const bool is_heading = !state->begun && !is_empty && list_heading(*line, &state->heading);
    if (is_remark) {
        state->adblock |= !is_empty && *line->at == '[';
        return LIST_NOTHING;
    }
    state->begun = true;
    if (is_heading)
        return LIST_HEADING;
    if (state->heading.fields > 0 && list_row(&state->heading, *line, &entry)) {
        if (state->heading.hosts_alone || list_length(entry) == 0)
            return LIST_NO_URL_FIELD;
        *line = entry;
        return LIST_COLUMN;
    }
    *line = list_trim(*line); /* under a heading with tabs, it has those at its ends */
    if (line->at == line->end)
        return LIST_NOTHING;
    *line = list_item(*line);
    form = list_adblock(state, line);
    if (form == LIST_PLAIN)
        form = list_hosts(state, line);
    if (form == LIST_PLAIN)
        form = list_resolver(line);
    if (form == LIST_DNSMASQ) {
        state->names = *line;
        state->form = form;
    }
    if (form != LIST_PLAIN)
        return form;
    const bool tabs = list_has(*line, '\t');
    if (*line->at == '"' || tabs)
        return list_field(line, tabs ? '\t' : list_separator(*line));
    if (list_has_scheme(*line))
        return LIST_PLAIN;
    const bool commas = list_has(*line, ',');
    form = commas ? list_proxy(line) : LIST_PLAIN;
    if (form != LIST_PLAIN)
        return form;
    const uint8_t sign = commas ? ',' : ';';
    struct list_span first = {line->at, list_find(*line, sign)};
    if (first.end < line->end &&
        (!list_has(first, '/') || list_is_number(first) || list_network(&first) != LIST_PLAIN))
        return list_field(line, sign);
    if (list_network(&(struct list_span){line->at, line->end}) == LIST_RANGE)
        return LIST_RANGE;
    if (list_has(*line, ' '))
        return list_field(line, ' ');
    return list_is_part(state, *line) ? LIST_PART : LIST_PLAIN;
}

/* Rules of Adblock, uBlock and AdGuard: cosmetic rules, which are about elements of a page, and
 * rules that name a host or a page, with options. The options decide whether a rule stops a person
 * who opens the page that it names, because only such a rule is an entry without a condition. */
#include "list/list.h"

/* Returns true if a rule is about elements of a page. It has a mark (##, #@#, #?#, #$#, #%#, #$?#
 * and so on) after its domains, in which is no scheme, quotation mark or semicolon, and no blank
 * but after a comma; or after any regular expression. With a blank before the mark and one after
 * it, it is a remark. Without such a mark, $$ and $@$ after names are one. */
static bool list_is_cosmetic(struct list_piece line) {
    const uint8_t *mark = list_find(line, '#'), *after = mark + (mark < line.end);
    while (after < line.end && memchr("@$?%", *after, 4) != NULL)
        after++;
    if (after == line.end || *after != '#') {
        const struct list_piece dollar = {list_find(line, '$'), line.end};
        return dollar.at > line.at && (list_begins(dollar, "$$") || list_begins(dollar, "$@$")) &&
               list_find_any((struct list_piece){line.at, dollar.at}, " \t\"#/:;=?|") == dollar.at;
    }
    const struct list_piece scope = list_trim((struct list_piece){line.at, mark});
    for (const uint8_t *at = scope.at; at < scope.end && *line.at != '/'; at++)
        if (*at == '"' || *at == ';' || (list_is_blank(*at) && at[-1] != ','))
            return false;
    return (*line.at == '/' || !list_contains(scope, "://")) &&
           (scope.end == mark || (after + 1 < line.end && !list_is_blank(after[1])));
}

/* What the options of rules do to a person who opens the page that a rule names. */
enum list_option {
    LIST_NO_OPTION,
    LIST_CHANGES,   /* makes a rule that does not block, for example one that cancels another */
    LIST_REWRITE,   /* the same, unless a resolver answers an error or a blocking address */
    LIST_CONDITION, /* the rule does not stop everybody */
    LIST_VALUES,    /* the same, unless all its values are exceptions for other pages */
    LIST_DENY,      /* the same, but its values are exceptions without a mark */
    LIST_KIND,      /* the rule stops this kind of requests, so without LIST_PAGE no page */
    LIST_PAGE,
    LIST_ANY_OPTION, /* any other */
};

/* Returns what an option does, by its name, which may have a ~ in front. */
static enum list_option list_option_of(struct list_piece name) {
    static const struct {
        enum list_option option, with_tilde;
        const char *names;
    } OPTIONS[] = {
        {LIST_CONDITION, LIST_CONDITION, "1p,3p,first-party,third-party,"},
        {LIST_CONDITION, LIST_NO_OPTION,
         "dnstype,method,strict-first-party,strict-third-party,strict1p,strict3p,"},
        {LIST_VALUES, LIST_NO_OPTION, "app,client,ctag,domain,from,ipaddress,to,top,"},
        {LIST_DENY, LIST_NO_OPTION, "denyallow,"},
        {LIST_PAGE, LIST_CONDITION, "all,doc,document,"},
        {LIST_KIND, LIST_KIND,
         "beacon,css,font,frame,image,media,mp4,object,object-subrequest,other,ping,popunder,"
         "popup,script,stylesheet,subdocument,webrtc,websocket,xhr,xmlhttprequest,"},
        {LIST_ANY_OPTION, LIST_ANY_OPTION, "match-case,_,__,___,____,_____,"},
        {LIST_ANY_OPTION, LIST_NO_OPTION, "empty,important,network,reason,redirect,"},
        {LIST_REWRITE, LIST_NO_OPTION, "dnsrewrite,"},
        {LIST_CHANGES, LIST_NO_OPTION,
         "badfilter,content,cookie,csp,ehide,elemhide,extension,genericblock,generichide,ghide,"
         "header,hls,inline-font,inline-script,jsinject,jsonprune,permissions,queryprune,"
         "redirect-rule,referrerpolicy,removeheader,removeparam,replace,rewrite,shide,"
         "specifichide,stealth,uritransform,urlblock,urlskip,urltransform,xmlprune,"},
    };
    const bool with_tilde = list_begins(name, "~");
    name.at += with_tilde;
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        if (list_is_one_of(name, OPTIONS[i].names))
            return with_tilde ? OPTIONS[i].with_tilde : OPTIONS[i].option;
    return LIST_NO_OPTION;
}

/* Returns the host of a pattern. */
static struct list_piece list_pattern_host(struct list_piece pattern) {
    pattern.at += list_begins(pattern, "http://") ? 7 : list_begins(pattern, "https://") ? 8 : 0;
    return (struct list_piece){pattern.at, list_find_any(pattern, "/^:?|*")};
}

/* Returns true if a host is a domain or below it, or may be. Of word.* the host has `word.` in it.
 * Whether it matches another wildcard or a regular expression is not known. A host that is longer
 * than DNS allows is not compared, so that a line takes linear time. */
static bool list_is_below(struct list_piece host, struct list_piece domain) {
    const bool any_end = list_ends(domain, ".*");
    domain.end -= any_end;
    const size_t length = list_length(domain);
    if (list_has(domain, '*') || list_begins(domain, "/") || list_length(host) > 255)
        return true;
    if (length == 0 || length > list_length(host))
        return false;
    for (const uint8_t *at = any_end ? host.at : host.end - length; at + length <= host.end; at++) {
        size_t i = at == host.at || at[-1] == '.' ? 0 : length + 1;
        while (i < length && url_lower(at[i]) == url_lower(domain.at[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

/* Returns true if a rule with these values, which have bars between them, does not stop everybody:
 * one of them is not an exception, or is an exception for the page that the rule names. Exceptions
 * begin with ~, but those of denyallow do not. */
static bool list_demands(struct list_piece values, bool denies, struct list_piece pattern) {
    const struct list_piece host = list_pattern_host(pattern);
    bool demands = list_length(values) == 0;
    while (values.at < values.end && !demands) {
        struct list_piece value = list_split(&values, '|');
        demands = denies == (*value.at == '~');
        value.at += !denies;
        demands = demands || list_is_below(host, value);
    }
    return demands;
}

/* Returns whether a rule with some options, from their dollar on, does not block, has a condition,
 * or stops whoever opens what its pattern names. LIST_PLAIN means that some of them are not
 * options. Keeps options that mean the same for any pattern. */
static enum list_form list_with_options(struct bloom_list *list, struct list_piece options,
                                        struct list_piece pattern) {
    struct list_piece rest = {options.at + 1, options.end};
    bool has[LIST_ANY_OPTION + 1] = {false};
    while (rest.at < rest.end) {
        struct list_piece value = list_split(&rest, ',');
        enum list_option option = list_option_of(list_trim(list_split(&value, '=')));
        if (option == LIST_VALUES || option == LIST_DENY)
            option = list_demands(value, option == LIST_DENY, pattern) ? LIST_CONDITION
                                                                       : LIST_ANY_OPTION;
        if (option == LIST_REWRITE && list_length(value) > 0) {
            const struct list_piece last = list_last(value, ';'); /* empty in NXDOMAIN;; */
            if (list_is_one_of(last, ",noerror,nxdomain,refused,servfail,") || list_is_sink(last))
                option = LIST_ANY_OPTION;
        }
        has[option] = true;
    }
    const enum list_form with = has[LIST_CHANGES] || has[LIST_REWRITE] ? LIST_MODIFIER
                                : has[LIST_CONDITION]                  ? LIST_ADBLOCK_CONDITION
                                : has[LIST_NO_OPTION]                  ? LIST_PLAIN
                                : has[LIST_KIND] && !has[LIST_PAGE]    ? LIST_ADBLOCK_CONDITION
                                                                       : LIST_ADBLOCK_OPTIONS;
    if (with != LIST_PLAIN && !list_has(options, '~') && !list_contains(options, "denyallow")) {
        list->kept = options;
        list->kept_form = with;
    }
    return with;
}

/* Returns the dollar before the options of a rule, or the end if there are none. It is the last
 * dollar that a name follows, and then nothing, a value or another option. */
static const uint8_t *list_options(struct list_piece line) {
    const bool any = list_has(line, '$');
    for (const uint8_t *dollar = line.end; any && dollar-- > line.at + 1;) {
        if (*dollar != '$')
            continue;
        const uint8_t *at =
            dollar + 1 + list_begins((struct list_piece){dollar + 1, line.end}, "~");
        const uint8_t *name = at;
        while (at < line.end && list_is_of_name(*at))
            at++;
        if (at > name && (at == line.end || *at == '=' || *at == ','))
            return dollar;
    }
    return line.end;
}

/* Returns true if what is before options may be the pattern of a rule although nothing marks it as
 * one, such as .host/path, host/path, 2001:db8::1 and *. */
static bool list_is_pattern(struct list_piece pattern) {
    return list_find_any(pattern, " \t\",;") == pattern.end &&
           list_find_any(pattern, ".:*") < pattern.end && !list_has_scheme(pattern);
}

/* Returns true if a pattern ends with a dot or a hyphen in the name of a host, which therefore goes
 * on. */
static bool list_ends_in_name(struct list_piece pattern) {
    return list_length(pattern) > 1 && (pattern.end[-1] == '.' || pattern.end[-1] == '-') &&
           list_pattern_host(pattern).end == pattern.end;
}

/* In a list with the heading [Adblock ...], such as EasyList, everything but a name is only a part,
 * because uBlock and AdGuard take a name for a host. A name that ends like a file is not a host. */
bool list_is_part(const struct bloom_list *list, struct list_piece pattern) {
    const bool is_odd = *pattern.at == '-' || *pattern.at == '_' || *pattern.at == '.';
    if ((!list->adblock && !is_odd) || list_is_ipv6(pattern))
        return false;
    if (list_is_one_of(list_last(pattern, '.'), "aspx,css,gif,htm,html,jpg,js,php,png,swf,"))
        return true;
    while (pattern.at < pattern.end && (list_is_of_name(*pattern.at) || *pattern.at == '.'))
        pattern.at++;
    return list->adblock && (is_odd || pattern.at < pattern.end);
}

enum list_form list_adblock(struct bloom_list *list, struct list_piece *line) {
    enum list_form form = LIST_OTHER;
    if (list_begins(*line, "@@"))
        return LIST_EXCEPTION;
    if (list_is_cosmetic(*line))
        return LIST_COSMETIC;
    if (*line->at == '^') /* of a proxy that rewrites addresses */
        return LIST_EXPRESSION;
    *line = list_without_remark(*line);
    const bool has_bar = list_begins(*line, "|"), anchored = has_bar || list_begins(*line, "://");
    if (anchored) {
        form = LIST_ADBLOCK;
        line->at += list_begins(*line, "||") ? 2 : has_bar ? 1 : 3;
    } else if (list_ends(*line, "^") || list_ends(*line, "^*")) {
        form = LIST_ADBLOCK;
    }
    const uint8_t *dollar = list_options(*line);
    if (dollar < line->end) {
        const struct list_piece pattern = list_trim((struct list_piece){line->at, dollar});
        const bool is_rule = form == LIST_ADBLOCK || dollar[-1] == '^' || dollar[-1] == '|' ||
                             (*line->at == '/' && dollar[-1] == '/');
        enum list_form with =
            list_with_options(list, (struct list_piece){dollar, line->end}, pattern);
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
        return list_find_any(*line, "$()*+?[\\]^{|}") == line->end ? LIST_PART : LIST_EXPRESSION;
    if ((form != LIST_OTHER || list_begins(*line, ".")) && list_ends_in_name(*line))
        return LIST_PART;
    if (form == LIST_OTHER)
        return form;
    while (line->at < line->end &&
           (line->end[-1] == '^' || line->end[-1] == '|' ||
            (line->end[-1] == '*' && list_length(*line) > 1 && line->end[-2] == '^')))
        line->end--;
    if (!anchored && list_is_part(list, *line))
        return LIST_PART;
    if (list_has(*line, ' '))
        return LIST_WORDS;
    return list_has(*line, '^') ? LIST_INNER_WILDCARD : form;
}

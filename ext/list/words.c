/* What people write around entries: marks of documents, labels, maps of YAML, patterns of STIX, and
 * prose, in which what is defanged is the entry. */
#include "list/list.h"

/* Returns the length of the mark that a document puts before an item, with the blank after it: a
 * hyphen, an asterisk, a plus sign, a bullet, 1. or 1), or the bar before a row. Before what a
 * person has defanged, a hyphen needs no blank. Returns 0 for any other line. */
static size_t list_mark(struct bloom_list *list, struct list_piece line) {
    static const char BULLET[] = "\xe2\x80\xa2 ";
    const struct list_piece item = {line.at + 1, line.end};
    struct list_piece rest = line;
    if (*line.at == '|')
        return list_begins(item, " ") || list_contains(line, " |") || list_is_defanged(list, item);
    if (memchr("-*+", *line.at, 3) != NULL)
        return list_begins(item, " ") ? 2 : *line.at == '-' && list_is_defanged(list, item);
    while (rest.at < rest.end && rest.at - line.at < 3 && url_is_digit(*rest.at))
        rest.at++;
    return list_begins(line, BULLET) ? strlen(BULLET)
           : rest.at > line.at && (list_begins(rest, ". ") || list_begins(rest, ") "))
               ? (size_t)(rest.at - line.at) + 2
               : 0;
}

/* Removes what documents and YAML write around an item, so that the other forms see what is in it:
 * its mark, the bars at both ends of a row, and quotation marks or backticks around all of it. */
enum list_form list_marks(struct bloom_list *list, struct list_piece *line) {
    if (url_is_letter(*line->at) || *line->at == '/' || *line->at == '.' || *line->at == '@' ||
        list_begins(*line, "||"))
        return LIST_OTHER;    /* early, because most lines begin so */
    *line = list_trim(*line); /* under a heading with tabs, it has those at its ends */
    if (line->at == line->end)
        return LIST_NOTHING;
    struct list_piece item = *line;
    size_t mark = 1;
    for (unsigned marks = 0; marks < 3 && mark > 0; marks++) { /* in linear time */
        mark = item.at < item.end ? list_mark(list, item) : 0;
        item = list_trim((struct list_piece){item.at + mark, item.end});
    }
    if (item.at > line->at) {
        if (*line->at == '|')
            item.end -= list_ends(item, "|");
        else
            item = list_without_remark(item);
        if (list_has_scheme(item))
            item.end = list_find(item, ' '); /* what follows explains it */
    }
    item = list_begins(item, "\"") ? list_trim(item) : list_unquoted(item);
    if (item.at < item.end)
        *line = item;
    return LIST_OTHER;
}

/* Reads `key: value` of YAML, and a pattern of STIX with one comparison: [key:value = 'value']. The
 * key is a word for a type or `name`. */
enum list_form list_map(struct bloom_list *list, struct list_piece *line) {
    const bool is_stix = list_begins(*line, "[") && list_ends(*line, "']");
    struct list_piece rest = {line->at + is_stix, line->end - is_stix};
    struct list_piece key = list_trim(list_split(&rest, is_stix ? '=' : ':'));
    key.end -= is_stix && list_ends(key, ":value") ? strlen(":value") : 0;
    const bool is_name = list_is(key, "name");
    if ((!is_stix && (rest.at == rest.end || !list_is_blank(*rest.at))) ||
        (!is_name && list_meaning_of(key).type != LIST_IS_HOST_TYPE))
        return LIST_OTHER;
    struct list_piece value = list_unquoted(list_word(&rest));
    rest = list_trim(rest);
    if ((rest.at < rest.end && *rest.at != '#') ||
        list_class_of(list, &value) < (is_name ? LIST_IS_ENTRY : LIST_IS_DOUBTFUL))
        return LIST_OTHER;
    *line = value;
    return LIST_FIELD;
}

/* Returns a word without the label in front of it: C2:hxxp://h, link=hxxps://h, src="hxxps://h. */
static struct list_piece list_after_label(struct list_piece word) {
    struct list_piece rest = {list_find_any(word, ":=./[") + 1, word.end};
    if (rest.at >= rest.end || strchr(":=", rest.at[-1]) == NULL)
        return word;
    rest.at += *rest.at == '"';
    return rest;
}

struct list_piece list_find_defanged(struct bloom_list *list, struct list_piece line) {
    static const char AROUND[] = "`'\"(),;:<>*|-.+";
    const bool may_be = list_find_any(line, "[({]") < line.end || list_contains(line, "hxxp");
    struct list_piece name = {line.end, line.end}, address = name;
    for (bool has_mail = false; may_be && line.at < line.end;) {
        struct list_piece word = list_word(&line);
        while (word.at < word.end && memchr(AROUND, *word.at, strlen(AROUND)) != NULL)
            word.at++;
        while (word.at < word.end && memchr(AROUND, word.end[-1], strlen(AROUND)) != NULL)
            word.end--;
        const struct list_piece rest = list_after_label(word);
        if (!list_is_defanged(list, word) && list_mangled_scheme(rest) == 0)
            continue;
        enum list_class class = list_class_of(list, &word);
        if (class < LIST_IS_RANGE && rest.at > word.at) {
            word = rest;
            class = list_class_of(list, &word);
        }
        if (class >= LIST_IS_URL)
            return word;
        has_mail |= list_has(word, '@');
        if (class < LIST_IS_ENTRY || has_mail)
            continue;
        list_read(list, word, LIST_FIELD);
        struct list_piece *first = list->url.address ? &address : &name;
        if (first->at == first->end)
            *first = word;
    }
    return name.at < name.end ? name : address;
}

/* A line that begins with a URL is that URL, unless a person has defanged it and added words. A URL
 * among words has nothing but numbers and signs before it, because other lines are prose. In a list
 * whose author defangs addresses, those that are not defanged are its sources. A host goes before
 * numbers and dates, one word as long as a hash, or @schedule of dnscrypt-proxy. */
enum list_form list_words(struct bloom_list *list, struct list_piece *line) {
    const struct list_piece defanged = list_find_defanged(list, *line);
    struct list_piece rest = *line, word;
    const bool is_defanged = list_length(defanged) > 0;
    if (!list_has(*line, ' ') && (!is_defanged || list_length(defanged) == list_length(*line)))
        return LIST_OTHER;
    if (is_defanged) {
        if (list_class_of(list, line) == LIST_IS_NAMES)
            return LIST_NAMES;
        *line = defanged;
        return LIST_FIELD;
    }
    if (list_has_scheme(*line))
        return LIST_PLAIN;
    if (list->defanged)
        return LIST_WORDS;
    while (rest.at < rest.end) {
        word = list_unquoted(list_word(&rest));
        if (list_has_scheme(word)) {
            *line = word;
            return LIST_FIELD;
        }
        if (url_is_letter(*word.at))
            break;
    }
    rest = *line;
    word = list_word(&rest);
    word.end -= list_ends(word, ":");
    rest = list_trim(rest);
    const bool is_opaque = list_length(rest) >= 32 && !list_has(rest, ' ');
    if ((!is_opaque && !list_is_number(rest) && *rest.at != '@') ||
        list_class_of(list, &word) < LIST_IS_ENTRY)
        return LIST_WORDS;
    *line = word;
    return LIST_FIELD;
}

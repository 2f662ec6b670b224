/* Reads a list line by line. Each form in turn is asked for the part of a line that is the entry,
 * until one recognises the line. Then list_read makes the key (entry.c). Lines that are nothing but
 * a plain URL, as most are, take a shortcut with the same result (list_next_plain). */
#include "list/list.h"

#include "base/limits.h"

#include <stddef.h>

const char *list_note(enum list_form form) {
#define LIST_NOTE(form, words) words,
    static const char *const NOTES[] = {LIST_FORMS(LIST_NOTE)};
    return NOTES[form];
}

void bloom_list_begin(struct bloom_list *list, const uint8_t *bytes, size_t length) {
    memset(list, 0, offsetof(struct bloom_list, url));
    list->bytes = bytes;
    list->length = length;
    list->line_feed = url_find(bytes, 0, length, '\n');
}

/* Goes past a line that stops there. */
static void list_end_line(struct bloom_list *list, const uint8_t *stop) {
    const uint8_t *end = list->bytes + list->length;
    list->at = (size_t)(stop - list->bytes) + (stop < end);
    if (stop + 1 < end && stop[0] == '\r' && stop[1] == '\n')
        list->at++;
    list->line++;
}

/* Reads the next line, without blanks around it. */
static struct list_piece list_next_line(struct bloom_list *list) {
    const uint8_t *start = list->bytes + list->at;
    if (list->line_feed < list->at)
        list->line_feed = url_find(list->bytes, list->at, list->length, '\n');
    const struct list_piece line = {
        start, list->bytes + url_find(list->bytes, list->at, list->line_feed, '\r')};
    list_end_line(list, line.end);
    /* The fields at the ends of a row may be empty. */
    return list->heading.separator == '\t' && list_has(line, '\t') ? line : list_trim(line);
}

/* Reads the next line if it is a plain URL in one of the four most common forms, of which it is
 * known what the other functions would find. Otherwise returns false, and reads nothing. */
static bool list_next_plain(struct bloom_list *list, struct list_piece *entry,
                            enum list_form *form) {
    enum { PLAIN_MOST = BLOOM_LIST_LINE_MOST - 16 }; /* with room for what is around it */
    const uint8_t *start = list->bytes + list->at, *end = list->bytes + list->length, *at = start;
    struct bloom_url_plain plain;
    if (!list->begun || list->heading.fields > 0 ||
        end - at <= 10) /* so that the longest of what is before a host can be read */
        return false;
    *form = LIST_PLAIN;
    if (url_is_letter(*at)) {
        if (list->adblock)
            return false; /* perhaps only a part of an address */
    } else if (at[0] == '|' && at[1] == '|') {
        *form = LIST_ADBLOCK;
        at += 2;
    } else if ((memcmp(at, "0.0.0.0", 7) == 0 && list_is_blank(at[7])) ||
               (memcmp(at, "127.0.0.1", 9) == 0 && list_is_blank(at[9]))) {
        *form = LIST_HOSTS;
        at += *at == '0' ? 8 : 10;
    } else if (list->adblock || *at == '-' || *at == '_') {
        return false;
    } else if (at[0] == '*' && at[1] == '.') {
        *form = LIST_WILDCARD;
        at += 2;
    }
    const uint8_t *most = end - at < PLAIN_MOST ? end : at + PLAIN_MOST;
    if (!bloom_url_read_plain(&plain, at, (size_t)(most - at)) ||
        (*form != LIST_PLAIN && plain.host > 0) ||
        ((*form == LIST_HOSTS || *form == LIST_WILDCARD) && plain.address) ||
        (*form == LIST_ADBLOCK && at[plain.end - 1] == '-')) /* perhaps a part of a name */
        return false;
    const uint8_t *stop = at + plain.end;
    stop += *form == LIST_ADBLOCK && stop < most && *stop == '^';
    const size_t kept = list_length(list->kept);
    if (*form == LIST_ADBLOCK && kept < (size_t)(most - stop) && *stop == '$' && kept > 0 &&
        memcmp(stop, list->kept.at, kept) == 0) {
        stop += kept;
        *form = list->kept_form;
    }
    if (*form >= LIST_NO_KEY || (stop < end && *stop != '\n' && *stop != '\r'))
        return false;
    bloom_url_write_plain(&list->url, &plain, at, list->key);
    *entry = *form == LIST_HOSTS ? (struct list_piece){at, stop} : (struct list_piece){start, stop};
    *form = list_settle(list, *form);
    list_end_line(list, stop);
    return true;
}

bool list_is_remark(struct list_piece line) {
    if (memchr("#!;", *line.at, 3) != NULL ||
        (list_length(line) < 8 && (list_begins(line, "sep=") || list_begins(line, "\"sep="))))
        return true;
    if (list_begins(line, "//"))
        return list_find_any(line, " \t") < line.end || list_find_any(line, ".:") == line.end ||
               line.at[2] == '/';
    return line.end[-1] == ']' && (list_begins(line, "[adblock") || list_begins(line, "[ublock") ||
                                   list_begins(line, "[adguard"));
}

struct list_piece list_without_remark(struct list_piece line) {
    bool quoted = false, names = false;
    struct list_piece rest = line;
    do
        list_split(&rest, ' ');
    while (rest.at < rest.end && *rest.at != '#' && *rest.at != ';' && *rest.at != '/');
    if (rest.at == rest.end && !list_has(line, '\t'))
        return line; /* early, because most lines have no such sign */
    for (const uint8_t *at = line.at; at < line.end; at++) {
        if (names && !quoted && list_is_blank(at[-1]) &&
            (*at == '#' || *at == ';' || list_begins((struct list_piece){at, line.end}, "// ")))
            line.end = at;
        quoted ^= *at == '"';
        names |= *at == '.' || *at == ':';
    }
    return list_trim(line);
}

static enum list_form list_remark(struct bloom_list *list, struct list_piece *line) {
    const bool is_empty = line->at == line->end;
    if (!is_empty && (!list_is_remark(*line) || *line->at == list->heading.separator)) {
        list->begun = true;
        return LIST_OTHER;
    }
    list->adblock |= !is_empty && *line->at == '[';
    return LIST_NOTHING;
}

/* Any line that is left: a URL or name, unless it is a part of an address or a hash. */
static enum list_form list_bare(struct bloom_list *list, struct list_piece *line) {
    return list_is_hash(*line)                                    ? LIST_HASH
           : list_is_part(list, *line) && !list_has_scheme(*line) ? LIST_PART
                                                                  : LIST_PLAIN;
}

/* The first form that recognises a line reads it. Each row says why it is not further down. */
static list_reader *const ORDER[] = {
    list_heading,    /* may be in a remark, and says how the lines after it are read */
    list_remark,     /* may contain anything */
    list_row,        /* knows its field by the heading, whatever is in the others */
    list_marks,      /* removes marks, so that the other forms see what is in the item */
    list_signature,  /* contains options and values of every kind */
    list_expression, /* its bar is also a sign of rules of Adblock */
    list_adblock,    /* its signs are in no other form, and its options may contain any */
    list_hosts,      /* an address followed by names, of which a tab separates no fields */
    list_dnsmasq,    /* these three begin with a word of their own, or have a record as second */
    list_unbound,    /* word; their values contain the quotation marks and tabs asked for next */
    list_zone,       list_map, /* its key is a word for a type, perhaps after a bracket */
    list_proxy,                /* its first field is a word of its own */
    list_fields,               /* knows a page, which may contain commas and bars */
    list_words,                /* any other line with blanks */
    list_bare,                 /* what is left is one word */
};

/* Reads a line, of which an entry that is one of several fields is left. LIST_NOTHING means that it
 * has no row, or several names, which are left in the state. */
static enum list_form list_read_line(struct bloom_list *list, struct list_piece *line) {
    struct list_piece entry = *line;
    enum list_form form = LIST_OTHER;
    if (list_length(*line) > BLOOM_LIST_LINE_MOST) {
        line->end = line->at + BLOOM_LIST_LINE_MOST;
        return LIST_TOO_LONG;
    }
    for (size_t i = 0; form == LIST_OTHER; i++)
        form = ORDER[i](list, &entry);
    if ((form == LIST_HOSTS || form == LIST_DNSMASQ || form == LIST_NAMES) &&
        entry.at < entry.end) {
        list->names = entry;
        list->names_form = form == LIST_NAMES ? LIST_FIELD : form;
        return LIST_NOTHING;
    }
    if (form != LIST_NOTHING && form < LIST_NO_KEY)
        form = list_read(list, entry, form);
    *line = form == LIST_FIELD ? entry : *line;
    return form;
}

enum bloom_list_step bloom_list_next(struct bloom_list *list, struct bloom_list_entry *entry) {
    const size_t start = list->at;
    struct list_piece piece = {NULL, NULL};
    enum list_form form = LIST_NOTHING;
    bool is_text = false; /* known to be text */
    for (;;) {
        if (list->names.at < list->names.end) {
            piece = list_next_name(&list->names, list->names_form);
            form = list_read(list, piece, list->names_form);
            break;
        }
        if ((is_text = list_next_plain(list, &piece, &form)))
            break;
        if (list->at >= list->length)
            return BLOOM_LIST_END;
        if (list->at - start > bloom_limits.list_stretch)
            return BLOOM_LIST_PAUSE;
        piece = list_next_line(list);
        form = list_read_line(list, &piece);
        if (form != LIST_NOTHING)
            break;
    }
    const bool has_key = form < LIST_NO_KEY;
    if (has_key)
        list->key[list->url.length] = '\0';
    *entry = (struct bloom_list_entry){
        .line = list->line,
        .written = piece.at,
        .written_bytes = list_length(piece),
        .is_text = is_text || bloom_is_utf8(piece.at, list_length(piece)),
        .key = has_key && form != LIST_ADBLOCK_CONDITION ? list->key : NULL,
        .request_key = has_key ? list->key : NULL,
        .key_bytes = has_key ? list->url.length : 0,
        .host_bytes = has_key ? list->url.host : 0,
        .form = form,
        .note = list_note(form),
    };
    return BLOOM_LIST_ENTRY;
}

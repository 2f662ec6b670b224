/* Parts of a line that several forms have: remarks and networks of addresses. */
#include "list/list.h"

struct list_piece list_trim_wide(struct list_piece piece) {
    static const char WIDE[][4] = {"\xc2\xa0",     "\xe2\x80\x8b", "\xe2\x80\x8e", "\xe2\x80\xa8",
                                   "\xe2\x80\xaf", "\xe3\x80\x80", LIST_MARK};
    for (size_t i = 0; i < sizeof WIDE / sizeof *WIDE;) {
        while (piece.at < piece.end && list_is_blank(*piece.at))
            piece.at++;
        while (piece.at < piece.end && list_is_blank(piece.end[-1]))
            piece.end--;
        if (list_is_trimmed(piece))
            break;
        const bool begins = list_begins(piece, WIDE[i]),
                   ends = !begins && list_ends(piece, WIDE[i]);
        piece.at += begins ? strlen(WIDE[i]) : 0;
        piece.end -= ends ? strlen(WIDE[i]) : 0;
        i = begins || ends ? 0 : i + 1;
    }
    return piece;
}

bool list_is_remark(struct list_piece line) {
    struct list_piece words = {line.at + list_begins(line, "\""), line.end - list_ends(line, "\"")};
    if (*line.at == '#' || *line.at == '!' || *line.at == ';' ||
        (list_length(words) == 5 && list_begins(words, "sep="))) /* how Excel names separators */
        return true;
    if (list_begins(line, "//"))
        return list_length(line) == 2 || list_has_blank(line) || line.at[2] == '/' ||
               line.at[2] == '-' || line.at[2] == '=';
    return line.end[-1] == ']' && (list_begins(line, "[adblock") || list_begins(line, "[ublock") ||
                                   list_begins(line, "[adguard"));
}

struct list_piece list_without_remark(struct list_piece line) {
    bool quoted = false, names = false;
    if (!list_has(line, '\t')) { /* first, because most lines have no such sign */
        const uint8_t *blank = list_find(line, ' ');
        while (blank + 1 < line.end && blank[1] != '#' && blank[1] != ';' && blank[1] != '/')
            blank = list_find((struct list_piece){blank + 1, line.end}, ' ');
        if (blank + 1 >= line.end)
            return line;
    }
    for (const uint8_t *at = line.at; at < line.end; at++) {
        if (names && !quoted && list_is_blank(at[-1]) &&
            (*at == '#' || *at == ';' || list_begins((struct list_piece){at, line.end}, "// ")))
            line.end = at;
        quoted ^= *at == '"';
        names |= *at == '.' || *at == ':';
    }
    return list_trim(line);
}

enum list_form list_network(struct list_piece *piece) {
    if (piece->at < piece->end && url_is_letter(*piece->at) && url_digit(*piece->at) > 15)
        return LIST_PLAIN; /* early, because most names begin so */
    const uint8_t *slash = list_find(*piece, '/'), *dash = list_find(*piece, '-');
    struct list_piece address = {piece->at, slash}, bits = {slash + 1, piece->end};
    const struct list_piece first = list_trim((struct list_piece){piece->at, dash});
    unsigned count = 0;
    if (dash < piece->end && list_is_ip(first)) {
        const struct list_piece last = list_trim((struct list_piece){dash + 1, piece->end});
        return list_is_ip(last) || list_is_number(last) ? LIST_RANGE : LIST_PLAIN;
    }
    if (slash == piece->end || !list_is_ip(address))
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
    piece->end = slash;
    return count == most ? LIST_NETWORK_OF_ONE : LIST_RANGE;
}

/* A piece is a stretch of a list's bytes. These functions trim pieces, compare them with words, and
 * recognise schemes, addresses and numbers. */
#ifndef BLOOM_LIST_PIECE_H
#define BLOOM_LIST_PIECE_H

#include "url/address.h"
#include "url/bytes.h"

#include <string.h>

struct list_piece {
    const uint8_t *at, *end;
};

static inline size_t list_length(struct list_piece piece) {
    return (size_t)(piece.end - piece.at);
}

static inline bool list_is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t';
}

/* Returns true for a byte of a label of a name. Bytes beyond ASCII may be letters. */
static inline bool list_is_of_name(uint8_t byte) {
    return url_is_letter(byte) || url_is_digit(byte) || byte == '-' || byte == '_' || byte >= 0x80;
}

/* Returns true if a piece begins with a word. The word is in lower case, and the case of the piece
 * does not matter. */
static inline bool list_begins(struct list_piece piece, const char *word) {
    while (*word != '\0' && piece.at < piece.end && url_lower(*piece.at) == (uint8_t)*word) {
        piece.at++;
        word++;
    }
    return *word == '\0';
}

/* Returns true if a piece ends with a word, likewise. */
static inline bool list_ends(struct list_piece piece, const char *word) {
    size_t length = strlen(word);
    return list_length(piece) >= length &&
           list_begins((struct list_piece){piece.end - length, piece.end}, word);
}

/* Returns true if a piece certainly has no blanks at its ends. */
static inline bool list_is_trimmed(struct list_piece piece) {
    return piece.at == piece.end ||
           (*piece.at > ' ' && *piece.at < 0x80 && piece.end[-1] > ' ' && piece.end[-1] < 0x80);
}

/* Removes blanks from both ends. Copies from documents have no-break spaces, marks of direction and
 * width, U+3000 and byte order marks there. */
struct list_piece list_trim_wide(struct list_piece piece);

static inline struct list_piece list_trim(struct list_piece piece) {
    while (piece.at < piece.end && *piece.at == ' ') /* which is before most words */
        piece.at++;
    return list_is_trimmed(piece) ? piece : list_trim_wide(piece);
}

/* Returns true if a piece is a word, likewise. */
static inline bool list_is(struct list_piece piece, const char *word) {
    return list_begins(piece, word) && list_length(piece) == strlen(word);
}

/* Recognises one of some words in lower case, each with a comma after it. One may be empty. */
static inline bool list_is_one_of(struct list_piece piece, const char *words) {
    for (const uint8_t *at = piece.at; *words != '\0'; words++) {
        if (*words == ',' && at == piece.end)
            return true;
        if (*words != ',' && at < piece.end && url_lower(*at) == (uint8_t)*words) {
            at++;
        } else {
            words = strchr(words, ',');
            at = piece.at;
        }
    }
    return false;
}

/* Removes bytes up to 0x20 from both ends, as a browser does with a URL. */
static inline struct list_piece list_without_spaces(struct list_piece piece) {
    while (piece.at < piece.end && *piece.at <= ' ')
        piece.at++;
    while (piece.at < piece.end && piece.end[-1] <= ' ')
        piece.end--;
    return piece;
}

static inline const uint8_t *list_find(struct list_piece piece, uint8_t byte) {
    return piece.at + url_find(piece.at, 0, list_length(piece), byte);
}

static inline bool list_has(struct list_piece piece, uint8_t byte) {
    return list_find(piece, byte) < piece.end;
}

/* Removes the part before a byte, and the byte, from the rest, and returns that part. If the byte
 * is not in the rest, it returns the whole rest. */
static inline struct list_piece list_split(struct list_piece *rest, uint8_t byte) {
    const struct list_piece first = {rest->at, list_find(*rest, byte)};
    rest->at = first.end + (first.end < rest->end);
    return first;
}

/* Returns what follows the last such byte, or the whole piece if the byte is not in it. */
static inline struct list_piece list_last(struct list_piece piece, uint8_t byte) {
    struct list_piece last = {piece.end, piece.end};
    while (last.at > piece.at && last.at[-1] != byte)
        last.at--;
    return last;
}

/* Returns true if a piece contains a word, which is in lower case as in list_begins. */
static inline bool list_contains(struct list_piece piece, const char *word) {
    while (piece.at < piece.end && !list_begins(piece, word))
        piece.at = list_find((struct list_piece){piece.at + 1, piece.end}, (uint8_t)*word);
    return piece.at < piece.end;
}

/* Returns where the first of two bytes is in a piece, or its end. They may be the same. Where it is
 * near, this is faster than list_find. */
static inline const uint8_t *list_find_either(struct list_piece piece, uint8_t a, uint8_t b) {
    for (; list_length(piece) >= 8; piece.at += 8) {
        const uint64_t word = bloom_load64(piece.at);
        const uint64_t found = url_zeros(word ^ url_eight(a)) | url_zeros(word ^ url_eight(b));
        if (found != 0)
            return piece.at + bloom_lowest_one64(found) / 8;
    }
    while (piece.at < piece.end && *piece.at != a && *piece.at != b)
        piece.at++;
    return piece.at;
}

/* Returns where the first of some signs, or a zero byte, is in a piece, or its end. */
static inline const uint8_t *list_find_any(struct list_piece piece, const char *signs) {
    do
        piece.end = list_find(piece, (uint8_t)*signs);
    while (*signs++ != '\0');
    return piece.end;
}

/* Removes the first word, with the blanks before it, from the rest, and returns it. */
static inline struct list_piece list_word(struct list_piece *rest) {
    struct list_piece word = list_trim(*rest);
    rest->at = word.end = list_find_either(word, ' ', '\t');
    return word;
}

/* Recognises a scheme, perhaps defanged, and "://", perhaps in brackets, before anything. */
static inline bool list_has_scheme(struct list_piece piece) {
    size_t i = 0, length = list_length(piece);
    while (i < length && (url_is_letter(piece.at[i]) || (i > 0 && url_is_digit(piece.at[i])) ||
                          piece.at[i] == '*' || piece.at[i] == '+'))
        i++;
    piece.at += i;
    return i > 0 && (list_begins(piece, "://") || list_begins(piece, "[:]//") ||
                     list_begins(piece, "[://]") || list_begins(piece, ":\\\\"));
}

static inline bool list_read_ipv4(struct list_piece piece, uint32_t *address) {
    uint8_t bytes[IPV4_BYTES] = {0};
    unsigned dots = 0;
    for (const uint8_t *at = piece.at; at < piece.end; at++) {
        dots += *at == '.' && at + 1 < piece.end && at[1] != '.';
        if (!url_is_digit(*at) && *at != '.')
            return false;
    }
    const bool is_address =
        dots == 3 && url_read_number(piece.at, list_length(piece), bytes) == URL_ADDRESS;
    *address =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return is_address;
}

static inline bool list_is_ipv4(struct list_piece piece) {
    uint32_t address;
    return list_read_ipv4(piece, &address);
}

static inline bool list_is_ipv6(struct list_piece piece) {
    uint16_t groups[IPV6_GROUPS];
    const uint8_t *at = piece.at;
    while (at < piece.end && url_digit(*at) < 16)
        at++;
    if (at == piece.end || *at != ':')
        return false; /* early, because most names and dates are no addresses */
    piece.end = list_find(piece, '%');
    return url_read_ipv6(piece.at, list_length(piece), groups);
}

static inline bool list_is_ip(struct list_piece piece) {
    return list_is_ipv4(piece) || list_is_ipv6(piece);
}

/* Returns true for an address that a resolver answers for a host that it blocks. */
static inline bool list_is_sink(struct list_piece piece) {
    return list_is_one_of(piece, "0.0.0.0,::,::1,[::],[::1],") ||
           (list_begins(piece, "127.") && list_is_ipv4(piece));
}

/* Recognises numbers and dates: 12345, 2024.01.01, 12/31/2024, 2024-01-01T10:00:00Z. A browser
 * takes the first two for addresses. */
static inline bool list_is_number(struct list_piece piece) {
    unsigned dots = 0;
    const uint8_t *at = piece.at;
    at += list_begins(piece, "-");
    if (at == piece.end || !url_is_digit(*at))
        return false;
    for (; at < piece.end &&
           ((*at >= '-' && *at <= ':') || *at == '+' || *at == 'T' || *at == 'Z' || *at == ' ');
         at++)
        dots += *at == '.' && at + 1 < piece.end && url_is_digit(at[1]);
    return at == piece.end && dots < 3 && !list_is_ipv6(piece);
}

/* Recognises hashes: 32, 40, 64 or 128 hexadecimal digits. */
static inline bool list_is_hash(struct list_piece piece) {
    const size_t length = list_length(piece);
    while (piece.at < piece.end && url_digit(*piece.at) < 16)
        piece.at++;
    return piece.at == piece.end && (length == 32 || length == 40 || length == 64 || length == 128);
}

/* Returns a word without the marks around it, and then without a backslash before a URL, of which
 * AsciiDoc makes no link. In `a` | `b` the marks are not around all of it, and stay. */
struct list_piece list_without_marks(struct list_piece word);

/* Returns a word without blanks, quotation marks and marks of documents around it. It is inline,
 * because a call for each field of a CSV file takes a tenth of the time. */
BLOOM_INLINE struct list_piece list_unquoted(struct list_piece word) {
    word = list_trim(word);
    while (list_length(word) > 2 && *word.at == '"' && word.end[-1] == '"')
        word = list_trim((struct list_piece){word.at + 1, word.end - 1});
    return list_length(word) > 2 && *word.at == word.end[-1] ? list_without_marks(word) : word;
}

#endif

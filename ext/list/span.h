/* A span is a stretch of a list's bytes. These functions trim spans, compare them with words, and
 * recognise schemes, addresses and numbers. */
#ifndef BLOOM_LIST_SPAN_H
#define BLOOM_LIST_SPAN_H

#include "url/address.h"
#include "url/bytes.h"

#include <string.h>

/* The byte order mark. */
#define LIST_MARK "\xef\xbb\xbf"

struct list_span {
    const uint8_t *at, *end;
};

static inline size_t list_length(struct list_span span) {
    return (size_t)(span.end - span.at);
}

static inline bool list_is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t';
}

/* Returns true for a byte of a label of a name. Bytes beyond ASCII may be letters. */
static inline bool list_is_of_name(uint8_t byte) {
    return url_is_letter(byte) || url_is_digit(byte) || byte == '-' || byte == '_' || byte >= 0x80;
}

/* Returns the length of a blank beyond ASCII with which a span begins, or 0. Copies from documents
 * have no-break spaces, marks of direction and width, U+3000 and byte order marks. */
static inline size_t list_wide_blank(struct list_span span) {
    static const char *const WIDE[] = {"\xc2\xa0",     "\xe2\x80\x8b", "\xe2\x80\x8e",
                                       "\xe2\x80\xa8", "\xe2\x80\xaf", "\xe3\x80\x80",
                                       LIST_MARK};
    for (size_t i = 0; i < sizeof WIDE / sizeof *WIDE; i++)
        if (list_length(span) >= strlen(WIDE[i]) && memcmp(span.at, WIDE[i], strlen(WIDE[i])) == 0)
            return strlen(WIDE[i]);
    return 0;
}

/* Removes blanks from both ends. */
static inline struct list_span list_trim(struct list_span span) {
    size_t wide = span.at < span.end && (*span.at <= ' ' || *span.at >= 0x80 ||
                                         span.end[-1] <= ' ' || span.end[-1] >= 0x80);
    while (wide > 0) {
        while (span.at < span.end && list_is_blank(*span.at))
            span.at++;
        while (span.at < span.end && list_is_blank(span.end[-1]))
            span.end--;
        wide = span.at < span.end && *span.at >= 0x80 ? list_wide_blank(span) : 0;
        span.at += wide;
        for (size_t i = 2; span.at < span.end && span.end[-1] >= 0x80 && wide == 0 && i <= 3; i++)
            if (list_length(span) >= i &&
                list_wide_blank((struct list_span){span.end - i, span.end}) == i) {
                span.end -= i;
                wide = i;
            }
    }
    return span;
}

/* Returns true if a span begins with a word. The word is in lower case, and the case of the span
 * does not matter. */
static inline bool list_begins(struct list_span span, const char *word) {
    while (*word != '\0' && span.at < span.end && url_lower(*span.at) == (uint8_t)*word) {
        span.at++;
        word++;
    }
    return *word == '\0';
}

/* Returns true if a span ends with a word, likewise. */
static inline bool list_ends(struct list_span span, const char *word) {
    size_t length = strlen(word);
    return list_length(span) >= length &&
           list_begins((struct list_span){span.end - length, span.end}, word);
}

/* Returns true if a span is a word, likewise. */
static inline bool list_is(struct list_span span, const char *word) {
    return list_begins(span, word) && list_length(span) == strlen(word);
}

enum { LIST_FOLDED = 24 };

/* Writes a word between two commas, in lower case, perhaps without signs between letters and
 * digits. Returns false if it is empty or too long, or contains a comma. */
static inline bool list_fold(struct list_span word, bool letters_only, char folded[LIST_FOLDED]) {
    size_t used = 0;
    if (list_length(word) > LIST_FOLDED - 3) /* early, because most names are longer */
        return false;
    folded[used++] = ',';
    for (; word.at < word.end; word.at++) {
        if (*word.at == ',' || *word.at == '\0')
            return false;
        if (!letters_only || url_is_letter(*word.at) || url_is_digit(*word.at))
            folded[used++] = (char)url_lower(*word.at);
    }
    memcpy(folded + used, ",", 2);
    return used > 1;
}

/* Returns true if a span is one of some words in lower case: ",one,another,". */
static inline bool list_is_one_of(struct list_span span, const char *words) {
    char folded[LIST_FOLDED];
    return list_fold(span, false, folded) && strstr(words, folded) != NULL;
}

/* Removes bytes up to 0x20 from both ends, as a browser does with a URL. */
static inline struct list_span list_without_spaces(struct list_span span) {
    while (span.at < span.end && *span.at <= ' ')
        span.at++;
    while (span.at < span.end && span.end[-1] <= ' ')
        span.end--;
    return span;
}

/* Returns true if a span is valid UTF-8. */
static inline bool list_is_text(struct list_span span) {
    size_t i = 0;
    while (i + 8 <= list_length(span) && (bloom_load64(span.at + i) & url_eight(128)) == 0)
        i += 8;
    while (i < list_length(span))
        if (url_code_point(span.at, list_length(span), &i) == BLOOM_NOT_UTF8)
            return false;
    return true;
}

/* Returns what a file is whose first bytes no text in UTF-8 has, and what to do; otherwise NULL. */
static inline const char *list_no_utf8(struct list_span file, bool is_utf16) {
    if (is_utf16 || list_begins(file, "\xff\xfe") || list_begins(file, "\xfe\xff"))
        return "UTF-16. Convert it first, as with iconv -f UTF-16 -t UTF-8";
    if (list_begins(file, "\x28\xb5\x2f\xfd"))
        return "compressed with zstd. Unpack it first, as with unzstd";
    return list_begins(file, "\x1f\x8b") ? "compressed with gzip. Unpack it first, as with gunzip"
                                         : NULL;
}

static inline const uint8_t *list_find(struct list_span span, uint8_t byte) {
    return span.at + url_find(span.at, 0, list_length(span), byte);
}

static inline bool list_has(struct list_span span, uint8_t byte) {
    return list_find(span, byte) < span.end;
}

/* Removes the part before a byte, and the byte, from the rest, and returns that part. If the byte
 * is not in the rest, it returns the whole rest. */
static inline struct list_span list_split(struct list_span *rest, uint8_t byte) {
    const struct list_span first = {rest->at, list_find(*rest, byte)};
    rest->at = first.end + (first.end < rest->end);
    return first;
}

/* Returns what follows the last such byte, or the whole span if the byte is not in it. */
static inline struct list_span list_last(struct list_span span, uint8_t byte) {
    struct list_span last = {span.end, span.end};
    while (last.at > span.at && last.at[-1] != byte)
        last.at--;
    return last;
}

static inline bool list_has_blank(struct list_span span) {
    return list_has(span, ' ') || list_has(span, '\t');
}

/* Returns true if a span contains a word, which is in lower case as in list_begins. */
static inline bool list_contains(struct list_span span, const char *word) {
    while (span.at < span.end && !list_begins(span, word))
        span.at = list_find((struct list_span){span.at + 1, span.end}, (uint8_t)*word);
    return span.at < span.end;
}

/* Returns where the first of two bytes is in a span, or its end. */
static inline const uint8_t *list_find_either(struct list_span span, uint8_t a, uint8_t b) {
    for (; list_length(span) >= 8; span.at += 8) {
        const uint64_t word = bloom_load64(span.at);
        if ((url_zeros(word ^ url_eight(a)) | url_zeros(word ^ url_eight(b))) != 0)
            break;
    }
    while (span.at < span.end && *span.at != a && *span.at != b)
        span.at++;
    return span.at;
}

/* Returns where the first of some signs, or a zero byte, is in a span, or its end. */
static inline const uint8_t *list_find_any(struct list_span span, const char *signs) {
    do
        span.end = list_find(span, (uint8_t)*signs);
    while (*signs++ != '\0');
    return span.end;
}

/* Removes the first word, with the blanks before it, from the rest, and returns it. */
static inline struct list_span list_word(struct list_span *rest) {
    struct list_span word = list_trim(*rest);
    rest->at = word.end = list_find_either(word, ' ', '\t');
    return word;
}

/* Returns true if a span begins with a scheme, perhaps defanged, and "://", perhaps in brackets. */
static inline bool list_has_scheme(struct list_span span) {
    size_t i = 0, length = list_length(span);
    while (i < length && (url_is_letter(span.at[i]) || (i > 0 && url_is_digit(span.at[i])) ||
                          span.at[i] == '*' || span.at[i] == '+'))
        i++;
    span.at += i;
    return i > 0 && (list_begins(span, "://") || list_begins(span, "[:]//") ||
                     list_begins(span, "[://]") || list_begins(span, ":\\\\"));
}

static inline bool list_is_ipv4(struct list_span span) {
    uint8_t address[IPV4_BYTES];
    unsigned dots = 0;
    for (const uint8_t *at = span.at; at < span.end; at++) {
        dots += *at == '.';
        if (!url_is_digit(*at) && *at != '.')
            return false;
    }
    return dots == 3 && url_read_number(span.at, list_length(span), address) == URL_ADDRESS;
}

static inline struct list_span list_without_brackets(struct list_span span) {
    const bool has_both = list_begins(span, "[") && list_ends(span, "]");
    return (struct list_span){span.at + has_both, span.end - has_both};
}

static inline bool list_is_ipv6(struct list_span span) {
    uint16_t groups[IPV6_GROUPS];
    const uint8_t *at = span.at;
    while (at < span.end && url_digit(*at) < 16)
        at++;
    if (at == span.end || *at != ':')
        return false; /* early, because most names and dates are no addresses */
    span.end = list_find(span, '%');
    return url_read_ipv6(span.at, list_length(span), groups);
}

static inline bool list_is_ip(struct list_span span) {
    return list_is_ipv4(span) || list_is_ipv6(span);
}

/* Returns true for an address that a resolver answers for a host that it blocks. */
static inline bool list_is_sink(struct list_span span) {
    return list_is(span, "0.0.0.0") || list_is(span, "::") || list_is(span, "::1") ||
           (list_begins(span, "127.") && list_is_ipv4(span));
}

/* Recognises numbers and dates: 12345, 2024.01.01, 12/31/2024, 2024-01-01T10:00:00Z. They are
 * digits and signs that are not an address as people write it, although a browser takes the first
 * two for addresses. */
static inline bool list_is_number(struct list_span span) {
    unsigned dots = 0;
    const uint8_t *at = span.at;
    at += list_begins(span, "-");
    if (at == span.end || !url_is_digit(*at))
        return false;
    for (; at < span.end &&
           ((*at >= '-' && *at <= ':') || *at == '+' || *at == 'T' || *at == 'Z' || *at == ' ');
         at++)
        dots += *at == '.' && at + 1 < span.end && url_is_digit(at[1]);
    return at == span.end && dots < 3 && !list_is_ipv6(span);
}

/* Recognises the address of a network card, and what else is groups of up to two hexadecimal digits
 * with colons between them. */
static inline bool list_is_card(struct list_span span) {
    unsigned digits = 0, colons = 0;
    for (const uint8_t *at = span.at; at < span.end; at++) {
        digits = *at == ':' ? 0 : digits + 1;
        colons += *at == ':';
        if (digits > 2 || (digits == 0 && (at == span.at || at[-1] == ':')) ||
            (digits > 0 && url_digit(*at) > 15))
            return false;
    }
    return colons > 1 && digits > 0 && !list_is_ipv6(span);
}

/* Recognises hashes: 32, 40, 64 or 128 hexadecimal digits. */
static inline bool list_is_hash(struct list_span span) {
    const size_t length = list_length(span);
    while (span.at < span.end && url_digit(*span.at) < 16)
        span.at++;
    return span.at == span.end && (length == 32 || length == 40 || length == 64 || length == 128);
}

/* Returns a word without blanks and quotation marks around it, or the marks of AsciiDoc. */
static inline struct list_span list_unquoted(struct list_span word) {
    word = list_trim(word);
    while (list_length(word) > 2 && *word.at == word.end[-1] &&
           (*word.at == '"' || *word.at == '\'' || *word.at == '`' || *word.at == '+'))
        word = list_trim((struct list_span){word.at + 1, word.end - 1});
    return word;
}

#endif

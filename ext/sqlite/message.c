/* Text of others in messages, and values in words.
 *
 * A message must be valid UTF-8, since a host that decodes it strictly would show an error of its
 * own in its place, and must hold no control characters, since it goes to terminals and logs. What
 * users and databases give is neither. So everything quoted passes through here:
 *
 *   - well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong, nothing above U+10FFFF) stays;
 *     any other byte is written as \xNN;
 *   - control characters (U+0000 to U+001F, U+007F to U+009F), the line separators U+2028 and
 *     U+2029 and what turns the direction of writing (U+200E, U+200F, U+202A to U+202E, U+2066 to
 *     U+2069) are written as \uNNNN;
 *   - what is long is cut off behind a whole character, and three dots follow.
 */
#include "sqlite/sqlite.h"

#include <string.h>

/* The length of the well-formed character at text, of length bytes, and which it is; 0 when there
 * is none. */
static size_t read_character(const uint8_t *text, size_t length, uint32_t *character) {
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = text[0] < 0x80   ? 1
                   : text[0] < 0xc0 ? 0
                   : text[0] < 0xe0 ? 2
                   : text[0] < 0xf0 ? 3
                   : text[0] < 0xf8 ? 4
                                    : 0;
    if (bytes == 0 || bytes > length)
        return 0;
    *character = bytes == 1 ? text[0] : text[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (text[i] & 0x3fu);
    }
    bool surrogate = *character >= 0xd800 && *character < 0xe000;
    return *character >= LEAST[bytes] && *character <= 0x10ffff && !surrogate ? bytes : 0;
}

static bool is_hidden(uint32_t character) {
    static const uint32_t RANGES[][2] = {
        {0, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++)
        if (character >= RANGES[i][0] && character <= RANGES[i][1])
            return true;
    return false;
}

char *bloom_sql_quote(char quoted[BLOOM_QUOTE_SIZE], const void *text, size_t length) {
    enum { CHARACTERS_MOST = 60, ESCAPE_BYTES = 6, ENDING_BYTES = 5 /* quote, dots, NUL */ };
    const uint8_t *from = text, *end = from + length;
    char *to = quoted, *full = quoted + BLOOM_QUOTE_SIZE - ESCAPE_BYTES - ENDING_BYTES;
    *to++ = '\'';
    for (int i = 0; i < CHARACTERS_MOST && from < end && to <= full; i++) {
        uint32_t character;
        size_t bytes = read_character(from, (size_t)(end - from), &character);
        if (bytes == 0) {
            sqlite3_snprintf(ESCAPE_BYTES + 1, to, "\\x%02x", *from++);
            to += strlen(to);
        } else if (is_hidden(character)) {
            sqlite3_snprintf(ESCAPE_BYTES + 1, to, "\\u%04x", character);
            to += strlen(to);
            from += bytes;
        } else {
            memcpy(to, from, bytes);
            to += bytes;
            from += bytes;
        }
    }
    strcpy(to, from < end ? "'..." : "'");
    return quoted;
}

void bloom_sql_cut(sqlite3 *database, char *message) {
    /* With its terminator. */
    int limit = sqlite3_limit(database, SQLITE_LIMIT_LENGTH, -1);
    size_t most = limit > 0 ? (size_t)limit - 1 : 0;
    if (strlen(message) <= most)
        return;
    while (most > 0 && ((unsigned char)message[most] & 0xc0) == 0x80)
        most--;
    message[most] = '\0';
}

char *bloom_sql_describe(char words[BLOOM_WORDS_SIZE], sqlite3_value *value) {
    char quoted[BLOOM_QUOTE_SIZE];
    const void *text;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "%lld", sqlite3_value_int64(value));
    case SQLITE_FLOAT:
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "%!.15g", sqlite3_value_double(value));
    case SQLITE_TEXT:
        text = sqlite3_value_text(value); /* first: it may convert from UTF-16 */
        if (text == NULL)
            return NULL;
        bloom_sql_quote(quoted, text, (size_t)sqlite3_value_bytes(value));
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "the text %s", quoted);
    case SQLITE_BLOB:
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "a BLOB of %d bytes",
                                sqlite3_value_bytes(value));
    default:
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "NULL");
    }
}

static bool is_plain(char letter) {
    return letter >= ' ' && letter <= '~';
}

/* The length of the longest beginning of text, which is not empty, that goes into one quotation:
 * printable ASCII, or anything else. */
static size_t piece_of(const char *text) {
    enum { PIECE_MOST = 40 };
    bool plain = is_plain(*text);
    size_t length = 1;
    while (text[length] != '\0' && is_plain(text[length]) == plain)
        length++;
    if (plain || length <= PIECE_MOST)
        return length;
    length = PIECE_MOST;
    while (length > PIECE_MOST - 4 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* to the beginning of a character */
    return length;
}

char *bloom_sql_legible(const char *text) {
    char quoted[BLOOM_QUOTE_SIZE];
    sqlite3_str *legible = sqlite3_str_new(NULL);
    while (*text != '\0') {
        size_t length = piece_of(text);
        if (is_plain(*text)) {
            sqlite3_str_append(legible, text, (int)length);
        } else {
            bloom_sql_quote(quoted, text, length);
            sqlite3_str_append(legible, quoted + 1, (int)strlen(quoted) - 2);
        }
        text += length;
    }
    return sqlite3_str_finish(legible);
}

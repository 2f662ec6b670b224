/* A message is formatted, made legible, and cut to the length that SQLite lets through.
 *
 * Text of others that a message quotes has passed through bloom_quote. Names of tables and SQLite's
 * own messages have not, so all of it passes through it here. */
#include "sqlite/message.h"

#include <string.h>

char *bloom_sql_describe(char words[BLOOM_WORDS_SIZE], sqlite3_value *value) {
    char quoted[BLOOM_QUOTE_SIZE];
    const void *text;
    int bytes;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "%lld", sqlite3_value_int64(value));
    case SQLITE_FLOAT:
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "%!.15g", sqlite3_value_double(value));
    case SQLITE_TEXT:
        text = sqlite3_value_text(value); /* first: it may convert from UTF-16 */
        if (text == NULL)
            return NULL;
        bloom_quote(quoted, text, (size_t)sqlite3_value_bytes(value));
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "the text %s", quoted);
    case SQLITE_BLOB:
        bytes = sqlite3_value_bytes(value);
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "a BLOB of %d byte%s", bytes,
                                bytes == 1 ? "" : "s");
    default:
        return sqlite3_snprintf(BLOOM_WORDS_SIZE, words, "NULL");
    }
}

char *bloom_sql_estimate(char text[BLOOM_NUMBER_SIZE], double estimate) {
    bloom_number_text(text, estimate, 6);
    if (text[strcspn(text, ".e")] == '\0')
        memcpy(text + strlen(text), ".0", sizeof ".0");
    return text;
}

/* Returns text as valid UTF-8 without control characters, from sqlite3_malloc; NULL: no memory. It
 * is not bound by the connection's limit of lengths, which would look like lack of memory. The
 * pieces end at a character and are so short that bloom_quote never cuts them off. */
static char *legible(const char *text) {
    enum { PIECE_MOST = 30, CHARACTER_MOST = 4 };
    char quoted[BLOOM_QUOTE_SIZE];
    sqlite3_str *result = sqlite3_str_new(NULL);
    for (size_t left = strlen(text), piece; left > 0; left -= piece, text += piece) {
        piece = left < PIECE_MOST ? left : PIECE_MOST;
        while (piece > PIECE_MOST - CHARACTER_MOST && ((unsigned char)text[piece] & 0xc0) == 0x80)
            piece--;
        bloom_quote(quoted, text, piece);
        sqlite3_str_append(result, quoted + 1, (int)strlen(quoted) - 2);
    }
    return sqlite3_str_finish(result);
}

/* Cuts a message at a character, so that it fits the connection's limit with its terminator. */
static void cut(sqlite3 *database, char *message) {
    int limit = sqlite3_limit(database, SQLITE_LIMIT_LENGTH, -1);
    size_t most = limit > 0 ? (size_t)limit - 1 : 0;
    if (strlen(message) <= most)
        return;
    while (most > 0 && ((unsigned char)message[most] & 0xc0) == 0x80)
        most--;
    message[most] = '\0';
}

char *bloom_message(sqlite3 *database, const char *name, const char *format, va_list list) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "%s: ", name);
    sqlite3_str_vappendf(text, format, list);
    char *written = sqlite3_str_finish(text);
    char *message = written != NULL ? legible(written) : NULL;
    sqlite3_free(written);
    if (message != NULL)
        cut(database, message);
    return message;
}

/* A key is hashed by the type of its value, or by the filter's key rule, which works on text.
 * Filters are BLOBs in SQLite's memory, so that a result need not be copied. */
#include "sqlite/value.h"

#include "base/limits.h"
#include "filter/given_text.h"
#include "sqlite/pins.h"
#include "sqlite/poll.h"

#include <string.h>

static void *sql_allocate(void *context, size_t bytes) {
    void *memory = sqlite3_malloc64(bytes);
    (void)context;
    if (memory != NULL)
        bloom_use_huge_pages(memory, bytes);
    return memory;
}

static void sql_release(void *context, void *memory) {
    (void)context;
    sqlite3_free(memory);
}

static void *sql_resize(void *context, void *memory, size_t bytes) {
    (void)context;
    return sqlite3_realloc64(memory, bytes);
}

const struct bloom_memory bloom_sql_memory = {sql_allocate, sql_release, sql_resize, NULL};

/* Returns true if a text is made of a sign, digits, a point and an exponent, or of hexadecimal
 * digits. SQLite refuses those that are not a number, and nothing in them can be executed. */
static bool is_like_number(const char *text) {
    text += *text == '+' || *text == '-';
    const char *end = text + strspn(text, "0123456789abcdefABCDEFxX.");
    if (end > text && (end[-1] == 'e' || end[-1] == 'E') && (*end == '+' || *end == '-'))
        end += 1 + strspn(end + 1, "0123456789");
    return end > text && *end == '\0';
}

/* SQLite works the number out, because strtod() depends on the locale. */
int bloom_sql_literal(sqlite3 *database, const char *text, size_t length, double *number) {
    static const char SELECT[] = "SELECT ";
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("%s%.*s", SELECT, (int)length, text);
    int code = SQLITE_OK;
    *number = 0;
    if (sql == NULL)
        return SQLITE_NOMEM;
    if (is_like_number(sql + strlen(SELECT)))
        code = sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_NO_VTAB, &statement, NULL);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code == SQLITE_NOMEM || code == SQLITE_INTERRUPT ? code : SQLITE_OK;
    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW)
        *number = sqlite3_column_double(statement, 0);
    return sqlite3_finalize(statement);
}

enum bloom_key_kind bloom_sql_text_key(sqlite3_value *value, const struct bloom_shape *shape,
                                       uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const uint8_t *text;
    uint64_t length;
    if (sqlite3_value_subtype(value) == BLOOM_LIST_SUBTYPE)
        return BLOOM_KEY_OF_LIST;
    return bloom_sql_text(value, &text, &length)
               ? bloom_text_key(shape, text, (size_t)length, words)
               : BLOOM_KEY_NO_MEMORY;
}

/* A pin looks like NULL, but is a filter. */
static enum bloom_key_kind kind_of_null(sqlite3_value *value) {
    return bloom_sql_is_null(value) ? BLOOM_KEY_NULL : BLOOM_KEY_FILTER;
}

/* Reads the text that a key rule works on. The bytes of a BLOB count as text. */
static enum bloom_key_kind read_ruled(sqlite3_value *value, const uint8_t **text,
                                      uint64_t *length) {
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL)
        return kind_of_null(value);
    if (!bloom_sql_bytes(value, type, text, length))
        return BLOOM_KEY_NO_MEMORY;
    return type == SQLITE_BLOB && bloom_is_filter(*text, *length) ? BLOOM_KEY_FILTER : BLOOM_KEY;
}

enum bloom_key_kind bloom_sql_key(sqlite3_value *value, const struct bloom_shape *shape,
                                  uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const uint8_t *bytes;
    uint64_t length;
    if (shape->keying.rule != NULL) {
        enum bloom_key_kind kind = read_ruled(value, &bytes, &length);
        return kind != BLOOM_KEY
                   ? kind
                   : bloom_ruled_key(shape, bytes, (size_t)length, &bloom_sql_memory, words);
    }
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return bloom_integer_key(shape, sqlite3_value_int64(value), words);
    case SQLITE_FLOAT:
        return bloom_real_key(shape, sqlite3_value_double(value), words);
    case SQLITE_TEXT:
        return bloom_sql_text_key(value, shape, words);
    case SQLITE_BLOB:
        if (!bloom_sql_blob(value, &bytes, &length))
            return BLOOM_KEY_NO_MEMORY;
        return bloom_bytes_key(shape, bytes, (size_t)length, words);
    default:
        return kind_of_null(value);
    }
}

enum bloom_key_kind bloom_sql_asked_keys(sqlite3_value *value, const struct bloom_shape *shape,
                                         uint64_t words[BLOOM_ASKED_WORDS], unsigned *count) {
    const uint8_t *text;
    uint64_t length;
    enum bloom_key_kind kind = read_ruled(value, &text, &length);
    return kind != BLOOM_KEY
               ? kind
               : bloom_ruled_keys(shape, text, (size_t)length, &bloom_sql_memory, words, count);
}

bool bloom_sql_is_text(sqlite3_value *value, const uint8_t *bytes, uint64_t length, bool is_list,
                       bloom_problem problem) {
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL)
        return bloom_fail(
            problem, "the text is NULL. If readfile was to read it, check the name of the file");
    if (type != SQLITE_TEXT && type != SQLITE_BLOB)
        return bloom_fail(problem, "the text is a number. Give TEXT or a BLOB");
    return bloom_given_text(bytes, (size_t)length, is_list, type == SQLITE_BLOB, problem);
}

void bloom_sql_append_keying(sqlite3_str *json, const struct bloom_keying *keying) {
    if (keying->rule != NULL)
        sqlite3_str_appendf(json, ",\"key\":\"%s\"", keying->rule->name);
    if (keying->salted)
        sqlite3_str_appendall(json, ",\"salted\":true");
}

uint8_t *bloom_sql_copy_filter(const struct bloom_stored *filter) {
    uint8_t *copy = sqlite3_malloc64(filter->length);
    if (copy != NULL)
        memcpy(copy, filter->bytes, (size_t)filter->length);
    return copy;
}

void bloom_sql_result_bytes(sqlite3_context *context, uint8_t *bytes, uint64_t length) {
    if (bytes == NULL)
        sqlite3_result_error_nomem(context);
    else if (bloom_sql_interrupted(context, length, &(uint64_t){0}))
        sqlite3_free(bytes);
    else
        sqlite3_result_blob64(context, bytes, length, sqlite3_free);
}

void bloom_sql_result_filter(sqlite3_context *context, const struct bloom_shape *shape,
                             uint8_t *filter) {
    bloom_sql_result_bytes(context, filter, bloom_filter_bytes(shape));
}

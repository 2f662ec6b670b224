/* A value under an affinity is the value and the type that it is read as. SQLite's own readers then
 * convert it, so the value itself is never changed. */
#include "sqlite/affinity.h"

#include "base/limits.h"

#include <string.h>

/* Returns true if a number is a 64-bit integer. */
static bool is_whole(double real) {
    return real > -9223372036854775808.0 && real < 9223372036854775808.0 &&
           (double)(sqlite3_int64)real == real;
}

struct bloom_typed_key bloom_typed_key(enum bloom_key_type column, sqlite3_value *value,
                                       bool added) {
    struct bloom_typed_key key = {.column = column, .value = value};
    if (column <= BLOOM_KEY_BLOB)
        return key;
    const bool is_text = column == BLOOM_KEY_TEXT, is_real = column == BLOOM_KEY_REAL;
    key.type = is_text ? sqlite3_value_type(value) : sqlite3_value_numeric_type(value);
    if (is_text && (key.type == SQLITE_INTEGER || key.type == SQLITE_FLOAT))
        key.type = SQLITE_TEXT;
    else if (is_real && added && key.type == SQLITE_INTEGER)
        key.type = SQLITE_FLOAT;
    else if (!is_real && key.type == SQLITE_FLOAT && is_whole(sqlite3_value_double(value)))
        key.type = SQLITE_INTEGER;
    return key;
}

enum bloom_key_kind bloom_typed_key_words(const struct bloom_typed_key *key,
                                          const struct bloom_shape *shape,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    switch (key->type) {
    case SQLITE_TEXT:
        return bloom_sql_text_key(key->value, shape, words);
    case SQLITE_INTEGER:
        return bloom_integer_key(shape, sqlite3_value_int64(key->value), words);
    case SQLITE_FLOAT:
        return bloom_real_key(shape, sqlite3_value_double(key->value), words);
    default:
        return bloom_sql_key(key->value, shape, words);
    }
}

bool bloom_kept_key_keep(struct bloom_kept_key *kept, const struct bloom_typed_key *key) {
    kept->type = key->type != 0 ? key->type : sqlite3_value_type(key->value);
    if (kept->type == SQLITE_INTEGER && key->column == BLOOM_KEY_REAL)
        kept->type = SQLITE_FLOAT;
    if (kept->type == SQLITE_INTEGER)
        kept->integer = sqlite3_value_int64(key->value);
    else if (kept->type == SQLITE_FLOAT)
        kept->real = sqlite3_value_double(key->value);
    if (kept->type == SQLITE_INTEGER || kept->type == SQLITE_FLOAT)
        return true;
    /* The bytes come first, because they may be converted, which changes their number. */
    const void *bytes =
        kept->type == SQLITE_TEXT ? sqlite3_value_text(key->value) : sqlite3_value_blob(key->value);
    kept->length = sqlite3_value_bytes(key->value);
    if (kept->length >= kept->room) {
        char *larger = sqlite3_realloc64(kept->bytes, (sqlite3_uint64)kept->length + 1);
        if (larger == NULL)
            return false;
        kept->bytes = larger;
        kept->room = kept->length + 1;
    }
    if (kept->length > 0)
        memcpy(kept->bytes, bytes, (size_t)kept->length);
    return true;
}

void bloom_kept_key_result(sqlite3_context *context, const struct bloom_kept_key *kept) {
    if (kept->type == SQLITE_INTEGER)
        sqlite3_result_int64(context, kept->integer);
    else if (kept->type == SQLITE_FLOAT)
        sqlite3_result_double(context, kept->real);
    else if (kept->type == SQLITE_TEXT)
        sqlite3_result_text(context, kept->bytes, kept->length, SQLITE_TRANSIENT);
    else
        sqlite3_result_blob(context, kept->bytes, kept->length, SQLITE_TRANSIENT);
}

void bloom_kept_key_free(struct bloom_kept_key *kept) {
    sqlite3_free(kept->bytes);
    *kept = (struct bloom_kept_key){.type = 0};
}

void bloom_kept_key_shrink(struct bloom_kept_key *kept) {
    if ((unsigned)kept->room > bloom_limits.kept_key_room)
        bloom_kept_key_free(kept);
}

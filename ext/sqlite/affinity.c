/* A value under an affinity is the value and, if it has to be converted, the number that it
 * becomes. The value itself is never converted, because SQLite owns it. */
#include "sqlite/affinity.h"

#include <string.h>

struct bloom_typed_key bloom_typed_key(enum bloom_key_type column, sqlite3_value *value,
                                       bool added) {
    struct bloom_typed_key key = {.column = column, .form = BLOOM_FORM_AS_IS, .value = value};
    if (column <= BLOOM_KEY_BLOB)
        return key;
    bool numeric = column != BLOOM_KEY_TEXT;
    int type = numeric ? sqlite3_value_numeric_type(value) : sqlite3_value_type(value);
    if (!numeric) {
        if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
            key.form = BLOOM_FORM_TEXT;
    } else if (type == SQLITE_INTEGER && added && column == BLOOM_KEY_REAL) {
        key.form = BLOOM_FORM_REAL;
        key.real = (double)sqlite3_value_int64(value);
    } else if (type == SQLITE_FLOAT && column != BLOOM_KEY_REAL) {
        double real = sqlite3_value_double(value);
        if (real > -9223372036854775808.0 && real < 9223372036854775808.0 &&
            (double)(sqlite3_int64)real == real) {
            key.form = BLOOM_FORM_INTEGER;
            key.integer = (sqlite3_int64)real;
        }
    }
    return key;
}

enum bloom_key_kind bloom_typed_key_words(const struct bloom_typed_key *key,
                                          const struct bloom_shape *shape,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    switch (key->form) {
    case BLOOM_FORM_TEXT:
        return bloom_sql_text_key(key->value, shape, words);
    case BLOOM_FORM_INTEGER:
        return bloom_integer_key(shape, key->integer, words);
    case BLOOM_FORM_REAL:
        return bloom_real_key(shape, key->real, words);
    default:
        return bloom_sql_key(key->value, shape, words);
    }
}

/* Returns false if there is no memory. */
static bool keep_bytes(struct bloom_kept_key *kept, const void *bytes, int length) {
    if (length >= kept->room) {
        char *larger = sqlite3_realloc64(kept->bytes, (sqlite3_uint64)length + 1);
        if (larger == NULL)
            return false;
        kept->bytes = larger;
        kept->room = length + 1;
    }
    kept->length = length;
    if (length > 0)
        memcpy(kept->bytes, bytes, (size_t)length);
    return true;
}

bool bloom_kept_key_keep(struct bloom_kept_key *kept, const struct bloom_typed_key *key) {
    const void *bytes;
    kept->type = sqlite3_value_type(key->value);
    if (key->form == BLOOM_FORM_TEXT)
        kept->type = SQLITE_TEXT;
    else if (key->form == BLOOM_FORM_INTEGER)
        kept->type = SQLITE_INTEGER;
    switch (kept->type) {
    case SQLITE_INTEGER:
        kept->integer =
            key->form == BLOOM_FORM_INTEGER ? key->integer : sqlite3_value_int64(key->value);
        if (key->column == BLOOM_KEY_REAL) {
            kept->type = SQLITE_FLOAT;
            kept->real = (double)kept->integer;
        }
        return true;
    case SQLITE_FLOAT:
        kept->real = sqlite3_value_double(key->value);
        return true;
    default:
        /* The bytes come first, because they may be converted, which changes their number. */
        bytes = kept->type == SQLITE_TEXT ? sqlite3_value_text(key->value)
                                          : sqlite3_value_blob(key->value);
        return keep_bytes(kept, bytes, sqlite3_value_bytes(key->value));
    }
}

void bloom_kept_key_result(sqlite3_context *context, const struct bloom_kept_key *kept) {
    switch (kept->type) {
    case SQLITE_INTEGER:
        sqlite3_result_int64(context, kept->integer);
        break;
    case SQLITE_FLOAT:
        sqlite3_result_double(context, kept->real);
        break;
    case SQLITE_TEXT:
        sqlite3_result_text(context, kept->bytes, kept->length, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_result_blob(context, kept->bytes, kept->length, SQLITE_TRANSIENT);
        break;
    }
}

void bloom_kept_key_free(struct bloom_kept_key *kept) {
    sqlite3_free(kept->bytes);
    *kept = (struct bloom_kept_key){.type = 0};
}

void bloom_kept_key_shrink(struct bloom_kept_key *kept) {
    enum { ROOM_MAXIMUM = 4096 };
    if (kept->room > ROOM_MAXIMUM)
        bloom_kept_key_free(kept);
}

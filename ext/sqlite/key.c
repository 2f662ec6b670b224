/* From values to the words that decide about keys: by type, or by a filter's key rule. See
 * sqlite.h. */
#include "sqlite/sqlite.h"

static inline enum bloom_key_kind kind_of_key(bool taken) {
    return taken ? BLOOM_KEY : BLOOM_KEY_FOREIGN;
}

static inline enum bloom_key_kind hash_text(const struct bloom_shape *shape, const void *text,
                                            size_t length, uint64_t *words) {
    if (shape->keying.salted) /* a hashing that has text */
        return kind_of_key(bloom_hashing_siphash.text(shape->keying.salt, text, length, words));
    const struct bloom_hashing *hashing = shape->layout->hashing;
    return kind_of_key(hashing->text != NULL && hashing->text(shape->extra, text, length, words));
}

enum bloom_key_kind bloom_sql_text_key(sqlite3_value *value, const struct bloom_shape *shape,
                                       uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const uint8_t *text = sqlite3_value_text(value); /* first: it may convert from UTF-16 */
    if (text == NULL)
        return BLOOM_KEY_NO_MEMORY;
    return hash_text(shape, text, (size_t)sqlite3_value_bytes(value), words);
}

enum bloom_key_kind bloom_sql_integer_key(int64_t integer, const struct bloom_shape *shape,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const struct bloom_hashing *hashing = bloom_shape_hashing(shape);
    return kind_of_key(hashing->integer != NULL &&
                       hashing->integer(bloom_shape_seed(shape), integer, words));
}

enum bloom_key_kind bloom_sql_real_key(double real, const struct bloom_shape *shape,
                                       uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const struct bloom_hashing *hashing = bloom_shape_hashing(shape);
    return kind_of_key(hashing->real != NULL &&
                       hashing->real(bloom_shape_seed(shape), real, words));
}

/* The text of a value that a key rule works on, a BLOB's bytes as they are, and the room for its
 * keys. */
struct ruled_text {
    const uint8_t *text;
    size_t length;
    struct bloom_key_room room;
};

/* After BLOOM_KEY the caller releases the room. */
static enum bloom_key_kind read_ruled(sqlite3_value *value, const struct bloom_key_rule *rule,
                                      struct ruled_text *ruled) {
    uint64_t length;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return BLOOM_KEY_NULL;
    if (!bloom_sql_bytes(value, &ruled->text, &length))
        return BLOOM_KEY_NO_MEMORY;
    ruled->length = (size_t)length;
    return bloom_key_room_take(&ruled->room, rule->room(ruled->length)) ? BLOOM_KEY
                                                                        : BLOOM_KEY_NO_MEMORY;
}

/* As bloom_sql_key, by a key rule. */
static enum bloom_key_kind key_by_rule(sqlite3_value *value, const struct bloom_shape *shape,
                                       uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const struct bloom_key_rule *rule = shape->keying.rule;
    struct ruled_text ruled;
    struct bloom_rule_key key;
    enum bloom_key_kind kind = read_ruled(value, rule, &ruled);
    if (kind != BLOOM_KEY)
        return kind;
    kind = rule->add(ruled.text, ruled.length, ruled.room.bytes, &key)
               ? hash_text(shape, key.bytes, key.length, words)
               : BLOOM_KEY_FOREIGN;
    bloom_key_room_release(&ruled.room);
    return kind;
}

enum bloom_key_kind bloom_sql_key(sqlite3_value *value, const struct bloom_shape *shape,
                                  uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const struct bloom_hashing *hashing;
    const uint8_t *bytes;
    uint64_t length;
    if (shape->keying.rule != NULL)
        return key_by_rule(value, shape, words);
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return bloom_sql_integer_key(sqlite3_value_int64(value), shape, words);
    case SQLITE_FLOAT:
        return bloom_sql_real_key(sqlite3_value_double(value), shape, words);
    case SQLITE_TEXT:
        return bloom_sql_text_key(value, shape, words);
    case SQLITE_BLOB:
        if (!bloom_sql_blob(value, &bytes, &length))
            return BLOOM_KEY_NO_MEMORY;
        hashing = bloom_shape_hashing(shape);
        return kind_of_key(hashing->bytes != NULL &&
                           hashing->bytes(bloom_shape_seed(shape), bytes, (size_t)length, words));
    default:
        return BLOOM_KEY_NULL;
    }
}

enum bloom_key_kind bloom_sql_asked_keys(sqlite3_value *value, const struct bloom_shape *shape,
                                         uint64_t words[BLOOM_ASKED_WORDS], unsigned *count) {
    const struct bloom_key_rule *rule = shape->keying.rule;
    struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM];
    struct ruled_text ruled;
    *count = 1;
    if (rule == NULL)
        return bloom_sql_key(value, shape, words);
    enum bloom_key_kind kind = read_ruled(value, rule, &ruled);
    if (kind != BLOOM_KEY)
        return kind;
    *count = rule->ask(ruled.text, ruled.length, ruled.room.bytes, keys);
    /* A hashing may write more words than decide: the next key's go over them. */
    for (unsigned i = 0; i < *count; i++)
        hash_text(shape, keys[i].bytes, keys[i].length, words + i * shape->layout->hash_words);
    bloom_key_room_release(&ruled.room);
    return *count > 0 ? BLOOM_KEY : BLOOM_KEY_NULL;
}

/* Values as SQLite hands them over: the filters, keys and bytes in them, and filters as results.
 *
 * Functions, table-valued functions and filter tables share this. The folders below (filter,
 * foreign, list, url) know nothing of SQLite.
 */
#ifndef BLOOM_SQLITE_VALUE_H
#define BLOOM_SQLITE_VALUE_H

#include "sqlite3ext.h"
SQLITE_EXTENSION_INIT3 /* SQLite's functions through the pointer that extension.c defines */

#include "filter/header.h"
#include "filter/key.h"

/* SQLite's memory. */
extern const struct bloom_memory bloom_sql_memory;

/* --- Bytes --- */

/* Reads the bytes of a BLOB; NULL for an empty one. Returns false if there is no memory. The length
 * comes first, because a zeroblob that finds no memory turns into NULL. */
static inline bool bloom_sql_blob(sqlite3_value *value, const uint8_t **bytes, uint64_t *length) {
    *length = (uint64_t)sqlite3_value_bytes(value);
    *bytes = sqlite3_value_blob(value);
    return *bytes != NULL || *length == 0;
}

/* Reads the text of a value in UTF-8, converted if need be, or NULL if there is no memory. The text
 * comes first, because the conversion changes its length. */
static inline bool bloom_sql_text(sqlite3_value *value, const uint8_t **text, uint64_t *length) {
    *text = sqlite3_value_text(value);
    *length = (uint64_t)sqlite3_value_bytes(value);
    return *text != NULL;
}

/* Reads the bytes of a BLOB, or else the text of a value of another type, which is not NULL. */
static inline bool bloom_sql_bytes(sqlite3_value *value, int type, const uint8_t **bytes,
                                   uint64_t *length) {
    return type == SQLITE_BLOB ? bloom_sql_blob(value, bytes, length)
                               : bloom_sql_text(value, bytes, length);
}

/* Reads the number that a text of length bytes is in SQL, perhaps with a sign; 0 if it is not a
 * number. Returns SQLITE_OK, or the error that kept SQLite from working it out. */
int bloom_sql_literal(sqlite3 *database, const char *text, size_t length, double *number);

/* --- Filters --- */

/* A valid filter in memory. The bytes belong to the value that it was read from. */
struct bloom_stored {
    struct bloom_shape shape;
    const uint8_t *bytes;
    uint64_t length;
};

static inline const uint8_t *bloom_stored_payload(const struct bloom_stored *filter) {
    return filter->bytes + bloom_header_bytes(&filter->shape);
}

/* Reads a filter from a value, as a BLOB or pinned. After BLOOM_STORED_NOT, problem says why it is
 * not one, after "the filter". */
enum bloom_stored_kind { BLOOM_STORED, BLOOM_STORED_NOT, BLOOM_STORED_NO_MEMORY };
enum bloom_stored_kind bloom_sql_stored(sqlite3 *database, sqlite3_value *value,
                                        struct bloom_stored *filter, bloom_problem problem);

/* Returns a copy of a filter, from sqlite3_malloc64; NULL: no memory. */
uint8_t *bloom_sql_copy_filter(const struct bloom_stored *filter);

/* Makes bytes from sqlite3_malloc64 the function's result and hands them over to SQLite. NULL: no
 * memory. Polls after a pass over many bytes (poll.h): if the statement is to end, the function
 * fails. */
void bloom_sql_result_bytes(sqlite3_context *context, uint8_t *bytes, uint64_t length);

/* The same with a filter. */
void bloom_sql_result_filter(sqlite3_context *context, const struct bloom_shape *shape,
                             uint8_t *filter);

/* --- Lists --- */

/* Returns true if a value, whose bytes are given, may be a text, or the text of a list. NULL is an
 * error and not an empty text, because readfile returns NULL for a file that is missing. A number
 * and what bloom_given_text refuses are errors, too. The problem is a sentence. */
bool bloom_sql_is_text(sqlite3_value *value, const uint8_t *bytes, uint64_t length, bool is_list,
                       bloom_problem problem);

/* --- Keys --- */

/* Hashes the key under which a value is added to filters of that shape. Only layout, keying and
 * extra of the shape count. NULL is not a key. */
enum bloom_key_kind bloom_sql_key(sqlite3_value *value, const struct bloom_shape *shape,
                                  uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]);

/* Hashes the text of a value, whatever type it has, without a key rule. */
enum bloom_key_kind bloom_sql_text_key(sqlite3_value *value, const struct bloom_shape *shape,
                                       uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]);

/* Hashes all keys that may cover a value, up to 30. The words of key i begin at i * hash_words. The
 * shape must have a key rule. */
enum bloom_key_kind bloom_sql_asked_keys(sqlite3_value *value, const struct bloom_shape *shape,
                                         uint64_t words[BLOOM_ASKED_WORDS], unsigned *count);

/* The subtype of keys that bloom_list returns. Only a filter with a key rule takes them. SQLite
 * keeps it unless a key passes through GROUP BY, DISTINCT or a materialised subquery. */
enum { BLOOM_LIST_SUBTYPE = 'L' };

/* What to do about such a key in a filter without a key rule. */
#define BLOOM_OF_LIST_ADVICE                                                                       \
    "comes from bloom_list, but the filter has no key rule, so no URL would find it. "             \
    "Choose key=url, or let bloom_list_agg make the filter. If the text is meant, give key || ''"

/* What to do about a filter that is given as a key. */
#define BLOOM_FILTER_ADVICE                                                                        \
    "Merge filters with bloom_union or bloom_union_agg, or pass hex(x) if the bytes are meant"

/* What to do about a value for which the key rule has no key to add. */
#define BLOOM_NO_KEY_ADVICE                                                                        \
    "Read the lines as a list, which leaves out what has no key: SELECT key FROM "                 \
    "bloom_list((SELECT group_concat(x, char(10)) FROM t))"

/* The same for any rule, to follow "is not" and the rule's wants. */
static inline const char *bloom_sql_key_advice(const struct bloom_key_rule *rule) {
    return rule->hosts ? "Use key=url if entries have paths, or leave this one out"
                       : BLOOM_NO_KEY_ADVICE;
}

/* Appends a keying to a JSON object: ,"key":"url","salted":true, or nothing. */
void bloom_sql_append_keying(sqlite3_str *json, const struct bloom_keying *keying);

#endif

/* Keys of a column with a type: values under its affinity, and a copy of one for as long as a row
 * is there.
 */
#ifndef BLOOM_SQL_AFFINITY_H
#define BLOOM_SQL_AFFINITY_H

#include "sqlite/sqlite.h"

/* The type of a column of keys, whose affinity is applied to them as an ordinary column would. */
enum bloom_key_type {
    BLOOM_KEY_AS_IT_IS, /* none given */
    BLOOM_KEY_BLOB,
    BLOOM_KEY_TEXT,
    BLOOM_KEY_NUMERIC,
    BLOOM_KEY_INTEGER,
    BLOOM_KEY_REAL,
};

/* A value under the affinity of the column: as it is, or its text, or a number in place of it. */
struct bloom_typed_key {
    enum bloom_key_type column;
    enum { BLOOM_FORM_AS_IS, BLOOM_FORM_TEXT, BLOOM_FORM_INTEGER, BLOOM_FORM_REAL } form;
    sqlite3_value *value; /* SQLite's */
    sqlite3_int64 integer;
    double real;
};

/* Applies the affinity of the column to a value: what is added as an ordinary column would store
 * it, what is asked as it would be compared with it, so that a whole number stays one where the
 * column is REAL.
 *
 * The value must be one that SQLite passed: a copy belongs to no connection, and SQLite 3.53
 * follows that pointer (a NULL) when text is asked for its numeric type. */
struct bloom_typed_key bloom_typed_key(enum bloom_key_type column, sqlite3_value *value,
                                       bool added);

/* The words that decide about it, as bloom_sql_key. */
enum bloom_key_kind bloom_typed_key_words(const struct bloom_typed_key *key,
                                          const struct bloom_shape *shape,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]);

/* The key of a row. Its memory is kept for the next row: most are short, and to allocate it for
 * each took a tenth of what a DELETE takes. Zeros: none. */
struct bloom_kept_key {
    int type; /* of SQLite; 0: none */
    sqlite3_int64 integer;
    double real;
    char *bytes; /* from sqlite3_malloc; not NULL where there are none, which would be SQL's NULL */
    int length;  /* of text, in UTF-8, and of BLOBs */
    int room;    /* for one more than the length */
};

/* Keeps a key that was asked for and hashed, so that its text was made. False: no memory. */
bool bloom_kept_key_keep(struct bloom_kept_key *kept, const struct bloom_typed_key *key);

/* Makes it the function's result. */
void bloom_kept_key_result(sqlite3_context *context, const struct bloom_kept_key *kept);

/* Gives back memory that is more than most keys need; all of it. */
void bloom_kept_key_shrink(struct bloom_kept_key *kept);
void bloom_kept_key_free(struct bloom_kept_key *kept);

#endif

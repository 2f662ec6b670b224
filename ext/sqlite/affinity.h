/* Keys of a column with a type: values under its affinity, and a copy of the key of a row. */
#ifndef BLOOM_SQLITE_AFFINITY_H
#define BLOOM_SQLITE_AFFINITY_H

#include "filter/options.h"
#include "sqlite/value.h"

/* A value under the affinity of the column. */
struct bloom_typed_key {
    enum bloom_key_type column;
    int type;             /* of SQLite, as which the value is read; 0: its own */
    sqlite3_value *value; /* SQLite's */
};

/* Applies the affinity of the column to a value. A key that is added becomes what an ordinary
 * column would store. A key that is queried becomes what SQLite would compare with such a column,
 * so a whole number stays a whole number if the column is REAL.
 *
 * The value must be one that SQLite passed, and not a copy. A copy belongs to no connection, and
 * SQLite 3.53 follows that NULL pointer in sqlite3_value_numeric_type for text. */
struct bloom_typed_key bloom_typed_key(enum bloom_key_type column, sqlite3_value *value,
                                       bool added);

/* Hashes it, as bloom_sql_key. */
enum bloom_key_kind bloom_typed_key_words(const struct bloom_typed_key *key,
                                          const struct bloom_shape *shape,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]);

/* The key of a row. Its memory is kept for the next row, because allocating it for each row would
 * slow down a DELETE. Zeros: no key. */
struct bloom_kept_key {
    int type; /* of SQLite; 0: none */
    sqlite3_int64 integer;
    double real;
    char *bytes; /* from sqlite3_malloc; never NULL for a key, which would be SQL's NULL */
    int length;  /* of text, in UTF-8, and of BLOBs */
    int room;    /* for one more than the length */
};

/* Keeps a key. It must have been hashed before, because hashing converts the value to text. Returns
 * false if there is no memory. */
bool bloom_kept_key_keep(struct bloom_kept_key *kept, const struct bloom_typed_key *key);

/* Makes the key the function's result. */
void bloom_kept_key_result(sqlite3_context *context, const struct bloom_kept_key *kept);

/* Frees the memory if it is more than most keys need. */
void bloom_kept_key_shrink(struct bloom_kept_key *kept);

/* Frees all memory. */
void bloom_kept_key_free(struct bloom_kept_key *kept);

#endif

/* What the arguments of CREATE VIRTUAL TABLE ... USING bloom(...) say.
 *
 * They are stored in the schema and read again by whoever opens the database, so they are read as
 * text of a stranger, by this grammar, that of filter/options.h, and nothing else:
 *
 *   capacity    a number: a whole one from 1 to 2^40
 *   fpr         a number between 0 and 1
 *   growth      on, off or error
 *   layout      the name of a layout that filter tables can have
 *   generations a number: a whole one from 2 to 64
 *   key         TEXT, INTEGER, REAL, NUMERIC or BLOB, or the name of a key rule
 *   salt        32 hexadecimal digits; in quotes, since SQLite refuses digits that letters follow
 *   number      a literal as in SQL, perhaps with a sign: 1000000, 1e6, .01, 0xF4240
 *
 * A number is worked out by SQLite, since strtod() depends on the locale, after it was found to be
 * a literal, so that there is nothing in it that could be called.
 */
#ifndef BLOOM_TABLE_OPTIONS_H
#define BLOOM_TABLE_OPTIONS_H

#include "filter/growth.h"
#include "sqlite/affinity.h"

struct bloom_options {
    struct bloom_growth growth;
    enum bloom_key_type key;
};

/* Reads count arguments. Returns SQLITE_OK, SQLITE_ERROR with a message from sqlite3_malloc in
 * *error, or SQLITE_NOMEM. Layout, rule and salt are in growth, which gives the shape of a layer:
 * bloom_growth_shape. */
int bloom_options_read(sqlite3 *connection, int count, const char *const *arguments,
                       struct bloom_options *options, char **error);

/* The name of a type in a declaration. */
const char *bloom_key_type_name(enum bloom_key_type type);

#endif

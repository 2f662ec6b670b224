/* What the arguments of CREATE VIRTUAL TABLE ... USING bloom(...) say.
 *
 * They are stored in the schema and read again by whoever opens the database, so they are read as
 * text of a stranger, by this grammar and nothing else:
 *
 *   argument    NAME = VALUE, white space around both; VALUE may stand in quotes, '' or ""
 *   capacity    a number: a whole one from 1 to 2^40
 *   fpr         a number between 0 and 1
 *   growth      on, off or error
 *   layout      the name of a layout that filter tables can have
 *   key         TEXT, INTEGER, REAL, NUMERIC or BLOB
 *   number      a literal as in SQL, perhaps with a sign: 1000000, 1e6, .01, 0xF4240
 *
 * Former releases took arithmetic, too: literals with + - * / ( ) between them. A table that was
 * created so is still opened, but no new one is. A number is worked out by SQLite, since strtod()
 * depends on the locale, after every token of it was found to be a literal or an operator, so that
 * there is nothing in it that could be called.
 */
#ifndef BLOOM_TABLE_OPTIONS_H
#define BLOOM_TABLE_OPTIONS_H

#include "filter/growth.h"
#include "sqlite/affinity.h"

struct bloom_options {
    struct bloom_growth growth;
    enum bloom_key_type key;
};

/* Reads count arguments; with create, those of a table that is about to be created. On an error
 * other than SQLITE_NOMEM, *error is a message from sqlite3_malloc, or NULL when that fails. */
int bloom_options_read(sqlite3 *connection, int count, const char *const *arguments, bool create,
                       struct bloom_options *options, char **error);

/* The name of a type in a declaration. */
const char *bloom_key_type_name(enum bloom_key_type type);

#endif

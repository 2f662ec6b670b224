/* What the arguments of CREATE VIRTUAL TABLE ... USING bloom(...) say.
 *
 * They are stored in the schema and read again by whoever opens the database, so they are read as
 * text of a stranger, by the grammar in FORMAT-tables.md and nothing else.
 */
#ifndef BLOOM_TABLE_OPTIONS_H
#define BLOOM_TABLE_OPTIONS_H

#include "filter/growth.h"
#include "sqlite/affinity.h"

struct bloom_options {
    sqlite3 *connection; /* that reads them */
    struct bloom_growth growth;
    enum bloom_key_type key;
};

/* Reads count arguments. Returns SQLITE_OK, SQLITE_ERROR with a message from sqlite3_malloc in
 * *error, or SQLITE_NOMEM. Layout, rule and salt are in growth, which gives the shape of a layer:
 * bloom_growth_shape. */
int bloom_options_read(sqlite3 *connection, int count, const char *const *arguments,
                       struct bloom_options *options, char **error);

#endif

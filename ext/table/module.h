/* The virtual table module `bloom`: filter tables. */
#ifndef BLOOM_SQL_TABLE_H
#define BLOOM_SQL_TABLE_H

#include "sqlite/sqlite.h"

/* Registers the module with a connection; an SQLite result code. */
int bloom_table_register(sqlite3 *database);

#endif

/* The virtual table module `bloom`: filter tables. */
#ifndef BLOOM_TABLE_MODULE_H
#define BLOOM_TABLE_MODULE_H

#include "sqlite/functions.h"

/* Registers the module with a connection; an SQLite result code. */
int bloom_table_register(struct bloom_connection *connection);

#endif

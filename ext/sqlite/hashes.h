/* Sets of hashes as arguments: what the aggregate bloom_hashes returned, for a filter table. */
#ifndef BLOOM_SQLITE_HASHES_H
#define BLOOM_SQLITE_HASHES_H

#include "sqlite/affinity.h"

/* How a filter table hashes its keys. */
struct bloom_table_keys {
    const char *table; /* its name, for messages */
    enum bloom_key_type type;
    const struct bloom_keying *keying;
};

/* Returns the set that a value points to, if it was made for such a table. The set lives as long as
 * the value. Otherwise returns NULL, with a message from sqlite3_malloc that becomes the caller's;
 * *message is NULL if there was no memory for it. */
const struct bloom_hashes *bloom_hashes_for_table(sqlite3 *database, sqlite3_value *value,
                                                  const struct bloom_table_keys *keys,
                                                  char **message);

#endif

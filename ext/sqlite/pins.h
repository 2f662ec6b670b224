/* Pinned filters: pointer values, which are never followed before they are found alive. */
#ifndef BLOOM_SQLITE_PINS_H
#define BLOOM_SQLITE_PINS_H

#include "sqlite/connection.h"

/* Their type as pointer values. It is fixed once the first connection is open. */
extern char bloom_pin_type[40];

/* Copies the filter, and makes a pin of the copy the function's result. */
void bloom_sql_result_pin(sqlite3_context *context, const struct bloom_stored *filter);

/* Returns the filter of the live pin that a value is, until the running function or method
 * returns; NULL if it is no live pin of this connection. */
const struct bloom_stored *bloom_sql_pinned(sqlite3 *database, sqlite3_value *value);

/* Returns true if a value is NULL, and not a pin, alive or gone, which looks like NULL. */
bool bloom_sql_is_null(sqlite3_value *value);

/* A pin that a cursor keeps alive; zeros: none. */
struct bloom_kept_pin {
    uintptr_t number;
    const struct bloom_stored *filter;
};

/* Takes a reference to the pin that a value is, if it is a live pin of this connection. */
struct bloom_kept_pin bloom_pin_keep(sqlite3 *database, sqlite3_value *value);

/* Gives it back. */
void bloom_pin_release(const struct bloom_kept_pin *kept);

/* Returns true if a value is the pin that is kept, or if neither is a pin. */
static inline bool bloom_pin_is(const struct bloom_kept_pin *kept, sqlite3_value *value) {
    return (uintptr_t)sqlite3_value_pointer(value, bloom_pin_type) == kept->number;
}

#endif

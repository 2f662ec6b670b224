/* Pinned filters: pointer values that are looked up before they are followed.
 *
 * SQLite copies a pointer value without its ownership (sqlite3_result_value, so nullif, iif, min,
 * max, lag and more). So a function may be given a copy of a pointer whose pin is gone and whose
 * memory holds something else. Hence:
 *
 *   1. The pointer is no address but a serial number, which no later pin gets: 2^64 of them outlast
 *      every process. (Where pointers have 32 bits a number comes back after 2^32 pins, and then
 *      names another pin that is alive, at worst.)
 *   2. The pins that are alive are in one table. A number that is not in it, or is that of a pin of
 *      another connection, is no pin. No pin is looked at before it was found there.
 *   3. SQLite calls the destructor once for each time that it was given a pointer: each such time
 *      is a reference to the pin, and so is each cursor's (bloom_pin_keep). The destructor gets the
 *      number alone, and may be called when the functions of the connection are gone. So the table
 *      belongs to this copy of the extension rather than to a connection, and a lock guards it.
 *   4. A second copy of the extension in the process has its own table and its own serial numbers.
 *      The type of the pointers tells them apart: its text holds an address of the copy.
 *   5. A connection counts its pins that died. While this count stays the same, every pin that a
 *      function has seen alive is alive; so a scan looks its pin up once (recent).
 *
 * A connection's calls never overlap, those of different connections do.
 */
#include "sqlite/functions.h"

#include "base/limits.h"

struct bloom_pin {
    uintptr_t number;
    uint64_t references;
    struct bloom_connection *connection;
    struct bloom_pin *next; /* in its bucket */
    struct bloom_stored filter;
};

/* Guarded by the lock. */
static struct bloom_pin *live[BLOOM_MOST(pin_buckets)];
static uintptr_t last_number;

/* Returns the link to the live pin of that number, or to NULL. The caller holds the lock. */
static struct bloom_pin **link_of(uintptr_t number) {
    struct bloom_pin **link = &live[number % bloom_limits.pin_buckets];
    while (*link != NULL && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

/* SQLite's destructor of a pin, with its number. */
static void release_pin(void *pointer) {
    bloom_lock();
    struct bloom_pin **link = link_of((uintptr_t)pointer);
    struct bloom_pin *pin = *link;
    bool dead = --pin->references == 0;
    if (dead) {
        *link = pin->next;
        pin->connection->deaths++;
    }
    bloom_unlock();
    if (dead) {
        struct bloom_connection *connection = pin->connection;
        sqlite3_free(pin);
        bloom_connection_close(connection);
    }
}

/* Makes a new pin alive, and the function's result. */
static void result_pin(sqlite3_context *context, struct bloom_pin *pin) {
    const struct bloom_registration *registration = sqlite3_user_data(context);
    pin->connection = bloom_connection_keep(registration->connection);
    pin->references = 1;
    bloom_lock();
    do
        last_number++;
    while (last_number == 0 || *link_of(last_number) != NULL);
    pin->number = last_number;
    pin->next = live[pin->number % bloom_limits.pin_buckets];
    live[pin->number % bloom_limits.pin_buckets] = pin;
    bloom_unlock();
    sqlite3_result_pointer(context, (void *)pin->number, bloom_pin_type, release_pin);
}

void bloom_sql_result_pin(sqlite3_context *context, const struct bloom_stored *filter) {
    /* Aligned to a cache line, so that no block is in two of them. */
    enum { LINE = 64 };
    struct bloom_pin *pin = bloom_allocate(&bloom_sql_memory, sizeof *pin + LINE + filter->length);
    if (pin == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    uintptr_t end = (uintptr_t)(pin + 1);
    uint8_t *bytes = (uint8_t *)(pin + 1) + (LINE - end % LINE) % LINE;
    int code =
        bloom_polled_copy(sqlite3_context_db_handle(context), bytes, filter->bytes, filter->length);
    if (code != SQLITE_OK) {
        sqlite3_free(pin);
        sqlite3_result_error_code(context, code);
        return;
    }
    pin->filter = *filter;
    pin->filter.bytes = bytes;
    result_pin(context, pin);
}

/* Returns the live pin of this connection that a value is, with one more reference if `keeps`;
 * or NULL if the value is not a live pin. Without a reference the pin lives as long as the value,
 * and so until the call that was given the value returns. */
static struct bloom_pin *find_pin(const sqlite3 *database, sqlite3_value *value, bool keeps) {
    const uintptr_t number = (uintptr_t)sqlite3_value_pointer(value, bloom_pin_type);
    if (number == 0)
        return NULL;
    bloom_lock();
    struct bloom_pin *pin = *link_of(number);
    if (pin != NULL && pin->connection->database != database)
        pin = NULL;
    if (pin != NULL)
        pin->references += keeps;
    bloom_unlock();
    return pin;
}

struct bloom_kept_pin bloom_pin_keep(sqlite3 *database, sqlite3_value *value) {
    const struct bloom_pin *pin = find_pin(database, value, true);
    return pin != NULL ? (struct bloom_kept_pin){pin->number, &pin->filter}
                       : (struct bloom_kept_pin){0, NULL};
}

void bloom_pin_release(const struct bloom_kept_pin *kept) {
    if (kept->number != 0)
        release_pin((void *)kept->number);
}

bool bloom_sql_is_null(sqlite3_value *value) {
    return sqlite3_value_type(value) == SQLITE_NULL &&
           sqlite3_value_pointer(value, bloom_pin_type) == NULL;
}

const struct bloom_stored *bloom_sql_pinned(sqlite3 *database, sqlite3_value *value) {
    const struct bloom_pin *pin = find_pin(database, value, false);
    return pin != NULL ? &pin->filter : NULL;
}

const struct bloom_stored *bloom_sql_find_pin(struct bloom_registration *registration,
                                              sqlite3_value *value) {
    const struct bloom_connection *connection = registration->connection;
    const struct bloom_pin *pin = find_pin(connection->database, value, false);
    if (pin == NULL)
        return NULL;
    registration->recent_pin =
        (struct bloom_recent_pin){pin->number, connection->deaths, &pin->filter};
    return &pin->filter;
}

/* What the SQL functions share: their registration, the readers of their arguments, their results.
 */
#ifndef BLOOM_SQLITE_FUNCTIONS_H
#define BLOOM_SQLITE_FUNCTIONS_H

#include "sqlite/sqlite.h"

/* One SQL function: a row of the registration table in extension.c. */
struct bloom_function {
    const char *name;
    int arguments_minimum;
    int arguments_maximum; /* -1: any number */
    void (*scalar)(sqlite3_context *, int, sqlite3_value **);
    void (*step)(sqlite3_context *, int, sqlite3_value **); /* of an aggregate */
    void (*final)(sqlite3_context *);
};

/* What a connection has of this extension, shared by its functions and filter tables. */
struct bloom_connection {
    sqlite3 *database;
    struct bloom_connection *next;
    uint64_t references;     /* functions, living pins, the module of filter tables, and these */
    uint64_t deaths;         /* of pins */
    unsigned tables_running; /* statements of filter tables at work: see table/database.h */
    unsigned rotations;      /* writes of a newest generation: see table/chunks.h */
    bool loaded;             /* everything is registered: see extension.c */
};

/* The header that passed validation last, and the pin that was found alive last. Zeros: none. */
struct bloom_recent_header {
    uint8_t bytes[BLOOM_HEADER_BYTES_MAXIMUM];
    struct bloom_shape shape;
};
struct bloom_recent_pin {
    uintptr_t number;
    uint64_t deaths; /* of the connection's pins, when it was alive */
    const struct bloom_stored *filter;
};

/* The user data of a function: its row, its connection and what it saw last. Most calls of a
 * statement see the same filter: comparing 64 bytes costs a tenth of validating them anew, and two
 * comparisons cost less than looking a pin up. It belongs to one connection, whose calls never
 * overlap; unlike SQLite's auxiliary data it costs no allocation and serves filters from columns,
 * too. */
struct bloom_registration {
    const struct bloom_function *function;
    struct bloom_connection *connection;
    struct bloom_recent_header recent_header;
    struct bloom_recent_pin recent_pin;
};

/* Fails the running function with "FUNCTION: " and the formatted message (as sqlite3_mprintf). */
void bloom_sql_error(sqlite3_context *context, const char *format, ...);

/* The same with "EXPECTATION, not ..." and what the value is instead. */
void bloom_sql_error_found(sqlite3_context *context, const char *expectation, sqlite3_value *value);

/* The readers of arguments: on false the function has failed with a message that names it and the
 * argument. */

/* A filter, as a BLOB or pinned; position counts from 1. NULL is an error. */
bool bloom_sql_filter(sqlite3_context *context, int position, sqlite3_value *value,
                      struct bloom_stored *filter);

/* The same for the first of two arguments, the other being a key: the message tells when the two
 * were swapped. */
bool bloom_sql_filter_before_key(sqlite3_context *context, sqlite3_value **arguments,
                                 struct bloom_stored *filter);

/* The shape that n, p and options, which are count arguments, ask for; p is 0.01 and the layout
 * blocked when left out. The shape is also checked against the length limit of the connection. */
bool bloom_sql_shape(sqlite3_context *context, int count, sqlite3_value **arguments,
                     struct bloom_shape *shape);

/* The same for an aggregate that learns n only later: just rate, layout and keying, from p and
 * options in arguments[0] and [1]. */
bool bloom_sql_rate_and_options(sqlite3_context *context, int count, sqlite3_value **arguments,
                                struct bloom_shape *shape);

/* The bytes that a value of this connection may have. */
uint64_t bloom_sql_length_limit(sqlite3_context *context);

/* The first fails the function, and returns false, when a filter of that shape is longer than that
 * limit. The second fails it for a filter of so many bytes. */
bool bloom_sql_check_length(sqlite3_context *context, const struct bloom_shape *shape);
void bloom_sql_error_length(sqlite3_context *context, const struct bloom_layout *layout,
                            uint64_t bytes);

/* A whole number from minimum to maximum: an INTEGER, or a REAL equal to one. */
bool bloom_sql_whole_number(sqlite3_context *context, const char *name, sqlite3_value *value,
                            uint64_t minimum, uint64_t maximum, uint64_t *number);

/* The words of a key that is to be added to a filter of that shape: a key for which the filter has
 * no room is an error. A shape without bits, whose size the keys decide, has room for all. */
enum bloom_key_added { BLOOM_KEY_ADD, BLOOM_KEY_SKIP, BLOOM_KEY_FAILED };
enum bloom_key_added bloom_sql_key_to_add(sqlite3_context *context, int position,
                                          sqlite3_value *value, const struct bloom_shape *shape,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]);

/* Fails the function unless the layout offers what it needs: offered is whether it has the member,
 * action what the function does to a filter, as in "take keys out of". */
bool bloom_sql_offers(sqlite3_context *context, const struct bloom_layout *layout, bool offered,
                      const char *action);

/* Makes an empty filter the function's result, unless the caller wants the statement to end. */
void bloom_sql_result_empty(sqlite3_context *context, const struct bloom_shape *shape);

/* As bloom_sql_result_filter, for a filter that took a pass over all its bytes. When the caller
 * wants the statement to end, the filter is freed and the function fails with that code. */
void bloom_sql_result_pass(sqlite3_context *context, const struct bloom_shape *shape,
                           uint8_t *filter);

/* For a function that has worked on so many further bytes: asks as bloom_sql_ask after every few
 * megabytes, and counts the bytes in between in *unasked. Returns true when the answer is yes; the
 * function has then failed with that code. */
bool bloom_sql_interrupted(sqlite3_context *context, uint64_t bytes, uint64_t *unasked);

/* The question that a key set asks while it is settled or built; code is the reason when the answer
 * is yes. The owner finalizes the statement. */
struct bloom_question {
    sqlite3 *database;
    sqlite3_stmt *statement;
    int code;
};
bool bloom_sql_question(void *argument);

/* library.c: the SQLite library that is served. Linked into a program there is only one. */
#ifdef SQLITE_CORE
static inline void bloom_library_keep(void) {
}
static inline void bloom_library_leave(void) {
}
#else

/* Begins a use of SQLite's functions. Returns false, and begins none, while another SQLite library
 * is in use. */
bool bloom_library_enter(const struct sqlite3_api_routines *api);

/* Adds a use while there is one. */
void bloom_library_keep(void);

/* Ends a use. The caller must not call SQLite afterwards, unless it has another use. */
void bloom_library_leave(void);
#endif

/* pins.c: filters as pointer values, which are never followed before they are found alive. */

/* open finds the state of a connection, or makes it; keep returns the state that it is given. Each
 * call of the two takes a reference, which one function holds; close gives it back. NULL: there is
 * no memory. After the last close of a connection another SQLite library may be served, so close is
 * the last thing that a destructor does. */
struct bloom_connection *bloom_connection_open(sqlite3 *database);
struct bloom_connection *bloom_connection_keep(struct bloom_connection *connection);
void bloom_connection_close(struct bloom_connection *connection);

/* Copies the filter, and makes a pin of the copy the function's result. */
void bloom_sql_result_pin(sqlite3_context *context, const struct bloom_stored *filter);

/* Makes a set of hashes the function's result, in the same way. It takes over the memory of the
 * set, of sqlite3_malloc64, and on failure, too. */
void bloom_sql_result_hashes(sqlite3_context *context, const struct bloom_hashes *hashes);

/* The filter of the living pin with that number, remembered for the function's next call; NULL when
 * there is none. */
const struct bloom_stored *bloom_sql_find_pin(struct bloom_registration *registration,
                                              uintptr_t number);

/* The same as bloom_sql_pinned, for the function of that registration. */
static inline const struct bloom_stored *
bloom_sql_recent_pin(struct bloom_registration *registration, sqlite3_value *value) {
    uintptr_t number = (uintptr_t)sqlite3_value_pointer(value, bloom_pin_type);
    const struct bloom_recent_pin *recent = &registration->recent_pin;
    return number == recent->number && registration->connection->deaths == recent->deaths
               ? recent->filter
               : bloom_sql_find_pin(registration, number);
}

/* scalar.c */
void bloom_sql_new(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_new_bits(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_add(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_remove(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_convert(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_check(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_count(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_fpr(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_info(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_size(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_hash(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_pin(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_version(sqlite3_context *context, int count, sqlite3_value **arguments);

/* merge.c */
void bloom_sql_union(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_intersect(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_union_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_intersect_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_merge_final(sqlite3_context *context);

/* exchange.c */
void bloom_sql_import(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_export(sqlite3_context *context, int count, sqlite3_value **arguments);

/* url.c */
void bloom_sql_url(sqlite3_context *context, int count, sqlite3_value **arguments);

/* aggregate.c */
void bloom_sql_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_agg_final(sqlite3_context *context);

/* hashes.c */
void bloom_sql_hashes_step(sqlite3_context *context, int count, sqlite3_value **arguments);
void bloom_sql_hashes_final(sqlite3_context *context);

#endif

/* What the SQL functions share: their registration, the readers of their arguments, their results.
 */
#ifndef BLOOM_SQLITE_FUNCTIONS_H
#define BLOOM_SQLITE_FUNCTIONS_H

#include "filter/builder.h"
#include "filter/options.h"
#include "sqlite/message.h"
#include "sqlite/pins.h"
#include "sqlite/poll.h"

/* --- Registration --- */

/* What SQLite calls: a scalar function, or the step of an aggregate, and the end of one. */
typedef void bloom_sql_call(sqlite3_context *context, int count, sqlite3_value **arguments);
typedef void bloom_sql_end(sqlite3_context *context);

/* One SQL function: a row of the registration table in extension.c. */
struct bloom_function {
    const char *name;
    int arguments_minimum;
    int arguments_maximum; /* -1: any number */
    bloom_sql_call *scalar, *step;
    bloom_sql_end *final;
};

/* The header that passed validation last. length is 0 at first. */
struct bloom_recent_header {
    unsigned length;
    uint8_t bytes[BLOOM_HEADER_BYTES_MAXIMUM];
    struct bloom_shape shape;
};

/* The pin that was found alive last. Zeros: none. */
struct bloom_recent_pin {
    uintptr_t number;
    uint64_t deaths; /* of the connection's pins, when it was alive */
    const struct bloom_stored *filter;
};

/* The user data of a function: its row, its connection and what it saw last. Most calls of a
 * statement see the same filter, and comparing its header with the last one is cheaper than
 * validating it again. Calls of one connection never overlap, so this needs no lock. Unlike
 * SQLite's auxiliary data it needs no allocation, and it serves filters from columns, too. */
struct bloom_registration {
    const struct bloom_function *function;
    struct bloom_connection *connection;
    struct bloom_recent_header recent_header;
    struct bloom_recent_pin recent_pin;
};

/* pins.c: as bloom_sql_pinned, and remembers the pin for the next call of the function. */
const struct bloom_stored *bloom_sql_find_pin(struct bloom_registration *registration,
                                              sqlite3_value *value);

/* The same as bloom_sql_pinned, for the function of that registration. */
static inline const struct bloom_stored *
bloom_sql_recent_pin(struct bloom_registration *registration, sqlite3_value *value) {
    uintptr_t number = (uintptr_t)sqlite3_value_pointer(value, bloom_pin_type);
    const struct bloom_recent_pin *recent = &registration->recent_pin;
    return number == recent->number && registration->connection->deaths == recent->deaths
               ? recent->filter
               : bloom_sql_find_pin(registration, value);
}

/* --- Errors --- */

/* Fails the running function with "FUNCTION: " and the formatted message (as sqlite3_mprintf).
 * Returns false. */
bool bloom_sql_error(sqlite3_context *context, const char *format, ...);

/* The same with "SUBJECT", what the value is in words, and advice as a second sentence. */
bool bloom_sql_error_value(sqlite3_context *context, const char *subject, sqlite3_value *value,
                           const char *advice);

/* Fails the function if `offered` is false: filters of that layout do not support the action, as in
 * "add keys to a". advice is a sentence, such as the layout's. Returns offered. */
bool bloom_sql_offers(sqlite3_context *context, const struct bloom_layout *layout, bool offered,
                      const char *action, const char *advice);

/* --- Argument readers. On failure they set the SQL error, which names the function and the
 * argument, and return false. --- */

/* Reads the first argument as a filter, a BLOB or pinned. position is its number in messages. NULL
 * is an error. count is 2 if the next argument is something else, which a message compares. */
bool bloom_sql_filter(sqlite3_context *context, int position, int count, sqlite3_value **arguments,
                      struct bloom_stored *filter);

/* Reads a value of type TEXT. Only lack of memory is an error. */
bool bloom_sql_text_argument(sqlite3_context *context, sqlite3_value *value,
                             struct bloom_text *text);

/* Reads a whole number from minimum to maximum: an INTEGER, or a REAL equal to one. */
bool bloom_sql_whole_number(sqlite3_context *context, const char *name, sqlite3_value *value,
                            uint64_t minimum, uint64_t maximum, uint64_t *number);

/* Reads p and options, of which there are `count`, into rate, layout and keying of a shape. If left
 * out, p is 0.01 and the layout is blocked. */
bool bloom_sql_rate_and_options(sqlite3_context *context, int count, sqlite3_value **arguments,
                                struct bloom_shape *shape);

/* Reads n, p and options likewise, and sizes the filter, which may be too long to be made. */
bool bloom_sql_shape(sqlite3_context *context, int count, sqlite3_value **arguments,
                     struct bloom_shape *shape);

/* Fails the function if a key is a filter, or one of bloom_list without a key rule, or could not be
 * read for want of memory. Returns true then. */
bool bloom_sql_key_fails(sqlite3_context *context, int position, enum bloom_key_kind kind);

/* Hashes a key that is to be added to a filter of that shape. Sets *adds to false for NULL, which
 * is skipped. A key for which the filter has no room is an error. A shape without bits, whose size
 * the keys decide, has room for all. */
bool bloom_sql_key_to_add(sqlite3_context *context, int position, sqlite3_value *value,
                          const struct bloom_shape *shape, uint64_t words[BLOOM_HASH_WORDS_MAXIMUM],
                          bool *adds);

/* --- Lengths and results --- */

/* Returns how many bytes a value of this connection may have. */
uint64_t bloom_sql_length_limit(sqlite3_context *context);

/* Fails the function if a filter of that shape is longer than that. Returns true if it is not. */
bool bloom_sql_check_length(sqlite3_context *context, const struct bloom_shape *shape);

/* Fails the function for a filter of that many bytes. Returns false. */
bool bloom_sql_error_length(sqlite3_context *context, const struct bloom_layout *layout,
                            uint64_t bytes);

/* Returns true if building succeeded, or else fails the function. problem says what was refused.
 * The caller reports an interrupt. */
bool bloom_sql_built(sqlite3_context *context, enum bloom_built built,
                     const struct bloom_builder *builder, const char *problem);

/* --- The functions --- */

/* scalar.c */
bloom_sql_call bloom_sql_new, bloom_sql_new_bits, bloom_sql_size, bloom_sql_add, bloom_sql_check,
    bloom_sql_remove, bloom_sql_convert, bloom_sql_count, bloom_sql_fpr_now, bloom_sql_info,
    bloom_sql_hash, bloom_sql_pin, bloom_sql_version, bloom_sql_build;

/* exchange.c, rows/url.c */
bloom_sql_call bloom_sql_import, bloom_sql_export, bloom_sql_url;

/* merge.c, aggregate.c, list_aggregate.c */
bloom_sql_call bloom_sql_union, bloom_sql_intersect;
bloom_sql_call bloom_sql_union_agg_step, bloom_sql_intersect_agg_step, bloom_sql_agg_step,
    bloom_sql_list_agg_step;
bloom_sql_end bloom_sql_merge_final, bloom_sql_agg_final, bloom_sql_list_agg_final;

#endif

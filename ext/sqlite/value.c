/* Between sqlite3_value and the filter library: arguments in, filters out, errors in words. See
 * sql.h. */
#include "sqlite/sqlite.h"

#include <stdarg.h>
#include <string.h>

#define RATE_DEFAULT 0.01

static const char *function_name(sqlite3_context *context) {
    const struct bloom_registration *registration = sqlite3_user_data(context);
    return registration->function->name;
}

void bloom_sql_error(sqlite3_context *context, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = sqlite3_vmprintf(format, list);
    va_end(list);
    char *message = text ? sqlite3_mprintf("%s: %s", function_name(context), text) : NULL;
    if (message)
        sqlite3_result_error(context, message, -1);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(message);
    sqlite3_free(text);
}

/* Fails with "FUNCTION: EXPECTATION, not WHAT-WAS-FOUND". */
static void error_found(sqlite3_context *context, const char *expectation, sqlite3_value *value) {
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        bloom_sql_error(context, "%s, not %lld", expectation, sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT:
        bloom_sql_error(context, "%s, not %!.15g", expectation, sqlite3_value_double(value));
        break;
    case SQLITE_TEXT:
        bloom_sql_error(context, "%s, not the text '%!.60s'", expectation,
                        sqlite3_value_text(value));
        break;
    case SQLITE_BLOB:
        bloom_sql_error(context, "%s, not a BLOB of %d bytes", expectation,
                        sqlite3_value_bytes(value));
        break;
    default:
        bloom_sql_error(context, "%s, not NULL", expectation);
    }
}

/* As bloom_filter_read, without its work when the function has just seen the same header. */
static bool read_header(struct bloom_registration *recent, struct bloom_stored *filter,
                        char problem[BLOOM_PROBLEM_SIZE]) {
    if (recent->shape.layout != NULL && filter->length >= BLOOM_HEADER_BYTES &&
        memcmp(filter->bytes, recent->header, BLOOM_HEADER_BYTES) == 0) {
        filter->shape = recent->shape;
        return bloom_payload_read(&filter->shape, filter->bytes, filter->length, problem);
    }
    if (!bloom_filter_read(&filter->shape, filter->bytes, filter->length, problem))
        return false;
    memcpy(recent->header, filter->bytes, BLOOM_HEADER_BYTES);
    recent->shape = filter->shape;
    return true;
}

struct pin {
    struct bloom_stored filter;
};

/* The bytes of a BLOB. The length comes first: a zeroblob for which there is no memory turns into NULL when its bytes are asked for. */
static bool read_blob(sqlite3_value *value, struct bloom_stored *stored) {
    stored->length = (uint64_t)sqlite3_value_bytes(value);
    stored->bytes = sqlite3_value_blob(value);
    return stored->bytes != NULL || stored->length == 0;
}

bool bloom_sql_is_null(sqlite3_context *context, sqlite3_value *value) {
    (void)context;
    return sqlite3_value_type(value) == SQLITE_NULL &&
           sqlite3_value_pointer(value, BLOOM_PIN_TYPE) == NULL;
}

bool bloom_sql_filter(sqlite3_context *context, int position, sqlite3_value *value,
                      struct bloom_stored *filter) {
    char problem[BLOOM_PROBLEM_SIZE];
    const struct pin *pin;
    char *expectation;

    switch (sqlite3_value_type(value)) {
    case SQLITE_BLOB:
        if (!read_blob(value, filter)) {
            sqlite3_result_error_nomem(context);
            return false;
        }
        if (read_header(sqlite3_user_data(context), filter, problem))
            return true;
        bloom_sql_error(context, "the filter (argument %d) %s", position, problem);
        return false;
    case SQLITE_NULL:
        pin = sqlite3_value_pointer(value, BLOOM_PIN_TYPE);
        if (pin != NULL) {
            *filter = pin->filter;
            return true;
        }
        bloom_sql_error(
            context,
            "the filter (argument %d) is NULL; does the row exist that should hold it? "
            "(a pinned filter is NULL beyond a join, a view, a subquery in FROM or coalesce: "
            "pin it in a scalar subquery)",
            position);
        return false;
    default:
        expectation = sqlite3_mprintf("the filter (argument %d) must be a BLOB as bloom_new and "
                                      "bloom_agg make them",
                                      position);
        if (expectation)
            error_found(context, expectation, value);
        else
            sqlite3_result_error_nomem(context);
        sqlite3_free(expectation);
        return false;
    }
}

enum bloom_stored_kind bloom_sql_stored(sqlite3_value *value, struct bloom_stored *filter,
                                        char problem[BLOOM_PROBLEM_SIZE]) {
    const struct pin *pin = sqlite3_value_pointer(value, BLOOM_PIN_TYPE);
    if (pin != NULL) {
        *filter = pin->filter;
        return BLOOM_STORED;
    }
    if (sqlite3_value_type(value) != SQLITE_BLOB) {
        sqlite3_snprintf(BLOOM_PROBLEM_SIZE, problem, "is %s",
                         sqlite3_value_type(value) == SQLITE_NULL ? "NULL" : "not a BLOB");
        return BLOOM_STORED_NOT;
    }
    if (!read_blob(value, filter))
        return BLOOM_STORED_NO_MEMORY;
    return bloom_filter_read(&filter->shape, filter->bytes, filter->length, problem)
               ? BLOOM_STORED
               : BLOOM_STORED_NOT;
}

bool bloom_sql_whole_number(sqlite3_context *context, const char *name, sqlite3_value *value,
                            uint64_t minimum, uint64_t maximum, uint64_t *number) {
    bool whole = false;
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        sqlite3_int64 integer = sqlite3_value_int64(value);
        whole = integer >= 0;
        *number = (uint64_t)integer;
    } else if (sqlite3_value_type(value) == SQLITE_FLOAT) {
        double real = sqlite3_value_double(value);
        /* 2^63 is an exact double, so the conversion below is defined. */
        whole = real >= 0 && real < 9223372036854775808.0 && (double)(uint64_t)real == real;
        *number = whole ? (uint64_t)real : 0;
    }
    if (whole && *number >= minimum && *number <= maximum)
        return true;
    char *expectation = sqlite3_mprintf("%s must be a whole number from %llu to %llu", name,
                                        (sqlite3_uint64)minimum, (sqlite3_uint64)maximum);
    if (expectation)
        error_found(context, expectation, value);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(expectation);
    return false;
}

/* p of a layout: 0 for one that is exact, for which it is left out or NULL. */
static bool read_rate(sqlite3_context *context, const struct bloom_layout *layout,
                      sqlite3_value *value, double *rate) {
    int type = sqlite3_value_type(value);
    char problem[BLOOM_PROBLEM_SIZE];
    if (layout->exact) {
        *rate = 0;
        if (type == SQLITE_NULL)
            return true;
        sqlite3_snprintf(sizeof problem, problem, "layout %s is exact: p must be left out or NULL",
                         layout->name);
        error_found(context, problem, value);
        return false;
    }
    *rate = sqlite3_value_double(value);
    if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && *rate > 0 && *rate < 1)
        return true;
    error_found(context, "p must be between 0 and 1", value);
    return false;
}

bool bloom_sql_layout(sqlite3_context *context, sqlite3_value *value,
                      const struct bloom_layout **layout) {
    if (sqlite3_value_type(value) == SQLITE_TEXT) {
        const char *name = (const char *)sqlite3_value_text(value);
        if (name == NULL) {
            sqlite3_result_error_nomem(context);
            return false;
        }
        *layout = bloom_layout_by_name(name, (size_t)sqlite3_value_bytes(value));
        if (*layout != NULL)
            return true;
    }
    char names[BLOOM_PROBLEM_SIZE] = "layout must be one of ";
    bloom_layout_list(names + strlen(names), sizeof names - strlen(names));
    error_found(context, names, value);
    return false;
}

bool bloom_sql_rate_and_layout(sqlite3_context *context, int count, sqlite3_value **arguments,
                               double *rate, const struct bloom_layout **layout) {
    *rate = RATE_DEFAULT;
    *layout = bloom_layout_default();
    return (count < 2 || bloom_sql_layout(context, arguments[1], layout)) &&
           (count < 1 || read_rate(context, *layout, arguments[0], rate));
}

bool bloom_sql_check_length(sqlite3_context *context, const struct bloom_shape *shape) {
    sqlite3 *database = sqlite3_context_db_handle(context);
    int limit = sqlite3_limit(database, SQLITE_LIMIT_LENGTH, -1);
    uint64_t bytes = bloom_filter_bytes(shape);
    if (bytes <= (uint64_t)limit)
        return true;
    bloom_sql_error(context,
                    "the filter needs %llu bytes, but a value of this connection is limited to %d "
                    "bytes; make it smaller%s",
                    (sqlite3_uint64)bytes, limit,
                    shape->layout->exact ? "" : ", or use a filter table, which has no such limit");
    return false;
}

static bool shape_result(sqlite3_context *context, bool found, const struct bloom_shape *shape,
                         const char *problem) {
    if (found)
        return bloom_sql_check_length(context, shape);
    bloom_sql_error(context, "%s", problem);
    return false;
}

bool bloom_sql_shape_for(sqlite3_context *context, const struct bloom_layout *layout,
                         uint64_t capacity, double rate, struct bloom_shape *shape) {
    char problem[BLOOM_PROBLEM_SIZE];
    return bloom_sql_offers(context, layout, layout->size != NULL, "choose n for") &&
           shape_result(context, bloom_shape_for(shape, layout, capacity, rate, problem), shape,
                        problem);
}

bool bloom_sql_shape_for_keys(sqlite3_context *context, const struct bloom_layout *layout,
                              const struct bloom_key_summary *keys, double rate,
                              struct bloom_shape *shape) {
    char problem[BLOOM_PROBLEM_SIZE];
    return shape_result(context, bloom_shape_for_keys(shape, layout, keys, rate, problem), shape,
                        problem);
}

bool bloom_sql_shape(sqlite3_context *context, int count, sqlite3_value **arguments,
                     struct bloom_shape *shape) {
    uint64_t capacity;
    double rate;
    const struct bloom_layout *layout;
    return bloom_sql_whole_number(context, "n", arguments[0], 0, BLOOM_CAPACITY_MAXIMUM,
                                  &capacity) &&
           bloom_sql_rate_and_layout(context, count - 1, arguments + 1, &rate, &layout) &&
           bloom_sql_shape_for(context, layout, capacity, rate, shape);
}

enum bloom_key_kind bloom_sql_key(sqlite3_value *value, const struct bloom_shape *shape,
                                  uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const struct bloom_hashing *hashing = shape->layout->hashing;
    bool (*take)(const uint64_t[2], const void *, size_t, uint64_t *);
    const void *bytes;
    int length;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return hashing->integer != NULL &&
                       hashing->integer(shape->extra, sqlite3_value_int64(value), words)
                   ? BLOOM_KEY
                   : BLOOM_KEY_FOREIGN;
    case SQLITE_FLOAT:
        return hashing->real != NULL &&
                       hashing->real(shape->extra, sqlite3_value_double(value), words)
                   ? BLOOM_KEY
                   : BLOOM_KEY_FOREIGN;
    case SQLITE_TEXT:
        bytes = sqlite3_value_text(value); /* first: it may convert from UTF-16 */
        if (bytes == NULL)
            return BLOOM_KEY_NO_MEMORY;
        length = sqlite3_value_bytes(value);
        take = hashing->text;
        break;
    case SQLITE_BLOB:
        length = sqlite3_value_bytes(value); /* first: see read_blob */
        bytes = sqlite3_value_blob(value);
        if (bytes == NULL && length > 0)
            return BLOOM_KEY_NO_MEMORY;
        take = hashing->bytes;
        break;
    default:
        return BLOOM_KEY_NULL;
    }
    return take != NULL && take(shape->extra, bytes, (size_t)length, words) ? BLOOM_KEY
                                                                            : BLOOM_KEY_FOREIGN;
}

enum bloom_key_added bloom_sql_key_to_add(sqlite3_context *context, int position,
                                          sqlite3_value *value, const struct bloom_shape *shape,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    const struct bloom_layout *layout = shape->layout;
    char problem[BLOOM_PROBLEM_SIZE];
    switch (bloom_sql_key(value, shape, words)) {
    case BLOOM_KEY_NULL:
        return BLOOM_KEY_SKIP;
    case BLOOM_KEY_NO_MEMORY:
        sqlite3_result_error_nomem(context);
        return BLOOM_KEY_FAILED;
    case BLOOM_KEY_FOREIGN:
        sqlite3_snprintf(sizeof problem, problem, "the key (argument %d): layout %s takes %s",
                         position, layout->name, layout->hashing->keys);
        error_found(context, problem, value);
        return BLOOM_KEY_FAILED;
    case BLOOM_KEY:
        break;
    }
    if (layout->fits == NULL || layout->fits(shape, words, problem))
        return BLOOM_KEY_ADD;
    bloom_sql_error(context, "the key (argument %d) %s", position, problem);
    return BLOOM_KEY_FAILED;
}

bool bloom_sql_offers(sqlite3_context *context, const struct bloom_layout *layout, bool offered,
                      const char *deed) {
    if (!offered)
        bloom_sql_error(context, "cannot %s a filter of layout %s; %s", deed, layout->name,
                        layout->advice);
    return offered;
}

uint8_t *bloom_sql_new_filter(const struct bloom_shape *shape) {
    uint64_t length = bloom_filter_bytes(shape);
    uint8_t *filter = sqlite3_malloc64(length);
    if (filter != NULL) {
        memset(filter, 0, (size_t)length);
        bloom_header_write(shape, filter);
    }
    return filter;
}

uint8_t *bloom_sql_copy_filter(const struct bloom_stored *filter) {
    uint8_t *copy = sqlite3_malloc64(filter->length);
    if (copy != NULL)
        memcpy(copy, filter->bytes, (size_t)filter->length);
    return copy;
}

void bloom_sql_result_filter(sqlite3_context *context, const struct bloom_shape *shape,
                             uint8_t *filter) {
    if (filter != NULL)
        sqlite3_result_blob64(context, filter, bloom_filter_bytes(shape), sqlite3_free);
    else
        sqlite3_result_error_nomem(context);
}

/* SQLite tells functions of an interrupt only from 3.41 on; but a nested statement meets both interrupts and
 * progress handlers on every version. This one runs some 1000 operations, so that handlers with long intervals get
 * their turn, too. */
int bloom_sql_ask(sqlite3 *database, sqlite3_stmt **statement) {
    static const char SQL[] = "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c "
                              "LIMIT 60) SELECT i FROM c";
    int code = SQLITE_OK;
    if (*statement == NULL)
        code = sqlite3_prepare_v2(database, SQL, -1, statement, NULL);
    if (code == SQLITE_OK) {
        while (sqlite3_step(*statement) == SQLITE_ROW)
            continue;
        code = sqlite3_reset(*statement);
    }
    /* An authorizer or a limit may forbid the question itself, which is no reason to stop. */
    return code == SQLITE_INTERRUPT || code == SQLITE_NOMEM ? code : SQLITE_OK;
}

bool bloom_sql_interrupted(sqlite3_context *context, uint64_t bytes, uint64_t *unasked) {
    enum { BYTES_BETWEEN_QUESTIONS = 4 << 20 }; /* a millisecond's work or so */
    sqlite3_stmt *statement = NULL;
    *unasked += bytes;
    if (*unasked < BYTES_BETWEEN_QUESTIONS)
        return false;
    *unasked = 0;
    int code = bloom_sql_ask(sqlite3_context_db_handle(context), &statement);
    sqlite3_finalize(statement);
    if (code == SQLITE_OK)
        return false;
    sqlite3_result_error_code(context, code);
    return true;
}

void bloom_sql_result_pin(sqlite3_context *context, const struct bloom_stored *filter) {
    /* Aligned to a cache line, so that no block straddles two: worth a third of a check out of
     * cache. */
    enum { LINE = 64 };
    struct pin *pin = sqlite3_malloc64(sizeof *pin + LINE + filter->length);
    if (pin == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    uintptr_t end = (uintptr_t)(pin + 1);
    uint8_t *bytes = (uint8_t *)(pin + 1) + (LINE - end % LINE) % LINE;
    memcpy(bytes, filter->bytes, (size_t)filter->length);
    pin->filter = *filter;
    pin->filter.bytes = bytes;
    sqlite3_result_pointer(context, pin, BLOOM_PIN_TYPE, sqlite3_free);
}

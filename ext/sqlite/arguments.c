/* Readers of arguments, and results.
 *
 * A reader either fills in what it was asked for, or sets the SQL error and returns false, so that
 * a function only has to stop. Reading a filter must be cheap, because bloom_check does it for
 * every row of a scan: if the header is the same as the last time, it is not validated again. */
#include "sqlite/functions.h"

#include "filter/builder.h"

#include <string.h>

bool bloom_sql_error(sqlite3_context *context, const char *format, ...) {
    const struct bloom_registration *registration = sqlite3_user_data(context);
    va_list list;
    va_start(list, format);
    char *message = bloom_message(sqlite3_context_db_handle(context), registration->function->name,
                                  format, list);
    va_end(list);
    if (message != NULL)
        sqlite3_result_error(context, message, -1);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(message);
    return false;
}

bool bloom_sql_error_value(sqlite3_context *context, const char *subject, sqlite3_value *value,
                           const char *advice) {
    char words[BLOOM_WORDS_SIZE];
    if (bloom_sql_describe(words, value) != NULL)
        return bloom_sql_error(context, "%s %s. %s", subject, words, advice);
    sqlite3_result_error_nomem(context);
    return false;
}

/* Fails the function for a value that n, p or the like cannot be. Returns false. */
static bool refuse_number(sqlite3_context *context, const char *name, sqlite3_value *value,
                          const char *advice) {
    char subject[16];
    sqlite3_snprintf(sizeof subject, subject, "%s is", name);
    if (sqlite3_value_type(value) == SQLITE_FLOAT && strcmp(name, "n") == 0 &&
        sqlite3_value_double(value) > 0 && sqlite3_value_double(value) < 1)
        advice = "Give n before p";
    if (sqlite3_value_type(value) == SQLITE_TEXT)
        advice = "Give a number, not text. Options come after n and p";
    return bloom_sql_error_value(context, subject, value, advice);
}

/* As bloom_filter_read, but without its work if `recent` has the same header. recent may be
 * NULL. */
static inline bool read_header(struct bloom_recent_header *recent, struct bloom_stored *filter,
                               bloom_problem problem) {
    if (recent != NULL && recent->length > 0 && filter->length >= recent->length &&
        memcmp(filter->bytes, recent->bytes, recent->length) == 0) {
        filter->shape = recent->shape;
        return bloom_payload_read(&filter->shape, filter->bytes, filter->length, problem);
    }
    if (!bloom_filter_read(&filter->shape, filter->bytes, filter->length, problem))
        return false;
    if (recent != NULL) {
        recent->length = bloom_header_bytes(&filter->shape);
        memcpy(recent->bytes, filter->bytes, recent->length);
        recent->shape = filter->shape;
    }
    return true;
}

/* Says why a value that is not a BLOB is not a filter, and what to do. */
static enum bloom_stored_kind not_stored(sqlite3_value *value, bloom_problem problem) {
    char words[BLOOM_WORDS_SIZE];
    const char *text = NULL, *mark = NULL;
    const char *advice = "Give a BLOB that bloom_new or bloom_agg has made";
    if (bloom_sql_describe(words, value) == NULL)
        return BLOOM_STORED_NO_MEMORY;
    if (sqlite3_value_type(value) == SQLITE_TEXT) {
        text = (const char *)sqlite3_value_text(value); /* bloom_sql_describe has converted it */
        advice = "Give the filter itself, as in (SELECT f FROM filters WHERE name = 'bad')";
        mark = strchr(text, 'B');
    }
    if (sqlite3_value_type(value) == SQLITE_NULL)
        bloom_fail(
            problem,
            "is NULL. Check that the row with the filter exists, or that its pin was not lost in a "
            "join, a view, a subquery in FROM or coalesce");
    else if (text != NULL && sqlite3_strnicmp(text, "89424c4d", 8) == 0)
        bloom_fail(problem, "is a filter in hexadecimal. Bind its bytes, or use unhex() in SQLite "
                            "3.41 or later");
    else if (text != NULL && strncmp(text, "iUJMT", 5) == 0)
        bloom_fail(problem, "is a filter in base64. Decode it, and bind its bytes");
    else if (mark != NULL && mark - text <= 3 && strncmp(mark, "BLM\1", 4) == 0)
        bloom_fail(problem, "is the bytes of a filter that were turned into text. Bind them as a "
                            "BLOB, and leave out a CAST or a concatenation");
    else
        bloom_fail(problem, "is not a filter but %s. %s", words, advice);
    return BLOOM_STORED_NOT;
}

/* Reads a filter from a value. pinned is the filter of the pin that the value is, or NULL. */
static inline enum bloom_stored_kind read_stored(int type, sqlite3_value *value,
                                                 const struct bloom_stored *pinned,
                                                 struct bloom_recent_header *recent,
                                                 struct bloom_stored *filter,
                                                 bloom_problem problem) {
    if (type == SQLITE_BLOB) {
        if (!bloom_sql_blob(value, &filter->bytes, &filter->length))
            return BLOOM_STORED_NO_MEMORY;
        return read_header(recent, filter, problem) ? BLOOM_STORED : BLOOM_STORED_NOT;
    }
    if (pinned == NULL)
        return not_stored(value, problem);
    *filter = *pinned;
    return BLOOM_STORED;
}

bool bloom_sql_filter(sqlite3_context *context, int position, int count, sqlite3_value **arguments,
                      struct bloom_stored *filter) {
    struct bloom_registration *registration = sqlite3_user_data(context);
    sqlite3_value *value = arguments[0];
    bloom_problem problem, other;
    int type = sqlite3_value_type(value);
    const struct bloom_stored *pinned =
        type == SQLITE_NULL ? bloom_sql_recent_pin(registration, value) : NULL;
    enum bloom_stored_kind kind =
        read_stored(type, value, pinned, &registration->recent_header, filter, problem);
    if (kind == BLOOM_STORED_NO_MEMORY)
        sqlite3_result_error_nomem(context);
    else if (kind == BLOOM_STORED_NOT && count > 1 &&
             bloom_sql_stored(sqlite3_context_db_handle(context), arguments[1], filter, other) ==
                 BLOOM_STORED)
        bloom_sql_error(context, "argument 1 is not a filter, but argument 2 is. Give the filter "
                                 "first");
    else if (kind == BLOOM_STORED_NOT)
        bloom_sql_error(context, "argument %d %s", position, problem);
    return kind == BLOOM_STORED;
}

enum bloom_stored_kind bloom_sql_stored(sqlite3 *database, sqlite3_value *value,
                                        struct bloom_stored *filter, bloom_problem problem) {
    return read_stored(sqlite3_value_type(value), value, bloom_sql_pinned(database, value), NULL,
                       filter, problem);
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
    char advice[80];
    sqlite3_snprintf(sizeof advice, advice, "Give a whole number from %llu to %llu",
                     (sqlite3_uint64)minimum, (sqlite3_uint64)maximum);
    return refuse_number(context, name, value, advice);
}

bool bloom_sql_text_argument(sqlite3_context *context, sqlite3_value *value,
                             struct bloom_text *text) {
    const uint8_t *bytes;
    uint64_t length;
    bool read = bloom_sql_text(value, &bytes, &length);
    if (!read)
        sqlite3_result_error_nomem(context);
    *text = (struct bloom_text){(const char *)bytes, (size_t)length};
    return read;
}

/* Reads p. An exact layout has no p: it must be left out or NULL, and becomes 0. */
static bool read_rate(sqlite3_context *context, const struct bloom_layout *layout,
                      sqlite3_value *value, double *rate) {
    int type = sqlite3_value_type(value);
    char advice[80];
    if (layout->exact) {
        *rate = 0;
        if (type == SQLITE_NULL)
            return true;
        sqlite3_snprintf(sizeof advice, advice,
                         "Leave it out or make it NULL, because layout %s is exact", layout->name);
        return bloom_sql_error_value(context, "p is", value, advice);
    }
    *rate = sqlite3_value_double(value);
    if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && *rate > 0 && *rate < 1)
        return true;
    return refuse_number(context, "p", value,
                         type == SQLITE_NULL
                             ? "Give a number between 0 and 1, because only layout bitmap has no p"
                             : "Give a number between 0 and 1, for example 0.01 for 1 %");
}

/* Reads options, or only the name of a layout, into layout and keying of a shape whose other
 * members are zeros. */
static bool read_options(sqlite3_context *context, sqlite3_value *value,
                         struct bloom_shape *shape) {
    bloom_problem problem;
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return bloom_sql_error_value(
            context, "the options are not text but", value,
            "Give the name of a layout, or text such as 'layout=fuse, key=url'");
    struct bloom_text text;
    if (!bloom_sql_text_argument(context, value, &text))
        return false;
    if (bloom_options_or_layout(text, shape, problem) == BLOOM_OPTION_READ)
        return true;
    return bloom_sql_error(context, "%s", problem);
}

bool bloom_sql_rate_and_options(sqlite3_context *context, int count, sqlite3_value **arguments,
                                struct bloom_shape *shape) {
    *shape = (struct bloom_shape){.layout = bloom_layout_default()};
    if (count > 1 && !read_options(context, arguments[1], shape))
        return false;
    shape->rate = BLOOM_RATE_DEFAULT;
    return count < 1 || read_rate(context, shape->layout, arguments[0], &shape->rate);
}

uint64_t bloom_sql_length_limit(sqlite3_context *context) {
    /* The most that sqlite3_malloc64 allocates in any version. */
    const int most = 0x7ffffeff;
    int limit = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
    return (uint64_t)(limit < most ? limit : most);
}

bool bloom_sql_error_length(sqlite3_context *context, const struct bloom_layout *layout,
                            uint64_t bytes) {
    return bloom_sql_error(
        context,
        "the filter needs %llu bytes, but a value of this connection is limited to %llu "
        "bytes. Make it smaller%s",
        (sqlite3_uint64)bytes, (sqlite3_uint64)bloom_sql_length_limit(context),
        layout->blocks == NULL ? "" : ", or use a filter table, which has no such limit");
}

bool bloom_sql_check_length(sqlite3_context *context, const struct bloom_shape *shape) {
    uint64_t bytes = bloom_filter_bytes(shape);
    if (bytes <= bloom_sql_length_limit(context))
        return true;
    return bloom_sql_error_length(context, shape->layout, bytes);
}

bool bloom_sql_shape(sqlite3_context *context, int count, sqlite3_value **arguments,
                     struct bloom_shape *shape) {
    uint64_t capacity;
    bloom_problem problem;
    if (!bloom_sql_whole_number(context, "n", arguments[0], 0, BLOOM_CAPACITY_MAXIMUM, &capacity) ||
        !bloom_sql_rate_and_options(context, count - 1, arguments + 1, shape))
        return false;
    if (bloom_shape_size(shape, capacity, problem))
        return true;
    return bloom_sql_error(context, "%s", problem);
}

bool bloom_sql_key_fails(sqlite3_context *context, int position, enum bloom_key_kind kind) {
    if (kind == BLOOM_KEY_NO_MEMORY)
        sqlite3_result_error_nomem(context);
    else if (kind == BLOOM_KEY_FILTER)
        bloom_sql_error(context,
                        "argument %d is a filter, where a key belongs. " BLOOM_FILTER_ADVICE,
                        position);
    else if (kind == BLOOM_KEY_OF_LIST)
        bloom_sql_error(context, "argument %d " BLOOM_OF_LIST_ADVICE, position);
    return kind == BLOOM_KEY_NO_MEMORY || kind == BLOOM_KEY_FILTER || kind == BLOOM_KEY_OF_LIST;
}

/* Returns true if a value that has no key is NULL, or else fails the function. */
static bool skip_key(sqlite3_context *context, int position, sqlite3_value *value,
                     const struct bloom_shape *shape, enum bloom_key_kind kind) {
    const struct bloom_layout *layout = shape->layout;
    char found[BLOOM_WORDS_SIZE];
    if (kind == BLOOM_KEY_NULL)
        return true;
    if (bloom_sql_key_fails(context, position, kind))
        return false;
    if (bloom_sql_describe(found, value) == NULL)
        sqlite3_result_error_nomem(context);
    else if (shape->keying.rule != NULL)
        bloom_sql_error(context, "%s (argument %d) is not %s. %s", found, position,
                        shape->keying.rule->wants, bloom_sql_key_advice(shape->keying.rule));
    else
        bloom_sql_error(context,
                        "argument %d is %s, but the keys of layout %s are %s. Convert it with "
                        "CAST, or leave it out",
                        position, found, layout->name, layout->hashing->keys);
    return false;
}

bool bloom_sql_key_to_add(sqlite3_context *context, int position, sqlite3_value *value,
                          const struct bloom_shape *shape, uint64_t words[BLOOM_HASH_WORDS_MAXIMUM],
                          bool *adds) {
    bloom_problem problem;
    enum bloom_key_kind kind = bloom_sql_key(value, shape, words);
    *adds = kind == BLOOM_KEY;
    if (!*adds)
        return skip_key(context, position, value, shape, kind);
    if (bloom_shape_has_room(shape, words, problem))
        return true;
    return bloom_sql_error(context, "argument %d %s", position, problem);
}

bool bloom_sql_offers(sqlite3_context *context, const struct bloom_layout *layout, bool offered,
                      const char *action, const char *advice) {
    if (offered)
        return true;
    return bloom_sql_error(context, "cannot %s filter of layout %s. %s", action, layout->name,
                           advice);
}

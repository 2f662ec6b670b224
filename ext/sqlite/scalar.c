/* The scalar functions, one C function for each. A function reads its arguments, which sets the SQL
 * error on failure, and works on the bytes of the filter in place. A function that changes a filter
 * changes a copy. */
#include "sqlite/functions.h"

#include "base/limits.h"
#include "base/version.h"
#include "filter/builder.h"

#include <math.h>
#include <string.h>

/* bloom_new(n [, p [, options]]) returns an empty filter. */
void bloom_sql_new(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_shape shape;
    if (bloom_sql_shape(context, count, arguments, &shape) &&
        bloom_sql_offers(context, shape.layout, shape.layout->add != NULL, "make an empty",
                         shape.layout->advice) &&
        bloom_sql_check_length(context, &shape))
        bloom_sql_result_filter(context, &shape, bloom_filter_new(&shape, &bloom_sql_memory));
}

/* bloom_new_bits(m, k) returns an empty classic filter of exactly m bits and k hashes. */
void bloom_sql_new_bits(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_shape shape = {.layout = &bloom_layout_classic};
    uint64_t probes;
    (void)count;
    if (!bloom_sql_whole_number(context, "m", arguments[0], 1, BLOOM_BITS_MAXIMUM, &shape.bits) ||
        !bloom_sql_whole_number(context, "k", arguments[1], 1, shape.layout->probes_maximum,
                                &probes))
        return;
    shape.probes = (uint32_t)probes;
    if (bloom_sql_check_length(context, &shape))
        bloom_sql_result_filter(context, &shape, bloom_filter_new(&shape, &bloom_sql_memory));
}

/* bloom_size(n [, p [, options]]) returns how many bytes bloom_new would return. It ignores the
 * length limit, because a caller may want to know by how much a filter is too long. */
void bloom_sql_size(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_shape shape;
    if (bloom_sql_shape(context, count, arguments, &shape))
        sqlite3_result_int64(context, (sqlite3_int64)bloom_filter_bytes(&shape));
}

/* bloom_add(filter, key) returns a filter with the key added. A NULL key changes nothing. */
void bloom_sql_add(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (!bloom_sql_filter(context, 1, count, arguments, &filter))
        return;
    const struct bloom_layout *layout = filter.shape.layout;
    if (!bloom_sql_offers(context, layout, layout->add != NULL, "add keys to a", layout->advice))
        return;
    bool adds;
    if (!bloom_sql_key_to_add(context, 2, arguments[1], &filter.shape, words, &adds))
        return;
    uint8_t *copy = bloom_sql_copy_filter(&filter);
    if (copy != NULL && adds)
        layout->add(&filter.shape, copy + bloom_header_bytes(&filter.shape), words, 1);
    bloom_sql_result_filter(context, &filter.shape, copy);
}

/* bloom_check(filter, key) returns 1 if the key is probably in the filter, 0 if it is certainly
 * not, and NULL for a NULL key and for text that has no key by the filter's key rule. By a rule,
 * any of the keys that may cover the text counts. */
void bloom_sql_check(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    uint64_t words[BLOOM_ASKED_WORDS];
    uint8_t found[BLOOM_RULE_KEYS_MAXIMUM];
    unsigned keys;
    if (!bloom_sql_filter(context, 1, count, arguments, &filter))
        return;
    const struct bloom_shape *shape = &filter.shape;
    const uint8_t *payload = bloom_stored_payload(&filter);
    const bool ruled = shape->keying.rule != NULL;
    const enum bloom_key_kind kind = ruled ? bloom_sql_asked_keys(arguments[1], shape, words, &keys)
                                           : bloom_sql_key(arguments[1], shape, words);
    if (kind == BLOOM_KEY_FOREIGN) {
        sqlite3_result_int(context, 0);
    } else if (kind != BLOOM_KEY) {
        bloom_sql_key_fails(context, 2, kind); /* not for NULL */
    } else if (ruled) {
        bloom_check_many(shape, payload, words, keys, found);
        sqlite3_result_int(context, memchr(found, 1, keys) != NULL);
    } else {
        sqlite3_result_int(context, shape->layout->check(shape, payload, words));
    }
}

/* Returns true if a layout counts its keys, or else fails the function. */
static bool offers_counts(sqlite3_context *context, const struct bloom_layout *layout,
                          const char *action) {
    return bloom_sql_offers(context, layout, layout->repeats, action,
                            "Make it with layout counting, as in bloom_agg(key, NULL, 0.01, "
                            "'counting')");
}

/* bloom_remove(filter, key) returns a filter with the key removed once. A key that is certainly not
 * in the filter changes nothing, and neither does a NULL key. */
void bloom_sql_remove(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (!bloom_sql_filter(context, 1, count, arguments, &filter))
        return;
    const struct bloom_layout *layout = filter.shape.layout;
    if (!offers_counts(context, layout, "remove keys from a"))
        return;
    enum bloom_key_kind kind = bloom_sql_key(arguments[1], &filter.shape, words);
    if (bloom_sql_key_fails(context, 2, kind))
        return;
    uint8_t *copy = bloom_sql_copy_filter(&filter);
    if (copy != NULL && kind == BLOOM_KEY)
        bloom_counting_remove(&filter.shape, copy + bloom_header_bytes(&filter.shape), words);
    bloom_sql_result_filter(context, &filter.shape, copy);
}

/* bloom_convert(filter, layout) returns the filter that bloom_agg makes of the same keys in that
 * layout, with the same n and p. */
void bloom_sql_convert(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    const struct bloom_layout *layout = NULL;
    if (!bloom_sql_filter(context, 1, count, arguments, &filter))
        return;
    if (sqlite3_value_type(arguments[1]) == SQLITE_TEXT) {
        struct bloom_text name;
        if (!bloom_sql_text_argument(context, arguments[1], &name))
            return;
        layout = bloom_layout_by_name(name.start, name.length);
    }
    if (layout == NULL) {
        bloom_sql_error_value(context, "the layout (argument 2) is", arguments[1],
                              "Give 'blocked', the only one that counting can become");
        return;
    }
    const struct bloom_shape *shape = &filter.shape;
    if (layout == shape->layout) {
        bloom_sql_result_filter(context, shape, bloom_sql_copy_filter(&filter));
        return;
    }
    if (!shape->layout->repeats || layout != &bloom_layout_blocked) {
        bloom_sql_error(
            context,
            "cannot convert a filter of layout %s to layout %s, only counting to blocked. Make it "
            "from its keys with bloom_agg",
            shape->layout->name, layout->name);
        return;
    }
    const struct bloom_shape converted = bloom_counting_as_blocked(shape);
    uint8_t *made = bloom_filter_new(&converted, &bloom_sql_memory);
    if (made != NULL)
        bloom_counting_convert(shape, bloom_stored_payload(&filter),
                               made + bloom_header_bytes(&converted));
    bloom_sql_result_filter(context, &converted, made);
}

/* Reads a filter and estimates what is in it. Returns false after failing the function. */
static bool read_estimate(sqlite3_context *context, sqlite3_value *value,
                          struct bloom_stored *filter, struct bloom_estimate *estimate) {
    if (!bloom_sql_filter(context, 1, 1, &value, filter))
        return false;
    const struct bloom_shape *shape = &filter->shape;
    const struct bloom_blocks *blocks = shape->layout->blocks;
    const uint8_t *payload = bloom_stored_payload(filter);
    struct bloom_tally tally = {0};
    uint64_t unpolled = 0;
    if (blocks == NULL) { /* one pass without a poll, because a value has at most 2 GiB */
        *estimate = shape->layout->estimate(shape, payload);
        return !bloom_sql_interrupted(context, filter->length, &unpolled);
    }
    uint64_t count = bloom_block_count(shape), stretch = bloom_limits.sql_stretch / blocks->bytes;
    for (uint64_t at = 0, now; at < count; at += now) {
        now = count - at < stretch ? count - at : stretch;
        blocks->tally(&tally, payload + at * blocks->bytes, now);
        if (bloom_sql_interrupted(context, now * blocks->bytes, &unpolled))
            return false;
    }
    *estimate = bloom_estimate_tally(shape, &tally);
    return true;
}

/* Makes the number of times that a key was added the result; NULL for a NULL key. */
static void count_of_key(sqlite3_context *context, sqlite3_value **arguments) {
    struct bloom_stored filter;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (!bloom_sql_filter(context, 1, 2, arguments, &filter) ||
        !offers_counts(context, filter.shape.layout, "count single keys of a"))
        return;
    enum bloom_key_kind kind = bloom_sql_key(arguments[1], &filter.shape, words);
    if (!bloom_sql_key_fails(context, 2, kind) && kind != BLOOM_KEY_NULL)
        sqlite3_result_int(context, kind == BLOOM_KEY
                                        ? (int)bloom_counting_times(
                                              &filter.shape, bloom_stored_payload(&filter), words)
                                        : 0);
}

/* bloom_count(filter) returns the estimated number of distinct keys, or NULL if every bit is set.
 * bloom_count(filter, key) returns how often a key was added to a counting filter, from 0 to 15. It
 * may return more than that, but never less. */
void bloom_sql_count(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    struct bloom_estimate estimate;
    if (count == 2)
        count_of_key(context, arguments);
    else if (read_estimate(context, arguments[0], &filter, &estimate) && isfinite(estimate.count))
        sqlite3_result_int64(context, (sqlite3_int64)floor(estimate.count + 0.5));
}

/* bloom_fpr_now(filter) returns the false-positive rate to expect now. */
void bloom_sql_fpr_now(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    struct bloom_estimate estimate;
    (void)count;
    if (read_estimate(context, arguments[0], &filter, &estimate))
        sqlite3_result_double(context, estimate.rate);
}

/* Appends a member of a JSON object: a whole number, or null if it is not known. */
static void append_integer(sqlite3_str *json, const char *name, bool known, uint64_t number) {
    sqlite3_str_appendf(json, known ? ",\"%s\":%llu" : ",\"%s\":null", name,
                        (sqlite3_uint64)number);
}

/* The same with the text of a real number. */
static void append_real(sqlite3_str *json, const char *name, bool known, const char *number) {
    sqlite3_str_appendf(json, ",\"%s\":%s", name, known ? number : "null");
}

/* bloom_info(filter) returns everything about a filter, as a JSON object. */
void bloom_sql_info(sqlite3_context *context, int count, sqlite3_value **arguments) {
    enum { JSON_SUBTYPE = 'J' }; /* how SQLite's JSON functions mark their results */
    struct bloom_stored filter;
    struct bloom_estimate estimate;
    const struct bloom_shape *shape = &filter.shape;
    char number[BLOOM_NUMBER_SIZE];
    (void)count;
    if (!read_estimate(context, arguments[0], &filter, &estimate))
        return;
    const bool has_count = isfinite(estimate.count), has_fill = estimate.fill >= 0;
    sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
    sqlite3_str_appendf(text, "{\"format\":%d,\"layout\":\"%s\"", BLOOM_FORMAT_VERSION,
                        shape->layout->name);
    bloom_sql_append_keying(text, &shape->keying);
    append_integer(text, "capacity", shape->rate > 0 || shape->layout->exact, shape->capacity);
    sqlite3_snprintf(sizeof number, number, "%!.15g", shape->rate);
    append_real(text, "fpr", shape->rate > 0, number);
    append_integer(text, "bits", true, shape->bits);
    append_integer(text, "hashes", true, shape->probes);
    append_integer(text, "bytes", true, filter.length);
    append_integer(text, "ones", has_fill, estimate.ones);
    append_real(text, "fill", has_fill, bloom_sql_estimate(number, estimate.fill));
    append_integer(text, "count", has_count, has_count ? (uint64_t)floor(estimate.count + 0.5) : 0);
    append_real(text, "fpr_now", true, bloom_sql_estimate(number, estimate.rate));
    sqlite3_str_appendchar(text, 1, '}');
    int code = sqlite3_str_errcode(text); /* before finish, which forgets it */
    char *json = sqlite3_str_finish(text);
    if (json == NULL) {
        sqlite3_result_error_code(context, code);
        return;
    }
    sqlite3_result_text(context, json, -1, sqlite3_free);
    sqlite3_result_subtype(context, JSON_SUBTYPE);
}

/* bloom_hash(key) returns the 16 bytes of the hash of a key, or NULL for NULL. A filter has a hash,
 * too, so that a CHECK can compare it with the column beside it. */
void bloom_sql_hash(sqlite3_context *context, int count, sqlite3_value **arguments) {
    static const struct bloom_shape SHAPE = {.layout = &bloom_layout_blocked};
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    uint8_t bytes[16];
    (void)count;
    const uint8_t *text;
    uint64_t length;
    const int type = sqlite3_value_type(arguments[0]);
    enum bloom_key_kind kind = type != SQLITE_BLOB && type != SQLITE_TEXT
                                   ? bloom_sql_key(arguments[0], &SHAPE, words)
                               : bloom_sql_bytes(arguments[0], type, &text, &length)
                                   ? bloom_text_key(&SHAPE, text, (size_t)length, words)
                                   : BLOOM_KEY_NO_MEMORY;
    if (kind == BLOOM_KEY) {
        bloom_store64(bytes, words[0]);
        bloom_store64(bytes + 8, words[1]);
        sqlite3_result_blob(context, bytes, sizeof bytes, SQLITE_TRANSIENT);
    } else {
        bloom_sql_key_fails(context, 1, kind); /* not for NULL */
    }
}

/* bloom_pin(filter) returns the filter as a pointer value, which SQLite never copies. */
void bloom_sql_pin(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    if (bloom_sql_filter(context, 1, count, arguments, &filter))
        bloom_sql_result_pin(context, &filter);
}

/* bloom_version() returns the number of the release alone, so that it can be compared. */
void bloom_sql_version(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    sqlite3_result_text(context, BLOOM_RELEASE, -1, SQLITE_STATIC);
}

/* bloom_build() returns the release, the SQLite it was built against, and how it was built. */
void bloom_sql_build(sqlite3_context *context, int count, sqlite3_value **arguments) {
#if defined(__clang__)
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
    /* __clang_version__ ends in a blank, or in where its source was fetched. */
    static const char COMPILER[] =
        "clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__);
#elif defined(__GNUC__)
    static const char COMPILER[] = "gcc " __VERSION__;
#else
    static const char COMPILER[] = "another compiler";
#endif
    char text[200];
    (void)count, (void)arguments;
    sqlite3_snprintf(sizeof text, text,
                     "bloom %s, format %d, built against SQLite %s with %s%s, %d bits",
                     BLOOM_RELEASE, BLOOM_FORMAT_VERSION, SQLITE_VERSION, COMPILER,
#ifdef SQLITE_CORE
                     ", linked in",
#else
                     "",
#endif
                     (int)(8 * sizeof(void *)));
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

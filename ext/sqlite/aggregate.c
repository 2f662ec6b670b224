/* The aggregate bloom_agg: the first row of a group chooses the shape of the filter, and every
 * other row must ask for the same one.
 *
 * Without n the shape has no bits yet. Then the builder collects the hashes of the keys and chooses
 * the size at the end. */
#include "sqlite/functions.h"

#include <string.h>

/* What n was in the first row of a group. */
enum size_source { SIZE_UNDECIDED, SIZE_FROM_KEYS, SIZE_FROM_NUMBER, SIZE_FROM_FILTER };

/* The options of the first row, which the other rows mostly repeat. */
struct kept_options {
    int length; /* -1: not kept, because they are no text or long */
    char text[120];
};

struct build {
    enum size_source source;
    bool failed; /* an error has been reported: the final step has only to clean up */
    struct kept_options options;
    struct bloom_builder builder;
};

static enum size_source source_of(int count, sqlite3_value **arguments) {
    if (count < 2 || bloom_sql_is_null(arguments[1]))
        return SIZE_FROM_KEYS;
    const int type = sqlite3_value_type(arguments[1]); /* NULL: pinned */
    return type == SQLITE_NULL || type == SQLITE_BLOB ? SIZE_FROM_FILTER : SIZE_FROM_NUMBER;
}

/* Reads n, p and options of a row. The keys decide the size of a shape without bits. */
static bool read_shape(sqlite3_context *context, int count, sqlite3_value **arguments,
                       enum size_source source, struct bloom_shape *shape) {
    struct bloom_stored template;
    switch (source) {
    case SIZE_FROM_NUMBER:
        return bloom_sql_shape(context, count - 1, arguments + 1, shape) &&
               bloom_sql_offers(context, shape->layout, shape->layout->add != NULL,
                                "reserve room for n keys in a", shape->layout->advice) &&
               bloom_sql_check_length(context, shape);
    case SIZE_FROM_FILTER:
        if (count > 2)
            return bloom_sql_error(
                context, "n is a filter, which has a p and options of its own. Leave p and "
                         "options out");
        if (!bloom_sql_filter(context, 2, 1, arguments + 1, &template))
            return false;
        *shape = template.shape;
        return bloom_sql_offers(context, shape->layout, shape->layout->add != NULL, "add keys to a",
                                shape->layout->advice);
    default:
        if (count == 2)
            return bloom_sql_error(
                context, "n (argument 2) is NULL. If it should be a filter, check that its row "
                         "exists. To let bloom_agg choose the size, leave n out or also give "
                         "p, as in bloom_agg(key, NULL, 0.01)");
        return bloom_sql_rate_and_options(context, count - 2, arguments + 2, shape);
    }
}

/* Keeps a value as the options of the first row. */
static void keep_options(struct kept_options *kept, sqlite3_value *value) {
    const uint8_t *text;
    uint64_t length;
    kept->length = -1;
    if (sqlite3_value_type(value) != SQLITE_TEXT || !bloom_sql_text(value, &text, &length) ||
        length > sizeof kept->text)
        return;
    memcpy(kept->text, text, (size_t)length);
    kept->length = (int)length;
}

/* Returns true if a value is the same text. If not, the options may still mean the same. */
static bool are_kept(const struct kept_options *kept, sqlite3_value *value) {
    const uint8_t *text;
    uint64_t length;
    return kept->length >= 0 && sqlite3_value_type(value) == SQLITE_TEXT &&
           bloom_sql_text(value, &text, &length) && length == (uint64_t)kept->length &&
           memcmp(text, kept->text, (size_t)length) == 0;
}

/* Begins the filter. Returns false after failing the function. */
static bool begin(sqlite3_context *context, int count, sqlite3_value **arguments,
                  struct build *build) {
    enum size_source source = source_of(count, arguments);
    struct bloom_shape shape;
    uint64_t seed[2] = {0};
    if (!read_shape(context, count, arguments, source, &shape))
        return false;
    if (shape.bits == 0)
        sqlite3_randomness(sizeof seed, seed);
    if (!bloom_builder_begin(&build->builder, &shape, bloom_sql_length_limit(context), seed,
                             &bloom_sql_memory)) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    if (count > 3)
        keep_options(&build->options, arguments[3]);
    build->source = source;
    return true;
}

/* Returns true if a row obviously asks for the same as the first one. The full comparison sizes the
 * filter again, which takes as long as adding a key. */
static bool plainly_same(enum size_source source, int count, sqlite3_value **arguments,
                         const struct build *build) {
    const struct bloom_shape *first = &build->builder.shape;
    if (source == SIZE_FROM_FILTER || (count > 3 && !are_kept(&build->options, arguments[3])))
        return false;
    if (source == SIZE_FROM_NUMBER &&
        (sqlite3_value_type(arguments[1]) != SQLITE_INTEGER ||
         sqlite3_value_int64(arguments[1]) != (sqlite3_int64)first->capacity))
        return false;
    return count < 3 ||
           (sqlite3_value_type(arguments[2]) == SQLITE_FLOAT && !first->layout->exact &&
            sqlite3_value_double(arguments[2]) == first->rate);
}

/* Returns true if a later row asks for the same as the first one, or else fails the function. */
static bool same_parameters(sqlite3_context *context, int count, sqlite3_value **arguments,
                            const struct build *build) {
    static const char *const SOURCES[] = {[SIZE_FROM_KEYS] = "n left out",
                                          [SIZE_FROM_NUMBER] = "n as a number",
                                          [SIZE_FROM_FILTER] = "n as a filter"};
    struct bloom_shape shape;
    enum size_source source = source_of(count, arguments);
    bloom_problem problem;
    if (source != build->source) {
        bloom_fail(problem, "%s and %s", SOURCES[build->source], SOURCES[source]);
    } else if (plainly_same(source, count, arguments, build)) {
        return true;
    } else if (!read_shape(context, count, arguments, source, &shape)) {
        return false;
    } else if (bloom_shape_same(&build->builder.shape, &shape, problem)) {
        return true;
    }
    return bloom_sql_error(
        context, "n, p or options differ within a group (%s). Give the same for all rows", problem);
}

bool bloom_sql_built(sqlite3_context *context, enum bloom_built built,
                     const struct bloom_builder *builder, const char *problem) {
    switch (built) {
    case BLOOM_BUILT:
        return true;
    case BLOOM_BUILD_NO_MEMORY:
        sqlite3_result_error_nomem(context);
        return false;
    case BLOOM_BUILD_NO_SEED:
    case BLOOM_BUILD_REFUSED:
        return bloom_sql_error(context, "%s", problem);
    default: /* BLOOM_BUILD_TOO_LONG */
        return bloom_sql_error_length(context, builder->shape.layout, builder->needed);
    }
}

/* Adds the key of a row, if it has one. Returns false after failing the function. */
static bool take_key(sqlite3_context *context, struct bloom_builder *builder, sqlite3_value *key) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    bloom_problem problem;
    bool adds;
    return bloom_sql_key_to_add(context, 1, key, &builder->shape, words, &adds) &&
           (!adds ||
            bloom_sql_built(context, bloom_builder_add(builder, words, problem), builder, problem));
}

/* bloom_agg(key [, n [, p [, options]]]), or bloom_agg(key, filter). Without a key the result is
 * NULL, so that a download without an entry does not become a filter that lets everything pass. */
void bloom_sql_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct build *build = sqlite3_aggregate_context(context, sizeof *build);
    if (build == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    build->failed = !(build->source == SIZE_UNDECIDED ? begin(context, count, arguments, build)
                      : count > 1 ? same_parameters(context, count, arguments, build)
                                  : true) ||
                    !take_key(context, &build->builder, arguments[0]);
}

void bloom_sql_agg_final(sqlite3_context *context) {
    struct build *build = sqlite3_aggregate_context(context, 0);
    if (build == NULL || build->source == SIZE_UNDECIDED)
        return;
    struct bloom_builder *builder = &build->builder;
    if (!build->failed && builder->has_key) { /* else the result is NULL, as that of sum */
        struct bloom_poller poller = {.database = sqlite3_context_db_handle(context)};
        bloom_problem problem;
        struct bloom_shape shape;
        uint8_t *filter;
        enum bloom_built built =
            bloom_builder_finish(builder, bloom_poller_ends, &poller, &shape, &filter, problem);
        if (poller.code != SQLITE_OK)
            sqlite3_result_error_code(context, poller.code);
        else if (bloom_sql_built(context, built, builder, problem))
            bloom_sql_result_filter(context, &shape, filter);
    }
    bloom_builder_release(builder);
}

/* The aggregate bloom_list_agg: each row is the text of a block list, and the filter has the
 * entries of all of them. A row reads a whole list, so it polls for an interrupt.
 *
 * In a query over visits, a bare bloom_list_agg(text) would make one group of all visits, and get
 * the same text for each. So the text of the row before is an error when it comes again. */
#include "sqlite/functions.h"

#include "filter/blocklist.h"

#include <string.h>

struct list_build {
    bool begun;
    bool failed;              /* an error has been reported: the final step has only to clean up */
    struct bloom_shape asked; /* layout, rate and keying of the first row */
    bool has_last;            /* not before the first text */
    uint64_t last[2];         /* the hash of the last text */
    struct bloom_blocklist blocklist;
};

/* Reads p and options, of which there are count. */
static bool read_list_shape(sqlite3_context *context, int count, sqlite3_value **arguments,
                            struct bloom_shape *shape) {
    if (!bloom_sql_rate_and_options(context, count, arguments, shape))
        return false;
    if (count == 0)
        shape->rate = BLOOM_BLOCKLIST_RATE;
    return true;
}

/* Begins the filter with the first row, and compares every other row with it. Returns false after
 * failing the function. */
static bool begin_or_compare(sqlite3_context *context, int count, sqlite3_value **arguments,
                             struct list_build *build) {
    struct bloom_shape shape;
    bloom_problem problem;
    uint64_t seed[2];
    if (!read_list_shape(context, count, arguments, &shape))
        return false;
    if (build->begun)
        return bloom_shape_same(&build->asked, &shape, problem) ||
               bloom_sql_error(
                   context, "p or options differ within a group (%s). Give the same for all rows",
                   problem);
    sqlite3_randomness(sizeof seed, seed);
    build->asked = shape;
    build->begun = bloom_sql_built(context,
                                   bloom_blocklist_begin(&build->blocklist, &shape,
                                                         bloom_sql_length_limit(context), seed,
                                                         &bloom_sql_memory, problem),
                                   &build->blocklist.builder, problem);
    return build->begun;
}

/* Adds the entries of a list. Returns false after failing the function. */
static bool add_list(sqlite3_context *context, sqlite3_value *value, struct list_build *build) {
    struct bloom_poller poller = {.database = sqlite3_context_db_handle(context)};
    bloom_problem problem;
    const uint8_t *text;
    uint64_t length, hash[2];
    if (!bloom_sql_bytes(value, sqlite3_value_type(value), &text, &length)) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    if (!bloom_sql_is_text(value, text, length, true, problem))
        return bloom_sql_error(context, "%s", problem);
    bloom_murmur3_bytes(text, (size_t)length, hash);
    if (build->has_last && memcmp(build->last, hash, sizeof hash) == 0)
        return bloom_sql_error(context,
                               "the row before has the same text. If the filter is for each row "
                               "of a query, write (SELECT bloom_list_agg(...)) instead of "
                               "bloom_list_agg(...)");
    memcpy(build->last, hash, sizeof hash);
    build->has_last = true;
    const enum bloom_built built = bloom_blocklist_add(&build->blocklist, text, (size_t)length,
                                                       bloom_poller_ends, &poller, problem);
    if (poller.code == SQLITE_OK)
        return bloom_sql_built(context, built, &build->blocklist.builder, problem);
    sqlite3_result_error_code(context, poller.code);
    return false;
}

/* bloom_list_agg(text [, p [, options]]). */
void bloom_sql_list_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct list_build *build = sqlite3_aggregate_context(context, sizeof *build);
    if (build == NULL)
        sqlite3_result_error_nomem(context);
    else if (!bloom_sql_is_null(arguments[0]))
        build->failed = !begin_or_compare(context, count - 1, arguments + 1, build) ||
                        !add_list(context, arguments[0], build);
}

void bloom_sql_list_agg_final(sqlite3_context *context) {
    struct list_build *build = sqlite3_aggregate_context(context, 0);
    if (build == NULL || !build->begun)
        return;
    if (!build->failed) {
        struct bloom_poller poller = {.database = sqlite3_context_db_handle(context)};
        bloom_problem problem;
        struct bloom_shape shape;
        uint8_t *filter;
        enum bloom_built built = bloom_blocklist_finish(&build->blocklist, bloom_poller_ends,
                                                        &poller, &shape, &filter, problem);
        if (poller.code != SQLITE_OK)
            sqlite3_result_error_code(context, poller.code);
        else if (bloom_sql_built(context, built, &build->blocklist.builder, problem))
            bloom_sql_result_filter(context, &shape, filter);
    }
    bloom_blocklist_release(&build->blocklist);
}

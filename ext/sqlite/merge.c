/* bloom_union and bloom_intersect, as functions of several filters and as aggregates over a column.
 * Both feed one filter after the other to filter/merge.h, which keeps the result so far. */
#include "sqlite/functions.h"

#include "filter/merge.h"

/* The result so far. */
struct sql_merge {
    struct bloom_merge merge;
    sqlite3_context *context; /* of the running function */
    uint64_t unpolled;        /* see bloom_sql_interrupted */
};

static bool merge_interrupted(void *argument, uint64_t bytes) {
    struct sql_merge *sql = argument;
    return bloom_sql_interrupted(sql->context, bytes, &sql->unpolled);
}

/* Merges an argument. Returns false after failing the function. Then all memory has been released,
 * because SQLite takes no further step. */
static bool merge_argument(sqlite3_context *context, struct sql_merge *sql,
                           enum bloom_merge_kind kind, int position, sqlite3_value *value) {
    struct bloom_stored filter;
    bloom_problem problem;
    enum bloom_built merged = BLOOM_BUILD_INTERRUPTED; /* or reported otherwise */
    if (kind == BLOOM_UNION && bloom_sql_is_null(value))
        return true;
    sql->context = context;
    sql->merge.kind = kind;
    sql->merge.memory = &bloom_sql_memory;
    sql->merge.interrupted = merge_interrupted;
    sql->merge.argument = sql;
    if (bloom_sql_filter(context, position, 1, &value, &filter) &&
        bloom_sql_offers(
            context, filter.shape.layout, bloom_merge_function(kind, filter.shape.layout),
            kind == BLOOM_UNION ? "unite a" : "intersect a", filter.shape.layout->advice))
        merged = bloom_merge_take(&sql->merge, &filter.shape, filter.bytes, problem);
    if (merged == BLOOM_BUILT)
        return true;
    if (merged == BLOOM_BUILD_REFUSED)
        bloom_sql_error(context,
                        "argument %d differs from the first filter (first and argument %d: %s). "
                        "Make them with the same parameters, as bloom_agg(key, filter) does",
                        position, position, problem);
    else if (merged == BLOOM_BUILD_NO_MEMORY)
        sqlite3_result_error_nomem(context);
    bloom_merge_release(&sql->merge);
    return false;
}

static void merge_result(sqlite3_context *context, const struct sql_merge *sql) {
    if (sql->merge.filter != NULL)
        bloom_sql_result_filter(context, &sql->merge.shape, sql->merge.filter);
}

static void merge_scalar(sqlite3_context *context, int count, sqlite3_value **arguments,
                         enum bloom_merge_kind kind) {
    struct sql_merge sql = {0};
    if (count == 0)
        bloom_sql_error(context, "there is no filter. Give at least one");
    for (int i = 0; i < count; i++)
        if (!merge_argument(context, &sql, kind, i + 1, arguments[i]))
            return;
    merge_result(context, &sql);
}

/* bloom_union(f, g, ...) returns a filter of the keys of all. NULLs are skipped. If all are NULL,
 * it returns NULL. */
void bloom_sql_union(sqlite3_context *context, int count, sqlite3_value **arguments) {
    merge_scalar(context, count, arguments, BLOOM_UNION);
}

/* bloom_intersect(f, g, ...) returns a filter that has at least the keys that all have. A NULL is
 * an error, because skipping it would return too many keys. */
void bloom_sql_intersect(sqlite3_context *context, int count, sqlite3_value **arguments) {
    merge_scalar(context, count, arguments, BLOOM_INTERSECTION);
}

static void merge_step(sqlite3_context *context, sqlite3_value *value, enum bloom_merge_kind kind) {
    struct sql_merge *sql = sqlite3_aggregate_context(context, sizeof *sql);
    if (sql != NULL)
        merge_argument(context, sql, kind, 1, value);
    else
        sqlite3_result_error_nomem(context);
}

/* bloom_union_agg(filter): NULLs are skipped, as in every aggregate. If there are no other rows, it
 * returns NULL. */
void bloom_sql_union_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    merge_step(context, arguments[0], BLOOM_UNION);
}

/* bloom_intersect_agg(filter): a NULL is an error, as in bloom_intersect. Without rows it returns
 * NULL. */
void bloom_sql_intersect_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    merge_step(context, arguments[0], BLOOM_INTERSECTION);
}

/* The end of both. */
void bloom_sql_merge_final(sqlite3_context *context) {
    const struct sql_merge *sql = sqlite3_aggregate_context(context, 0);
    if (sql != NULL)
        merge_result(context, sql);
}

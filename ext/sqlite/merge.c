/* bloom_union and bloom_intersect, and the same as aggregates over a column of filters.
 *
 * All four take filters one after the other into one that is in the making. The filters must have
 * equal parameters, except in layouts whose sizes mix: there a union has the size of the largest
 * filter, an intersection that of the smallest. Filters of a layout that can be halved get the size
 * of the smallest.
 */
#include "sqlite/functions.h"

/* The filter in the making, from the first one on. */
struct merge {
    struct bloom_shape shape;
    uint8_t *filter;  /* ours; NULL before the first */
    uint64_t unasked; /* see bloom_sql_interrupted */
};

enum merge_kind { MERGE_UNION, MERGE_INTERSECTION };

/* After an error was reported: SQLite takes no further step. */
static bool merge_failed(struct merge *merge) {
    sqlite3_free(merge->filter);
    merge->filter = NULL;
    return false;
}

static bool merge_no_memory(sqlite3_context *context, struct merge *merge) {
    sqlite3_result_error_nomem(context);
    return merge_failed(merge);
}

/* Combines two payloads of which the shorter one counts. False: interrupted. */
static bool merge_combine(sqlite3_context *context, struct merge *merge, enum merge_kind kind,
                          const struct bloom_shape *into_shape, uint8_t *into,
                          const struct bloom_shape *from_shape, const uint8_t *from) {
    const struct bloom_layout *layout = into_shape->layout;
    uint64_t bytes = bloom_payload_bytes(into_shape), other = bloom_payload_bytes(from_shape);
    bytes = bytes < other ? bytes : other;
    for (uint64_t at = 0, now; at < bytes; at += now) {
        now = bytes - at < BLOOM_SQL_STRETCH ? bytes - at : BLOOM_SQL_STRETCH;
        (kind == MERGE_UNION ? layout->unite : layout->intersect)(into + at, from + at,
                                                                  (size_t)now);
        if (bloom_sql_interrupted(context, now, &merge->unasked))
            return false;
    }
    return true;
}

/* Halves a filter, which is ours, to so many bits. False: interrupted. */
static bool merge_halve(sqlite3_context *context, struct merge *merge, struct bloom_shape *shape,
                        uint8_t *filter, uint64_t bits) {
    while (shape->bits > bits) {
        uint64_t bytes = bloom_payload_bytes(shape);
        shape->layout->halve(filter + bloom_header_bytes(shape), bytes);
        shape->bits /= 2;
        bloom_header_write(shape, filter);
        if (bloom_sql_interrupted(context, bytes, &merge->unasked))
            return false;
    }
    return true;
}

/* Takes one more filter in; differs begins the message for one that does not fit. Returns false
 * after failing the function, and holds nothing then. */
static bool merge_take(sqlite3_context *context, struct merge *merge, enum merge_kind kind,
                       const struct bloom_stored *filter, const char *differs) {
    const struct bloom_layout *layout = filter->shape.layout;
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_sql_offers(context, layout,
                          (kind == MERGE_UNION ? layout->unite : layout->intersect) != NULL,
                          kind == MERGE_UNION ? "unite" : "intersect"))
        return merge_failed(merge);
    if (merge->filter == NULL) {
        merge->shape = filter->shape;
        merge->filter = bloom_sql_copy_filter(filter);
        if (merge->filter == NULL)
            return merge_no_memory(context, merge);
        if (bloom_sql_interrupted(context, filter->length, &merge->unasked))
            return merge_failed(merge);
        return true;
    }
    bool combined;
    if (!bloom_shape_merges(&merge->shape, &filter->shape, problem)) {
        bloom_sql_error(context, "%s (%s); make them with the same parameters", differs, problem);
        return merge_failed(merge);
    }
    /* The result is as large as the one that decides: the smaller one where the larger is halved,
     * and for an intersection. */
    bool smaller = filter->shape.bits < merge->shape.bits;
    if (layout->halve != NULL && smaller &&
        !merge_halve(context, merge, &merge->shape, merge->filter, filter->shape.bits))
        return merge_failed(merge);
    if (kind == MERGE_UNION || layout->halve != NULL ? filter->shape.bits > merge->shape.bits
                                                     : smaller) {
        uint8_t *copy = bloom_sql_copy_filter(filter);
        struct bloom_shape shape = filter->shape;
        if (copy == NULL)
            return merge_no_memory(context, merge);
        combined = (layout->halve == NULL ||
                    merge_halve(context, merge, &shape, copy, merge->shape.bits)) &&
                   merge_combine(context, merge, kind, &shape, copy + bloom_header_bytes(&shape),
                                 &merge->shape, merge->filter + bloom_header_bytes(&merge->shape));
        sqlite3_free(merge->filter);
        merge->filter = copy;
        merge->shape = shape;
    } else {
        combined = merge_combine(context, merge, kind, &merge->shape,
                                 merge->filter + bloom_header_bytes(&merge->shape), &filter->shape,
                                 bloom_stored_payload(filter));
    }
    if (!combined)
        return merge_failed(merge);
    return true;
}

static void merge_scalar(sqlite3_context *context, int count, sqlite3_value **arguments,
                         enum merge_kind kind) {
    struct merge merge = {.filter = NULL};
    if (count == 0)
        bloom_sql_error(context, "give at least one filter");
    for (int i = 0; i < count; i++) {
        struct bloom_stored filter;
        char differs[64];
        if (kind == MERGE_UNION && bloom_sql_is_null(arguments[i]))
            continue;
        sqlite3_snprintf(sizeof differs, differs, "argument %d differs from the first filter",
                         i + 1);
        if (!bloom_sql_filter(context, i + 1, arguments[i], &filter)) {
            merge_failed(&merge);
            return;
        }
        if (!merge_take(context, &merge, kind, &filter, differs))
            return;
    }
    if (merge.filter != NULL)
        bloom_sql_result_filter(context, &merge.shape, merge.filter);
}

/* bloom_union(f, g, ...): a filter of the keys of all. NULLs are skipped; only NULLs give NULL. */
void bloom_sql_union(sqlite3_context *context, int count, sqlite3_value **arguments) {
    merge_scalar(context, count, arguments, MERGE_UNION);
}

/* bloom_intersect(f, g, ...): a filter that holds at least the keys that all hold. A NULL is an
 * error: skipping it would answer for another question. */
void bloom_sql_intersect(sqlite3_context *context, int count, sqlite3_value **arguments) {
    merge_scalar(context, count, arguments, MERGE_INTERSECTION);
}

static void merge_step(sqlite3_context *context, sqlite3_value *value, enum merge_kind kind) {
    struct merge *merge;
    struct bloom_stored filter;
    if (kind == MERGE_UNION && bloom_sql_is_null(value))
        return;
    merge = sqlite3_aggregate_context(context, sizeof *merge);
    if (merge == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!bloom_sql_filter(context, 1, value, &filter))
        merge_failed(merge);
    else
        merge_take(context, merge, kind, &filter, "a filter differs from the first one");
}

/* bloom_union_agg(filter): NULLs are skipped, as in every aggregate; only NULLs, or no rows, give
 * NULL. */
void bloom_sql_union_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    merge_step(context, arguments[0], MERGE_UNION);
}

/* bloom_intersect_agg(filter): a NULL is an error, as in bloom_intersect; no rows give NULL. */
void bloom_sql_intersect_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    merge_step(context, arguments[0], MERGE_INTERSECTION);
}

/* The end of both. */
void bloom_sql_merge_final(sqlite3_context *context) {
    struct merge *merge = sqlite3_aggregate_context(context, 0);
    if (merge != NULL && merge->filter != NULL)
        bloom_sql_result_filter(context, &merge->shape, merge->filter);
}

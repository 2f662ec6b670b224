/* Functions for what only some layouts can do: bloom_remove and bloom_convert. */
#include "sqlite/sqlite.h"

/* bloom_remove(filter, key): a new filter from which the key was taken once. A key that is
 * certainly not in, and a NULL key, change nothing. */
void bloom_sql_remove(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    (void)count;
    if (!bloom_sql_filter(context, 1, arguments[0], &filter))
        return;
    const struct bloom_layout *layout = filter.shape.layout;
    if (layout->remove == NULL) {
        bloom_sql_error(
            context,
            "cannot take keys out of a filter of layout %s; make it in layout counting, "
            "as in bloom_agg(key, NULL, 0.01, 'counting')",
            layout->name);
        return;
    }
    enum bloom_key_kind kind = bloom_sql_key(arguments[1], &filter.shape, words);
    if (kind == BLOOM_KEY_NO_MEMORY) {
        sqlite3_result_error_nomem(context);
        return;
    }
    uint8_t *copy = bloom_sql_copy_filter(&filter);
    if (copy != NULL && kind == BLOOM_KEY)
        layout->remove(&filter.shape, copy + bloom_header_bytes(&filter.shape), words);
    bloom_sql_result_pass(context, &filter.shape, copy);
}

/* bloom_convert(filter, layout): the filter that bloom_agg makes in that layout of the same keys,
 * given the same n and p. */
void bloom_sql_convert(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    struct bloom_shape converted;
    const struct bloom_layout *layout;
    (void)count;
    if (!bloom_sql_filter(context, 1, arguments[0], &filter) ||
        !bloom_sql_layout(context, arguments[1], &layout))
        return;
    const struct bloom_shape *shape = &filter.shape;
    if (layout == shape->layout) {
        bloom_sql_result_filter(context, shape, bloom_sql_copy_filter(&filter));
        return;
    }
    if (shape->layout->convertible == NULL ||
        !shape->layout->convertible(shape, layout, &converted)) {
        bloom_sql_error(
            context,
            "a filter of layout %s cannot be converted to layout %s, only one of layout "
            "counting to blocked; make it anew from its keys with bloom_agg",
            shape->layout->name, layout->name);
        return;
    }
    uint8_t *made = bloom_sql_new_filter(&converted);
    if (made != NULL)
        shape->layout->convert(shape, bloom_stored_payload(&filter), &converted,
                               made + bloom_header_bytes(&converted));
    bloom_sql_result_pass(context, &converted, made);
}

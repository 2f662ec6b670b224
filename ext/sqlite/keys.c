/* The table-valued function bloom_keys(filter): the keys in a filter that can list them, ascending,
 * as rows of the column key.
 *
 *   key = ?, key > ?, key BETWEEN ? AND ? and their like choose where the listing begins and ends
 *   ORDER BY key and ORDER BY key DESC are the order in which it lists
 *
 * so that SQLite neither looks at other keys nor sorts. A comparison with a number that is not
 * whole, with text or with a BLOB means what it means for a column of integers.
 *
 * A cursor has a copy of the filter: SQLite keeps the argument no longer than the call that hands
 * it over. Keys are taken from the copy some hundred at a time.
 */
#include "sqlite/sqlite.h"

#include <string.h>

enum { KEYS_COLUMN_KEY, KEYS_COLUMN_FILTER };

/* idxNum: how the key is compared with the arguments that follow the filter, one for each of these
 * that is set, in this order; and how the rows are ordered. */
enum {
    KEYS_EQUAL = 1,
    KEYS_ABOVE = 2,
    KEYS_FROM = 4,
    KEYS_BELOW = 8,
    KEYS_TO = 16,
    KEYS_COMPARISONS = 5,
    KEYS_DESCENDING = 32,
    KEYS_NO_FILTER = 64
};

struct keys_table {
    sqlite3_vtab base;
    sqlite3 *database;
};

struct keys_cursor {
    sqlite3_vtab_cursor base;
    struct bloom_stored filter; /* bytes: ours, NULL when there are none */
    uint64_t first, last;       /* still to be listed, none when first > last */
    bool descending;
    bool hashed;            /* see keys_rowid */
    struct bloom_hash hash; /* of the filter */
    size_t at, count;       /* in listed */
    uint64_t listed[128];
};

static int keys_connect(sqlite3 *database, void *data, int count, const char *const *arguments,
                        sqlite3_vtab **result, char **error) {
    (void)data;
    (void)count;
    (void)arguments;
    (void)error;
    int code = sqlite3_declare_vtab(database, "CREATE TABLE x(key INTEGER, filter HIDDEN)");
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK)
        return code;
    struct keys_table *table = sqlite3_malloc(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    memset(table, 0, sizeof *table);
    table->database = database;
    *result = &table->base;
    return SQLITE_OK;
}

static int keys_disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

static int keys_comparison(unsigned char op) {
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS: /* no key is NULL, and no filter */
        return KEYS_EQUAL;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return KEYS_ABOVE;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return KEYS_FROM;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return KEYS_BELOW;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return KEYS_TO;
    default:
        return 0;
    }
}

/* A plan in which the filter is not known yet is refused, so that SQLite takes another one; one
 * without any fails when it is run, with words. */
static int keys_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    int filter = -1, of_comparison[KEYS_COMPARISONS] = {-1, -1, -1, -1, -1};
    bool waits = false;
    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        int comparison = keys_comparison(constraint->op);
        if (constraint->iColumn == KEYS_COLUMN_FILTER && comparison == KEYS_EQUAL) {
            if (constraint->usable)
                filter = i;
            else
                waits = true;
        } else if (constraint->iColumn == KEYS_COLUMN_KEY && constraint->usable) {
            for (int bit = 0; bit < KEYS_COMPARISONS; bit++)
                if (comparison == 1 << bit)
                    of_comparison[bit] = i;
        }
    }
    info->estimatedCost = 1e12;
    info->idxNum = KEYS_NO_FILTER;
    if (filter < 0)
        return waits ? SQLITE_CONSTRAINT : SQLITE_OK;

    int arguments = 1;
    info->idxNum = 0;
    info->aConstraintUsage[filter].argvIndex = arguments;
    info->aConstraintUsage[filter].omit = 1;
    for (int bit = 0; bit < KEYS_COMPARISONS; bit++)
        if (of_comparison[bit] >= 0) {
            info->aConstraintUsage[of_comparison[bit]].argvIndex = ++arguments;
            info->aConstraintUsage[of_comparison[bit]].omit = 1;
            info->idxNum |= 1 << bit;
        }
    if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == KEYS_COLUMN_KEY) {
        info->orderByConsumed = 1;
        info->idxNum |= info->aOrderBy[0].desc ? KEYS_DESCENDING : 0;
    }
    /* A million keys, a hundredth of them for each end that is given; and, for each time that the
     * listing begins, the copying of the filter, which is about as dear as a thousand keys. */
    double rows = 1e6;
    for (int bit = 0; bit < KEYS_COMPARISONS; bit++)
        if (of_comparison[bit] >= 0)
            rows = bit == 0 ? 1 : rows / 100 + 1;
    info->estimatedRows = (sqlite3_int64)rows;
    info->estimatedCost = rows + 1000;
    if (info->idxNum & KEYS_EQUAL)
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    return SQLITE_OK;
}

static int keys_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result) {
    struct keys_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    (void)table;
    if (cursor == NULL)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    *result = &cursor->base;
    return SQLITE_OK;
}

static void keys_release(struct keys_cursor *cursor) {
    sqlite3_free((void *)(uintptr_t)cursor->filter.bytes);
    cursor->filter.bytes = NULL;
}

static int keys_close(sqlite3_vtab_cursor *base) {
    keys_release((struct keys_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static void keys_none(struct keys_cursor *cursor) {
    cursor->first = 1;
    cursor->last = 0;
}

/* No key is below from, or above to. */
static void keys_not_below(struct keys_cursor *cursor, uint64_t from) {
    if (from > cursor->first)
        cursor->first = from;
}

static void keys_not_above(struct keys_cursor *cursor, uint64_t to) {
    if (to < cursor->last)
        cursor->last = to;
}

/* Keys that compare like this with a number whose whole part is floor, itself whole or not. */
static void keys_compare(struct keys_cursor *cursor, int comparison, uint64_t floor, bool whole) {
    if (comparison == KEYS_ABOVE)
        keys_not_below(cursor, floor + 1);
    else if (comparison == KEYS_FROM)
        keys_not_below(cursor, floor + !whole);
    else if (comparison == KEYS_TO || (comparison == KEYS_BELOW && !whole))
        keys_not_above(cursor, floor);
    else if (comparison == KEYS_BELOW && floor > 0)
        keys_not_above(cursor, floor - 1);
    else if (comparison == KEYS_EQUAL && whole) {
        keys_not_below(cursor, floor);
        keys_not_above(cursor, floor);
    } else
        keys_none(cursor);
}

/* The same with any value: text that is a number counts as one, as for a column of integers; other
 * text and BLOBs are above all numbers; nothing compares with NULL. */
static void keys_compare_value(struct keys_cursor *cursor, int comparison, sqlite3_value *value) {
    const double beyond = 4611686018427387904.0; /* 2^62; no key is as large */
    double real;
    bool below_all, above_all;
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
        below_all = sqlite3_value_int64(value) < 0;
        if (!below_all) {
            keys_compare(cursor, comparison, (uint64_t)sqlite3_value_int64(value), true);
            return;
        }
        above_all = false;
        break;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        below_all = real < 0;
        above_all = real >= beyond;
        if (!below_all && !above_all) {
            keys_compare(cursor, comparison, (uint64_t)real, (double)(uint64_t)real == real);
            return;
        }
        break;
    case SQLITE_NULL:
        below_all = above_all = false;
        break;
    default:
        below_all = false;
        above_all = true;
    }
    bool all = (below_all && (comparison == KEYS_ABOVE || comparison == KEYS_FROM)) ||
               (above_all && (comparison == KEYS_BELOW || comparison == KEYS_TO));
    if (!all)
        keys_none(cursor);
}

/* Lists the next keys; none when there are no more. */
static void keys_list(struct keys_cursor *cursor) {
    const struct bloom_shape *shape = &cursor->filter.shape;
    const uint8_t *payload = bloom_stored_payload(&cursor->filter);
    size_t room = sizeof cursor->listed / sizeof *cursor->listed;
    cursor->at = cursor->count = 0;
    if (cursor->first > cursor->last)
        return;
    if (cursor->last - cursor->first < room)
        room = (size_t)(cursor->last - cursor->first) + 1;
    size_t count = (cursor->descending ? shape->layout->numbers->list_down
                                       : shape->layout->numbers->list)(
        shape, payload, cursor->descending ? cursor->last : cursor->first, cursor->listed, room);
    /* Keys beyond the other end are not wanted, nor is anything after them. */
    while (count > 0 && (cursor->descending ? cursor->listed[count - 1] < cursor->first
                                            : cursor->listed[count - 1] > cursor->last))
        count--;
    cursor->count = count;
    if (count < room || (cursor->descending && cursor->listed[count - 1] == 0))
        keys_none(cursor);
    else if (cursor->descending)
        cursor->last = cursor->listed[count - 1] - 1;
    else
        cursor->first = cursor->listed[count - 1] + 1;
}

static int keys_fail(struct keys_cursor *cursor, char *message) {
    sqlite3_free(cursor->base.pVtab->zErrMsg);
    cursor->base.pVtab->zErrMsg = message;
    return message != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
}

static int keys_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                       sqlite3_value **arguments) {
    struct keys_cursor *cursor = (struct keys_cursor *)base;
    struct bloom_stored argument;
    char problem[BLOOM_PROBLEM_SIZE];
    (void)text;
    (void)count;
    keys_release(cursor);
    cursor->at = cursor->count = 0;
    cursor->hashed = false;
    if (plan & KEYS_NO_FILTER)
        return keys_fail(cursor, sqlite3_mprintf("bloom_keys: there is no filter; give it one, as "
                                                 "in bloom_keys((SELECT f FROM filters))"));
    sqlite3 *database = ((const struct keys_table *)base->pVtab)->database;
    enum bloom_stored_kind kind = bloom_sql_stored(database, arguments[0], &argument, problem);
    if (kind == BLOOM_STORED_NO_MEMORY)
        return SQLITE_NOMEM;
    if (kind == BLOOM_STORED_NOT)
        return keys_fail(cursor,
                         sqlite3_mprintf("bloom_keys: the filter (argument 1) %s", problem));
    const struct bloom_layout *layout = argument.shape.layout;
    if (layout->numbers == NULL)
        return keys_fail(cursor, sqlite3_mprintf("bloom_keys: cannot list the keys of a filter of "
                                                 "layout %s, only those of layout bitmap",
                                                 layout->name));
    cursor->filter = argument;
    cursor->filter.bytes = bloom_sql_copy_filter(&argument);
    if (cursor->filter.bytes == NULL)
        return SQLITE_NOMEM;
    cursor->first = 0;
    cursor->last = UINT64_MAX;
    cursor->descending = (plan & KEYS_DESCENDING) != 0;
    for (int bit = 0, argument_number = 1; bit < KEYS_COMPARISONS; bit++)
        if (plan & 1 << bit)
            keys_compare_value(cursor, 1 << bit, arguments[argument_number++]);
    keys_list(cursor);
    return SQLITE_OK;
}

static int keys_next(sqlite3_vtab_cursor *base) {
    struct keys_cursor *cursor = (struct keys_cursor *)base;
    if (++cursor->at == cursor->count)
        keys_list(cursor);
    return SQLITE_OK;
}

static int keys_eof(sqlite3_vtab_cursor *base) {
    const struct keys_cursor *cursor = (const struct keys_cursor *)base;
    return cursor->at == cursor->count;
}

static int keys_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    const struct keys_cursor *cursor = (const struct keys_cursor *)base;
    if (column == KEYS_COLUMN_KEY)
        sqlite3_result_int64(context, (sqlite3_int64)cursor->listed[cursor->at]);
    else
        sqlite3_result_blob64(context, cursor->filter.bytes, cursor->filter.length,
                              SQLITE_TRANSIENT);
    return SQLITE_OK;
}

/* SQLite tells rows apart by these numbers where a query asks several filters with OR. Those of one
 * filter are different, and those of two filters are as if drawn from 2^64 by lot, so that two of a
 * million keys have one in common in one of 20 million cases. */
static int keys_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    struct keys_cursor *cursor = (struct keys_cursor *)base;
    if (!cursor->hashed)
        cursor->hash = bloom_hash_bytes(cursor->filter.bytes, (size_t)cursor->filter.length);
    cursor->hashed = true;
    uint64_t mixed = bloom_mix(cursor->listed[cursor->at] ^ cursor->hash.words[0]);
    *rowid = (sqlite3_int64)bloom_mix(mixed ^ cursor->hash.words[1]);
    return SQLITE_OK;
}

int bloom_sql_keys_register(sqlite3 *database) {
    /* Without xCreate the table is there under its name, and no other can be made. */
    static const sqlite3_module MODULE = {
        .xConnect = keys_connect,
        .xBestIndex = keys_best_index,
        .xDisconnect = keys_disconnect,
        .xOpen = keys_open,
        .xClose = keys_close,
        .xFilter = keys_filter,
        .xNext = keys_next,
        .xEof = keys_eof,
        .xColumn = keys_column,
        .xRowid = keys_rowid,
    };
    return sqlite3_create_module_v2(database, "bloom_keys", &MODULE, NULL, NULL);
}

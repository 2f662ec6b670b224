/* The table-valued function bloom_keys(filter): the keys in a filter that can list them, ascending,
 * as rows of the column key.
 *
 *   key = ?, key > ?, key BETWEEN ? AND ? and their like choose where the listing begins and ends
 *   ORDER BY key and ORDER BY key DESC are the order in which it lists
 *
 * so that SQLite neither looks at other keys nor sorts. A comparison with a number that is not
 * whole, with text or with a BLOB means what it means for a column of integers.
 *
 * Keys are taken from the filter some hundred at a time.
 */
#include "sqlite/rows/table_function.h"

#include "filter/layouts/bitmap.h"

#include <string.h>

enum { KEYS_COLUMN_KEY, KEYS_COLUMN_FILTER };

/* What a plan says: how the key is compared. Each of these that is set takes one value, in this
 * order. */
enum {
    KEYS_EQUAL = 1,
    KEYS_ABOVE = 2,
    KEYS_FROM = 4,
    KEYS_BELOW = 8,
    KEYS_TO = 16,
    KEYS_COMPARISONS = 5
};

/* A filter is searched for keys in stretches of so many numbers. */
enum { KEYS_STRETCH = 8 * BLOOM_SQL_STRETCH };

struct keys_cursor {
    struct bloom_rows rows;     /* first; row is the key */
    struct bloom_stored filter; /* bytes: of the cursor's argument */
    uint64_t first, last;       /* still to be listed, none when first > last */
    bool descending;
    size_t at, count; /* in listed */
    uint64_t listed[128];
};

static int keys_comparison(unsigned char op) {
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS: /* as =, since neither a key nor a filter is NULL */
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

static unsigned keys_plan(sqlite3_index_info *info, int argument) {
    int of_comparison[KEYS_COMPARISONS] = {-1, -1, -1, -1, -1};
    unsigned plan = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        int comparison = keys_comparison(constraint->op);
        if (constraint->iColumn == KEYS_COLUMN_KEY && constraint->usable)
            for (int bit = 0; bit < KEYS_COMPARISONS; bit++)
                if (comparison == 1 << bit)
                    of_comparison[bit] = i;
    }
    for (int bit = 0; bit < KEYS_COMPARISONS; bit++)
        if (of_comparison[bit] >= 0) {
            info->aConstraintUsage[of_comparison[bit]].argvIndex = argument++;
            info->aConstraintUsage[of_comparison[bit]].omit = 1;
            plan |= 1U << bit;
        }
    return plan;
}

static void keys_none(struct keys_cursor *cursor) {
    cursor->first = 1;
    cursor->last = 0;
}

/* Leave out keys below from, or above to. */
static void keys_not_below(struct keys_cursor *cursor, uint64_t from) {
    if (from > cursor->first)
        cursor->first = from;
}

static void keys_not_above(struct keys_cursor *cursor, uint64_t to) {
    if (to < cursor->last)
        cursor->last = to;
}

/* Keeps the keys that compare like this with a number: floor is the number rounded down, whole says
 * whether that is the number itself. */
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

/* Lists the next keys; none when there are no more. Returns an SQLite code. */
static int keys_list(struct keys_cursor *cursor) {
    const struct bloom_shape *shape = &cursor->filter.shape;
    const uint8_t *payload = bloom_stored_payload(&cursor->filter);
    const size_t room = sizeof cursor->listed / sizeof *cursor->listed;
    int code = SQLITE_OK;
    cursor->at = cursor->count = 0;
    while (code == SQLITE_OK && cursor->count == 0 && cursor->first <= cursor->last) {
        uint64_t first = cursor->first, last = cursor->last, end;
        if (last - first >= KEYS_STRETCH && cursor->descending)
            first = last - KEYS_STRETCH + 1;
        else if (last - first >= KEYS_STRETCH)
            last = first + KEYS_STRETCH - 1;
        cursor->count = bloom_bitmap_list(shape, payload, first, last, cursor->descending,
                                          cursor->listed, room);
        end = cursor->count == room ? cursor->listed[room - 1] : cursor->descending ? first : last;
        if (end == (cursor->descending ? cursor->first : cursor->last))
            keys_none(cursor);
        else if (cursor->descending)
            cursor->last = end - 1;
        else
            cursor->first = end + 1;
        if (cursor->count == 0 && cursor->first <= cursor->last)
            code = bloom_sql_ask_once(bloom_rows_database(&cursor->rows));
    }
    return code;
}

/* To the next key that was listed, or the end. Returns an SQLite code. */
static int keys_arrive(struct keys_cursor *cursor) {
    int code = cursor->at == cursor->count ? keys_list(cursor) : SQLITE_OK;
    cursor->rows.at_end = cursor->at == cursor->count;
    cursor->rows.row = cursor->rows.at_end ? 0 : cursor->listed[cursor->at];
    return code;
}

/* Reads the filter, of which the cursor has a copy unless it is pinned. */
static int keys_read(struct keys_cursor *cursor, sqlite3_value *value) {
    struct bloom_rows *rows = &cursor->rows;
    char problem[BLOOM_PROBLEM_SIZE];
    size_t length;
    switch (bloom_sql_stored(bloom_rows_database(rows), value, &cursor->filter, problem)) {
    case BLOOM_STORED:
        break;
    case BLOOM_STORED_NO_MEMORY:
        return SQLITE_NOMEM;
    default:
        return bloom_rows_fail(rows, "the filter (argument 1) %s", problem);
    }
    if (sqlite3_value_type(value) == SQLITE_BLOB)
        cursor->filter.bytes = bloom_rows_bytes(rows, &length);
    const struct bloom_layout *layout = cursor->filter.shape.layout;
    if (!layout->exact)
        return bloom_rows_fail(rows,
                               "cannot list the keys of a filter of layout %s, only those of "
                               "layout bitmap; keep the keys in a table, too",
                               layout->name);
    return SQLITE_OK;
}

static int keys_begin(struct bloom_rows *rows, sqlite3_value *value, bool same, unsigned plan,
                      bool descending, sqlite3_value **further) {
    struct keys_cursor *cursor = (struct keys_cursor *)rows;
    int code = same ? SQLITE_OK : keys_read(cursor, value);
    if (code != SQLITE_OK)
        return code;
    cursor->first = 0;
    cursor->last = cursor->filter.shape.bits - 1;
    cursor->descending = descending;
    cursor->at = cursor->count = 0;
    for (int bit = 0; bit < KEYS_COMPARISONS; bit++)
        if (plan & 1U << bit)
            keys_compare_value(cursor, 1 << bit, *further++);
    return keys_arrive(cursor);
}

static int keys_next(struct bloom_rows *rows) {
    struct keys_cursor *cursor = (struct keys_cursor *)rows;
    cursor->at++;
    return keys_arrive(cursor);
}

static void keys_column(const struct bloom_rows *rows, sqlite3_context *context, int column) {
    (void)column;
    sqlite3_result_int64(context, (sqlite3_int64)rows->row);
}

const struct bloom_table_function bloom_keys_function = {
    .name = "bloom_keys",
    .declaration = "CREATE TABLE x(key INTEGER, filter HIDDEN)",
    .missing = "there is no filter; give it one, as in bloom_keys((SELECT f FROM filters))",
    .argument_column = KEYS_COLUMN_FILTER,
    .ordered_column = KEYS_COLUMN_KEY,
    .descends = true,
    .rows = 1e6,
    .cursor_size = sizeof(struct keys_cursor),
    .plan = keys_plan,
    .begin = keys_begin,
    .next = keys_next,
    .column = keys_column,
};

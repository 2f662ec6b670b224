/* The table-valued function bloom_keys(filter): the keys in a filter that can list them, ascending,
 * as rows of the column key.
 *
 *   key = ?, key > ?, key BETWEEN ? AND ? and the like choose where the listing begins and ends
 *   ORDER BY key and ORDER BY key DESC choose the order
 *
 * So SQLite neither looks at other keys nor sorts. A comparison with a number that is not whole,
 * with text or with a BLOB means what it means for a column of integers. This is decided here,
 * because SQLite 3.31 drops its own comparison in a join of a common table expression.
 *
 * Keys are read from the filter about a hundred at a time.
 */
#include "base/limits.h"
#include "sqlite/poll.h"
#include "sqlite/rows/table_function.h"

enum { KEYS_COLUMN_KEY, KEYS_COLUMN_FILTER };

/* How a plan compares the key. Bit i of the plan says that comparison i takes a value; the values
 * come in this order. */
enum { KEYS_EQUAL, KEYS_ABOVE, KEYS_FROM, KEYS_BELOW, KEYS_TO, KEYS_COMPARISONS };

struct keys_cursor {
    struct bloom_rows rows;     /* first; row is the key */
    struct bloom_stored filter; /* its bytes belong to the cursor's argument */
    int64_t first, last;        /* still to be listed; none if first > last */
    bool descending;
    size_t at, count; /* in listed */
    uint64_t listed[BLOOM_MOST(keys_listed)];
};

static unsigned keys_plan(sqlite3_index_info *info, int argument) {
    static const unsigned char OPERATORS[KEYS_COMPARISONS] = {
        SQLITE_INDEX_CONSTRAINT_EQ, SQLITE_INDEX_CONSTRAINT_GT, SQLITE_INDEX_CONSTRAINT_GE,
        SQLITE_INDEX_CONSTRAINT_LT, SQLITE_INDEX_CONSTRAINT_LE};
    unsigned plan = 0;
    for (int comparison = 0; comparison < KEYS_COMPARISONS; comparison++) {
        int found = -1;
        for (int i = 0; i < info->nConstraint; i++) {
            const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
            /* IS is as =, because neither a key nor a filter is NULL. */
            if (constraint->iColumn == KEYS_COLUMN_KEY && constraint->usable &&
                (constraint->op == OPERATORS[comparison] ||
                 (comparison == KEYS_EQUAL && constraint->op == SQLITE_INDEX_CONSTRAINT_IS)))
                found = i;
        }
        if (found >= 0) {
            info->aConstraintUsage[found].argvIndex = argument++;
            info->aConstraintUsage[found].omit = 1;
            plan |= 1U << comparison;
        }
    }
    return plan;
}

static int64_t keys_greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Keeps the keys that compare like this with a value. Text that is a number counts as one, as for a
 * column of integers. Other text and BLOBs are above all numbers, and nothing compares with
 * NULL. The value is rounded down to a whole number, but kept near the numbers that keys can be. */
static void keys_compare(struct keys_cursor *cursor, int comparison, sqlite3_value *value) {
    const int64_t above_all = INT64_C(1) << 62;
    const int type = sqlite3_value_numeric_type(value);
    const double real = sqlite3_value_double(value);
    int64_t floor = above_all;
    if (type == SQLITE_NULL)
        cursor->last = -1;
    if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && real < (double)above_all)
        floor = real < 0 ? -1 : sqlite3_value_int64(value);
    const bool whole = (double)floor == real; /* of numbers below zero it does not matter */
    if (comparison <= KEYS_FROM)
        cursor->first = keys_greater(cursor->first, floor + (!whole || comparison == KEYS_ABOVE));
    const int64_t last = floor - (whole && comparison == KEYS_BELOW);
    if ((comparison == KEYS_EQUAL || comparison >= KEYS_BELOW) && last < cursor->last)
        cursor->last = last;
}

/* Lists the next keys; none if there are no more. Returns an SQLite code. */
static int keys_list(struct keys_cursor *cursor) {
    const struct bloom_shape *shape = &cursor->filter.shape;
    const uint8_t *payload = bloom_stored_payload(&cursor->filter);
    const size_t room = bloom_limits.keys_listed;
    int code = SQLITE_OK;
    cursor->at = cursor->count = 0;
    while (code == SQLITE_OK && cursor->count == 0 && cursor->first <= cursor->last) {
        int64_t first = cursor->first, last = cursor->last;
        if (cursor->descending)
            first = keys_greater(first, last - bloom_limits.keys_searched + 1);
        else if (last - first >= bloom_limits.keys_searched)
            last = first + bloom_limits.keys_searched - 1;
        cursor->count = bloom_bitmap_list(shape, payload, (uint64_t)first, (uint64_t)last,
                                          cursor->descending, cursor->listed, room);
        const bool full = cursor->count == room;
        if (cursor->descending)
            cursor->last = (full ? (int64_t)cursor->listed[room - 1] : first) - 1;
        else
            cursor->first = (full ? (int64_t)cursor->listed[room - 1] : last) + 1;
        if (cursor->count == 0 && cursor->first <= cursor->last)
            code = bloom_poll(cursor->rows.database);
    }
    return code;
}

/* Goes to the next key that was listed, or to the end. Returns an SQLite code. */
static int keys_arrive(struct keys_cursor *cursor) {
    int code = cursor->at == cursor->count ? keys_list(cursor) : SQLITE_OK;
    cursor->rows.at_end = cursor->at == cursor->count;
    cursor->rows.row = cursor->rows.at_end ? 0 : cursor->listed[cursor->at];
    return code;
}

/* Reads the filter. The cursor has a copy of it, unless it is pinned. */
static int keys_read(struct keys_cursor *cursor, sqlite3_value *value) {
    struct bloom_rows *rows = &cursor->rows;
    char problem[BLOOM_PROBLEM_SIZE];
    switch (bloom_sql_stored(rows->database, value, &cursor->filter, problem)) {
    case BLOOM_STORED:
        break;
    case BLOOM_STORED_NO_MEMORY:
        return SQLITE_NOMEM;
    default:
        return bloom_rows_fail(rows, "argument 1 %s", problem);
    }
    if (sqlite3_value_type(value) == SQLITE_BLOB)
        cursor->filter.bytes = rows->bytes;
    const struct bloom_layout *layout = cursor->filter.shape.layout;
    if (!layout->exact)
        return bloom_rows_fail(rows,
                               "cannot list the keys of a filter of layout %s, only those of "
                               "layout bitmap. Keep the keys in a table, too",
                               layout->name);
    return SQLITE_OK;
}

static int keys_begin(struct bloom_rows *rows, const struct bloom_run *run) {
    struct keys_cursor *cursor = (struct keys_cursor *)rows;
    sqlite3_value **further = run->further;
    int code = run->same ? SQLITE_OK : keys_read(cursor, run->value);
    if (code != SQLITE_OK)
        return code;
    cursor->first = 0;
    cursor->last = (int64_t)cursor->filter.shape.bits - 1;
    cursor->descending = run->descending;
    cursor->at = cursor->count = 0;
    for (int comparison = 0; comparison < KEYS_COMPARISONS; comparison++)
        if (run->plan & 1U << comparison)
            keys_compare(cursor, comparison, *further++);
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
    .missing = "the filter is missing. Give it, as in bloom_keys((SELECT f FROM filters))",
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

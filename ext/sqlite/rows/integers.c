/* The table-valued function bloom_integers(bytes): whole numbers of 64 bits, 8 bytes each, so that
 * a program can bind many at once.
 *
 *   position  the number of the row, from 1
 *   value     the whole number, little-endian and signed
 */
#include "sqlite/rows/table_function.h"

#include "base/portable.h"

enum { INTEGERS_COLUMN_POSITION, INTEGERS_COLUMN_VALUE, INTEGERS_COLUMN_ARGUMENT };

enum { INTEGER_BYTES = 8 };

struct integers_cursor {
    struct bloom_rows rows; /* first; row is the position */
    uint64_t count;
};

static int integers_next(struct bloom_rows *rows) {
    rows->at_end = rows->row == ((const struct integers_cursor *)rows)->count;
    rows->row++;
    return SQLITE_OK;
}

static int integers_begin(struct bloom_rows *rows, const struct bloom_run *run) {
    struct integers_cursor *cursor = (struct integers_cursor *)rows;
    if (sqlite3_value_type(run->value) != SQLITE_BLOB)
        return bloom_rows_fail(rows, "argument 1 is not a BLOB. Give 8 bytes for each number");
    if (rows->length % INTEGER_BYTES != 0)
        return bloom_rows_fail(rows,
                               "argument 1 has a length of %llu, not a multiple of 8. Give 8 "
                               "bytes for each number",
                               (sqlite3_uint64)rows->length);
    cursor->count = rows->length / INTEGER_BYTES;
    rows->row = 0;
    return integers_next(rows);
}

static void integers_column(const struct bloom_rows *rows, sqlite3_context *context, int column) {
    uint64_t number = rows->row;
    if (column == INTEGERS_COLUMN_VALUE)
        number = bloom_load64(rows->bytes + INTEGER_BYTES * (rows->row - 1));
    sqlite3_result_int64(context, (sqlite3_int64)number);
}

const struct bloom_table_function bloom_integers_function = {
    .name = "bloom_integers",
    .declaration = "CREATE TABLE x(position INTEGER, value INTEGER, argument BLOB HIDDEN)",
    .missing = "the bytes are missing. Give them, as in bloom_integers(?)",
    .argument_column = INTEGERS_COLUMN_ARGUMENT,
    .ordered_column = INTEGERS_COLUMN_POSITION,
    .rows = 1000000,
    .cursor_size = sizeof(struct integers_cursor),
    .begin = integers_begin,
    .next = integers_next,
    .column = integers_column,
};

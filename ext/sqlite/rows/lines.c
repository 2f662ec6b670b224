/* The table-valued function bloom_lines(text): the lines of a text as they are, so that a list of
 * anything, for example of leaked passwords, can become a filter without a table of its own.
 *
 *   line  the number of the line, from 1
 *   text  the line without its end; a BLOB if it is not valid UTF-8
 *
 * A line ends in LF, CRLF or CR. Empty lines have no row, and a byte order mark at the start is
 * left out. The text is TEXT or a BLOB, as readfile returns it, in UTF-8.
 *
 * The next LF is searched once and then remembered, so that a text whose lines end in CR takes
 * linear time, too.
 */
#include "base/limits.h"
#include "sqlite/poll.h"
#include "sqlite/rows/table_function.h"
#include "url/bytes.h"

#include <string.h>

enum { LINES_COLUMN_LINE, LINES_COLUMN_TEXT, LINES_COLUMN_ARGUMENT };

struct lines_cursor {
    struct bloom_rows rows; /* first; row is the number of the line */
    size_t start, end;      /* of the line */
    size_t next;            /* where the line after it starts */
    size_t feed;            /* the next LF, or length at the end */
};

/* Finds a byte between a place and a limit. If there is none, *found is the limit. Returns an
 * SQLite code. */
static int lines_find(struct lines_cursor *cursor, uint8_t byte, size_t from, size_t limit,
                      size_t *found) {
    for (size_t at = from, stretch; at < limit; at += stretch) {
        int code = bloom_poll_stretch(cursor->rows.database, at - from, limit - from, &stretch);
        if (code != SQLITE_OK)
            return code;
        const uint8_t *place = memchr(cursor->rows.bytes + at, byte, stretch);
        if (place != NULL) {
            *found = (size_t)(place - cursor->rows.bytes);
            return SQLITE_OK;
        }
    }
    *found = limit;
    return SQLITE_OK;
}

/* Goes to the next line, which may be empty. Returns an SQLite code. */
static int lines_step(struct lines_cursor *cursor) {
    int code = SQLITE_OK;
    cursor->start = cursor->next;
    cursor->rows.row++;
    if (cursor->feed < cursor->start)
        code = lines_find(cursor, '\n', cursor->start, cursor->rows.length, &cursor->feed);
    if (code == SQLITE_OK)
        code = lines_find(cursor, '\r', cursor->start, cursor->feed, &cursor->end);
    if (code == SQLITE_OK)
        cursor->next = cursor->end + 1 + (cursor->end + 1 == cursor->feed);
    return code;
}

static int lines_next(struct bloom_rows *rows) {
    struct lines_cursor *cursor = (struct lines_cursor *)rows;
    size_t asked = cursor->next;
    while (cursor->next < cursor->rows.length) {
        int code = lines_step(cursor);
        if (code == SQLITE_OK && cursor->end > cursor->start)
            return SQLITE_OK;
        if (code == SQLITE_OK && cursor->next - asked >= bloom_limits.sql_stretch) {
            code = bloom_poll(rows->database);
            asked = cursor->next;
        }
        if (code != SQLITE_OK)
            return code;
    }
    rows->at_end = true;
    return SQLITE_OK;
}

static int lines_begin(struct bloom_rows *rows, const struct bloom_run *run) {
    struct lines_cursor *cursor = (struct lines_cursor *)rows;
    int code = bloom_rows_need_text(rows, run, false);
    if (code != SQLITE_OK)
        return code;
    const size_t mark = strlen(BLOOM_BYTE_ORDER_MARK);
    cursor->next =
        rows->length >= mark && memcmp(rows->bytes, BLOOM_BYTE_ORDER_MARK, mark) == 0 ? mark : 0;
    rows->row = 0;
    rows->at_end = false;
    code = lines_find(cursor, '\n', cursor->next, cursor->rows.length, &cursor->feed);
    return code == SQLITE_OK ? lines_next(rows) : code;
}

/* Returns true if all bytes are ASCII and none is zero. */
static bool lines_is_plain(const uint8_t *text, size_t length) {
    uint64_t other = 0;
    size_t i = 0;
    for (; length - i >= 8; i += 8)
        other |= bloom_load64(text + i) | (bloom_load64(text + i) - url_eight(1));
    for (; i < length; i++)
        other |= (uint64_t)(text[i] | (uint8_t)(text[i] - 1));
    return (other & url_eight(128)) == 0;
}

static void lines_text(sqlite3_context *context, const uint8_t *text, size_t length) {
    char terminated[BLOOM_MOST(line_terminated)];
    bool plain = lines_is_plain(text, length);
    if (plain && length < bloom_limits.line_terminated) {
        memcpy(terminated, text, length);
        terminated[length] = '\0';
        sqlite3_result_text(context, terminated, -1, SQLITE_TRANSIENT);
    } else if (plain || bloom_is_utf8(text, length)) {
        sqlite3_result_text64(context, (const char *)text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
        sqlite3_result_blob64(context, text, length, SQLITE_TRANSIENT);
    }
}

static void lines_column(const struct bloom_rows *rows, sqlite3_context *context, int column) {
    const struct lines_cursor *cursor = (const struct lines_cursor *)rows;
    if (column == LINES_COLUMN_LINE)
        sqlite3_result_int64(context, (sqlite3_int64)rows->row);
    else
        lines_text(context, cursor->rows.bytes + cursor->start, cursor->end - cursor->start);
}

const struct bloom_table_function bloom_lines_function = {
    .name = "bloom_lines",
    .declaration = "CREATE TABLE x(line INTEGER, text TEXT, argument BLOB HIDDEN)",
    .missing = "the text is missing. Give it, as in bloom_lines(readfile('passwords.txt'))",
    .argument_column = LINES_COLUMN_ARGUMENT,
    .ordered_column = LINES_COLUMN_LINE,
    .rows = 1000000,
    .cursor_size = sizeof(struct lines_cursor),
    .begin = lines_begin,
    .next = lines_next,
    .column = lines_column,
};

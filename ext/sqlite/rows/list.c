/* The table-valued function bloom_list(text): the entries of a list of malicious addresses, in the
 * forms in which such lists are published (list/list.h).
 *
 *   line   the number of the line, from 1
 *   entry  what is written: the line, a name in it, or a field; a BLOB if it is not UTF-8
 *   key    the key by bloom_url, of an entry that stops a person who opens the page; or NULL
 *   request_key  the same, also for a rule that stops only some requests
 *   note   why it is not an entry, or how it was read if it is not simply a URL or a name
 *
 * Remarks and blank lines have no row. The text is TEXT or a BLOB, as readfile returns it, in
 * UTF-8.
 */
#include "list/list.h"
#include "sqlite/poll.h"
#include "sqlite/rows/table_function.h"

enum list_column {
    LIST_COLUMN_LINE,
    LIST_COLUMN_ENTRY,
    LIST_COLUMN_KEY,
    LIST_COLUMN_REQUEST_KEY,
    LIST_COLUMN_NOTE,
    LIST_COLUMN_ARGUMENT
};

struct list_cursor {
    struct bloom_rows rows; /* first */
    struct bloom_list_entry entry;
    struct bloom_list list;
};

static int list_rows_next(struct bloom_rows *rows) {
    struct list_cursor *cursor = (struct list_cursor *)rows;
    enum bloom_list_step step;
    while ((step = bloom_list_next(&cursor->list, &cursor->entry)) == BLOOM_LIST_PAUSE) {
        int code = bloom_poll(rows->database);
        if (code != SQLITE_OK)
            return code;
    }
    rows->row++;
    rows->at_end = step == BLOOM_LIST_END;
    return SQLITE_OK;
}

static int list_rows_begin(struct bloom_rows *rows, const struct bloom_run *run) {
    struct list_cursor *cursor = (struct list_cursor *)rows;
    int code = bloom_rows_need_text(rows, run, true);
    if (code != SQLITE_OK)
        return code;
    bloom_list_begin(&cursor->list, rows->bytes, rows->length);
    rows->row = UINT64_MAX; /* the first is 0 */
    return list_rows_next(rows);
}

/* Makes a key the result, with its zero byte, so that nobody has to add one; or NULL. */
static void list_key_result(sqlite3_context *context, const uint8_t *key) {
    if (key == NULL)
        return;
    sqlite3_result_text(context, (const char *)key, -1, SQLITE_TRANSIENT);
    sqlite3_result_subtype(context, BLOOM_LIST_SUBTYPE);
}

static void list_rows_column(const struct bloom_rows *rows, sqlite3_context *context, int column) {
    const struct bloom_list_entry *entry = &((const struct list_cursor *)rows)->entry;
    switch (column) {
    case LIST_COLUMN_LINE:
        sqlite3_result_int64(context, (sqlite3_int64)entry->line);
        break;
    case LIST_COLUMN_ENTRY:
        if (entry->is_text)
            sqlite3_result_text64(context, (const char *)entry->written, entry->written_bytes,
                                  SQLITE_TRANSIENT, SQLITE_UTF8);
        else /* strict programs fail on TEXT that is not UTF-8 */
            sqlite3_result_blob64(context, entry->written, entry->written_bytes, SQLITE_TRANSIENT);
        break;
    case LIST_COLUMN_KEY:
        list_key_result(context, entry->key);
        break;
    case LIST_COLUMN_REQUEST_KEY:
        list_key_result(context, entry->request_key);
        break;
    default:
        if (entry->note != NULL)
            sqlite3_result_text(context, entry->note, -1, SQLITE_STATIC);
    }
}

const struct bloom_table_function bloom_list_function = {
    .name = "bloom_list",
    .declaration =
        "CREATE TABLE x(line INTEGER, entry TEXT, key TEXT, request_key TEXT, note TEXT, "
        "argument BLOB HIDDEN)",
    .missing = "the text is missing. Give it, as in bloom_list(readfile('hosts.txt'))",
    .argument_column = LIST_COLUMN_ARGUMENT,
    .ordered_column = LIST_COLUMN_LINE,
    .rows = 100000,
    .cursor_size = sizeof(struct list_cursor),
    .begin = list_rows_begin,
    .next = list_rows_next,
    .column = list_rows_column,
};

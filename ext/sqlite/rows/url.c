/* URLs in SQL: functions for what url/url.h does.
 *
 *   bloom_url(url)       the canonical key of a list entry or URL, without a scheme
 *   bloom_url_keys(url)  a table of the keys of a URL: key, rank; rank 0 is the most exact
 *
 * A URL is TEXT, or a BLOB with the same bytes. A number counts as its text, so that the IPv4
 * address 3279880203 is a URL. NULL and text without a host have no key. For these, bloom_url
 * returns NULL and bloom_url_keys has no rows. */
#include "sqlite/functions.h"
#include "sqlite/rows/table_function.h"

#include "url/url.h"

/* A URL that has been read, and the memory of its canonical text. */
struct url_text {
    struct bloom_url url;
    struct bloom_key_room room;
};

enum url_outcome { URL_READ, URL_NONE, URL_NO_MEMORY };

/* Reads and parses a URL. After URL_READ the caller must release the room. */
static enum url_outcome url_text_read(struct url_text *parsed, sqlite3_value *value) {
    const uint8_t *bytes;
    uint64_t length;
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL)
        return URL_NONE;
    if (!bloom_sql_bytes(value, type, &bytes, &length) ||
        !bloom_key_room_take(&parsed->room, BLOOM_URL_ROOM(length), &bloom_sql_memory))
        return URL_NO_MEMORY;
    if (bloom_url_parse(&parsed->url, bytes, (size_t)length, parsed->room.bytes))
        return URL_READ;
    bloom_key_room_release(&parsed->room, &bloom_sql_memory);
    return URL_NONE;
}

/* bloom_url(url) returns the canonical key. */
void bloom_sql_url(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct url_text parsed;
    (void)count;
    enum url_outcome outcome = url_text_read(&parsed, arguments[0]);
    if (outcome == URL_NO_MEMORY)
        sqlite3_result_error_nomem(context);
    if (outcome != URL_READ)
        return;
    sqlite3_result_text64(context, (const char *)parsed.room.bytes, parsed.url.length,
                          SQLITE_TRANSIENT, SQLITE_UTF8);
    bloom_key_room_release(&parsed.room, &bloom_sql_memory);
}

/* --- The table bloom_url_keys --- */

/* The hidden column is not called url, because in bloom_url_keys(url) that would be this very
 * column instead of a column of the query. */
enum url_keys_column { URL_KEYS_KEY, URL_KEYS_RANK, URL_KEYS_ARGUMENT };

struct url_keys_cursor {
    struct bloom_rows rows; /* first; row is the rank */
    struct bloom_url_key keys[BLOOM_URL_KEYS_MOST];
    unsigned count;
    struct url_text parsed;
};

static void url_keys_release(struct bloom_rows *rows) {
    struct url_keys_cursor *cursor = (struct url_keys_cursor *)rows;
    bloom_key_room_release(&cursor->parsed.room, &bloom_sql_memory);
    cursor->count = 0;
}

static int url_keys_begin(struct bloom_rows *rows, const struct bloom_run *run) {
    struct url_keys_cursor *cursor = (struct url_keys_cursor *)rows;
    url_keys_release(rows);
    enum url_outcome outcome = url_text_read(&cursor->parsed, run->value);
    if (outcome == URL_NO_MEMORY)
        return SQLITE_NOMEM;
    if (outcome == URL_READ)
        cursor->count =
            bloom_url_keys(&cursor->parsed.url, cursor->parsed.room.bytes, cursor->keys);
    rows->row = 0;
    rows->at_end = cursor->count == 0;
    return SQLITE_OK;
}

static int url_keys_next(struct bloom_rows *rows) {
    rows->at_end = ++rows->row == ((const struct url_keys_cursor *)rows)->count;
    return SQLITE_OK;
}

static void url_keys_column(const struct bloom_rows *rows, sqlite3_context *context, int column) {
    const struct url_keys_cursor *cursor = (const struct url_keys_cursor *)rows;
    const struct bloom_url_key *key = &cursor->keys[rows->row];
    if (column == URL_KEYS_KEY)
        sqlite3_result_text64(context, (const char *)cursor->parsed.room.bytes + key->start,
                              key->length, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_int64(context, (sqlite3_int64)rows->row);
}

const struct bloom_table_function bloom_url_keys_function = {
    .name = "bloom_url_keys",
    /* A column whose type is only HIDDEN would have numeric affinity, so '1.10' would be 1.1. */
    .declaration = "CREATE TABLE x(key TEXT, rank INTEGER, argument BLOB HIDDEN)",
    .missing = "the URL is missing. Give it, as in bloom_url_keys('evil.example/a')",
    .argument_column = URL_KEYS_ARGUMENT,
    .ordered_column = URL_KEYS_RANK,
    .rows = 10, /* it costs about as much as ten look-ups in a small table */
    .cursor_size = sizeof(struct url_keys_cursor),
    .begin = url_keys_begin,
    .next = url_keys_next,
    .column = url_keys_column,
    .close = url_keys_release,
};

/* Steps: questions. */
#include "steps.h"

void cursor_end(connection_t *connection) {
    sqlite3_finalize(connection->cursor);
    connection->cursor = NULL;
}

/* A query of all keys, some rows at a time, between which the other steps come. Each answer is the
 * one of its moment. */
void step_cursor(connection_t *connection) {
    struct raw raw;
    if (!connection->in_transaction)
        return;
    if (connection->cursor == NULL) {
        unsigned schema, slot;
        if (!choose(connection, &schema, &slot, true) || !settle_view(connection, schema))
            return;
        char *sql =
            sqlite3_mprintf("SELECT u.i FROM temp.universe AS u CROSS JOIN %s.%s AS t "
                            "ON t.key = u.k",
                            SCHEMA[schema], NAME[peek(connection, schema)->tables[slot].name]);
        int code = sqlite3_prepare_v2(connection->database, sql, -1, &connection->cursor, NULL);
        note("%s: cursor: %s", connection->name, sql);
        judge(connection, code, false, sql);
        sqlite3_free(sql);
        if (connection->cursor == NULL)
            return;
        connection->cursor_schema = schema;
        connection->cursor_slot = slot;
        connection->cursor_name = peek(connection, schema)->tables[slot].name;
        connection->cursor_renamed = false;
        connection->cursor_key = -1;
    }
    for (unsigned rows = 1 + random_below(3); rows > 0; rows--) {
        unsigned schema = connection->cursor_schema;
        const struct table *table = &view(connection, schema)->tables[connection->cursor_slot];
        enum key_type type = table->options.key;
        int code = sqlite3_step(connection->cursor);
        int key = code == SQLITE_ROW ? sqlite3_column_int(connection->cursor, 0) : UNIVERSE;
        note("%s: cursor: result %d, key %d", connection->name, code, key);
        if (lost_transaction(connection))
            return;
        if ((code == SQLITE_ROW || code == SQLITE_DONE) && table->exists &&
            look_raw(connection, schema, table->name, &raw)) {
            for (int i = connection->cursor_key + 1; raw.sane && i <= key && i < UNIVERSE; i++)
                expect(
                    raw.damaged > 0 || raw.strays > 0 ||
                        (raw_find(&raw, asked_words(type, (unsigned)i)) == RAW_FOUND) == (i == key),
                    "%s: a query that goes on says of key %d what is not so", connection->name, i);
            raw_clear(&raw);
        }
        if (connection->cursor == NULL)
            return; /* the look has ended the transaction */
        connection->cursor_key = key;
        if (code != SQLITE_ROW) {
            bool rolled_back = (code & 0xff) == SQLITE_ABORT;
            connection->cursor_renamed |= table->name != connection->cursor_name;
            /* Of a renamed table an error is an answer, too. */
            if (code != SQLITE_DONE && !rolled_back && !connection->cursor_renamed)
                judge(connection, code, false, "a query that goes on");
            cursor_end(connection);
            return;
        }
    }
}

void step_query(connection_t *connection) {
    static const char *const QUERIES[] = {
        "SELECT count(*) FROM temp.universe AS u CROSS JOIN %s.%s AS t ON t.key = u.k",
        "SELECT info, filter FROM %s.%s",
        "SELECT count(*) FROM %s.%s WHERE key IN (2, 4, 6, 'a', 'b', NULL)",
        "SELECT count(*) FROM %s.%s('http://1.example/')",
        "SELECT count(*) FROM %s.%s WHERE key MATCH 'http://1.example/'",
    };
    unsigned schema, slot;
    bool met;
    if (!choose(connection, &schema, &slot, true))
        return;
    const struct table *table = &peek(connection, schema)->tables[slot];
    if (!settle_view(connection, schema))
        return;
    unsigned which = random_below(sizeof QUERIES / sizeof *QUERIES);
    bool ruled = TYPES[table->options.key].rule > 0;
    char *sql = sqlite3_mprintf(QUERIES[which], SCHEMA[schema], NAME[table->name]);
    int code = run(connection, NULL, sql, random_fault(), &met);
    expect(which != 4 || ruled || code != SQLITE_OK, "%s: without a key rule", sql);
    bool may_refuse = which == 1 || (which == 4 && !ruled);
    if (!lost_transaction(connection))
        judge(connection, code, met || (may_refuse && code == SQLITE_ERROR), sql);
    sqlite3_free(sql);
}

/* Steps: the schema. */
#include "steps.h"

#include <stdint.h>

/* SQL that changes the schema; false when the model stays as it is. */
static bool change_schema(connection_t *connection, unsigned schema, const char *sql) {
    bool met;
    if (!settle_view(connection, schema))
        return false;
    enum fault fault = random_fault();
    struct late late = {0};
    if ((fault == FAULT_INTERRUPT && connection->in_transaction) ||
        (!connection->in_transaction && !late_begin(connection, fault, &late)))
        fault = FAULT_NONE;
    int code = run(connection, NULL, sql, fault, &met);
    if (code != SQLITE_OK && !connection->in_transaction &&
        late_committed(connection, schema, &late))
        code = SQLITE_OK;
    if (lost_transaction(connection))
        return false;
    judge_write(connection, code, met, sql);
    schema_changed();
    connection->schema_in_doubt |= code != SQLITE_OK && connection->in_transaction;
    return code == SQLITE_OK;
}

static unsigned free_name(const struct content *content) {
    unsigned name = random_below(NAMES);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (content->tables[slot].exists && content->tables[slot].name == name) {
            name = (name + 1) % NAMES;
            slot = UINT32_MAX; /* from the beginning */
        }
    return name;
}

void step_drop(connection_t *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, true))
        return;
    const struct table *table = &peek(connection, schema)->tables[slot];
    char *sql = sqlite3_mprintf("DROP TABLE %s.%s", SCHEMA[schema], NAME[table->name]);
    if (change_schema(connection, schema, sql))
        change(connection, schema)->tables[slot].exists = false;
    sqlite3_free(sql);
}

void step_create(connection_t *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, false))
        return;
    struct table table = {
        .exists = true, .name = free_name(peek(connection, schema)), .options = random_options()};
    char *sql = sql_to_create(SCHEMA[schema], table.name, &table.options);
    if (change_schema(connection, schema, sql))
        change(connection, schema)->tables[slot] = table;
    sqlite3_free(sql);
}

void step_rename(connection_t *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, true))
        return;
    const struct content *content = peek(connection, schema);
    unsigned name = free_name(content);
    char *sql = sqlite3_mprintf("ALTER TABLE %s.%s RENAME TO %s", SCHEMA[schema],
                                NAME[content->tables[slot].name], NAME[name]);
    if (change_schema(connection, schema, sql)) {
        change(connection, schema)->tables[slot].name = name;
        if (connection->cursor_schema == schema && connection->cursor_slot == slot)
            connection->cursor_renamed = true;
    }
    sqlite3_free(sql);
}

/* Other tables, and their rows: refused when they are there already, or not there. */
void step_aside(connection_t *connection) {
    static const char *const ASIDE[] = {"CREATE TABLE %s.aside(x)", "DROP TABLE %s.aside",
                                        "INSERT INTO %s.aside VALUES (1)"};
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    bool met;
    if (!settle_view(connection, schema))
        return;
    char *sql = sqlite3_mprintf(ASIDE[random_below(3)], SCHEMA[schema]);
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    if (!lost_transaction(connection) && code == SQLITE_OK)
        change(connection, schema);
    sqlite3_free(sql);
}

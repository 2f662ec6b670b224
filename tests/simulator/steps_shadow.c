/* Steps: the shadow tables are changed by hand and by changesets, and repaired. */
#include "steps.h"

#include <string.h>

/* One statement after the other, so that the model knows what was done when one is refused. */
static bool edit(connection_t *connection, unsigned schema, const char *table, const char *edits) {
    bool met;
    char *sql = sqlite3_mprintf(edits, SCHEMA[schema], table, SCHEMA[schema], table);
    int code = SQLITE_OK;
    for (char *part = sql, *end; part != NULL && code == SQLITE_OK; part = end) {
        end = strchr(part, ';');
        if (end != NULL)
            *end++ = '\0';
        code = run(connection, NULL, part, FAULT_NONE, &met);
        if (lost_transaction(connection)) {
            code = SQLITE_ABORT;
            break;
        }
        judge_write(connection, code, false, part);
        if (code == SQLITE_OK)
            change(connection, schema)->tampered = true;
    }
    sqlite3_free(sql);
    return code == SQLITE_OK;
}

static void edit_by_hand(connection_t *connection, const char *edits) {
    unsigned schema, slot;
    if (connection->in_transaction && choose(connection, &schema, &slot, true) &&
        settle_view(connection, schema))
        edit(connection, schema, NAME[peek(connection, schema)->tables[slot].name], edits);
}

void step_hand_edit(connection_t *connection) {
    static const char *const EDITS[] = {
        "DELETE FROM %s.%s_layers WHERE layer > 0",
        "DELETE FROM %s.%s_layers WHERE layer > 0; DELETE FROM %s.%s_chunks WHERE id >> 40 > 0",
        "UPDATE %s.%s_layers SET keys = keys + 1000, ones = ones + 7",
        "UPDATE %s.%s_layers SET keys = 0, ones = 0",
        ("DELETE FROM %s.%s_chunks WHERE id IN (SELECT id FROM %s.%s_chunks ORDER BY random() "
         "LIMIT 1)"),
        "DELETE FROM %s.%s_chunks; UPDATE %s.%s_layers SET chunks = 0, keys = 0, ones = 0",
        "UPDATE %s.%s_chunks SET bits = zeroblob(length(bits))",
        "UPDATE %s.%s_chunks SET bits = CAST(randomblob(1) || substr(bits, 2) AS BLOB)",
        "UPDATE %s.%s_chunks SET bits = CAST(randomblob(20) || substr(bits, 21) AS BLOB)",
        "DELETE FROM %s.%s_chunks",
        "INSERT INTO %s.%s_chunks VALUES (1 << 45, x'00')",
        "DELETE FROM %s.%s_layers",
    };
    edit_by_hand(connection, EDITS[random_below(sizeof EDITS / sizeof *EDITS)]);
}

void step_chunk_size(connection_t *connection) {
    edit_by_hand(connection, random_once_in(2)
                                 ? "UPDATE %s.%s_layers SET chunk_blocks = 1 + (chunk_blocks = 1)"
                                 : "UPDATE %s.%s_layers SET chunk_blocks = chunk_blocks + 1");
}

/* Layers that a repair leaves: all but those at the end that hold nothing. */
static unsigned layers_to_stay(const struct raw *raw) {
    unsigned count = raw->layer_count;
    while (raw->ages == 1 && count > 1 && raw->layers[count - 1].bits == 0)
        count--;
    return count;
}

/* After a repair that must have gone well. */
static void compare_repaired(const struct raw *before, const struct raw *after, bool same_keys,
                             const char *where) {
    compare_counts(after, where);
    expect(after->layer_count == layers_to_stay(before), "%s: %u layers are left of %u", where,
           after->layer_count, before->layer_count);
    expect(raw_same_bits(after, before), "%s: bits have changed", where);
    expect(!same_keys || raw_same_keys(after, before), "%s: keys have changed", where);
}

static bool has_bits(const struct raw *raw) {
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (raw->layers[i].bits > 0)
            return true;
    return false;
}

/* Counts are made wrong; repair counts anew, and the keys of a chunk only where they cannot be
 * right. Where bits are taken away it refuses. */
void step_repair(connection_t *connection) {
    static const struct {
        const char *edit;
        bool of_keys;
        bool empties; /* layers, of which those at the end must go */
        bool loses;   /* bits */
    } WRONG[] = {
        {"DELETE FROM %s.%s_chunks WHERE id >> 40 > 0; "
         "UPDATE %s.%s_layers SET keys = 0, ones = 0, chunks = 0 WHERE layer > 0",
         false, true, false},
        {"UPDATE %s.%s_layers SET ones = max(ones - 7, 0)", false, false, false},
        {"UPDATE %s.%s_layers SET ones = 0, chunks = 0", false, false, false},
        {"UPDATE %s.%s_layers SET chunks = max(chunks - 1, 0)", false, false, false},
        {"UPDATE %s.%s_layers SET keys = keys + 100000", false, false, false},
        {"UPDATE %s.%s_layers SET keys = 0, ones = 0", false, false, false},
        {"UPDATE %s.%s_layers SET keys = keys", false, false, false},
        {"UPDATE %s.%s_chunks SET bits = CAST(substr(bits, 1, 24) || "
         "zeroblob(length(bits) - 24) AS BLOB)",
         false, false, true},
        {"UPDATE %s.%s_chunks SET bits = zeroblob(length(bits))", false, false, true},
        {"DELETE FROM %s.%s_chunks", false, false, true},
        {"UPDATE %s.%s_chunks SET bits = CAST(substr(bits, 1, 4) || x'00112233' || "
         "substr(bits, 9) AS BLOB)",
         false, false, false},
        {"UPDATE %s.%s_chunks SET bits = CAST(substr(bits, 1, 8) || randomblob(8) || "
         "substr(bits, 17) AS BLOB)",
         false, false, false},
        {"UPDATE %s.%s_chunks SET bits = CAST(x'00112233' || substr(bits, 5) AS BLOB)", true, false,
         false},
        {"UPDATE %s.%s_chunks SET bits = CAST(zeroblob(16) || substr(bits, 17) AS BLOB)", true,
         false, false},
    };
    struct attempt attempt;
    char where[80];
    if (!connection->in_transaction || !attempt_begin(&attempt, connection))
        return;
    unsigned schema = attempt.schema, which = random_below(sizeof WRONG / sizeof *WRONG);
    sqlite3_stmt *statement = statement_for(&attempt, REPAIR);
    bool was_tampered = view(connection, schema)->tampered;
    const char *name = NAME[attempt.table->name];
    if (statement != NULL && edit(connection, schema, name, WRONG[which].edit)) {
        struct raw after;
        attempt.table = &view(connection, schema)->tables[attempt.slot];
        if (WRONG[which].empties) {
            raw_clear(&attempt.raw);
            look_raw(connection, schema, attempt.table->name, &attempt.raw);
            was_tampered = true;
        }
        sqlite3_snprintf(sizeof where, where, "%s: repaired %s.%s", connection->name,
                         SCHEMA[schema], name);
        bool repaired = attempt_run(&attempt, statement, random_fault(true)) &&
                        attempt_is_sure(&attempt) && !attempt.doubtful && attempt.raw.sane;
        bool must_refuse = WRONG[which].loses && !was_tampered && has_bits(&attempt.raw);
        expect(!repaired || !must_refuse, "%s: bits are gone, and nobody is told", where);
        if (repaired && !WRONG[which].loses &&
            look_raw(connection, schema, attempt.table->name, &after)) {
            bool same_keys = !WRONG[which].of_keys && !was_tampered && !attempt.options->counts;
            compare_repaired(&attempt.raw, &after, same_keys, where);
            raw_clear(&after);
            if (WRONG[which].of_keys)
                attempt.table->merged = true; /* which estimates as well */
            view(connection, schema)->tampered = was_tampered;
        }
    }
    raw_clear(&attempt.raw);
}

static int abort_on_conflict(void *unused, int conflict, sqlite3_changeset_iter *iterator) {
    (void)unused, (void)conflict, (void)iterator;
    return SQLITE_CHANGESET_ABORT;
}

/* What another replica has added to a copy of the file is applied to the shadow tables. */
void step_changeset(connection_t *connection) {
    struct link *link = &connection->links[0];
    const struct content *content = peek(connection, 0);
    sqlite3_session *session = NULL;
    sqlite3_backup *backup;
    sqlite3 *copy, *original;
    void *changeset = NULL;
    struct raw raw;
    int size = 0, code;
    unsigned slot = random_below(SLOTS), rotated = 0;
    if (main_in_memory || change_is_open(connection, 0) || !content->tables[slot].exists ||
        content->tampered)
        return;
    /* The snapshot must be the last state: then the copy is the same. */
    if (!shared_cache && memcmp(content, &link->file->committed, sizeof *content) != 0)
        return;
    if (!look_raw(connection, 0, content->tables[slot].name, &raw))
        return;
    struct table table = content->tables[slot];
    static const struct file MEMORY;
    copy = fresh_connection(&MEMORY, 0);
    original = fresh_connection(link->file, SQLITE_OPEN_PRIVATECACHE);
    backup = sqlite3_backup_init(copy, "main", original, "main");
    sqlite3_backup_step(backup, -1);
    code = sqlite3_backup_finish(backup);
    sqlite3_close(original);
    if (code == SQLITE_OK)
        code = sqlite3session_create(copy, "main", &session);
    if (code == SQLITE_OK) {
        sqlite3session_attach(session, NULL);
        struct keys keys = some_keys(OPTIONS[table.options].key);
        if (raw.ages > 1 && random_once_in(2)) {
            char *rotate = sqlite3_mprintf("INSERT INTO %s(%s) VALUES ('rotate')", NAME[table.name],
                                           NAME[table.name]);
            code = sqlite3_exec(copy, rotate, NULL, NULL, NULL);
            sqlite3_free(rotate);
            table_rotate(&table);
            rotated = 1;
        }
        uint64_t least = 0;
        char *sql = sqlite3_mprintf("INSERT OR IGNORE INTO %s(key) VALUES (?1)", NAME[table.name]);
        sqlite3_stmt *statement = NULL;
        code = sqlite3_prepare_v2(copy, sql, -1, &statement, NULL);
        sqlite3_exec(copy, "BEGIN", NULL, NULL, NULL);
        for (unsigned key = 0; key < UNIVERSE && code == SQLITE_OK; key++)
            if (keys_have(&keys, key)) {
                bind_key(statement, 1, key);
                sqlite3_step(statement);
                bool new = sqlite3_changes(copy) > 0;
                unsigned age =
                    raw_age(&raw, added_words(OPTIONS[table.options].key, key)) + rotated;
                table_add(&table, key, new, new || age >= raw.ages ? 0 : age);
                least += new;
                code = sqlite3_reset(statement);
            }
        sqlite3_finalize(statement);
        sqlite3_free(sql);
        if (code == SQLITE_OK)
            code = sqlite3_exec(copy, "COMMIT", NULL, NULL, NULL);
        if (code == SQLITE_OK)
            code = sqlite3session_changeset(session, &size, &changeset);
        expect(code == SQLITE_OK || is_busy(code) || OPTIONS[table.options].refuses,
               "%s: no changeset: %s", connection->name, sqlite3_errmsg(copy));
        table.counted += least;
    }
    if (session != NULL)
        sqlite3session_delete(session);
    expect(sqlite3_close(copy) == SQLITE_OK, "the copy cannot be closed");
    if (code == SQLITE_OK && size > 0) {
        code = sqlite3changeset_apply(connection->database, size, changeset, NULL,
                                      abort_on_conflict, NULL);
        note("%s: a changeset of %d bytes for %s applied; -- result %d", connection->name, size,
             NAME[table.name], code);
        /* It ends its savepoint, and when a lock is in the way of that commit, leaves it. */
        if (code != SQLITE_OK && !connection->in_transaction)
            sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
        if (!lost_transaction(connection)) {
            judge_write(connection, code, false, "a changeset");
            if (code == SQLITE_OK)
                change(connection, 0)->tables[slot] = table;
        }
    }
    sqlite3_free(changeset);
    raw_clear(&raw);
}

void step_integrity(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    sqlite3_stmt *statement;
    char sql[60];
    if (shared_cache || sqlite3_libversion_number() < 3044000 || !settle_view(connection, schema) ||
        peek(connection, schema)->tampered)
        return;
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA %s.integrity_check", SCHEMA[schema]);
    note("%s: %s", connection->name, sql);
    struct trace trace = trace_begin(connection, schema, true);
    if (sqlite3_prepare_v2(connection->database, sql, -1, &statement, NULL) == SQLITE_OK) {
        if (sqlite3_step(statement) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(statement, 0);
            expect(strcmp(text, "ok") == 0 || strstr(text, "lock") != NULL, "%s: %s: %s",
                   connection->name, sql, text);
        }
        sqlite3_finalize(statement);
    }
    trace_end(connection, schema, &trace, sql);
}

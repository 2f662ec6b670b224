/* Steps: transactions and savepoints; schemas; other files and connections; what an application
 * does beside SQL; crashes. */
#include "simulator.h"

#include <stdio.h>

/* ---- Transactions ---- */

void step_begin(struct connection *connection) {
    static const char *const BEGIN[] = {"BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s0"};
    unsigned how = random_below(3);
    if (connection->in_transaction || !plain(connection, BEGIN[how]))
        return;
    model_begin(connection, how == 2);
    /* BEGIN IMMEDIATE reads all files. Before 3.34 nothing tells which files SQLite has read later,
     * so there all of them are read here. */
    const bool reads_all = how == 1 || sqlite3_libversion_number() < 3034000;
    for (unsigned schema = 0; reads_all && connection->in_transaction && schema < SCHEMAS; schema++)
        if (connection->links[schema].file != NULL)
            settle_view(connection, schema);
}

void step_rollback(struct connection *connection) {
    bool met;
    if (!connection->in_transaction)
        return;
    if (random_once_in(2))
        cursor_end(connection);
    int code = run(connection, NULL, "ROLLBACK", random_fault(), &met);
    if (code != SQLITE_OK && !sqlite3_get_autocommit(connection->database))
        code = run(connection, NULL, "ROLLBACK", FAULT_NONE, &met);
    /* No statement is prepared while another connection of the cache changes the schema. */
    if (is_busy(code) && setting.shared_cache)
        return;
    expect(sqlite3_get_autocommit(connection->database), "%s: ROLLBACK: result %d",
           connection->name, code);
    model_end(connection);
}

/* Whether a failure came so late that a file has what comes next, and no longer what was committed.
 * With a WAL each file commits by itself. */
static bool is_made(struct connection *connection, const struct file *file,
                    const struct content *next, const char *what) {
    if (file->shared || file->path[0] == '\0' || file_holds(file, &file->committed) != DIFFERS)
        return false;
    expect(file_holds(file, next) != DIFFERS, "%s: a part of what %s makes is in %s",
           connection->name, what, file->path);
    note("%s: -- %s was made all the same", connection->name, file->path);
    return true;
}

void step_commit(struct connection *connection) {
    bool met;
    if (!connection->in_transaction)
        return;
    for (struct link *link = connection->links; link < connection->links + SCHEMAS; link++)
        if (link->wrote && now_of(link)->tampered) {
            step_rollback(connection);
            return;
        }
    const char *sql = connection->by_savepoint ? "RELEASE s0" : "COMMIT";
    if (random_once_in(2))
        cursor_end(connection);
    const enum fault fault = random_fault();
    int code = run(connection, NULL, sql, fault, &met);
    /* A savepoint that begins a transaction stays open when its commit fails, but what was in it is
     * rolled back, unless that was SQLITE_BUSY. */
    if (code != SQLITE_OK && code != SQLITE_BUSY && connection->by_savepoint &&
        !sqlite3_get_autocommit(connection->database)) {
        judge_write(connection, code, met, sql);
        run(connection, NULL, "ROLLBACK", FAULT_NONE, &met);
        code = SQLITE_ABORT;
    }
    if (code == SQLITE_OK) {
        for (struct link *link = connection->links; link < connection->links + SCHEMAS; link++)
            if (link->wrote)
                link->file->committed = *now_of(link);
        model_end(connection);
    } else if (sqlite3_get_autocommit(connection->database)) {
        for (unsigned i = 0; may_come_late(fault) && i < SCHEMAS; i++) {
            struct link *link = &connection->links[i];
            if (!link->wrote)
                continue;
            /* It gives back a lock that the failure has left. */
            exec(connection->database, "SELECT count(*) FROM sqlite_master");
            if (is_made(connection, link->file, &link->now, sql))
                link->file->committed = link->now;
        }
        lost_transaction(connection);
    } else {
        judge_write(connection, code, met, sql);
    }
}

/* Runs a statement on a savepoint, and once more without a fault when it fails. False when it did,
 * or when there is no transaction any more. */
static bool at_savepoint(struct connection *connection, const char *verb, unsigned level) {
    const char *sql = sql_of("%s s%u", verb, level);
    bool met;
    for (int tries = 0; tries < 2; tries++) {
        const enum fault fault = tries == 0 ? random_fault() : FAULT_NONE;
        int code = run(connection, NULL, sql, fault, &met);
        if (lost_transaction(connection))
            return false;
        /* A RELEASE may have failed after it was done: then there is no such savepoint. */
        if (code == SQLITE_OK || (tries > 0 && code == SQLITE_ERROR))
            return true;
        judge_write(connection, code, met, sql);
    }
    return false;
}

void step_savepoint(struct connection *connection) {
    if (!connection->in_transaction || connection->depth == DEPTH_MOST ||
        !at_savepoint(connection, "SAVEPOINT", connection->depth + 1))
        return;
    connection->depth++;
    for (struct link *link = connection->links; link < connection->links + SCHEMAS; link++)
        if (link->file != NULL && (link->file->shared ? link->wrote : link->sees))
            link->before[connection->depth] = *now_of(link);
}

void step_release(struct connection *connection) {
    if (!connection->in_transaction || connection->depth == 0)
        return;
    const unsigned level = 1 + random_below(connection->depth);
    if (at_savepoint(connection, "RELEASE", level))
        connection->depth = level - 1;
}

void step_rollback_to(struct connection *connection) {
    if (!connection->in_transaction || (connection->depth == 0 && !connection->by_savepoint))
        return;
    const unsigned least = connection->by_savepoint ? 0 : 1;
    const unsigned level = least + random_below(connection->depth - least + 1);
    if (!at_savepoint(connection, "ROLLBACK TO", level))
        return;
    connection->depth = level;
    for (struct link *link = connection->links; link < connection->links + SCHEMAS; link++)
        if (link->file != NULL && (link->file->shared ? link->wrote : link->sees))
            *now_of(link) = link->before[level];
}

/* ---- Schemas ---- */

/* Runs SQL that makes of a content the next one. */
static void change_schema(struct connection *connection, unsigned schema,
                          const struct content *next, const char *sql) {
    bool met;
    enum fault fault = random_fault();
    if (fault == FAULT_INTERRUPT && connection->in_transaction)
        fault = FAULT_NONE; /* SQLite may report one when all was done */
    int code = run(connection, NULL, sql, fault, &met);
    if (lost_transaction(connection))
        return;
    judge_write(connection, code, met, sql);
    const struct file *file = connection->links[schema].file;
    if (code != SQLITE_OK && met && may_come_late(fault) && !connection->in_transaction &&
        is_made(connection, file, next, sql))
        code = SQLITE_OK;
    connection->schema_in_doubt |= code != SQLITE_OK && connection->in_transaction;
    if (code == SQLITE_OK)
        *change(connection, schema) = *next;
}

static unsigned free_name(const struct content *content) {
    unsigned name = random_below(NAMES);
    while (table_named(content, name) != NULL)
        name = (name + 1) % NAMES;
    return name;
}

void step_drop(struct connection *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, true) || !settle_view(connection, schema))
        return;
    struct content next = *peek(connection, schema);
    next.tables[slot].exists = false;
    change_schema(connection, schema, &next,
                  sql_of("DROP TABLE %s.%s", SCHEMA[schema], NAME[next.tables[slot].name]));
}

void step_create(struct connection *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, false) || !settle_view(connection, schema))
        return;
    struct content next = *peek(connection, schema);
    next.tables[slot] = (struct table){
        .exists = true, .name = free_name(&next), .options = random_options(), .unknown = true};
    change_schema(
        connection, schema, &next,
        sql_to_create(SCHEMA[schema], next.tables[slot].name, &next.tables[slot].options));
}

void step_rename(struct connection *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, true) || !settle_view(connection, schema))
        return;
    struct content next = *peek(connection, schema);
    const unsigned name = next.tables[slot].name;
    next.tables[slot].name = free_name(&next);
    change_schema(connection, schema, &next,
                  sql_of("ALTER TABLE %s.%s RENAME TO %s", SCHEMA[schema], NAME[name],
                         NAME[next.tables[slot].name]));
    if (connection->cursor_schema == schema && connection->cursor_slot == slot)
        connection->cursor_renamed = true;
}

/* ---- Files ---- */

/* Detaches, attaches, or both. The statements stay. */
void step_attach(struct connection *connection) {
    struct link *link = &connection->links[1];
    bool met;
    if (connection->in_transaction || setting.shared_cache)
        return;
    if (link->file != NULL) {
        int code = run(connection, NULL, "DETACH x", FAULT_NONE, &met);
        /* "database x is locked" is a plain error */
        expect(code == SQLITE_OK || code == SQLITE_ERROR || is_busy(code), "DETACH: result %d (%s)",
               code, last_error);
        if (code != SQLITE_OK)
            return;
        forget_detached(connection->database);
        memset(link, 0, sizeof *link);
        if (random_once_in(4))
            return;
    }
    struct file *file = &files[random_below(FILES)];
    if (plain(connection, sql_of("ATTACH %Q AS x", file->path))) {
        set_durability(connection->database, "x");
        link->file = file;
    }
}

/* Overwrites a database with what another file has committed, by SQLite's backup. */
void step_backup(struct connection *connection) {
    const unsigned schema = random_schema(connection);
    const struct file *from = &files[random_below(FILES)];
    struct file *file = connection->links[schema].file;
    if (connection->in_transaction || setting.shared_cache || from == file || file->path[0] == '\0')
        return;
    sqlite3 *source = open_database(from, SQLITE_OPEN_PRIVATECACHE);
    sqlite3_backup *backup =
        sqlite3_backup_init(connection->database, SCHEMA[schema], source, "main");
    int code = SQLITE_ERROR;
    if (backup != NULL) {
        sqlite3_backup_step(backup, -1);
        code = sqlite3_backup_finish(backup);
    }
    sqlite3_close(source);
    note("%s: backup of %s into %s; -- result %d", connection->name, from->path, SCHEMA[schema],
         code);
    if (code == SQLITE_OK)
        file->committed = from->committed;
}

void step_vacuum(struct connection *connection) {
    const unsigned schema = random_schema(connection);
    if (!connection->in_transaction)
        plain(connection, sql_of("PRAGMA %s.page_size = %u; VACUUM %s", SCHEMA[schema],
                                 512U << random_below(6), SCHEMA[schema]));
}

/* ---- Connections ---- */

void step_reopen(struct connection *connection) {
    /* Not while a lock might keep it from reading the schema. */
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i].in_transaction && &connections[i] != connection)
            return;
    note("%s: closed and opened", connection->name);
    connection_close(connection);
    connection_open(connection, connection->name, &files[0]);
}

void step_read_uncommitted(struct connection *connection) {
    if (setting.shared_cache && !connection->in_transaction)
        plain(connection,
              random_once_in(3) ? "PRAGMA read_uncommitted = 0" : "PRAGMA read_uncommitted = 1");
}

/* Amid a transaction it would refuse a COMMIT that has rows to write. */
void step_query_only(struct connection *connection) {
    bool on = random_once_in(3);
    if (!connection->in_transaction && on != connection->query_only &&
        plain(connection, on ? "PRAGMA query_only = 1" : "PRAGMA query_only = 0"))
        connection->query_only = on;
}

/* A guest makes some steps, and is gone. */
static void visit(struct connection *guest) {
    static step *const STEPS[] = {step_insert,      step_insert_many, step_delete,    step_begin,
                                  step_savepoint,   step_rotate,      step_rotate_to, step_clear,
                                  step_rollback_to, step_rollback};
    for (unsigned i = 1 + random_below(12); i > 0; i--) {
        STEPS[random_below(sizeof STEPS / sizeof *STEPS)](guest);
        look(guest, 0, random_below(SLOTS), false);
    }
    step_commit(guest);
    connection_close(guest);
}

void step_stranger(struct connection *connection) {
    static struct connection guest;
    (void)connection;
    if (setting.shared_cache)
        return;
    connection_open(&guest, "a stranger", &files[random_below(FILES)]);
    visit(&guest);
}

/* A copy holds what the connection sees, also amid a transaction, and is used like a file. A shared
 * cache is copied as nobody has committed it. */
void step_serialize(struct connection *connection) {
    static struct connection guest;
    static struct file memory;
    const unsigned schema = random_schema(connection);
    sqlite3_int64 size;
    const struct connection *writer = connection->links[schema].file->writer;
    if ((writer != NULL && writer != connection) || !settle_view(connection, schema) ||
        peek(connection, schema)->tampered || connection->query_only)
        return;
    write_drafts(connection); /* as a savepoint does: what waits in memory is in no copy */
    unsigned char *bytes = sqlite3_serialize(connection->database, SCHEMA[schema], &size, 0);
    note("%s: sqlite3_serialize of %s, %s bytes", connection->name, SCHEMA[schema],
         bytes != NULL ? "with" : "without");
    if (bytes == NULL)
        return;
    bytes[18] = bytes[19] = 1; /* no WAL in memory */
    memory = (struct file){.committed = *peek(connection, schema)};
    connection_open(&guest, "a copy", &memory);
    int code = sqlite3_deserialize(guest.database, "main", bytes, size, size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    expect(code == SQLITE_OK, "a copy cannot be opened: result %d", code);
    visit(&guest);
}

/* A close that is refused, since a statement is left, tells all tables of a rollback that does not
 * take place: the transaction goes on. */
void step_busy_close(struct connection *connection) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(connection->database, "SELECT 1", -1, &statement, NULL);
    if (is_busy(code))
        return;
    expect(code == SQLITE_OK, "%s: SELECT 1: result %d", connection->name, code);
    code = sqlite3_close(connection->database);
    note("%s: sqlite3_close with a statement left; -- result %d", connection->name, code);
    expect(code == SQLITE_BUSY, "%s: closed with a statement left: result %d", connection->name,
           code);
    sqlite3_finalize(statement);
    expect(!lost_transaction(connection), "%s: rolled back", connection->name);
}

/* After an ATTACH that fails SQLite reads all schemas again: each table gets a second object. */
void step_failed_attach(struct connection *connection) {
    bool met;
    for (unsigned schema = 0; schema < SCHEMAS && connection->in_transaction; schema++)
        if (connection->links[schema].file != NULL && !settle_view(connection, schema))
            return;
    int code = run(connection, NULL, "ATTACH '" BROKEN_FILE "' AS broken", FAULT_NONE, &met);
    expect(code == SQLITE_NOTADB || is_busy(code), "%s: ATTACH: result %d (%s)", connection->name,
           code, last_error);
    connection->schema_in_doubt |= connection->in_transaction;
}

/* ---- Crashes ---- */

/* The step goes on to its end, so that it is known what it makes. Then each file must hold what was
 * committed before it or what it has committed; all files the same, except in WAL mode, where each
 * commits by itself. */
void crash_in(step *made, struct connection *connection) {
    const bool power = setting.synced && !random_once_in(3);
    const unsigned calls = 1 + random_below(1U << random_below(7));
    struct content before[FILES];
    bool all_known = made != step_stranger; /* which may commit more than once */
    bool all_before = true, all_after = true;
    for (unsigned i = 0; i < FILES; i++) {
        before[i] = files[i].committed;
        for (const struct table *table = before[i].tables; table < before[i].tables + SLOTS;
             table++)
            all_known &= !(table->exists && table->unknown);
    }
    if (!all_known) {
        made(connection);
        return;
    }
    note("-- %s at call %u of the disk", power ? "a loss of power" : "a kill", calls);
    disk_watch(power, calls);
    made(connection);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        connection_close(&connections[i]);
    disk_crash();
    crashes++;
    for (unsigned i = 0; i < FILES; i++) {
        struct file *file = &files[i];
        const bool is_before = file_holds(file, &before[i]) == HOLDS;
        const bool is_after = file_holds(file, &file->committed) == HOLDS;
        expect(is_before || is_after, "after a crash %s holds a part of what was written",
               file->path);
        note("-- %s is as %s the step", file->path, is_before ? "before" : "after");
        all_before &= is_before;
        all_after &= is_after;
        if (is_before)
            file->committed = before[i];
    }
    /* SQLite makes the files one, by a super-journal, only so. */
    expect(all_before || all_after || setting.wal || !setting.synced,
           "after a crash a part of the files holds a transaction");
    for (unsigned i = 0; i < FILES; i++)
        look_from_outside(&files[i]);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        connection_open(&connections[i], connections[i].name, &files[0]);
}

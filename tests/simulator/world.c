/* Files and connections, and what each of them must hold. */
#include "disk.h"
#include "simulator.h"

#include <stdio.h>
#include <string.h>

const char *const NAME[NAMES] = {"seen", "other", "third"}, *const SCHEMA[SCHEMAS] = {"main", "x"};

struct file files[FILES];
struct connection connections[CONNECTIONS];
struct setting setting;
static const char *journal;

/* ---- Connections ---- */

/* SQLite 3.40 loses commits in a crash, once pages that a transaction wrote to a WAL twice were
 * rolled back: it keeps the frame from which checksums are to be computed again, so that those of
 * later frames are wrong. 3.53 forgets that frame. What is spilled is written twice. */
static bool may_spill(void) {
    return !setting.wal || sqlite3_libversion_number() >= 3053000;
}

/* Only WAL is stored in the file itself. */
void set_durability(sqlite3 *database, const char *schema) {
    char sql[100];
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA %s.synchronous = %s", schema,
                     setting.synced ? "FULL" : "OFF");
    sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA %s.journal_mode = %s", schema, journal);
    if (!setting.wal)
        sqlite3_exec(database, sql, NULL, NULL, NULL);
}

sqlite3 *open_database(const struct file *file, int flags) {
    sqlite3 *database = NULL;
    int code = sqlite3_open_v2(file->path[0] != '\0' ? file->path : ":memory:", &database,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bloom_init(database, NULL, NULL);
    expect(code == SQLITE_OK, "%s cannot be opened: %s", file->path, sqlite3_errmsg(database));
    set_durability(database, "main");
    return database;
}

void must_run(sqlite3 *database, const char *sql) {
    int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    expect(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
}

void connection_open(struct connection *connection, const char *name, struct file *file) {
    memset(connection, 0, sizeof *connection);
    connection->name = name;
    connection->links[0].file = file;
    connection->database =
        open_database(file, file->shared ? SQLITE_OPEN_SHAREDCACHE : SQLITE_OPEN_PRIVATECACHE);
    /* The second reads the schema, and a lock may be in the way. */
    sqlite3_exec(connection->database, "PRAGMA temp_store = memory", NULL, NULL, NULL);
    if (random_once_in(4))
        sqlite3_exec(connection->database, "PRAGMA cache_size = 4", NULL, NULL, NULL);
    if (!may_spill())
        sqlite3_exec(connection->database, "PRAGMA cache_spill = OFF", NULL, NULL, NULL);
}

void connection_close(struct connection *connection) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++)
        for (unsigned name = 0; name < NAMES; name++)
            for (unsigned i = 0; i < STATEMENTS; i++)
                sqlite3_finalize(connection->statements[schema][name][i]);
    if (connection->in_transaction)
        model_rollback(connection);
    int code = sqlite3_close(connection->database);
    expect(code == SQLITE_OK, "%s cannot be closed: result %d", connection->name, code);
}

static const char *const SQL[STATEMENTS] = {
    [ROWS] = "SELECT id, data FROM %s.%s_data ORDER BY id",
    [ADD] = "INSERT INTO %s.%s(key) VALUES (?1)",
    [ADD_NEW] = "INSERT OR IGNORE INTO %s.%s(key) VALUES (?1)",
    [ADD_COUNTED] = "INSERT OR IGNORE INTO %s.%s(%s, key) VALUES ('add', ?1)",
    [ADD_MANY] = "INSERT INTO %s.%s(key) SELECT value FROM json_each(?1)",
    [ADD_MANY_NEW] = "INSERT OR IGNORE INTO %s.%s(key) SELECT value FROM json_each(?1)",
    [REMOVE] = "DELETE FROM %s.%s WHERE key = ?1",
    [CHECK] = "SELECT key FROM %s.%s WHERE key = ?1",
    [CHECK_MANY] = "SELECT e.key FROM json_each(?1) AS e CROSS JOIN %s.%s AS t ON t.key = e.value",
    [INFO] = "SELECT json_extract(info, '$.chunks'), (SELECT sum(json_extract(value, '$.keys')) "
             "FROM json_each(info, '$.layers')) FROM %s.%s",
    [FILTER] = "SELECT filter FROM %s.%s",
    [MERGE] = "INSERT INTO %s.%s(%s, key) VALUES ('merge', ?1)",
    [CLEAR] = "INSERT INTO %s.%s(%s) VALUES ('clear')",
    [ROTATE] = "INSERT INTO %s.%s(%s) VALUES ('rotate')",
    [ROTATE_TO] = "INSERT INTO %s.%s(%s, key) VALUES ('rotate', ?1)",
};

sqlite3_stmt *statement_of(struct connection *connection, unsigned schema, unsigned name,
                           enum statement which, int *code) {
    sqlite3_stmt **statement = &connection->statements[schema][name][which];
    *code = SQLITE_OK;
    if (*statement == NULL) {
        char *sql = sqlite3_mprintf(SQL[which], SCHEMA[schema], NAME[name], NAME[name]);
        *code = sqlite3_prepare_v3(connection->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                   statement, NULL);
        sqlite3_free(sql);
    }
    return *statement;
}

/* ---- Views ---- */

struct content *view(struct connection *connection, unsigned schema) {
    struct link *link = &connection->links[schema];
    if (link->file->shared)
        return &link->file->now;
    if (!connection->in_transaction)
        return &link->file->committed;
    if (!link->sees) {
        link->now = link->file->committed;
        for (unsigned i = 0; i <= connection->depth; i++)
            link->before[i] = link->now;
        link->sees = true;
    }
    return &link->now;
}

struct content *peek(struct connection *connection, unsigned schema) {
    struct link *link = &connection->links[schema];
    if (connection->in_transaction && !link->sees && !link->file->shared)
        return &link->file->committed;
    return view(connection, schema);
}

struct content *change(struct connection *connection, unsigned schema) {
    struct link *link = &connection->links[schema];
    struct content *content = view(connection, schema);
    if (!connection->in_transaction)
        return content;
    if (link->file->shared && !link->wrote) {
        for (unsigned i = 0; i <= connection->depth; i++)
            link->before[i] = *content;
        link->file->writer = connection;
    }
    link->wrote = true;
    return content;
}

static void forget_transaction(struct connection *connection) {
    cursor_end(connection);
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        struct link *link = &connection->links[schema];
        link->sees = link->sure = link->wrote = false;
        if (link->file != NULL && link->file->writer == connection)
            link->file->writer = NULL;
    }
    connection->in_transaction = false;
    connection->depth = 0;
}

void model_begin(struct connection *connection, bool by_savepoint) {
    connection->in_transaction = true;
    connection->by_savepoint = by_savepoint;
    connection->depth = 0;
}

void model_keep(struct connection *connection, unsigned schema) {
    struct link *link = &connection->links[schema];
    link->file->committed = link->file->shared ? link->file->now : link->now;
}

void model_commit(struct connection *connection) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++)
        if (connection->links[schema].wrote)
            model_keep(connection, schema);
    forget_transaction(connection);
}

void model_rollback(struct connection *connection) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        struct link *link = &connection->links[schema];
        if (link->wrote && link->file->shared)
            link->file->now = link->file->committed;
    }
    forget_transaction(connection);
}

void model_savepoint(struct connection *connection) {
    connection->depth++;
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        struct link *link = &connection->links[schema];
        if (link->file != NULL && (link->file->shared ? link->wrote : link->sees))
            link->before[connection->depth] = link->file->shared ? link->file->now : link->now;
    }
}

void model_rollback_to(struct connection *connection, unsigned level) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        struct link *link = &connection->links[schema];
        if (link->file != NULL && (link->file->shared ? link->wrote : link->sees))
            *(link->file->shared ? &link->file->now : &link->now) = link->before[level];
    }
    connection->depth = level;
}

bool is_tampered(const struct connection *connection) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        const struct link *link = &connection->links[schema];
        if (link->wrote && (link->file->shared ? link->file->now : link->now).tampered)
            return true;
    }
    return false;
}

/* ---- The beginning and the end of a round ---- */

/* The keys of the universe fill some of the tables many times over, and others not half. */
struct options random_options(void) {
    static const unsigned CAPACITIES[] = {8, 20, 30, 40, 60, 200, 900};
    static const double RATES[] = {0.1, 0.05, 0.02, 0.01, 0.001, 0.0001};
    const unsigned mode = random_below(8);
    const bool ages = random_below(100) < setting.generations;
    return (struct options){
        .capacity = CAPACITIES[random_below(sizeof CAPACITIES / sizeof *CAPACITIES)],
        .rate = RATES[random_below(sizeof RATES / sizeof *RATES)],
        .mode = mode == 0   ? BLOOM_GROWTH_OFF
                : mode == 1 ? BLOOM_GROWTH_ERROR
                            : BLOOM_GROWTH_ON,
        .key = random_once_in(4) ? (enum key_type)random_below(KEY_TYPES) : AS_IT_IS,
        .counts = !ages && random_below(100) < setting.counting,
        .ages = ages ? 2 + random_below(AGES_MOST - 1) : 1,
    };
}

char *sql_to_create(const char *schema, unsigned name, const struct options *options) {
    static const char *const MODES[] = {"on", "off", "error"};
    const char *key = TYPES[options->key].options;
    char generations[40] = "";
    if (options->ages > 1)
        sqlite3_snprintf(sizeof generations, generations, ", generations=%u", options->ages);
    return sqlite3_mprintf(
        "CREATE VIRTUAL TABLE %s.%s USING bloom(capacity=%llu, fpr=%g, growth=%s%s%s%s%s)", schema,
        NAME[name], (sqlite3_uint64)options->capacity, options->rate, MODES[options->mode],
        options->counts ? ", layout=counting" : "", generations, key != NULL ? ", " : "",
        key != NULL ? key : "");
}

static void create_tables(struct file *file, const char *settings) {
    sqlite3 *database = open_database(file, 0);
    must_run(database, settings);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        struct table *table = &file->committed.tables[slot];
        *table = (struct table){
            .exists = true, .name = slot, .options = random_options(), .unknown = true};
        char *sql = sql_to_create("main", slot, &table->options);
        note("%s: %s", file->path, sql);
        must_run(database, sql);
        sqlite3_free(sql);
    }
    sqlite3_close(database);
    file->now = file->committed;
}

void world_begin(void) {
    static const unsigned PAGES[] = {512, 512, 512, 512, 1024, 4096, 65536};
    static const char ZEROS[1000];
    char settings[200];
    disk_format(random_next());
    disk_put(BROKEN_FILE, ZEROS, sizeof ZEROS);
    journal = setting.wal ? "wal" : "delete";
    sqlite3_snprintf(sizeof settings, settings,
                     "PRAGMA page_size = %u; PRAGMA encoding = '%s'; PRAGMA journal_mode = %s",
                     PAGES[random_below(sizeof PAGES / sizeof *PAGES)],
                     random_once_in(4) ? "UTF-16" : "UTF-8", journal);
    note("%s%s%s", settings, setting.synced ? "" : "; nothing is synced",
         setting.shared_cache ? "; a shared cache" : "");
    memset(files, 0, sizeof files);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(files[i].path, sizeof files[i].path, "/%u.db", i);
        create_tables(&files[i], settings);
    }
    files[0].shared = setting.shared_cache;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        connection_open(&connections[i], i == 0 ? "a" : "b", &files[0]);
}

void world_end(void) {
    for (unsigned i = 0; i < CONNECTIONS; i++)
        connection_close(&connections[i]);
    for (unsigned i = 0; i < FILES; i++)
        look_from_outside(&files[i]);
    expect(disk_open_files() == 0, "%u files are left open", disk_open_files());
    expect(sqlite3_memory_used() == 0, "%lld bytes are left when all is closed",
           (long long)sqlite3_memory_used());
}

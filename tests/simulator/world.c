/* Files and connections, and what each of them must hold. */
#include "disk.h"
#include "simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const NAME[NAMES] = {"seen", "other", "third"}, *const SCHEMA[SCHEMAS] = {"main", "x"};

struct file files[FILES];
struct connection connections[CONNECTIONS];
bool shared_cache, main_in_memory;
enum journal journal;
enum synchronous synchronous;
char broken_file[200];

/* ---- Connections ---- */

static void in_set(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    unsigned key = (unsigned)sqlite3_value_int(arguments[0]);
    sqlite3_result_int(context, keys_have(sqlite3_user_data(context), key));
}

static const char *const JOURNALS[] = {"delete", "truncate", "persist", "memory", "wal"};

/* Only WAL is told by the file itself. */
void set_durability(sqlite3 *database, const char *schema) {
    char sql[100];
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA %s.synchronous = %d", schema, (int)synchronous);
    sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA %s.journal_mode = %s", schema, JOURNALS[journal]);
    if (journal != JOURNAL_WAL)
        sqlite3_exec(database, sql, NULL, NULL, NULL);
}

sqlite3 *fresh_connection(const struct file *file, int flags) {
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

sqlite3_stmt *must_prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    expect(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    return statement;
}

bool put_bytes(struct connection *connection, unsigned schema, unsigned char *bytes,
               sqlite3_int64 size) {
    bytes[18] = bytes[19] = 1; /* no WAL in memory */
    int code = sqlite3_deserialize(connection->database, SCHEMA[schema], bytes, size, size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    note("%s: -- result %d", connection->name, code);
    return code == SQLITE_OK;
}

void schema_changed(void) {
    for (unsigned i = 0; i < CONNECTIONS; i++)
        for (unsigned schema = 0; schema < SCHEMAS; schema++)
            connections[i].other_schema[schema] = true;
}

bool deserialize(struct connection *connection, unsigned schema, const struct file *from) {
    struct link *link = &connection->links[schema];
    struct file *memory = &connection->memory[schema];
    sqlite3_int64 size;
    sqlite3 *source = fresh_connection(from, SQLITE_OPEN_PRIVATECACHE);
    unsigned char *bytes = sqlite3_serialize(source, "main", &size, 0);
    sqlite3_close(source);
    if (bytes == NULL)
        return false;
    /* Where the number of the schema is by chance that of a kept statement, SQLite does not prepare
     * it anew, and runs it on a table that may have another name or other options now. */
    if (connection->other_schema[schema])
        forget_statements(connection, schema);
    connection->other_schema[schema] = false;
    note("%s: sqlite3_deserialize into %s of %s", connection->name, SCHEMA[schema], from->path);
    if (!put_bytes(connection, schema, bytes, size))
        return false;
    connection->will_disconnect = true;
    memory->committed = from->committed;
    memset(link, 0, sizeof *link);
    link->file = memory;
    return true;
}

/* SQLite 3.40 loses commits in a crash, once pages that a transaction wrote to a WAL twice were
 * rolled back: it leaves the frame from which checksums are to be made anew, so that those of later
 * frames are wrong. 3.53 forgets that frame. What is spilled is written twice. */
static bool may_spill(void) {
    return journal != JOURNAL_WAL || sqlite3_libversion_number() >= 3053000;
}

void connection_open(struct connection *connection) {
    memset(connection->links, 0, sizeof connection->links);
    connection->links[0].file = &files[0];
    connection->query_only = false;
    sqlite3 *database = connection->database =
        fresh_connection(main_in_memory ? &connection->memory[0] : &files[0],
                         shared_cache ? SQLITE_OPEN_SHAREDCACHE : SQLITE_OPEN_PRIVATECACHE);
    sqlite3_create_function(database, "in_set", 1, SQLITE_UTF8, &connection->asked, in_set, NULL,
                            NULL);
    must_run(database, "PRAGMA temp_store = memory");
    if (random_once_in(4))
        must_run(database, "PRAGMA cache_size = 4");
    if (!may_spill())
        must_run(database, "PRAGMA cache_spill = OFF");
    must_run(database, "BEGIN; CREATE TEMP TABLE universe(i INTEGER PRIMARY KEY, k)");
    sqlite3_stmt *statement = must_prepare(database, "INSERT INTO temp.universe VALUES (?1, ?2)");
    for (unsigned key = 0; key < UNIVERSE; key++) {
        sqlite3_bind_int64(statement, 1, key);
        bind_key(statement, 2, key);
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    must_run(database, "COMMIT");
    if (main_in_memory)
        expect(deserialize(connection, 0, &files[0]), "%s: no content", connection->name);
}

void forget_statements(struct connection *connection, unsigned schema) {
    for (unsigned name = 0; name < NAMES; name++)
        for (unsigned i = 0; i < STATEMENTS; i++) {
            sqlite3_finalize(connection->statements[schema][name][i]);
            connection->statements[schema][name][i] = NULL;
        }
}

void connection_close(struct connection *connection) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++)
        forget_statements(connection, schema);
    if (connection->in_transaction)
        model_rollback(connection);
    int code = sqlite3_close(connection->database);
    expect(code == SQLITE_OK, "%s cannot be closed: result %d", connection->name, code);
    connection->database = NULL;
}

static const char *const SQL[STATEMENTS] = {
    [CONFIGURATION] = "SELECT data FROM %s.%s_data WHERE id = 0",
    [CHUNKS] = "SELECT id, data FROM %s.%s_data ORDER BY id",
    [ADD] = "INSERT INTO %s.%s(key) VALUES (?1)",
    [ADD_NEW] = "INSERT OR IGNORE INTO %s.%s(key) VALUES (?1)",
    [ADD_COUNTED] = "INSERT OR IGNORE INTO %s.%s(%s, key) VALUES ('add', ?1)",
    [ADD_MANY] = "INSERT INTO %s.%s(key) SELECT k FROM temp.universe WHERE in_set(i)",
    [ADD_MANY_NEW] = "INSERT OR IGNORE INTO %s.%s(key) SELECT k FROM temp.universe WHERE in_set(i)",
    [ADD_ALL] = "INSERT INTO %s.%s(%s, key) SELECT 'add_all', bloom_hashes(k, ?1) "
                "FROM temp.universe WHERE in_set(i)",
    [REMOVE] = "DELETE FROM %s.%s WHERE key = ?1",
    [REMOVE_MANY] = "DELETE FROM %s.%s WHERE key IN (SELECT k FROM temp.universe WHERE in_set(i))",
    [CHECK] = "SELECT key FROM %s.%s WHERE key = ?1",
    [CHECK_MANY] = "SELECT v.column1, t.key FROM (VALUES (0, ?1), (1, ?2), (2, ?3), (3, ?4), "
                   "(4, ?5), (5, ?6), (6, ?7), (7, ?8)) AS v CROSS JOIN %s.%s AS t "
                   "ON t.key = v.column2",
    [COVERS] = "SELECT key FROM %s.%s WHERE key MATCH ?1",
    [INFO] = "SELECT info FROM %s.%s",
    [FILTER] = "SELECT filter FROM %s.%s",
    [MERGE] = "INSERT INTO %s.%s(%s, key) VALUES ('merge', ?1)",
    [CLEAR] = "INSERT INTO %s.%s(%s) VALUES ('clear')",
    [ROTATE] = "INSERT INTO %s.%s(%s) VALUES ('rotate')",
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

/* ---- Tables ---- */

static void add_copies(struct table *table, unsigned key) {
    if (table->copies[key] < COPIES_MOST)
        table->copies[key]++;
}

void table_add(struct table *table, unsigned key, bool copy, unsigned age) {
    keys_add(&table->keys[age], key);
    if (copy)
        add_copies(table, key);
}

/* Each once. What only seemed to be in when it was added, so that it was not, may be gone now. */
void table_remove(struct table *table, const struct keys *keys) {
    memset(&table->keys, 0, sizeof table->keys);
    for (unsigned key = 0; key < UNIVERSE; key++) {
        if (keys_have(keys, key) && table->copies[key] > 0)
            table->copies[key]--;
        if (table->copies[key] > 0)
            keys_add(&table->keys[0], key);
    }
}

void table_rotate(struct table *table) {
    const unsigned ages = table->options.ages;
    for (unsigned age = ages - 1; age > 0; age--)
        table->keys[age] = table->keys[age - 1];
    table->keys[0] = (struct keys){{0}};
    table->unknown = true;
}

void table_clear(struct table *table) {
    memset(&table->keys, 0, sizeof table->keys);
    memset(table->copies, 0, sizeof table->copies);
    table->counted = 0;
    table->unknown = false;
}

/* ---- Views ---- */

static bool is_shared(unsigned schema) {
    return shared_cache && schema == 0;
}

struct content *view(struct connection *connection, unsigned schema) {
    struct link *link = &connection->links[schema];
    if (is_shared(schema))
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

const struct content *peek(struct connection *connection, unsigned schema) {
    struct link *link = &connection->links[schema];
    if (connection->in_transaction && !link->sees && !is_shared(schema))
        return &link->file->committed;
    return view(connection, schema);
}

struct content *change(struct connection *connection, unsigned schema) {
    struct link *link = &connection->links[schema];
    struct content *content = view(connection, schema);
    if (!connection->in_transaction)
        return content;
    if (is_shared(schema) && !link->wrote) {
        for (unsigned i = 0; i <= connection->depth; i++)
            link->before[i] = *content;
        link->file->writer = connection;
    }
    link->wrote = true;
    return content;
}

static void forget_transaction(struct connection *connection) {
    sqlite3_finalize(connection->cursor);
    connection->cursor = NULL;
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
    link->file->committed = is_shared(schema) ? link->file->now : link->now;
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
        if (link->wrote && is_shared(schema))
            link->file->now = link->file->committed;
    }
    forget_transaction(connection);
}

void model_rollback_to(struct connection *connection, unsigned level) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        struct link *link = &connection->links[schema];
        if (is_shared(schema)) {
            if (link->wrote)
                link->file->now = link->before[level];
        } else if (link->sees) {
            link->now = link->before[level];
        }
    }
    connection->depth = level;
}

bool change_is_open(const struct connection *connection, unsigned schema) {
    const struct link *link = &connection->links[schema];
    return link->wrote || (is_shared(schema) && link->file->writer != NULL);
}

bool is_tampered(const struct connection *connection) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        const struct link *link = &connection->links[schema];
        if (link->wrote && (is_shared(schema) ? link->file->now.tampered : link->now.tampered))
            return true;
    }
    return false;
}

/* ---- The beginning and the end of a round ---- */

/* The keys of the universe fill some of the tables many times over, and others not half. */
struct options random_options(void) {
    static const unsigned CAPACITIES[] = {8, 20, 30, 40, 60, 200, 900};
    static const double RATES[] = {0.1, 0.05, 0.02, 0.01, 0.001, 0.0001};
    const unsigned growth = random_below(8);
    const bool ages = random_below(100) < weight_of_generations;
    const bool typed = random_below(100) < weight_of_types;
    struct options options;
    memset(&options, 0, sizeof options); /* they are compared as bytes */
    options.capacity = CAPACITIES[random_below(sizeof CAPACITIES / sizeof *CAPACITIES)];
    options.rate = RATES[random_below(sizeof RATES / sizeof *RATES)];
    options.grows = growth > 1;
    options.refuses = growth == 1;
    options.key = typed ? (enum key_type)random_below(KEY_TYPES) : AS_IT_IS;
    options.counts = !ages && random_below(100) < weight_of_counting;
    options.ages = ages ? 2 + random_below(AGES_MOST - 1) : 1;
    return options;
}

char *sql_to_create(const char *schema, unsigned name, const struct options *options) {
    char generations[40] = "";
    if (options->ages > 1)
        sqlite3_snprintf(sizeof generations, generations, ", generations=%u", options->ages);
    const char *key = TYPES[options->key].options;
    return sqlite3_mprintf(
        "CREATE VIRTUAL TABLE %s.%s USING bloom(capacity=%llu, fpr=%g, growth=%s%s%s%s%s)", schema,
        NAME[name], (sqlite3_uint64)options->capacity, options->rate,
        options->grows     ? "on"
        : options->refuses ? "error"
                           : "off",
        options->counts ? ", layout=counting" : "", generations, key[0] != '\0' ? ", " : "", key);
}

static void create_tables(struct file *file, const char *settings) {
    sqlite3 *database = fresh_connection(file, 0);
    must_run(database, settings);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        struct table *table = &file->committed.tables[slot];
        table->name = slot;
        table->options = random_options();
        table->exists = true;
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
    char settings[200];
    const int sector = random_once_in(3) ? 4096 : 512;
    shared_cache = random_below(100) < weight_of_shared;
    main_in_memory = !shared_cache && random_once_in(5);
    journal = random_once_in(3) ? JOURNAL_WAL : (enum journal)random_below(JOURNAL_WAL);
    synchronous = (enum synchronous)random_below(SYNCHRONOUS_EXTRA + 1);
    /* SQLite keeps a commit away from the sector of the next one only where it syncs each. */
    const bool syncs = journal != JOURNAL_WAL || synchronous >= SYNCHRONOUS_FULL;
    const bool powersafe = !syncs || !random_once_in(3);
    disk_format(random_next(), sector, powersafe);
    snprintf(settings, sizeof settings,
             "PRAGMA page_size = %u; PRAGMA encoding = '%s'; PRAGMA journal_mode = %s",
             PAGES[random_below(sizeof PAGES / sizeof *PAGES)],
             !main_in_memory && random_once_in(4) ? "UTF-16" : "UTF-8", JOURNALS[journal]);
    note("%s; PRAGMA synchronous = %d; sectors of %d bytes%s%s", settings, (int)synchronous, sector,
         powersafe ? "" : " (not powersafe)", shared_cache ? " (shared cache)" : "");
    memset(files, 0, sizeof files);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(files[i].path, sizeof files[i].path, "/%u.db", i);
        create_tables(&files[i], settings);
    }
    static const char ZEROS[1000];
    snprintf(broken_file, sizeof broken_file, "/broken");
    disk_put(broken_file, ZEROS, sizeof ZEROS);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        memset(&connections[i], 0, sizeof connections[i]);
        connections[i].name = i == 0 ? "a" : "b";
        connection_open(&connections[i]);
    }
}

void world_end(bool readable) {
    for (unsigned i = 0; i < CONNECTIONS && readable; i++)
        connection_close(&connections[i]);
    crash_forget();
    for (unsigned i = 0; i < FILES && readable; i++)
        look_from_outside(&files[i]);
    expect(disk_open_files() == 0, "%u files are left open", disk_open_files());
    expect(sqlite3_memory_used() == 0, "%lld bytes are left when all is closed",
           (long long)sqlite3_memory_used());
}

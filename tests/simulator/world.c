/* Files and connections, and what each of them must hold. */
#include "simulator.h"

#include "../runner/load.h"

#include <stdarg.h>
#include <stdio.h>

const char *const NAME[NAMES] = {"seen", "other", "third"}, *const SCHEMA[SCHEMAS] = {"main", "x"};

struct file files[FILES];
struct connection connections[CONNECTIONS];
struct setting setting;
static const char *journal;

const char *sql_of(const char *format, ...) {
    static char texts[64][400];
    static unsigned used;
    char *text = texts[used++ % 64];
    va_list list;
    va_start(list, format);
    sqlite3_vsnprintf(sizeof *texts, text, format, list);
    va_end(list);
    return text;
}

int exec(sqlite3 *database, const char *sql) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL);
}

/* ---- Connections ---- */

/* Only WAL is stored in the file itself. */
void set_durability(sqlite3 *database, const char *schema) {
    exec(database, sql_of("PRAGMA %s.synchronous = %s", schema, setting.synced ? "FULL" : "OFF"));
    if (!setting.wal)
        exec(database, sql_of("PRAGMA %s.journal_mode = %s", schema, journal));
}

sqlite3 *open_database(const struct file *file, int flags) {
    sqlite3 *database = NULL;
    int code = sqlite3_open_v2(file->path[0] != '\0' ? file->path : ":memory:", &database,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags, NULL);
    if (code == SQLITE_OK)
        code = load_bloom(database, NULL);
    expect(code == SQLITE_OK, "%s cannot be opened: %s", file->path, sqlite3_errmsg(database));
    set_durability(database, "main");
    return database;
}

void must_run(sqlite3 *database, const char *sql) {
    int code = exec(database, sql);
    expect(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
}

void connection_open(struct connection *connection, const char *name, struct file *file) {
    memset(connection, 0, sizeof *connection);
    connection->name = name;
    connection->links[0].file = file;
    connection->database =
        open_database(file, file->shared ? SQLITE_OPEN_SHAREDCACHE : SQLITE_OPEN_PRIVATECACHE);
    /* The second reads the schema, and a lock may be in the way. */
    exec(connection->database, "PRAGMA temp_store = memory");
    if (random_once_in(4))
        exec(connection->database, "PRAGMA cache_size = 4");
    /* SQLite 3.40 loses commits in a crash, once pages that a transaction wrote to a WAL twice were
     * rolled back: it keeps the frame from which checksums are to be computed again, so that those
     * of later frames are wrong. 3.53 forgets that frame. What is spilled is written twice. */
    if (setting.wal && sqlite3_libversion_number() < 3053000)
        exec(connection->database, "PRAGMA cache_spill = OFF");
}

void connection_close(struct connection *connection) {
    for (unsigned i = 0; connection->statements[i] != NULL; i++)
        sqlite3_finalize(connection->statements[i]);
    if (connection->in_transaction)
        model_end(connection);
    int code = sqlite3_close(connection->database);
    expect(code == SQLITE_OK, "%s cannot be closed: result %d", connection->name, code);
}

sqlite3_stmt *statement_of(struct connection *connection, unsigned schema, unsigned name,
                           const char *format, int *code) {
    const char *sql = sql_of(format, SCHEMA[schema], NAME[name], NAME[name]);
    sqlite3_stmt **statement = connection->statements;
    while (*statement != NULL && strcmp(sqlite3_sql(*statement), sql) != 0)
        statement++;
    expect(statement < connection->statements + STATEMENTS_MOST - 1, "too many statements");
    *code = SQLITE_OK;
    if (*statement == NULL)
        *code = sqlite3_prepare_v3(connection->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                   statement, NULL);
    return *statement;
}

/* ---- Views ---- */

const struct table *table_named(const struct content *content, unsigned name) {
    for (const struct table *table = content->tables; table < content->tables + SLOTS; table++)
        if (table->exists && table->name == name)
            return table;
    return NULL;
}

struct content *now_of(struct link *link) {
    return link->file->shared ? &link->file->now : &link->now;
}

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
    return link->file->shared || link->sees ? now_of(link) : &link->file->committed;
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

void model_end(struct connection *connection) {
    cursor_end(connection);
    for (struct link *link = connection->links; link < connection->links + SCHEMAS; link++) {
        if (link->wrote && link->file->shared) {
            link->file->now = link->file->committed;
            link->file->writer = NULL;
        }
        link->sees = link->sure = link->wrote = false;
    }
    connection->in_transaction = false;
    connection->depth = 0;
}

void model_begin(struct connection *connection, bool by_savepoint) {
    connection->in_transaction = true;
    connection->by_savepoint = by_savepoint;
    connection->depth = 0;
}

/* ---- The beginning and the end of a round ---- */

/* The keys of the universe fill some of the tables many times over, and others not half. */
struct options random_options(void) {
    static const unsigned CAPACITIES[] = {8, 20, 30, 40, 60, 200, 900};
    static const double RATES[] = {0.1, 0.05, 0.02, 0.01, 0.001, 0.0001};
    static const enum bloom_growth_mode FEW[] = {BLOOM_GROWTH_OFF, BLOOM_GROWTH_ERROR};
    const unsigned mode = random_below(8);
    const bool ages = random_below(100) < setting.generations;
    struct options options = {
        .growth = {.capacity = CAPACITIES[random_below(sizeof CAPACITIES / sizeof *CAPACITIES)],
                   .rate = RATES[random_below(sizeof RATES / sizeof *RATES)],
                   .mode = mode < 2 ? FEW[mode] : BLOOM_GROWTH_ON},
        .key = random_once_in(4) ? (enum key_type)random_below(KEY_TYPES) : AS_IT_IS};
    const bool counts = !ages && random_below(100) < setting.counting;
    options.growth.layout = counts ? &bloom_layout_counting : &bloom_layout_blocked;
    options.growth.keying = TYPES[options.key].keying;
    options.growth.generations = ages ? 2 + random_below(AGES_MOST - 1) : 1;
    return options;
}

const char *sql_to_create(const char *schema, unsigned name, const struct options *options) {
    static const char *const MODES[] = {"on", "off", "error"};
    const struct bloom_growth *growth = &options->growth;
    return sql_of("CREATE VIRTUAL TABLE %s.%s USING bloom(capacity=%llu, fpr=%g, growth=%s%s%s%s)",
                  schema, NAME[name], (sqlite3_uint64)growth->capacity, growth->rate,
                  MODES[growth->mode],
                  growth->layout == &bloom_layout_counting ? ", layout=counting" : "",
                  growth->generations > 1 ? sql_of(", generations=%u", growth->generations) : "",
                  TYPES[options->key].options);
}

static void create_tables(struct file *file, const char *settings) {
    sqlite3 *database = open_database(file, 0);
    must_run(database, settings);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        struct table *table = &file->committed.tables[slot];
        *table = (struct table){
            .exists = true, .name = slot, .options = random_options(), .unknown = true};
        const char *sql = sql_to_create("main", slot, &table->options);
        note("%s: %s", file->path, sql);
        must_run(database, sql);
    }
    sqlite3_close(database);
    file->now = file->committed;
}

void world_begin(void) {
    static const unsigned PAGES[] = {512, 512, 512, 512, 1024, 4096, 65536};
    static const char ZEROS[1000];
    disk_format(random_next());
    disk_put(BROKEN_FILE, ZEROS, sizeof ZEROS);
    journal = setting.wal ? "wal" : "delete";
    const char *encoding = random_once_in(4) ? "UTF-16" : "UTF-8";
    const unsigned page = PAGES[random_below(sizeof PAGES / sizeof *PAGES)];
    const char *settings =
        sql_of("PRAGMA page_size = %u; PRAGMA encoding = '%s'; PRAGMA journal_mode = %s", page,
               encoding, journal);
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

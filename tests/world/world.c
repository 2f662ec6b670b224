/* The databases, a filter table and its oracle in each, and how they are compared. */
#include "world.h"

#include "../runner/load.h"

#include <stdarg.h>

#define PAGES_OF(bytes) "PRAGMA page_size = " bytes "; "

const struct kind KIND[] = {
    {"memory", "main", ":memory:", PAGES_OF("512"), PAGES_OF("512"), PRIVATE, false},
    {"journal", "main", "file:/0", PAGES_OF("512"), "", OTHER | KEPT | IN_FILE, false},
    {"wal", "main", "file:/0", PAGES_OF("512"), "PRAGMA journal_mode = WAL", OTHER | KEPT | IN_FILE,
     false},
    {"memdb", "main", "file:/world?vfs=memdb", PAGES_OF("512"), PAGES_OF("512"), OTHER | KEPT,
     false},
    {"deserialized", "main", ":memory:", PAGES_OF("512"), "", PRIVATE, false},
    {"temp", "temp", ":memory:", PAGES_OF("512"), "PRAGMA temp.page_size = 512", 0, false},
    {"attached", "aux1", ":memory:", PAGES_OF("512"), "", KEPT | IN_ATTACHED, false},
    {"shared", "main", "file:world?mode=memory&cache=shared", PAGES_OF("512"),
     PAGES_OF("512") "PRAGMA read_uncommitted = ON", OTHER | KEPT | IN_SHARED, false},
    {"utf16", "main", "file:/0", PAGES_OF("4096") "PRAGMA encoding = 'UTF-16'", "",
     OTHER | KEPT | IN_FILE, true},
    {"persist", "main", "file:/0", PAGES_OF("1024"), "PRAGMA journal_mode = PERSIST",
     OTHER | KEPT | IN_FILE, true},
};
const size_t KIND_COUNT = COUNT_OF(KIND);

#define SALT(last) "salt='000102030405060708090a0b0c0d0e" last "'"

const struct sort SORT[] = {
    /* several chunks, */
    {"plain",
     {"capacity=100, fpr=1e-9, growth=off", "capacity=150, fpr=1e-9, growth=off"},
     IN_PLAIN},
    /* layers, */
    {"counting",
     {"capacity=6, fpr=1e-6, layout=counting", "capacity=8, fpr=1e-6, layout=counting"},
     IN_COUNTING},
    /* generations, */
    {"aged",
     {"capacity=60, fpr=1e-8, growth=off, generations=2",
      "capacity=90, fpr=1e-8, growth=off, generations=2"},
     IN_AGED},
    /* layers, and nothing differs but the salt */
    {"salted", {"capacity=20, fpr=1e-6, " SALT("00"), "capacity=20, fpr=1e-6, " SALT("01")}, 0},
};
const size_t SORT_COUNT = COUNT_OF(SORT);

const struct start START[] = {
    {"empty", "", true, false},
    {"made", "CREATE MANY", true, false},
    {"begun", "BEGIN CREATE", false, false},
    /* rows of both wait in memory, */
    {"waiting", "CREATE CREATE BEGIN ONE ONE ONE ONE SWITCH ONE ONE ONE", false, true},
    {"open", "BEGIN SAVEPOINT CREATE MANY CURSOR", false, true}, /* a query is under way */
    {"two", "CREATE MANY CREATE ONE", true, true},               /* tables of other options, */
    {"twins", "CREATE MANY CREATE_EQUAL ONE", true, true},       /* or of equal ones, */
    /* of which one is read while they change their names, or has changed it */
    {"read", "CREATE MANY CREATE_EQUAL ONE SWITCH CURSOR BEGIN", false, true},
    {"renamed", "CREATE MANY CREATE_EQUAL ONE BEGIN EXCHANGE CURSOR", false, true},
    /* The object that has made a table has renamed it, too, which is undone. */
    {"undone", "CREATE MANY BEGIN DROP CREATE_EQUAL SAVEPOINT RENAME ROLLBACK_TO ONE CURSOR", false,
     true},
};
const size_t START_COUNT = COUNT_OF(START);

const struct kind *kind;
const struct sort *sort;
const struct start *start;
const char *schema;
const char *const NAMES[2] = {"t", "u"};
bool tracing, has_small_cache;
struct run run;

static char key_list[5 * KEYS + 1], hog_list[7 * HOG_KEYS + 1]; /* for VALUES */
static int key_ends[KEYS + 1];                                  /* in the list */
static sqlite3 *copy; /* another connection, in which databases are checked that are in memory */

/* What a fresh database has in it, and one that takes its place, with one key more. */
static struct {
    sqlite3 *database;
    unsigned char *bytes;
    sqlite3_int64 size;
    int next, made;
} images[2];

void violate(const char *format, ...) {
    va_list list;
    if (run.violation != NULL)
        return;
    va_start(list, format);
    run.violation = sqlite3_vmprintf(format, list);
    va_end(list);
}

void fatal(const char *what, sqlite3 *database) {
    printf("%s: %s\n", what, database == NULL ? "failed" : sqlite3_errmsg(database));
    abort();
}

/* ---- SQL ---- */

/* In a pattern @ is the table with its schema, ~ its name, " its number in made, ^ the other name,
 * ! the schema, ` another one, & the hog's keys, #0 to #9 are new keys, { is a new savepoint, } the
 * innermost, % the present period. */
char *expand(const char *pattern) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (; *pattern != '\0'; pattern++)
        if (*pattern == '@')
            sqlite3_str_appendf(text, "%s.%s", schema, NAMES[run.current]);
        else if (*pattern == '~')
            sqlite3_str_appendall(text, NAMES[run.current]);
        else if (*pattern == '"')
            sqlite3_str_appendf(text, "%d", run.id);
        else if (*pattern == '%')
            sqlite3_str_appendf(text, "%d", run.period);
        else if (*pattern == '^')
            sqlite3_str_appendall(text, NAMES[!run.current]);
        else if (*pattern == '!')
            sqlite3_str_appendall(text, schema);
        else if (*pattern == '`')
            sqlite3_str_appendall(text, strcmp(schema, "temp") == 0 ? "main" : "temp");
        else if (*pattern == '&')
            sqlite3_str_appendall(text, hog_list);
        else if (*pattern == '#')
            sqlite3_str_appendf(text, "%d", run.next + *++pattern - '0');
        else if (*pattern == '{' || *pattern == '}')
            sqlite3_str_appendf(text, "s%d", run.mine.savepoints - (*pattern == '}'));
        else
            sqlite3_str_appendchar(text, 1, *pattern);
    return sqlite3_str_finish(text);
}

static void trace(sqlite3 *database, const char *sql, int code, const char *answer) {
    if (tracing)
        printf("    %s%s -> %d %s\n",
               database == run.mine.database    ? ""
               : database == run.other.database ? "other: "
                                                : "copy: ",
               sql, code,
               code == SQLITE_OK || code == SQLITE_DONE ? ""
               : answer != NULL                         ? answer
                                                        : sqlite3_errmsg(database));
}

int execute(sqlite3 *database, const char *pattern) {
    char *sql = expand(pattern);
    fault_counts = true;
    const int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    fault_counts = false;
    trace(database, sql, code, NULL);
    sqlite3_free(sql);
    return code;
}

int execute_prepared(const char *pattern) {
    sqlite3_stmt **insert = &run.mine.inserts[run.current];
    char *sql = expand(pattern);
    int code = SQLITE_OK;
    fault_counts = true;
    if (*insert == NULL)
        code = sqlite3_prepare_v2(run.mine.database, sql, -1, insert, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int(*insert, 1, run.next);
        sqlite3_step(*insert);
        code = sqlite3_reset(*insert);
    }
    fault_counts = false;
    trace(run.mine.database, sql, code, NULL);
    sqlite3_free(sql);
    return code;
}

/* Prepares a query and takes its first step. */
int ask(sqlite3 *database, sqlite3_stmt **statement, const char *pattern) {
    char *sql = expand(pattern);
    int code = sqlite3_prepare_v2(database, sql, -1, statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(*statement);
    trace(database, sql, code,
          code == SQLITE_ROW ? (const char *)sqlite3_column_text(*statement, 0) : NULL);
    sqlite3_free(sql);
    return code;
}

int number(sqlite3 *database, const char *pattern) {
    sqlite3_stmt *statement = NULL;
    const int code = ask(database, &statement, pattern);
    const int result = code == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_finalize(statement);
    return result;
}

/* All keys below one. */
const char *keys_until(int key) {
    static char list[sizeof key_list];
    sqlite3_snprintf(sizeof list, list, "%.*s", key_ends[key > KEYS ? KEYS : key - 1], key_list);
    return list;
}

/* The SQL function effect(SQL): runs it amid the statement that calls it. */
static void effect(sqlite3_context *context, int count, sqlite3_value **arguments) {
    sqlite3 *database = sqlite3_context_db_handle(context);
    const char *sql = (const char *)sqlite3_value_text(arguments[0]);
    (void)count;
    int code = SQLITE_OK;
    if (sql != NULL && strcmp(sql, "interrupt") == 0)
        sqlite3_interrupt(database);
    else if (sql != NULL)
        code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_result_int(context, 1);
    if (code != SQLITE_OK)
        sqlite3_result_error_code(context, code);
}

/* ---- Connections ---- */

/* A second connection can use the database. */
static bool has_other(void) {
    return (kind->holds & OTHER) != 0 &&
           (strstr(kind->uri, "vfs=memdb") == NULL || sqlite3_libversion_number() >= 3036000);
}

static bool is_in_file(void) {
    return (kind->holds & (IN_FILE | IN_ATTACHED)) != 0;
}

static const char *path_of(int file) {
    return file == 0 ? "/0" : "/1";
}

static sqlite3 *open_connection(const char *uri) {
    sqlite3 *database;
    if (sqlite3_open_v2(uri, &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI |
                            SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        load_bloom(database, NULL) != SQLITE_OK ||
        sqlite3_create_function(database, "effect", 1, SQLITE_UTF8, NULL, effect, NULL, NULL) !=
            SQLITE_OK)
        fatal(uri, database);
    return database;
}

int attach(void) {
    char *sql = sqlite3_mprintf("ATTACH %Q AS aux1", path_of(run.file));
    const int code = sqlite3_exec(run.mine.database, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code;
}

/* A further connection to the database, or to a new one. Returns false if a lock keeps out what its
 * kind wants. */
static bool open_again(struct connection *connection) {
    char uri[60];
    sqlite3_snprintf(sizeof uri, uri, "%s%s", kind->uri, run.is_read_only ? "?mode=ro" : "");
    memset(connection, 0, sizeof *connection);
    connection->database = open_connection(uri);
    sqlite3_exec(connection->database, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
    const bool is_ready = run.is_read_only || sqlite3_exec(connection->database, kind->opened, NULL,
                                                           NULL, NULL) == SQLITE_OK;
    /* SQLite 3.40 loses commits in a crash, once pages that a transaction wrote to a WAL twice were
     * rolled back. What is spilled is written twice. */
    if (strcmp(kind->name, "wal") == 0 && sqlite3_libversion_number() < 3053000)
        execute(connection->database, "PRAGMA cache_spill = OFF");
    if (has_small_cache)
        execute(connection->database, "PRAGMA !.cache_size = 2");
    return is_ready;
}

void open_mine(void) {
    (void)open_again(&run.mine);
    if ((kind->holds & IN_ATTACHED) != 0 && attach() != SQLITE_OK)
        fatal("ATTACH", run.mine.database);
}

/* In two journal modes one connection deletes the other's journal. */
bool open_other(void) {
    if (!open_again(&run.other) && is_in_file())
        close_connection(&run.other);
    return run.other.database != NULL;
}

/* Ends everything that is prepared. */
void finalize_all(struct connection *connection) {
    cursor_drop(connection);
    sqlite3_finalize(connection->tables);
    connection->tables = NULL;
    for (int i = 0; i < 2; i++) {
        sqlite3_finalize(connection->inserts[i]);
        connection->inserts[i] = NULL;
    }
}

void close_connection(struct connection *connection) {
    if (connection->database == NULL)
        return;
    finalize_all(connection);
    if (sqlite3_close(connection->database) != SQLITE_OK)
        fatal("close", connection->database);
    connection->database = NULL;
}

void look(void) {
    bool has[2] = {false, false};
    struct connection *mine = &run.mine;
    if (mine->tables == NULL) {
        char *sql = expand("SELECT name, options, id FROM !.made");
        const int code = sqlite3_prepare_v2(mine->database, sql, -1, &mine->tables, NULL);
        sqlite3_free(sql);
        if (code != SQLITE_OK && !is_kept_out_of(mine->database, code))
            fatal("made", mine->database);
        if (code != SQLITE_OK)
            return;
    }
    while (sqlite3_step(mine->tables) == SQLITE_ROW)
        for (int i = 0; i < 2; i++)
            if (strcmp((const char *)sqlite3_column_text(mine->tables, 0), NAMES[i]) == 0) {
                has[i] = true;
                run.options[i] = sqlite3_column_int(mine->tables, 1);
                run.ids[i] = sqlite3_column_int(mine->tables, 2);
            }
    if (sqlite3_reset(mine->tables) == SQLITE_OK) /* else another connection keeps us out */
        memcpy(run.has, has, sizeof has);
    if (!run.has[run.current] && run.has[!run.current])
        run.current = !run.current;
}

/* ---- The beginning and the end of a run ---- */

static void copy_database(sqlite3 *to, const char *to_schema, sqlite3 *from,
                          const char *from_schema) {
    sqlite3_backup *backup = sqlite3_backup_init(to, to_schema, from, from_schema);
    const int code = backup == NULL ? SQLITE_ERROR : sqlite3_backup_step(backup, -1);
    if (sqlite3_backup_finish(backup) != SQLITE_OK || code != SQLITE_DONE)
        violate("backup: result %d", code);
}

/* SQLite up to 3.53 crashes after this in eponymous tables like json_each, so none is used here. */
void deserialize_image(int which) {
    const sqlite3_int64 size = images[which].size;
    unsigned char *bytes = sqlite3_malloc64((sqlite3_uint64)size);
    memcpy(bytes, images[which].bytes, (size_t)size);
    if (sqlite3_deserialize(run.mine.database, "main", bytes, size, size,
                            SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE) !=
        SQLITE_OK)
        fatal("deserialize", run.mine.database);
}

sqlite3 *image_database(int which) {
    return images[which].database;
}

void run_begin(void) {
    memset(&run, 0, sizeof run);
    run.next = images[1].next;
    run.made = images[0].made;
    if (is_in_file())
        disk_format();
    for (int file = 0; file < ((kind->holds & IN_ATTACHED) != 0 ? 2 : is_in_file()); file++)
        disk_put(path_of(file), images[file].bytes, (size_t)images[file].size);
    open_mine();
    if (strcmp(kind->name, "deserialized") == 0)
        deserialize_image(0);
    else if (!is_in_file())
        copy_database(run.mine.database, schema, images[0].database, "main");
    look();
}

void run_end(void) {
    close_connection(&run.other);
    close_connection(&run.mine);
}

static void make_image(int which, void (*run_names)(const char *names)) {
    sqlite3_close(images[which].database);
    sqlite3_free(images[which].bytes);
    memset(&run, 0, sizeof run);
    run.mine.database = images[which].database = open_connection(":memory:");
    run.next = 3;
    /* NOT NULL: before 3.33 or so SQLite left rows of an INSERT that failed in a function. */
    if (execute(run.mine.database, kind->made) != SQLITE_OK ||
        execute(run.mine.database,
                "CREATE TABLE made(id INTEGER PRIMARY KEY, name, options, period); "
                "CREATE TABLE oracle(id INTEGER, key NOT NULL, age DEFAULT 0); "
                "CREATE INDEX keys ON oracle(id, key); "
                "CREATE TABLE source(key NOT NULL); CREATE TABLE numbers(key INTEGER PRIMARY KEY); "
                "WITH RECURSIVE n(k) AS (SELECT -100 UNION ALL SELECT k + 1 FROM n WHERE k < 120) "
                "INSERT INTO numbers SELECT k FROM n") != SQLITE_OK)
        fatal("the oracle", run.mine.database);
    look();
    if (start->is_image)
        run_names(start->statements);
    if (which == 1)
        run_names("ONE");
    finalize_all(&run.mine);
    images[which].next = run.next;
    images[which].made = run.made;
    images[which].bytes = sqlite3_serialize(run.mine.database, "main", &images[which].size, 0);
    run.mine.database = NULL;
}

void world_make(void (*run_names)(const char *names)) {
    const struct kind *before = kind;
    struct kind in_memory = *before;
    in_memory.holds = PRIVATE;
    kind = &in_memory;
    schema = "main";
    sqlite3_close(copy);
    copy = open_connection(":memory:");
    execute(copy, kind->made);
    for (int which = 0; which < 2; which++)
        make_image(which, run_names);
    kind = before;
    schema = kind->schema;
}

void world_begin(void) {
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD); /* so no mutex costs time */
    char *end = key_list;
    for (int key = 1; key <= KEYS; key++) {
        end += sprintf(end, key == 1 ? "(%d)" : ",(%d)", key);
        key_ends[key] = (int)(end - key_list);
    }
    end = hog_list;
    for (int key = 1; key <= HOG_KEYS; key++)
        end += sprintf(end, key == 1 ? "(-%d)" : ",(-%d)", key);
}

void world_end(void) {
    sqlite3_close(copy);
    for (int which = 0; which < 2; which++) {
        sqlite3_close(images[which].database);
        sqlite3_free(images[which].bytes);
    }
    if (sqlite3_memory_used() > 0) {
        printf("%lld bytes are left when all is closed\n", (long long)sqlite3_memory_used());
        failed++;
    }
}

/* ---- What holds ---- */

bool is_kept_out(int code) {
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

bool other_is_inside(void) {
    return run.other.database != NULL &&
           (!sqlite3_get_autocommit(run.other.database) || run.other.cursor.statement != NULL);
}

bool is_kept_out_of(sqlite3 *database, int code) {
    if (code == SQLITE_OK || is_kept_out(code) || !other_is_inside())
        return is_kept_out(code);
    return is_kept_out(execute(database, "SELECT count(*) FROM !.sqlite_master"));
}

/* A key that another connection of a shared cache has not committed need not be found. */
bool is_held(int key) {
    return (kind->holds & IN_SHARED) != 0 && key == run.held_key && other_is_inside();
}

unsigned state(void) {
    const bool inside = !sqlite3_get_autocommit(run.mine.database);
    if (!inside) {
        run.mine.savepoints = 0;
        run.mine.has_made = run.mine.is_unmade = false;
    }
    const int savepoints = run.mine.savepoints;
    unsigned holds = kind->holds;
    if ((holds & OTHER) != 0 && !has_other())
        holds &= ~(unsigned)(OTHER | KEPT);
    return holds | sort->holds | (inside ? INSIDE : OUTSIDE) | (savepoints > 0 ? SAVEPOINT : 0) |
           (savepoints > 1 ? NESTED : 0) | (run.has[run.current] ? TABLE : 0) |
           (run.has[0] && run.has[1] ? BOTH : ROOM) | (other_is_inside() ? 0 : IDLE) |
           (run.mine.cursor.statement == NULL ? NO_CURSOR : 0) |
           ((kind->holds & IN_SHARED) == 0 || (!inside && !other_is_inside()) ? APART : 0);
}

/* ---- What is compared ---- */

/* In a shared cache keys, and that some are gone, wait in the memory of a transaction that has
 * written them. */
static bool others_wait(const sqlite3 *database) {
    return (kind->holds & IN_SHARED) != 0 && database == run.other.database &&
           !sqlite3_get_autocommit(run.mine.database);
}

/* Compares the keys of a table with the oracle's, by one join. */
static void check_keys(sqlite3 *database, const char *name, int id, const char *when) {
    sqlite3_stmt *statement = NULL;
    const bool may_wait = others_wait(database);
    const bool is_hog = id == 0;
    char *sql = sqlite3_mprintf(
        "SELECT n.key, EXISTS (SELECT 1 FROM %s.%s AS f WHERE f.key = n.key) AS found FROM "
        "%s.numbers AS n WHERE n.key BETWEEN %d AND %d AND found <> EXISTS (SELECT 1 FROM "
        "%s.oracle AS o WHERE o.id = %d AND o.key = n.key)",
        schema, name, schema, is_hog ? -HOG_KEYS : 1,
        is_hog        ? -1
        : run.repeats ? KEYS
                      : run.next + KEYS_OF_STATEMENT,
        schema, id);
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    while (code == SQLITE_ROW && (may_wait || is_held(sqlite3_column_int(statement, 0))))
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        violate("%s: key %d of %s %s", when, sqlite3_column_int(statement, 0), name,
                sqlite3_column_int(statement, 1) ? "was never added" : "is lost");
    else if (code != SQLITE_DONE && !(other_is_inside() && is_kept_out(code)))
        violate("%s: result %d (%s)", when, code, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    sqlite3_free(sql);
}

#define TABLES "(SELECT count(*) FROM !.sqlite_master WHERE name IN ('t', 'u', 'hog'))"

/* While another connection is in a transaction, it may keep this one out. */
void check(sqlite3 *database, const char *when) {
    sqlite3_stmt *made = NULL;
    int code = ask(database, &made, "SELECT name, id, " TABLES " FROM !.made");
    int exist = 0, expected = 0;
    for (; code == SQLITE_ROW && run.violation == NULL; code = sqlite3_step(made)) {
        expected++;
        exist = sqlite3_column_int(made, 2);
        check_keys(database, (const char *)sqlite3_column_text(made, 0),
                   sqlite3_column_int(made, 1), when);
    }
    sqlite3_finalize(made);
    if (other_is_inside() && is_kept_out_of(database, code))
        return;
    if (expected == 0)
        exist = number(database, "SELECT " TABLES);
    if (code != SQLITE_DONE || exist != expected)
        violate("%s: result %d; %d tables exist, and %d were made", when, code, exist, expected);
}

/* Compares the numbers of keys that a table counts: in all its layers, or in each generation, the
 * oldest first, which so tells whether it has rotated. */
static void check_count(sqlite3 *database, const char *when) {
    run.id = run.ids[run.current];
    const bool has_ages = sort->holds == IN_AGED;
    sqlite3_stmt *statement = NULL;
    int counts[LAYERS] = {0}, used = 0;
    if (ask(database, &statement, "SELECT info FROM @") == SQLITE_ROW) {
        const char *info = (const char *)sqlite3_column_text(statement, 0);
        info = strstr(info, has_ages ? "\"generations\":" : "\"layers\":");
        const char *end = strchr(info, ']');
        while (used < LAYERS && (info = strstr(info, "\"keys\":")) != NULL && info < end)
            counts[used++] = atoi(info += strlen("\"keys\":"));
    }
    sqlite3_finalize(statement);
    for (int i = 1; i < used && !has_ages; i++)
        counts[0] += counts[i];
    for (int i = 0; i == 0 || (has_ages && i < used); i++) {
        char *sql =
            sqlite3_mprintf("SELECT count(DISTINCT key) FROM !.oracle WHERE id = \" AND age = %d",
                            has_ages && used > 0 ? used - 1 - i : 0);
        const int keys = number(database, sql);
        sqlite3_free(sql);
        const bool may_differ = (used == 0 || keys < 0 || (kind->holds & IN_SHARED) != 0) &&
                                other_is_inside(); /* it keeps one of them out */
        if (abs(counts[i] - keys) > (run.has_merged ? 2 : 0) && !may_differ)
            violate("%s: info counts %d keys, the oracle %d", when, counts[i], keys);
    }
}

/* Whether no key and no table differs. */
bool is_as_oracle(sqlite3 *database) {
    char *before = run.violation;
    run.violation = NULL;
    check(database, "comparison");
    if (sort->holds == IN_AGED && run.has[run.current] && run.violation == NULL)
        check_count(database, "comparison");
    const bool is_same = run.violation == NULL;
    sqlite3_free(run.violation);
    run.violation = before;
    return is_same;
}

/* Equal sets give equal bytes: the filter is what bloom_agg makes of the oracle's keys. A table of
 * several layers or generations has none. */
static void check_filter(sqlite3 *database, const char *when) {
    sqlite3_stmt *statement = NULL;
    const int code =
        ask(database, &statement,
            "SELECT ifnull(filter = (SELECT bloom_agg(key, (SELECT filter FROM @)) FROM !.oracle "
            "WHERE id = \"), bloom_count(filter) = 0) FROM @");
    if (code == SQLITE_ROW
            ? sqlite3_column_int(statement, 0) != 1
            : !(code == SQLITE_ERROR && sort->holds != IN_PLAIN) && !is_kept_out_of(database, code))
        violate("%s: filter: result %d (%s)", when, code,
                code == SQLITE_ROW ? "it has other bits" : sqlite3_errmsg(database));
    sqlite3_finalize(statement);
}

void check_counted(sqlite3 *database, const char *when) {
    sqlite3_stmt *statement = NULL;
    check_count(database, when);
    check_filter(database, when);
    /* Since SQLite 3.44 it reads virtual tables, FTS5 and R*Tree included, and blocks for ever if
     * another connection of a shared cache has used one. */
    if ((kind->holds & IN_SHARED) != 0 && database != copy &&
        sqlite3_libversion_number() >= 3044000)
        return;
    const int code = ask(database, &statement, "PRAGMA !.integrity_check");
    if (code != SQLITE_ROW ? !is_kept_out_of(database, code)
                           : strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0)
        violate("%s: %s", when,
                code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0)
                                   : sqlite3_errmsg(database));
    sqlite3_finalize(statement);
}

/* Checks everything in a connection in which the tables are in main. */
static void check_all(sqlite3 *database, const char *when) {
    const char *const before = schema;
    const int current = run.current;
    schema = "main";
    check(database, when);
    for (run.current = 0; run.current < 2; run.current++)
        if (run.has[run.current] && run.violation == NULL)
            check_counted(database, when);
    run.current = current;
    schema = before;
}

void check_copy(sqlite3 *from) {
    copy_database(copy, "main", from, schema);
    check_all(copy, "in a copy");
}

void check_written(void) {
    char uri[40];
    if (!is_in_file()) {
        check_copy(run.mine.database);
        return;
    }
    sqlite3_snprintf(sizeof uri, uri, "file:%s?mode=ro", path_of(run.file));
    close_connection(&run.mine);
    sqlite3 *database = open_connection(uri);
    check_all(database, "in another connection");
    if (sqlite3_close(database) != SQLITE_OK)
        fatal("close", database);
}

/* ---- A cursor that stays open ---- */

void cursor_drop(struct connection *connection) {
    sqlite3_finalize(connection->cursor.statement);
    connection->cursor.statement = NULL;
}

/* What may end them has happened, or what they do not hear of. */
void cursors_disturb(void) {
    run.mine.cursor.disturbed = true;
    run.mine.is_unmade |= run.mine.has_made;
    if ((kind->holds & IN_SHARED) != 0)
        run.other.cursor.disturbed = true;
    if (run.mine.is_unheard)
        cursor_drop(&run.mine);
    run.mine.is_unheard = run.mine.is_unheard && !sqlite3_get_autocommit(run.mine.database);
}

/* Opens one over keys that are there and keys that are not, and takes its first row. */
void cursor_open(const char *sql) {
    struct cursor *cursor = &run.mine.cursor;
    cursor->last = run.next + 9 > KEYS ? KEYS : run.next + 9;
    char *text = sqlite3_mprintf(sql, keys_until(cursor->last + 1));
    const int code = ask(run.mine.database, &cursor->statement, text);
    sqlite3_free(text);
    cursor->table = run.ids[run.current];
    cursor->disturbed = false;
    cursor->key = code == SQLITE_ROW ? sqlite3_column_int(cursor->statement, 0) : 0;
    if (code == SQLITE_ROW)
        return;
    if (code != SQLITE_DONE && !is_kept_out_of(run.mine.database, code) &&
        !((kind->holds & IN_SHARED) != 0 && code == SQLITE_LOCKED))
        violate("a cursor: result %d (%s)", code, sqlite3_errmsg(run.mine.database));
    cursor_drop(&run.mine);
}

/* Which keys of a table the oracle has. Returns false if a shared cache has locked it. */
static bool oracle_keys(sqlite3 *database, int table, bool *has) {
    char sql[80];
    sqlite3_stmt *statement = NULL;
    sqlite3_snprintf(sizeof sql, sql, "SELECT key FROM !.oracle WHERE id = %d", table);
    memset(has, 0, KEYS + 1);
    int code = ask(database, &statement, sql);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
        const int key = sqlite3_column_int(statement, 0);
        if (key >= 0 && key <= KEYS)
            has[key] = true;
    }
    sqlite3_finalize(statement);
    return code != SQLITE_LOCKED;
}

/* Reads it to its end. The rest of its rows must be the keys that its table has now, whatever that
 * is called, unless something has ended it since. */
void cursor_read(struct connection *connection) {
    struct cursor *cursor = &connection->cursor;
    sqlite3 *database = connection->database;
    sqlite3_stmt *snapshot = NULL; /* keeps it after the cursor's end */
    bool has[KEYS + 1];
    int code;
    ask(database, &snapshot, "SELECT 1 FROM !.sqlite_master");
    const bool is_known = oracle_keys(database, cursor->table, has);
    do {
        code = sqlite3_step(cursor->statement);
        const int key = code == SQLITE_ROW    ? sqlite3_column_int(cursor->statement, 0)
                        : code == SQLITE_DONE ? cursor->last + 1
                                              : 0;
        for (int passed_key = cursor->key + 1; passed_key <= key && passed_key <= cursor->last;
             passed_key++)
            if (is_known && has[passed_key] != (passed_key == key) && !is_held(passed_key) &&
                !others_wait(database))
                violate("a cursor: key %d %s", passed_key,
                        has[passed_key] ? "is lost" : "was never added");
        cursor->key = key;
    } while (code == SQLITE_ROW);
    if (code != SQLITE_DONE && (code != SQLITE_ABORT || !cursor->disturbed) &&
        !((kind->holds & IN_SHARED) != 0 && code == SQLITE_LOCKED))
        violate("a cursor: result %d (%s)", code, sqlite3_errmsg(database));
    sqlite3_finalize(snapshot);
    cursor_drop(connection);
}

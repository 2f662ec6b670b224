/* The databases of sequences_test.c: the facts that are drawn, a filter table and its oracle in
 * each kind of database, and how they are compared.
 *
 * The oracle is one ordinary table in the same database, with a row for each key of each filter
 * table. Another one says which filter tables were made. */
#ifndef SEQUENCES_WORLD_H
#define SEQUENCES_WORLD_H

#include "../runner/load.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define PAGE_BYTES "512"
enum { KEYS = 99, HOG_KEYS = 100, LAYERS = 8, LONGEST = 16, REPORTED = 30, SECONDS = 30 };

/* The facts that are drawn one by one: the kind of database, the sort of table, and how the
 * sequence begins. */
enum kind { MEMORY, JOURNAL, WAL, MEMDB, DESERIALIZED, TEMP, ATTACHED, SHARED, KINDS };
static const char *const KIND_NAMES[KINDS] = {"memory",       "journal", "wal",      "memdb",
                                              "deserialized", "temp",    "attached", "shared"};

/* Tables that are made one after the other have these capacities by turns. */
enum sort { PLAIN, COUNTING, AGED, SORTS };
static const struct {
    const char *name, *options;
    int capacities[2];
} SORT[SORTS] = {
    {"plain", "capacity=%d, fpr=1e-9, growth=off", {100, 150}},            /* several chunks, */
    {"counting", "capacity=%d, fpr=1e-6, layout=counting", {6, 8}},        /* layers, */
    {"aged", "capacity=%d, fpr=1e-8, growth=off, generations=2", {60, 90}} /* generations */
};

/* The last one is no image, which is made once, but each sequence begins so. */
static const struct {
    const char *name, *statements;
    bool is_image;
} STARTS[] = {{"empty", "", true},
              {"made", "CREATE MANY", true},
              {"begun", "BEGIN CREATE", false},
              {"open", "BEGIN SAVEPOINT CREATE MANY CURSOR", false}};

/* The combination that is under way. */
static enum kind kind;
static enum sort sort;
static size_t start;
static const char *schema;
static char folder[200];
static char key_list[5 * KEYS + 1], hog_list[7 * HOG_KEYS + 1]; /* for VALUES */
static int key_ends[KEYS + 1];                                  /* in the list */
static bool tracing;
static sqlite3 *copy; /* another connection, in which databases are checked that are in memory */

/* What a fresh database has in it, and one that takes its place, with one key more. */
static struct {
    sqlite3 *database;
    unsigned char *bytes;
    sqlite3_int64 size;
    int next, made;
} images[2];

/* What a sequence has done so far. */
static struct {
    sqlite3 *database, *other;
    sqlite3_stmt *tables;     /* which ones there are; as it is prepared, closing is refused */
    sqlite3_stmt *inserts[2]; /* kept prepared, of t and u */
    int next;                 /* key */
    int made;                 /* tables */
    int savepoints;
    bool has[2];       /* tables t and u */
    int options[2];    /* of these, 0 or 1 */
    int current;       /* the one that statements use */
    int file;          /* of the two that are attached by turns */
    bool other_reads;  /* in a transaction that is open, */
    bool other_writes; /* or has written in it */
    int held_key;      /* which it has not committed */
    bool is_read_only;
    sqlite3_stmt *cursor;
    int cursor_options, cursor_key, cursor_last;
    bool cursor_disturbed;
    char *violation;
} run;

static const char *const NAMES[2] = {"t", "u"};

static void violate(const char *format, ...) {
    va_list list;
    if (run.violation != NULL)
        return;
    va_start(list, format);
    run.violation = sqlite3_vmprintf(format, list);
    va_end(list);
}

/* SQL */

/* In a pattern @ is the table with its schema, ~ its name, ^ the other name, ! the schema, `
 * another one, & the hog's keys, #0 to #9 are new keys, { is a new savepoint, } the innermost. */
static char *expand(const char *pattern) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (; *pattern != '\0'; pattern++)
        if (*pattern == '@')
            sqlite3_str_appendf(text, "%s.%s", schema, NAMES[run.current]);
        else if (*pattern == '~')
            sqlite3_str_appendall(text, NAMES[run.current]);
        else if (*pattern == '^')
            sqlite3_str_appendall(text, NAMES[!run.current]);
        else if (*pattern == '!')
            sqlite3_str_appendall(text, schema);
        else if (*pattern == '`')
            sqlite3_str_appendall(text, kind == TEMP ? "main" : "temp");
        else if (*pattern == '&')
            sqlite3_str_appendall(text, hog_list);
        else if (*pattern == '#')
            sqlite3_str_appendf(text, "%d", run.next + *++pattern - '0');
        else if (*pattern == '{' || *pattern == '}')
            sqlite3_str_appendf(text, "s%d", run.savepoints - (*pattern == '}'));
        else
            sqlite3_str_appendchar(text, 1, *pattern);
    return sqlite3_str_finish(text);
}

static void trace(sqlite3 *database, const char *sql, int code, const char *answer) {
    if (tracing)
        printf("    %s%s -> %d %s\n",
               database == run.database ? ""
               : database == run.other  ? "other: "
                                        : "copy: ",
               sql, code,
               code == SQLITE_OK || code == SQLITE_DONE ? ""
               : answer != NULL                         ? answer
                                                        : sqlite3_errmsg(database));
}

static int execute(sqlite3 *database, const char *pattern) {
    char *sql = expand(pattern);
    const int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    trace(database, sql, code, NULL);
    sqlite3_free(sql);
    return code;
}

/* Prepares a query and takes its first step. */
static int ask(sqlite3 *database, sqlite3_stmt **statement, const char *pattern) {
    char *sql = expand(pattern);
    int code = sqlite3_prepare_v2(database, sql, -1, statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(*statement);
    trace(database, sql, code,
          code == SQLITE_ROW ? (const char *)sqlite3_column_text(*statement, 0) : NULL);
    sqlite3_free(sql);
    return code;
}

/* Returns the number that a query gives, or -1. */
static int number(sqlite3 *database, const char *pattern) {
    sqlite3_stmt *statement = NULL;
    const int code = ask(database, &statement, pattern);
    const int result = code == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_finalize(statement);
    return result;
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

/* Databases */

static void fatal(const char *what, sqlite3 *database) {
    printf("%s: %s\n", what, database == NULL ? "failed" : sqlite3_errmsg(database));
    abort();
}

static const char *path_of(int file) {
    static char path[COUNT_OF(folder) + 20];
    sqlite3_snprintf(sizeof path, path, "%s/%d.db", folder, file);
    return path;
}

static void remove_files(void) {
    static const char *const ENDS[] = {"", "-journal", "-wal", "-shm"};
    char path[COUNT_OF(folder) + 30];
    for (int file = 0; file < 2; file++)
        for (size_t i = 0; i < COUNT_OF(ENDS); i++) {
            sqlite3_snprintf(sizeof path, path, "%s%s", path_of(file), ENDS[i]);
            unlink(path);
        }
}

static void write_files(void) {
    remove_files();
    for (int file = 0; file < (kind == ATTACHED ? 2 : 1); file++) {
        const size_t size = (size_t)images[file].size;
        FILE *stream = fopen(path_of(file), "wb");
        if (stream == NULL || fwrite(images[file].bytes, 1, size, stream) != size ||
            fclose(stream) != 0)
            fatal(path_of(file), NULL);
    }
}

static bool is_in_file(void) {
    return kind == JOURNAL || kind == WAL || kind == ATTACHED;
}

/* A second connection can use the database. */
static bool has_other(void) {
    return kind == JOURNAL || kind == WAL || kind == SHARED ||
           (kind == MEMDB && sqlite3_libversion_number() >= 3036000);
}

static sqlite3 *open_connection(const char *path) {
    sqlite3 *database;
    if (sqlite3_open_v2(path, &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
                        NULL) != SQLITE_OK ||
        load_bloom(database, NULL) != SQLITE_OK ||
        sqlite3_create_function(database, "effect", 1, SQLITE_UTF8, NULL, effect, NULL, NULL) !=
            SQLITE_OK)
        fatal(path, database);
    sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (!is_in_file())
        sqlite3_exec(database, "PRAGMA page_size = " PAGE_BYTES, NULL, NULL, NULL);
    if (kind == TEMP)
        sqlite3_exec(database, "PRAGMA temp_store = MEMORY; PRAGMA temp.page_size = " PAGE_BYTES,
                     NULL, NULL, NULL);
    return database;
}

static void copy_database(sqlite3 *to, const char *to_schema, sqlite3 *from,
                          const char *from_schema) {
    sqlite3_backup *backup = sqlite3_backup_init(to, to_schema, from, from_schema);
    if (backup == NULL || sqlite3_backup_step(backup, -1) != SQLITE_DONE ||
        sqlite3_backup_finish(backup) != SQLITE_OK)
        fatal("backup", to);
}

static int attach(void) {
    char *sql =
        sqlite3_mprintf("ATTACH %Q AS aux1; PRAGMA aux1.synchronous = OFF", path_of(run.file));
    const int code = sqlite3_exec(run.database, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code;
}

/* A further connection to the database, or to a new one. */
static sqlite3 *open_again(void) {
    char path[COUNT_OF(folder) + 30];
    sqlite3_snprintf(sizeof path, path, "file:%s%s", path_of(0),
                     run.is_read_only ? "?mode=ro" : "");
    sqlite3 *database = open_connection(kind == JOURNAL || kind == WAL ? path
                                        : kind == MEMDB                ? "file:/sequence?vfs=memdb"
                                        : kind == SHARED ? "file:sequence?mode=memory&cache=shared"
                                                         : ":memory:");
    if (kind == WAL && !run.is_read_only)
        execute(database, "PRAGMA journal_mode = WAL");
    if (kind == SHARED)
        execute(database, "PRAGMA read_uncommitted = ON");
    if (getenv("CACHE_SIZE") != NULL)
        execute(database, "PRAGMA !.cache_size = 2");
    return database;
}

static void open_run(void) {
    run.database = open_again();
    if (kind == ATTACHED && attach() != SQLITE_OK)
        fatal("ATTACH", run.database);
}

/* Which tables are there is asked where it may have changed, since asking begins a transaction. */
static void look(void) {
    bool has[2] = {false, false};
    if (run.tables == NULL) {
        char *sql = expand("SELECT name, options FROM !.made");
        if (sqlite3_prepare_v2(run.database, sql, -1, &run.tables, NULL) != SQLITE_OK)
            fatal(sql, run.database);
        sqlite3_free(sql);
    }
    while (sqlite3_step(run.tables) == SQLITE_ROW)
        for (int i = 0; i < 2; i++)
            if (strcmp((const char *)sqlite3_column_text(run.tables, 0), NAMES[i]) == 0) {
                has[i] = true;
                run.options[i] = sqlite3_column_int(run.tables, 1);
            }
    if (sqlite3_reset(run.tables) == SQLITE_OK) /* else another connection keeps us out */
        memcpy(run.has, has, sizeof has);
    if (!run.has[run.current] && run.has[!run.current])
        run.current = !run.current;
}

/* SQLite up to 3.53 crashes after this in eponymous tables like json_each, so none is used here. */
static void deserialize_image(int which) {
    const sqlite3_int64 size = images[which].size;
    unsigned char *bytes = sqlite3_malloc64((sqlite3_uint64)size);
    memcpy(bytes, images[which].bytes, (size_t)size);
    if (sqlite3_deserialize(run.database, "main", bytes, size, size,
                            SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE) !=
        SQLITE_OK)
        fatal("deserialize", run.database);
}

static void begin_run(void) {
    memset(&run, 0, sizeof run);
    run.next = images[1].next;
    run.made = images[0].made;
    if (is_in_file())
        write_files();
    open_run();
    if (kind == DESERIALIZED)
        deserialize_image(0);
    else if (!is_in_file())
        copy_database(run.database, schema, images[0].database, "main");
    look();
}

/* Ends everything that is prepared. */
static void finalize_all(void) {
    sqlite3_finalize(run.cursor);
    sqlite3_finalize(run.tables);
    run.cursor = run.tables = NULL;
    for (int i = 0; i < 2; i++) {
        sqlite3_finalize(run.inserts[i]);
        run.inserts[i] = NULL;
    }
}

static void close_run(void) {
    finalize_all();
    if (sqlite3_close(run.database) != SQLITE_OK)
        fatal("close", run.database);
    run.database = NULL;
}

static void close_other(void) {
    if (sqlite3_close(run.other) != SQLITE_OK)
        fatal("close", run.other);
    run.other = NULL;
    run.other_reads = run.other_writes = false;
}

/* What holds */

/* What a statement needs, */
enum {
    INSIDE = 1,      /* of a transaction */
    OUTSIDE = 2,     /* of transactions */
    SAVEPOINT = 4,   /* one is open */
    TABLE = 8,       /* there is one */
    ROOM = 16,       /* for one more */
    OTHER = 32,      /* another connection can be opened, */
    IDLE = 64,       /* and has no transaction */
    NO_CURSOR = 128, /* is open */
    IN_PLAIN = 256,  /* sort of table */
    IN_COUNTING = 512,
    IN_AGED = 1024,
    IN_FILE = 2048, /* of main */
    IN_ATTACHED = 4096,
    KEPT = 8192,     /* when the connection closes */
    PRIVATE = 16384, /* to the connection, in memory */
    NESTED = 32768,  /* savepoints */
    BOTH = 65536,    /* tables are there */
    /* and what else is true of it. */
    RARE = 1 << 20,
    FAILS = 1 << 21,    /* it must, in both tables alike */
    DEFINES = 1 << 22,  /* other tables may be there now, */
    DISTURBS = 1 << 23, /* and cursors may end */
    COUNTS = 1 << 24,   /* changes() must be equal */
    NEEDS = RARE - 1
};

/* Which of these hold now. */
static unsigned state(void) {
    const bool inside = !sqlite3_get_autocommit(run.database);
    if (!inside)
        run.savepoints = 0;
    return (inside ? INSIDE : OUTSIDE) | (run.savepoints > 0 ? SAVEPOINT : 0) |
           (run.has[run.current] ? TABLE : 0) | (run.has[0] && run.has[1] ? BOTH : ROOM) |
           (run.savepoints > 1 ? NESTED : 0) |
           (kind == MEMORY || kind == DESERIALIZED ? PRIVATE : 0) | (has_other() ? OTHER : 0) |
           (run.other_reads || run.other_writes ? 0 : IDLE) | (run.cursor == NULL ? NO_CURSOR : 0) |
           (is_in_file() || has_other() ? KEPT : 0) |
           (sort == PLAIN      ? IN_PLAIN
            : sort == COUNTING ? IN_COUNTING
                               : IN_AGED) |
           (kind == JOURNAL || kind == WAL ? IN_FILE : 0) | (kind == ATTACHED ? IN_ATTACHED : 0);
}

/* Checks */

static bool is_kept_out(int code) {
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

/* All keys below one. */
static const char *keys_until(int key) {
    static char list[sizeof key_list];
    sqlite3_snprintf(sizeof list, list, "%.*s", key_ends[key > KEYS ? KEYS : key - 1], key_list);
    return list;
}

/* A key that another connection of a shared cache has not committed need not be found. */
static bool is_held(int key) {
    return kind == SHARED && run.other_writes && key == run.held_key;
}

/* Compares the keys of a table with the oracle's, by one join. */
static void check_keys(sqlite3 *database, const char *name, const char *when) {
    sqlite3_stmt *statement = NULL;
    /* In a shared cache keys wait in the memory of a transaction that has written them. */
    const bool may_wait =
        kind == SHARED && database == run.other && !sqlite3_get_autocommit(run.database);
    const char *list = strcmp(name, "hog") == 0 ? hog_list : keys_until(run.next);
    char *sql = sqlite3_mprintf(
        "SELECT column1, EXISTS (SELECT 1 FROM %s.%s AS f WHERE f.key = column1) AS found FROM "
        "(VALUES %s) WHERE found <> EXISTS (SELECT 1 FROM %s.oracle AS o WHERE o.name = %Q AND "
        "o.key = column1)",
        schema, name, list, schema, name);
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    while (code == SQLITE_ROW && (is_held(sqlite3_column_int(statement, 0)) ||
                                  (may_wait && sqlite3_column_int(statement, 1) == 0)))
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        violate("%s: key %d of %s %s", when, sqlite3_column_int(statement, 0), name,
                sqlite3_column_int(statement, 1) ? "was never added" : "is lost");
    else if (code != SQLITE_DONE)
        violate("%s: result %d (%s)", when, code, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    sqlite3_free(sql);
}

/* Compares all tables. While another connection is in a transaction, it may keep this one out. */
static void check(sqlite3 *database, const char *when) {
    sqlite3_stmt *made = NULL;
    int code = ask(database, &made,
                   "SELECT name, (SELECT count(*) FROM !.made) FROM !.sqlite_master WHERE name IN "
                   "('t', 'u', 'hog')");
    int exist = 0, expected = 0;
    for (; code == SQLITE_ROW && run.violation == NULL; code = sqlite3_step(made)) {
        exist++;
        expected = sqlite3_column_int(made, 1);
        check_keys(database, (const char *)sqlite3_column_text(made, 0), when);
    }
    sqlite3_finalize(made);
    if (is_kept_out(code) && (run.other_reads || run.other_writes))
        return;
    if (exist == 0)
        expected = number(database, "SELECT count(*) FROM !.made");
    if (code != SQLITE_DONE || exist != expected)
        violate("%s: result %d; %d tables exist, and %d were made", when, code, exist, expected);
}

/* Compares the number of keys that a table counts. */
static void check_count(sqlite3 *database, const char *when) {
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "SELECT 0");
    for (int i = 0; i < LAYERS; i++)
        sqlite3_str_appendf(sql, " + coalesce(json_extract(info, '$.%s[%d].keys'), 0)",
                            sort == AGED ? "generations" : "layers", i);
    sqlite3_str_appendall(sql, " FROM @");
    char *text = sqlite3_str_finish(sql);
    const int count = number(database, text);
    sqlite3_free(text);
    const int keys = number(database, "SELECT count(*) FROM (SELECT DISTINCT key, age FROM "
                                      "!.oracle WHERE name = '~')");
    if (count != keys && !(run.other_reads || run.other_writes))
        violate("%s: info counts %d keys, the oracle %d", when, count, keys);
}

static void check_integrity(sqlite3 *database, const char *when) {
    sqlite3_stmt *statement = NULL;
    const int code = ask(database, &statement, "PRAGMA !.integrity_check");
    if (code != SQLITE_ROW ? !is_kept_out(code)
                           : strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0)
        violate("%s: %s", when,
                code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0)
                                   : sqlite3_errmsg(database));
    sqlite3_finalize(statement);
}

/* Checks everything in a connection in which the tables are in main. */
static void check_copy(sqlite3 *database, const char *when) {
    const char *const before = schema;
    const int current = run.current;
    schema = "main";
    check(database, when);
    for (run.current = 0; run.current < 2; run.current++)
        if (run.has[run.current] && run.violation == NULL)
            check_count(database, when);
    run.current = current;
    if (run.violation == NULL)
        check_integrity(database, when);
    schema = before;
}

/* What was written, as another connection sees it. */
static void check_written(void) {
    char path[COUNT_OF(folder) + 30];
    sqlite3 *database = copy;
    if (is_in_file()) {
        sqlite3_snprintf(sizeof path, path, "file:%s?mode=ro", path_of(run.file));
        close_run();
        database = open_connection(path);
    } else {
        copy_database(copy, "main", run.database, schema);
    }
    check_copy(database, "in another connection");
    if (database != copy && sqlite3_close(database) != SQLITE_OK)
        fatal("close", database);
}

/* A cursor that stays open. The next time it is read to its end: each of its rows must be of its
 * table, and none may be missing, unless something has ended it since. */
static void read_cursor(void) {
    sqlite3_stmt *snapshot = NULL; /* keeps it after the cursor's end */
    int code;
    ask(run.database, &snapshot, "SELECT 1 FROM !.sqlite_master");
    do {
        code = sqlite3_step(run.cursor);
        const int key = code == SQLITE_ROW    ? sqlite3_column_int(run.cursor, 0)
                        : code == SQLITE_DONE ? run.cursor_last + 1
                                              : 0;
        if (key > 0)
            look();
        for (int passed = run.cursor_key + 1; passed <= key && passed <= run.cursor_last;
             passed++) {
            int tables = 0, in = 0;
            for (int i = 0; i < 2; i++)
                if (run.has[i] && run.options[i] == run.cursor_options) {
                    char sql[100];
                    sqlite3_snprintf(sizeof sql, sql,
                                     "SELECT count(*) FROM !.oracle WHERE name = '%s' AND key = %d",
                                     NAMES[i], passed);
                    in += number(run.database, sql) > 0;
                    tables++;
                }
            if (!is_held(passed) && (passed == key ? in == 0 : in > 0 && in == tables))
                violate("CURSOR: key %d %s", passed, in > 0 ? "is lost" : "was never added");
        }
        run.cursor_key = key;
    } while (code == SQLITE_ROW);
    if (code != SQLITE_DONE && (code != SQLITE_ABORT || !run.cursor_disturbed))
        violate("CURSOR: result %d (%s)", code, sqlite3_errmsg(run.database));
    sqlite3_finalize(snapshot);
    sqlite3_finalize(run.cursor);
    run.cursor = NULL;
}

#endif

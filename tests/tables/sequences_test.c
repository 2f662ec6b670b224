/* Every sequence of a few statements on a filter table, on each kind of database, beside an
 * ordinary table in the same transactions and connections. So SQLite itself is the oracle: what the
 * ordinary table has must be found in the filter table, and nothing else.
 *
 *     sequences_test                              every combination; the environment bounds it:
 *         STATEMENTS=3    the longest sequence
 *         RARE=1          how many of its statements may be rare ones (see the table STATEMENTS)
 *         KINDS="wal temp" SORTS="plain" STARTS="made"    only these
 *     sequences_test memdb plain empty BEGIN CREATE MANY    one sequence; TRACE=1 prints its SQL
 *
 * Each sequence gets a fresh database. After its last statement everything is checked, committed,
 * checked again, and checked once more in another connection, which sees only what was written. A
 * sequence whose last statement fails in the ordinary table, too, goes no further. One that shows a
 * fault is shortened, and printed so that it can be run again.
 *
 * It uses nothing of the extension but SQL. */
#include "sqlite-bloom.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define PAGE_BYTES "512"
enum { KEYS = 99, HOG_KEYS = 100, LONGEST = 16, REPORTED = 30, SECONDS = 30 };

/* The facts that are drawn one by one: the kind of database, the sort of table, and how the
 * sequence begins. */
enum kind { MEMORY, JOURNAL, WAL, MEMDB, DESERIALIZED, TEMP, ATTACHED, SHARED, KINDS };
static const char *const KIND_NAMES[KINDS] = {"memory",       "journal", "wal",      "memdb",
                                              "deserialized", "temp",    "attached", "shared"};

/* Tables that are made one after the other have these capacities by turns, two of each. */
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
} STARTS[] = {{"empty", "", true}, {"made", "CREATE MANY", true}, {"begun", "BEGIN CREATE", false}};

/* The combination that is under way. */
static enum kind kind;
static enum sort sort;
static size_t start;
static const char *schema;
static char folder[200];
static char key_list[4 * KEYS + 2], hog_list[5 * HOG_KEYS + 2];
static int key_ends[KEYS + 1]; /* in the list */
static bool tracing;
static sqlite3 *copy; /* another connection, in which databases are checked that are in memory */

/* What a fresh database has in it. */
static struct {
    sqlite3 *database;
    unsigned char *bytes;
    sqlite3_int64 size;
    int next, made;
} image;

/* What a sequence has done so far. */
static struct {
    sqlite3 *database, *other;
    sqlite3_stmt *tables; /* which ones there are; as it is open, closing is refused */
    int next;             /* key */
    int made;             /* tables */
    int savepoints;
    bool has[2];       /* tables t and u */
    int options[2];    /* of these */
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

/* In a template @ is the table with its schema, ~ its name, ^ the other name, ! the schema, & JSON
 * of the hog's keys, and #0 to #9 are new keys. */
static char *expand(const char *template) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (; *template != '\0'; template ++)
        if (*template == '@')
            sqlite3_str_appendf(text, "%s.%s", schema, NAMES[run.current]);
        else if (*template == '~')
            sqlite3_str_appendall(text, NAMES[run.current]);
        else if (*template == '^')
            sqlite3_str_appendall(text, NAMES[!run.current]);
        else if (*template == '!')
            sqlite3_str_appendall(text, schema);
        else if (*template == '&')
            sqlite3_str_appendall(text, hog_list);
        else if (*template == '#')
            sqlite3_str_appendf(text, "%d", run.next + *++template - '0');
        else
            sqlite3_str_appendchar(text, 1, *template);
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

static int execute(sqlite3 *database, const char *template) {
    char *sql = expand(template);
    const int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    trace(database, sql, code, NULL);
    sqlite3_free(sql);
    return code;
}

/* Prepares a query and takes its first step. */
static int ask(sqlite3 *database, sqlite3_stmt **statement, const char *template) {
    char *sql = expand(template);
    int code = sqlite3_prepare_v2(database, sql, -1, statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(*statement);
    trace(database, sql, code,
          code == SQLITE_ROW ? (const char *)sqlite3_column_text(*statement, 0) : NULL);
    sqlite3_free(sql);
    return code;
}

/* Returns the number that a query gives, or -1. */
static int number(sqlite3 *database, const char *template) {
    sqlite3_stmt *statement = NULL;
    const int code = ask(database, &statement, template);
    const int result = code == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_finalize(statement);
    return result;
}

/* The SQL function effect(SQL): runs it amid the statement that calls it. */
static void effect(sqlite3_context *context, int count, sqlite3_value **arguments) {
    sqlite3 *database = sqlite3_context_db_handle(context);
    const char *sql = (const char *)sqlite3_value_text(arguments[0]);
    (void)count;
    sqlite3_result_int(context, 1);
    if (sql != NULL && strcmp(sql, "interrupt") == 0)
        sqlite3_interrupt(database);
    else if (sql != NULL && sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        sqlite3_result_error(context, "the effect failed", -1);
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
    const size_t size = (size_t)image.size;
    remove_files();
    for (int file = 0; file < (kind == ATTACHED ? 2 : 1); file++) {
        FILE *stream = fopen(path_of(file), "wb");
        if (stream == NULL || fwrite(image.bytes, 1, size, stream) != size || fclose(stream) != 0)
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
        sqlite3_bloom_init(database, NULL, NULL) != SQLITE_OK ||
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

static void begin_run(void) {
    memset(&run, 0, sizeof run);
    run.next = image.next;
    run.made = image.made;
    if (is_in_file())
        write_files();
    open_run();
    if (kind == DESERIALIZED) {
        unsigned char *bytes = sqlite3_malloc64((sqlite3_uint64)image.size);
        memcpy(bytes, image.bytes, (size_t)image.size);
        if (sqlite3_deserialize(run.database, "main", bytes, image.size, image.size,
                                SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE) !=
            SQLITE_OK)
            fatal("deserialize", run.database);
    } else if (!is_in_file()) {
        copy_database(run.database, schema, image.database, "main");
    }
    look();
}

static void close_run(void) {
    sqlite3_finalize(run.cursor);
    sqlite3_finalize(run.tables);
    run.cursor = run.tables = NULL;
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

/* Checks */

static bool is_kept_out(int code) {
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

/* JSON of all keys below one. */
static const char *keys_until(int key) {
    static char list[sizeof key_list];
    sqlite3_snprintf(sizeof list, list, "%.*s]", key_ends[key > KEYS ? KEYS : key - 1], key_list);
    return list;
}

/* A key that another connection of a shared cache has not committed need not be found. */
static bool is_held(int key) {
    return kind == SHARED && run.other_writes && key == run.held_key;
}

/* Compares the keys of a table with the oracle's, by one join. */
static void check_keys(sqlite3 *database, const char *name, const char *when) {
    sqlite3_stmt *statement = NULL;
    const char *list = strcmp(name, "hog") == 0 ? hog_list : keys_until(run.next);
    char *sql = sqlite3_mprintf(
        "SELECT value, EXISTS (SELECT 1 FROM %s.%s AS f WHERE f.key = value) AS found FROM "
        "json_each(%Q) WHERE found <> EXISTS (SELECT 1 FROM %s.oracle AS o WHERE o.name = %Q AND "
        "o.key = value)",
        schema, name, list, schema, name);
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    while (code == SQLITE_ROW && is_held(sqlite3_column_int(statement, 0)))
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
    const int count =
        number(database, sort == AGED ? "SELECT sum(json_extract(value, '$.keys')) FROM @, "
                                        "json_each(info, '$.generations')"
                                      : "SELECT sum(json_extract(value, '$.keys')) FROM @, "
                                        "json_each(info, '$.layers')");
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

/* What was written, as another connection sees it. */
static void check_written(void) {
    const char *const before = schema;
    char path[COUNT_OF(folder) + 30];
    sqlite3 *database = copy;
    if (is_in_file()) {
        sqlite3_snprintf(sizeof path, path, "file:%s?mode=ro", path_of(run.file));
        close_run();
        database = open_connection(path);
    } else {
        copy_database(copy, "main", run.database, schema);
    }
    schema = "main";
    check(database, "in another connection");
    for (run.current = 0; run.current < 2 && run.violation == NULL; run.current++)
        if (run.has[run.current])
            check_count(database, "in another connection");
    if (run.violation == NULL)
        check_integrity(database, "in another connection");
    schema = before;
    if (database != copy && sqlite3_close(database) != SQLITE_OK)
        fatal("close", database);
}

/* Statements */

struct statement {
    const char *name;
    unsigned needs; /* what must hold, so that it makes sense; and flags */
    bool (*run)(const struct statement *statement); /* false: nothing more comes after it */
    const char *sql, *oracle;                       /* what it does to the two tables */
    int keys;                                       /* new ones in it */
};

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
    IN_PLAIN = 1024, /* sort of table */
    IN_COUNTING = 2048,
    IN_AGED = 4096,
    IN_FILE = 8192, /* of main */
    IN_ATTACHED = 16384,
    KEPT = 32768, /* when the connection closes */
    /* and what else is true of it. */
    RARE = 1 << 20,
    FAILS = 1 << 21,    /* it must, in both tables alike */
    DEFINES = 1 << 22,  /* other tables may be there now, */
    DISTURBS = 1 << 23, /* and cursors may end */
    COUNTS = 1 << 24,   /* changes() must be equal */
    NEEDS = RARE - 1
};

static unsigned state(void) {
    const bool inside = !sqlite3_get_autocommit(run.database);
    if (!inside)
        run.savepoints = 0;
    return (inside ? INSIDE : OUTSIDE) | (run.savepoints > 0 ? SAVEPOINT : 0) |
           (run.has[run.current] ? TABLE : 0) | (run.has[0] && run.has[1] ? 0 : ROOM) |
           (has_other() ? OTHER : 0) | (run.other_reads || run.other_writes ? 0 : IDLE) |
           (run.cursor == NULL ? NO_CURSOR : 0) | (is_in_file() || has_other() ? KEPT : 0) |
           (sort == PLAIN      ? IN_PLAIN
            : sort == COUNTING ? IN_COUNTING
                               : IN_AGED) |
           (kind == JOURNAL || kind == WAL ? IN_FILE : 0) | (kind == ATTACHED ? IN_ATTACHED : 0);
}

/* Runs it on both tables, in that connection. */
static bool run_in(sqlite3 *database, const struct statement *statement) {
    const int code = execute(database, statement->sql);
    const int changes = sqlite3_changes(database);
    if (is_kept_out(code) && (statement->needs & DEFINES) != 0) {
        /* As with every table that has an open cursor, or a schema that somebody reads. */
        if (run.cursor == NULL && (state() & IDLE) != 0)
            violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(database));
        return (state() & IDLE) != 0;
    }
    const int oracle = execute(database, statement->oracle);
    if (code != oracle)
        violate("%s: result %d, the oracle's %d", statement->name, code, oracle);
    else if (code == SQLITE_OK && (statement->needs & COUNTS) != 0 &&
             changes != sqlite3_changes(database))
        violate("%s: %d changes, in the oracle %d", statement->name, changes,
                sqlite3_changes(database));
    if ((statement->needs & FAILS) != 0 && code == SQLITE_OK)
        violate("%s: no error", statement->name);
    run.next += statement->keys;
    return code == SQLITE_OK || ((statement->needs & FAILS) != 0 && !is_kept_out(code));
}

static bool run_both(const struct statement *statement) {
    return run_in(run.database, statement);
}

/* Begins or ends a transaction, or part of one. */
static bool run_transaction(const struct statement *statement) {
    const int code = execute(run.database, statement->sql);
    if (code != SQLITE_OK && !(is_kept_out(code) && !(state() & IDLE)))
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(run.database));
    if (code == SQLITE_OK)
        run.savepoints += statement->sql[0] == 'S' ? 1 : strstr(statement->sql, "RELEASE") ? -1 : 0;
    return true;
}

/* Statements that make a table have a place for its options. */
static struct statement with_options(const struct statement *statement) {
    static char sql[300], oracle[300];
    const int which = run.made++ / 2 % 2;
    char *options = sqlite3_mprintf(SORT[sort].options, SORT[sort].capacities[which]);
    sqlite3_snprintf(sizeof sql, sql, statement->sql, options);
    sqlite3_snprintf(sizeof oracle, oracle, statement->oracle, which);
    sqlite3_free(options);
    struct statement made = *statement;
    made.sql = sql;
    made.oracle = oracle;
    return made;
}

static bool run_create(const struct statement *statement) {
    const struct statement made = with_options(statement);
    run.current = run.has[0] ? 1 : 0;
    return run_in(run.database, &made);
}

/* Checks every key by a statement of its own. */
static bool run_ask(const struct statement *statement) {
    for (int key = 1; key < run.next + 1 && run.violation == NULL; key++) {
        char sql[100], oracle[100];
        sqlite3_snprintf(sizeof sql, sql, statement->sql, key);
        sqlite3_snprintf(sizeof oracle, oracle, statement->oracle, key);
        const int found = number(run.database, sql), expected = number(run.database, oracle);
        if (found != expected && !is_held(key))
            violate("ASK: key %d is found %d times, in the oracle %d", key, found, expected);
    }
    return true;
}

static bool run_join(const struct statement *statement) {
    (void)statement;
    check(run.database, "JOIN");
    return true;
}

static bool run_info(const struct statement *statement) {
    check_count(run.database, statement->name);
    return true;
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

static bool run_cursor(const struct statement *statement) {
    if (run.cursor != NULL) {
        read_cursor();
        return true;
    }
    run.cursor_last = run.next + 9;
    char *sql = sqlite3_mprintf(statement->sql, keys_until(run.cursor_last + 1));
    const int code = ask(run.database, &run.cursor, sql);
    sqlite3_free(sql);
    run.cursor_options = run.options[run.current];
    run.cursor_disturbed = false;
    run.cursor_key = code == SQLITE_ROW ? sqlite3_column_int(run.cursor, 0) : 0;
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE && !is_kept_out(code))
        violate("CURSOR: result %d (%s)", code, sqlite3_errmsg(run.database));
    sqlite3_finalize(run.cursor);
    run.cursor = NULL;
    return false;
}

/* Another connection, which sees the table, */
static bool begin_other(const char *sql) {
    if (run.other == NULL)
        run.other = open_again();
    return number(run.other, "SELECT count(*) FROM !.made WHERE name = '~'") == 1 &&
           execute(run.other, sql) == SQLITE_OK;
}

/* writes and commits, */
static bool run_other(const struct statement *statement) {
    if (!begin_other("BEGIN IMMEDIATE"))
        return false;
    const bool goes_on = run_in(run.other, statement);
    if (execute(run.other, "COMMIT") == SQLITE_OK)
        return goes_on;
    execute(run.other, "ROLLBACK");
    return false;
}

/* or makes the table again, */
static bool run_remake(const struct statement *statement) {
    const struct statement made = with_options(statement);
    return run_other(&made);
}

/* or does not commit until the next time, */
static bool run_hold(const struct statement *statement) {
    if (run.other_writes) {
        run.other_writes = execute(run.other, "COMMIT") != SQLITE_OK;
        return !run.other_writes;
    }
    if (run.other_reads || !begin_other("BEGIN IMMEDIATE"))
        return false;
    run.other_writes = true;
    run.held_key = run.next;
    return run_in(run.other, statement);
}

/* or keeps a snapshot until then. */
static bool run_reader(const struct statement *statement) {
    (void)statement;
    if (run.other_reads) {
        check(run.other, "READER");
        execute(run.other, "COMMIT");
        run.other_reads = false;
        return true;
    }
    if (run.other_writes || !begin_other("BEGIN"))
        return false;
    run.other_reads = true;
    return number(run.other, "SELECT count(*) FROM @ WHERE key = 1") >= 0;
}

/* Fails in a place where nothing can be seen of it. */
static bool run_ignored(const struct statement *statement) {
    execute(run.database, statement->sql);
    return true;
}

/* Succeeds in an ordinary table exactly when it can here. */
static bool run_plainly(const struct statement *statement) {
    return execute(run.database, statement->sql) == SQLITE_OK;
}

/* A function rolls everything back amid the statement. */
static bool run_rolled_back(const struct statement *statement) {
    const int code = execute(run.database, statement->sql);
    if (code != SQLITE_ABORT && !is_kept_out(code) && code != SQLITE_READONLY)
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(run.database));
    run.next += statement->keys;
    return true;
}

/* It rolls back to the savepoint: then either what follows is inserted, or the statement ends. */
static bool run_rolled_back_to(const struct statement *statement) {
    const int code = execute(run.database, statement->sql);
    if (code == SQLITE_OK)
        execute(run.database, statement->oracle);
    else if (code != SQLITE_ABORT && !is_kept_out(code) && code != SQLITE_READONLY)
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(run.database));
    run.next += statement->keys;
    return true;
}

/* Statements that are hindered: they succeed, or fail with that code and leave nothing. */
static bool run_hindered(const struct statement *statement, int expected, int code) {
    if (code != SQLITE_OK && code != expected && !is_kept_out(code) && code != SQLITE_READONLY)
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(run.database));
    if (code == SQLITE_OK && execute(run.database, statement->oracle) != SQLITE_OK)
        violate("%s: the oracle fails", statement->name);
    run.next += statement->keys;
    return !is_kept_out(code);
}

static int countdown;

static int count_down(void *argument) {
    (void)argument;
    return --countdown == 0;
}

static bool run_interrupted(const struct statement *statement) {
    countdown = 60;
    sqlite3_progress_handler(run.database, 1, count_down, NULL);
    const int code = execute(run.database, statement->sql);
    sqlite3_progress_handler(run.database, 0, NULL, NULL);
    return run_hindered(statement, SQLITE_INTERRUPT, code);
}

static bool run_without_room(const struct statement *statement) {
    char sql[60];
    const int pages = number(run.database, "PRAGMA !.page_count");
    if (pages < 0)
        return false;
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA !.max_page_count = %d", pages);
    execute(run.database, sql);
    const int code = execute(run.database, statement->sql);
    execute(run.database, "PRAGMA !.max_page_count = 100000");
    return run_hindered(statement, SQLITE_FULL, code);
}

#define MUCH_MEMORY ((sqlite3_int64)1 << 40)

static bool run_without_memory(const struct statement *statement) {
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + 6000);
    const int code = execute(run.database, statement->sql);
    sqlite3_hard_heap_limit64(MUCH_MEMORY); /* with 0 SQLite goes on to spare memory */
    sqlite3_soft_heap_limit64(MUCH_MEMORY);
    return run_hindered(statement, SQLITE_NOMEM, code);
}

/* Interrupted for sure, where no cursor is open that would be, too. */
static bool run_interrupts(const struct statement *statement) {
    const int code = execute(run.database, statement->sql);
    if (code == SQLITE_OK)
        violate("%s: no error", statement->name);
    return run_hindered(statement, SQLITE_INTERRUPT, code);
}

static bool run_query_only(const struct statement *statement) {
    (void)statement;
    const bool is_on = number(run.database, "PRAGMA query_only") == 1;
    return execute(run.database, is_on ? "PRAGMA query_only = OFF" : "PRAGMA query_only = ON") ==
           SQLITE_OK;
}

static bool run_integrity(const struct statement *statement) {
    check_integrity(run.database, statement->name);
    return true;
}

static bool run_busy_close(const struct statement *statement) {
    if (sqlite3_close(run.database) != SQLITE_BUSY)
        violate("%s: it is closed", statement->name);
    return true;
}

static bool run_reopen(const struct statement *statement) {
    if (kind == MEMDB || kind == SHARED)
        if (run.other == NULL) /* it keeps the database */
            run.other = open_again();
    close_run();
    run.is_read_only = statement->sql != NULL;
    open_run();
    return true;
}

static bool run_reattach(const struct statement *statement) {
    sqlite3_finalize(run.tables); /* it may be reading */
    run.tables = NULL;
    if (execute(run.database, statement->sql) == SQLITE_OK) {
        run.file = !run.file;
        if (attach() != SQLITE_OK)
            fatal("ATTACH", run.database);
    }
    return true;
}

/* Puts what the database was at the beginning in its place. */
static bool run_restore(const struct statement *statement) {
    (void)statement;
    sqlite3_backup *backup = sqlite3_backup_init(run.database, schema, image.database, "main");
    const int code = backup == NULL ? SQLITE_ERROR : sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    return code == SQLITE_DONE;
}

static bool run_backup(const struct statement *statement) {
    const char *const before = schema;
    copy_database(copy, "main", run.database, schema);
    schema = "main";
    check(copy, statement->name);
    schema = before;
    return true;
}

#define ORACLE "INSERT INTO !.oracle(name, key) SELECT '~', value FROM json_each("
#define FILTER "INSERT INTO @(key) SELECT value FROM json_each("
#define MANY "'[1, #0, #1, #2, #3, #4, #5, #6]')"
#define FEW "'[#0, #1, #2]')"

static const struct statement STATEMENTS[] = {
    {"BEGIN", OUTSIDE, run_transaction, "BEGIN", NULL, 0},
    {"COMMIT", INSIDE, run_transaction, "COMMIT", NULL, 0},
    {"ROLLBACK", INSIDE | DISTURBS, run_transaction, "ROLLBACK", NULL, 0},
    {"SAVEPOINT", 0, run_transaction, "SAVEPOINT a", NULL, 0},
    {"RELEASE", SAVEPOINT, run_transaction, "RELEASE a", NULL, 0},
    {"ROLLBACK_TO", SAVEPOINT | DISTURBS, run_transaction, "ROLLBACK TO a", NULL, 0},
    {"CREATE", ROOM | DEFINES, run_create, "CREATE VIRTUAL TABLE @ USING bloom(%s)",
     "INSERT INTO !.made VALUES ('~', %d)", 0},
    {"DROP", TABLE | DEFINES, run_both, "DROP TABLE @",
     "DELETE FROM !.made WHERE name = '~'; DELETE FROM !.oracle WHERE name = '~'", 0},
    {"RENAME", TABLE | ROOM | DEFINES | DISTURBS, run_both, "ALTER TABLE @ RENAME TO ^",
     "UPDATE !.made SET name = '^' WHERE name = '~'; UPDATE !.oracle SET name = '^' WHERE name = "
     "'~'",
     0},
    {"ONE", TABLE, run_both, "INSERT INTO @(key) VALUES (#0)",
     "INSERT INTO !.oracle(name, key) VALUES ('~', #0)", 1},
    {"MANY", TABLE, run_both, FILTER MANY, ORACLE MANY, 7},
    {"IGNORE", TABLE | COUNTS, run_both, "INSERT OR IGNORE INTO @(key) VALUES (1), (#0 - 1), (#0)",
     "INSERT INTO !.oracle(name, key) SELECT '~', column1 FROM (VALUES (1), (#0 - 1), (#0)) WHERE "
     "NOT EXISTS (SELECT 1 FROM !.oracle AS o WHERE o.name = '~' AND o.key = column1)",
     1},
    {"FAILS", TABLE | FAILS, run_both,
     FILTER FEW " WHERE effect(CASE value WHEN #2 THEN 'fail' END)",
     ORACLE FEW " WHERE effect(CASE value WHEN #2 THEN 'fail' END)", 3},
    {"DELETE", TABLE | IN_COUNTING | COUNTS, run_both, "DELETE FROM @ WHERE key IN (1, #0 - 1)",
     "DELETE FROM !.oracle WHERE rowid IN (SELECT min(rowid) FROM !.oracle WHERE name = '~' AND "
     "key IN (1, #0 - 1) GROUP BY key)",
     0},
    {"CLEAR", TABLE, run_both, "INSERT INTO @(~) VALUES ('clear')",
     "DELETE FROM !.oracle WHERE name = '~'", 0},
    {"ROTATE", TABLE | IN_AGED, run_both, "INSERT INTO @(~) VALUES ('rotate')",
     "DELETE FROM !.oracle WHERE name = '~' AND age = 1; UPDATE !.oracle SET age = age + 1 WHERE "
     "name = '~'",
     0},
    {"ASK", TABLE, run_ask, "SELECT count(*) FROM @ WHERE key = %d",
     "SELECT count(*) > 0 FROM !.oracle WHERE name = '~' AND key = %d", 0},
    {"JOIN", TABLE, run_join, NULL, NULL, 0},
    {"CURSOR", TABLE, run_cursor,
     "SELECT value FROM json_each(%Q) CROSS JOIN @ AS f ON f.key = value", NULL, 0},
    {"OTHER", TABLE | OTHER | IDLE, run_other, "INSERT INTO @(key) VALUES (#0)",
     "INSERT INTO !.oracle(name, key) VALUES ('~', #0)", 1},
    {"READER", TABLE | OTHER, run_reader, NULL, NULL, 0},
    {"ATTACH", 0, run_ignored, "ATTACH '/nonexistent/file' AS nothing", NULL, 0},

    {"MERGE", RARE | TABLE | IN_PLAIN, run_both,
     "INSERT INTO @(~, key) SELECT 'merge', bloom_agg(value, (SELECT bloom_pin(filter) FROM @)) "
     "FROM json_each(" MANY,
     ORACLE MANY, 7},
    {"INFO", RARE | TABLE, run_info, NULL, NULL, 0},
    {"CHECK", RARE, run_integrity, NULL, NULL, 0},
    {"HOLD", RARE | TABLE | OTHER, run_hold, "INSERT INTO @(key) VALUES (#0)",
     "INSERT INTO !.oracle(name, key) VALUES ('~', #0)", 1},
    {"OTHER_REMAKES", RARE | TABLE | OTHER | IDLE | DEFINES, run_remake,
     "DROP TABLE @; CREATE VIRTUAL TABLE @ USING bloom(%s)",
     "DELETE FROM !.oracle WHERE name = '~'; UPDATE !.made SET options = %d WHERE name = '~'", 0},
    {"TRIGGER", RARE | TABLE | DEFINES, run_both,
     "CREATE TRIGGER !.fill AFTER INSERT ON source BEGIN INSERT INTO ~(key) VALUES (new.key); END; "
     "INSERT INTO !.source SELECT value FROM json_each(" FEW "; DROP TRIGGER !.fill",
     ORACLE FEW, 3},
    {"WRITES_AMID", RARE | TABLE, run_both,
     FILTER FEW " WHERE effect(CASE value WHEN #1 THEN 'INSERT INTO @(key) VALUES (#3), (#4)' END)",
     ORACLE FEW " WHERE effect(CASE value WHEN #1 THEN 'INSERT INTO !.oracle(name, key) VALUES "
                "(''~'', #3), (''~'', #4)' END)",
     5},
    {"AROUND", RARE | TABLE, run_both,
     "INSERT INTO !.source SELECT value FROM json_each(" FEW
     " WHERE effect(CASE value WHEN #1 THEN 'INSERT INTO @(key) VALUES (#0), (#1), (#2)' END)",
     ORACLE FEW, 3},
    {"AROUND_FAILS", RARE | TABLE | FAILS, run_both,
     "INSERT INTO !.source SELECT value FROM json_each(" FEW
     " WHERE effect(CASE value WHEN #0 THEN 'INSERT INTO @(key) VALUES (#0), (#1), (#2)' WHEN #2 "
     "THEN 'fail' END)",
     "INSERT INTO !.source SELECT value FROM json_each(" FEW
     " WHERE effect(CASE value WHEN #0 THEN 'INSERT INTO !.oracle(name, key) VALUES (''~'', #0), "
     "(''~'', #1), (''~'', #2)' WHEN #2 THEN 'fail' END)",
     3},
    {"ROLLS_BACK", RARE | TABLE | INSIDE | DISTURBS, run_rolled_back,
     FILTER FEW " WHERE effect(CASE value WHEN #1 THEN 'ROLLBACK' END)", NULL, 3},
    {"ROLLS_BACK_TO", RARE | TABLE | SAVEPOINT | DISTURBS, run_rolled_back_to,
     FILTER FEW " WHERE effect(CASE value WHEN #1 THEN 'ROLLBACK TO a' END)",
     "INSERT INTO !.oracle(name, key) VALUES ('~', #1), ('~', #2)", 3},
    {"INTERRUPTS", RARE | TABLE | NO_CURSOR | DISTURBS, run_interrupts,
     FILTER FEW " WHERE effect(CASE value WHEN #2 THEN 'interrupt' END)", NULL, 3},
    {"INTERRUPTED", RARE | TABLE | DISTURBS, run_interrupted, FILTER MANY, ORACLE MANY, 7},
    {"FULL", RARE | TABLE | DISTURBS, run_without_room, FILTER MANY, ORACLE MANY, 7},
    {"NO_MEMORY", RARE | TABLE | DISTURBS, run_without_memory, FILTER MANY, ORACLE MANY, 7},
    {"HOG", RARE | DEFINES, run_both,
     "CREATE VIRTUAL TABLE IF NOT EXISTS !.hog USING bloom(capacity=400, fpr=1e-9, growth=off); "
     "INSERT INTO !.hog(key) SELECT value FROM json_each('&'); SELECT count(*) FROM "
     "json_each('&') JOIN !.hog AS f ON f.key = value",
     "INSERT OR IGNORE INTO !.made VALUES ('hog', 0); INSERT INTO !.oracle(name, key) SELECT "
     "'hog', value FROM json_each('&')",
     0},
    {"SCHEMA", RARE, run_plainly, "CREATE TABLE !.x(y); DROP TABLE !.x", NULL, 0},
    {"QUERY_ONLY", RARE, run_query_only, NULL, NULL, 0},
    {"VACUUM", RARE | OUTSIDE | NO_CURSOR, run_plainly, "VACUUM !", NULL, 0},
    {"BACKUP", RARE | OUTSIDE | IDLE, run_backup, NULL, NULL, 0},
    {"RESTORE", RARE | OUTSIDE | NO_CURSOR | DEFINES, run_restore, NULL, NULL, 0},
    {"BUSY_CLOSE", RARE, run_busy_close, NULL, NULL, 0},
    {"REOPEN", RARE | KEPT | IDLE | DEFINES, run_reopen, NULL, NULL, 0},
    {"READ_ONLY", RARE | IN_FILE | DEFINES, run_reopen, "", NULL, 0},
    {"REATTACH", RARE | IN_ATTACHED | OUTSIDE | NO_CURSOR | DEFINES, run_reattach, "DETACH aux1",
     NULL, 0},
};

/* Sequences */

struct sequence {
    int length;
    unsigned char statements[LONGEST];
};
static struct sequence current; /* for whom a signal interrupts */
static long passed, failed;

static int find_statement(const char *name) {
    for (size_t i = 0; i < COUNT_OF(STATEMENTS); i++)
        if (strcmp(STATEMENTS[i].name, name) == 0)
            return (int)i;
    fatal(name, NULL);
    return -1;
}

static void print_sequence(const struct sequence *sequence) {
    printf("%s %s %s", KIND_NAMES[kind], SORT[sort].name, STARTS[start].name);
    for (int i = 0; i < sequence->length; i++)
        printf(" %s", STATEMENTS[sequence->statements[i]].name);
}

static void on_death(void) {
    print_sequence(&current);
    printf("  => ends the program\n");
    fflush(stdout);
}

static void on_signal(int number) {
    signal(number, SIG_DFL);
    on_death();
    raise(number);
}

/* Returns whether more can come after it. */
static bool run_statement(const struct statement *statement) {
    if ((statement->needs & NEEDS & ~state()) != 0)
        return false;
    if (tracing)
        printf("  %s\n", statement->name);
    const bool goes_on = statement->run(statement);
    if ((statement->needs & DISTURBS) != 0)
        run.cursor_disturbed = true;
    if ((statement->needs & (DISTURBS | DEFINES)) != 0)
        look();
    return goes_on;
}

static void run_names(const char *names) {
    char name[30];
    for (int length; sscanf(names, "%29s%n", name, &length) == 1; names += length)
        run_statement(&STATEMENTS[find_statement(name)]);
}

static void end_run(void) {
    check(run.database, "at the end");
    if (run.cursor != NULL)
        read_cursor();
    if (run.other != NULL)
        close_other();
    if (!sqlite3_get_autocommit(run.database)) {
        if (execute(run.database, "COMMIT") != SQLITE_OK)
            violate("COMMIT: %s", sqlite3_errmsg(run.database));
        look();
        check(run.database, "after COMMIT");
    }
    if (run.violation == NULL)
        check_written();
}

/* Returns what holds after the sequence, 0 if nothing more comes after it. *violation is what is
 * wrong, from sqlite3_malloc. */
static unsigned run_sequence(const struct sequence *sequence, char **violation) {
    bool goes_on = true;
    current = *sequence;
    alarm(SECONDS);
    begin_run();
    if (!STARTS[start].is_image)
        run_names(STARTS[start].statements);
    for (int i = 0; i < sequence->length && run.violation == NULL; i++)
        goes_on = run_statement(&STATEMENTS[sequence->statements[i]]);
    const unsigned holds = goes_on ? state() : 0;
    if (goes_on && run.violation == NULL)
        end_run();
    sqlite3_finalize(run.cursor);
    run.cursor = NULL;
    if (run.other != NULL)
        close_other();
    if (run.database != NULL)
        close_run();
    *violation = run.violation;
    return holds;
}

static bool is_faulty(const struct sequence *sequence) {
    char *violation;
    run_sequence(sequence, &violation);
    sqlite3_free(violation);
    return violation != NULL;
}

/* Leaves statements out as long as the sequence shows a fault, and prints it if it is a new one. */
static void report(struct sequence sequence) {
    static struct {
        enum kind kind;
        size_t start;
        struct sequence sequence;
    } reported[REPORTED];
    static int count;
    char *violation;
    for (int i = sequence.length - 1; i >= 0; i--) {
        struct sequence shorter = sequence;
        shorter.length--;
        memmove(shorter.statements + i, shorter.statements + i + 1, (size_t)(shorter.length - i));
        if (is_faulty(&shorter)) {
            sequence = shorter;
            i = sequence.length;
        }
    }
    failed++;
    for (int i = 0; i < count; i++)
        if (reported[i].kind == kind && reported[i].start == start &&
            reported[i].sequence.length == sequence.length &&
            memcmp(reported[i].sequence.statements, sequence.statements, (size_t)sequence.length) ==
                0)
            return;
    if (count == REPORTED)
        return;
    reported[count].kind = kind;
    reported[count].start = start;
    reported[count++].sequence = sequence;
    run_sequence(&sequence, &violation);
    print_sequence(&sequence);
    printf("  => %s\n", violation);
    fflush(stdout);
    sqlite3_free(violation);
}

/* Runs all sequences that begin with one after which that holds. */
static void walk(const struct sequence *sequence, unsigned holds, int longest, int rare) {
    struct sequence longer = *sequence;
    char *violation;
    longer.length++;
    for (size_t i = 0; i < COUNT_OF(STATEMENTS); i++) {
        const struct statement *statement = &STATEMENTS[i];
        const bool is_rare = (statement->needs & RARE) != 0;
        if ((statement->needs & NEEDS & ~holds) != 0 || (is_rare && rare == 0))
            continue;
        longer.statements[longer.length - 1] = (unsigned char)i;
        const unsigned after = run_sequence(&longer, &violation);
        sqlite3_free(violation);
        if (violation != NULL)
            report(longer);
        else
            passed++;
        if (violation == NULL && after != 0 && longer.length < longest)
            walk(&longer, after, longest, rare - is_rare);
    }
}

/* Combinations */

static void make_image(void) {
    sqlite3_close(image.database);
    sqlite3_free(image.bytes);
    memset(&run, 0, sizeof run);
    const enum kind before = kind;
    kind = MEMORY;
    schema = "main";
    run.database = image.database = open_connection(":memory:");
    run.next = 3;
    if (execute(run.database, "CREATE TABLE made(name PRIMARY KEY, options); CREATE TABLE "
                              "oracle(name, key, age DEFAULT 0); CREATE INDEX keys ON oracle(name, "
                              "key); CREATE TABLE source(key)") != SQLITE_OK)
        fatal("the oracle", run.database);
    look();
    if (STARTS[start].is_image)
        run_names(STARTS[start].statements);
    sqlite3_finalize(run.tables);
    image.next = run.next;
    image.made = run.made;
    image.bytes = sqlite3_serialize(image.database, "main", &image.size, 0);
    kind = before;
    schema = kind == TEMP ? "temp" : kind == ATTACHED ? "aux1" : "main";
}

static void make_lists(void) {
    char *end = key_list;
    for (int key = 1; key <= KEYS; key++) {
        end += sprintf(end, "%c%d", key == 1 ? '[' : ',', key);
        key_ends[key] = (int)(end - key_list);
    }
    end = hog_list;
    for (int key = 1; key <= HOG_KEYS; key++)
        end += sprintf(end, "%c-%d", key == 1 ? '[' : ',', key);
    strcpy(end, "]");
}

/* The list of words has it, or there is none. */
static bool is_chosen(const char *list, const char *word) {
    const size_t length = strlen(word);
    if (list == NULL || *list == '\0')
        return true;
    for (const char *found = list; (found = strstr(found, word)) != NULL; found += length)
        if ((found == list || found[-1] == ' ') && (found[length] == ' ' || found[length] == '\0'))
            return true;
    return false;
}

static int number_of(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text == NULL ? otherwise : atoi(text);
}

static void run_combination(int count, char **names) {
    struct sequence sequence = {0, {0}};
    char *violation;
    make_image();
    for (int i = 0; i < count; i++)
        sequence.statements[sequence.length++] = (unsigned char)find_statement(names[i]);
    const unsigned holds = run_sequence(&sequence, &violation);
    sqlite3_free(violation);
    if (violation != NULL)
        report(sequence);
    else if (count > 0)
        passed++;
    else
        walk(&sequence, holds, number_of("STATEMENTS", 2), number_of("RARE", LONGEST));
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

int main(int count, char **arguments) {
    const bool one = count > 3;
    tracing = getenv("TRACE") != NULL;
    sqlite3_snprintf(sizeof folder, folder, "%s/bloom-sequences-XXXXXX",
                     access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL || count - 4 > LONGEST)
        fatal(folder, NULL);
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(on_death);
    make_lists();
    copy = open_connection(":memory:");
    for (kind = 0; kind < KINDS; kind++)
        for (sort = 0; sort < SORTS; sort++)
            for (start = 0; start < COUNT_OF(STARTS); start++)
                if (is_chosen(one ? arguments[1] : getenv("KINDS"), KIND_NAMES[kind]) &&
                    is_chosen(one ? arguments[2] : getenv("SORTS"), SORT[sort].name) &&
                    is_chosen(one ? arguments[3] : getenv("STARTS"), STARTS[start].name))
                    run_combination(one ? count - 4 : 0, arguments + 4);
    sqlite3_close(copy);
    sqlite3_close(image.database);
    sqlite3_free(image.bytes);
    remove_files();
    rmdir(folder);
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed > 0;
}

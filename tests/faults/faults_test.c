/* Every function, aggregate and table operation, and registering them all: every allocation fails
 * in turn, alone and with all that follow; they are interrupted wherever SQLite asks whether to go
 * on, and forbidden or ignored wherever SQLite asks an authorizer, for the statements that the
 * extension itself runs, too; and an authorizer that forbids everything comes in while a statement
 * runs, whichever.
 *
 * For each scenario the n-th occasion is made a fault, for n = 1, 2, ... until the scenario runs
 * without meeting one. Each time the outcome must be the code of the fault, or success where SQLite
 * can do without. Afterwards the database must answer the scenario's question as before the
 * attempt, or as after it, when it succeeded all the same, and closing it must leave no byte
 * allocated. What was interrupted succeeds the next time. What an authorizer has SQLite ignore (a
 * column reads as NULL, a statement does nothing) is the user's own wish in the user's statements;
 * so there the outcome may be another one, but the database is sound and nothing crashes or leaks.
 *
 * With PLACES=1 in the environment the faults are one for each place of ext/ that calls
 * SQLite, an allocation and a question of an authorizer: no error of a call is passed over.
 * (What a denial leaves within a transaction, tests/world asks.) */
#define _GNU_SOURCE /* for dl_iterate_phdr */
#include "connection.h"
#include "failing_memory.h"

#include "table/maintain.h"

#include <link.h>
#include <unistd.h>
#include <unwind.h>

struct scenario {
    const char *title;
    const char *before;   /* runs without failures */
    const char *attempt;  /* the failures happen here: SQL, or one of the two below */
    const char *question; /* one value that tells the state, or NULL when there is none */
};

/* What is not SQL: registering the extension in another connection; and checking the table seen,
 * which SQLite does from 3.44 on. */
static const char REGISTER[] = "register";
static const char VERIFY[] = "verify";

#define TEN "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 10) "
#define MORE "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 3000) "
#define MANY "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 70000) "
#define TABLE                                                                                      \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=0.01); INSERT INTO seen(key) VALUES " \
    "('a'), "                                                                                      \
    "('b');"
/* The same, with all statements that the table keeps for itself still to be prepared. */
#define ANEW "ALTER TABLE seen RENAME TO other; ALTER TABLE other RENAME TO seen;"
#define TABLE_ANEW TABLE ANEW
#define COUNTING                                                                                   \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, fpr=0.01, layout=counting); "               \
    "INSERT INTO seen(key) VALUES ('a'), ('b'), ('c'), (1), (2), (3), (4), (5), (6), (7), (8);"
/* Two generations, of several layers each, and the rows of a third that is forgotten. */
#define AGED                                                                                       \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, fpr=0.01, generations=2); " TEN             \
    "INSERT INTO seen(key) SELECT i FROM c; INSERT INTO seen(seen) VALUES ('rotate'); "            \
    "INSERT INTO seen(key) VALUES ('a'), ('b'); INSERT INTO seen(seen) VALUES ('rotate');"
#define AGED_ANEW AGED ANEW
#define TYPED(type)                                                                                \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=0.01, key=" type "); "                \
    "INSERT INTO seen(key) VALUES ('a'), (1), (2.5), ('3');"
#define SHADOW_ROWS "(SELECT group_concat(id || ':' || hex(bloom_hash(data))) FROM seen_data)"
#define TABLE_STATE                                                                                \
    "SELECT info || coalesce((SELECT group_concat(key) FROM seen WHERE key IN ('a', 'b', 'c', "    \
    "'d')), '') || " SHADOW_ROWS " FROM seen"

/* A statement for each key: a change of several keys would begin with a savepoint. */
#define ADD(table, key) "INSERT INTO " table "(key) VALUES (" key "); "

#define UTF16 "PRAGMA encoding='UTF-16'; CREATE TABLE t(x); "
/* At the beginning of what runs before: the database is a file on disk, so that changed chunks wait
 * in memory. */
#define ON_DISK                                                                                    \
    "/* on disk */ PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = "   \
    "1; "

/* A filter that Guava made for ten keys, with "http://evil.example/a" and "abc" in it. */
#define GUAVA "x'0107000000020a028080000008030040108420080000'"

/* A filter of Go's bits-and-blooms: 64 bits, 3 hashes, nothing in it. */
#define GO "x'0000000000000040000000000000000300000000000000400000000000000000'"

/* Statements that need nothing before, and tell of themselves. */
static const char *const STATEMENTS[] = {
    "SELECT bloom_new_bits(1000, 3)",
    "SELECT bloom_add(bloom_new(10, 0.01, 'key=url'), zeroblob(100))",
    "SELECT bloom_export(bloom_import(" GUAVA ", 'guava'), 'guava')",
    "SELECT bloom_add(bloom_import(" GO ", 'bits-and-blooms'), 1)",
    "SELECT bloom_import(zeroblob(5000), 'guava')",
    "SELECT bloom_export(bloom_new(10), 'guava')",
    "SELECT bloom_check(zeroblob(5000), 1)",
    "SELECT bloom_check(bloom_new(10), zeroblob(5000))",
    "SELECT bloom_intersect(bloom_union(bloom_new(10), bloom_add(bloom_new(10), 1)), "
    "bloom_new(10))",
    "SELECT bloom_info(bloom_new(10)), bloom_count(bloom_new(10)), bloom_fpr_now(bloom_new(10))",
    "SELECT bloom_size(10), bloom_hash('a'), bloom_version()",
    "SELECT key FROM bloom_list('a.txt')",
    "SELECT bloom_url(3279880203), bloom_url(zeroblob(5000))",
    "SELECT bloom_check(bloom_new(10, 0.01, 'key=url_nocase'), 'evil.example/' || "
    "hex(zeroblob(1000)))",
    "SELECT * FROM bloom_list('a.example' || char(10) || '||b.example^')",
    "SELECT line, text FROM bloom_lines('a' || char(10) || 'b')",
    "SELECT * FROM bloom_lines(x'fffe6100')",
    "SELECT position, value FROM bloom_integers(zeroblob(24))",
    TEN "SELECT key, argument FROM c, bloom_url_keys(i || '/' || hex(zeroblob(1000)))",
    "SELECT * FROM bloom_url_keys",
    MANY "SELECT bloom_agg(i) FROM c",
    MANY "SELECT bloom_agg(i, NULL, 0.01, 'fuse') FROM c",
    MORE "SELECT bloom_list_agg('a' || i || '.example' || char(10) || '||b.example^') FROM c",
    MORE "SELECT bloom_agg(i * i % 99991, NULL, NULL, 'bitmap') FROM c",
    "SELECT bloom_convert(bloom_remove(bloom_new(10, 0.01, 'counting'), 'a'), 'blocked'), "
    "bloom_convert(bloom_new(10), 'blocked')",
    "SELECT bloom_agg(1e13, NULL, NULL, 'bitmap')",
    "SELECT key, rowid, filter FROM bloom_keys(bloom_new(9, NULL, 'bitmap')); SELECT key, rowid, "
    "filter FROM bloom_keys(bloom_add(bloom_new(9, NULL, 'bitmap'), 5)) WHERE key > '4'",
    "SELECT * FROM bloom_keys(bloom_new(9))",
    TEN "SELECT bloom_union_agg(bloom_add(bloom_new(10), i)) FROM c",
    TEN "SELECT bloom_intersect_agg(bloom_add(bloom_new(10), i)) FROM c",
    TEN "SELECT bloom_check(bloom_pin(bloom_new(10)), nullif(i || 'a', upper(i))) FROM c",
    "CREATE VIRTUAL TABLE seen USING bloom(size=1)",
};

static const struct scenario SCENARIOS[] = {
    {"registering the extension", "", REGISTER, NULL},
    {"bloom_check of text in UTF-16",
     "PRAGMA encoding='UTF-16'; CREATE TABLE t(x); INSERT INTO t VALUES ('abc')",
     "SELECT bloom_check(bloom_new(10), x), bloom_hash(x) FROM t", "SELECT x FROM t"},
    {"bloom_agg with options in UTF-16", UTF16 "INSERT INTO t VALUES ('key=url'), ('key=url')",
     "SELECT bloom_agg('a.b', NULL, 0.1, x) FROM t", "SELECT group_concat(x) FROM t"},
    {"bloom_list_agg of text in UTF-16, in which a long time no entry comes",
     UTF16 "INSERT INTO t VALUES ('a.example'), (printf('%.*c', 300000, '#'))",
     "SELECT bloom_list_agg(x || char(10) || 'b.example/' || hex(zeroblob(1000))) FROM t",
     "SELECT count(x) FROM t"},
    {"bloom_convert to a layout in UTF-16", UTF16 "INSERT INTO t VALUES ('blocked')",
     "SELECT bloom_convert(bloom_new(9, 0.1, 'counting'), x) FROM t", "SELECT x FROM t"},
    {"an entry in UTF-16 without a key", UTF16 "INSERT INTO t VALUES ('/path')",
     "SELECT bloom_add(bloom_new(10, 0.01, 'key=url'), x) FROM t", "SELECT x FROM t"},
    {"bloom_keys of what is no filter, in UTF-16", UTF16 "INSERT INTO t VALUES ('no filter')",
     "SELECT * FROM t, bloom_keys(x)", "SELECT x FROM t"},
    {"salted bloom_agg in fuse", UTF16 "INSERT INTO t VALUES ('layout=fuse,'), ('layout=fuse,')",
     "SELECT bloom_agg(rowid, NULL, 0.01, x || 'salt=000102030405060708090a0b0c0d0e0f') FROM t",
     "SELECT group_concat(x) FROM t"},
    {"bloom_agg in bits-and-blooms with n in all rows",
     UTF16 "INSERT INTO t VALUES ('bits-and-blooms'), ('bits-and-blooms')",
     "SELECT bloom_agg('a', 100, 0.03, x) FROM t", "SELECT group_concat(x) FROM t"},
    {"bloom_count of text in UTF-16 by key=url", UTF16 "INSERT INTO t VALUES ('a.example')",
     "SELECT bloom_count(bloom_new(9, 0.1, 'layout=counting,key=url'), x) FROM t",
     "SELECT x FROM t"},
    {"bloom_url_keys of text in UTF-16", UTF16 "INSERT INTO t VALUES ('evil.example')",
     "SELECT * FROM t, bloom_url_keys(x); SELECT rowid FROM bloom_url_keys WHERE argument = "
     "(SELECT x FROM t) OR (argument = 'a' AND rank = 0)",
     "SELECT x FROM t"},
    {"bloom_remove of text in UTF-16", UTF16 "INSERT INTO t VALUES ('abc')",
     "SELECT bloom_remove(bloom_new(10, 0.01, 'counting'), x) FROM t", "SELECT x FROM t"},
    {"an error that quotes text in UTF-16", UTF16 "INSERT INTO t VALUES ('no filter')",
     "SELECT bloom_check(x, 1) FROM t", "SELECT count(*) FROM t"},
    {"an error that quotes a rate in UTF-16", UTF16 "INSERT INTO t VALUES ('no rate')",
     "SELECT bloom_new(10, x) FROM t", "SELECT count(*) FROM t"},
    {"an error that quotes a format in UTF-16", UTF16 "INSERT INTO t VALUES ('no format')",
     "SELECT bloom_import(x'00', x) FROM t", "SELECT count(*) FROM t"},
    {"an error that quotes bytes in UTF-16", UTF16 "INSERT INTO t VALUES ('no bytes')",
     "SELECT bloom_import(x, 'guava') FROM t", "SELECT count(*) FROM t"},
    {"storing a filter", "CREATE TABLE f(f); INSERT INTO f VALUES (bloom_new(10))",
     "UPDATE f SET f = bloom_add(f, 'a')", "SELECT bloom_check(f, 'a') FROM f"},
    {"a filter table asked and filled in a transaction", TABLE,
     "BEGIN; " TEN "INSERT INTO seen(key) SELECT i FROM c; " TEN
     "SELECT count(*) FROM c JOIN seen ON key = i; SAVEPOINT s; RELEASE s; INSERT INTO seen(key) "
     "VALUES ('c'); COMMIT",
     TABLE_STATE},
    {"a filter table asked for text in UTF-16", UTF16 "INSERT INTO t VALUES ('abc'); " TABLE,
     "SELECT 1 FROM t JOIN seen ON key = x", TABLE_STATE},
    {"a filter table filled with text in UTF-16", UTF16 "INSERT INTO t VALUES ('c'); " TABLE,
     "INSERT INTO seen(key) SELECT x FROM t", TABLE_STATE},
    {"a filter table merged into by a command in UTF-16",
     UTF16 "INSERT INTO t VALUES ('merge'); " TABLE,
     "INSERT INTO seen(seen, key) SELECT x, bloom_add(bloom_new(100, 0.01), 'c') FROM t",
     TABLE_STATE},
    {"the error of a merge of a zeroblob", TABLE,
     "INSERT INTO seen(seen, key) VALUES ('merge', zeroblob(5000))", TABLE_STATE},
    {"a filter table described", AGED "CREATE TABLE told AS SELECT info FROM seen",
     "SELECT CASE info WHEN (SELECT info FROM told) THEN filter ELSE abs(-1 - 9223372036854775807) "
     "END FROM seen",
     TABLE_STATE},
    {"a filter table merged into in a transaction", TABLE,
     "BEGIN; INSERT INTO seen(key) VALUES ('d'); INSERT INTO seen(seen, key) VALUES ('merge', "
     "bloom_add(bloom_new(100, 0.009), 'c')); COMMIT",
     TABLE_STATE},
    {"a filter table of several chunks merged into",
     "CREATE VIRTUAL TABLE seen USING bloom(capacity=20000, growth=off); INSERT INTO seen(key) "
     "VALUES ('a')",
     TEN "INSERT INTO seen(seen, key) SELECT 'merge', bloom_union(bloom_agg(i, 20000, 0.01), "
         "bloom_add(bloom_new(20000, 0.01), 'c')) FROM c",
     TABLE_STATE},
    {"what a forgotten generation has left overwritten for the first time", AGED_ANEW,
     "INSERT OR IGNORE INTO seen(key) VALUES ('c')", TABLE_STATE},
    {"a filter table with generations described and merged into", AGED,
     "SELECT info, (SELECT count(*) FROM seen('a')) FROM seen; INSERT INTO seen(seen, key) VALUES "
     "('merge', bloom_add(bloom_new(8, 0.0045), 'c'))",
     TABLE_STATE},
    {"a filter table rotated in a transaction with savepoints", AGED,
     "BEGIN; INSERT INTO seen(key) VALUES ('c'); SAVEPOINT s; INSERT INTO seen(seen) VALUES "
     "('rotate'); INSERT INTO seen(key) VALUES ('d'); ROLLBACK TO s; INSERT INTO seen(seen) VALUES "
     "('rotate'); COMMIT",
     TABLE_STATE},
    {"a filter table cleared and filled", TABLE,
     "BEGIN; INSERT INTO seen(seen) VALUES ('clear'); INSERT INTO seen(key) VALUES ('d'); COMMIT",
     TABLE_STATE},
    {"a filter table merged into for the first time", TABLE_ANEW,
     "INSERT INTO seen(seen, key) VALUES ('merge', bloom_add(bloom_new(100, 0.009), 'c'))",
     TABLE_STATE},
    {"a key deleted for the first time", COUNTING ANEW, "DELETE FROM seen WHERE key = 'a'",
     TABLE_STATE},
    {"keys added to one layer and deleted from another", COUNTING,
     "BEGIN; INSERT INTO seen(key) VALUES ('d'); DELETE FROM seen WHERE key = 'a'; "
     "INSERT INTO seen(key) VALUES (9); DELETE FROM seen WHERE key = 'd'; COMMIT",
     TABLE_STATE},
    {"a filter table of keys of type TEXT asked for text in UTF-16",
     UTF16 "INSERT INTO t VALUES ('b'), (2.5); " TYPED("TEXT"),
     "BEGIN; INSERT INTO seen(key) SELECT x FROM t; SELECT key FROM t JOIN seen ON key = x; COMMIT",
     TABLE_STATE},
    {"a filter table connected anew within a transaction", TABLE,
     "BEGIN; INSERT INTO seen(key) VALUES ('c'); PRAGMA writable_schema = RESET; "
     "INSERT INTO seen(key) VALUES ('d'); COMMIT",
     TABLE_STATE},
    {"a filter table connected anew and renamed within a transaction", TABLE,
     "BEGIN; INSERT INTO seen(key) VALUES ('c'); PRAGMA writable_schema = RESET; "
     "ALTER TABLE seen RENAME TO other; COMMIT",
     "SELECT group_concat(name) FROM sqlite_master WHERE name LIKE '%_data'"},
    {"a filter table asked in the transaction that makes it", ON_DISK,
     "BEGIN; " TABLE "SELECT key FROM seen WHERE key IN ('a', 'd'); COMMIT",
     "SELECT count(*) FROM sqlite_master WHERE name LIKE 'seen%'"},
    {"chunks that wait in memory while another table needs room",
     ON_DISK "CREATE VIRTUAL TABLE seen USING bloom(capacity=3000, fpr=0.01); " ADD(
         "seen", "'a'") "CREATE VIRTUAL TABLE other USING bloom(capacity=3000, fpr=0.01)",
     "BEGIN; " ADD("seen", "1") ADD("seen", "2") ADD("seen", "3") ADD("other", "1")
         ADD("other", "2") ADD("other", "3") ADD("seen", "'c'")
             ADD("other", "4") "SELECT key FROM other WHERE key = 4; " ADD("seen", "'d'") "COMMIT",
     TABLE_STATE},
    {"chunks that wait in memory when a table grows and is dropped",
     ON_DISK "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, fpr=0.01, layout=counting)",
     "BEGIN; " TEN
     "INSERT INTO seen(key) SELECT i FROM c; DELETE FROM seen WHERE key IN (1, 2); " TEN
     "INSERT INTO seen(key) SELECT -i FROM c; DROP TABLE seen; COMMIT",
     "SELECT count(*) FROM sqlite_master WHERE name LIKE 'seen%'"},
    {"chunks that wait in memory when generations are rotated", ON_DISK AGED,
     "BEGIN; " TEN "INSERT INTO seen(key) SELECT i FROM c; INSERT INTO seen(seen) VALUES "
     "('rotate'); " TEN "INSERT INTO seen(key) SELECT -i FROM c; SELECT info FROM seen; COMMIT",
     TABLE_STATE},
    {"a filter table checked", TABLE, VERIFY, TABLE_STATE},
    {"the error of a filter table whose row 0 is damaged",
     TABLE "UPDATE seen_data SET data = x'00' WHERE id = 0; " ANEW, "SELECT info FROM seen",
     "SELECT count(*) FROM seen_data"},
    {"the error of a filter table with a damaged chunk",
     TABLE_ANEW "UPDATE seen_data SET data = x'00' WHERE id > 0", "SELECT info FROM seen",
     "SELECT count(*) FROM seen_data"},
    {"the error of a filter table without its shadow table", TABLE_ANEW "DROP TABLE seen_data",
     "SELECT info FROM seen", "SELECT count(*) FROM sqlite_master"},
    {"the errors of a filter table", TABLE, "DELETE FROM seen WHERE key = 'a'", TABLE_STATE},
};

enum {
    SCENARIOS_COUNT = sizeof SCENARIOS / sizeof *SCENARIOS,
    ALL_SCENARIOS = SCENARIOS_COUNT + sizeof STATEMENTS / sizeof *STATEMENTS
};

/* The tests of a program: a function for each scenario. */
static void add_scenarios(struct CMUnitTest *tests, void (*test)(void **state)) {
    static struct scenario scenarios[ALL_SCENARIOS];
    for (int i = 0; i < ALL_SCENARIOS; i++) {
        const char *statement = i < SCENARIOS_COUNT ? "" : STATEMENTS[i - SCENARIOS_COUNT];
        scenarios[i] =
            i < SCENARIOS_COUNT ? SCENARIOS[i] : (struct scenario){statement, "", statement, NULL};
        tests[i] = (struct CMUnitTest){
            .name = scenarios[i].title, .test_func = test, .initial_state = &scenarios[i]};
    }
}

static int verify(sqlite3 *connection) {
    struct bloom_connection *state = bloom_connection_open(connection);
    struct bloom_chunks *chunks =
        state != NULL ? bloom_span_open(sizeof *chunks, state, "main", "seen") : NULL;
    int code = SQLITE_NOMEM;
    if (chunks != NULL) {
        code = bloom_chunks_begin_operation(chunks, false);
        if (code == SQLITE_OK)
            code = bloom_maintain_verify(chunks);
        bloom_chunks_close(chunks);
    }
    if (state != NULL)
        bloom_connection_close(state);
    return code;
}

static long said_out_of_memory; /* when registering failed */

static int attempt(const struct scenario *scenario, sqlite3 *database) {
    char *error = NULL;
    if (scenario->attempt == REGISTER) {
        sqlite3 *other;
        int code = sqlite3_open(":memory:", &other);
        if (code == SQLITE_OK)
            code = load_bloom(other, &error);
        said_out_of_memory +=
            error != NULL && strstr(error, " could not be registered: out of memory") != NULL;
        sqlite3_free(error);
        sqlite3_close(other);
        return code;
    }
    if (scenario->attempt == VERIFY)
        return verify(database);
    return sqlite3_exec(database, scenario->attempt, NULL, NULL, NULL);
}

static sqlite3_int64 used_before; /* bytes, by what is prepared next */

static sqlite3 *prepare(const struct scenario *scenario) {
    char path[] = "/tmp/bloom-scenario-XXXXXX";
    const bool on_disk = strncmp(scenario->before, ON_DISK, strlen(ON_DISK)) == 0;
    const int file = on_disk ? mkstemp(path) : -1;
    require(!on_disk || file >= 0, "no file");
    used_before = sqlite3_memory_used();
    sqlite3 *database = open_database(on_disk ? path : ":memory:");
    if (on_disk) {
        close(file);
        unlink(path); /* it stays as long as it is open */
    }
    run(database, scenario->before);
    return database;
}

/* The value of a query, from sqlite3_malloc. */
static char *value_of(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    require(sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK, "%s: %s", sql,
            sqlite3_errmsg(database));
    sqlite3_step(statement);
    char *answer = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    require(sqlite3_finalize(statement) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    return answer;
}

/* The answer to the scenario's question, from sqlite3_malloc. */
static char *ask(const struct scenario *scenario, sqlite3 *database) {
    return scenario->question == NULL ? sqlite3_mprintf("")
                                      : value_of(database, scenario->question);
}

/* Nothing may be left after a fault. */
static void close_after(const char *fault, long number, sqlite3 *database) {
    require(sqlite3_close(database) == SQLITE_OK && sqlite3_memory_used() == used_before,
            "%s %ld: statements are left open, or %lld bytes leaked", fault, number,
            sqlite3_memory_used() - used_before);
}

/* ---- Places ---- */

/* A place is where a call of SQLite returns to in the extension, with its callers as long as they
 * are there. What fails there first is of interest; the rest is SQLite's. */
enum { PLACE_FRAMES = 6, PLACES_LOG = 14, PLACES = 1 << PLACES_LOG };

static struct {
    bool looking;         /* for places that were not seen before */
    long looked, chosen;  /* calls since; those of new places, in their order */
    long numbers[PLACES]; /* of these */
    uint64_t seen[PLACES];
} places;

struct climb {
    bool outside; /* SQLite was seen, which stands between who asks and its caller */
    int frames;
    uint64_t place;
};

static uintptr_t extension_begin, extension_end; /* its code */

static int find_extension(struct dl_phdr_info *library, size_t size, void *argument) {
    (void)size, (void)argument;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const uintptr_t begin = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr;
        const uintptr_t end = begin + library->dlpi_phdr[i].p_memsz;
        if ((uintptr_t)bloom_maintain_verify >= begin && (uintptr_t)bloom_maintain_verify < end)
            extension_begin = begin, extension_end = end;
    }
    return 0;
}

static uint64_t mix_place(uint64_t place, uint64_t more) {
    return (place ^ more) * UINT64_C(0x9E3779B97F4A7C15);
}

static _Unwind_Reason_Code climb_up(struct _Unwind_Context *context, void *argument) {
    struct climb *climb = argument;
    uintptr_t address = _Unwind_GetIP(context);
    if (address < extension_begin || address >= extension_end) {
        climb->outside = true;
        return climb->frames > 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
    }
    if (!climb->outside)
        return _URC_NO_REASON;
    climb->place = mix_place(climb->place, address);
    return ++climb->frames < PLACE_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void look_for_places(void) {
    dl_iterate_phdr(find_extension, NULL);
    places.looked = places.chosen = 0;
    places.looking = true;
}

/* Where SQLite calls the test; also: what else tells one call from another. */
static void look_at_place(uint64_t also) {
    struct climb climb = {.place = also};
    if (!places.looking)
        return;
    places.looked++;
    _Unwind_Backtrace(climb_up, &climb);
    if (climb.frames == 0)
        return;
    size_t at = climb.place >> (64 - PLACES_LOG);
    while (places.seen[at] != 0 && places.seen[at] != climb.place)
        at = (at + 1) % PLACES;
    if (places.seen[at] == 0) {
        places.seen[at] = climb.place;
        places.numbers[places.chosen++] = places.looked;
    }
}

/* The number of the call at the n-th place that is new; 0 when there is none. */
static long number_of_place(long nth) {
    return nth <= places.chosen ? places.numbers[nth - 1] : 0;
}

/* Lets the n-th of something fail for each n in turn. */
struct fault {
    const char *what;
    int code;           /* what a statement ends with that meets the failure */
    int other_code;     /* or so; the same when there is only one */
    bool may_come_late; /* when everything is done already */
    void (*arm)(sqlite3 *database, long number); /* the number-th is to fail */
    enum {
        FAULT_NOWHERE,   /* because places are looked for */
        FAULT_AT_PLACES, /* each that was found */
        FAULT_COMES,     /* in each scenario that runs a statement */
        FAULT_REFUSED    /* there, and ends it at least once */
    } meets;
};

/* ---- Faults ---- */

static long countdown;  /* occasions until the fault; 0 when there is to be none */
static bool of_memory;  /* allocations are counted, and else questions */
static bool is_lasting; /* all that follow fail, too */
static long failures;   /* since a fault was armed */
static bool by_place;
static int verdict = SQLITE_DENY; /* of the authorizer, to the question that is refused */

static struct tally {
    long failed;  /* attempts in which something failed, */
    long refused; /* and which ended in the code of the fault */
} attempts[2];    /* of questions, of memory */

static int refuses(void) {
    if (countdown == 0 || --countdown > 0)
        return 0;
    failures++;
    countdown = is_lasting;
    return 1;
}

static bool allocation_fails(void) {
    if (!of_memory)
        return false;
    look_at_place(0);
    return refuses();
}

static int progress(void *argument) {
    (void)argument;
    return refuses();
}

static int interrupt(void *database) {
    if (refuses())
        sqlite3_interrupt(database);
    return 0;
}

static int authorize(void *argument, int action, const char *a, const char *b, const char *c,
                     const char *d) {
    (void)argument, (void)c, (void)d;
    /* SQLite 3.40 itself crashes in a recursive query of which a SELECT is ignored, with no
     * extension loaded. */
    if (verdict == SQLITE_IGNORE && (action == SQLITE_SELECT || action == SQLITE_RECURSIVE))
        return SQLITE_OK;
    /* If the ids are hidden from the table's own DELETE, 'clear' keeps the rows, which are then of
     * generations that have not begun. */
    if (verdict == SQLITE_IGNORE && action == SQLITE_READ && strcmp(b, "id") == 0)
        return SQLITE_OK;
    uint64_t asked = (uint64_t)action;
    for (; places.looking && a != NULL && *a != '\0'; a++)
        asked = mix_place(asked, (uint64_t)*a);
    for (; places.looking && b != NULL && *b != '\0'; b++)
        asked = mix_place(asked, (uint64_t)*b << 8);
    look_at_place(asked);
    return refuses() ? verdict : SQLITE_OK;
}

static void arm(long number) {
    failures = 0;
    of_memory = is_lasting = false;
    countdown = number;
}

static void arm_allocation(sqlite3 *database, long number) {
    (void)database;
    arm(by_place ? number_of_place(number) : number);
    of_memory = true;
}

static void arm_allocations(sqlite3 *database, long number) {
    arm_allocation(database, number);
    is_lasting = true;
}

static void arm_interrupt(sqlite3 *database, long number) {
    arm(number);
    sqlite3_progress_handler(database, 1, progress, NULL);
}

static void arm_interrupt_by_call(sqlite3 *database, long number) {
    arm(number);
    sqlite3_progress_handler(database, 1, interrupt, database);
}

static void arm_authorizer(sqlite3 *database, long number) {
    arm(by_place ? number_of_place(number) : number);
    sqlite3_set_authorizer(database, authorize, NULL);
}

static void look_for_allocations(sqlite3 *database, long number) {
    (void)database, (void)number;
    arm(0);
    of_memory = true;
    look_for_places();
}

static void look_for_questions(sqlite3 *database, long number) {
    (void)number;
    arm(0);
    look_for_places();
    sqlite3_set_authorizer(database, authorize, NULL);
}

static int forbid(void *argument, int action, const char *a, const char *b, const char *c,
                  const char *d) {
    (void)argument, (void)action, (void)a, (void)b, (void)c, (void)d;
    return SQLITE_DENY;
}

/* A statement begins. */
static int trace(unsigned type, void *database, void *statement, void *text) {
    (void)type, (void)statement, (void)text;
    if (refuses())
        sqlite3_set_authorizer(database, forbid, NULL);
    return 0;
}

static void arm_trace(sqlite3 *database, long number) {
    arm(number);
    sqlite3_trace_v2(database, SQLITE_TRACE_STMT, trace, database);
}

/* Without an authorizer SQLite keeps what it prepared while one ignored something. Setting one that
 * refuses nothing makes it prepare all statements again. */
static void disarm(sqlite3 *database) {
    countdown = 0;
    places.looking = false;
    sqlite3_set_authorizer(database, authorize, NULL);
    sqlite3_trace_v2(database, 0, NULL, NULL);
    sqlite3_progress_handler(database, 0, NULL, NULL);
    sqlite3_set_authorizer(database, NULL, NULL);
}

/* The number of the next fault. Of the many alike in a long loop, a sample will do. */
static long next(long number) {
    if (by_place || number < (of_memory ? 3000 : 300))
        return number + 1;
    return number + (of_memory ? 331 : number / 8);
}

/* Runs a scenario with the n-th one failing. Returns false when there was no n-th. */
static bool attempt_fault(const struct scenario *scenario, const struct fault *fault, long number,
                          int expected, const char *before, const char *after) {
    sqlite3 *database = prepare(scenario);
    fault->arm(database, number);
    int code = attempt(scenario, database);
    disarm(database);
    bool refused = code == fault->code || code == fault->other_code;
    /* SQLite itself, with FTS5, too, may end so when there is no memory to read a schema anew. */
    if (code == SQLITE_ROW && strstr(scenario->attempt, "= RESET") != NULL)
        refused = true;
    /* Out of memory needs no words of ours. */
    const bool says_more = sqlite3_errcode(database) == SQLITE_NOMEM &&
                           strncmp(sqlite3_errmsg(database), "seen: ", 6) == 0;
    require((code == expected || refused) && !says_more, "%s %ld: result %d (%s)", fault->what,
            number, code, sqlite3_errmsg(database));
    attempts[of_memory].failed += failures > 0;
    attempts[of_memory].refused += failures > 0 && refused && code != expected;
    if (!sqlite3_get_autocommit(database))
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    char *answer = ask(scenario, database);
    require(strcmp(answer, refused ? before : after) == 0 ||
                (refused && fault->may_come_late && strcmp(answer, after) == 0),
            "%s %ld, result %d: state is %s, not %s", fault->what, number, code, answer,
            refused ? before : after);
    /* The connection goes on as if nothing had been. */
    if (code == SQLITE_INTERRUPT && strcmp(answer, before) == 0) {
        sqlite3_free(answer);
        code = attempt(scenario, database);
        answer = ask(scenario, database);
        require(code == expected && strcmp(answer, after) == 0,
                "%s %ld: the next time: result %d, state %s, not %s", fault->what, number, code,
                answer, after);
    }
    sqlite3_free(answer);
    close_after(fault->what, number, database);
    return failures > 0;
}

/* The fault came as often as it must, because otherwise nothing was tested. Registering runs no
 * statement. */
static void check_tally(const struct scenario *scenario, const struct fault *fault, long failed,
                        long refused) {
    const bool runs = scenario->attempt != REGISTER;
    const bool too_few = runs && (failed == 0 || (fault->meets == FAULT_REFUSED && refused == 0));
    require(fault->meets == FAULT_AT_PLACES ? failed == places.chosen
                                            : fault->meets == FAULT_NOWHERE || !too_few,
            "%s: came %ld times, refused %ld times, %ld places", fault->what, failed, refused,
            places.chosen);
}

/* A scenario with each of some faults. */
static void attempt_faults(const struct scenario *scenario, const struct fault *faults, int count) {
    sqlite3 *database = prepare(scenario);
    char *before = ask(scenario, database);
    const int expected = attempt(scenario, database);
    char *after = ask(scenario, database);
    sqlite3_close(database);
    for (const struct fault *fault = faults; fault < faults + count; fault++) {
        const struct tally before_it[2] = {attempts[0], attempts[1]};
        for (long number = 1; attempt_fault(scenario, fault, number, expected, before, after);
             number = next(number))
            continue;
        check_tally(scenario, fault, attempts[of_memory].failed - before_it[of_memory].failed,
                    attempts[of_memory].refused - before_it[of_memory].refused);
    }
    sqlite3_free(before);
    sqlite3_free(after);
}

/* Every question of a scenario is ignored in turn, which leaves the database sound. Returns how
 * many were. */
static long ignore_each(const struct scenario *scenario) {
    const struct fault FAULT = {.what = "ignored",
                                .meets = by_place ? FAULT_AT_PLACES : FAULT_REFUSED};
    long ignored = 0;
    if (verdict != SQLITE_IGNORE) /* another round through all scenarios */
        memset(places.seen, 0, sizeof places.seen);
    verdict = SQLITE_IGNORE;
    if (by_place) {
        sqlite3 *database = prepare(scenario);
        sqlite3_free(value_of(database, "PRAGMA integrity_check"));
        look_for_questions(database, 0);
        attempt(scenario, database);
        disarm(database);
        sqlite3_close(database);
    }
    for (long number = 1, now = 1; now > 0; number = next(number)) {
        sqlite3 *database = prepare(scenario);
        char *before = value_of(database, "PRAGMA integrity_check");
        arm_authorizer(database, number);
        const int code = attempt(scenario, database);
        now = failures;
        disarm(database);
        if (!sqlite3_get_autocommit(database))
            run(database, "ROLLBACK");
        char *after = value_of(database, "PRAGMA integrity_check");
        require(code != SQLITE_INTERNAL && code != SQLITE_MISUSE &&
                    (strcmp(after, "ok") == 0 || strcmp(after, before) == 0),
                "ignored %ld, result %d: %s, not %s", number, code, after, before);
        sqlite3_free(before);
        sqlite3_free(after);
        close_after(FAULT.what, number, database);
        ignored += now;
    }
    check_tally(scenario, &FAULT, ignored, ignored);
    return ignored;
}

#define SHADOW_STATE "SELECT (SELECT group_concat(name) FROM sqlite_master) || " SHADOW_ROWS

/* clear, while another connection of a shared cache reads the chunks. */
static void clear_locked_chunks(void **unused) {
    static const char PATH[] = "file:locked?mode=memory&cache=shared";
    CLOSED_AT_END *database = open_database(PATH), *other = open_database(PATH);
    (void)unused;
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, fpr=0.01); " TEN
                  "INSERT INTO seen(key) SELECT i FROM c; BEGIN; CREATE TEMP TABLE written(x)");
    char *before = value_of(database, SHADOW_STATE);
    sqlite3_stmt *reader = begin(other, "SELECT id FROM seen_data");
    const int code = try(database, NULL, "INSERT INTO seen(seen) VALUES ('clear')");
    assert_int_equal(code & 0xff, SQLITE_LOCKED);
    sqlite3_finalize(reader);
    run(database, "COMMIT");
    char *after = value_of(database, SHADOW_STATE);
    assert_string_equal(after, before);
    sqlite3_free(before);
    sqlite3_free(after);
}

static void test_faults(void **state) {
    /* SQLite says SQLITE_ERROR where what it parses for itself is interrupted: in
     * sqlite3_declare_vtab() and when a table is renamed. */
    enum {
        MEMORY = SQLITE_NOMEM,
        STOP = SQLITE_INTERRUPT,
        DENY = SQLITE_AUTH,
        ERROR = SQLITE_ERROR
    };
    static const struct fault FAULTS[] = {
        {"allocation", MEMORY, MEMORY, false, arm_allocation, FAULT_REFUSED},
        {"allocations from", MEMORY, MEMORY, false, arm_allocations, FAULT_REFUSED},
        {"interrupt", STOP, STOP, true, arm_interrupt, FAULT_REFUSED},
        {"call of sqlite3_interrupt", STOP, ERROR, true, arm_interrupt_by_call, FAULT_COMES},
        {"denial", DENY, ERROR, false, arm_authorizer, FAULT_REFUSED},
        {"statement, then all denied", DENY, ERROR, true, arm_trace, FAULT_COMES},
    };
    static const struct fault BY_PLACE[] = {
        {"nothing", MEMORY, MEMORY, false, look_for_allocations, FAULT_NOWHERE},
        {"allocation", MEMORY, MEMORY, false, arm_allocation, FAULT_AT_PLACES},
        {"nothing", DENY, ERROR, false, look_for_questions, FAULT_NOWHERE},
        {"denial", DENY, ERROR, false, arm_authorizer, FAULT_AT_PLACES},
    };
    if (by_place)
        attempt_faults(*state, BY_PLACE, COUNT_OF(BY_PLACE));
    else
        attempt_faults(*state, FAULTS, COUNT_OF(FAULTS));
}

static long ignored;

static void test_ignored(void **state) {
    ignored += ignore_each(*state);
}

/* By place, half of the scenarios have one of their own. SQLite can do without some pages of its
 * cache, a copy of a chunk is left out, and a message that fails stays without words; else a
 * failure of memory is reported. */
static void test_sums(void **state) {
    (void)state;
    print_message("figures: %ld failures of allocations, %ld ended in SQLITE_NOMEM; %ld refusals, "
                  "%ld ended in SQLITE_INTERRUPT or SQLITE_AUTH, %ld questions ignored\n",
                  attempts[true].failed, attempts[true].refused, attempts[false].failed,
                  attempts[false].refused, ignored);
    assert_true(2 * attempts[true].failed >= ALL_SCENARIOS && said_out_of_memory > 0);
    assert_true(10 * attempts[true].refused >= 9 * attempts[true].failed);
    assert_true(2 * attempts[false].refused >= ALL_SCENARIOS && 2 * ignored >= ALL_SCENARIOS);
}

int main(void) {
    enum { REST = 2 * ALL_SCENARIOS };
    struct CMUnitTest tests[REST + 2] = {
        [REST] = {"clear of chunks that are read", clear_locked_chunks, NULL, NULL, NULL},
        [REST + 1] = {"Most faults are reported", test_sums, NULL, NULL, NULL}};
    by_place = getenv("PLACES") != NULL;
    add_scenarios(tests, test_faults);
    add_scenarios(tests + ALL_SCENARIOS, test_ignored);
    install_failing_memory();
    sqlite3_initialize();
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}

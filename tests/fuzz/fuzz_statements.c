/* Random SQL made of our functions: each byte of the input chooses how an expression goes on. */
#include "fuzz.h"

struct source {
    const uint8_t *data;
    size_t left;
    char sql[1500];
    size_t length;
};

static unsigned choose(struct source *source, unsigned choices) {
    if (source->left == 0)
        return 0;
    source->left--;
    return *source->data++ % choices;
}

static void append(struct source *source, const char *text, size_t length) {
    if (source->length + length < sizeof source->sql) {
        memcpy(source->sql + source->length, text, length);
        source->length += length;
        source->sql[source->length] = '\0';
    }
}

/* Separated by semicolons. */
static const char LEAVES[] =
    "NULL;0;1;-1;2.5;0.01;1e300;9223372036854775807;'';'abc';'classic';'blocked';'guava';"
    "'counting';'fuse';'bitmap';x'';x'89424c4d01010100';x'01030000000100000000000000ff';"
    "zeroblob(64);i;v;b;10;1000;1e-9;json_array(i, v);bloom_new(10);"
    "bloom_new(64, 0.1, 'classic');(SELECT filter FROM seen);nullif(bloom_pin(b), i);"
    "CASE i WHEN 1 THEN bloom_pin(b) ELSE nullif(bloom_pin(b), v) END;max(bloom_pin(b));"
    "first_value(nullif(bloom_pin(b), 1)) OVER (ORDER BY i);"
    "lag(bloom_pin(b), 1, b) OVER (ORDER BY i DESC);(SELECT nullif(bloom_pin(b), 1) FROM t);"
    "nullif(i || 'a', upper(v));CAST(b AS TEXT);CAST(x'ff00c3' AS TEXT);off;'error';TEXT;"
    "counting";
static const char CALLS[] =
    "bloom_new(;bloom_new_bits(;bloom_add(;bloom_check(;bloom_union(;bloom_intersect(;"
    "bloom_count(;bloom_fpr(;bloom_info(;bloom_size(;bloom_hash(;bloom_pin(;bloom_version(;"
    "bloom_agg(;bloom_union_agg(;(SELECT bloom_pin(;coalesce(NULL, ;length(;hex(;"
    "bloom_import(;bloom_export(;bloom_agg(;bloom_add(b, ;bloom_check(b, ;bloom_url(;"
    "bloom_list(;bloom_remove(;bloom_convert(;nullif(;iif(;ifnull(;max(;bloom_intersect_agg(";

/* Appends an item of a list, and returns where it begins. */
static const char *append_one(struct source *source, const char *list) {
    unsigned count = 1;
    for (const char *at = list; *at != '\0'; at++)
        count += *at == ';';
    for (unsigned left = choose(source, count); left > 0; list++)
        left -= *list == ';';
    append(source, list, strcspn(list, ";"));
    return list;
}

static void expression(struct source *source, int depth) {
    if (depth == 0 || choose(source, 3) == 0) {
        append_one(source, LEAVES);
        return;
    }
    const char *call = append_one(source, CALLS);
    unsigned arguments = choose(source, 5);
    for (unsigned i = 0; i < arguments; i++) {
        if (i > 0)
            append(source, ", ", 2);
        expression(source, depth - 1);
    }
    append(source, "))", call[0] == '(' ? 2 : 1);
}

/* In place of $ comes an expression, of @ a filter table, and of # its hidden column. */
static const char *const STATEMENTS[] = {
    "SELECT $ FROM t",
    "SELECT $ FROM t GROUP BY i % 2",
    "SELECT i FROM t WHERE $",
    "SELECT i FROM t ORDER BY $",
    "UPDATE t SET b = $ WHERE i >= $",
    "INSERT INTO t SELECT i + 10, v, $ FROM t LIMIT 3",
    "CREATE INDEX IF NOT EXISTS x ON t($)",
    "INSERT INTO @(key) SELECT $ FROM t",
    "INSERT OR IGNORE INTO @(key) SELECT $ FROM t",
    "REPLACE INTO @(key) SELECT $ FROM t",
    "INSERT OR ABORT INTO @(key) WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c "
    "LIMIT 20) SELECT i || $ FROM c, t LIMIT 20",
    "INSERT OR IGNORE INTO @(#, key) SELECT 'merge', $ FROM t",
    "INSERT INTO @(#, key) SELECT 'merge', filter FROM @",
    "INSERT INTO @(#, key) SELECT 'merge', filter FROM main.seen",
    "INSERT OR IGNORE INTO @(#, key) SELECT 'add', $ FROM t",
    "INSERT INTO @(#) VALUES ('clear')",
    "INSERT INTO @(#) VALUES ('rotate')",
    "INSERT INTO @(#) SELECT CASE WHEN i < 3 THEN 'rotate' ELSE $ END FROM t",
    "INSERT INTO @(#) VALUES ($)",
    "INSERT INTO @(key, info) VALUES (1, $)",
    "INSERT INTO @ SELECT $ FROM t",
    "SELECT count(*) FROM t, @ WHERE key = $",
    "SELECT key, info FROM @ WHERE key IN ('a', 1, $)",
    "SELECT key, @.rowid FROM t, @($)",
    "SELECT 1 FROM @ WHERE key = 1 OR key = $",
    "SELECT info, filter FROM @ WHERE key > $",
    "SELECT * FROM @ WHERE # = $ AND key = 1",
    "SELECT info, filter FROM @",
    "SELECT 1 IN @, $ FROM t",
    "DELETE FROM @ WHERE key = $",
    "UPDATE @ SET key = $",
    "CREATE VIRTUAL TABLE made USING bloom(capacity=3, fpr=0.5)",
    "CREATE VIRTUAL TABLE made USING bloom(capacity=20, fpr=$, growth=$)",
    "CREATE VIRTUAL TABLE made USING bloom(capacity=$, generations=$)",
    "CREATE VIRTUAL TABLE made USING bloom(layout=$, capacity='10', key=$)",
    "SAVEPOINT a",
    "SAVEPOINT b",
    "ROLLBACK TO a",
    "ROLLBACK TO b",
    "RELEASE a",
    "DROP TABLE @",
    "ALTER TABLE @ RENAME TO made",
    "CREATE TRIGGER one AFTER INSERT ON t BEGIN INSERT OR IGNORE INTO seen(key) VALUES (new.v); "
    "INSERT INTO small(key) SELECT new.i; INSERT INTO aged(aged) VALUES ('rotate'); END",
    "CREATE TRIGGER two AFTER INSERT ON seen_data BEGIN INSERT INTO small(key) VALUES (new.id); "
    "END",
    "CREATE TRIGGER three AFTER INSERT ON small_data BEGIN INSERT INTO seen(key) VALUES (new.id); "
    "INSERT INTO small(small) VALUES ('clear'); END",
    "ATTACH ':memory:' AS x",
    "CREATE VIRTUAL TABLE x.seen USING bloom(capacity=3, fpr=0.1)",
    "DETACH x",
};
static const char *const TABLES[] = {"seen", "small", "aged", "made", "x.seen"};

static void write_statement(struct source *source, const char *form, int depth) {
    const char *table = TABLES[choose(source, sizeof TABLES / sizeof *TABLES)];
    const char *column = table[1] == '.' ? table + 2 : table;
    source->length = 0;
    for (; *form != '\0'; form++) {
        if (*form == '$')
            expression(source, depth);
        else if (*form == '@' || *form == '#')
            append(source, *form == '@' ? table : column, strlen(*form == '@' ? table : column));
        else
            append(source, form, 1);
    }
}

/* Nobody writes the shadow tables here, so they are never damaged, and nothing else is; but they
 * may have triggers. */
static void judge(sqlite3 *database, const char *sql, int code) {
    if (code == SQLITE_CORRUPT && strstr(sqlite3_errmsg(database), "a trigger, an index") != NULL)
        return;
    if (code == SQLITE_CORRUPT || code == SQLITE_INTERNAL || code == SQLITE_MISUSE ||
        code == SQLITE_NOMEM) {
        fprintf(stderr, "%s: result %d: %s\n", sql, code, sqlite3_errmsg(database));
        abort();
    }
}

static void run(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && statement != NULL)
        code = fuzz_step(statement);
    judge(database, sql, code & 0xff);
    sqlite3_finalize(statement);
}

static const char SETUP[] =
    "CREATE TABLE t(i, v, b);"
    "INSERT INTO t VALUES (1, 'a', bloom_new(10)), (2, 2.5, bloom_add(bloom_new(10), 1)),"
    "(3, NULL, bloom_new(10, 0.01, 'classic'));"
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=10, fpr=0.01, growth=off);"
    "CREATE VIRTUAL TABLE small USING bloom(capacity=3, fpr=0.1);"
    "INSERT INTO small(key) VALUES (1), (2), (3), (4), (5), (6), ('a');"
    "CREATE VIRTUAL TABLE aged USING bloom(capacity=3, fpr=0.1, generations=2);"
    "INSERT INTO aged(key) VALUES (1), (2), (3), (4), (5), (6), ('a');"
    "INSERT INTO aged(aged) VALUES ('rotate'), ('rotate')";

/* All statements of an input are one transaction that is rolled back, so that the next one begins
 * where this one did. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { STATEMENTS_MOST = 7, DEPTH = 4 };
    static struct source source;
    static sqlite3 *database;
    if (database == NULL)
        fuzz_must(database = fuzz_open(), SETUP);
    source.data = data;
    source.left = size;
    int changes_of_schema = 0;
    fuzz_work = FUZZ_WORK_MOST;
    if (sqlite3_exec(database, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        abort();
    for (int statements = 0; statements < STATEMENTS_MOST && source.left > 0; statements++) {
        const char *form = STATEMENTS[choose(&source, sizeof STATEMENTS / sizeof *STATEMENTS)];
        /* CREATE, DROP, ALTER: each takes as long as ten others. */
        if (strchr("CDA", form[0]) != NULL && ++changes_of_schema > 2)
            continue;
        write_statement(&source, form, DEPTH);
        run(database, source.sql);
    }
    /* An interrupt in the middle of a statement may have ended the transaction already. */
    fuzz_work = FUZZ_WORK_MOST;
    if (!sqlite3_get_autocommit(database))
        fuzz_must(database, "ROLLBACK");
    sqlite3_exec(database, "DETACH x", NULL, NULL, NULL);
    return 0;
}

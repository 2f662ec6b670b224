/* What tests share whose subject may bring the program down, and what the shadow tables tell.
 *
 * Every test runs in a process of its own, so that one that crashes, or that a sanitizer stops,
 * fails alone. Black-box, as tests/simulator: SQL, SQLite's interface, and the shadow tables as
 * ext/FORMAT-tables.md describes them.
 */
#ifndef BLOOM_HOSTILE_H
#define BLOOM_HOSTILE_H

#include "connection.h"

#include <dirent.h>
#include <sys/wait.h>

/* ---- Tests in processes of their own ---- */

static char folder[64]; /* of the test that runs, for its files */

static inline void remove_folder(void) {
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(opened);
    assert_int_equal(rmdir(folder), 0);
}

static inline void run_apart(void **state) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/hostile.XXXXXX", parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(folder));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(600); /* what hangs fails, too, but not what a busy machine takes long for */
        is_apart = true;
        call_test(state);
        exit(0); /* with what a sanitizer or a coverage build does at the end */
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    remove_folder();
    if (WIFSIGNALED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A row of a group of tests, as TEST, of a test in a process of its own. */
#define APART(sentence, function) RUN_BY(run_apart, NULL, NULL, sentence, function)

/* ---- Databases ---- */

static inline const char *path_of(const char *name) {
    static char paths[4][100];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* What the rows of the chunks of the table seen tell, added up. */
struct chunks_sums {
    sqlite3_int64 keys, ones, reported_keys, reported_ones, reported_chunks;
    sqlite3_int64 set; /* bits */
};

static inline sqlite3_int64 number_at(const unsigned char *bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (sqlite3_int64)bytes[3] << 24;
}

static inline struct chunks_sums sum_chunks(sqlite3 *database, const char *schema) {
    enum { COUNTS = 24 };
    sqlite3_stmt *statement;
    struct chunks_sums sums = {0};
    char *sql = sqlite3_mprintf("SELECT bits FROM %s.seen_chunks", schema);
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    require(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const unsigned char *bytes = sqlite3_column_blob(statement, 0);
        sums.keys += number_at(bytes);
        sums.ones += number_at(bytes + 4);
        sums.reported_keys += number_at(bytes + 8);
        sums.reported_ones += number_at(bytes + 12);
        sums.reported_chunks += number_at(bytes + 8) > 0;
        for (int i = COUNTS; i < sqlite3_column_bytes(statement, 0); i++)
            for (unsigned byte = bytes[i]; byte != 0; byte &= byte - 1)
                sums.set++;
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return sums;
}

/* The chunks of the table seen count the bits that are set; the rows of its layers are the sums of
 * what they reported. */
static inline struct chunks_sums require_sums(sqlite3 *database, const char *schema) {
    const struct chunks_sums sums = sum_chunks(database, schema);
    char sql[200];
    require(sums.ones == sums.set, "the chunks count %lld bits, but %lld are set",
            (long long)sums.ones, (long long)sums.set);
    sqlite3_snprintf(sizeof sql, sql, "SELECT sum(keys) FROM %s.seen_layers", schema);
    require_number(database, sums.reported_keys, sql);
    sqlite3_snprintf(sizeof sql, sql, "SELECT sum(ones) FROM %s.seen_layers", schema);
    require_number(database, sums.reported_ones, sql);
    sqlite3_snprintf(sizeof sql, sql, "SELECT sum(chunks) FROM %s.seen_layers", schema);
    require_number(database, sums.reported_chunks, sql);
    return sums;
}

/* So they do, and count so many keys. */
static inline void require_counts(sqlite3 *database, const char *schema, sqlite3_int64 keys) {
    const struct chunks_sums sums = require_sums(database, schema);
    require(sums.keys == keys, "the chunks count %lld keys, not %lld", (long long)sums.keys,
            (long long)keys);
}

static inline sqlite3_stmt *kept(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    require(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    return statement;
}

/* The keys 1 to 500 that are found. */
#define FOUND NUMBERS(500) "SELECT count(*) FROM n WHERE EXISTS (SELECT 1 FROM seen WHERE key = x)"

static const unsigned PAGES[] = {512, 4096, 16384, 65536};

#endif

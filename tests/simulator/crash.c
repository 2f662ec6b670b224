/* Crashes. Now and then a window of a few steps is opened, in which a crash comes at some call of
 * the disk; the world goes on to the end of the window, so that it is known what each of its steps
 * has made. Then all connections are closed, the disk is as the crash left it, and each file must
 * hold what was committed before the step in which the crash came, or what that step has committed.
 * Where durability was not asked for, a moment before will do; in none a part of a transaction. */
#include "disk.h"
#include "simulator.h"

#include <stdio.h>
#include <string.h>

enum { STEPS_MOST = 8 };

/* What was committed after a step of the window. */
struct moment {
    struct content contents[FILES];
    uint64_t digests[FILES];
};

static struct moment moments[STEPS_MOST + 1];
static unsigned steps_done, steps_wanted, image_after;
static bool open;
static enum crash kind;

uint64_t crashes;

/* ---- What is in a file ---- */

static uint64_t mix(uint64_t sum, const void *bytes, size_t length) {
    return sum * 31 + bloom_hash_bytes(bytes, length).words[0];
}

/* All rows of a query. */
static int digest_query(sqlite3 *database, const char *sql, uint64_t *sum) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code != SQLITE_OK)
        return code;
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const int type = sqlite3_column_type(statement, i);
            const void *bytes = sqlite3_column_blob(statement, i);
            *sum = mix(*sum, &type, sizeof type);
            *sum =
                mix(*sum, bytes != NULL ? bytes : "", (size_t)sqlite3_column_bytes(statement, i));
        }
    return sqlite3_finalize(statement);
}

bool digest_file(const struct file *file, uint64_t *sum) {
    sqlite3 *database = fresh_connection(file, SQLITE_OPEN_PRIVATECACHE);
    sqlite3_stmt *tables = NULL;
    *sum = 0;
    int code = sqlite3_exec(database, "BEGIN", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = digest_query(database, "SELECT type, name, sql FROM sqlite_master", sum);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database,
                                  "SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                  "rootpage > 0 ORDER BY name",
                                  -1, &tables, NULL);
    while (code == SQLITE_OK && sqlite3_step(tables) == SQLITE_ROW) {
        char sql[100];
        sqlite3_snprintf(sizeof sql, sql, "SELECT * FROM \"%w\"", sqlite3_column_text(tables, 0));
        code = digest_query(database, sql, sum);
    }
    sqlite3_finalize(tables);
    expect(code == SQLITE_OK || is_busy(code), "%s cannot be read: %d, %s", file->path, code,
           sqlite3_errmsg(database));
    sqlite3_close(database);
    return code == SQLITE_OK;
}

/* Who holds a lock that keeps others from reading has committed nothing since. */
static void record(unsigned number) {
    for (unsigned i = 0; i < FILES; i++) {
        moments[number].contents[i] = files[i].committed;
        if (!digest_file(&files[i], &moments[number].digests[i]))
            moments[number].digests[i] = number > 0 ? moments[number - 1].digests[i] : 0;
    }
}

/* ---- The window ---- */

/* What a commit is worth. */
static bool is_durable(void) {
    if (kind == CRASH_KILL)
        return true;
    return journal == JOURNAL_DELETE ? synchronous == SYNCHRONOUS_EXTRA
                                     : synchronous >= SYNCHRONOUS_FULL;
}

/* A commit to a WAL that failed may have written all of it, and is there after a crash unless
 * somebody writes over it. So all is brought into the file. */
static bool has_checkpoint(const struct file *file) {
    if (journal != JOURNAL_WAL || !disk_has_failed())
        return true;
    sqlite3 *database = fresh_connection(file, SQLITE_OPEN_PRIVATECACHE);
    int code = sqlite3_wal_checkpoint_v2(database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    expect(code == SQLITE_OK || is_busy(code), "a checkpoint of %s: result %d (%s)", file->path,
           code, sqlite3_errmsg(database));
    sqlite3_close(database);
    return code == SQLITE_OK;
}

/* And without a journal on the disk, SQLite takes back nothing when a write fails. */
bool crash_spares_disk(void) {
    return (open && journal == JOURNAL_WAL) || journal == JOURNAL_MEMORY;
}

void crash_begin(void) {
    if (open || journal == JOURNAL_MEMORY || random_below(1000) >= weight_of_crashes)
        return;
    for (unsigned i = 0; i < FILES; i++) {
        uint64_t unused; /* a window does not begin where what is committed cannot be read */
        if (!digest_file(&files[i], &unused) || !has_checkpoint(&files[i]))
            return;
    }
    const bool survives_power =
        synchronous >= (journal == JOURNAL_WAL ? SYNCHRONOUS_NORMAL : SYNCHRONOUS_FULL);
    kind = !survives_power || random_once_in(3) ? CRASH_KILL
           : random_once_in(8)                  ? CRASH_POWER_AND_LIES
                                                : CRASH_POWER;
    steps_wanted = 1 + random_below(STEPS_MOST);
    steps_done = image_after = 0;
    open = true;
    record(0);
    unsigned calls = 1 + random_below(1U << random_below(7));
    note("-- %s at call %u of the disk, within %u steps",
         kind == CRASH_KILL    ? "a kill"
         : kind == CRASH_POWER ? "a loss of power"
                               : "a loss of power of a disk that has synced nothing",
         calls, steps_wanted);
    disk_watch(kind, calls);
}

static void read_on(const struct file *file) {
    sqlite3 *database = fresh_connection(file, SQLITE_OPEN_PRIVATECACHE);
    for (unsigned name = 0; name < NAMES; name++) {
        static const char *const QUERIES[] = {
            "SELECT info FROM %s", "SELECT filter FROM %s", "SELECT 1 FROM %s WHERE key = 2",
            "INSERT INTO %s(key) VALUES ('http://1.example/')", "PRAGMA integrity_check"};
        for (unsigned i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
            char *sql = sqlite3_mprintf(QUERIES[i], NAME[name]);
            int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
            expect(code != SQLITE_INTERNAL && code != SQLITE_MISUSE && code != SQLITE_NOMEM,
                   "%s in a damaged file: result %d", sql, code);
            sqlite3_free(sql);
        }
    }
    expect(sqlite3_close(database) == SQLITE_OK, "%s cannot be closed", file->path);
}

static void check_integrity(const struct file *file) {
    sqlite3 *database = fresh_connection(file, SQLITE_OPEN_PRIVATECACHE);
    sqlite3_stmt *statement = must_prepare(database, "PRAGMA integrity_check");
    expect(sqlite3_step(statement) == SQLITE_ROW &&
               strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0,
           "after a crash %s is damaged: %s", file->path, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

/* The last moment that a file may be of: number least at least; or beyond all. */
static unsigned moment_of(unsigned file, uint64_t digest, unsigned least, unsigned most) {
    for (unsigned i = most + 1; i-- > least;)
        if (moments[i].digests[file] == digest)
            return i;
    return UINT32_MAX;
}

static void recover(void) {
    const unsigned most = image_after, least = is_durable() && most > 0 ? most - 1 : 0;
    uint64_t digests[FILES];
    unsigned common = UINT32_MAX;
    for (unsigned i = 0; i < FILES; i++) {
        check_integrity(&files[i]);
        expect(digest_file(&files[i], &digests[i]), "%s is locked after a crash", files[i].path);
        unsigned moment = moment_of(i, digests[i], least, most);
        expect(moment <= most,
               "after a crash %s holds what was committed at no moment from %u to "
               "%u of the window",
               files[i].path, least, most);
        note("-- %s is as %u steps before the crash", files[i].path, most - moment);
        files[i].committed = files[i].now = moments[moment].contents[i];
        files[i].writer = NULL;
    }
    /* A transaction of several files is one, except in WAL mode. */
    for (unsigned moment = least; moment <= most; moment++) {
        unsigned same = 0;
        for (unsigned i = 0; i < FILES; i++)
            same += moments[moment].digests[i] == digests[i];
        common = same == FILES ? moment : common;
    }
    expect(common <= most || journal == JOURNAL_WAL || !is_durable(),
           "after a crash a part of the files holds a transaction");
}

bool crash_after_step(void) {
    if (!open)
        return true;
    steps_done++;
    record(steps_done);
    if (disk_has_image() && image_after == 0)
        image_after = steps_done;
    if (steps_done < steps_wanted)
        return true;
    if (image_after == 0)
        image_after = steps_done;
    note("-- the crash");
    crashes++;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        connection_close(&connections[i]);
    disk_crash();
    open = false;
    if (kind == CRASH_POWER_AND_LIES) {
        for (unsigned i = 0; i < FILES; i++)
            read_on(&files[i]);
        return false;
    }
    recover();
    for (unsigned i = 0; i < CONNECTIONS; i++)
        connection_open(&connections[i]);
    for (unsigned i = 0; i < FILES; i++)
        look_from_outside(&files[i]);
    return true;
}

void crash_forget(void) {
    if (open)
        disk_unwatch();
    open = false;
}

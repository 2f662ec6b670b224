/* Every call of the file system fails in turn while a filter table is read and written.
 *
 * A scenario is a row of statements on a database file that holds committed keys. The n-th call of
 * one kind is made to fail, for n = 1, 2, ... until the scenario runs without meeting a failure;
 * once, and from then on; with a rollback journal and in WAL mode; with a page cache that holds all
 * and with one that spills pages into the file before they are committed. Each time:
 *
 *   1. A statement that reports success has done its work and gives the right rows; any other
 *   reports an
 *      error of the file system, never damage, since nothing was damaged.
 *   2. The same connection goes on: it rolls back, or commits what came before the failed
 *   statement, and adds
 *      a key.
 *   3. When it is closed no byte is left allocated and no file open. 4. In the database, opened
 *   again, is exactly what was committed, to the byte: every chunk and every count
 *      of the shadow tables is as in a run without failures. For a COMMIT that failed, all of it or
 *      nothing.
 *   5. The same holds for a copy of the files from the moment of the failure: what a process leaves
 *   that is
 *      killed there.
 */
#include "sqlite-bloom.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Failures */

enum kind { READ, WRITE, SYNC, TRUNCATE, OPEN, DELETE, ACCESS, FILE_SIZE, LOCK, SHM_MAP, SHM_LOCK };

struct failure {
    const char *title;
    enum kind kind;
    int code;
    bool partial; /* half of it is written nevertheless */
    long injected;
};

static struct failure FAILURES[] = {
    {"xRead: IOERR_READ", READ, SQLITE_IOERR_READ, false, 0},
    {"xWrite: IOERR_WRITE", WRITE, SQLITE_IOERR_WRITE, false, 0},
    {"xWrite: IOERR_WRITE after half", WRITE, SQLITE_IOERR_WRITE, true, 0},
    {"xWrite: FULL", WRITE, SQLITE_FULL, false, 0},
    {"xWrite: FULL after half", WRITE, SQLITE_FULL, true, 0},
    {"xSync: IOERR_FSYNC", SYNC, SQLITE_IOERR_FSYNC, false, 0},
    {"xTruncate: IOERR_TRUNCATE", TRUNCATE, SQLITE_IOERR_TRUNCATE, false, 0},
    {"xOpen: CANTOPEN", OPEN, SQLITE_CANTOPEN, false, 0},
    {"xDelete: IOERR_DELETE", DELETE, SQLITE_IOERR_DELETE, false, 0},
    {"xAccess: IOERR_ACCESS", ACCESS, SQLITE_IOERR_ACCESS, false, 0},
    {"xFileSize: IOERR_FSTAT", FILE_SIZE, SQLITE_IOERR_FSTAT, false, 0},
    {"xLock: IOERR_LOCK", LOCK, SQLITE_IOERR_LOCK, false, 0},
    {"xShmMap: IOERR_SHMMAP", SHM_MAP, SQLITE_IOERR_SHMMAP, false, 0},
    {"xShmLock: IOERR_SHMLOCK", SHM_LOCK, SQLITE_IOERR_SHMLOCK, false, 0},
};

enum { FAILURE_COUNT = sizeof FAILURES / sizeof *FAILURES };

static struct failure *injecting; /* NULL when nothing is to fail */
static long countdown;            /* calls until the failure, which is at 1; 0 when it is over */
static bool from_then_on;
static long injected; /* failures of this attempt */
static int open_files;

static bool fails(enum kind kind) {
    if (injecting == NULL || injecting->kind != kind || countdown == 0)
        return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    injected++;
    injecting->injected++;
    if (!from_then_on)
        countdown = 0;
    return true;
}

/* The file system: that of the machine behind one that fails */

struct file {
    sqlite3_file base; /* first: SQLite sees only this */
    sqlite3_file *real;
};

static sqlite3_vfs *original;
static sqlite3_vfs failing;

static sqlite3_file *real(sqlite3_file *file) {
    return ((struct file *)file)->real;
}

static int file_close(sqlite3_file *file) {
    open_files--;
    return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    return fails(READ) ? injecting->code
                       : real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    if (!fails(WRITE))
        return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
    if (injecting->partial)
        real(file)->pMethods->xWrite(real(file), bytes, count / 2, offset);
    return injecting->code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return fails(TRUNCATE) ? injecting->code : real(file)->pMethods->xTruncate(real(file), size);
}

/* No test here cuts the power, so nothing waits for a disk. */
static int file_sync(sqlite3_file *file, int flags) {
    (void)file;
    (void)flags;
    return fails(SYNC) ? injecting->code : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return fails(FILE_SIZE) ? injecting->code : real(file)->pMethods->xFileSize(real(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
    return fails(LOCK) ? injecting->code : real(file)->pMethods->xLock(real(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int file_reserved_lock(sqlite3_file *file, int *locked) {
    return real(file)->pMethods->xCheckReservedLock(real(file), locked);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) {
    return real(file)->pMethods->xSectorSize(real(file));
}

static int file_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **memory) {
    if (!fails(SHM_MAP))
        return real(file)->pMethods->xShmMap(real(file), region, size, extend, memory);
    *memory = NULL;
    return injecting->code;
}

/* Giving a lock back does not fail: SQLite could do nothing about it. */
static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    if (flags & SQLITE_SHM_LOCK && fails(SHM_LOCK))
        return injecting->code;
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) {
    real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove) {
    return real(file)->pMethods->xShmUnmap(real(file), remove);
}

/* Version 2: without memory mapping, by which reads would not come by here. */
static const sqlite3_io_methods METHODS = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int system_open(sqlite3_vfs *system, const char *path, sqlite3_file *base, int flags,
                       int *flags_given) {
    struct file *file = (struct file *)base;
    (void)system;
    base->pMethods = NULL; /* SQLite closes nothing that was not opened */
    if (fails(OPEN))
        return injecting->code;
    file->real = (sqlite3_file *)(file + 1);
    int code = original->xOpen(original, path, file->real, flags, flags_given);
    if (code == SQLITE_OK) {
        base->pMethods = &METHODS;
        open_files++;
    }
    return code;
}

static int system_delete(sqlite3_vfs *system, const char *path, int synchronous) {
    (void)system;
    (void)synchronous;
    return fails(DELETE) ? injecting->code : original->xDelete(original, path, 0);
}

static int system_access(sqlite3_vfs *system, const char *path, int flags, int *result) {
    (void)system;
    return fails(ACCESS) ? injecting->code : original->xAccess(original, path, flags, result);
}

static void register_failing(void) {
    original = sqlite3_vfs_find(NULL);
    failing = *original;
    failing.zName = "failing";
    failing.szOsFile = (int)sizeof(struct file) + original->szOsFile;
    failing.xOpen = system_open;
    failing.xDelete = system_delete;
    failing.xAccess = system_access;
    if (sqlite3_vfs_register(&failing, 0) != SQLITE_OK)
        abort();
}

/* Scenarios */

enum { CAPACITY = 1200, COMMITTED = 1150, STATEMENTS_MAXIMUM = 12 };

/* Adds keys that are numbers, in one statement. */
#define KEYS(first, count)                                                                         \
    "WITH RECURSIVE c(i) AS (VALUES(" #first ") UNION ALL SELECT i + 1 FROM c LIMIT " #count ") "  \
    "INSERT INTO seen(key) SELECT i FROM c"

/* Four chunks of pages of 512 bytes, and about thirty keys to go until a layer of eleven chunks is
 * opened. */
#define TABLE                                                                                      \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=1200, fpr=0.01);"                              \
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 1150) "             \
    "INSERT INTO seen(key) SELECT i FROM c;"

#define MERGE                                                                                      \
    "INSERT INTO seen(seen, key) SELECT 'merge', bloom_agg(value, 1200, 0.009) FROM "              \
    "json_each('[1,2,1151,1152,1153,1154,1155,1156,1157,1158,1159]')"

#define ROTATE "INSERT INTO seen(seen) VALUES ('rotate')"

/* Generations 1 and 2 of two; slot 0 has the rows of generation 0, of two layers, still. */
#define AGED                                                                                       \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=300, fpr=0.01, generations=2);" KEYS(          \
        1, 400) ";" ROTATE ";" KEYS(401, 200) ";" ROTATE ";"

struct scenario {
    const char *title;
    const char *before; /* committed before anything fails */
    const char
        *unfinished; /* left behind by a process that was killed: what the attempt finds first */
    const char *statements[STATEMENTS_MAXIMUM];
    bool rolls_back_to_savepoint;
};

static const struct scenario SCENARIOS[] = {
    {"one key", TABLE, NULL, {"INSERT INTO seen(key) VALUES (1151)"}, false},
    {"keys that may be in",
     TABLE,
     NULL,
     {"INSERT OR IGNORE INTO seen(key) VALUES (1151)", "SELECT changes()",
      "INSERT OR IGNORE INTO seen(key) VALUES (7)", "SELECT changes()"},
     false},
    {"a statement that opens a layer", TABLE, NULL, {KEYS(1151, 70)}, false},
    {"a transaction that opens a layer",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 20), "INSERT INTO seen(key) VALUES (1171)", KEYS(1172, 30),
      "INSERT INTO seen(key) VALUES (1202)",
      "SELECT count(*) FROM seen WHERE key IN (1, 1160, 1202)", KEYS(1203, 20), "COMMIT"},
     false},
    {"a savepoint taken back",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 10), "SAVEPOINT doubtful", KEYS(1161, 60), "ROLLBACK TO doubtful",
      "INSERT INTO seen(key) VALUES (1161)", "RELEASE doubtful", "COMMIT"},
     true},
    {"a savepoint kept",
     TABLE,
     NULL,
     {"SAVEPOINT outer", KEYS(1151, 20), "SAVEPOINT inner", KEYS(1171, 30), "RELEASE inner",
      "INSERT INTO seen(key) VALUES (1201)", "RELEASE outer"},
     false},
    {"merge", TABLE, NULL, {MERGE}, false},
    {"merge and keys in a transaction",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1160, 5), MERGE, KEYS(1165, 5), "COMMIT"},
     false},
    {"clear", TABLE KEYS(1151, 60), NULL, {"INSERT INTO seen(seen) VALUES ('clear')"}, false},
    {"clear in a transaction",
     TABLE KEYS(1151, 60),
     NULL,
     {"BEGIN", KEYS(1211, 5), "INSERT INTO seen(seen) VALUES ('clear')", KEYS(1151, 20), "COMMIT"},
     false},
    {"rotation", AGED, NULL, {ROTATE}, false},
    {"rotation and keys in a transaction",
     AGED,
     NULL,
     {"BEGIN", KEYS(1151, 5), ROTATE, KEYS(1156, 40), "COMMIT"},
     false},
    {"rotations taken back to a savepoint",
     AGED,
     NULL,
     {"BEGIN", KEYS(1151, 5), ROTATE, "SAVEPOINT doubtful", KEYS(1156, 40), ROTATE, ROTATE,
      "ROLLBACK TO doubtful", "INSERT INTO seen(key) VALUES (1161)", "COMMIT"},
     true},
    {"what a forgotten generation has left overwritten", AGED, NULL, {KEYS(1151, 60)}, false},
    {"asking",
     TABLE KEYS(1151, 60),
     NULL,
     {"SELECT key FROM seen WHERE key IN (1, 2, 600, 1150, 1151, 1210, 'absent')",
      "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 40 FROM c WHERE i < 1150) "
      "SELECT count(*), sum((SELECT 1 FROM seen WHERE key = i)) FROM c"},
     false},
    {"describing", TABLE, NULL, {"SELECT info FROM seen", "SELECT filter FROM seen"}, false},
    {"creating", "", NULL, {"CREATE VIRTUAL TABLE seen USING bloom(capacity=1200)"}, false},
    {"creating and filling in a transaction",
     "CREATE TABLE other(x);",
     NULL,
     {"BEGIN", "CREATE VIRTUAL TABLE seen USING bloom(capacity=500, fpr=0.001)", KEYS(1, 40),
      "INSERT INTO seen(key) VALUES (41)", "COMMIT"},
     false},
    {"dropping", TABLE, NULL, {"DROP TABLE seen"}, false},
    {"dropping and creating anew",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 5), "DROP TABLE seen",
      "CREATE VIRTUAL TABLE seen USING bloom(capacity=300)", KEYS(1156, 5), "COMMIT"},
     false},
    {"renaming", TABLE, NULL, {"ALTER TABLE seen RENAME TO other"}, false},
    {"renaming in a transaction",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 5), "ALTER TABLE seen RENAME TO other",
      "INSERT INTO other(key) VALUES (1156)", "COMMIT"},
     false},
    {"VACUUM", TABLE "DELETE FROM seen_chunks WHERE id < 0;", NULL, {"VACUUM"}, false},
    {"a checkpoint",
     TABLE,
     NULL,
     {KEYS(1151, 60), "PRAGMA wal_checkpoint(TRUNCATE)", "INSERT INTO seen(key) VALUES (1211)",
      "PRAGMA wal_checkpoint"},
     false},
    {"recovery after a kill",
     TABLE,
     KEYS(1151, 10) "; BEGIN;" KEYS(1161, 60),
     {"SELECT count(*) FROM seen WHERE key IN (1, 2, 600, 1151, 1160)",
      "INSERT INTO seen(key) VALUES (1161)"},
     false},
};

enum { SCENARIO_COUNT = sizeof SCENARIOS / sizeof *SCENARIOS };

struct mode {
    const char *title;
    const char *journal;
    bool small_cache;
    /* SQLite 3.40 itself can lose what was committed last when a process is killed in WAL mode
     * after pages were spilled and taken back by ROLLBACK TO, which is also how a failed statement
     * ends. */
    bool may_be_killed;
};

static const struct mode MODES[] = {
    {"rollback journal", "DELETE", false, true},
    {"rollback journal, small cache", "DELETE", true, true},
    {"WAL", "WAL", false, true},
    {"WAL, small cache", "WAL", true, false},
};

enum { MODE_COUNT = sizeof MODES / sizeof *MODES };

/* What is going on, for complaints */

static const struct scenario *scenario;
static const struct mode *mode;
static long number;          /* of the call that fails */
static sqlite3_int64 leaked; /* that has been complained about */
static long complaints, attempts, errors_reported, kills, kept;

static void complain(const char *format, ...) {
    va_list list;
    complaints++;
    printf("%s (%s)", scenario->title, mode->title);
    if (number > 0)
        printf(", %s %s call %ld", injecting->title, from_then_on ? "from" : "at", number);
    printf(": ");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    puts("");
}

static void fatal(const char *what) {
    printf("%s (%s): %s\n", scenario ? scenario->title : "", mode ? mode->title : "", what);
    exit(1);
}

/* Files */

static const char *const SUFFIXES[] = {"", "-journal", "-wal"};

enum { SUFFIX_COUNT = 3, PATH_SIZE = 300 };

struct image { /* of a database and its journals */
    void *bytes[SUFFIX_COUNT];
    size_t sizes[SUFFIX_COUNT]; /* 0: no such file */
};

static char folder[PATH_SIZE - 50];
static char database_path[PATH_SIZE - 20], copy_path[PATH_SIZE - 20];

static void path_of(char path[PATH_SIZE], const char *base, const char *suffix) {
    snprintf(path, PATH_SIZE, "%s%s", base, suffix);
}

static void take_image(struct image *image, const char *base) {
    char path[PATH_SIZE];
    for (int i = 0; i < SUFFIX_COUNT; i++) {
        image->sizes[i] = 0;
        image->bytes[i] = NULL;
        path_of(path, base, SUFFIXES[i]);
        FILE *file = fopen(path, "rb");
        if (file == NULL)
            continue;
        if (fseek(file, 0, SEEK_END) != 0)
            fatal("a file cannot be read");
        size_t size = (size_t)ftell(file);
        rewind(file);
        image->bytes[i] = malloc(size + 1);
        image->sizes[i] = size;
        if (image->bytes[i] == NULL || fread(image->bytes[i], 1, size, file) != size)
            fatal("a file cannot be read");
        fclose(file);
    }
}

static void free_image(struct image *image) {
    for (int i = 0; i < SUFFIX_COUNT; i++)
        free(image->bytes[i]);
}

static void remove_database(const char *base) {
    char path[PATH_SIZE];
    for (int i = 0; i < SUFFIX_COUNT; i++) {
        path_of(path, base, SUFFIXES[i]);
        unlink(path);
    }
    path_of(path, base, "-shm");
    unlink(path);
}

static void lay_image(const struct image *image, const char *base) {
    char path[PATH_SIZE];
    remove_database(base);
    for (int i = 0; i < SUFFIX_COUNT; i++) {
        if (image->sizes[i] == 0)
            continue;
        path_of(path, base, SUFFIXES[i]);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fwrite(image->bytes[i], 1, image->sizes[i], file) != image->sizes[i] ||
            fclose(file) != 0)
            fatal("a file cannot be written");
    }
}

/* SQL */

static sqlite3 *open_database(const char *path) {
    sqlite3 *database;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "failing") !=
            SQLITE_OK ||
        sqlite3_bloom_init(database, NULL, NULL) != SQLITE_OK)
        fatal("the database cannot be opened");
    sqlite3_extended_result_codes(database, 1);
    return database;
}

static void close_database(sqlite3 *database) {
    if (sqlite3_close(database) != SQLITE_OK)
        fatal("statements are left open");
}

static void append_value(sqlite3_str *text, sqlite3_stmt *row, int column) {
    if (sqlite3_column_type(row, column) != SQLITE_BLOB) {
        sqlite3_str_appendf(text, "%s ", sqlite3_column_text(row, column));
        return;
    }
    const unsigned char *bytes = sqlite3_column_blob(row, column);
    int length = sqlite3_column_bytes(row, column);
    sqlite3_uint64 digest = 0xcbf29ce484222325; /* FNV-1a: enough to tell chunks apart */
    for (int i = 0; i < length; i++)
        digest = (digest ^ bytes[i]) * 0x100000001b3;
    sqlite3_str_appendf(text, "%016llx ", digest);
}

/* Runs SQL and appends the rows to text. */
static int run(sqlite3 *database, const char *sql, sqlite3_str *text) {
    while (*sql != '\0') {
        sqlite3_stmt *statement;
        int code = sqlite3_prepare_v2(database, sql, -1, &statement, &sql);
        if (code != SQLITE_OK)
            return code;
        if (statement == NULL)
            continue;
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int i = 0; i < sqlite3_column_count(statement); i++)
                append_value(text, statement, i);
        code = sqlite3_finalize(statement);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

/* The same with a format as that of sqlite3_mprintf. Nothing fails here, so an error is a
 * complaint. */
static void must_run(sqlite3 *database, sqlite3_str *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *sql = sqlite3_vmprintf(format, list);
    va_end(list);
    if (run(database, sql, text) != SQLITE_OK)
        complain("%s: %s", sqlite3_errmsg(database), sql);
    sqlite3_free(sql);
}

/* The name of the filter table, from sqlite3_malloc, empty when there is none. */
static char *table_name(sqlite3 *database) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database,
                           "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'",
                           -1, &statement, NULL) != SQLITE_OK) {
        complain("the schema cannot be read: %s", sqlite3_errmsg(database));
        return sqlite3_mprintf("");
    }
    const char *found = sqlite3_step(statement) == SQLITE_ROW
                            ? (const char *)sqlite3_column_text(statement, 0)
                            : "";
    char *name = sqlite3_mprintf("%s", found);
    sqlite3_finalize(statement);
    return name;
}

static sqlite3_int64 number_at(const unsigned char *bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (sqlite3_int64)bytes[3] << 24;
}

/* Whether each chunk counts the bits that are set, and the rows of layers are the sums of what
 * their chunks reported. */
static void check_counts(sqlite3 *database, const char *name) {
    enum { LAYERS = 128, LAYER_SHIFT = 40, COUNTS = 24 };
    sqlite3_int64 chunks[LAYERS] = {0}, keys[LAYERS] = {0}, ones[LAYERS] = {0};
    sqlite3_stmt *statement;
    /* UNION ALL gives the chunks first; those of an older generation than their layer's count for
     * nothing. */
    char *sql = sqlite3_mprintf(
        "SELECT id, bits, 0, 0, 0 FROM \"%w_chunks\" JOIN \"%w_layers\" ON layer = id >> 40 "
        "WHERE hex(substr(bits, 17, 1)) = printf('%%02X', generation) UNION ALL "
        "SELECT layer, NULL, chunks, keys, ones FROM \"%w_layers\"",
        name, name, name);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        complain("%s: %s", sql, sqlite3_errmsg(database));
    sqlite3_free(sql);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        sqlite3_int64 id = sqlite3_column_int64(statement, 0), set = 0;
        const unsigned char *bits = sqlite3_column_blob(statement, 1);
        sqlite3_int64 layer = bits != NULL ? id >> LAYER_SHIFT : id;
        if (layer < 0 || layer >= LAYERS) {
            complain("layer %lld is not expected", layer);
        } else if (bits != NULL) {
            for (int i = sqlite3_column_bytes(statement, 1) - 1; i >= COUNTS; i--)
                for (unsigned byte = bits[i]; byte != 0; byte &= byte - 1)
                    set++;
            if (number_at(bits + 4) != set)
                complain("chunk %lld counts %lld bits, but %lld are set", id, number_at(bits + 4),
                         set);
            chunks[layer] += number_at(bits + 8) > 0;
            keys[layer] += number_at(bits + 8);
            ones[layer] += number_at(bits + 12);
        } else if (sqlite3_column_int64(statement, 2) != chunks[layer] ||
                   sqlite3_column_int64(statement, 3) != keys[layer] ||
                   sqlite3_column_int64(statement, 4) != ones[layer]) {
            complain("layer %lld: its chunks reported otherwise than its row says", layer);
        }
    }
    sqlite3_finalize(statement);
}

/* All there is to say about the database: schema, both shadow tables to the byte, what the table
 * says about itself, and how many keys of a sample it has. From sqlite3_malloc. */
static char *state_of(sqlite3 *database) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    char *name = table_name(database);
    sqlite3_str_appendall(text, "schema: "); /* a text of nothing would be NULL */
    must_run(database, text, "SELECT name, sql FROM sqlite_master ORDER BY name");
    if (*name != '\0') {
        check_counts(database, name);
        must_run(
            database, text,
            "SELECT * FROM \"%w_layers\"; SELECT * FROM \"%w_chunks\"; SELECT info FROM \"%w\"; "
            "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + CASE WHEN i < 1150 THEN 29 "
            "ELSE 3 "
            "END FROM c WHERE i < 1240) SELECT count(*) FROM c "
            "WHERE EXISTS (SELECT 1 FROM \"%w\" WHERE key = i)",
            name, name, name, name);
    }
    sqlite3_free(name);
    return sqlite3_str_finish(text);
}

/* Goes on working: adds a key to the table, or makes a table when there is none. In between another
 * connection adds one, too, which this one must not overlook, whatever it still remembers. */
static void go_on(sqlite3 *database) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    char *name = table_name(database);
    if (*name == '\0') {
        sqlite3_free(name);
        name = sqlite3_mprintf("seen");
        must_run(database, text, "CREATE VIRTUAL TABLE seen USING bloom(capacity=10)");
    }
    must_run(
        database, text,
        "INSERT INTO \"%w\"(key) VALUES ('later'); SELECT count(*) FROM \"%w\" WHERE key = 'later'",
        name, name);
    sqlite3_free(name);
    char *answer = sqlite3_str_finish(text);
    if (answer == NULL || strcmp(answer, "1 ") != 0)
        complain("the key that was added later is not found");
    sqlite3_free(answer);
}

/* What a run without failures gives */

struct expectation {
    struct image start;
    int count;                                   /* of statements */
    char *answers[STATEMENTS_MAXIMUM];           /* of each statement */
    bool in_transaction[STATEMENTS_MAXIMUM + 1]; /* after the first i statements */
    /* After the first i statements: what is committed; what is there when a COMMIT follows. Each
     * with go_on() and, for a process that was killed, without. */
    char *committed[STATEMENTS_MAXIMUM + 1];
    char *committed_later[STATEMENTS_MAXIMUM + 1];
    char *kept_later[STATEMENTS_MAXIMUM + 1];
};

static char *copy(char *text) { /* off SQLite's heap, which is to be empty after each attempt */
    char *result = strdup(text ? text : "");
    sqlite3_free(text);
    return result;
}

static sqlite3 *start(const struct image *image) {
    lay_image(image, database_path);
    sqlite3 *database = open_database(database_path);
    if (mode->small_cache &&
        sqlite3_exec(database, "PRAGMA cache_size = 5", NULL, NULL, NULL) != SQLITE_OK)
        fatal("the cache cannot be made small");
    return database;
}

static void prepare_start(struct image *image) {
    remove_database(database_path);
    sqlite3 *database = open_database(database_path);
    char *sql = sqlite3_mprintf(
        "PRAGMA page_size = 512; PRAGMA journal_mode = %s; PRAGMA cache_size = 5; %s",
        mode->journal, scenario->before);
    sqlite3_str *text = sqlite3_str_new(NULL);
    int code = run(database, sql, text);
    sqlite3_free(sql);
    if (code == SQLITE_OK && scenario->unfinished != NULL) {
        code = run(database, scenario->unfinished, text);
        take_image(image, database_path);
    }
    sqlite3_free(sqlite3_str_finish(text));
    if (code != SQLITE_OK)
        fatal(sqlite3_errmsg(database));
    close_database(database);
    if (scenario->unfinished == NULL)
        take_image(image, database_path);
    else if (image->sizes[strcmp(mode->journal, "WAL") == 0 ? 2 : 1] == 0)
        fatal("there is nothing to recover");
}

static char *closing_state(const struct expectation *expected, int count, const char *ending,
                           bool later) {
    sqlite3 *database = start(&expected->start);
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (int i = 0; i < count; i++)
        must_run(database, text, "%s", scenario->statements[i]);
    if (!sqlite3_get_autocommit(database))
        must_run(database, text, "%s", ending);
    if (later)
        go_on(database);
    char *state = copy(state_of(database));
    sqlite3_free(sqlite3_str_finish(text));
    close_database(database);
    return state;
}

static void expect(struct expectation *expected) {
    memset(expected, 0, sizeof *expected);
    prepare_start(&expected->start);
    sqlite3 *database = start(&expected->start);
    for (int i = 0; i < STATEMENTS_MAXIMUM && scenario->statements[i] != NULL; i++) {
        sqlite3_str *text = sqlite3_str_new(NULL);
        must_run(database, text, "%s", scenario->statements[i]);
        expected->answers[i] = copy(sqlite3_str_finish(text));
        expected->count = i + 1;
        expected->in_transaction[i + 1] = !sqlite3_get_autocommit(database);
    }
    close_database(database);
    for (int i = 0; i <= expected->count; i++) {
        expected->committed[i] = closing_state(expected, i, "ROLLBACK", false);
        expected->committed_later[i] = closing_state(expected, i, "ROLLBACK", true);
        expected->kept_later[i] = closing_state(expected, i, "COMMIT", true);
    }
}

static void forget(struct expectation *expected) {
    free_image(&expected->start);
    for (int i = 0; i <= expected->count; i++) {
        if (i < expected->count)
            free(expected->answers[i]);
        free(expected->committed[i]);
        free(expected->committed_later[i]);
        free(expected->kept_later[i]);
    }
}

/* Attempts */

static bool is_of_the_file_system(int code) {
    return (code & 0xff) == SQLITE_IOERR || code == SQLITE_FULL || (code & 0xff) == SQLITE_CANTOPEN;
}

static void compare(const char *what, const char *state, const char *wanted,
                    const char *or_wanted) {
    if (strcmp(state, wanted) != 0 && strcmp(state, or_wanted) != 0)
        complain("%s is\n  %s\nnot\n  %s%s%s", what, state, wanted,
                 strcmp(wanted, or_wanted) != 0 ? "\nnor\n  " : "",
                 strcmp(wanted, or_wanted) != 0 ? or_wanted : "");
}

/* The database as it is found in its files: by a process that comes after this one. */
static void look_into_files(const char *what, const char *path, const char *wanted,
                            const char *or_wanted) {
    sqlite3 *database = open_database(path);
    sqlite3_str *text = sqlite3_str_new(NULL);
    char *state = state_of(database);
    compare(what, state, wanted, or_wanted);
    sqlite3_free(state);
    must_run(database, text, "PRAGMA integrity_check");
    char *integrity = sqlite3_str_finish(text);
    if (integrity == NULL || strcmp(integrity, "ok ") != 0)
        complain("%s: integrity_check says %s", what, integrity);
    sqlite3_free(integrity);
    close_database(database);
}

/* Runs the statements until one fails. Returns how many succeeded. */
static int run_statements(sqlite3 *database, const struct expectation *expected, int *code) {
    for (int i = 0; i < expected->count; i++) {
        sqlite3_str *text = sqlite3_str_new(NULL);
        *code = run(database, scenario->statements[i], text);
        char *answer = sqlite3_str_finish(text);
        if (*code == SQLITE_OK && strcmp(answer ? answer : "", expected->answers[i]) != 0)
            complain("%s gives %s, not %s", scenario->statements[i], answer, expected->answers[i]);
        sqlite3_free(answer);
        if (*code != SQLITE_OK)
            return i;
    }
    return expected->count;
}

/* Ends the transaction that a failed statement may have left open. Returns whether it was
 * committed. After ROLLBACK TO that failed nobody could want it committed; after RELEASE of the
 * outermost savepoint that failed, SQLite has rolled everything back, but stays in a transaction,
 * so that COMMIT commits nothing. */
static bool end_transaction(sqlite3 *database, const char *failed) {
    bool may_commit = strncmp(failed, "ROLLBACK TO", 11) != 0 && strncmp(failed, "RELEASE", 7) != 0;
    bool committed = false;
    if (!sqlite3_get_autocommit(database) && number % 2 == 0 && may_commit) {
        countdown = 0;
        committed = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
        kept += committed;
    }
    /* ROLLBACK itself may meet a failure that lasts. */
    if (!sqlite3_get_autocommit(database))
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    countdown = 0;
    if (!sqlite3_get_autocommit(database) &&
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK)
        complain("the transaction cannot be ended: %s", sqlite3_errmsg(database));
    return committed;
}

/* Runs the scenario with its n-th call failing. Returns false when there was no n-th. */
static bool attempt(const struct expectation *expected) {
    sqlite3 *database = start(&expected->start);
    struct image image;
    int code = SQLITE_OK;
    injected = 0;
    countdown = number;
    int done = run_statements(database, expected, &code);
    bool failed = done < expected->count;
    int next = failed ? done + 1 : done; /* a COMMIT that failed may have been one nevertheless */
    if (mode->may_be_killed)
        take_image(&image, database_path);
    if (failed) {
        errors_reported++;
        if (!is_of_the_file_system(code))
            complain("%s: result %d (%s)", scenario->statements[done], code,
                     sqlite3_errmsg(database));
    }
    bool committed = end_transaction(database, failed ? scenario->statements[done] : "");
    go_on(database);
    close_database(database);
    if (sqlite3_memory_used() != leaked)
        complain("%lld bytes leaked", sqlite3_memory_used() - leaked);
    leaked = sqlite3_memory_used();
    if (open_files != 0)
        complain("%d files left open", open_files);
    if (committed)
        look_into_files("the database", database_path, expected->kept_later[done],
                        expected->kept_later[done]);
    else
        look_into_files("the database", database_path, expected->committed_later[done],
                        expected->committed_later[next]);
    if (mode->may_be_killed) {
        lay_image(&image, copy_path);
        free_image(&image);
        look_into_files("what a killed process leaves", copy_path, expected->committed[done],
                        expected->committed[next]);
        kills++;
    }
    return injected > 0;
}

/* Every failure in a scenario and mode. */
static bool passes(const struct scenario *which, const struct mode *how) {
    struct expectation expected;
    long before = complaints;
    scenario = which;
    mode = how;
    number = 0;
    injecting = NULL;
    expect(&expected);
    for (int i = 0; i < FAILURE_COUNT; i++) {
        for (int lasting = 0; lasting <= 1; lasting++) {
            injecting = &FAILURES[i];
            from_then_on = lasting;
            /* Of the many like calls of a long statement, a sample. */
            for (number = 1; complaints == before && attempt(&expected); number += 1 + number / 3)
                attempts++;
        }
    }
    injecting = NULL;
    number = 0;
    forget(&expected);
    return complaints == before;
}

int main(void) {
    int passed = 0, failed = 0;
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/bloom_io_XXXXXX", temporary ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL)
        fatal("no temporary folder");
    snprintf(database_path, sizeof database_path, "%s/io.db", folder);
    snprintf(copy_path, sizeof copy_path, "%s/copy.db", folder);
    setvbuf(stdout, NULL, _IOLBF,
            BUFSIZ); /* complaints are seen even if a sanitizer ends the program */
    /* The journal of a statement becomes a file at once: opening it is a failure that undoes the
     * statement alone, whereas SQLite undoes the transaction for most others. */
    sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, 0);
    sqlite3_initialize();
    register_failing();

    for (int i = 0; i < SCENARIO_COUNT; i++)
        for (int j = 0; j < MODE_COUNT; j++) {
            if (passes(&SCENARIOS[i], &MODES[j]))
                passed++;
            else
                failed++;
        }
    for (int i = 0; i < FAILURE_COUNT; i++) {
        printf("%s: %ld failures\n", FAILURES[i].title, FAILURES[i].injected);
        if (FAILURES[i].injected == 0) { /* it did not get where it should */
            puts("no failure was injected");
            failed++;
        }
    }
    printf(
        "figures: %ld attempts with a failure, %ld ended in an error, %ld kills, %ld transactions "
        "committed after a failed statement\n",
        attempts, errors_reported, kills, kept);
    remove_database(database_path);
    remove_database(copy_path);
    rmdir(folder);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

/* What the sqlite3 shell has beyond SQLite and the recipes of sql/ use: generate_series, sha3 and
 * readfile; web_register, by which every connection of the WebAssembly module has them and the
 * extension; and web_watch, by which JavaScript hears how far a statement has come.
 */
#include "sqlite-bloom.h"
#include "sqlite3.h"

#include <emscripten.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- generate_series(start, stop, step): whole numbers from start to stop --- */

enum { SERIES_VALUE, SERIES_START, SERIES_STOP, SERIES_STEP };

struct series_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_int64 value, stop, step;
};

static int series_connect(sqlite3 *database, void *data, int count, const char *const *arguments,
                          sqlite3_vtab **table, char **error) {
    (void)data, (void)count, (void)arguments, (void)error;
    int status = sqlite3_declare_vtab(
        database, "CREATE TABLE x(value, start HIDDEN, stop HIDDEN, step HIDDEN)");
    if (status != SQLITE_OK)
        return status;
    *table = sqlite3_malloc(sizeof **table);
    if (*table == NULL)
        return SQLITE_NOMEM;
    memset(*table, 0, sizeof **table);
    sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    return SQLITE_OK;
}

static int series_disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

static int series_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
    (void)table;
    struct series_cursor *series = sqlite3_malloc(sizeof *series);
    if (series == NULL)
        return SQLITE_NOMEM;
    memset(series, 0, sizeof *series);
    *cursor = &series->base;
    return SQLITE_OK;
}

static int series_close(sqlite3_vtab_cursor *cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* The plan number has a bit for each argument given; those stand in the order of the columns. */
static int series_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    int place[4] = {-1, -1, -1, -1}, next = 1;
    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        if (column < SERIES_START || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!info->aConstraint[i].usable)
            return SQLITE_CONSTRAINT;
        place[column] = i;
    }
    for (int column = SERIES_START; column <= SERIES_STEP; column++)
        if (place[column] >= 0) {
            info->idxNum |= 1 << column;
            info->aConstraintUsage[place[column]].argvIndex = next++;
            info->aConstraintUsage[place[column]].omit = 1;
        }
    info->estimatedCost = 1000;
    info->estimatedRows = 1000;
    return SQLITE_OK;
}

static int series_filter(sqlite3_vtab_cursor *cursor, int plan, const char *name, int count,
                         sqlite3_value **arguments) {
    struct series_cursor *series = (struct series_cursor *)cursor;
    sqlite3_int64 *fields[] = {NULL, &series->value, &series->stop, &series->step};
    (void)name, (void)count;
    series->value = 0;
    series->stop = 0xffffffff;
    series->step = 1;
    for (int column = SERIES_START, i = 0; column <= SERIES_STEP; column++)
        if (plan & 1 << column)
            *fields[column] = sqlite3_value_int64(arguments[i++]);
    if (series->step == 0)
        series->step = 1;
    return SQLITE_OK;
}

static int series_next(sqlite3_vtab_cursor *cursor) {
    struct series_cursor *series = (struct series_cursor *)cursor;
    series->value += series->step;
    return SQLITE_OK;
}

static int series_eof(sqlite3_vtab_cursor *cursor) {
    const struct series_cursor *series = (const struct series_cursor *)cursor;
    return series->step > 0 ? series->value > series->stop : series->value < series->stop;
}

static int series_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const struct series_cursor *series = (const struct series_cursor *)cursor;
    if (column == SERIES_VALUE)
        sqlite3_result_int64(context, series->value);
    else if (column != SERIES_START)
        sqlite3_result_int64(context, column == SERIES_STOP ? series->stop : series->step);
    return SQLITE_OK;
}

static int series_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid) {
    *rowid = ((const struct series_cursor *)cursor)->value;
    return SQLITE_OK;
}

static const sqlite3_module SERIES = {
    .xConnect = series_connect,
    .xBestIndex = series_best_index,
    .xDisconnect = series_disconnect,
    .xOpen = series_open,
    .xClose = series_close,
    .xFilter = series_filter,
    .xNext = series_next,
    .xEof = series_eof,
    .xColumn = series_column,
    .xRowid = series_rowid,
};

/* --- sha3(value): SHA3-256 (FIPS 202) of its bytes --- */

enum { SHA3_RATE = 136, SHA3_BYTES = 32, SHA3_ROUNDS = 24 };

static uint64_t rotate(uint64_t word, unsigned count) {
    return count == 0 ? word : word << count | word >> (64 - count);
}

static void keccak(uint64_t state[25]) {
    uint8_t shift = 1; /* the register that the round constants come from */
    for (int round = 0; round < SHA3_ROUNDS; round++) {
        uint64_t column[5], turned[25];
        for (int x = 0; x < 5; x++)
            column[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
        for (int i = 0; i < 25; i++)
            state[i] ^= column[(i + 4) % 5] ^ rotate(column[(i + 1) % 5], 1);
        turned[0] = state[0];
        for (int x = 1, y = 0, t = 0; t < 24; t++) {
            int to_x = y, to_y = (2 * x + 3 * y) % 5;
            turned[to_x + 5 * to_y] =
                rotate(state[x + 5 * y], (unsigned)((t + 1) * (t + 2) / 2 % 64));
            x = to_x;
            y = to_y;
        }
        for (int i = 0; i < 25; i++)
            state[i] =
                turned[i] ^ (~turned[i / 5 * 5 + (i + 1) % 5] & turned[i / 5 * 5 + (i + 2) % 5]);
        for (int j = 0; j < 7; j++) {
            if (shift & 1)
                state[0] ^= UINT64_C(1) << ((1 << j) - 1);
            shift = (uint8_t)(shift << 1 ^ (shift >> 7) * 0x71);
        }
    }
}

static void sha3(sqlite3_context *context, int count, sqlite3_value **arguments) {
    uint64_t state[25] = {0};
    uint8_t digest[SHA3_BYTES];
    (void)count;
    if (sqlite3_value_type(arguments[0]) == SQLITE_NULL)
        return;
    const uint8_t *bytes = sqlite3_value_type(arguments[0]) == SQLITE_BLOB
                               ? sqlite3_value_blob(arguments[0])
                               : sqlite3_value_text(arguments[0]);
    int length = sqlite3_value_bytes(arguments[0]), place = 0;
    for (int i = 0; i < length; i++) {
        state[place / 8] ^= (uint64_t)bytes[i] << (8 * (place % 8));
        if (++place == SHA3_RATE) {
            keccak(state);
            place = 0;
        }
    }
    state[place / 8] ^= UINT64_C(6) << (8 * (place % 8));
    state[SHA3_RATE / 8 - 1] ^= UINT64_C(1) << 63;
    keccak(state);
    for (int i = 0; i < SHA3_BYTES; i++)
        digest[i] = (uint8_t)(state[i / 8] >> (8 * (i % 8)));
    sqlite3_result_blob(context, digest, sizeof digest, SQLITE_TRANSIENT);
}

/* --- readfile(name): the bytes of a file that open({ files }) was given --- */

/* The bytes of a file in memory that the caller frees, and their number. NULL: there is none. */
// clang-format off
EM_JS(char *, file_of_javascript, (sqlite3 *database, const char *name, int *length), {
    const bytes = Module.files.get(database).get(UTF8ToString(name));
    if (bytes === undefined)
        return 0;
    const start = _malloc(bytes.length + 1);
    if (start !== 0) {
        HEAPU8.set(bytes, start);
        HEAP32[length >> 2] = bytes.length;
    }
    return start;
});
// clang-format on

/* The shell gives NULL for a file that is not there; here the mistake is more likely than the wish.
 */
static void readfile(sqlite3_context *context, int count, sqlite3_value **arguments) {
    const char *name = (const char *)sqlite3_value_text(arguments[0]);
    int length = 0;
    (void)count;
    if (name == NULL)
        return;
    char *bytes = file_of_javascript(sqlite3_context_db_handle(context), name, &length);
    if (bytes != NULL) {
        sqlite3_result_blob(context, bytes, length, free);
        return;
    }
    char *message = sqlite3_mprintf("readfile: open() was given no file '%q', and SQL in "
                                    "WebAssembly sees no disk",
                                    name);
    if (message == NULL)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error(context, message, -1);
    sqlite3_free(message);
}

static int shell_functions(sqlite3 *database, char **error,
                           const struct sqlite3_api_routines *api) {
    (void)error, (void)api;
    int status = sqlite3_create_module(database, "generate_series", &SERIES, NULL);
    if (status != SQLITE_OK)
        return status;
    status = sqlite3_create_function(database, "sha3", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                     sha3, NULL, NULL);
    if (status != SQLITE_OK)
        return status;
    return sqlite3_create_function(database, "readfile", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                   readfile, NULL, NULL);
}

int web_register(void);
int web_register(void) {
    int status = sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init);
    return status == SQLITE_OK ? sqlite3_auto_extension((void (*)(void))shell_functions) : status;
}

/* Asks JavaScript whether to stop; row is the rowid that was inserted last. */
EM_JS(int, ask_javascript, (double row), { return Module.onProgress(row) ? 0 : 1; })

static int report(void *database) {
    return ask_javascript((double)sqlite3_last_insert_rowid(database));
}

/* Reports about every so many steps of SQLite's virtual machine; 0 ends the reports. */
void web_watch(sqlite3 *database, int steps);
void web_watch(sqlite3 *database, int steps) {
    sqlite3_progress_handler(database, steps, steps > 0 ? report : NULL, database);
}

/* What the sqlite3 shell has beyond SQLite and the recipes of sql/ use: generate_series and sha3,
 * from its own source, of which the linker takes no more, and a readfile that reads no disk.
 * web_register gives them and the extension to every connection of the WebAssembly module, and by
 * web_watch JavaScript hears how far a statement has come.
 */
#include "sqlite-bloom.h"

#define main shell_main
#include "shell.c"

#include <emscripten.h>

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
    int status = sqlite3_series_init(database, error, api);
    if (status == SQLITE_OK)
        status = sqlite3_shathree_init(database, error, api);
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

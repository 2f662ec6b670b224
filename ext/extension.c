/* The entry point, and the table of the functions that the extension registers. */
#include "sqlite-bloom.h"
#include "base/version.h"
#include "sqlite/functions.h"
#include "sqlite/rows/table_function.h"
#include "table/module.h"

#include <stdbool.h>
#include <string.h>

SQLITE_EXTENSION_INIT1

/* Name, fewest and most arguments (-1: any number), then scalar, or step and final. */
static const struct bloom_function FUNCTIONS[] = {
    {"bloom_new", 1, 3, bloom_sql_new, NULL, NULL},
    {"bloom_new_bits", 2, 2, bloom_sql_new_bits, NULL, NULL},
    {"bloom_add", 2, 2, bloom_sql_add, NULL, NULL},
    {"bloom_remove", 2, 2, bloom_sql_remove, NULL, NULL},
    {"bloom_convert", 2, 2, bloom_sql_convert, NULL, NULL},
    {"bloom_check", 2, 2, bloom_sql_check, NULL, NULL},
    {"bloom_union", -1, -1, bloom_sql_union, NULL, NULL},
    {"bloom_intersect", -1, -1, bloom_sql_intersect, NULL, NULL},
    {"bloom_count", 1, 2, bloom_sql_count, NULL, NULL},
    {"bloom_fpr_now", 1, 1, bloom_sql_fpr_now, NULL, NULL},
    {"bloom_info", 1, 1, bloom_sql_info, NULL, NULL},
    {"bloom_size", 1, 3, bloom_sql_size, NULL, NULL},
    {"bloom_hash", 1, 1, bloom_sql_hash, NULL, NULL},
    {"bloom_pin", 1, 1, bloom_sql_pin, NULL, NULL},
    {"bloom_import", 2, 2, bloom_sql_import, NULL, NULL},
    {"bloom_export", 2, 2, bloom_sql_export, NULL, NULL},
    {"bloom_url", 1, 1, bloom_sql_url, NULL, NULL},
    {"bloom_agg", 1, 4, NULL, bloom_sql_agg_step, bloom_sql_agg_final},
    {"bloom_list_agg", 1, 3, NULL, bloom_sql_list_agg_step, bloom_sql_list_agg_final},
    {"bloom_union_agg", 1, 1, NULL, bloom_sql_union_agg_step, bloom_sql_merge_final},
    {"bloom_intersect_agg", 1, 1, NULL, bloom_sql_intersect_agg_step, bloom_sql_merge_final},
    {"bloom_version", 0, 0, bloom_sql_version, NULL, NULL},
    {"bloom_build", 0, 0, bloom_sql_build, NULL, NULL}, /* the last: see is_loaded */
};

/* SQLite 3.45 and later must know which functions set a subtype (bloom_info) or ask for that of an
 * argument (of a key). Earlier releases ignore it. */
#ifndef SQLITE_RESULT_SUBTYPE
#define SQLITE_RESULT_SUBTYPE 0x001000000
#endif
#ifndef SQLITE_SUBTYPE
#define SQLITE_SUBTYPE 0x000100000
#endif

/* bloom_pin returns another pin at each call, so it is not deterministic. */
static int flags_of(const struct bloom_function *function) {
    const bool reads_key =
        function->scalar == bloom_sql_add || function->scalar == bloom_sql_remove ||
        function->scalar == bloom_sql_check || function->scalar == bloom_sql_count ||
        function->step == bloom_sql_agg_step;
    return SQLITE_UTF8 | SQLITE_INNOCUOUS |
           (function->scalar != bloom_sql_pin ? SQLITE_DETERMINISTIC : 0) |
           (function->scalar == bloom_sql_info ? SQLITE_RESULT_SUBTYPE : 0) |
           (reads_key ? SQLITE_SUBTYPE : 0);
}

static void release_registration(void *argument) {
    struct bloom_registration *registration = argument;
    struct bloom_connection *connection = registration->connection;
    sqlite3_free(registration);
    bloom_connection_close(connection);
}

static int register_function(sqlite3 *database, struct bloom_connection *connection,
                             const struct bloom_function *function) {
    int status = SQLITE_OK;
    for (int count = function->arguments_minimum;
         count <= function->arguments_maximum && status == SQLITE_OK; count++) {
        struct bloom_registration *registration = sqlite3_malloc(sizeof *registration);
        if (registration == NULL)
            return SQLITE_NOMEM;
        memset(registration, 0, sizeof *registration);
        registration->function = function;
        registration->connection = bloom_connection_keep(connection);
        /* SQLite releases the registration with the connection, and at once when this fails. */
        status = sqlite3_create_function_v2(database, function->name, count, flags_of(function),
                                            registration, function->scalar, function->step,
                                            function->final, release_registration);
    }
    return status;
}

/* The oldest SQLite that this is tested with. SQLITE_INNOCUOUS needs it. */
#define OLDEST_SQLITE 3031000
#define OLDEST_SQLITE_NAME "3.31.0"

static int refuse(char **error, const char *need) {
    if (error != NULL)
        *error = sqlite3_mprintf("bloom %s needs %s, but this is %s. Use another SQLite",
                                 BLOOM_RELEASE, need, sqlite3_libversion());
    return SQLITE_ERROR;
}

/* Returns true if this copy of the library is registered on the connection, or another copy of the
 * same release. An application and a plug-in of it may both load the extension. What is registered
 * then stays as it is, because SQLite refuses to replace it while a statement runs. */
static bool is_loaded(sqlite3 *database, const struct bloom_connection *connection) {
    static const char OURS[] = "bloom " BLOOM_RELEASE ","; /* see bloom_sql_build */
    sqlite3_stmt *statement;
    if (connection->loaded)
        return true;
    if (sqlite3_prepare_v2(database, "SELECT bloom_build()", -1, &statement, NULL) != SQLITE_OK) {
        /* The usual case. This clears the error, because sqlite3_open_v2 would take it for its own
         * if an automatic extension leaves it. */
        sqlite3_exec(database, "", NULL, NULL, NULL);
        return false;
    }
    sqlite3_step(statement);
    const char *build = (const char *)sqlite3_column_text(statement, 0); /* NULL: no row */
    bool loaded = sqlite3_strnicmp(build, OURS, (int)strlen(OURS)) == 0;
    sqlite3_finalize(statement);
    return loaded;
}

static int register_all(sqlite3 *database, struct bloom_connection *connection) {
    int status = bloom_table_register(connection);
    if (status == SQLITE_OK)
        status = bloom_table_functions_register(connection);
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS && status == SQLITE_OK; i++)
        status = register_function(database, connection, &FUNCTIONS[i]);
    return status;
}

/* Registers everything, unless it is registered already. */
static int load_into(sqlite3 *database, char **error) {
    int status = SQLITE_OK;
    if (sqlite3_libversion_number() < OLDEST_SQLITE)
        return refuse(error, "SQLite " OLDEST_SQLITE_NAME " or later");
#ifndef SQLITE_CORE /* otherwise the linker reports what is missing */
    if (sqlite3_api->create_module_v2 == NULL || sqlite3_api->blob_open == NULL)
        return refuse(
            error,
            "an SQLite that was built without SQLITE_OMIT_VIRTUALTABLE and SQLITE_OMIT_INCRBLOB");
#endif
    struct bloom_connection *connection = bloom_connection_open(database);
    if (connection == NULL) {
        status = SQLITE_NOMEM;
    } else if (!is_loaded(database, connection)) {
        status = register_all(database, connection);
        connection->loaded = status == SQLITE_OK;
    }
    if (status != SQLITE_OK && error != NULL)
        *error = sqlite3_mprintf(
            status == SQLITE_BUSY
                ? "bloom %s cannot replace the copy that is loaded while a statement runs. "
                  "Load it earlier, or when all statements have finished"
                : "bloom %s could not be registered: %s",
            BLOOM_RELEASE, sqlite3_errstr(status));
    if (connection != NULL)
        bloom_connection_close(connection);
    return status;
}

int sqlite3_bloom_init(sqlite3 *database, char **error, const sqlite3_api_routines *api) {
    if (!bloom_library_enter(api)) {
        if (error != NULL)
            *error = api->mprintf("bloom " BLOOM_RELEASE
                                  " serves another SQLite library in this process. Load a copy of "
                                  "the file, or first close the connections of that library");
        return SQLITE_ERROR;
    }
    int status = load_into(database, error);
    bloom_library_leave();
    return status;
}

/* Loads the extension and runs statements, one a line, each of whose first values it prints; or
 * "done", or the error. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static void answer(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        puts((const char *)sqlite3_column_text(statement, 0));
    else
        puts(code == SQLITE_DONE ? "done" : sqlite3_errmsg(database));
    sqlite3_finalize(statement);
}

int main(int count, char **arguments) {
    char line[2000], *words = NULL;
    sqlite3 *database;
    if (count != 2 || sqlite3_initialize() != SQLITE_OK ||
        sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_enable_load_extension(database, 1) != SQLITE_OK ||
        sqlite3_load_extension(database, arguments[1], NULL, &words) != SQLITE_OK) {
        puts(words != NULL ? words : "cannot begin");
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        answer(database, line);
    }
    return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}

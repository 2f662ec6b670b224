/* Loads the extension and runs statements, one a line, each of whose first values it prints; or
 * "done", or the error. From "hide COLUMN" on an authorizer answers SQLITE_IGNORE for it. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static int hide(void *column, int action, const char *table, const char *name, const char *schema,
                const char *inner) {
    (void)table, (void)schema, (void)inner;
    return action == SQLITE_READ && strcmp(name, column) == 0 ? SQLITE_IGNORE : SQLITE_OK;
}

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
    char line[2000], hidden[100], *words = NULL;
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
        if (sscanf(line, "hide %99s", hidden) == 1)
            sqlite3_set_authorizer(database, hide, hidden);
        else
            answer(database, line);
    }
    return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}

/* Numbers as SQL writes them. SQLite works them out, because strtod() depends on the locale. A text
 * must be a literal first, so that nothing in it can be executed. */
#include "sqlite/value.h"

#include <string.h>

/* Returns true if a text is a number as SQL writes it, perhaps with a sign, and nothing else. */
static bool is_literal(const char *text) {
    static const char DIGITS[] = "0123456789";
    text += *text == '+' || *text == '-';
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        size_t length = strspn(text + 2, "0123456789abcdefABCDEF");
        return length > 0 && text[2 + length] == '\0';
    }
    size_t digits = strspn(text, DIGITS);
    text += digits;
    if (*text == '.') {
        size_t decimals = strspn(++text, DIGITS);
        digits += decimals;
        text += decimals;
    }
    if (digits > 0 && (*text == 'e' || *text == 'E')) {
        text++;
        text += *text == '+' || *text == '-';
        digits = strspn(text, DIGITS);
        text += digits;
    }
    return digits > 0 && *text == '\0';
}

int bloom_sql_literal(sqlite3 *database, const char *text, size_t length, double *number) {
    static const char SELECT[] = "SELECT ";
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("%s%.*s", SELECT, (int)length, text);
    int code = SQLITE_OK;
    *number = 0;
    if (sql == NULL)
        return SQLITE_NOMEM;
    if (is_literal(sql + strlen(SELECT)))
        code = sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_NO_VTAB, &statement, NULL);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code == SQLITE_NOMEM || code == SQLITE_INTERRUPT ? code : SQLITE_OK;
    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW)
        *number = sqlite3_column_double(statement, 0);
    return sqlite3_finalize(statement);
}

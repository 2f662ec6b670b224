/* SQLite behind a pipe: opens connections, loads extensions and runs SQL for a Python program, so
 * that the scripts of tests/sql run on processors, C libraries and systems that only an emulator
 * runs here. apsw.py in this folder is the other end.
 *
 * A request is a letter, the number of a connection, the length of what follows, and that; numbers
 * are 32 bits, little-endian:
 *     v  the version               o  open the database of that name         d  change the folder
 *     l  load the extension        c  close                                  x  run SQL
 *     m  the bytes of memory that SQLite has
 * The answer is a series of parts, the last of which is D (done), or E with a message, or P (the
 * SQL has a parameter):
 *     S  a statement: number of columns, then its SQL with length and bytes
 *     R  a row, then one value for each column: N, I, F (decimal), T or B with length and bytes
 */
#include "sqlite3.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <direct.h>
#include <fcntl.h>
#include <io.h>
#define chdir _chdir
#else
#include <unistd.h>
#endif

enum { CONNECTIONS = 4096 };
static sqlite3 *connections[CONNECTIONS];

static uint32_t get_number(void) {
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) {
        int byte = getchar();
        if (byte == EOF)
            exit(0);
        number |= (uint32_t)byte << (8 * i);
    }
    return number;
}

static void put_number(uint32_t number) {
    for (int i = 0; i < 4; i++)
        putchar((int)(number >> (8 * i) & 0xff));
}

static void put_bytes(char kind, const void *bytes, size_t length) {
    putchar(kind);
    put_number((uint32_t)length);
    fwrite(bytes, 1, length, stdout);
}

static void put_value(sqlite3_stmt *statement, int column) {
    char text[64];
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        putchar('N');
        break;
    case SQLITE_INTEGER:
        sqlite3_snprintf(sizeof text, text, "%lld", sqlite3_column_int64(statement, column));
        put_bytes('I', text, strlen(text));
        break;
    case SQLITE_FLOAT:
        snprintf(text, sizeof text, "%.17g", sqlite3_column_double(statement, column));
        put_bytes('F', text, strlen(text));
        break;
    case SQLITE_TEXT: {
        const void *bytes = sqlite3_column_text(statement, column);
        put_bytes('T', bytes, (size_t)sqlite3_column_bytes(statement, column));
        break;
    }
    default: {
        const void *bytes = sqlite3_column_blob(statement, column);
        put_bytes('B', bytes, (size_t)sqlite3_column_bytes(statement, column));
        break;
    }
    }
}

/* Runs every statement of the SQL, as apsw does. */
static void run(sqlite3 *database, const char *sql) {
    while (*sql) {
        sqlite3_stmt *statement = NULL;
        int status = sqlite3_prepare_v2(database, sql, -1, &statement, &sql);
        if (status == SQLITE_OK && statement == NULL)
            continue;
        if (status == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0) {
            sqlite3_finalize(statement);
            putchar('P');
            return;
        }
        if (status == SQLITE_OK) {
            putchar('S');
            put_number((uint32_t)sqlite3_column_count(statement));
            put_number((uint32_t)strlen(sqlite3_sql(statement)));
            fputs(sqlite3_sql(statement), stdout);
            while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
                putchar('R');
                for (int i = 0; i < sqlite3_data_count(statement); i++)
                    put_value(statement, i);
            }
        }
        if (status != SQLITE_OK && status != SQLITE_DONE) {
            const char *message = sqlite3_errmsg(database);
            put_bytes('E', message, strlen(message));
            sqlite3_finalize(statement);
            return;
        }
        sqlite3_finalize(statement);
    }
    putchar('D');
}

static void answer(int kind, uint32_t number, const char *text) {
    sqlite3 **connection = &connections[number % CONNECTIONS];
    char *error = NULL;
    int status = SQLITE_OK;
    if (kind == 'x') {
        run(*connection, text);
        return;
    }
    char memory[32];
    snprintf(memory, sizeof memory, "%lld", (long long)sqlite3_memory_used());
    if (kind == 'v')
        put_bytes('T', sqlite3_libversion(), strlen(sqlite3_libversion()));
    else if (kind == 'm')
        put_bytes('T', memory, strlen(memory));
    else if (kind == 'd')
        status = chdir(text) == 0 ? SQLITE_OK : SQLITE_CANTOPEN;
    else if (kind == 'o')
        status = sqlite3_open_v2(
            text, connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    else if (kind == 'l') {
        sqlite3_db_config(*connection, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
        status = sqlite3_load_extension(*connection, text, NULL, &error);
    } else {
        sqlite3_close_v2(*connection);
        *connection = NULL;
    }
    if (status == SQLITE_OK)
        putchar('D');
    else if (error != NULL)
        put_bytes('E', error, strlen(error));
    else
        put_bytes('E', sqlite3_errstr(status), strlen(sqlite3_errstr(status)));
    sqlite3_free(error);
}

int main(void) {
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    for (;;) {
        int kind = getchar();
        if (kind == EOF)
            return 0;
        uint32_t number = get_number(), length = get_number();
        char *text = malloc((size_t)length + 1);
        if (text == NULL || fread(text, 1, length, stdin) != length)
            return 1;
        text[length] = 0;
        answer(kind, number, text);
        fflush(stdout);
        free(text);
    }
}

/* SQLite behind a pipe: opens connections, loads extensions and runs SQL for a Python program, so
 * that the scripts of tests/sql run on processors, C libraries and systems that only an emulator
 * runs here. apsw.py in this folder is the other end.
 *
 * A request is a line with a letter, the number of a connection, and a text in hexadecimal digits:
 *     v  the version               o  open the database of that name         d  change the folder
 *     l  load the extension        c  close                                  x  run SQL
 *     m  the bytes of memory that SQLite has
 * The answer is lines, the last of which is D (done), or E with a message, or P (the SQL has a
 * parameter):
 *     R  a row: its values, each N, or I or F and a number, or T or B and hexadecimal digits
 */
#include "sqlite3.h"
#ifdef SQLITE_CORE /* it is linked in, and to load it is to call it */
#include "sqlite-bloom.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <direct.h>
#define chdir _chdir
#else
#include <unistd.h>
#endif

enum { CONNECTIONS = 4096, LONGEST = 1 << 25 };
static sqlite3 *connections[CONNECTIONS];

static void put(char kind, const void *bytes, size_t length) {
    putchar(kind);
    for (size_t i = 0; i < length; i++) {
        putchar("0123456789abcdef"[((const unsigned char *)bytes)[i] >> 4]);
        putchar("0123456789abcdef"[((const unsigned char *)bytes)[i] & 15]);
    }
}

static void put_line(char kind, const char *text) {
    put(kind, text, strlen(text));
    putchar('\n');
}

static void put_value(sqlite3_stmt *statement, int column) {
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_INTEGER)
        printf("I%s", sqlite3_column_text(statement, column));
    else if (type == SQLITE_FLOAT)
        printf("F%.17g", sqlite3_column_double(statement, column));
    else if (type == SQLITE_TEXT) {
        const void *text = sqlite3_column_text(statement, column); /* in UTF-8 in any database */
        put('T', text, (size_t)sqlite3_column_bytes(statement, column));
    } else {
        const void *bytes = sqlite3_column_blob(statement, column);
        put(type == SQLITE_NULL ? 'N' : 'B', bytes,
            (size_t)sqlite3_column_bytes(statement, column));
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
            puts("P");
            return;
        }
        if (status == SQLITE_OK) {
            while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
                putchar('R');
                for (int i = 0; i < sqlite3_data_count(statement); i++) {
                    putchar(' ');
                    put_value(statement, i);
                }
                putchar('\n');
            }
        }
        if (status != SQLITE_DONE) {
            put_line('E', sqlite3_errmsg(database));
            sqlite3_finalize(statement);
            return;
        }
        sqlite3_finalize(statement);
    }
    puts("D");
}

static void answer(char kind, sqlite3 **connection, const char *text) {
    char *error = NULL;
    int status = SQLITE_OK;
    if (kind == 'v')
        printf("R I%d\n", sqlite3_libversion_number());
    else if (kind == 'm')
        printf("R I%lld\n", (long long)sqlite3_memory_used());
    else if (kind == 'd')
        status = chdir(text) == 0 ? SQLITE_OK : SQLITE_CANTOPEN;
    else if (kind == 'o')
        status = sqlite3_open_v2(
            text, connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    else if (kind == 'l') {
#ifdef SQLITE_CORE
        status = sqlite3_bloom_init(*connection, &error, NULL);
#else
        sqlite3_enable_load_extension(*connection, 1);
        status = sqlite3_load_extension(*connection, text, NULL, &error);
#endif
    } else {
        sqlite3_close_v2(*connection);
        *connection = NULL;
    }
    if (status == SQLITE_OK)
        puts("D");
    else
        put_line('E', error != NULL ? error : sqlite3_errstr(status));
    sqlite3_free(error);
}

int main(void) {
    static char line[LONGEST], text[LONGEST / 2];
    if (sqlite3_initialize() != SQLITE_OK) /* it may have been built not to do so by itself */
        return 1;
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *digits;
        sqlite3 **connection = &connections[strtoul(line + 1, &digits, 10) % CONNECTIONS];
        size_t length = 0;
        unsigned byte;
        for (digits++; sscanf(digits, "%2x", &byte) == 1; digits += 2)
            text[length++] = (char)byte;
        text[length] = '\0';
        if (line[0] == 'x')
            run(*connection, text);
        else
            answer(line[0], connection, text);
        fflush(stdout);
    }
    return 0;
}

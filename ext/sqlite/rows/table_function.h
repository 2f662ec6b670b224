/* Table-valued functions of one argument, such as bloom_keys(filter). A function is a struct
 * bloom_table_function, which says how it goes from row to row. Everything else that SQLite needs
 * from such a table is the same for all functions. */
#ifndef BLOOM_SQLITE_ROWS_TABLE_FUNCTION_H
#define BLOOM_SQLITE_ROWS_TABLE_FUNCTION_H

#include "sqlite/pins.h"

/* What each cursor begins with. begin and next set row and at_end. */
struct bloom_rows {
    sqlite3_vtab_cursor base; /* first: SQLite sees only this */
    sqlite3 *database;
    /* A copy of the argument, until the next run. */
    int type;       /* of SQLite: SQLITE_NULL for a pin. 0 before the first run. */
    uint8_t *bytes; /* of a BLOB or text (in UTF-8), or the eight of a number */
    size_t length, room;
    struct bloom_kept_pin pin;
    bool hashed;
    uint64_t hash[2]; /* of type and bytes */
    uint64_t row;     /* a number that no other row of the argument has */
    bool at_end;
};

/* One run of a query over an argument. */
struct bloom_run {
    sqlite3_value *value;    /* the argument */
    bool same;               /* it equals that of the run before, which succeeded */
    bool descending;         /* rows are wanted in descending order */
    unsigned plan;           /* what plan returned */
    sqlite3_value **further; /* the values of the plan's further constraints */
};

/* A table-valued function. */
struct bloom_table_function {
    const char *name;
    const char *declaration; /* CREATE TABLE x(...); the column of the argument is HIDDEN */
    const char *missing;     /* the error without an argument, after the name */
    int argument_column;
    int ordered_column; /* by which the rows ascend */
    bool descends;      /* they can descend as well */
    double rows;        /* an estimate of how many an argument has */
    size_t cursor_size; /* of a struct that begins with struct bloom_rows; zeros at first */

    /* Optional: adopts further constraints into a plan. Their values get the numbers from argument
     * on. Returns what begin needs to know about them, a number below 2^16. */
    unsigned (*plan)(sqlite3_index_info *info, int argument);

    /* Goes to the first row. Returns an SQLite code, as does bloom_rows_fail. */
    int (*begin)(struct bloom_rows *rows, const struct bloom_run *run);

    /* Goes to the next row. Returns an SQLite code. */
    int (*next)(struct bloom_rows *rows);

    /* Makes the value of a column other than the argument's the result. */
    void (*column)(const struct bloom_rows *rows, sqlite3_context *context, int column);

    /* Optional: frees what the function has allocated. */
    void (*close)(struct bloom_rows *rows);
};

/* Registers all functions. Returns an SQLite code. */
int bloom_table_functions_register(struct bloom_connection *connection);

/* Fails unless the argument may be a text, or the text of a list. Returns an SQLite code. */
int bloom_rows_need_text(struct bloom_rows *rows, const struct bloom_run *run, bool is_list);

/* Fails with "NAME: " and the formatted text (as sqlite3_mprintf). Returns the SQLite code. */
int bloom_rows_fail(struct bloom_rows *rows, const char *format, ...);

/* The functions. */
extern const struct bloom_table_function bloom_integers_function; /* integers.c */
extern const struct bloom_table_function bloom_keys_function;     /* keys.c */
extern const struct bloom_table_function bloom_lines_function;    /* lines.c */
extern const struct bloom_table_function bloom_list_function;     /* list.c */
extern const struct bloom_table_function bloom_url_keys_function; /* url.c */

#endif

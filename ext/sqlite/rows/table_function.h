/* Table-valued functions of one argument, as bloom_keys(filter): a function is one row of a table
 * (struct bloom_table_function) and what it does with its argument; everything that SQLite asks of
 * such a table besides is here.
 *
 * A cursor keeps a copy of its argument, since SQLite hands it over for one call only. The hidden
 * column that stands for the argument gives back a counted reference to this copy; of a pin it is
 * an error. In a join the argument of the next outer row is compared with the copy first: most are
 * equal, and a filter need not be copied and read again.
 *
 * All plans with an argument have the same cost and the same number of rows. A function that
 * offered a cheaper plan for key = ? would let SQLite 3.47 to 3.54 answer OR with one run for each
 * branch (MULTI-INDEX OR); these releases then compare the argument with the hidden column once
 * more, which a pin does not allow.
 */
#ifndef BLOOM_SQLITE_ROWS_TABLE_FUNCTION_H
#define BLOOM_SQLITE_ROWS_TABLE_FUNCTION_H

#include "sqlite/connection.h"

/* A copy of an argument; see table_function.c. */
struct bloom_argument;

/* What each cursor begins with. begin and next set row and at_end. */
struct bloom_rows {
    sqlite3_vtab_cursor base; /* first: SQLite sees only this */
    struct bloom_argument *argument;
    uint64_t row; /* the number of the row, another one for each row of an argument */
    bool at_end;
};

/* One run of a query over an argument. */
struct bloom_run {
    sqlite3_value *value;    /* the argument */
    bool same;               /* the value equals that of the run before, which succeeded */
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
    bool descends;      /* whether they can descend as well */
    double rows;        /* about how many an argument has */
    size_t cursor_size; /* of a struct that begins with struct bloom_rows; zeros at first */

    /* Optional: adopts further constraints into a plan, whose arguments have the numbers from
     * argument on. Returns what begin needs to know of them: less than 2^16. */
    unsigned (*plan)(sqlite3_index_info *info, int argument);

    /* Goes to the first row. Returns an SQLite code, as does bloom_rows_fail. */
    int (*begin)(struct bloom_rows *rows, const struct bloom_run *run);
    int (*next)(struct bloom_rows *rows); /* to the next row; returns an SQLite code, too */
    /* The value of a column other than the argument's. */
    void (*column)(const struct bloom_rows *rows, sqlite3_context *context, int column);
    void (*close)(struct bloom_rows *rows); /* optional: frees what the function has allocated */
};

/* Registers a function, whose row must outlast the connection. Returns an SQLite code. */
int bloom_table_function_register(struct bloom_connection *connection,
                                  const struct bloom_table_function *function);

/* Returns the bytes that the cursor keeps of an argument that is a BLOB or text (in UTF-8), until
 * the next run. */
const uint8_t *bloom_rows_bytes(const struct bloom_rows *rows, size_t *length);

/* The same for a function that takes a text. NULL is an error and not an empty text, because
 * readfile returns NULL for a file that is missing. A number is an error, too. */
int bloom_rows_text(struct bloom_rows *rows, const struct bloom_run *run, const uint8_t **text,
                    size_t *length);

/* Fails with "NAME: " and the formatted text (as sqlite3_mprintf). */
int bloom_rows_fail(struct bloom_rows *rows, const char *format, ...);

/* The connection, for bloom_sql_stored. */
sqlite3 *bloom_rows_database(const struct bloom_rows *rows);

/* The functions there are. */
extern const struct bloom_table_function bloom_integers_function; /* integers.c */
extern const struct bloom_table_function bloom_keys_function;     /* keys.c */
extern const struct bloom_table_function bloom_lines_function;    /* lines.c */
extern const struct bloom_table_function bloom_list_function;     /* list.c */
extern const struct bloom_table_function bloom_url_keys_function; /* url.c */

#endif

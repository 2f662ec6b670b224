/* What bloom uses of SQLite's C interface, so that it compiles where SQLite's own headers are not
 * installed. SQLite documents each name at sqlite.org/c3ref. tests/build/sources_test.py compares
 * values, types and places with its headers. A program that uses SQLite itself includes SQLite's
 * own sqlite3.h. */
#ifndef SQLITE3_H
#define SQLITE3_H

#include <stdarg.h>

/* The release whose structures these are. The library runs with every release since 3.31. */
#define SQLITE_VERSION "3.44.0"
#define SQLITE_VERSION_NUMBER 3044000

typedef long long sqlite3_int64;
typedef unsigned long long sqlite3_uint64;
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_blob sqlite3_blob;
typedef struct sqlite3_context sqlite3_context;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3_str sqlite3_str;
typedef struct sqlite3_value sqlite3_value;
typedef struct sqlite3_module sqlite3_module;
typedef struct sqlite3_vtab sqlite3_vtab;
typedef struct sqlite3_vtab_cursor sqlite3_vtab_cursor;
typedef struct sqlite3_index_info sqlite3_index_info;
typedef struct sqlite3_vfs sqlite3_vfs;
typedef int (*sqlite3_callback)(void *, int, char **, char **);
typedef void (*sqlite3_destructor_type)(void *);
typedef void (*sqlite3_step_type)(sqlite3_context *, int, sqlite3_value **);
typedef void (*sqlite3_final_type)(sqlite3_context *);

#define SQLITE_STATIC ((sqlite3_destructor_type)0)
#define SQLITE_TRANSIENT ((sqlite3_destructor_type)-1)

/* clang-format off */
enum {
    SQLITE_OK = 0, SQLITE_ERROR = 1, SQLITE_ABORT = 4, SQLITE_BUSY = 5, SQLITE_LOCKED = 6,
    SQLITE_NOMEM = 7, SQLITE_READONLY = 8, SQLITE_INTERRUPT = 9, SQLITE_CORRUPT = 11,
    SQLITE_SCHEMA = 17,
    SQLITE_TOOBIG = 18, SQLITE_CONSTRAINT = 19, SQLITE_AUTH = 23, SQLITE_ROW = 100,
    SQLITE_DONE = 101, SQLITE_CORRUPT_VTAB = 267, SQLITE_ABORT_ROLLBACK = 516,
    SQLITE_INTEGER = 1, SQLITE_FLOAT = 2, SQLITE_TEXT = 3, SQLITE_BLOB = 4, SQLITE_NULL = 5,
    SQLITE_UTF8 = 1,
    SQLITE_DETERMINISTIC = 0x000000800, SQLITE_INNOCUOUS = 0x000200000,
    SQLITE_PREPARE_PERSISTENT = 0x01, SQLITE_PREPARE_NO_VTAB = 0x04, SQLITE_LIMIT_LENGTH = 0,
    SQLITE_DBCONFIG_DEFENSIVE = 1010,
    SQLITE_DBSTATUS_CACHE_USED = 1, SQLITE_DBSTATUS_CACHE_USED_SHARED = 11,
    SQLITE_FCNTL_VFS_POINTER = 27, SQLITE_FCNTL_DATA_VERSION = 35,
    SQLITE_TXN_WRITE = 2, SQLITE_IGNORE = 2,
    SQLITE_VTAB_CONSTRAINT_SUPPORT = 1, SQLITE_VTAB_INNOCUOUS = 2, SQLITE_INDEX_SCAN_UNIQUE = 1,
    SQLITE_INDEX_CONSTRAINT_EQ = 2, SQLITE_INDEX_CONSTRAINT_GT = 4,
    SQLITE_INDEX_CONSTRAINT_LE = 8, SQLITE_INDEX_CONSTRAINT_LT = 16,
    SQLITE_INDEX_CONSTRAINT_GE = 32, SQLITE_INDEX_CONSTRAINT_MATCH = 64,
    SQLITE_INDEX_CONSTRAINT_IS = 72
};
/* clang-format on */

struct sqlite3_vfs {
    int iVersion, szOsFile, mxPathname;
    sqlite3_vfs *pNext;
    const char *zName;
};

struct sqlite3_vtab {
    const sqlite3_module *pModule;
    int nRef;
    char *zErrMsg;
};

struct sqlite3_vtab_cursor {
    sqlite3_vtab *pVtab;
};

struct sqlite3_index_info {
    int nConstraint;
    struct sqlite3_index_constraint {
        int iColumn;
        unsigned char op, usable;
        int iTermOffset;
    } * aConstraint;
    int nOrderBy;
    struct sqlite3_index_orderby {
        int iColumn;
        unsigned char desc;
    } * aOrderBy;
    struct sqlite3_index_constraint_usage {
        int argvIndex;
        unsigned char omit;
    } * aConstraintUsage;
    int idxNum;
    char *idxStr;
    int needToFreeIdxStr, orderByConsumed;
    double estimatedCost;
    sqlite3_int64 estimatedRows;
    int idxFlags;
    sqlite3_uint64 colUsed;
};

typedef int sqlite3_connect_type(sqlite3 *, void *, int, const char *const *, sqlite3_vtab **,
                                 char **);
typedef int sqlite3_vtab_call(sqlite3_vtab *);
typedef int sqlite3_savepoint_call(sqlite3_vtab *, int);
typedef int sqlite3_cursor_call(sqlite3_vtab_cursor *);

struct sqlite3_module {
    int iVersion;
    sqlite3_connect_type *xCreate, *xConnect;
    int (*xBestIndex)(sqlite3_vtab *, sqlite3_index_info *);
    sqlite3_vtab_call *xDisconnect, *xDestroy;
    int (*xOpen)(sqlite3_vtab *, sqlite3_vtab_cursor **);
    sqlite3_cursor_call *xClose;
    int (*xFilter)(sqlite3_vtab_cursor *, int, const char *, int, sqlite3_value **);
    sqlite3_cursor_call *xNext, *xEof;
    int (*xColumn)(sqlite3_vtab_cursor *, sqlite3_context *, int);
    int (*xRowid)(sqlite3_vtab_cursor *, sqlite3_int64 *);
    int (*xUpdate)(sqlite3_vtab *, int, sqlite3_value **, sqlite3_int64 *);
    sqlite3_vtab_call *xBegin, *xSync, *xCommit, *xRollback;
    int (*xFindFunction)(sqlite3_vtab *, int, const char *, sqlite3_step_type *, void **);
    int (*xRename)(sqlite3_vtab *, const char *);
    sqlite3_savepoint_call *xSavepoint, *xRelease, *xRollbackTo;
    int (*xShadowName)(const char *);
    int (*xIntegrity)(sqlite3_vtab *, const char *, const char *, int, char **);
};

/* The functions in the order in which SQLite passes them to an extension: F returns a value, P
 * returns nothing, V takes any number of arguments, and U stands for some that bloom does not use.
 * V has the name of its member, too, because snprintf can be a macro. */
/* clang-format off */
#define SQLITE_BLOOM_FUNCTIONS(F, P, V, U) \
    F(void *, aggregate_context, (sqlite3_context *c, int n), (c, n)) U(bind_blob, 1) \
    F(int, bind_blob, (sqlite3_stmt *s, int i, const void *v, int n, \
      sqlite3_destructor_type f), (s, i, v, n, f)) U(bind_int64, 2) \
    F(int, bind_int64, (sqlite3_stmt *s, int i, sqlite3_int64 v), (s, i, v)) \
    F(int, bind_null, (sqlite3_stmt *s, int i), (s, i)) U(column_blob, 12) \
    F(const void *, column_blob, (sqlite3_stmt *s, int i), (s, i)) \
    F(int, column_bytes, (sqlite3_stmt *s, int i), (s, i)) U(column_double, 6) \
    F(double, column_double, (sqlite3_stmt *s, int i), (s, i)) \
    F(int, column_int, (sqlite3_stmt *s, int i), (s, i)) \
    F(sqlite3_int64, column_int64, (sqlite3_stmt *s, int i), (s, i)) U(column_text, 6) \
    F(const unsigned char *, column_text, (sqlite3_stmt *s, int i), (s, i)) U(column_value, 2) \
    F(sqlite3_value *, column_value, (sqlite3_stmt *s, int i), (s, i)) U(declare_vtab, 10) \
    F(int, declare_vtab, (sqlite3 *d, const char *t), (d, t)) U(errmsg, 2) \
    F(const char *, errmsg, (sqlite3 *d), (d)) U(exec, 1) \
    F(int, exec, (sqlite3 *d, const char *t, sqlite3_callback f, void *v, char **e), (d, t, f, \
      v, e)) U(finalize, 1) F(int, finalize, (sqlite3_stmt *s), (s)) P(free, (void *v), (v)) \
    U(get_autocommit, 1) F(int, get_autocommit, (sqlite3 *d), (d)) U(last_insert_rowid, 4) \
    F(sqlite3_int64, last_insert_rowid, (sqlite3 *d), (d)) \
    F(const char *, libversion, (void), ()) F(int, libversion_number, (void), ()) \
    F(void *, malloc, (int n), (n)) V(char *, mprintf, mprintf, (const char *, ...)) U(reset, 7) \
    F(int, reset, (sqlite3_stmt *s), (s)) \
    P(result_blob, (sqlite3_context *c, const void *v, int n, sqlite3_destructor_type f), (c, \
      v, n, f)) P(result_double, (sqlite3_context *c, double v), (c, v)) \
    P(result_error, (sqlite3_context *c, const char *t, int n), (c, t, n)) U(result_int, 1) \
    P(result_int, (sqlite3_context *c, int v), (c, v)) \
    P(result_int64, (sqlite3_context *c, sqlite3_int64 v), (c, v)) U(result_text, 1) \
    P(result_text, (sqlite3_context *c, const char *t, int n, sqlite3_destructor_type f), (c, \
      t, n, f)) U(result_value, 3) \
    P(result_value, (sqlite3_context *c, sqlite3_value *v), (c, v)) U(snprintf, 3) \
    V(char *, snprintf, xsnprintf, (int, char *, const char *, ...)) \
    F(int, step, (sqlite3_stmt *s), (s)) \
    F(int, table_column_metadata, (sqlite3 *d, const char *m, const char *t, const char *n, \
      const char **y, const char **s, int *o, int *k, int *a), (d, m, t, n, y, s, o, k, a)) \
    U(total_changes, 1) F(int, total_changes, (sqlite3 *d), (d)) U(user_data, 3) \
    F(void *, user_data, (sqlite3_context *c), (c)) \
    F(const void *, value_blob, (sqlite3_value *v), (v)) \
    F(int, value_bytes, (sqlite3_value *v), (v)) U(value_double, 1) \
    F(double, value_double, (sqlite3_value *v), (v)) U(value_int64, 1) \
    F(sqlite3_int64, value_int64, (sqlite3_value *v), (v)) \
    F(int, value_numeric_type, (sqlite3_value *v), (v)) \
    F(const unsigned char *, value_text, (sqlite3_value *v), (v)) U(value_type, 3) \
    F(int, value_type, (sqlite3_value *v), (v)) \
    F(char *, vmprintf, (const char *t, va_list a), (t, a)) U(prepare_v2, 1) \
    F(int, prepare_v2, (sqlite3 *d, const char *t, int n, sqlite3_stmt **s, const char **e), \
      (d, t, n, s, e)) U(create_module_v2, 2) \
    F(int, create_module_v2, (sqlite3 *d, const char *n, const sqlite3_module *m, void *v, \
      sqlite3_destructor_type f), (d, n, m, v, f)) U(blob_bytes, 1) \
    F(int, blob_bytes, (sqlite3_blob *b), (b)) F(int, blob_close, (sqlite3_blob *b), (b)) \
    F(int, blob_open, (sqlite3 *d, const char *s, const char *t, const char *c, \
      sqlite3_int64 r, int w, sqlite3_blob **b), (d, s, t, c, r, w, b)) \
    F(int, blob_read, (sqlite3_blob *b, void *v, int n, int o), (b, v, n, o)) \
    F(int, blob_write, (sqlite3_blob *b, const void *v, int n, int o), (b, v, n, o)) \
    U(file_control, 1) \
    F(int, file_control, (sqlite3 *d, const char *s, int o, void *v), (d, s, o, v)) \
    U(result_error_nomem, 9) P(result_error_nomem, (sqlite3_context *c), (c)) U(sleep, 1) \
    F(int, sleep, (int n), (n)) U(result_error_code, 6) \
    P(result_error_code, (sqlite3_context *c, int e), (c, e)) U(randomness, 1) \
    P(randomness, (int n, void *v), (n, v)) \
    F(sqlite3 *, context_db_handle, (sqlite3_context *c), (c)) U(limit, 1) \
    F(int, limit, (sqlite3 *d, int i, int n), (d, i, n)) \
    F(sqlite3_stmt *, next_stmt, (sqlite3 *d, sqlite3_stmt *s), (d, s)) \
    F(const char *, sql, (sqlite3_stmt *s), (s)) U(create_function_v2, 8) \
    F(int, create_function_v2, (sqlite3 *d, const char *n, int a, int t, void *v, \
      sqlite3_step_type x, sqlite3_step_type s, sqlite3_final_type z, \
      sqlite3_destructor_type f), (d, n, a, t, v, x, s, z, f)) \
    V(int, db_config, db_config, (sqlite3 *, int, ...)) U(db_status, 1) \
    F(int, db_status, (sqlite3 *d, int o, int *v, int *h, int r), (d, o, v, h, r)) \
    F(int, extended_errcode, (sqlite3 *d), (d)) V(void, log, log, (int, const char *, ...)) \
    U(strnicmp, 3) \
    F(int, strnicmp, (const char *a, const char *b, int n), (a, b, n)) U(blob_reopen, 4) \
    F(int, blob_reopen, (sqlite3_blob *b, sqlite3_int64 r), (b, r)) \
    V(int, vtab_config, vtab_config, (sqlite3 *, int, ...)) \
    F(int, vtab_on_conflict, (sqlite3 *d), (d)) U(db_readonly, 2) \
    F(int, db_readonly, (sqlite3 *d, const char *s), (d, s)) U(errstr, 1) \
    F(const char *, errstr, (int e), (e)) F(int, stmt_busy, (sqlite3_stmt *s), (s)) \
    F(int, stmt_readonly, (sqlite3_stmt *s), (s)) \
    F(int, stricmp, (const char *a, const char *b), (a, b)) U(auto_extension, 5) \
    F(int, auto_extension, (void (*f)(void)), (f)) U(malloc64, 4) \
    F(void *, malloc64, (sqlite3_uint64 n), (n)) U(realloc64, 1) \
    F(void *, realloc64, (void *v, sqlite3_uint64 n), (v, n)) U(result_blob64, 1) \
    P(result_blob64, (sqlite3_context *c, const void *v, sqlite3_uint64 n, \
      sqlite3_destructor_type f), (c, v, n, f)) \
    P(result_text64, (sqlite3_context *c, const char *t, sqlite3_uint64 n, \
      sqlite3_destructor_type f, unsigned char e), (c, t, n, f, e)) U(value_subtype, 5) \
    F(unsigned, value_subtype, (sqlite3_value *v), (v)) \
    P(result_subtype, (sqlite3_context *c, unsigned t), (c, t)) U(set_last_insert_rowid, 6) \
    P(set_last_insert_rowid, (sqlite3 *d, sqlite3_int64 r), (d, r)) \
    F(int, prepare_v3, (sqlite3 *d, const char *t, int n, unsigned o, sqlite3_stmt **s, \
      const char **e), (d, t, n, o, s, e)) U(result_pointer, 2) \
    P(result_pointer, (sqlite3_context *c, void *v, const char *t, sqlite3_destructor_type f), \
      (c, v, t, f)) F(void *, value_pointer, (sqlite3_value *v, const char *t), (v, t)) \
    F(int, vtab_nochange, (sqlite3_context *c), (c)) U(vtab_collation, 1) \
    F(const char *, vtab_collation, (sqlite3_index_info *i, int n), (i, n)) U(str_new, 3) \
    F(sqlite3_str *, str_new, (sqlite3 *d), (d)) F(char *, str_finish, (sqlite3_str *s), (s)) \
    V(void, str_appendf, str_appendf, (sqlite3_str *, const char *, ...)) \
    P(str_vappendf, (sqlite3_str *s, const char *t, va_list a), (s, t, a)) \
    P(str_append, (sqlite3_str *s, const char *t, int n), (s, t, n)) \
    P(str_appendall, (sqlite3_str *s, const char *t), (s, t)) \
    P(str_appendchar, (sqlite3_str *s, int n, char c), (s, n, c)) U(str_errcode, 1) \
    F(int, str_errcode, (sqlite3_str *s), (s)) F(int, str_length, (sqlite3_str *s), (s)) \
    F(char *, str_value, (sqlite3_str *s), (s)) U(txn_state, 13) \
    F(int, txn_state, (sqlite3 *d, const char *s), (d, s))
/* clang-format on */

#define SQLITE_BLOOM_NOTHING(name, count)
#ifdef SQLITE_CORE
#define SQLITE_BLOOM_FUNCTION(type, name, parameters, arguments) type sqlite3_##name parameters;
#define SQLITE_BLOOM_PROCEDURE(name, parameters, arguments) void sqlite3_##name parameters;
#define SQLITE_BLOOM_VARIADIC(type, name, member, parameters) type sqlite3_##name parameters;
SQLITE_BLOOM_FUNCTIONS(SQLITE_BLOOM_FUNCTION, SQLITE_BLOOM_PROCEDURE, SQLITE_BLOOM_VARIADIC,
                       SQLITE_BLOOM_NOTHING)
#endif

#endif

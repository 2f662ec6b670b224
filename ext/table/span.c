/* Only writing drafts, and asking for cache_size as an operation begins, run SQL. */
#include "table/span.h"

#include "base/limits.h"
#include <limits.h>
#include <string.h>

/* Transactions of SQLite */

static bool knows_transactions(void) {
    return SQLITE_VERSION_NUMBER >= 3034000 && sqlite3_libversion_number() >= 3034000;
}

/* Returns true if a write transaction on a schema (NULL: on any) is under way, or if SQLite does
 * not report that none is. */
static bool is_writing(const struct bloom_span *span, const char *schema) {
    sqlite3 *connection = span->database.connection;
#if SQLITE_VERSION_NUMBER >= 3034000
    /* Asking about all schemas first is faster, because SQLite then compares no names. */
    if (knows_transactions())
        return sqlite3_txn_state(connection, NULL) == SQLITE_TXN_WRITE &&
               (schema == NULL || sqlite3_txn_state(connection, schema) == SQLITE_TXN_WRITE);
#else
    (void)schema;
#endif
    return !sqlite3_get_autocommit(connection);
}

static unsigned version_of(const struct bloom_span *span) {
    unsigned version = 0;
    sqlite3_file_control(span->database.connection, span->database.file_schema,
                         SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

/* Objects */

/* Returns true if an object is of the schema of another, and has that name. */
static bool is_called(const struct bloom_span *span, const struct bloom_span *other,
                      const char *name) {
    return sqlite3_stricmp(span->database.name, name) == 0 &&
           sqlite3_stricmp(span->database.schema, other->database.schema) == 0;
}

/* An object has come to the list or left it: those with its name learn whether they are twins. */
static void note_twins(const struct bloom_span *changed) {
    struct bloom_span *const first = changed->database.owner->tables;
    unsigned count = 0;
    for (const struct bloom_span *each = first; each != NULL; each = each->next)
        count += is_called(each, changed, changed->database.name);
    for (struct bloom_span *each = first; each != NULL; each = each->next)
        if (is_called(each, changed, changed->database.name))
            each->has_twins = count > 1;
}

bool bloom_span_is_making(const struct bloom_span *span) {
    const struct bloom_span *each = span->database.owner->tables;
    if (!span->has_twins)
        return span->writing.transaction == BLOOM_MAKING;
    while (each != NULL && (each->writing.transaction != BLOOM_MAKING ||
                            !is_called(each, span, span->database.name)))
        each = each->next;
    return each != NULL;
}

static void forget_names(struct bloom_span *span) {
    span->named_at[BLOOM_BY_CREATE] = span->named_at[BLOOM_BY_RENAME] = -1;
}

void *bloom_span_open(size_t size, struct bloom_connection *connection, const char *schema,
                      const char *name) {
    struct bloom_span *span = sqlite3_malloc64(size);
    if (span == NULL)
        return NULL;
    memset(span, 0, size);
    span->rows.total = &connection->table_bytes;
    span->rows.limit = bloom_limits.cache_bytes;
    span->references = 1;
    forget_names(span);
    if (!bloom_database_open(&span->database, connection, schema, name)) {
        bloom_database_close(&span->database);
        sqlite3_free(span);
        return NULL;
    }
    span->next = connection->tables;
    connection->tables = span;
    note_twins(span);
    bloom_connection_keep(connection)->tables_opened++;
    return span;
}

void bloom_span_close(struct bloom_span *span) {
    if (--span->references > 0)
        return;
    struct bloom_connection *connection = span->database.owner;
    if (span->writing.transaction != BLOOM_OUTSIDE) /* DROP, or a CREATE that fails */
        connection->has_orphans = true;
    struct bloom_span **link = &connection->tables;
    while (*link != span)
        link = &(*link)->next;
    *link = span->next;
    note_twins(span);
    bloom_span_end(span);
    sqlite3_free(span->new_name);
    bloom_database_close(&span->database);
    sqlite3_free(span);
    bloom_connection_close(connection);
}

/* Names */

/* What is called as the object is, or as RENAME calls its table, is of another table now. */
static void make_stale(const struct bloom_span *span) {
    for (struct bloom_span *each = span->database.owner->tables; each != NULL; each = each->next)
        each->is_stale = each->is_stale || is_called(each, span, span->database.name) ||
                         (span->new_name != NULL && is_called(each, span, span->new_name));
}

int bloom_span_rename(struct bloom_span *span, const char *name) {
    span->new_name = sqlite3_mprintf("%s", name);
    span->named_at[BLOOM_BY_RENAME] = INT_MAX;
    make_stale(span);
    return span->new_name == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

/* What was named before a savepoint of that depth began, or within it before it was released, is
 * not undone by a rollback to one of that depth. */
static void keep_names(struct bloom_span *span, int depth) {
    for (int i = 0; i < BLOOM_NAMINGS; i++)
        if (depth < span->named_at[i])
            span->named_at[i] = depth;
}

/* Of all objects, because SQLite does not tell one that has made its table within the savepoint. */
static void undo_names(struct bloom_connection *owner, int depth) {
    for (struct bloom_span *each = owner->tables; each != NULL; each = each->next)
        for (int i = 0; i < BLOOM_NAMINGS; i++)
            if (depth < each->named_at[i]) {
                make_stale(each);
                each->named_at[i] = -1;
            }
}

/* Memory */

/* Tells the process what the object holds, and returns what all objects hold. */
static uint64_t count_bytes(struct bloom_span *span) {
    const uint64_t all = bloom_library_count(span->counted, span->rows.bytes);
    span->counted = span->rows.bytes;
    return all;
}

static void drop_rows(struct bloom_span *span) {
    bloom_rows_drop(&span->rows);
    if (span->counted > 0)
        count_bytes(span);
}

/* Judges the changes since this was done last, because those to come will be alike. */
static void judge_density(struct bloom_span *span) {
    struct bloom_writing *writing = &span->writing;
    if (writing->changes > 0 && span->rows.used > 0)
        writing->was_dense = 2 * writing->changes > 3 * span->rows.used;
    writing->changes = 0;
}

void bloom_span_end(struct bloom_span *span) {
    judge_density(span);
    drop_rows(span);
    span->knows_row_0 = span->has_asked = false;
}

/* Others have changed rows. Drafts stay. */
static void drop_all_else(struct bloom_span *span) {
    judge_density(span);
    bloom_rows_drop_clean(&span->rows);
    span->knows_row_0 = false;
}

static bool is_defensive(const struct bloom_span *span) {
    int is_on = 0;
    sqlite3_db_config(span->database.connection, SQLITE_DBCONFIG_DEFENSIVE, -1, &is_on);
    return is_on != 0;
}

/* If idle memory is freed before SQLite was asked for its cache_size, the next operation asks. */
void bloom_span_rest(struct bloom_span *span) {
    struct bloom_connection *owner = span->database.owner;
    bloom_span_check(span, BLOOM_OPERATION, 0);
    if (span->writing.transaction != BLOOM_OUTSIDE)
        return;
    owner->has_orphans = owner->has_orphans && is_writing(span, NULL);
    if (span->is_guest && (!span->is_usable || !is_defensive(span))) {
        bloom_span_end(span);
        span->is_guest = false;
    }
    if (span->rows.bytes == span->counted || count_bytes(span) <= span->rows.limit)
        return;
    drop_rows(span);
    span->rows.is_full = !span->has_asked;
}

static void ask_limit(struct bloom_span *span) {
    struct bloom_row_memory *rows = &span->rows;
    const uint64_t size = bloom_database_cache_bytes(&span->database);
    rows->limit = size > bloom_limits.cache_bytes ? size : bloom_limits.cache_bytes;
    rows->is_full = *rows->total >= rows->limit;
    span->has_asked = true;
}

/* Whether memory is usable */

void bloom_span_ask_file(struct bloom_span *span) {
    sqlite3_vfs *vfs = NULL;
    sqlite3_file_control(span->database.connection, span->database.file_schema,
                         SQLITE_FCNTL_VFS_POINTER, &vfs);
    span->is_memory_file = vfs != NULL && strcmp(vfs->zName, "memdb") == 0;
}

/* If another connection shares a page cache, the total exceeds this connection's share. */
bool bloom_span_may_keep(const struct bloom_span *span) {
    int total = 0, share = 0, highest;
    if (!span->is_usable || span->writing.transaction == BLOOM_BEGUN)
        return span->is_usable;
    sqlite3 *connection = span->database.connection;
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED, &total, &highest, 0);
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED_SHARED, &share, &highest, 0);
    return total == share;
}

static int write_twin(struct bloom_span *span, struct bloom_span *twin) {
    int code = bloom_database_begin_operation(&twin->database);
    if (code == SQLITE_OK)
        code = bloom_span_write(twin);
    if (code == SQLITE_OK) {
        bloom_span_end(twin);
        return code;
    }
    sqlite3_free(bloom_database_message(&span->database));
    span->database.base.zErrMsg = bloom_database_message(&twin->database);
    return code;
}

/* When drafts cannot be written, SQLite may disconnect their object, hence the references. */
static int write_twins(struct bloom_span *span) {
    int code = SQLITE_OK;
    for (struct bloom_span *each = span->database.owner->tables, *next; each != NULL; each = next) {
        each->references++;
        if (code == SQLITE_OK && each != span && is_called(each, span, span->database.name))
            code = write_twin(span, each);
        next = each->next;
        bloom_span_close(each);
    }
    return code;
}

/* A span outside goes on if the database has the same version, and that of a guest if nobody has
 * changed rows by hand. For a guest's first operation, which may be its only one, memory would cost
 * more than it saves. */
static void continue_outside(struct bloom_span *span, bool is_guest) {
    const bool is_new_guest = is_guest && !span->is_guest;
    span->is_usable = !is_new_guest || is_defensive(span);
    if (is_guest != span->is_guest)
        bloom_span_end(span);
    span->is_guest = is_guest;
    if (!span->is_usable)
        return;
    const unsigned version = version_of(span);
    const int changes = is_guest ? sqlite3_total_changes(span->database.connection) : 0;
    if (version != span->version ||
        (changes != span->writing.foreign_changes && !is_defensive(span)))
        bloom_span_end(span);
    span->version = version;
    span->writing.foreign_changes = changes;
}

int bloom_span_begin_operation(struct bloom_span *span) {
    int code =
        span->is_stale ? SQLITE_ABORT_ROLLBACK : bloom_database_begin_operation(&span->database);
    if (code != SQLITE_OK)
        return code;
    if (span->has_twins)
        code = write_twins(span);
    const enum bloom_transaction transaction = span->writing.transaction;
    const bool is_guest = transaction == BLOOM_OUTSIDE && is_writing(span, span->database.schema);
    span->is_usable = !span->is_memory_file && transaction != BLOOM_MAKING &&
                      (!is_guest || (knows_transactions() && !span->has_twins &&
                                     !span->database.owner->has_orphans));
    if (!span->is_usable) {
        if (code == SQLITE_OK)
            code = bloom_span_write(span); /* an error, if there are drafts at all */
        bloom_span_end(span);
    } else if (transaction == BLOOM_OUTSIDE) {
        continue_outside(span, is_guest);
    }
    if (span->rows.is_full && !span->has_asked)
        ask_limit(span);
    return code;
}

/* Drafts */

/* Returns true if at most one statement that writes is under way. A further one begins a savepoint,
 * which SQLite reports, or is not rolled back on its own. */
static bool is_alone(struct bloom_span *span) {
    sqlite3_stmt *statement = NULL;
    unsigned writers = 0;
    while (!span->writing.is_alone && writers < 2 &&
           (statement = sqlite3_next_stmt(span->database.connection, statement)) != NULL)
        writers += sqlite3_stmt_busy(statement) && !sqlite3_stmt_readonly(statement);
    span->writing.is_alone = writers < 2;
    return span->writing.is_alone;
}

bool bloom_span_may_draft(struct bloom_span *span) {
    return span->writing.transaction == BLOOM_BEGUN && span->writing.has_changed &&
           knows_transactions() && is_alone(span);
}

/* Writes the first draft through a handle. A row that somebody has deleted is written again. */
static int write_draft(struct bloom_span *span, sqlite3_blob **handle) {
    struct bloom_database *database = &span->database;
    const struct bloom_row *row = span->rows.drafts;
    int code = bloom_database_open_row(database, row->id, true, handle);
    if (code != SQLITE_OK)
        return code;
    if (*handle == NULL)
        return bloom_database_write_row(database, row->id, row->bytes, row->length);
    if ((uint32_t)sqlite3_blob_bytes(*handle) != row->length)
        return bloom_database_damaged(database, "row %lld was changed in the meantime", row->id);
    code = sqlite3_blob_write(*handle, row->bytes, (int)row->length, 0);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* When writing fails, SQLite may roll back within the call, which drops all rows. So the list is
 * looked at again each time. */
int bloom_span_write(struct bloom_span *span) {
    sqlite3_blob *handle = NULL;
    int code = SQLITE_OK;
    if (span->rows.drafts == NULL)
        return code;
    bloom_span_ask_file(span);
    if (span->is_memory_file)
        return bloom_database_fail(&span->database, SQLITE_ABORT_ROLLBACK,
                                   "the database was replaced in a transaction that had changed "
                                   "the table. Commit before you deserialize");
    span->references++;
    span->database.is_checked = false; /* SQLite calls xSync and xSavepoint on their own */
    bloom_rows_sort_drafts(&span->rows);
    while (code == SQLITE_OK && span->rows.drafts != NULL) {
        code = write_draft(span, &handle);
        if (code == SQLITE_OK && span->rows.drafts != NULL)
            bloom_rows_clean_first(&span->rows);
    }
    bloom_database_close_row(&handle, code);
    if (code == SQLITE_READONLY &&
        sqlite3_db_readonly(span->database.connection, span->database.schema) == 0)
        code = bloom_database_fail(&span->database, code,
                                   "keys that were added wait in memory, and PRAGMA query_only is "
                                   "on, so they cannot be written. Turn it off");
    bloom_span_close(span);
    return code;
}

/* Transactions */

/* Returns the number of rows that the connection has changed, except those that this table has
 * written to its shadow table. */
static int foreign_changes(const struct bloom_span *span) {
    return sqlite3_total_changes(span->database.connection) - span->database.changes;
}

/* xSavepoint follows if a savepoint is open. */
static void begin_span(struct bloom_span *span, enum bloom_transaction transaction) {
    bloom_span_end(span);
    bloom_span_ask_file(span);
    span->writing = (struct bloom_writing){
        .transaction = transaction, .was_dense = span->writing.was_dense, .depth = -1};
}

void bloom_span_create(struct bloom_span *span) {
    begin_span(span, BLOOM_MAKING);
    make_stale(span);
    span->is_stale = false;
    span->named_at[BLOOM_BY_CREATE] = INT_MAX;
    bloom_span_check(span, BLOOM_X_CREATE, 0);
}

int bloom_span_begin(sqlite3_vtab *base) {
    struct bloom_span *span = (struct bloom_span *)base;
    const int code = span->has_twins ? write_twins(span) : SQLITE_OK;
    if (code != SQLITE_OK)
        return code;
    begin_span(span, BLOOM_BEGUN);
    bloom_span_check(span, BLOOM_X_BEGIN, 0);
    return code;
}

/* A trigger on the shadow table may begin a savepoint while a row is written. Drafts then wait, as
 * after an error. Other tables have no such savepoint then, either. */
int bloom_span_savepoint(sqlite3_vtab *base, int depth) {
    struct bloom_span *span = (struct bloom_span *)base;
    const bool waits = bloom_database_is_writing(&span->database);
    const bool is_outermost = span->writing.depth < 0;
    const int code = waits ? SQLITE_OK : bloom_span_write(span);
    keep_names(span, depth);
    span->writing.is_alone = span->writing.has_changed = false;
    if (!waits && code == SQLITE_OK) {
        if (span->writing.transaction == BLOOM_MAKING)
            begin_span(span, BLOOM_BEGUN);
        span->writing.depth = depth;
    } else {
        for (struct bloom_span *each = span->database.owner->tables; each != NULL;
             each = each->next)
            if (each->writing.depth >= depth)
                each->writing.depth = depth - 1;
    }
    if (is_outermost)
        span->writing.foreign_changes = foreign_changes(span);
    if (!waits && code == SQLITE_OK)
        bloom_span_check(span, BLOOM_X_SAVEPOINT, depth);
    if (code != SQLITE_OK) /* SQLite takes no message from this method */
        sqlite3_log(code, "%s", base->zErrMsg);
    sqlite3_free(bloom_database_message(&span->database));
    return code;
}

/* What a changeset writes is found when one of its savepoints is released. It may begin more of
 * them meanwhile, so changes are counted from the outermost one on. A statement that SQLite
 * protects by a savepoint of its own counts its changes when it has ended, so that they do not
 * count here. */
int bloom_span_release(sqlite3_vtab *base, int depth) {
    struct bloom_span *span = (struct bloom_span *)base;
    const int changes = foreign_changes(span);
    span->writing.is_alone = span->writing.has_changed = false;
    if (changes != span->writing.foreign_changes)
        drop_all_else(span);
    span->writing.foreign_changes = changes;
    if (span->writing.depth >= depth)
        span->writing.depth = depth - 1;
    keep_names(span, depth);
    bloom_span_check(span, BLOOM_X_RELEASE, depth);
    return SQLITE_OK;
}

void bloom_span_rollback_to(struct bloom_span *span, int depth) {
    undo_names(span->database.owner, depth);
    span->writing.is_alone = span->writing.has_changed = false;
    if (depth > span->writing.depth) { /* it failed to begin, and drafts are from before it */
        drop_all_else(span);
    } else {
        bloom_span_end(span);
        span->writing.depth = depth;
    }
    bloom_span_check(span, BLOOM_X_ROLLBACK_TO, depth);
}

static void leave_transaction(struct bloom_span *span) {
    bloom_span_end(span);
    span->writing = (struct bloom_writing){.was_dense = span->writing.was_dense};
}

int bloom_span_sync(sqlite3_vtab *base) {
    struct bloom_span *span = (struct bloom_span *)base;
    const int code = bloom_span_write(span);
    if (code == SQLITE_OK)
        bloom_span_check(span, BLOOM_X_SYNC, 0);
    return code;
}

int bloom_span_commit(sqlite3_vtab *base) {
    struct bloom_span *span = (struct bloom_span *)base;
    forget_names(span);
    span->database.owner->has_orphans = false;
    leave_transaction(span);
    bloom_span_check(span, BLOOM_X_COMMIT, 0);
    return SQLITE_OK;
}

/* Nobody would hear of an error when a connection that is busy is closed. So the transaction is
 * rolled back, lest it be committed without what could not be written. */
void bloom_span_rollback(struct bloom_span *span) {
    const bool goes_on = knows_transactions() && is_writing(span, span->database.schema);
    span->database.owner->has_orphans = span->database.owner->has_orphans || goes_on;
    if (goes_on && bloom_span_write(span) != SQLITE_OK) {
        sqlite3_free(bloom_database_message(&span->database));
        sqlite3_exec(span->database.connection, "ROLLBACK", NULL, NULL, NULL);
    }
    undo_names(span->database.owner, -1);
    leave_transaction(span);
    bloom_span_check(span, BLOOM_X_ROLLBACK, 0);
}

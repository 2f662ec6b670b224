/* Runs statements, with what makes one fail in the middle, after which the connection goes on, and
 * judges how they end. */
#include "simulator.h"

#include "../faults/failing_memory.h"

/* ---- Faults ---- */

static enum fault armed;
static unsigned countdown; /* 0: nothing is to fail */
static bool fault_met;

static bool fault_fails(void) {
    if (countdown == 0 || --countdown > 0)
        return false;
    fault_met = true;
    countdown = armed == FAULT_ALLOCATIONS;
    return true;
}

static bool allocation_fails(void) {
    return (armed == FAULT_ALLOCATION || armed == FAULT_ALLOCATIONS) && fault_fails();
}

/* Denies what concerns shadow tables, which the extension runs itself, and pragmas. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *schema,
                     const char *trigger) {
    (void)unused, (void)b, (void)schema, (void)trigger;
    if ((a == NULL || strstr(a, "_data") == NULL) && action != SQLITE_PRAGMA)
        return SQLITE_OK;
    return fault_fails() ? SQLITE_DENY : SQLITE_OK;
}

static int progress(void *unused) {
    (void)unused;
    return fault_fails();
}

static const char *fault_arm(sqlite3 *database, enum fault fault) {
    static const char *const FAULTS[] = {"no fault", "allocation", "allocations from then on",
                                         "DENY", "interrupt"};
    /* The disk is called far less often than memory is allocated. */
    const unsigned number = 1 + random_below(1U << random_below(fault >= FAULT_DISK ? 5 : 9));
    armed = fault;
    fault_met = false;
    if (fault >= FAULT_DISK)
        return disk_fail(number, fault == FAULT_DISK_LASTING);
    if (fault == FAULT_DENY)
        sqlite3_set_authorizer(database, authorize, NULL);
    else if (fault == FAULT_INTERRUPT)
        sqlite3_progress_handler(database, 1, progress, NULL);
    countdown = fault == FAULT_NONE ? 0 : number;
    return FAULTS[fault];
}

static bool fault_disarm(sqlite3 *database) {
    countdown = 0;
    if (armed >= FAULT_DISK)
        fault_met = disk_forgive();
    if (armed == FAULT_DENY)
        sqlite3_set_authorizer(database, NULL, NULL);
    else if (armed == FAULT_INTERRUPT)
        sqlite3_progress_handler(database, 0, NULL, NULL);
    armed = FAULT_NONE;
    faults_met += fault_met;
    return fault_met;
}

void faults_install(void) {
    install_failing_memory();
}

enum fault random_fault(void) {
    if (random_below(100) >= setting.faults)
        return FAULT_NONE;
    /* A crash after a failure of the disk would have more outcomes. */
    return (enum fault)(1 +
                        random_below(setting.crashes > 0 ? FAULT_INTERRUPT : FAULT_DISK_LASTING));
}

bool may_come_late(enum fault fault) {
    return fault == FAULT_INTERRUPT || fault >= FAULT_DISK;
}

/* ---- Statements ---- */

char last_error[300];

bool lost_transaction(struct connection *connection) {
    if (!connection->in_transaction || !sqlite3_get_autocommit(connection->database))
        return false;
    note("%s: -- the transaction was rolled back", connection->name);
    model_end(connection);
    return true;
}

int run(struct connection *connection, sqlite3_stmt *statement, const char *sql, enum fault fault,
        bool *met) {
    sqlite3 *database = connection->database;
    int code = SQLITE_OK;
    const char *name = fault_arm(database, fault);
    if (statement != NULL) {
        while (sqlite3_step(statement) == SQLITE_ROW)
            continue;
        code = sqlite3_reset(statement);
    } else {
        code = exec(database, sql);
    }
    sqlite3_snprintf(sizeof last_error, last_error, "%s", sqlite3_errmsg(database));
    *met = fault_disarm(database);
    note("%s: %s; -- result %d, with %s", connection->name,
         statement != NULL ? sqlite3_sql(statement) : sql, code, *met ? name : "no fault");
    return code;
}

bool is_busy(int code) {
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

int really(struct connection *connection, int code) {
    if (code == SQLITE_OK || is_busy(code))
        return code;
    sqlite3_snprintf(sizeof last_error, last_error, "%s", sqlite3_errmsg(connection->database));
    int locked = SQLITE_OK;
    for (unsigned schema = 0; schema < SCHEMAS && locked == SQLITE_OK; schema++)
        if (connection->links[schema].file != NULL)
            locked = exec(connection->database,
                          sql_of("SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]));
    return is_busy(locked) ? locked : code;
}

void refused(struct connection *connection, unsigned schema) {
    const struct link *link = &connection->links[schema];
    refusals++;
    if (!connection->in_transaction || link->sure || link->file->shared)
        return;
    exec(connection->database, "ROLLBACK");
    note("%s: ROLLBACK, since its first look was refused", connection->name);
    model_end(connection);
}

void judge(struct connection *connection, int code, bool met, const char *what) {
    if (code == SQLITE_OK || met)
        return;
    code = really(connection, code);
    expect(is_busy(code), "%s: %s: result %d (%s)", connection->name, what, code, last_error);
    refusals++;
}

void judge_write(struct connection *connection, int code, bool met, const char *what) {
    bool is_read_only = connection->query_only && (code & 0xff) == SQLITE_READONLY;
    judge(connection, code, met || is_read_only, what);
}

bool plain(struct connection *connection, const char *sql) {
    bool met;
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    lost_transaction(connection);
    judge_write(connection, code, false, sql);
    return code == SQLITE_OK;
}

unsigned random_schema(const struct connection *connection) {
    return connection->links[1].file != NULL && random_once_in(2);
}

bool choose(struct connection *connection, unsigned *schema, unsigned *slot, bool exists) {
    *schema = random_schema(connection);
    *slot = random_below(SLOTS);
    for (unsigned i = 0; i < SLOTS; i++, *slot = (*slot + 1) % SLOTS)
        if (peek(connection, *schema)->tables[*slot].exists == exists)
            return true;
    return false;
}

bool settle_view(struct connection *connection, unsigned schema) {
    const char *sql = sql_of("SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
    int code = exec(connection->database, sql);
    if (code == SQLITE_OK && connection->in_transaction) {
        view(connection, schema);
        connection->links[schema].sure = true;
    }
    if (code == SQLITE_OK)
        return true;
    expect(is_busy(code), "%s: %s: %s", connection->name, sql,
           sqlite3_errmsg(connection->database));
    refused(connection, schema);
    return false;
}

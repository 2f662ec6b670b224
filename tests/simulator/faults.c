/* What makes a statement fail in the middle, after which the connection goes on. */
#include "../faults/failing_memory.h"
#include "disk.h"
#include "simulator.h"

#include <string.h>

static enum fault armed;
static unsigned countdown; /* 0: nothing is to fail */
static bool met;

static bool fails(void) {
    if (countdown == 0 || --countdown > 0)
        return false;
    met = true;
    countdown = armed == FAULT_ALLOCATIONS;
    return true;
}

static bool allocation_fails(void) {
    return (armed == FAULT_ALLOCATION || armed == FAULT_ALLOCATIONS) && fails();
}

void faults_install(void) {
    install_failing_memory();
}

/* Denies what concerns shadow tables, which the extension runs itself, and pragmas. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *schema,
                     const char *trigger) {
    (void)unused, (void)b, (void)schema, (void)trigger;
    if ((a == NULL || strstr(a, "_data") == NULL) && action != SQLITE_PRAGMA)
        return SQLITE_OK;
    return fails() ? SQLITE_DENY : SQLITE_OK;
}

static int progress(void *unused) {
    (void)unused;
    return fails();
}

const char *fault_arm(sqlite3 *database, enum fault fault) {
    static const char *const FAULTS[] = {"no fault", "allocation", "allocations from then on",
                                         "DENY", "interrupt"};
    /* The disk is called far less often than memory is allocated. */
    const unsigned number = 1 + random_below(1U << random_below(fault >= FAULT_DISK ? 5 : 9));
    armed = fault;
    met = false;
    if (fault >= FAULT_DISK)
        return disk_fail(random_below(disk_failures()), number, fault == FAULT_DISK_LASTING);
    if (fault == FAULT_DENY)
        sqlite3_set_authorizer(database, authorize, NULL);
    else if (fault == FAULT_INTERRUPT)
        sqlite3_progress_handler(database, 1, progress, NULL);
    countdown = fault == FAULT_NONE ? 0 : number;
    return FAULTS[fault];
}

bool fault_disarm(sqlite3 *database) {
    countdown = 0;
    if (armed >= FAULT_DISK)
        met = disk_forgive();
    if (armed == FAULT_DENY)
        sqlite3_set_authorizer(database, NULL, NULL);
    else if (armed == FAULT_INTERRUPT)
        sqlite3_progress_handler(database, 0, NULL, NULL);
    armed = FAULT_NONE;
    faults_met += met;
    return met;
}

/* What makes a statement fail in the middle, after which the connection goes on. */
#include "disk.h"
#include "simulator.h"

#include <string.h>

static sqlite3_mem_methods original;
static enum fault armed;
static unsigned countdown; /* 0: nothing is to fail */
static bool met;
static const char *name = "";

static bool fails(void) {
    if (countdown == 0)
        return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    met = true;
    if (armed != FAULT_ALLOCATIONS)
        countdown = 0;
    return true;
}

static bool allocation_fails(void) {
    return (armed == FAULT_ALLOCATION || armed == FAULT_ALLOCATIONS) && fails();
}

static void *failing_malloc(int bytes) {
    return allocation_fails() ? NULL : original.xMalloc(bytes);
}

static void *failing_realloc(void *memory, int bytes) {
    return allocation_fails() ? NULL : original.xRealloc(memory, bytes);
}

void faults_install(void) {
    sqlite3_mem_methods failing;
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original);
    failing = original;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* else small allocations would not come by */
}

static bool ends_in(const char *text, const char *end) {
    size_t length = text != NULL ? strlen(text) : 0;
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* Denies what concerns shadow tables, which the extension runs itself, and pragmas. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *schema,
                     const char *trigger) {
    (void)unused, (void)b, (void)schema, (void)trigger;
    if (!ends_in(a, "_data") && action != SQLITE_PRAGMA)
        return SQLITE_OK;
    return fails() ? SQLITE_DENY : SQLITE_OK;
}

static int progress(void *unused) {
    (void)unused;
    return fails();
}

void fault_arm(sqlite3 *database, enum fault fault, unsigned number) {
    static const char *const NAMES_OF_FAULTS[] = {
        "", "allocation", "allocations from", "DENY", "interrupt", "disk", "disk from"};
    armed = fault;
    met = false;
    name = NAMES_OF_FAULTS[fault];
    if (fault == FAULT_DISK || fault == FAULT_DISK_LASTING) {
        name = disk_fail(random_below(disk_failures()), number, fault == FAULT_DISK_LASTING);
        return;
    }
    if (fault == FAULT_DENY)
        sqlite3_set_authorizer(database, authorize, NULL);
    else if (fault == FAULT_INTERRUPT)
        sqlite3_progress_handler(database, 1, progress, NULL);
    countdown = fault == FAULT_NONE ? 0 : number;
}

bool fault_disarm(sqlite3 *database) {
    countdown = 0;
    if (armed == FAULT_DISK || armed == FAULT_DISK_LASTING)
        met = disk_forgive();
    if (armed == FAULT_DENY)
        sqlite3_set_authorizer(database, NULL, NULL);
    else if (armed == FAULT_INTERRUPT)
        sqlite3_progress_handler(database, 0, NULL, NULL);
    armed = FAULT_NONE;
    faults_met += met;
    return met;
}

const char *fault_name(void) {
    return name;
}

/* What makes a statement fail in the middle: an allocation, the authorizer, an interrupt, a call of
 * the disk. Each counts its occasions and fails at the n-th, or from then on. A crash is of the
 * same kind, but the statement goes on: what the disk had at the n-th change of it comes back when
 * all connections are closed. */
#include "world.h"

#include "../faults/failing_memory.h"

enum { NO_FAULT, ALLOCATION, DENY, INTERRUPT, KILL, POWER, FIRST_OF_DISK };

const struct fault FAULT[] = {
    [NO_FAULT] = {"none", false, false, false},
    [ALLOCATION] = {"allocation", false, false, false},
    [DENY] = {"deny", false, false, false},
    [INTERRUPT] = {"interrupt", true, false, false},
    [KILL] = {"kill", false, true, true},
    [POWER] = {"power", false, true, true},
    /* One for each row of DISK_FAILURE, in that order. */
    [FIRST_OF_DISK] = {"read", true, true, false},
    {"write", true, true, false},
    {"write_full", true, true, false},
    {"sync", true, true, false},
    {"truncate", true, true, false},
    {"open", true, true, false},
    {"delete", true, true, false},
    {"access", true, true, false},
    {"file_size", true, true, false},
    {"lock", true, true, false},
    {"lock_busy", true, true, false},
    {"shm_map", true, true, false},
    {"shm_lock", true, true, false},
    {"shm_busy", true, true, false},
};
const size_t FAULT_COUNT = COUNT_OF(FAULT);

static const struct fault *chosen;
static int chosen_count;
static bool is_lasting;

static int countdown; /* 0: nothing is to fail */
static bool is_armed, was_met;
bool fault_was_met, fault_counts;

static bool fails_now(void) {
    if (!is_armed || !fault_counts || countdown == 0 || --countdown > 0)
        return false;
    was_met = true;
    countdown = is_lasting;
    return true;
}

static bool allocation_fails(void) {
    return chosen == &FAULT[ALLOCATION] && fails_now();
}

/* Denies what concerns shadow tables, which the extension runs itself, and pragmas. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *database,
                     const char *trigger) {
    (void)unused, (void)b, (void)database, (void)trigger;
    if ((a == NULL || strstr(a, "_data") == NULL) && action != SQLITE_PRAGMA)
        return SQLITE_OK;
    return fails_now() ? SQLITE_DENY : SQLITE_OK;
}

static int progress(void *unused) {
    (void)unused;
    return fails_now();
}

void faults_install(void) {
    for (size_t i = FIRST_OF_DISK; i < FAULT_COUNT; i++)
        if (i - FIRST_OF_DISK >= DISK_FAILURE_COUNT ||
            strcmp(FAULT[i].name, DISK_FAILURE[i - FIRST_OF_DISK].name) != 0)
            fatal(FAULT[i].name, NULL);
    install_failing_memory();
}

void fault_choose(const struct fault *fault, int count) {
    chosen = fault == FAULT ? NULL : fault;
    is_lasting = count < 0;
    chosen_count = abs(count);
}

const struct fault *fault_chosen(void) {
    return chosen;
}

void fault_arm(sqlite3 *database) {
    fault_was_met = was_met = false;
    if (chosen == NULL)
        return;
    countdown = chosen_count;
    if (chosen >= &FAULT[FIRST_OF_DISK])
        disk_fail(&DISK_FAILURE[chosen - &FAULT[FIRST_OF_DISK]], chosen_count, is_lasting);
    else if (chosen->is_crash)
        disk_watch(chosen == &FAULT[POWER], chosen_count);
    else if (chosen == &FAULT[DENY])
        sqlite3_set_authorizer(database, authorize, NULL);
    else if (chosen == &FAULT[INTERRUPT])
        sqlite3_progress_handler(database, 1, progress, NULL);
    is_armed = true;
}

bool fault_disarm(sqlite3 *database) {
    const struct fault *fault = chosen;
    is_armed = false;
    chosen = NULL;
    if (fault == NULL)
        return false;
    if (fault >= &FAULT[FIRST_OF_DISK])
        was_met = disk_forgive();
    else if (fault->is_crash)
        was_met = disk_watched();
    else if (fault == &FAULT[DENY])
        sqlite3_set_authorizer(database, NULL, NULL);
    else if (fault == &FAULT[INTERRUPT])
        sqlite3_progress_handler(database, 0, NULL, NULL);
    return fault_was_met = was_met;
}

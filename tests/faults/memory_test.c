/* Every allocation of every function, aggregate and table operation, and of registering them all,
 * fails in turn.
 *
 * For each scenario the n-th allocation is made to fail, for n = 1, 2, ... until the scenario runs
 * without meeting a failure. Each time the outcome must be SQLITE_NOMEM, or success where SQLite
 * can do without; afterwards the database must answer the scenario's question as before the attempt
 * (or as after it, when it succeeded), and closing it must leave no byte allocated. Twice: the one
 * allocation fails, and all from it on.
 *
 * With PLACES=1 in the environment one allocation fails, the first of each place of ext/ that calls
 * SQLite: no error of a call is passed over. With EVERY=8 every eighth allocation fails.
 */
#include "failing_memory.h"
#include "scenarios.h"

static long countdown; /* allocations until the failure; 0 when none is to fail */
static bool all_from_then_on;

static bool allocation_fails(void) {
    look_at_place(0);
    if (countdown == 0 || --countdown > 0)
        return false;
    failures++;
    countdown = all_from_then_on;
    return true;
}

static void arm(long number, bool all) {
    failures = 0;
    all_from_then_on = all;
    countdown = number;
}

static void arm_one(sqlite3 *database, long number) {
    (void)database;
    arm(number, false);
}

static void arm_all(sqlite3 *database, long number) {
    (void)database;
    arm(number, true);
}

static void arm_look(sqlite3 *database, long number) {
    (void)database, (void)number;
    arm(0, false);
    look_for_places();
}

static void arm_place(sqlite3 *database, long number) {
    arm_one(database, number_of_place(number));
}

static void disarm(sqlite3 *database) {
    (void)database;
    countdown = 0;
    places.looking = false;
}

static long next(long number) {
    return number + (number < 3000 ? stride() : 331);
}

static void test_failures(void **state) {
    enum { NOMEM = SQLITE_NOMEM };
    static const struct fault FAULTS[][2] = {
        {{"allocation", NOMEM, NOMEM, false, arm_one, FAULT_REFUSED},
         {"allocations from", NOMEM, NOMEM, false, arm_all, FAULT_REFUSED}},
        {{"nothing", NOMEM, NOMEM, false, arm_look, FAULT_NOWHERE},
         {"place", NOMEM, NOMEM, false, arm_place, FAULT_AT_PLACES}},
    };
    attempt_faults(*state, FAULTS[getenv("PLACES") != NULL], 2);
}

/* SQLite can do without some pages of its cache, a copy of a chunk is left out, and a message that
 * fails stays without words. Else a failure is reported. By place, half of the scenarios have one
 * of their own. */
static void test_sums(void **state) {
    (void)state;
    print_message("figures: %ld failures of allocations, %ld ended in SQLITE_NOMEM\n",
                  attempts_failed, attempts_refused);
    assert_true(2 * attempts_failed >= ALL_SCENARIOS);
    assert_true(10 * attempts_refused >= 9 * attempts_failed && said_out_of_memory > 0);
}

int main(void) {
    struct CMUnitTest tests[ALL_SCENARIOS + 1] = {
        [ALL_SCENARIOS] = {"Most failures are reported", test_sums, NULL, NULL, NULL}};
    add_scenarios(tests, test_failures);
    install_failing_memory();
    sqlite3_initialize();
    return cmocka_run_group_tests_name("memory failures", tests, NULL, NULL);
}

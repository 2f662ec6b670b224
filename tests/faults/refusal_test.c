/* Every function, aggregate and table operation, and registering them all, is interrupted wherever
 * SQLite asks whether to go on, and forbidden or ignored wherever SQLite asks an authorizer, for
 * the statements that the extension itself runs, too; and an authorizer that forbids everything
 * comes in while a statement runs, whichever. What was interrupted succeeds the next time.
 *
 * As in memory_test.c: the outcome must be SQLITE_INTERRUPT or SQLITE_AUTH, the database must be as
 * before the attempt (or as after it, when it succeeded all the same), and closing it must leave no
 * byte allocated. What an authorizer has SQLite ignore (a column reads as NULL, a statement does
 * nothing) is the user's own wish in the user's statements; so there the outcome may be another
 * one, but the database is sound and nothing crashes or leaks.
 *
 * With PLACES=1 in the environment an authorizer alone answers, once for each place of ext/ that
 * runs SQL and what it is asked about there. (What a denial leaves within a transaction,
 * tests/world asks.) With EVERY=8 every eighth question is refused. */
#include "scenarios.h"

static long countdown; /* questions until the refusal; 0 when there is to be none */

static int refuses(void) {
    if (countdown == 0 || --countdown > 0)
        return 0;
    failures++;
    return 1;
}

static int progress(void *argument) {
    (void)argument;
    return refuses();
}

static int interrupt(void *database) {
    if (refuses())
        sqlite3_interrupt(database);
    return 0;
}

static bool by_place;
static int answer = SQLITE_DENY; /* of the authorizer, to the question that is refused */

static int authorize(void *argument, int action, const char *a, const char *b, const char *c,
                     const char *d) {
    (void)argument, (void)c, (void)d;
    /* SQLite 3.40 itself crashes in a recursive query of which a SELECT is ignored, with no
     * extension loaded. */
    if (answer == SQLITE_IGNORE && (action == SQLITE_SELECT || action == SQLITE_RECURSIVE))
        return SQLITE_OK;
    /* If the ids are hidden from the table's own DELETE, 'clear' keeps the rows, which are then of
     * generations that have not begun. */
    if (answer == SQLITE_IGNORE && action == SQLITE_READ && strcmp(b, "id") == 0)
        return SQLITE_OK;
    uint64_t asked = (uint64_t)action;
    for (; places.looking && a != NULL && *a != '\0'; a++)
        asked = mix_place(asked, (uint64_t)*a);
    for (; places.looking && b != NULL && *b != '\0'; b++)
        asked = mix_place(asked, (uint64_t)*b << 8);
    look_at_place(asked);
    return refuses() ? answer : SQLITE_OK;
}

static void arm(long number) {
    failures = 0;
    countdown = number;
}

static void arm_interrupt(sqlite3 *database, long number) {
    arm(number);
    sqlite3_progress_handler(database, 1, progress, NULL);
}

static void arm_interrupt_by_call(sqlite3 *database, long number) {
    arm(number);
    sqlite3_progress_handler(database, 1, interrupt, database);
}

static void arm_authorizer(sqlite3 *database, long number) {
    arm(by_place ? number_of_place(number) : number);
    sqlite3_set_authorizer(database, authorize, NULL);
}

static void arm_look(sqlite3 *database, long number) {
    (void)number;
    arm(0);
    look_for_places();
    sqlite3_set_authorizer(database, authorize, NULL);
}

static int forbid(void *argument, int action, const char *a, const char *b, const char *c,
                  const char *d) {
    (void)argument, (void)action, (void)a, (void)b, (void)c, (void)d;
    return SQLITE_DENY;
}

/* A statement begins. */
static int trace(unsigned type, void *database, void *statement, void *text) {
    (void)type, (void)statement, (void)text;
    if (refuses())
        sqlite3_set_authorizer(database, forbid, NULL);
    return 0;
}

static void arm_trace(sqlite3 *database, long number) {
    arm(number);
    sqlite3_trace_v2(database, SQLITE_TRACE_STMT, trace, database);
}

/* Without an authorizer SQLite keeps what it prepared while one ignored something. Setting one that
 * refuses nothing makes it prepare all statements again. */
static void disarm(sqlite3 *database) {
    countdown = 0;
    places.looking = false;
    sqlite3_set_authorizer(database, authorize, NULL);
    sqlite3_trace_v2(database, 0, NULL, NULL);
    sqlite3_progress_handler(database, 0, NULL, NULL);
    sqlite3_set_authorizer(database, NULL, NULL);
}

static long next(long number) {
    return number + (number < 300 || by_place ? stride() : number / 8);
}

/* Every question of a scenario is ignored in turn, which leaves the database sound. Returns how
 * many were. */
static long ignore_each(const struct scenario *scenario) {
    const struct fault FAULT = {.what = "ignored",
                                .meets = by_place ? FAULT_AT_PLACES : FAULT_REFUSED};
    long ignored = 0;
    if (answer != SQLITE_IGNORE) /* another round through all scenarios */
        memset(places.seen, 0, sizeof places.seen);
    answer = SQLITE_IGNORE;
    if (by_place) {
        sqlite3 *database = prepare(scenario);
        sqlite3_free(value_of(database, "PRAGMA integrity_check"));
        arm_look(database, 0);
        attempt(scenario, database);
        disarm(database);
        sqlite3_close(database);
    }
    for (long number = 1, now = 1; now > 0; number = next(number)) {
        sqlite3 *database = prepare(scenario);
        char *before = value_of(database, "PRAGMA integrity_check");
        arm_authorizer(database, number);
        const int code = attempt(scenario, database);
        now = failures;
        disarm(database);
        if (!sqlite3_get_autocommit(database))
            run(database, "ROLLBACK");
        char *after = value_of(database, "PRAGMA integrity_check");
        require(code != SQLITE_INTERNAL && code != SQLITE_MISUSE &&
                    (strcmp(after, "ok") == 0 || strcmp(after, before) == 0),
                "ignored %ld, result %d: %s, not %s", number, code, after, before);
        sqlite3_free(before);
        sqlite3_free(after);
        close_after(FAULT.what, number, database);
        ignored += now;
    }
    check_tally(scenario, &FAULT, ignored, ignored);
    return ignored;
}

#define SHADOW_STATE "SELECT (SELECT group_concat(name) FROM sqlite_master) || " SHADOW_ROWS

/* clear, while another connection of a shared cache reads the chunks. */
static void clear_locked_chunks(void **unused) {
    static const char PATH[] = "file:locked?mode=memory&cache=shared";
    sqlite3 *database = open_database(PATH), *other = open_database(PATH);
    sqlite3_stmt *reader;
    (void)unused;
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, fpr=0.01); " TEN
                  "INSERT INTO seen(key) SELECT i FROM c; BEGIN; CREATE TEMP TABLE written(x)");
    char *before = value_of(database, SHADOW_STATE);
    assert_int_equal(sqlite3_prepare_v2(other, "SELECT id FROM seen_data", -1, &reader, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(reader), SQLITE_ROW);
    const int code = try(database, NULL, "INSERT INTO seen(seen) VALUES ('clear')");
    assert_int_equal(code & 0xff, SQLITE_LOCKED);
    sqlite3_finalize(reader);
    run(database, "COMMIT");
    char *after = value_of(database, SHADOW_STATE);
    assert_string_equal(after, before);
    sqlite3_free(before);
    sqlite3_free(after);
    close_database(other);
    close_database(database);
}

static void test_refusals(void **state) {
    /* SQLite says SQLITE_ERROR where what it parses for itself is interrupted: in
     * sqlite3_declare_vtab() and when a table is renamed. */
    enum { STOP = SQLITE_INTERRUPT, DENY = SQLITE_AUTH, ERROR = SQLITE_ERROR };
    static const struct fault FAULTS[] = {
        {"interrupt", STOP, STOP, true, arm_interrupt, FAULT_REFUSED},
        {"call of sqlite3_interrupt", STOP, ERROR, true, arm_interrupt_by_call, FAULT_COMES},
        {"denial", DENY, ERROR, false, arm_authorizer, FAULT_REFUSED},
        {"statement, then all denied", DENY, ERROR, true, arm_trace, FAULT_COMES},
    };
    static const struct fault BY_PLACE[] = {
        {"nothing", DENY, ERROR, false, arm_look, FAULT_NOWHERE},
        {"denial", DENY, ERROR, false, arm_authorizer, FAULT_AT_PLACES},
    };
    attempt_faults(*state, by_place ? BY_PLACE : FAULTS, by_place ? 2 : 4);
}

static long ignored;

static void test_ignored(void **state) {
    ignored += ignore_each(*state);
}

/* By place, half of the scenarios have one of their own. */
static void test_sums(void **state) {
    (void)state;
    print_message("figures: %ld refusals, %ld ended in SQLITE_INTERRUPT or SQLITE_AUTH, %ld "
                  "questions ignored\n",
                  attempts_failed, attempts_refused, ignored);
    assert_true(2 * attempts_refused >= ALL_SCENARIOS && 2 * ignored >= ALL_SCENARIOS);
}

int main(void) {
    enum { REST = 2 * ALL_SCENARIOS };
    struct CMUnitTest tests[REST + 2] = {
        [REST] = {"clear of chunks that are read", clear_locked_chunks, NULL, NULL, NULL},
        [REST + 1] = {"Most refusals are reported", test_sums, NULL, NULL, NULL}};
    by_place = getenv("PLACES") != NULL;
    add_scenarios(tests, test_refusals);
    add_scenarios(tests + ALL_SCENARIOS, test_ignored);
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}

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
 * runs SQL and what it is asked about there. With EVERY=8 every eighth question is refused. */
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

/* Finds the places of a scenario, within a transaction or not, after a look at the state. */
static void look_at(const struct scenario *scenario, const char *begin,
                    char *(*state)(const struct scenario *, sqlite3 *)) {
    sqlite3 *database = prepare(scenario);
    sqlite3_exec(database, begin, NULL, NULL, NULL);
    sqlite3_free(state(scenario, database));
    arm_look(database, 0);
    attempt(scenario, database);
    disarm(database);
    sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(database);
}

/* What is done in several steps. Within a transaction nothing takes back what a statement did
 * before it was refused. */
#define SHADOW_STATE "SELECT (SELECT group_concat(name) FROM sqlite_master) || " SHADOW_ROWS
#define GROWN                                                                                      \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, fpr=0.01); " TEN                            \
    "INSERT INTO seen(key) SELECT i FROM c;"
#define MANY_KEYS MORE "INSERT INTO seen(key) SELECT i FROM c"

static const struct scenario CHANGES[] = {
    {"the first key", "CREATE VIRTUAL TABLE seen USING bloom(capacity=8)",
     "INSERT INTO seen(key) VALUES ('a')", SHADOW_STATE},
    {"a key", TABLE_ANEW, "INSERT INTO seen(key) VALUES ('c')", SHADOW_STATE},
    {"a key that opens a layer",
     "CREATE VIRTUAL TABLE seen USING bloom(capacity=4); INSERT INTO seen(key) VALUES (1), (2), "
     "(3), (4);" ANEW,
     "INSERT INTO seen(key) VALUES (5)", SHADOW_STATE},
    {"DELETE", COUNTING ANEW, "DELETE FROM seen WHERE key = 'a'", SHADOW_STATE},
    {"many keys", TABLE_ANEW, MANY_KEYS, SHADOW_STATE},
    {"many keys, counted", COUNTING ANEW, MANY_KEYS, SHADOW_STATE},
    {"merge", TABLE_ANEW,
     "INSERT INTO seen(seen, key) VALUES ('merge', (SELECT bloom_add(filter, 'c') FROM seen))",
     SHADOW_STATE},
    {"clear", GROWN ANEW, "INSERT INTO seen(seen) VALUES ('clear')", SHADOW_STATE},
    {"the first rotation", "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, generations=3)",
     "INSERT INTO seen(seen) VALUES ('rotate')", SHADOW_STATE},
    {"a rotation by a number",
     "CREATE VIRTUAL TABLE seen USING bloom(capacity=8, generations=3);"
     "INSERT INTO seen(seen, key) VALUES ('period', 7); INSERT INTO seen(key) VALUES ('a');" ANEW,
     "INSERT INTO seen(seen, key) VALUES ('period', 9)", SHADOW_STATE},
    {"DROP", GROWN ANEW, "DROP TABLE seen", SHADOW_STATE},
    {"RENAME", GROWN ANEW, "ALTER TABLE seen RENAME TO other", SHADOW_STATE},
};

static char *integrity(const struct scenario *scenario, sqlite3 *database) {
    (void)scenario;
    return value_of(database, "PRAGMA integrity_check");
}

/* Every question of a scenario is answered so, in turn. What is ignored leaves the database sound;
 * what is denied within a transaction has changed nothing. Returns how many were. */
static long answer_each(int with, const struct scenario *scenario, const char *begin) {
    const bool ignores = with == SQLITE_IGNORE;
    const struct fault FAULT = {.what = ignores ? "ignored" : "denied",
                                .meets = by_place ? FAULT_AT_PLACES : FAULT_REFUSED};
    char *(*const state)(const struct scenario *, sqlite3 *) = ignores ? integrity : ask;
    long failed = 0, refused = 0;
    if (answer != with) /* another round through all scenarios */
        memset(places.seen, 0, sizeof places.seen);
    answer = with;
    if (by_place)
        look_at(scenario, begin, state);
    for (long number = 1, now = 1; now > 0; number = next(number)) {
        sqlite3 *database = prepare(scenario);
        run(database, begin);
        char *before = state(scenario, database);
        arm_authorizer(database, number);
        const int code = attempt(scenario, database);
        now = failures;
        disarm(database);
        const bool is_over = sqlite3_get_autocommit(database) != 0;
        if (ignores && !is_over)
            run(database, "ROLLBACK");
        char *after = ignores || code != SQLITE_OK ? state(scenario, database) : NULL;
        require(ignores ? code != SQLITE_INTERNAL && code != SQLITE_MISUSE &&
                              (strcmp(after, "ok") == 0 || strcmp(after, before) == 0)
                        : code == SQLITE_OK || (!is_over && now > 0 && strcmp(after, before) == 0),
                "%s %ld, result %d%s: %s, not %s", FAULT.what, number, code,
                is_over ? ", no transaction" : "", after, before);
        sqlite3_free(before);
        sqlite3_free(after);
        if (!ignores)
            run(database, "COMMIT");
        close_after(FAULT.what, number, database);
        failed += now;
        refused += now > 0 && (ignores || code != SQLITE_OK);
    }
    check_tally(scenario, &FAULT, failed, refused);
    return refused;
}

/* clear, while another connection of a shared cache reads the chunks. */
static void clear_locked_chunks(void **unused) {
    static const char PATH[] = "file:locked?mode=memory&cache=shared";
    sqlite3 *database = open_database(PATH), *other = open_database(PATH);
    sqlite3_stmt *reader;
    (void)unused;
    run(database, GROWN "BEGIN; CREATE TEMP TABLE written(x)");
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

static long ignored, denied;

static void test_ignored(void **state) {
    ignored += answer_each(SQLITE_IGNORE, *state, "");
}

static void test_denied(void **state) {
    denied += answer_each(SQLITE_DENY, *state, "BEGIN; CREATE TABLE written(x)");
}

enum { CHANGES_COUNT = sizeof CHANGES / sizeof *CHANGES };

/* By place, half of the scenarios have one of their own, and every change has. */
static void test_sums(void **state) {
    (void)state;
    print_message("figures: %ld refusals, %ld ended in SQLITE_INTERRUPT or SQLITE_AUTH, %ld "
                  "questions ignored, %ld denied in a transaction\n",
                  attempts_failed, attempts_refused, ignored, denied);
    assert_true(2 * attempts_refused >= ALL_SCENARIOS && 2 * ignored >= ALL_SCENARIOS);
    assert_true(denied >= CHANGES_COUNT);
}

int main(void) {
    enum { DENIED = 2 * ALL_SCENARIOS, REST = DENIED + CHANGES_COUNT };
    struct CMUnitTest tests[REST + 2] = {
        [REST] = {"clear of chunks that are read", clear_locked_chunks, NULL, NULL, NULL},
        [REST + 1] = {"Most refusals are reported", test_sums, NULL, NULL, NULL}};
    by_place = getenv("PLACES") != NULL;
    add_scenarios(tests, test_refusals);
    add_scenarios(tests + ALL_SCENARIOS, test_ignored);
    for (int i = 0; i < CHANGES_COUNT; i++)
        tests[DENIED + i] = (struct CMUnitTest){.name = CHANGES[i].title,
                                                .test_func = test_denied,
                                                .initial_state = (void *)(uintptr_t)&CHANGES[i]};
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}

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
    run(scenario, database);
    disarm(database);
    sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(database);
}

static void must_run(const struct scenario *scenario, sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fatal(scenario, sql, database);
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

static struct scenario change_number(int i) {
    return CHANGES[i];
}

static char *integrity(const struct scenario *scenario, sqlite3 *database) {
    return value_of(scenario, database, "PRAGMA integrity_check");
}

/* Every question of some scenarios is answered so, in turn. What is ignored leaves the database
 * sound; what is denied within a transaction has changed nothing. Returns how many were. */
static long answer_each(int with, int count, struct scenario (*of)(int), const char *begin) {
    const bool ignores = with == SQLITE_IGNORE;
    const struct fault FAULT = {.what = ignores ? "ignored" : "denied",
                                .meets = by_place ? FAULT_AT_PLACES : FAULT_REFUSED};
    char *(*const state)(const struct scenario *, sqlite3 *) = ignores ? integrity : ask;
    long all = 0;
    answer = with;
    memset(places.seen, 0, sizeof places.seen);
    for (int i = 0; i < count; i++) {
        const struct scenario of_number = of(i), *const scenario = &of_number;
        long failed = 0, refused = 0;
        if (by_place)
            look_at(scenario, begin, state);
        for (long number = 1, now = 1; now > 0; number = next(number)) {
            sqlite3 *database = prepare(scenario);
            must_run(scenario, database, begin);
            char *before = state(scenario, database);
            arm_authorizer(database, number);
            const int code = run(scenario, database);
            now = failures;
            disarm(database);
            const bool is_over = sqlite3_get_autocommit(database) != 0;
            if (ignores && !is_over)
                must_run(scenario, database, "ROLLBACK");
            char *after = ignores || code != SQLITE_OK ? state(scenario, database) : NULL;
            if (ignores
                    ? code == SQLITE_INTERNAL || code == SQLITE_MISUSE ||
                          (strcmp(after, "ok") != 0 && strcmp(after, before) != 0)
                    : code != SQLITE_OK && (is_over || now == 0 || strcmp(after, before) != 0)) {
                fprintf(stderr, "%s, %s %ld, result %d%s: %s, not %s\n", scenario->title,
                        FAULT.what, number, code, is_over ? ", no transaction" : "", after, before);
                exit(1);
            }
            sqlite3_free(before);
            sqlite3_free(after);
            if (!ignores)
                must_run(scenario, database, "COMMIT");
            close_after(scenario, FAULT.what, number, database);
            failed += now;
            refused += now > 0 && (ignores || code != SQLITE_OK);
        }
        check_tally(scenario, &FAULT, failed, refused);
        all += refused;
    }
    return all;
}

/* clear, while another connection of a shared cache reads the chunks. */
static void clear_locked_chunks(void) {
    static const struct scenario SCENARIO = {"clear of chunks that are read", "",
                                             "INSERT INTO seen(seen) VALUES ('clear')",
                                             SHADOW_STATE};
    sqlite3 *connections[2];
    sqlite3_stmt *reader;
    for (int i = 0; i < 2; i++)
        connections[i] = open_at(&SCENARIO, "file:locked?mode=memory&cache=shared");
    must_run(&SCENARIO, connections[0], GROWN "BEGIN; CREATE TEMP TABLE written(x)");
    char *before = ask(&SCENARIO, connections[0]);
    if (sqlite3_prepare_v2(connections[1], "SELECT id FROM seen_data", -1, &reader, NULL) !=
            SQLITE_OK ||
        sqlite3_step(reader) != SQLITE_ROW)
        fatal(&SCENARIO, "no reader", connections[1]);
    if ((run(&SCENARIO, connections[0]) & 0xff) != SQLITE_LOCKED)
        fatal(&SCENARIO, "is not locked", connections[0]);
    sqlite3_finalize(reader);
    must_run(&SCENARIO, connections[0], "COMMIT");
    char *after = ask(&SCENARIO, connections[0]);
    if (strcmp(before, after) != 0)
        fatal(&SCENARIO, "changes something", connections[0]);
    sqlite3_free(before);
    sqlite3_free(after);
    for (int i = 1; i >= 0; i--)
        if (sqlite3_close(connections[i]) != SQLITE_OK)
            fatal(&SCENARIO, "statements are left open", connections[i]);
}

int main(void) {
    by_place = getenv("PLACES") != NULL;
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
    struct tally tally = {0};
    int scenarios = by_place ? attempt_all(BY_PLACE, 2, &tally) : attempt_all(FAULTS, 4, &tally);
    enum { CHANGES_COUNT = sizeof CHANGES / sizeof *CHANGES };
    long ignored = answer_each(SQLITE_IGNORE, ALL_SCENARIOS, scenario_number, "");
    long denied =
        answer_each(SQLITE_DENY, CHANGES_COUNT, change_number, "BEGIN; CREATE TABLE written(x)");
    clear_locked_chunks();
    printf("figures: %ld refusals in %d scenarios, %ld ended in SQLITE_INTERRUPT or SQLITE_AUTH, "
           "%ld questions ignored, %ld denied in a transaction\n",
           tally.failures, scenarios, tally.refusals, ignored, denied);
    /* By place, half of the scenarios have one of their own, and every change has. */
    if (2 * tally.refusals < scenarios || 2 * ignored < scenarios || denied < CHANGES_COUNT) {
        printf("0 passed, 1 failed\n");
        return 1;
    }
    printf("%d passed, 0 failed\n", scenarios + 1);
    return 0;
}

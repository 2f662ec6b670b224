/* Every function, aggregate and table operation, and registering them all, is interrupted wherever SQLite asks whether to go on, and
 * forbidden wherever SQLite asks an authorizer, for the statements that the extension itself runs, too.
 *
 * As in memory_test.c: the outcome must be SQLITE_INTERRUPT or SQLITE_AUTH, the database must be as before the attempt (or as after it, when it
 * succeeded all the same), and closing it must leave no byte allocated.
 */
#include "scenarios.h"

static long countdown; /* questions until the refusal; 0 when there is to be none */
static long failures;

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

static int authorize(void *argument, int action, const char *a, const char *b, const char *c,
                     const char *d) {
    (void)argument, (void)action, (void)a, (void)b, (void)c, (void)d;
    return refuses() ? SQLITE_DENY : SQLITE_OK;
}

static void arm_interrupt(sqlite3 *database, long number) {
    failures = 0;
    countdown = number;
    sqlite3_progress_handler(database, 1, progress, NULL);
}

static void arm_authorizer(sqlite3 *database, long number) {
    failures = 0;
    countdown = number;
    sqlite3_set_authorizer(database, authorize, NULL);
}

static void disarm(sqlite3 *database) {
    countdown = 0;
    sqlite3_progress_handler(database, 0, NULL, NULL);
    sqlite3_set_authorizer(database, NULL, NULL);
}

static long count_failures(void) {
    return failures;
}

static long next(long number) {
    return number + (number < 300 ? 1 : number / 8);
}

int main(void) {
    static const struct fault INTERRUPT = {"interrupt",   SQLITE_INTERRUPT, SQLITE_INTERRUPT, true,
                                           arm_interrupt, disarm,           count_failures,   next};
    static const struct fault DENIAL = {"denial",       SQLITE_AUTH, SQLITE_ERROR,   false,
                                        arm_authorizer, disarm,      count_failures, next};
    const struct fault *const faults[] = {&INTERRUPT, &DENIAL, NULL};
    struct tally tally = {0};
    int scenarios = attempt_all(faults, &tally);
    printf("figures: %ld refusals in %d scenarios, %ld ended in SQLITE_INTERRUPT or SQLITE_AUTH\n",
           tally.attempts, scenarios, tally.refusals);
    printf("%d passed, 0 failed\n", scenarios);
    return 0;
}

/* The program of the simulator: see simulator.h.
 *
 *     SEED=1 STEPS=1000000 build/tests/simulator
 *
 * runs rounds of 400 steps, each with the next seed and a disk of its own, until that many steps
 * are done (30000 by default). For each round the weights of the steps are drawn, too: some kinds
 * of steps are left out, and others come often, so that each kind of trouble has rounds of its own
 * (Groce et al., "Swarm Testing", 2012). A failure prints commit, seed and the steps before it.
 *
 *     SEED=17 STEPS=400 TRACE=1 ...        that round again, with all that is done
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* for anonymous mappings */
#endif
#include "simulator.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SIMULATOR_COMMIT
#define SIMULATOR_COMMIT "unknown"
#endif

enum { STEPS_OF_ROUND = 400, SECONDS_OF_ROUND = 600 };

static const struct {
    step *run;
    unsigned weight;
} STEPS[] = {
#define ROW(name, weight)                                                                          \
    { step_##name, weight }
    EACH_STEP(ROW)};
enum { STEP_COUNT = sizeof STEPS / sizeof *STEPS };

static unsigned weights[STEP_COUNT]; /* in this round */
static uint64_t state;
static unsigned step_number;
static bool tracing;

/* What the parent process learns. */
static struct progress {
    uint64_t seed;
    unsigned step;
    bool reported; /* with its message */
} * progress;

uint64_t refusals, faults_met, looks, crashes;

uint64_t random_next(void) { /* SplitMix64 (Steele, Lea, Flood, 2014) */
    return bloom_mix(state += UINT64_C(0x9e3779b97f4a7c15));
}

unsigned random_below(unsigned range) {
    return (unsigned)((random_next() >> 32) * range >> 32);
}

bool random_once_in(unsigned times) {
    return random_below(times) == 0;
}

/* ---- Reports ---- */

enum { NOTES = 40, NOTE_SIZE = 400 };
static char notes[NOTES][NOTE_SIZE]; /* the last ones */
static unsigned note_count;

void note(const char *format, ...) {
    char *text = notes[note_count++ % NOTES];
    va_list list;
    int used = snprintf(text, NOTE_SIZE, "%u ", step_number);
    va_start(list, format);
    vsnprintf(text + used, NOTE_SIZE - (size_t)used, format, list);
    va_end(list);
    if (tracing) {
        puts(text);
        fflush(stdout);
    }
}

void expect(bool holds, const char *format, ...) {
    va_list list;
    if (holds)
        return;
    for (unsigned i = note_count > NOTES ? note_count - NOTES : 0; !tracing && i < note_count; i++)
        puts(notes[i % NOTES]);
    printf("commit %s, SQLite %s, SEED=%" PRIu64 ", step %u: ", SIMULATOR_COMMIT,
           sqlite3_libversion(), progress->seed, step_number);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    puts("");
    fflush(stdout);
    progress->reported = true;
    _exit(1);
}

/* ---- A round ---- */

static void draw_settings(void) {
    static const unsigned FACTORS[] = {0, 1, 1, 4}, SOME[] = {0, 25, 25, 100},
                          FAULTS[] = {0, 5, 25, 70}, CRASHES[] = {0, 0, 15, 100};
    for (unsigned i = 0; i < STEP_COUNT; i++)
        weights[i] = STEPS[i].weight * FACTORS[random_below(4)];
    weights[0] += STEPS[0].weight; /* a round without any key shows nothing */
    setting.shared_cache = random_once_in(5);
    setting.wal = random_once_in(3);
    setting.synced = !random_once_in(4);
    setting.faults = FAULTS[random_below(4)];
    setting.counting = SOME[random_below(4)];
    setting.generations = SOME[random_below(4)];
    setting.crashes = CRASHES[random_below(4)];
    if (setting.shared_cache)
        setting.faults = setting.crashes = 0; /* a failed rollback fails all that share a cache */
}

static step *random_step(void) {
    unsigned sum = 0, i = 0;
    for (unsigned j = 0; j < STEP_COUNT; j++)
        sum += weights[j];
    unsigned at = random_below(sum);
    while (at >= weights[i])
        at -= weights[i++];
    return STEPS[i].run;
}

/* In a transaction SQLite may begin to read a database that no statement named, as when it reads
 * all schemas again: from then on it sees what there is now. Outside of one no lock is held,
 * whatever failed before. Where a schema is in doubt, one is changed and rolled back, temp, which
 * nobody locks: then SQLite reads all of them again. */
static void rest(struct connection *connection) {
    sqlite3 *database = connection->database;
#if SQLITE_VERSION_NUMBER >= 3034000
    for (unsigned schema = 0; schema < SCHEMAS && connection->in_transaction; schema++)
        if (connection->links[schema].file != NULL &&
            sqlite3_txn_state(database, SCHEMA[schema]) > SQLITE_TXN_NONE)
            view(connection, schema);
    expect(connection->in_transaction || sqlite3_txn_state(database, NULL) == SQLITE_TXN_NONE,
           "%s: a lock is left", connection->name);
#endif
    if (connection->in_transaction || !connection->schema_in_doubt)
        return;
    exec(database, "PRAGMA query_only = 0");
    connection->query_only = false;
    int code = exec(database, "BEGIN; CREATE TEMP TABLE n(x)");
    exec(database, "ROLLBACK");
    connection->schema_in_doubt = code != SQLITE_OK;
}

/* Mostly at the table that the step was about, and at others now and then; all keys sometimes, when
 * a transaction is over. */
static void look_around(struct connection *connection, bool over) {
    if (random_once_in(4))
        return;
    for (unsigned schema = 0; schema < SCHEMAS; schema++)
        for (unsigned slot = 0; connection->links[schema].file != NULL && slot < SLOTS; slot++)
            if (connection->touched < 0 || connection->touched == (int)(schema * SLOTS + slot) ||
                random_once_in(3))
                look(connection, schema, slot, over && random_once_in(4));
    for (unsigned schema = 0; over && random_once_in(2) && schema < SCHEMAS; schema++)
        if (connection->links[schema].file != NULL)
            look_from_outside(connection->links[schema].file);
}

static void one_round(uint64_t seed) {
    state = seed * UINT64_C(0x2545f4914f6cdd1d);
    note_count = step_number = 0;
    draw_settings();
    world_begin();
    for (step_number = 1; step_number <= STEPS_OF_ROUND; step_number++) {
        progress->step = step_number;
        struct connection *connection = &connections[random_below(CONNECTIONS)];
        const bool was_in_transaction = connection->in_transaction;
        connection->touched = -1;
        /* With read_uncommitted this one may see what the others have written, but not drafts. */
        for (unsigned i = 0; setting.shared_cache && i < CONNECTIONS; i++)
            if (&connections[i] != connection && connections[i].in_transaction)
                write_drafts(&connections[i]);
        step *const made = random_step();
        if (random_below(1000) < setting.crashes) /* which shows most when something is committed */
            crash_in(connection->in_transaction && random_once_in(2) ? step_commit : made,
                     connection);
        else
            made(connection);
        for (unsigned i = 0; i < CONNECTIONS; i++)
            rest(&connections[i]);
        if (files[0].shared && files[0].writer == NULL)
            files[0].committed = files[0].now;
        look_around(connection, was_in_transaction && !connection->in_transaction);
        rest(connection);
    }
    world_end();
}

/* ---- The run ---- */

static uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static int run_rounds(void) {
    const uint64_t steps = from_environment("STEPS", 30000);
    uint64_t rounds = 0;
    for (; rounds * STEPS_OF_ROUND < steps; rounds++, progress->seed++) {
        alarm(SECONDS_OF_ROUND);
        one_round(progress->seed);
    }
    printf("figures: SQLite %s, %" PRIu64 " steps, %" PRIu64 " looks, %" PRIu64
           " statements met a fault, %" PRIu64 " a lock, %" PRIu64 " crashes\n",
           sqlite3_libversion(), rounds * STEPS_OF_ROUND, looks, faults_met, refusals, crashes);
    printf("%" PRIu64 " passed, 0 failed\n", rounds);
    return 0;
}

/* The rounds run in a process of their own, so that the seed is known of one that crashes, too. */
int main(void) {
    int status = 0;
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 2;
    progress->seed = from_environment("SEED", 1);
    tracing = from_environment("TRACE", 0) != 0;
    faults_install();
    disk_install();
    pid_t child = fork();
    if (child == 0)
        return run_rounds();
    waitpid(child, &status, 0);
    if (status == 0)
        return 0;
    if (!progress->reported)
        printf("SEED=%" PRIu64 ", step %u: the process ended with status %d\n", progress->seed,
               progress->step, status);
    puts("0 passed, 1 failed");
    return 1;
}

/* The program of the simulator: see simulator.h.
 *
 *     STEPS=1000000 SECONDS=60 SEED=1 build/tests/simulator [WEIGHTS ...]
 *
 * runs rounds of 400 steps, each with the next seed and a disk of its own, until that many steps
 * are done or that many seconds are over (without either: 30000 steps). A failure tells commit and
 * seed, and then the fewest steps of its round that still fail, as far as they are found in a
 * minute, or in SHORTEN=N seconds.
 *
 *     SEED=17 ROUNDS=1 TRACE=1 ...        that round again, with all that is done
 *
 * WEIGHTS are files that bias the steps; each round takes one, by its seed. They have names of
 * steps, each with its weight; steps that they do not name are not taken. Some are percentages:
 * "faults" of statements that are made to fail, "shared_cache" of rounds in which both connections
 * share a cache, "counting", "key_types" and "generations" of tables with layout=counting, with
 * key=TYPE or salt, and with generations=G. "crashes" are windows for a crash in a thousand steps.
 * The files named .steps beside this one are such, one for each kind of trouble.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* for anonymous mappings */
#endif
#include "disk.h"
#include "steps.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SIMULATOR_COMMIT
#define SIMULATOR_COMMIT "unknown"
#endif

enum { STEPS_OF_ROUND = 400 };

unsigned weight_of_faults = 25, weight_of_shared = 25, weight_of_counting = 30,
         weight_of_types = 25, weight_of_generations = 25, weight_of_crashes = 15;

static struct step {
    const char *name;
    unsigned weight;
    void (*run)(connection_t *connection);
} steps[] = {
#define ROW(name, weight)                                                                          \
    { #name, weight, step_##name }
    EACH_STEP(ROW)};
enum { STEP_COUNT = sizeof steps / sizeof *steps };

static uint64_t state, seed;
static char **weight_files;
static unsigned weight_file_count; /* 0: the weights of steps.h */
static unsigned step_number;
static bool tracing;

/* What the parent process learns of a failure. */
static struct failure {
    uint64_t seed;
    unsigned step;
    const char *format; /* of its message; both processes have it at the same place */
} * shared;

uint64_t random_next(void) { /* SplitMix64 (Steele, Lea, Flood, 2014) */
    uint64_t word = state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

unsigned random_below(unsigned range) {
    return (unsigned)((random_next() >> 32) * range >> 32);
}

bool random_once_in(unsigned times) {
    return random_below(times) == 0;
}

enum fault random_fault(void) {
    if (random_below(100) >= weight_of_faults)
        return FAULT_NONE;
    static const enum fault OTHERS[] = {FAULT_ALLOCATION, FAULT_ALLOCATIONS, FAULT_DENY,
                                        FAULT_INTERRUPT,  FAULT_DISK,        FAULT_DISK_LASTING};
    enum fault other = OTHERS[random_below(6)];
    return other >= FAULT_DISK && crash_spares_disk() ? FAULT_ALLOCATION : other;
}

void note(const char *format, ...) {
    va_list list;
    if (!tracing)
        return;
    printf("%u ", step_number);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    puts("");
    fflush(stdout);
}

static const char *weights_of_round(void) {
    return weight_file_count > 0 ? weight_files[seed % weight_file_count] : "";
}

void expect(bool holds, const char *format, ...) {
    va_list list;
    if (holds)
        return;
    if (shared != NULL)
        shared->format = format;
    printf("commit %s, SQLite %s, SEED=%" PRIu64 "%s%s, step %u: ", SIMULATOR_COMMIT,
           sqlite3_libversion(), seed, weight_file_count > 0 ? ", " : "", weights_of_round(),
           step_number);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    puts("");
    fflush(stdout);
    _exit(1);
}

static uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

/* Everything that has a weight: steps and other events. */
static unsigned *weight_of(const char *name) {
    static const struct {
        const char *name;
        unsigned *weight;
    } OTHERS[] = {{"faults", &weight_of_faults},     {"shared_cache", &weight_of_shared},
                  {"counting", &weight_of_counting}, {"key_types", &weight_of_types},
                  {"crashes", &weight_of_crashes},   {"generations", &weight_of_generations}};
    for (unsigned i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (strcmp(name, OTHERS[i].name) == 0)
            return OTHERS[i].weight;
    for (unsigned i = 0; i < STEP_COUNT; i++)
        if (strcmp(name, steps[i].name) == 0)
            return &steps[i].weight;
    fprintf(stderr, "there is no step %s\n", name);
    exit(2);
}

static void read_weights(const char *path) {
    char line[200];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    for (unsigned i = 0; i < STEP_COUNT; i++)
        steps[i].weight = 0;
    weight_of_faults = weight_of_shared = weight_of_counting = 0;
    weight_of_types = weight_of_generations = weight_of_crashes = 0;
    while (fgets(line, sizeof line, file) != NULL)
        for (char *name = line[0] != '#' ? strtok(line, ", \n") : NULL; name != NULL;
             name = strtok(NULL, ", \n")) {
            const char *weight = strtok(NULL, ", \n");
            *weight_of(name) = (unsigned)strtoul(weight != NULL ? weight : "", NULL, 10);
        }
    fclose(file);
}

static const struct step *random_step(void) {
    unsigned sum = 0, i = 0;
    for (unsigned j = 0; j < STEP_COUNT; j++)
        sum += steps[j].weight;
    unsigned at = random_below(sum);
    while (at >= steps[i].weight)
        at -= steps[i++].weight;
    return &steps[i];
}

/* In a transaction SQLite may begin to read a database that no statement named, as when it reads
 * all schemas anew: from then on it sees what there is now. */
static void see_what_is_read(struct connection *connection) {
#if SQLITE_VERSION_NUMBER >= 3034000
    for (unsigned schema = 0; schema < SCHEMAS; schema++)
        if (connection->links[schema].file != NULL &&
            sqlite3_txn_state(connection->database, SCHEMA[schema]) > SQLITE_TXN_NONE)
            view(connection, schema);
#else
    (void)connection;
#endif
}

/* Outside of a transaction: no lock is held, whatever failed before. Where a schema is in doubt,
 * one is changed and rolled back, temp, which nobody locks: then SQLite reads all of them anew. */
static void rest(struct connection *connection) {
    if (connection->in_transaction) {
        see_what_is_read(connection);
        return;
    }
#if SQLITE_VERSION_NUMBER >= 3034000
    expect(sqlite3_txn_state(connection->database, NULL) == SQLITE_TXN_NONE, "%s: a lock is left",
           connection->name);
#endif
    if (!connection->schema_in_doubt)
        return;
    sqlite3_exec(connection->database, "PRAGMA query_only = 0", NULL, NULL, NULL);
    connection->query_only = false;
    int code =
        sqlite3_exec(connection->database, "BEGIN; CREATE TEMP TABLE n(x)", NULL, NULL, NULL);
    sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
    connection->schema_in_doubt = code != SQLITE_OK;
}

static bool is_touched(const struct connection *connection, unsigned schema, unsigned slot) {
    return connection->touched < 0 || connection->touched == (int)(schema * SLOTS + slot);
}

/* Sometimes several steps without a look between them. */
static void look_around(struct connection *connection, bool over) {
    if (random_once_in(4))
        return;
    for (unsigned schema = 0; schema < SCHEMAS; schema++)
        if (connection->links[schema].file != NULL)
            for (unsigned slot = 0; slot < SLOTS; slot++)
                if (is_touched(connection, schema, slot) || random_once_in(3))
                    look(connection, schema, slot, over && random_once_in(4));
    for (unsigned schema = 0; over && random_once_in(2) && schema < SCHEMAS; schema++)
        if (connection->links[schema].file != NULL)
            look_from_outside(connection->links[schema].file);
}

/* Each step has random numbers of its own, so that others may be left out. After it the table that
 * it was about is looked at, and each other one that is there in one of three cases. */
static void one_round(const bool *left_out) {
    if (weight_file_count > 0)
        read_weights(weights_of_round());
    state = seed * UINT64_C(0x2545f4914f6cdd1d);
    step_number = 0;
    world_begin();
    bool readable = true;
    for (step_number = 1; step_number <= STEPS_OF_ROUND && readable; step_number++) {
        state = (seed << 20 | step_number) * UINT64_C(0xd1342543de82ef95);
        if (left_out != NULL && left_out[step_number])
            continue;
        shared->step = step_number;
        struct connection *connection = &connections[random_below(CONNECTIONS)];
        bool was_in_transaction = connection->in_transaction;
        connection->touched = -1;
        crash_begin();
        random_step()->run(connection);
        for (unsigned i = 0; i < CONNECTIONS; i++)
            rest(&connections[i]);
        if (files[0].writer == NULL && shared_cache)
            files[0].committed = files[0].now;
        look_around(connection, was_in_transaction && !connection->in_transaction);
        readable = crash_after_step();
    }
    world_end(readable);
}

/* ---- The shortest way to a failure ---- */

/* Runs a round in a process of its own, and says whether it fails as the first one did. */
static bool fails_without(const bool *left_out, const struct failure *first) {
    enum { SECONDS_MOST = 60 };
    fflush(stdout);
    memset(shared, 0, sizeof *shared);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        tracing = false;
        alarm(SECONDS_MOST);
        one_round(left_out);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0 && shared->format == first->format;
}

/* Leaves out steps, many at a time and then one by one, until none can go or the time is over. */
static void shorten(uint64_t seconds) {
    static bool left_out[STEPS_OF_ROUND + 1];
    const struct failure first = *shared;
    const time_t end = time(NULL) + (time_t)seconds;
    for (unsigned i = first.step + 1; i <= STEPS_OF_ROUND; i++)
        left_out[i] = true;
    if (!fails_without(left_out, &first)) {
        puts("the round does not fail again as it did");
        return;
    }
    bool again = true;
    for (unsigned size = STEPS_OF_ROUND / 2; size >= 1; size = again && size == 1 ? 1 : size / 2) {
        again = false;
        for (unsigned at = 1; at <= STEPS_OF_ROUND && time(NULL) < end; at += size) {
            bool before[STEPS_OF_ROUND + 1];
            bool any = false;
            memcpy(before, left_out, sizeof before);
            for (unsigned i = at; i < at + size && i <= STEPS_OF_ROUND; i++) {
                any = any || !left_out[i];
                left_out[i] = true;
            }
            if (any && fails_without(left_out, &first))
                again = true;
            else
                memcpy(left_out, before, sizeof before);
        }
    }
    printf("the fewest steps found%s, of commit %s:\n",
           time(NULL) < end ? "" : " in the time that there was", SIMULATOR_COMMIT);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        tracing = true;
        one_round(left_out);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* ---- The run ---- */

static int run_rounds(void) {
    enum { SECONDS_OF_ROUND = 600 };
    uint64_t rounds = from_environment("ROUNDS", UINT64_MAX), round = 0;
    uint64_t seconds = from_environment("SECONDS", 0);
    uint64_t most = from_environment("STEPS", seconds > 0 ? UINT64_MAX : 30000);
    time_t begin = time(NULL);
    for (; round < rounds && round * STEPS_OF_ROUND < most; round++, seed++) {
        if (seconds > 0 && (uint64_t)(time(NULL) - begin) >= seconds)
            break;
        shared->seed = seed;
        alarm(SECONDS_OF_ROUND);
        one_round(NULL);
    }
    printf("figures: SQLite %s, %" PRIu64 " rounds, %" PRIu64 " steps, %" PRIu64 " looks, %" PRIu64
           " statements met a fault, %" PRIu64 " a lock, %" PRIu64 " crashes\n",
           sqlite3_libversion(), round, round * STEPS_OF_ROUND, looks, faults_met, refusals,
           crashes);
    printf("%" PRIu64 " passed, 0 failed\n", round);
    return 0;
}

/* The rounds run in a process of their own, so that one that crashes is shortened, too. */
int main(int count, char **arguments) {
    weight_files = arguments + 1;
    weight_file_count = (unsigned)count - 1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    seed = from_environment("SEED", 1);
    tracing = from_environment("TRACE", 0) != 0;
    uint64_t seconds = from_environment("SHORTEN", 60);
    faults_install();
    disk_install();
    keys_learn();
    pid_t child = tracing || seconds == 0 ? 0 : fork();
    if (child == 0)
        return run_rounds();
    int status = 0;
    waitpid(child, &status, 0);
    if (status == 0)
        return 0;
    seed = shared->seed;
    if (WIFSIGNALED(status) || shared->format == NULL)
        printf("SEED=%" PRIu64 ", step %u: the process ended with status %d\n", seed, shared->step,
               status);
    shorten(seconds);
    puts("0 passed, 1 failed");
    return 1;
}

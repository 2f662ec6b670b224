/* Millions of random operations on filter values, filter tables and the filter library, against
 * exact sets.
 *
 *     RUNS=100 SEED=1 build/tests/random_test
 *
 * does what it does without (RUNS=1) a hundred times over, each time with the next seed. A failure
 * tells its seed; with that as SEED and RUNS=1 it comes again.
 */
#include "random.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t operations;

static uint64_t state, seed;
static const char *part = "start";
static unsigned passed;

uint64_t random_next(void) {
    uint64_t word = state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

void random_begin(uint64_t value) {
    state = value;
}

unsigned random_below(unsigned range) {
    return (unsigned)((random_next() >> 32) * range >> 32);
}

bool random_once_in(unsigned times) {
    return random_below(times) == 0;
}

struct set random_set(unsigned universe) {
    struct set set = {{0}};
    unsigned size = random_below(universe) >> random_below(4);
    for (unsigned i = 0; i < size; i++)
        set_add(&set, random_below(universe));
    return set;
}

unsigned set_count(const struct set *set) {
    unsigned count = 0;
    for (size_t i = 0; i < UNIVERSE_MOST / 64; i++)
        for (uint64_t word = set->words[i]; word != 0; word &= word - 1)
            count++;
    return count;
}

void expect(bool holds, const char *format, ...) {
    if (holds)
        return;
    va_list list;
    va_start(list, format);
    printf("SEED=%" PRIu64 ", %s, after %" PRIu64 " operations: ", seed, part, operations);
    vprintf(format, list);
    va_end(list);
    printf("\n%u passed, 1 failed\n", passed);
    exit(1);
}

void false_positives_count(struct false_positives *sum, unsigned asked, unsigned found,
                           double rate) {
    sum->asked += asked;
    sum->found += found;
    sum->expected += asked * rate;
    sum->variance += asked * rate * (1 - rate);
}

void false_positives_expect(const struct false_positives *sum, double slack, const char *what) {
    /* Five standard deviations: by chance once in two million, each time that it is asked. */
    double difference = fabs(sum->found - sum->expected);
    double allowed = 5 * sqrt(sum->variance) + slack * sum->expected + 5;
    printf("%s: %.0f fresh keys asked, %.0f found, %.0f expected within %.0f\n", what, sum->asked,
           sum->found, sum->expected, allowed);
    expect(difference <= allowed, "false positives of %s: %.0f of %.0f, %.0f expected", what,
           sum->found, sum->asked, sum->expected);
}

sqlite3_int64 fresh_keys(void) {
    static sqlite3_int64 next = INT64_C(1) << 40;
    return next += UNIVERSE_MOST;
}

/* The numbers of the universe as keys: what key i is, apart from its form. */
static uint64_t mix(unsigned key) {
    uint64_t word = (key + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    return (word ^ word >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

void bind_key(sqlite3_stmt *statement, int parameter, unsigned key) {
    bool other_form = random_once_in(2);
    char bytes[64];
    int length;
    switch (key % 4) {
    case 0: /* an integer, small or large, or the real that is equal to it */
        if (key % 8 == 0 && other_form)
            sqlite3_bind_double(statement, parameter, (double)key - 1000);
        else
            sqlite3_bind_int64(statement, parameter,
                               key % 8 == 0 ? (sqlite3_int64)key - 1000 : (sqlite3_int64)mix(key));
        return;
    case 1: /* a text, or the BLOB that is the same key; the first one is empty */
        length = key == 1 ? 0
                          : snprintf(bytes, sizeof bytes, "http://%u.example/%.*s", key,
                                     (int)(key / 4 % 32), "0123456789abcdefghijklmnopqrstuvwxyz");
        break;
    case 2: /* bytes of any value, zeros among them */
        length = 3 + (int)(key / 4 % 24);
        for (int i = 0; i < length; i++)
            bytes[i] = (char)(i < 2 ? key >> 8 * i : mix(key) >> i % 8 * 8);
        bytes[2] = 0;
        other_form = true;
        break;
    default: /* a real that is no integer */
        sqlite3_bind_double(statement, parameter, (double)key + 0.25);
        return;
    }
    if (other_form)
        sqlite3_bind_blob(statement, parameter, bytes, length, SQLITE_TRANSIENT);
    else
        sqlite3_bind_text(statement, parameter, bytes, length, SQLITE_TRANSIENT);
}

static void in_set(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    sqlite3_result_int(
        context, set_has(sqlite3_user_data(context), (unsigned)sqlite3_value_int(arguments[0])));
}

sqlite3_stmt *prepare(sqlite3 *database, const char *format, ...) {
    sqlite3_stmt *statement = NULL;
    va_list list;
    va_start(list, format);
    char *sql = sqlite3_vmprintf(format, list);
    va_end(list);
    int code = sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    expect(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    sqlite3_free(sql);
    return statement;
}

sqlite3 *open_connection(const char *file, unsigned universe, struct set *set) {
    sqlite3 *database = NULL;
    bool opened =
        sqlite3_open(file, &database) == SQLITE_OK &&
        sqlite3_bloom_init(database, NULL, NULL) == SQLITE_OK &&
        sqlite3_create_function_v2(database, "in_set", 1, SQLITE_UTF8, set, in_set, NULL, NULL,
                                   NULL) == SQLITE_OK &&
        sqlite3_exec(
            database,
            "PRAGMA temp_store = memory; CREATE TEMP TABLE universe(i INTEGER PRIMARY KEY, k)",
            NULL, NULL, NULL) == SQLITE_OK;
    expect(opened, "%s cannot be opened: %s", file, sqlite3_errmsg(database));
    sqlite3_stmt *statement = prepare(database, "INSERT INTO universe VALUES (?1, ?2)");
    sqlite3_exec(database, "BEGIN", NULL, NULL, NULL);
    for (unsigned key = 0; key < universe; key++) {
        sqlite3_bind_int64(statement, 1, key);
        bind_key(statement, 2, key);
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    return database;
}

static void run(const char *name, void (*function)(void)) {
    uint64_t before = operations;
    part = name;
    random_begin(seed * 1000003);
    function();
    passed++;
    printf("%s: %" PRIu64 " operations\n", name, operations - before);
    fflush(stdout);
}

static uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

int main(void) {
    uint64_t runs = from_environment("RUNS", 1);
    const char *only = getenv("PART"); /* while looking for the cause of a failure */
    seed = from_environment("SEED", 1);
    for (uint64_t i = 0; i < runs; i++, seed++) {
        if (only == NULL || strcmp(only, "values") == 0)
            run("values", random_values);
        if (only == NULL || strcmp(only, "tables") == 0)
            run("tables", random_tables);
        if (only == NULL || strcmp(only, "floor") == 0)
            run("floor", random_floor);
        if (only == NULL || strcmp(only, "kinds") == 0)
            run("kinds", random_kinds);
    }
    printf("figures: %" PRIu64 " random operations\n%u passed, 0 failed\n", operations, passed);
    return 0;
}

/* A pinned filter is a pointer that SQLite hands about, and SQLite hands it on without its
 * ownership: `nullif` and its like return a copy of an argument that dies before the copy does. So
 * no pointer is followed before it is found among the pins that are alive, whatever SQL, the
 * program and a second copy of the extension do with it. Run under the address sanitizer.
 */
#include "connection.h"

#include "sqlite/functions.h"

static const char FILTERS[] =
    "CREATE TABLE filters(id TEXT PRIMARY KEY, f BLOB);"
    "INSERT INTO filters SELECT x, bloom_add(bloom_new(y), x) FROM "
    "(SELECT 'a' AS x, 100 AS y UNION ALL SELECT 'b', 10 UNION ALL SELECT 'c', 5000);";

/* Returns true if SQL ends because a pin is gone. Any other error fails the test. */
static bool pin_is_gone(sqlite3 *database, const char *sql) {
    char error[300];
    if (try(database, error, "%s", sql) == SQLITE_OK)
        return false;
    require(strstr(error, " is NULL. Check that the row with the filter exists") != NULL, "%s: %s",
            sql, error);
    return true;
}

/* ---- What a program can do ---- */

/* A statement of one row, a pin, that stands at this row; and functions that give others this pin:
 * pin_of(x) as it is, gone(x) after its end, dup_of(x) by sqlite3_value_dup, which some releases
 * let pointers through. remembered(p) keeps what it is given as auxiliary data and returns it. */
static sqlite3_stmt *holder;

static void give_pin(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    sqlite3_result_value(context, sqlite3_column_value(holder, 0));
}

static void give_what_is_gone(sqlite3_context *context, int count, sqlite3_value **arguments) {
    give_pin(context, count, arguments);
    sqlite3_reset(holder);
    assert_int_equal(sqlite3_step(holder), SQLITE_ROW);
}

static void give_duplicate(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(holder, 0));
    sqlite3_result_value(context, value);
    sqlite3_value_free(value);
}

static void free_value(void *value) {
    sqlite3_value_free(value);
}

static void remember(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    sqlite3_value *value = sqlite3_get_auxdata(context, 0);
    if (value == NULL) {
        value = sqlite3_value_dup(arguments[0]);
        sqlite3_set_auxdata(context, 0, value, free_value);
    }
    sqlite3_result_value(context, value);
}

/* A connection with these functions, and the holder in that one or in another. */
static sqlite3 *open_with_holder(sqlite3 *other) {
    sqlite3 *database = open_database(":memory:");
    run(database, FILTERS);
    static const struct {
        const char *name;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } FUNCTIONS[] = {{"pin_of", give_pin},
                     {"gone", give_what_is_gone},
                     {"dup_of", give_duplicate},
                     {"remembered", remember}};
    for (size_t i = 0; i < COUNT_OF(FUNCTIONS); i++)
        sqlite3_create_function(database, FUNCTIONS[i].name, 1, SQLITE_UTF8, NULL,
                                FUNCTIONS[i].function, NULL, NULL);
    holder = begin(other ? other : database, "SELECT bloom_pin(bloom_add(bloom_new(100), 'a'))");
    return database;
}

/* Every function that takes a filter refuses that pin. */
static void assert_all_refuse(sqlite3 *database, const char *pin) {
    static const char *const TAKERS[] = {"bloom_check(%s, 'a')",   "bloom_add(%s, 'a')",
                                         "bloom_count(%s)",        "bloom_fpr_now(%s)",
                                         "bloom_info(%s)",         "bloom_pin(%s)",
                                         "bloom_union(%s)",        "bloom_export(%s, 'guava')",
                                         "bloom_union(NULL, %s)",  "bloom_intersect(%s)",
                                         "bloom_agg(x, %s)",       "bloom_union_agg(%s)",
                                         "bloom_intersect_agg(%s)"};
    for (size_t i = 0; i < COUNT_OF(TAKERS); i++) {
        char *call = sqlite3_mprintf("SELECT %s FROM (SELECT 'a' AS x UNION ALL SELECT 'b')",
                                     TAKERS[i]),
             *sql = sqlite3_mprintf(call, pin);
        require(pin_is_gone(database, sql), "%s: worked", sql);
        sqlite3_free(sql);
        sqlite3_free(call);
    }
}

static void nothing_takes_a_pin_that_is_gone(void) {
    CLOSED_AT_END *database = open_with_holder(NULL);
    assert_false(pin_is_gone(database, "SELECT bloom_check(pin_of(x), 'a'), bloom_info(pin_of(x)) "
                                       "FROM (SELECT 1 AS x UNION ALL SELECT 2)"));
    assert_all_refuse(database, "gone(1)");
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, growth=off)");
    assert_true(pin_is_gone(database, "INSERT INTO seen(seen, key) SELECT 'merge', gone(1)"));
    assert_false(pin_is_gone(database, "SELECT bloom_check(pin_of(1), 'a')"));
    pin_is_gone(database, "SELECT bloom_check(dup_of(id), id) FROM filters");
    pin_is_gone(database, "SELECT bloom_check(remembered(bloom_pin(f)), id) FROM filters");
    pin_is_gone(database, "SELECT bloom_check(remembered((SELECT bloom_pin(f) FROM filters)), id) "
                          "FROM filters");
    pin_is_gone(database, "SELECT bloom_check(remembered(gone(id)), id) FROM filters");
    sqlite3_finalize(holder);
}

static void a_pin_of_another_connection_is_none(void) {
    CLOSED_AT_END *other = open_database(":memory:");
    CLOSED_AT_END *database = open_with_holder(other);
    assert_all_refuse(database, "pin_of(1)");
    assert_all_refuse(database, "gone(1)");
    sqlite3_finalize(holder);
}

static void a_second_load_keeps_pins(void) {
    CLOSED_AT_END *database = open_with_holder(NULL);
    /* Nothing is registered anew, so that it does not matter that a statement runs. */
    assert_int_equal(load_bloom(database, NULL), SQLITE_OK);
    assert_false(pin_is_gone(database, "SELECT bloom_check(pin_of(1), 'a')"));
    sqlite3_reset(holder);
    assert_int_equal(load_bloom(database, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(holder), SQLITE_ROW);
    assert_false(pin_is_gone(database, "SELECT bloom_check(pin_of(1), 'a')"));
    assert_all_refuse(database, "gone(1)");
    sqlite3_finalize(holder);
}

static void a_pin_outlives_its_connection(void) {
    sqlite3 *database = open_with_holder(NULL);
    assert_int_equal(sqlite3_close(database), SQLITE_BUSY);
    assert_int_equal(sqlite3_close_v2(database), SQLITE_OK);
    assert_int_equal(sqlite3_finalize(holder), SQLITE_OK);
    assert_int_equal(sqlite3_memory_used(), 0);
}

/* ---- A second copy of the extension ---- */

/* The pin and the check of this copy, under names that the other does not take. */
static void release(void *argument) {
    struct bloom_registration *registration = argument;
    bloom_connection_close(registration->connection);
    sqlite3_free(registration);
}

static void name_again(sqlite3 *database, const struct bloom_function *function) {
    struct bloom_registration *registration = sqlite3_malloc(sizeof *registration);
    memset(registration, 0, sizeof *registration);
    registration->function = function;
    registration->connection = bloom_connection_open(database);
    assert_int_equal(sqlite3_create_function_v2(
                         database, function->name, function->arguments_minimum, SQLITE_UTF8,
                         registration, function->scalar, NULL, NULL, release),
                     SQLITE_OK);
}

static void two_copies_do_not_take_each_others_pins(void) {
    static const struct bloom_function PIN = {"our_pin", 1, 1, bloom_sql_pin, NULL, NULL};
    static const struct bloom_function CHECK = {"our_check", 2, 2, bloom_sql_check, NULL, NULL};
    CLOSED_AT_END *database;
    char *error = NULL;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    sqlite3_enable_load_extension(database, 1);
    if (sqlite3_load_extension(database, "./bloom", "sqlite3_bloom_init", &error) != SQLITE_OK)
        fail_msg("%s", error);                               /* to be built first */
    assert_int_equal(load_bloom(database, NULL), SQLITE_OK); /* leaves that one */
    name_again(database, &PIN);
    name_again(database, &CHECK);
    static const char FILTER[] = "(SELECT bloom_add(bloom_new(100), 'a') AS f UNION ALL "
                                 "SELECT bloom_new(100))";
    static const struct {
        const char *expression;
        bool refused;
    } CALLS[] = {
        {"our_check(our_pin(f), 'a')", false},
        {"bloom_check(bloom_pin(f), 'a')", false},
        {"our_check(bloom_pin(f), 'a')", true},
        {"bloom_check(our_pin(f), 'a')", true},
        {"bloom_check(nullif(our_pin(f), 1), nullif(zeroblob(100), upper('a')))", true},
        {"our_check((SELECT bloom_pin(f)), 'a')", true},
        {"bloom_info((SELECT our_pin(f)))", true},
        {"our_check(our_pin(f), bloom_check(bloom_pin(f), 'a'))", false},
    };
    for (size_t i = 0; i < COUNT_OF(CALLS); i++) {
        char *sql = sqlite3_mprintf("SELECT %s FROM %s", CALLS[i].expression, FILTER);
        if (pin_is_gone(database, sql) != CALLS[i].refused)
            fail_msg("%s: %s", sql, CALLS[i].refused ? "worked" : "was refused");
        sqlite3_free(sql);
    }
}

RUN_GROUP("pins", TEST("nothing takes a pin that is gone", nothing_takes_a_pin_that_is_gone),
          TEST("a pin of another connection is refused", a_pin_of_another_connection_is_none),
          TEST("a second load keeps pins", a_second_load_keeps_pins),
          TEST("a pin outlives its connection", a_pin_outlives_its_connection),
          TEST("two copies do not take each other's pins", two_copies_do_not_take_each_others_pins))

/* What a table was made for, and what its counts say: merges that keep the rate, counts that damage
 * shows in, exact capacity, and options that are literals.
 */
#include "hostile.h"

#include <math.h>

/* ---- Merges and counts ---- */

/* Whether a message names a rate, as a share or in per cent, within a tenth. */
static bool names_rate(const char *message, double rate) {
    for (const char *at = message; *at != '\0'; at++) {
        if ((*at < '0' || *at > '9') ||
            (at > message && (at[-1] == '.' || (at[-1] >= '0' && at[-1] <= '9'))))
            continue;
        double value = strtod(at, NULL);
        if (fabs(value - rate) <= rate / 10 || fabs(value / 100 - rate) <= rate / 10)
            return true;
    }
    return false;
}

static void merges_keep_the_rate(void) {
    sqlite3 *database = open_database(":memory:");
    char error[300];
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=0.01);"
                  "CREATE VIRTUAL TABLE over USING bloom(capacity=1000, fpr=0.01, growth=off);"
                  "CREATE TABLE parts(f, g);" NUMBERS(
                      3000) "INSERT INTO parts SELECT bloom_agg(x, (SELECT filter FROM seen)),"
                            "bloom_agg(x, (SELECT filter FROM over)) FROM n GROUP BY x % 3");
    run(database, "INSERT INTO seen(seen, key) SELECT 'merge', f FROM parts LIMIT 1");
    sqlite3_int64 ones = require_sums(database, "main").set;
    int code = try(database, error,
                   "INSERT INTO seen(seen, key) SELECT 'merge', f FROM parts LIMIT 1 OFFSET 1");
    require(code != SQLITE_OK, "a merge that takes the layer to twice its keys is done");
    double rate = (double)number(database, "SELECT 1e9 * bloom_fpr(bloom_union_agg(f)) FROM "
                                           "(SELECT f FROM parts LIMIT 2)") /
                  1e9;
    require(names_rate(error, rate), "the refusal of a merge to %g says: %s", rate, error);
    require(sum_chunks(database, "main").set == ones, "a refused merge has set bits");
    run(database, "INSERT INTO over(over, key) SELECT 'merge', g FROM parts");
    require_number(database, 3000,
                   NUMBERS(3000) "SELECT count(*) FROM n WHERE EXISTS (SELECT 1 FROM over(x))");
    close_database(database);
}

static void wrong_chunk_size_is_noticed(void) {
    static const char *const SIZES[] = {"1",  "chunk_blocks - 1", "chunk_blocks + 1", "1024", "0",
                                        "-1", "1 << 40"};
    static const char *const LOOKS[] = {
        "SELECT 1 FROM seen WHERE key = 1",
        "SELECT 1 FROM seen WHERE key = 'absent'",
        "INSERT INTO seen(key) VALUES ('new')",
        "INSERT OR IGNORE INTO seen(key) VALUES (1)",
        "SELECT info FROM seen",
        "SELECT filter FROM seen",
        "INSERT INTO seen(seen, key) VALUES ('merge', bloom_new(1000, 0.009))",
    };
    for (unsigned i = 0; i < COUNT_OF(SIZES); i++)
        for (unsigned j = 0; j < COUNT_OF(LOOKS); j++) {
            sqlite3 *database = open_database(path_of("size.db"));
            run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=10000, fpr=0.01);"
                          "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
            char *sql = sqlite3_mprintf("UPDATE seen_layers SET chunk_blocks = %s", SIZES[i]);
            run(database, sql);
            require_error(database, j == 6 ? "seen" : "damaged", LOOKS[j]);
            close_database(database);
            database = open_database(path_of("size.db"));
            require_error(database, j == 6 ? "seen" : "damaged", LOOKS[j]);
            sqlite3_free(sql);
            close_database(database);
            unlink(path_of("size.db"));
        }
}

/* integrity_check reaches virtual tables from 3.44 on. */
static void integrity_check_compares_bits_with_counts(void) {
    static const char *const DAMAGE[] = {
        "UPDATE seen_layers SET ones = ones + 1",
        "UPDATE seen_layers SET ones = 0",
        "UPDATE seen_layers SET keys = keys * 10",
        "UPDATE seen_layers SET keys = 0",
        "UPDATE seen_layers SET chunks = chunks + 1",
        "UPDATE seen_chunks SET bits = zeroblob(length(bits))",
        "UPDATE seen_chunks SET bits = zeroblob(length(bits)) WHERE id = 1",
        "UPDATE seen_layers SET chunk_blocks = 1",
        "DELETE FROM seen_chunks WHERE id = 1",
        "INSERT INTO seen_chunks SELECT 1 << 42, bits FROM seen_chunks WHERE id = 0",
    };
    for (unsigned i = 0; i <= COUNT_OF(DAMAGE); i++) {
        sqlite3 *database = open_database(":memory:");
        run(database, "PRAGMA page_size = 1024;"
                      "CREATE VIRTUAL TABLE seen USING bloom(capacity=3000, fpr=0.01);"
                      "INSERT INTO seen(key) " NUMBERS(2000) "SELECT x FROM n");
        if (i < COUNT_OF(DAMAGE))
            run(database, DAMAGE[i]);
        sqlite3_int64 well = number(
            database, "SELECT group_concat(integrity_check) = 'ok' FROM pragma_integrity_check");
        require(well == (i == COUNT_OF(DAMAGE)), "%s: integrity_check says %s",
                i < COUNT_OF(DAMAGE) ? DAMAGE[i] : "no damage", well ? "ok" : "damage");
        close_database(database);
    }
}

/* ---- Capacity and options ---- */

static void capacity_is_exact(void) {
    static const struct {
        unsigned capacity;
        const char *rate;
        unsigned sets;
    } SHAPES[] = {{1, "0.01", 20},   {2, "0.1", 50},     {8, "0.05", 50},   {40, "0.02", 50},
                  {100, "0.01", 50}, {1000, "0.01", 20}, {1000, "1e-6", 5}, {3000, "0.5", 5}};
    static const char *const GROWTH[] = {"on", "off"};
    for (unsigned i = 0; i < COUNT_OF(SHAPES); i++)
        for (unsigned growth = 0; growth < 2; growth++)
            for (unsigned set = 0; set < SHAPES[i].sets; set++) {
                sqlite3 *database = open_database(":memory:");
                char *sql = sqlite3_mprintf(
                    "CREATE VIRTUAL TABLE seen USING bloom(capacity=%u, fpr=%s, growth=%s);"
                    "INSERT INTO seen(key) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
                    "SELECT x + 1 FROM n WHERE x < %u) SELECT %u * 100000 + x FROM n",
                    SHAPES[i].capacity, SHAPES[i].rate, GROWTH[growth], SHAPES[i].capacity, set);
                run(database, sql);
                require(number(database, "SELECT count(*) FROM seen_layers") == 1,
                        "capacity %u, fpr %s: grown with set %u", SHAPES[i].capacity,
                        SHAPES[i].rate, set);
                number(database, "SELECT filter IS NOT NULL FROM seen");
                sqlite3_free(sql);
                close_database(database);
            }
}

static void first_layer_is_what_is_promised(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE grows USING bloom(capacity=1000, fpr=0.01);"
                  "CREATE VIRTUAL TABLE never USING bloom(capacity=1000, fpr=0.01, growth=off)");
    require_number(database, 1, "SELECT filter = bloom_new(1000, 0.01) FROM never");
    require_number(database, 1,
                   "SELECT json_extract(bloom_info(filter), '$.bits') ="
                   "json_extract(bloom_info(bloom_new(1000, 0.009)), '$.bits') FROM grows");
    require_number(database, 1,
                   "SELECT bloom_check(bloom_union(filter, bloom_agg(7, filter)), 7) FROM grows");
    close_database(database);
}

static void growth_may_be_an_error(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=500, fpr=1e-6, growth=error);"
                  "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
    require_error(database, "capacity", "INSERT INTO seen(key) VALUES (501)");
    require_error(database, "capacity", "INSERT OR IGNORE INTO seen(key) VALUES (501)");
    run(database, "INSERT INTO seen(key) VALUES (500)"); /* is in */
    require_number(database, 500, FOUND);
    require_number(database, 0, "SELECT count(*) FROM seen(501)");
    require_counts(database, "main", 500);
    close_database(database);
}

static void options_may_be_quoted(void) {
    static const char *const GOOD[] = {
        "capacity='1000', fpr='0.01', growth='on'", "capacity=\"1000\", fpr=\"0.01\"",
        "'capacity'=1000", "capacity = 1e3", "capacity=1000.0, fpr=1e-2, growth=\"off\""};
    for (unsigned i = 0; i < COUNT_OF(GOOD); i++) {
        sqlite3 *database = open_database(":memory:");
        char error[300];
        int code = try(database, error, "CREATE VIRTUAL TABLE seen USING bloom(%s)", GOOD[i]);
        if (i == 2 && code != SQLITE_OK) { /* quoting the name may be refused in words */
            close_database(database);
            continue;
        }
        require(code == SQLITE_OK, "%s: %s", GOOD[i], error);
        require_number(database, 1000, "SELECT json_extract(info, '$.capacity') FROM seen");
        close_database(database);
    }
}

static unsigned decade_calls;

static void decade(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    decade_calls++;
    sqlite3_result_int(context, 10);
}

static void options_call_nothing(void) {
    /* Arithmetic with literals stays, since tables were made with it. */
    static const char *const BAD[] = {
        "capacity=(decade())",   "capacity=decade()", "capacity=10+decade()", "fpr=1/decade()",
        "capacity=x'10'",        "capacity=10--5",    "capacity=1/*",         "capacity=''",
        "capacity='(decade())'", "capacity=decade",   "capacity=abs(5)"};
    for (unsigned i = 0; i < COUNT_OF(BAD); i++) {
        sqlite3 *database = open_database(":memory:");
        sqlite3_create_function(database, "decade", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                decade, NULL, NULL);
        int code = try(database, NULL, "CREATE VIRTUAL TABLE seen USING bloom(%s)", BAD[i]);
        require(decade_calls == 0, "%s: calls a function of the application", BAD[i]);
        require(code == SQLITE_ERROR, "%s: result %d", BAD[i], code);
        close_database(database);
    }
}

static void on_sqlite_3_44(void **state) {
    if (sqlite3_libversion_number() < 3044000)
        skip();
    run_apart(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        APART("A merge that takes a layer beyond its rate is refused and names the rate",
              merges_keep_the_rate),
        APART("A wrong chunk size is noticed by any look", wrong_chunk_size_is_noticed),
        RUN_BY(on_sqlite_3_44, NULL, NULL, "integrity_check compares bits with counts",
               integrity_check_compares_bits_with_counts),
        APART("A table given exactly its capacity has not grown", capacity_is_exact),
        APART("The first layer has the shape that is promised", first_layer_is_what_is_promised),
        APART("With growth=error the key too many is refused", growth_may_be_an_error),
        APART("Options may be quoted", options_may_be_quoted),
        APART("Options are literals and call nothing", options_call_nothing),
    };
    return cmocka_run_group_tests_name("capacity", tests, NULL, NULL);
}

/* Damaged bytes, for valgrind and the sanitizers: damage that can be seen is named, and damage that
 * cannot be seen never makes a function read or write where it should not.
 *
 *   1. Every single bit of the header of every layout flipped, and every length cut off or
 *      lengthened, given to every function that takes a filter: an error that names the filter.
 *   2. Bits of the payload flipped: an answer, except where bits beyond the last are set.
 *   3. Each bit of row 0 of a filter table flipped, then rows of the shadow table overwritten at
 *      random: an answer or an error, nothing else.
 */
#include "sqlite-bloom.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *database;
static long complaints, refusals, answers;
static volatile long looked_at; /* bytes of results of one value, see run() */

/* A generator whose numbers are the same everywhere, so that what fails can be repeated. */
static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 32) % limit);
}

static void complain(const char *sql, const char *what, long place) {
    complaints++;
    printf("%s: %s (%ld): %s\n", sql, what, place, sqlite3_errmsg(database));
}

static void must_run(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) {
        printf("%s: %s\n", sql, sqlite3_errmsg(database));
        exit(1);
    }
}

/* Runs one statement to its end with bytes bound to every parameter. The bytes are an allocation of
 * their very length, so that a read beyond them is seen. */
static int run(const char *sql, const uint8_t *bytes, size_t length) {
    sqlite3_stmt *statement;
    uint8_t *exact = malloc(length > 0 ? length : 1);
    if (exact == NULL)
        abort();
    if (length > 0)
        memcpy(exact, bytes, length);
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++)
            sqlite3_bind_blob64(statement, i, exact, length, SQLITE_STATIC);
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int i = 0; i < sqlite3_column_count(statement); i++) {
                /* Every byte of a result takes part in a decision, so that valgrind sees one that
                 * was never set. */
                const uint8_t *result = sqlite3_column_blob(statement, i);
                int size = sqlite3_column_bytes(statement, i);
                for (int j = 0; j < size; j++)
                    if (result[j] == 'Z')
                        looked_at++;
            }
        code = sqlite3_finalize(statement);
    }
    free(exact);
    return code;
}

/* A filter or the like made by SQL. */
static uint8_t *make(const char *sql, size_t *length) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        printf("%s: %s\n", sql, sqlite3_errmsg(database));
        exit(1);
    }
    *length = (size_t)sqlite3_column_bytes(statement, 0);
    uint8_t *bytes = malloc(*length + 1); /* one more, for what is too long */
    if (bytes == NULL)
        abort();
    memcpy(bytes, sqlite3_column_blob(statement, 0), *length);
    bytes[*length] = 0;
    sqlite3_finalize(statement);
    return bytes;
}

/* What takes a filter. */
static const char *const FUNCTIONS[] = {
    "SELECT bloom_check(?1, 'a')",
    "SELECT bloom_add(?1, 'a')",
    "SELECT bloom_count(?1)",
    "SELECT bloom_fpr(?1)",
    "SELECT bloom_info(?1)",
    "SELECT bloom_check(bloom_pin(?1), 'a')",
    "SELECT bloom_union(?1, ?1)",
    "SELECT bloom_intersect(?1, ?1)",
    "SELECT bloom_union_agg(?1)",
    "SELECT bloom_agg('a', ?1)",
    "SELECT bloom_remove(?1, 'a')",
    "SELECT bloom_convert(?1, 'blocked')",
    "SELECT key, rowid, filter FROM bloom_keys(?1)",
    "SELECT key FROM bloom_keys(?1) WHERE key BETWEEN 3 AND 1e6 ORDER BY key DESC",
    "SELECT bloom_export(?1, 'guava')",
};

enum {
    FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS,
    HEADER_BYTES = 64,
    HEADER_BITS = 8 * HEADER_BYTES
};

/* The error must name the filter: "...: the filter (argument 1) is cut off ...". */
static void refuse(const char *sql, const uint8_t *bytes, size_t length, const char *name,
                   const char *what, long place) {
    if (run(sql, bytes, length) == SQLITE_OK)
        complain(sql, "not noticed", place);
    else if (strstr(sqlite3_errmsg(database), name) == NULL)
        complain(sql, what, place);
    else
        refusals++;
}

static void flip(uint8_t *bytes, uint32_t bit) {
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void damage_filter(const char *sql) {
    size_t length;
    uint8_t *bytes = make(sql, &length);
    size_t other_length;
    uint8_t *other = make("SELECT bloom_new(7)", &other_length);
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        const char *function = FUNCTIONS[i];
        /* What it remembers of a good header cannot help a bad one through. Some functions know
         * layouts and sizes that they refuse, whatever the payload is. */
        int undamaged = run(function, bytes, length);
        for (uint32_t bit = 0; bit < HEADER_BITS; bit++) {
            flip(bytes, bit);
            refuse(function, bytes, length, "the filter (argument", "bit of the header flipped",
                   bit);
            flip(bytes, bit);
        }
        for (size_t cut = 0; cut < length; cut++)
            refuse(function, bytes, cut, "the filter (argument", "cut off", (long)cut);
        refuse(function, bytes, length + 1, "the filter (argument", "too long", (long)length + 1);
        /* The same to a function that has just seen another header. */
        for (size_t cut = HEADER_BYTES; cut < length; cut++) {
            run(function, other, other_length);
            refuse(function, bytes, cut, "the filter (argument", "cut off, header not seen",
                   (long)cut);
        }
        for (int round = 0; round < 100; round++) {
            uint8_t *damaged = malloc(length);
            if (damaged == NULL)
                abort();
            memcpy(damaged, bytes, length);
            for (int flips = 1 + round % 20; flips > 0; flips--)
                flip(damaged, HEADER_BITS + random_below((uint32_t)(length - HEADER_BYTES) * 8));
            if (run(function, damaged, length) != undamaged)
                complain(function, "flipped bits of the payload are no error", round);
            free(damaged);
        }
    }
    free(other);
    free(bytes);
}

/* A payload whose last byte is not all in use. */
static void damage_bits_beyond(const char *sql) {
    enum { BITS = 20 };
    size_t length;
    uint8_t *bytes = make(sql, &length);
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        int undamaged = run(FUNCTIONS[i], bytes, length);
        for (uint32_t bit = 0; bit < (length - HEADER_BYTES) * 8; bit++) {
            flip(bytes, HEADER_BITS + bit);
            if (bit >= BITS)
                refuse(FUNCTIONS[i], bytes, length, "the filter (argument", "bit beyond the last",
                       bit);
            else if (run(FUNCTIONS[i], bytes, length) != undamaged)
                complain(FUNCTIONS[i], "a flipped bit of the payload is no error", bit);
            flip(bytes, HEADER_BITS + bit);
        }
    }
    free(bytes);
}

/* Filter tables */

static const char *const OPERATIONS[] = {
    "SELECT 1 FROM seen WHERE key = 'a'",
    "INSERT INTO seen(key) VALUES ('new')",
    "INSERT OR IGNORE INTO seen(key) VALUES (1), ('b')",
    "SELECT info FROM seen",
    "SELECT filter FROM seen",
    ("INSERT INTO seen(seen, key) SELECT 'merge', bloom_agg(value, 500, 0.009) FROM "
     "json_each('[1,2]')"),
    "INSERT INTO seen(seen) VALUES ('clear')",
};

/* The rest, whose outcome damage need not change. */
static const char *const OTHER_OPERATIONS[] = {
    "PRAGMA integrity_check",
    "ALTER TABLE seen RENAME TO other",
    "DROP TABLE seen",
};

enum {
    OPERATION_COUNT = sizeof OPERATIONS / sizeof *OPERATIONS,
    OTHER_COUNT = sizeof OTHER_OPERATIONS / sizeof *OTHER_OPERATIONS
};

/* A table of two layers of several chunks, in small pages. */
static void make_table(void) {
    must_run("CREATE VIRTUAL TABLE seen USING bloom(capacity=500, fpr=0.01);"
             "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 600) "
             "INSERT INTO seen(key) SELECT i FROM c");
}

/* Row 0, of which the options of the table were made. A bit may be another choice, with which the
 * rows of chunks then do not fit, or which a query does not ask about. */
static void damage_row_0(const char *unused) {
    (void)unused;
    size_t length;
    make_table();
    uint8_t *bytes = make("SELECT data FROM seen_data WHERE id = 0", &length);
    for (uint32_t damage = 0; damage < length * 8; damage++) {
        must_run("SAVEPOINT undamaged");
        flip(bytes, damage);
        if (run("UPDATE seen_data SET data = ?1 WHERE id = 0", bytes, length) != SQLITE_OK)
            complain("row 0", "cannot be damaged", damage);
        flip(bytes, damage);
        must_run("PRAGMA writable_schema = RESET"); /* connects again */
        for (int i = 0; i < OPERATION_COUNT + OTHER_COUNT; i++) {
            const char *sql =
                i < OPERATION_COUNT ? OPERATIONS[i] : OTHER_OPERATIONS[i - OPERATION_COUNT];
            if (run(sql, NULL, 0) == SQLITE_OK)
                answers++;
            else
                refusals++;
        }
        must_run("ROLLBACK TO undamaged; RELEASE undamaged; PRAGMA writable_schema = RESET");
    }
    free(bytes);
    must_run("DROP TABLE seen");
}

static int rounds; /* of random damage */

static void damage_at_random(const char *unused) {
    (void)unused;
    static const char *const DAMAGES[] = {
        "UPDATE seen_data SET data = ?1 WHERE id = 0",
        "UPDATE seen_data SET data = ?1",
        "UPDATE seen_data SET data = ?1 WHERE id > %lld",
        "UPDATE seen_data SET data = CAST(?1 AS TEXT)",
        "UPDATE seen_data SET data = %lld",
        "UPDATE seen_data SET data = zeroblob(length(data)) WHERE id > 0",
        "UPDATE seen_data SET data = substr(data, 1, %lld)",
        "UPDATE seen_data SET data = CAST(data || ?1 AS BLOB)",
        "UPDATE seen_data SET data = CAST(substr(data, 1, 12) || x'01000000' || substr(data, 17) "
        "AS "
        "BLOB) WHERE id > 0",
        "UPDATE OR IGNORE seen_data SET id = %lld + id",
        "DELETE FROM seen_data WHERE id = %lld",
        "DELETE FROM seen_data WHERE id >> 40 = 1",
        "INSERT OR REPLACE INTO seen_data SELECT %lld, data FROM seen_data",
        "DELETE FROM seen_data",
        "DROP TABLE seen_data",
    };
    static const long long NUMBERS[] = {
        0,    1,    2,  6,       7,          8,          448,           512,           1023,
        1024, 1025, -1, 1048576, 2147483648, 4294967296, 1099511627776, 1099511627777, INT64_MAX};
    enum {
        DAMAGE_COUNT = sizeof DAMAGES / sizeof *DAMAGES,
        NUMBER_COUNT = sizeof NUMBERS / sizeof *NUMBERS
    };
    uint8_t bytes[600];
    must_run("BEGIN");
    make_table();
    for (int round = 0; round < rounds; round++) {
        must_run("SAVEPOINT undamaged");
        for (int i = 0; i < 1 + round % 2; i++) {
            int damage = i == 0 ? round % DAMAGE_COUNT : (int)random_below(DAMAGE_COUNT);
            char *sql = sqlite3_mprintf(DAMAGES[damage], NUMBERS[random_below(NUMBER_COUNT)]);
            /* The longest chunks have 464 bytes, row 0 has 64. */
            static const uint32_t LENGTHS[] = {0, 63, 64, 65, 463, 464, 465, 600};
            size_t length = LENGTHS[random_below(8)];
            for (size_t j = 0; j < length; j++)
                bytes[j] = (uint8_t)random_below(256);
            run(sql, bytes, length);
            sqlite3_free(sql);
        }
        for (int i = 0; i < OPERATION_COUNT + OTHER_COUNT; i++) {
            const char *sql =
                i < OPERATION_COUNT ? OPERATIONS[i] : OTHER_OPERATIONS[i - OPERATION_COUNT];
            if (run(sql, NULL, 0) == SQLITE_OK)
                answers++;
            else if (*sqlite3_errmsg(database) == '\0')
                complain(sql, "an error without words", round);
            else
                refusals++;
        }
        must_run("ROLLBACK TO undamaged; RELEASE undamaged");
    }
    /* The damage is taken back, and with it all that the operations did. */
    size_t length;
    uint8_t *found =
        make("WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 600) "
             "SELECT CAST(count(*) AS TEXT) FROM c WHERE EXISTS (SELECT 1 FROM seen WHERE key = i)",
             &length);
    if (strcmp((const char *)found, "600") != 0)
        complain("the 600 keys", "are not all found", atol((const char *)found));
    free(found);
    must_run("COMMIT; DROP TABLE seen");
}

/* Filters and tables. */
static const struct {
    const char *title;
    void (*damage)(const char *sql);
    const char *sql;
} DAMAGED[] = {
    {"layout blocked", damage_filter, "SELECT bloom_add(bloom_new(20), 'b')"},
    {"layout classic", damage_filter, "SELECT bloom_add(bloom_new(10, 0.01, 'classic'), 'b')"},
    /* Strategy 0 of Guava, k = 3, two words. */
    {"layout classic32", damage_filter,
     "SELECT bloom_import(x'00030000000200000000000000818000000000000000', 'guava')"},
    {"layout counting", damage_filter, "SELECT bloom_add(bloom_new(20, 0.01, 'counting'), 'b')"},
    {"layout fuse", damage_filter, "SELECT bloom_agg('b', NULL, 0.1, 'fuse')"},
    {"layout bitmap", damage_filter, "SELECT bloom_add(bloom_new(128, NULL, 'bitmap'), 77)"},
    {"bits beyond the last", damage_bits_beyond, "SELECT bloom_add(bloom_new_bits(20, 3), 'a')"},
    {"bits beyond the last number", damage_bits_beyond,
     "SELECT bloom_add(bloom_new(20, NULL, 'bitmap'), 7)"},
    {"row 0", damage_row_0, ""},
    {"the shadow table", damage_at_random, ""},
};

int main(int argument_count, char **arguments) {
    int passed = 0, failed = 0;
    rounds = argument_count > 1 ? atoi(arguments[1]) : 400;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_bloom_init(database, NULL, NULL) != SQLITE_OK) {
        puts("0 passed, 1 failed");
        return 1;
    }
    must_run("PRAGMA page_size = 512");
    for (size_t i = 0; i < sizeof DAMAGED / sizeof *DAMAGED; i++) {
        complaints = 0;
        DAMAGED[i].damage(DAMAGED[i].sql);
        printf("%s: %ld refusals so far\n", DAMAGED[i].title, refusals);
        ++*(complaints == 0 ? &passed : &failed);
    }
    if (sqlite3_close(database) != SQLITE_OK) {
        puts("statements are left open");
        failed++;
    }
    printf("figures: %ld refusals, %ld answers\n", refusals, answers);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

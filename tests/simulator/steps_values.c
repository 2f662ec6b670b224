/* Steps: filters that are values, of every layout, with salts and key rules: made, added to,
 * merged, exchanged, asked. Beside each stands how often each key was added. After each step the
 * filter is asked for all of them, and compared by bytes with one that is made of the same keys at
 * once. */
#include "steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 12, MATES_MOST = 3, COUNTED_KEYS = 320, COUNTED_MOST = 3 };

enum takes { ANYTHING, TEXT_ONLY, INTEGERS_ONLY, URLS_ONLY };

static const struct kind {
    const char *empty;     /* SQL */
    const char *aggregate; /* with the same parameters; NULL: only by a template */
    const char *format;    /* that takes it there and back; NULL: none */
    enum takes takes;
    bool counts;
} KINDS[] = {
    {"bloom_new(1)", "bloom_agg(k, 1)", NULL, ANYTHING, false},
    {"bloom_new(100)", "bloom_agg(k, 100, 0.01)", NULL, ANYTHING, false},
    {"bloom_new(300, 0.003)", "bloom_agg(k, 300.0, 0.003)", NULL, ANYTHING, false},
    {"bloom_new(4000, 1e-6)", "bloom_agg(k, 4000, 1e-6, 'blocked')", NULL, ANYTHING, false},
    {"bloom_new(200, 0.02, 'salt=" SALT "')",
     "bloom_agg(k, 200, 0.02, ' SALT = \"" SALT "\", layout=Blocked')", NULL, ANYTHING, false},
    {"bloom_new(200, 0.02, 'key=url')", "bloom_agg(k, 200, 0.02, 'key=URL')", NULL, URLS_ONLY,
     false},
    {"bloom_new(90, 0.01, 'key=url_nocase, salt=" SALT "')",
     "bloom_agg(k, 90, 0.01, 'salt=" SALT ", key=url_nocase')", NULL, URLS_ONLY, false},
    {"bloom_new(700, 0.01, 'classic')", "bloom_agg(k, 700, 0.01, 'CLASSIC')", "guava", ANYTHING,
     false},
    {"bloom_new_bits(9593, 7)", NULL, NULL, ANYTHING, false},
    {"bloom_new_bits(86272, 30)", NULL, "guava", ANYTHING, false},
    {"bloom_new_bits(77, 1)", NULL, NULL, ANYTHING, false},
    /* Guava's older strategy: the first byte of the bytes of an empty one of the newer is 0. */
    {"bloom_import(CAST(x'00' || substr(bloom_export(bloom_new_bits(4096, 3), 'guava'), 2) AS "
     "BLOB), 'guava')",
     NULL, "guava", ANYTHING, false},
    {"bloom_new(1500, 0.001, 'counting')", "bloom_agg(k, 1500, 0.001, 'counting')", NULL, ANYTHING,
     true},
    {"bloom_new(900, 0.01, 'layout=counting, salt=" SALT "')",
     "bloom_agg(k, 900, 0.01, 'layout=counting, salt=" SALT "')", NULL, ANYTHING, true},
    {"bloom_new(1024, NULL, 'bitmap')", "bloom_agg(k, 1024, NULL, 'bitmap')", NULL, INTEGERS_ONLY,
     false},
    {"bloom_new(300, 0.01, 'classic-utf16')", "bloom_agg(k, 300, 0.01, 'classic-utf16')",
     "guava-utf16", TEXT_ONLY, false},
    {"bloom_new(300, 0.01, 'spark1')", "bloom_agg(k, 300, 0.01, 'spark1')", "spark", TEXT_ONLY,
     false},
    {"bloom_new(300, 0.01, 'spark2')", "bloom_agg(k, 300, 0.01, 'spark2')", "spark", TEXT_ONLY,
     false},
    {"bloom_new(300, 0.01, 'dcso')", "bloom_agg(k, 300, 0.01, 'dcso')", "dcso", TEXT_ONLY, false},
    {"bloom_new(300, 0.01, 'go')", "bloom_agg(k, 300, 0.01, 'go')", "go", TEXT_ONLY, false},
    {"bloom_new(300, 0.01, 'parquet')", "bloom_agg(k, 300, 0.01, 'parquet')", "parquet", TEXT_ONLY,
     false},
    {"bloom_new(300, 0.01, 'parquet-int32')", "bloom_agg(k, 300, 0.01, 'parquet-int32')",
     "parquet-int32", INTEGERS_ONLY, false},
    {"bloom_new(300, 0.01, 'redisbloom')", "bloom_agg(k, 300, 0.01, 'redisbloom')", "redisbloom",
     TEXT_ONLY, false},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

struct value {
    const struct kind *kind; /* NULL: there is none yet */
    uint8_t *bytes;
    size_t length;
    uint8_t copies[UNIVERSE];
    uint8_t *base; /* bits that an intersection has left beside those of the keys; or NULL */
};

static struct value values[VALUES];
static uint8_t asked[UNIVERSE]; /* what copies() tells */

void copies_of(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    sqlite3_result_int(context, asked[(unsigned)sqlite3_value_int(arguments[0]) % UNIVERSE]);
}

static void value_free(struct value *value) {
    free(value->bytes);
    free(value->base);
    memset(value, 0, sizeof *value);
}

void values_forget(void) {
    for (unsigned i = 0; i < VALUES; i++)
        value_free(&values[i]);
}

static uint8_t *copy_of(const void *bytes, size_t length) {
    uint8_t *copy = malloc(length + 1);
    expect(copy != NULL, "no memory");
    memcpy(copy, bytes, length);
    return copy;
}

/* A salted filter has a second line. */
static size_t header_of(const struct value *value) {
    return BLOOM_HEADER_BYTES * (1 + (size_t)value->bytes[7]);
}

static bool same_header(const struct value *a, const struct value *b) {
    return a->kind == b->kind && a->length == b->length &&
           memcmp(a->bytes, b->bytes, header_of(a)) == 0;
}

/* Keys of other forms than text and whole numbers are left to the tables, and to unit tests. */
static bool takes(const struct kind *kind, unsigned key) {
    const bool text = key % 2 == 1;
    if (key % 8 == 6 || (kind->counts && key >= COUNTED_KEYS))
        return false;
    switch (kind->takes) {
    case TEXT_ONLY:
        return text;
    case INTEGERS_ONLY:
        return !text;
    case URLS_ONLY:
        return text && added_words(URLS, key) != NULL;
    default:
        return true;
    }
}

static void some_copies(const struct kind *kind, uint8_t *copies) {
    const struct keys keys = some_keys(AS_IT_IS);
    for (unsigned key = 0; key < UNIVERSE; key++)
        copies[key] = keys_have(&keys, key) && takes(kind, key)
                          ? (uint8_t)(kind->counts ? 1 + random_below(COUNTED_MOST) : 1)
                          : 0;
}

static unsigned keys_in(const uint8_t *copies) {
    unsigned count = 0;
    for (unsigned key = 0; key < UNIVERSE; key++)
        count += copies[key] > 0;
    return count;
}

/* ---- Asking ---- */

struct answer {
    int type; /* SQLITE_NULL: also of an aggregate of no rows */
    sqlite3_int64 number;
    uint8_t *bytes;
    size_t length;
};

/* The one result of a query, whose parameters are the filters of some values, and then a key.
 * False: it met a fault or a lock, and has told so. */
static bool ask(connection_t *connection, const struct value *const *arguments, unsigned count,
                unsigned key, struct answer *answer, const char *sql) {
    const unsigned number = 1 + random_below(1U << random_below(9));
    const enum fault fault = random_fault();
    sqlite3_stmt *statement;
    memset(answer, 0, sizeof *answer);
    int code = sqlite3_prepare_v2(connection->database, sql, -1, &statement, NULL);
    for (unsigned i = 0; i < count && code == SQLITE_OK; i++)
        code = sqlite3_bind_blob64(statement, (int)i + 1, arguments[i]->bytes, arguments[i]->length,
                                   SQLITE_STATIC);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > (int)count)
        bind_key(statement, (int)count + 1, key);
    fault_arm(connection->database, fault, number);
    if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        answer->type = sqlite3_column_type(statement, 0);
        answer->number = sqlite3_column_int64(statement, 0);
        const void *bytes = sqlite3_column_blob(statement, 0);
        answer->length = (size_t)sqlite3_column_bytes(statement, 0);
        answer->bytes = copy_of(bytes != NULL ? bytes : "", bytes != NULL ? answer->length : 0);
    }
    const int ended = sqlite3_finalize(statement);
    sqlite3_snprintf(sizeof last_error, last_error, "%s", sqlite3_errmsg(connection->database));
    const bool met = fault_disarm(connection->database);
    code = code == SQLITE_OK ? ended : code;
    note("%s: %s; -- result %d%s%s", connection->name, sql, code, met ? ", with " : "",
         met ? fault_name() : "");
    lost_transaction(connection);
    expect(code == SQLITE_OK || met || is_busy(code), "%s: result %d (%s)", sql, code, last_error);
    /* What a failure has cut off is no answer. */
    if (code != SQLITE_OK || (met && answer->bytes == NULL)) {
        free(answer->bytes);
        answer->bytes = NULL;
        return false;
    }
    expect(answer->bytes != NULL, "%s: no row", sql);
    return true;
}

/* A number that must be, of a value or of none. */
static void ask_number(connection_t *connection, const struct value *value, sqlite3_int64 wanted,
                       const char *sql) {
    struct answer answer;
    if (!ask(connection, &value, value != NULL, 0, &answer, sql))
        return;
    expect(answer.number == wanted, "%s: %lld, not %lld", sql, (long long)answer.number,
           (long long)wanted);
    free(answer.bytes);
}

/* As each has as many copies; in ascending order or in another one. */
#define KEYS_UP                                                                                    \
    "(SELECT k, i FROM temp.universe CROSS JOIN (SELECT 1 AS copy UNION ALL SELECT 2 UNION ALL "   \
    "SELECT 3) WHERE copy <= copies(i))"
#define KEYS_MIXED                                                                                 \
    "(SELECT k, i FROM (SELECT 1 AS copy UNION ALL SELECT 2 UNION ALL SELECT 3) CROSS JOIN "       \
    "temp.universe WHERE copy <= copies(i) ORDER BY i * 7919 & 1023 DESC)"

/* What must hold of a filter after each step. */
static void verify(connection_t *connection, const struct value *value) {
    static const char *const AGAIN[] = {
        "SELECT bloom_agg(k, ?1) FROM " KEYS_UP,
        "SELECT bloom_agg(k, (SELECT bloom_pin(?1))) FROM " KEYS_MIXED,
        "SELECT bloom_union_agg(f) FROM (SELECT bloom_agg(k, ?1) AS f FROM " KEYS_UP
        " GROUP BY i % 5)",
    };
    struct answer answer;
    memcpy(asked, value->copies, sizeof asked);
    const unsigned count = keys_in(asked);
    ask_number(connection, value, count,
               random_once_in(2)
                   ? "SELECT count(*) FROM temp.universe WHERE copies(i) > 0 AND bloom_check(?1, k)"
                   : "SELECT count(*) FROM temp.universe WHERE copies(i) > 0 AND "
                     "bloom_check((SELECT bloom_pin(?1)), k)");
    if (!ask(connection, &value, 1, 0, &answer, AGAIN[random_below(3)]))
        return;
    const size_t header = header_of(value);
    expect(answer.type == (count > 0 ? SQLITE_BLOB : SQLITE_NULL), "a filter of %u keys: type %d",
           count, answer.type);
    if (count > 0) {
        for (size_t i = header; value->base != NULL && i < answer.length; i++)
            answer.bytes[i] |= value->base[i - header];
        expect(answer.length == value->length &&
                   memcmp(answer.bytes, value->bytes, value->length) == 0,
               "%s: %u keys, equal sets, other bytes", value->kind->empty, count);
    }
    free(answer.bytes);
}

/* Puts what was made into a place; takes over answer and base. */
static void put(connection_t *connection, const struct kind *kind, const uint8_t *copies,
                struct answer *answer, uint8_t *base) {
    struct value made = {kind, answer->bytes, answer->length, {0}, base};
    struct value *into = &values[random_below(VALUES)];
    memcpy(made.copies, copies, sizeof made.copies);
    verify(connection, &made);
    value_free(into);
    *into = made;
}

/* ---- What is done ---- */

static void make_empty(connection_t *connection) {
    static const uint8_t NONE[UNIVERSE];
    const struct kind *kind = &KINDS[random_below(KIND_COUNT)];
    struct answer answer;
    char *sql = sqlite3_mprintf("SELECT %s", kind->empty);
    if (ask(connection, NULL, 0, 0, &answer, sql))
        put(connection, kind, NONE, &answer, NULL);
    sqlite3_free(sql);
}

static void make_at_once(connection_t *connection) {
    const struct kind *kind = &KINDS[random_below(KIND_COUNT)];
    struct answer answer, empty;
    uint8_t copies[UNIVERSE];
    if (kind->aggregate == NULL)
        return;
    some_copies(kind, copies);
    memcpy(asked, copies, sizeof asked);
    char *sql = sqlite3_mprintf("SELECT %s FROM " KEYS_UP, kind->aggregate);
    char *other = sqlite3_mprintf("SELECT %s", kind->empty);
    if (ask(connection, NULL, 0, 0, &answer, sql)) {
        if (answer.type == SQLITE_BLOB && ask(connection, NULL, 0, 0, &empty, other)) {
            const struct value one = {.kind = kind, .bytes = answer.bytes, .length = answer.length};
            const struct value two = {.kind = kind, .bytes = empty.bytes, .length = empty.length};
            expect(same_header(&one, &two), "%s is not as %s", kind->aggregate, kind->empty);
            free(empty.bytes);
        }
        if (answer.type == SQLITE_BLOB)
            put(connection, kind, copies, &answer, NULL);
        else
            free(answer.bytes);
    }
    sqlite3_free(sql);
    sqlite3_free(other);
}

/* Sized by itself, and for as many keys as there are. */
static void make_sized(connection_t *connection) {
    static const char *const SIZED[][2] = {
        {"bloom_agg(k)", "bloom_new(%u)"},
        {"bloom_agg(k, NULL, 0.1)", "bloom_new(%u, 0.1)"},
        {"bloom_agg(k, NULL, 0.5, 'classic')", "bloom_new(%u, 0.5, 'classic')"},
        {"bloom_agg(k, NULL, 0.01, 'counting')", "bloom_new(%u, 0.01, 'counting')"},
        {"bloom_agg(k, NULL, 0.02, 'salt=" SALT "')", "bloom_new(%u, 0.02, 'salt=" SALT "')"}};
    const unsigned which = random_below(sizeof SIZED / sizeof *SIZED);
    some_copies(&KINDS[0], asked);
    const unsigned count = keys_in(asked);
    char *empty = sqlite3_mprintf(SIZED[which][1], count > 0 ? count : 1);
    char *sql = sqlite3_mprintf("WITH f(f) AS (SELECT %s FROM " KEYS_MIXED
                                ") SELECT count(*) = 1 AND (max(f) IS NULL OR (substr(f, 1, 64) = "
                                "substr(%s, 1, 64) AND length(f) = length(%s))) FROM f",
                                SIZED[which][0], empty, empty);
    ask_number(connection, NULL, 1, sql);
    sqlite3_free(sql);
    sqlite3_free(empty);
}

/* A static filter: in whatever order the keys come, and however often. */
static void make_fuse(connection_t *connection) {
    static const char *const OPTIONS_OF_FUSE[] = {"fuse", ("layout=fuse, salt=" SALT),
                                                  "layout=fuse, key=url"};
    const unsigned which = random_below(3);
    some_copies(&KINDS[which == 2 ? 5 : 0], asked);
    for (unsigned key = 0; key < UNIVERSE; key++)
        asked[key] = asked[key] > 0 ? (uint8_t)(1 + random_below(3)) : 0;
    char *sql = sqlite3_mprintf(
        "WITH f(f) AS (SELECT bloom_agg(k, NULL, 0.02, %Q) FROM " KEYS_UP "), g(g) AS (SELECT "
        "bloom_agg(k, NULL, 0.02, %Q) FROM " KEYS_MIXED ") SELECT CASE WHEN f IS NOT g THEN -1 "
        "WHEN f IS NULL THEN 0 ELSE (SELECT count(*) FROM temp.universe WHERE copies(i) > 0 AND "
        "bloom_check(f, k)) END FROM f, g",
        OPTIONS_OF_FUSE[which], OPTIONS_OF_FUSE[which]);
    ask_number(connection, NULL, keys_in(asked), sql);
    sqlite3_free(sql);
}

static void add_or_remove(connection_t *connection, const struct value *from) {
    struct value now = *from;
    struct answer answer;
    now.bytes = copy_of(from->bytes, from->length);
    for (unsigned left = 1 + random_below(8); left > 0; left--) {
        const unsigned key = random_below(now.kind->counts ? COUNTED_KEYS : UNIVERSE);
        const bool removes = now.kind->counts && now.copies[key] > 0 && random_once_in(2);
        const struct value *argument = &now;
        if (!takes(now.kind, key) ||
            (!removes && now.kind->counts && now.copies[key] == COUNTED_MOST))
            continue;
        const char *sql = removes             ? "SELECT bloom_remove(?1, ?2)"
                          : random_once_in(2) ? "SELECT bloom_add(?1, ?2)"
                                              : "SELECT bloom_add((SELECT bloom_pin(?1)), ?2)";
        note("%s: -- key %u", connection->name, key);
        if (!ask(connection, &argument, 1, key, &answer, sql))
            continue;
        free(now.bytes);
        now.bytes = answer.bytes;
        now.length = answer.length;
        if (removes)
            now.copies[key]--;
        else if (now.kind->counts || now.copies[key] == 0)
            now.copies[key]++;
    }
    answer.bytes = now.bytes;
    answer.length = now.length;
    put(connection, now.kind, now.copies, &answer,
        from->base != NULL ? copy_of(from->base, from->length - header_of(from)) : NULL);
}

/* What is bound thrice, or fewer: the last one again, which changes nothing but where it counts. */
static void merge(connection_t *connection, const struct value *from, bool intersects) {
    static const char *const UNIONS[] = {
        "SELECT bloom_union(?1, ?2, ?3)",
        "SELECT bloom_union(NULL, (SELECT bloom_pin(?1)), ?2, (SELECT bloom_pin(?3)))",
        "WITH f(f) AS (VALUES (?1), (NULL), (?2), (?3)) SELECT bloom_union_agg(f) FROM f"};
    static const char *const INTERSECTIONS[] = {
        "SELECT bloom_intersect(?1, ?2, ?3)",
        "SELECT bloom_intersect((SELECT bloom_pin(?1)), ?2, (SELECT bloom_pin(?3)))",
        "WITH f(f) AS (VALUES (?1), (?2), (?3)) SELECT bloom_intersect_agg(f) FROM f"};
    const struct value *mates[MATES_MOST] = {from, from, from};
    const size_t header = header_of(from), bytes = from->length - header;
    uint8_t copies[UNIVERSE], *base = NULL;
    struct answer answer;
    for (unsigned i = 1; i < MATES_MOST; i++) {
        const struct value *mate = &values[random_below(VALUES)];
        mates[i] = mate->kind != NULL && same_header(mate, from) ? mate : mates[i - 1];
    }
    memcpy(copies, from->copies, sizeof copies);
    for (unsigned key = 0; key < UNIVERSE; key++)
        for (unsigned i = 1; i < MATES_MOST; i++) {
            const uint8_t other = mates[i]->copies[key];
            if (from->kind->counts) {
                copies[key] = (uint8_t)(copies[key] + other);
                if (intersects || copies[key] > COUNTED_MOST)
                    return;
            } else {
                copies[key] = intersects ? copies[key] & other : copies[key] | other;
            }
        }
    const unsigned which = random_below(3);
    if (!ask(connection, mates, MATES_MOST, 0, &answer,
             intersects ? INTERSECTIONS[which] : UNIONS[which]))
        return;
    const struct value made = {.kind = from->kind, .bytes = answer.bytes, .length = answer.length};
    expect(same_header(&made, from), "a merge has another header");
    for (unsigned i = 0; i < MATES_MOST; i++) {
        const uint8_t *bits = intersects ? mates[i]->bytes + header : mates[i]->base;
        if (bits != NULL && base == NULL)
            base = copy_of(bits, bytes);
        for (size_t j = 0; bits != NULL && j < bytes; j++)
            base[j] = intersects ? base[j] & bits[j] : base[j] | bits[j];
    }
    expect(!intersects || memcmp(base, answer.bytes + header, bytes) == 0,
           "an intersection is not what all of them have");
    put(connection, from->kind, copies, &answer, base);
}

/* Another system takes it, and gives it back. */
static void exchange(connection_t *connection, const struct value *from) {
    const char *format = from->kind->format;
    if (format == NULL)
        return;
    memcpy(asked, from->copies, sizeof asked);
    char *sql = sqlite3_mprintf(
        "WITH e(e) AS (SELECT bloom_export(?1, %Q)), g(g) AS (SELECT bloom_import(e, %Q) FROM e) "
        "SELECT CASE WHEN bloom_export(g, %Q) IS NOT e THEN -1 ELSE (SELECT count(*) FROM "
        "temp.universe WHERE copies(i) > 0 AND bloom_check((SELECT bloom_pin(g) FROM g), k)) END "
        "FROM e, g",
        format, format, format);
    ask_number(connection, from, keys_in(asked), sql);
    sqlite3_free(sql);
}

/* What only some layouts have. */
static void ask_for_more(connection_t *connection, const struct value *from) {
    memcpy(asked, from->copies, sizeof asked);
    if (from->kind->counts && keys_in(asked) > 0) {
        ask_number(connection, from, 0,
                   "SELECT count(*) FROM temp.universe WHERE copies(i) > bloom_count(?1, k)");
        ask_number(connection, from, 1,
                   "SELECT bloom_convert(?1, 'blocked') = (SELECT bloom_agg(k, bloom_convert(?1, "
                   "'blocked')) FROM temp.universe WHERE copies(i) > 0)");
    }
    if (from->kind->takes == INTEGERS_ONLY && from->kind->format == NULL)
        ask_number(connection, from, 1,
                   "SELECT (SELECT group_concat(key) FROM bloom_keys(?1) WHERE key BETWEEN 100 "
                   "AND 700) IS (SELECT group_concat(k) FROM (SELECT k FROM temp.universe WHERE "
                   "copies(i) > 0 AND i BETWEEN 100 AND 700 ORDER BY i))");
    ask_number(connection, from, 1,
               "SELECT json_extract(bloom_info(?1), '$.fpr') IS NOT NULL OR bloom_fpr(?1) = 0");
}

/* Fresh keys that are found, as many as the rate says. Below a few hundred bits the positions of a
 * classic filter depend on each other, and the rate of one is not that of another with as many bits
 * set. */
static struct { double expected, variance, found; } rates;

static void count_rate(connection_t *connection, const struct value *from) {
    enum { BYTES_LEAST = 256 };
    struct answer answer;
    if (from->kind->takes != ANYTHING || from->length < BYTES_LEAST)
        return;
    const sqlite3_int64 first = (INT64_C(1) << 40) + (sqlite3_int64)(random_next() >> 30);
    char *sql = sqlite3_mprintf("SELECT count(*) || ' ' || bloom_fpr(?1) FROM temp.universe WHERE "
                                "bloom_check((SELECT bloom_pin(?1)), i + %lld)",
                                first);
    if (ask(connection, &from, 1, 0, &answer, sql)) {
        char *end;
        answer.bytes[answer.length] = 0;
        const double found = strtod((const char *)answer.bytes, &end), rate = strtod(end, NULL);
        rates.found += found;
        rates.expected += UNIVERSE * rate;
        rates.variance += UNIVERSE * rate * (1 - rate);
        free(answer.bytes);
    }
    sqlite3_free(sql);
}

/* Five standard deviations, which chance goes beyond once in two million runs, and 3 %: a rate is
 * an estimate. */
void values_end(void) {
    const double allowed = 5 * sqrt(rates.variance) + 0.03 * rates.expected + 5;
    expect(fabs(rates.found - rates.expected) <= allowed,
           "%.0f fresh keys were found in filters, %.0f expected, within %.0f", rates.found,
           rates.expected, allowed);
}

/* Filters of different parameters do not merge. */
static void refuse(connection_t *connection, const struct value *from) {
    const struct value *other = &values[random_below(VALUES)];
    if (other->kind == NULL || same_header(from, other))
        return;
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(connection->database,
                                  random_once_in(2) ? "SELECT bloom_union(?1, ?2)"
                                                    : "SELECT bloom_intersect(?1, ?2)",
                                  -1, &statement, NULL);
    if (code != SQLITE_OK)
        return;
    sqlite3_bind_blob64(statement, 1, from->bytes, from->length, SQLITE_STATIC);
    sqlite3_bind_blob64(statement, 2, other->bytes, other->length, SQLITE_STATIC);
    sqlite3_step(statement);
    code = sqlite3_finalize(statement);
    expect(code == SQLITE_ERROR || is_busy(code), "filters of %s and %s merge: result %d",
           from->kind->empty, other->kind->empty, code);
}

void step_value(connection_t *connection) {
    const struct value *from = &values[random_below(VALUES)];
    const unsigned what = random_below(16);
    if (from->kind == NULL || what == 0)
        random_once_in(2) ? make_empty(connection) : make_at_once(connection);
    else if (what <= 2)
        make_at_once(connection);
    else if (what == 3)
        make_sized(connection);
    else if (what == 4)
        make_fuse(connection);
    else if (what <= 8)
        add_or_remove(connection, from);
    else if (what <= 11)
        merge(connection, from, what == 11);
    else if (what == 12)
        exchange(connection, from);
    else if (what == 13)
        count_rate(connection, from);
    else if (what == 14)
        ask_for_more(connection, from);
    else
        refuse(connection, from);
}

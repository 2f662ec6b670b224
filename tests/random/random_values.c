/* Filter values: random sequences of all that makes a filter of other filters and keys, over
 * several filters of different parameters and all layouts. After each step the filter that came out
 * is asked for every key of the universe and compared by bytes with one that is made of the same
 * set in another way. */
#include "random.h"

#include "filter/header.h"
#include "filter/hash.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 11000, UNIVERSE = 1024, SLOTS = 16, ARGUMENTS_MOST = 3 };

static const char *const FRESH[] = {
    "bloom_new(1)",
    "bloom_new(30, 0.2)",
    "bloom_new(100)",
    "bloom_new(500, 0.001)",
    "bloom_new(1000, 0.05, 'blocked')",
    "bloom_new(4000, 1e-6)",
    "bloom_new(100, 0.5, 'classic')",
    "bloom_new(700, 0.01, 'CLASSIC')",
    "bloom_new(200, 0.02, 'salt=000102030405060708090a0b0c0d0e0f')",
    "bloom_new(200, 0.02, 'salt=000102030405060708090a0b0c0d0e0e')",
    "bloom_new_bits(86272, 30)",
    "bloom_new_bits(9593, 7)",
    "bloom_new_bits(3200, 3)",
    "bloom_new_bits(77, 1)",
    /* Guava's older strategy: in the bytes of an empty filter of the newer one, the first byte is
     * 0. */
    "bloom_import(CAST(x'00' || substr(bloom_export(bloom_new_bits(4096, 3), 'guava'), 2) AS "
    "BLOB), 'guava')",
};
enum { FRESH_COUNT = sizeof FRESH / sizeof *FRESH };

/* The same parameters where bloom_agg takes them. */
static const char *const AGGREGATES[][2] = {
    {"bloom_new(100, 0.01)", "bloom_agg(k, 100)"},
    {"bloom_new(300, 0.003)", "bloom_agg(k, 300.0, 0.003)"},
    {"bloom_new(300, 0.003, 'classic')", "bloom_agg(k, 300, 0.003, 'classic')"},
    {"bloom_new(?2)", "bloom_agg(k)"},
    {"bloom_new(?2)", "bloom_agg(k, NULL, 0.01)"},
    {"bloom_new(?2, 0.1)", "bloom_agg(k, NULL, 0.1)"},
    {"bloom_new(?2, 0.5, 'classic')", "bloom_agg(k, NULL, 0.5, 'classic')"},
    {"bloom_new(?2, 0.02, 'salt=6c7967656e657261736f6d6570736575')",
     "bloom_agg(k, NULL, 0.02, ' SALT = \"6C7967656E657261736F6D6570736575\", layout=Blocked')"},
};
enum { AGGREGATE_COUNT = sizeof AGGREGATES / sizeof *AGGREGATES };

enum statement {
    ADD,
    ADD_PINNED,
    UNION,
    UNION_PINNED,
    UNION_AGG,
    INTERSECT,
    INTERSECT_PINNED,
    BY_TEMPLATE,
    BY_PIN,
    EXPORT,
    IMPORT,
    REBUILD,
    REBUILD_BACKWARD,
    REBUILD_BY_PARTS,
    KEYS_IN,
    FRESH_IN,
    RATE,
    HASH,
    STATEMENTS
};

static const char *const SQL[STATEMENTS] = {
    [ADD] = "SELECT bloom_add(?1, ?2)",
    [ADD_PINNED] = "SELECT bloom_add((SELECT bloom_pin(?1)), ?2)",
    [UNION] = "SELECT bloom_union(?1, ?2, ?3)",
    [UNION_PINNED] = "SELECT bloom_union(NULL, (SELECT bloom_pin(?1)), ?2, (SELECT bloom_pin(?3)))",
    [UNION_AGG] =
        "WITH f(f) AS (VALUES (?1), (NULL), (?2), (?3), (?1)) SELECT bloom_union_agg(f) FROM f",
    [INTERSECT] = "SELECT bloom_intersect(?1, ?2, ?3)",
    [INTERSECT_PINNED] =
        "SELECT bloom_intersect((SELECT bloom_pin(?1)), ?2, (SELECT bloom_pin(?3)))",
    [BY_TEMPLATE] = "SELECT bloom_agg(k, ?1) FROM universe WHERE in_set(i)",
    [BY_PIN] = "SELECT bloom_agg(k, (SELECT bloom_pin(?1))) FROM universe WHERE in_set(i)",
    [EXPORT] = "SELECT bloom_export(?1, 'guava')",
    [IMPORT] = "SELECT bloom_import(?1, 'guava')",
    [REBUILD] = "SELECT bloom_agg(k, ?1) FROM universe WHERE in_set(i)",
    [REBUILD_BACKWARD] =
        "SELECT bloom_agg(k, ?1) FROM (SELECT k FROM universe, (SELECT 1 UNION ALL SELECT 2) "
        "WHERE in_set(i) ORDER BY i * 7919 % 1024 DESC)",
    [REBUILD_BY_PARTS] =
        "SELECT bloom_union_agg(f) FROM (SELECT bloom_agg(k, ?1) AS f FROM universe WHERE "
        "in_set(i) GROUP BY i % 5)",
    [KEYS_IN] = "SELECT i, k FROM universe WHERE bloom_check((SELECT bloom_pin(?1)), k)",
    [FRESH_IN] = "SELECT count(*) FROM universe WHERE bloom_check((SELECT bloom_pin(?1)), i + ?2)",
    [RATE] = "SELECT bloom_fpr(?1)",
    [HASH] = "SELECT bloom_hash(k) FROM universe WHERE i = ?1",
};

struct filter {
    uint8_t *bytes;
    int length;
};

struct slot {
    struct filter filter;
    struct set keys;
    /* A payload: bits that an intersection has left besides those of the keys; NULL for none. */
    uint8_t *base;
};

static sqlite3 *database;
static sqlite3_stmt *statements[STATEMENTS], *fresh[FRESH_COUNT], *aggregates[AGGREGATE_COUNT][2];
static struct set asked; /* what in_set() tells */
static struct slot slots[SLOTS];
static struct false_positives rates[4]; /* by layout */

static void *copy(const void *bytes, size_t length) {
    void *memory = malloc(length > 0 ? length : 1);
    expect(memory != NULL, "no memory");
    if (length > 0)
        memcpy(memory, bytes, length);
    return memory;
}

static void bind_filter(sqlite3_stmt *statement, int parameter, struct filter filter) {
    sqlite3_bind_blob(statement, parameter, filter.bytes, filter.length, SQLITE_STATIC);
}

/* The one value of a statement, a BLOB; no bytes when it is NULL. */
static struct filter ask(sqlite3_stmt *statement) {
    struct filter result = {NULL, 0};
    int code = sqlite3_step(statement);
    expect(code == SQLITE_ROW, "%s: %s", sqlite3_sql(statement), sqlite3_errmsg(database));
    if (sqlite3_column_type(statement, 0) != SQLITE_NULL) {
        result.length = sqlite3_column_bytes(statement, 0);
        result.bytes = copy(sqlite3_column_blob(statement, 0), (size_t)result.length);
    }
    sqlite3_reset(statement);
    operations++;
    return result;
}

static struct filter ask_about(enum statement which, struct filter filter) {
    bind_filter(statements[which], 1, filter);
    return ask(statements[which]);
}

/* Puts a filter into a slot; takes over filter and base. */
static void put(struct slot *slot, struct filter filter, struct set keys, uint8_t *base) {
    free(slot->filter.bytes);
    free(slot->base);
    *slot = (struct slot){filter, keys, base};
}

/* A salted filter has a second line. */
static size_t header_bytes(struct filter filter) {
    return (size_t)BLOOM_HEADER_BYTES * (1 + (size_t)filter.bytes[7]);
}

static size_t payload_bytes(struct filter filter) {
    return (size_t)filter.length - header_bytes(filter);
}

/* Whether the two may be merged. */
static bool same_header(struct filter a, struct filter b) {
    return a.bytes[7] == b.bytes[7] && memcmp(a.bytes, b.bytes, header_bytes(a)) == 0;
}

/* The keys added one at a time on the library floor. */
static struct filter rebuild_singly(struct filter filter) {
    sqlite3_stmt *probes = statements[HASH];
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape;
    struct filter result = {copy(filter.bytes, (size_t)filter.length), filter.length};
    expect(bloom_filter_read(&shape, result.bytes, (uint64_t)result.length, problem), "a filter %s",
           problem);
    memset(result.bytes + header_bytes(result), 0, payload_bytes(result));
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (set_has(&asked, key)) {
            sqlite3_bind_int64(probes, 1, key);
            expect(sqlite3_step(probes) == SQLITE_ROW, "no hash");
            const uint8_t *bytes = sqlite3_column_blob(probes, 0);
            uint64_t words[2] = {0, 0};
            for (unsigned i = 0; i < 16; i++)
                words[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
            shape.layout->add(&shape, result.bytes + header_bytes(result), words, 1);
            sqlite3_reset(probes);
            operations++;
        }
    return result;
}

/* A filter of the keys in asked, in the shape of another one. */
static struct filter rebuild(struct filter filter) {
    struct filter result;
    if (filter.bytes[7] == 0 && random_once_in(4)) /* bloom_hash knows no salt */
        return rebuild_singly(filter);
    result = ask_about(REBUILD + random_below(3), filter);
    operations += set_count(&asked);
    if (result.bytes == NULL) { /* no row, no filter */
        result = (struct filter){copy(filter.bytes, (size_t)filter.length), filter.length};
        memset(result.bytes + header_bytes(result), 0, payload_bytes(result));
    }
    return result;
}

/* What must hold of a filter after each step. */
static void verify(const struct slot *slot, const char *step) {
    sqlite3_stmt *statement = statements[KEYS_IN];
    struct filter filter = slot->filter;
    struct set found = {{0}};
    asked = slot->keys;

    bind_filter(statement, 1, filter);
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        set_add(&found, (unsigned)sqlite3_column_int(statement, 0));
    expect(code == SQLITE_DONE, "%s: %s", step, sqlite3_errmsg(database));
    sqlite3_reset(statement);
    operations += UNIVERSE;
    set_intersect(&found, &slot->keys);
    expect(memcmp(&found, &slot->keys, sizeof found) == 0, "%s: %u of %u keys are false negatives",
           step, set_count(&slot->keys) - set_count(&found), set_count(&slot->keys));

    struct filter expected = rebuild(filter);
    for (size_t i = 0; slot->base != NULL && i < payload_bytes(expected); i++)
        expected.bytes[header_bytes(expected) + i] |= slot->base[i];
    expect(expected.length == filter.length &&
               memcmp(expected.bytes, filter.bytes, (size_t)filter.length) == 0,
           "%s: %u keys, equal sets, other bytes", step, set_count(&slot->keys));
    free(expected.bytes);

    statement = statements[RATE];
    bind_filter(statement, 1, filter);
    expect(sqlite3_step(statement) == SQLITE_ROW, "%s: no rate", step);
    double rate = sqlite3_column_double(statement, 0);
    sqlite3_reset(statement);
    statement = statements[FRESH_IN];
    bind_filter(statement, 1, filter);
    sqlite3_bind_int64(statement, 2, fresh_keys());
    expect(sqlite3_step(statement) == SQLITE_ROW, "%s: %s", step, sqlite3_errmsg(database));
    /* Below a few hundred bits the positions of a classic filter depend on each other, and the rate
     * of one filter is not that of another with as many bits set; they are in the sum of nothing.
     */
    if (payload_bytes(filter) >= 256 || filter.bytes[5] == 1)
        false_positives_count(&rates[filter.bytes[5]], UNIVERSE,
                              (unsigned)sqlite3_column_int(statement, 0), rate);
    sqlite3_reset(statement);
    operations += UNIVERSE + 1;
}

/* One to ARGUMENTS_MOST slots that may be merged with the first, which is any. */
static unsigned choose_mates(struct slot **mates) {
    unsigned count = 1, most = 1 + random_below(ARGUMENTS_MOST);
    mates[0] = &slots[random_below(SLOTS)];
    for (unsigned tries = 0; tries < 3 * SLOTS && count < most; tries++) {
        struct slot *mate = &slots[random_below(SLOTS)];
        if (same_header(mate->filter, mates[0]->filter))
            mates[count++] = mate;
    }
    return count;
}

static const char *step_fresh(struct slot *into) {
    put(into, ask(fresh[random_below(FRESH_COUNT)]), (struct set){{0}}, NULL);
    return "a new filter";
}

static const char *step_add(struct slot *into) {
    struct slot *from = &slots[random_below(SLOTS)];
    struct filter filter = {copy(from->filter.bytes, (size_t)from->filter.length),
                            from->filter.length};
    struct set keys = from->keys;
    for (unsigned left = random_below(60); left > 0; left--) {
        unsigned key = random_below(UNIVERSE);
        sqlite3_stmt *statement = statements[random_once_in(2) ? ADD : ADD_PINNED];
        bind_filter(statement, 1, filter);
        bind_key(statement, 2, key);
        struct filter added = ask(statement);
        expect(added.bytes != NULL && added.length == filter.length && same_header(added, filter),
               "bloom_add changes the header");
        free(filter.bytes);
        filter = added;
        set_add(&keys, key);
    }
    put(into, filter, keys, from->base ? copy(from->base, payload_bytes(filter)) : NULL);
    return "bloom_add";
}

static const char *step_merge(struct slot *into, bool intersect) {
    struct slot *mates[ARGUMENTS_MOST];
    unsigned count = choose_mates(mates);
    size_t bytes = payload_bytes(mates[0]->filter);
    struct set keys = mates[0]->keys;
    enum statement which = intersect ? INTERSECT + random_below(2) : UNION + random_below(3);
    uint8_t *base = NULL;

    for (int i = 0; i < ARGUMENTS_MOST; i++) /* fewer than three: the last one again */
        bind_filter(statements[which], 1 + i,
                    mates[(unsigned)i < count ? (unsigned)i : count - 1]->filter);
    struct filter filter = ask(statements[which]);
    expect(filter.bytes != NULL && filter.length == mates[0]->filter.length &&
               same_header(filter, mates[0]->filter),
           "%s: another header", SQL[which]);
    if (intersect)
        base = copy(mates[0]->filter.bytes + header_bytes(mates[0]->filter), bytes);
    else if (mates[0]->base != NULL)
        base = copy(mates[0]->base, bytes);
    for (unsigned mate = 1; mate < count; mate++) {
        const uint8_t *from = intersect
                                  ? mates[mate]->filter.bytes + header_bytes(mates[mate]->filter)
                                  : mates[mate]->base;
        if (intersect)
            set_intersect(&keys, &mates[mate]->keys);
        else
            set_unite(&keys, &mates[mate]->keys);
        if (from != NULL && base == NULL)
            base = copy(from, bytes);
        for (size_t i = 0; from != NULL && i < bytes; i++)
            base[i] = (uint8_t)(intersect ? base[i] & from[i] : base[i] | from[i]);
    }
    put(into, filter, keys, base);
    return SQL[which];
}

static const char *step_aggregate(struct slot *into) {
    unsigned which = random_below(AGGREGATE_COUNT);
    asked = random_set(UNIVERSE);
    struct filter filter = ask(aggregates[which][1]);
    if (filter.bytes == NULL) {
        expect(set_count(&asked) == 0, "%s of keys gives NULL", AGGREGATES[which][1]);
        return step_fresh(into);
    }
    sqlite3_bind_int64(aggregates[which][0], 2, set_count(&asked));
    struct filter empty = ask(aggregates[which][0]);
    expect(filter.length == empty.length && same_header(filter, empty),
           "%s of %u keys: not the size of %s", AGGREGATES[which][1], set_count(&asked),
           AGGREGATES[which][0]);
    free(empty.bytes);
    operations += set_count(&asked);
    put(into, filter, asked, NULL);
    return AGGREGATES[which][1];
}

static const char *step_template(struct slot *into) {
    const struct slot *from = &slots[random_below(SLOTS)];
    asked = random_set(UNIVERSE);
    struct filter filter = ask_about(BY_TEMPLATE + random_below(2), from->filter);
    if (filter.bytes == NULL)
        return step_fresh(into);
    expect(filter.length == from->filter.length && same_header(filter, from->filter),
           "bloom_agg: not the shape of the filter given");
    operations += set_count(&asked);
    put(into, filter, asked, NULL);
    return "bloom_agg with a filter";
}

static const char *step_exchange(struct slot *into) {
    const struct slot *from = &slots[random_below(SLOTS)];
    struct bloom_shape before, after;
    char problem[BLOOM_PROBLEM_SIZE];
    expect(bloom_filter_read(&before, from->filter.bytes, (uint64_t)from->filter.length, problem),
           "a filter %s", problem);
    if (before.layout == &bloom_layout_blocked || before.bits % 64 != 0) {
        bind_filter(statements[EXPORT], 1, from->filter);
        expect(sqlite3_step(statements[EXPORT]) == SQLITE_ERROR,
               "exported what Guava does not know");
        sqlite3_reset(statements[EXPORT]);
        operations++;
        return step_fresh(into);
    }
    struct filter foreign = ask_about(EXPORT, from->filter);
    struct filter imported = ask_about(IMPORT, foreign);
    struct filter again = ask_about(EXPORT, imported);
    expect(foreign.length == again.length &&
               memcmp(foreign.bytes, again.bytes, (size_t)again.length) == 0,
           "imported and exported: other bytes");
    expect(bloom_filter_read(&after, imported.bytes, (uint64_t)imported.length, problem) &&
               after.layout == before.layout && after.probes == before.probes &&
               after.bits == before.bits && after.capacity == 0 &&
               memcmp(&after.rate, &(double){0}, sizeof after.rate) == 0 &&
               imported.length == from->filter.length,
           "imported: another shape");
    free(foreign.bytes);
    free(again.bytes);
    put(into, imported, from->keys, from->base ? copy(from->base, payload_bytes(imported)) : NULL);
    return "export and import";
}

/* Filters of different headers do not merge. */
static void refuse_others(void) {
    const struct slot *a = &slots[random_below(SLOTS)], *b = &slots[random_below(SLOTS)];
    if (same_header(a->filter, b->filter))
        return;
    enum statement which = UNION + random_below(INTERSECT_PINNED - UNION + 1);
    for (int i = 1; i <= ARGUMENTS_MOST; i++)
        bind_filter(statements[which], i, i == 2 ? b->filter : a->filter);
    expect(sqlite3_step(statements[which]) == SQLITE_ERROR,
           "%s: merges filters of different parameters", SQL[which]);
    sqlite3_reset(statements[which]);
    operations++;
}

static void begin(void) {
    database = open_connection(":memory:", UNIVERSE, &asked);
    for (int i = 0; i < STATEMENTS; i++)
        statements[i] = prepare(database, "%s", SQL[i]);
    for (int i = 0; i < FRESH_COUNT; i++)
        fresh[i] = prepare(database, "SELECT %s", FRESH[i]);
    for (int i = 0; i < AGGREGATE_COUNT; i++) {
        aggregates[i][0] = prepare(database, "SELECT %s, ?2", AGGREGATES[i][0]);
        aggregates[i][1] =
            prepare(database, "SELECT %s FROM universe WHERE in_set(i)", AGGREGATES[i][1]);
    }
}

static void end(void) {
    sqlite3_stmt *statement;
    for (unsigned i = 0; i < SLOTS; i++)
        put(&slots[i], (struct filter){NULL, 0}, (struct set){{0}}, NULL);
    while ((statement = sqlite3_next_stmt(database, NULL)) != NULL)
        sqlite3_finalize(statement);
    expect(sqlite3_close(database) == SQLITE_OK, "the connection cannot be closed");
}

void random_values(void) {
    memset(rates, 0, sizeof rates);
    begin();
    for (unsigned i = 0; i < SLOTS; i++)
        step_fresh(&slots[i]);
    for (unsigned step = 0; step < STEPS; step++) {
        struct slot result = {{NULL, 0}, {{0}}, NULL};
        const char *name;
        switch (random_below(12)) {
        case 0:
            name = step_fresh(&result);
            break;
        case 1:
        case 2:
        case 3:
            name = step_add(&result);
            break;
        case 4:
        case 5:
        case 6:
            name = step_merge(&result, false);
            break;
        case 7:
            name = step_merge(&result, true);
            break;
        case 8:
            name = step_aggregate(&result);
            break;
        case 9:
        case 10:
            name = step_template(&result);
            break;
        default:
            name = step_exchange(&result);
        }
        verify(&result, name);
        struct slot *into = &slots[random_below(SLOTS)];
        put(into, result.filter, result.keys, result.base);
        refuse_others();
    }
    end();
    false_positives_expect(&rates[1], 0.01, "layout blocked");
    false_positives_expect(&rates[2], 0.03, "layout classic");
    false_positives_expect(&rates[3], 0.03, "layout classic32");
}

/* Filters of layouts counting and bitmap: random sequences of all that makes one of others and of
 * keys, against arrays of counts and of bools. After each step the filter that came out is compared
 * by bytes with one that is made of the same multiset, or set, at once; and one of layout fuse is
 * made of the keys and asked. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { KIND_STEPS = 6000, KIND_KEYS = 160, KIND_SLOTS = 8, COUNT_MOST = 6 };

enum kind_statement {
    KIND_ADD,
    KIND_REMOVE,
    KIND_UNION,
    KIND_INTERSECT,
    KIND_REBUILD,
    KIND_CONVERT,
    KIND_BLOCKED,
    KIND_COUNT,
    KIND_KEYS_UP,
    KIND_KEYS_DOWN,
    KIND_FUSE,
    KIND_STATEMENTS
};

/* counts(key, copies) holds the multiset that a filter is compared with. */
static const char *const KIND_SQL[KIND_STATEMENTS] = {
    [KIND_ADD] = "SELECT bloom_add(?1, ?2)",
    [KIND_REMOVE] = "SELECT bloom_remove(?1, ?2)",
    [KIND_UNION] = "SELECT bloom_union(?1, (SELECT bloom_pin(?2)))",
    [KIND_INTERSECT] = "SELECT bloom_intersect(?1, ?2)",
    [KIND_REBUILD] = "SELECT bloom_agg(key, ?1) FROM (SELECT key FROM counts JOIN numbers ON i <= "
                     "copies ORDER BY i, key * 7 % 160)",
    [KIND_CONVERT] = "SELECT bloom_convert(?1, 'blocked')",
    [KIND_BLOCKED] = "SELECT bloom_agg(key, bloom_convert(?1, 'blocked')) FROM counts WHERE copies "
                     "> 0",
    [KIND_COUNT] = "SELECT count(*) FROM counts WHERE copies > 0 AND bloom_check(?1, key)",
    [KIND_KEYS_UP] = "SELECT coalesce(group_concat(key), '') FROM bloom_keys(?1) WHERE key "
                     "BETWEEN ?2 AND ?2 + 40",
    [KIND_KEYS_DOWN] = "SELECT coalesce(group_concat(key), '') FROM (SELECT key FROM counts WHERE "
                       "copies > 0 AND key >= ?2 AND key <= ?2 + 40 ORDER BY key)",
    [KIND_FUSE] = "WITH f(f) AS (SELECT bloom_agg(key, NULL, 0.1, 'fuse') FROM counts JOIN "
                  "numbers ON i <= copies) SELECT count(*) FROM f, counts WHERE copies > 0 AND "
                  "bloom_check(f, key)",
};

struct kind_slot {
    uint8_t *bytes;
    int length;
    unsigned room; /* keys below it can be in */
    bool exact;
    unsigned copies[KIND_KEYS];
};

static sqlite3 *kind_database;
static sqlite3_stmt *kind_statements[KIND_STATEMENTS], *kind_write;
static struct kind_slot kind_slots[KIND_SLOTS];

/* Runs a statement whose first result is bytes or a number. */
static struct kind_slot kind_run(enum kind_statement which, const struct kind_slot *first,
                                 const struct kind_slot *second, int key) {
    sqlite3_stmt *statement = kind_statements[which];
    struct kind_slot result = {0};
    if (first != NULL)
        sqlite3_bind_blob(statement, 1, first->bytes, first->length, SQLITE_STATIC);
    if (second != NULL)
        sqlite3_bind_blob(statement, 2, second->bytes, second->length, SQLITE_STATIC);
    else if (sqlite3_bind_parameter_count(statement) > 1)
        sqlite3_bind_int(statement, 2, key);
    expect(sqlite3_step(statement) == SQLITE_ROW, "%s: %s", KIND_SQL[which],
           sqlite3_errmsg(kind_database));
    result.length = sqlite3_column_bytes(statement, 0);
    result.bytes = malloc((size_t)result.length + 1);
    expect(result.bytes != NULL, "no memory");
    if (result.length > 0)
        memcpy(result.bytes, sqlite3_column_blob(statement, 0), (size_t)result.length);
    result.room = (unsigned)sqlite3_column_int(statement, 0);
    sqlite3_reset(statement);
    operations++;
    return result;
}

static void kind_expect_same(struct kind_slot one, struct kind_slot other, const char *what) {
    expect(one.length == other.length && memcmp(one.bytes, other.bytes, (size_t)one.length) == 0,
           "%s differ", what);
    free(one.bytes);
    free(other.bytes);
}

static void kind_compare(const struct kind_slot *slot) {
    unsigned different = 0;
    for (int key = 0; key < KIND_KEYS; key++) {
        sqlite3_bind_int(kind_write, 1, key);
        sqlite3_bind_int(kind_write, 2, (int)slot->copies[key]);
        expect(sqlite3_step(kind_write) == SQLITE_DONE, "%s", sqlite3_errmsg(kind_database));
        sqlite3_reset(kind_write);
        different += slot->copies[key] > 0;
    }
    struct kind_slot asked = kind_run(KIND_COUNT, slot, NULL, 0);
    expect(asked.room == different, "%u of %u keys are in", asked.room, different);
    free(asked.bytes);
    asked = kind_run(KIND_FUSE, NULL, NULL, 0);
    expect(different == 0 || asked.room == different, "%u of %u keys are in fuse", asked.room,
           different);
    free(asked.bytes);
    if (different > 0) {
        asked = kind_run(KIND_REBUILD, slot, NULL, 0);
        expect(asked.length == slot->length &&
                   memcmp(asked.bytes, slot->bytes, (size_t)slot->length) == 0,
               "the filter and one made at once differ");
        free(asked.bytes);
    }
    if (!slot->exact && different > 0)
        kind_expect_same(kind_run(KIND_CONVERT, slot, NULL, 0),
                         kind_run(KIND_BLOCKED, slot, NULL, 0), "conversion and blocked filter");
    if (slot->exact) {
        int from = (int)random_below(KIND_KEYS + 10) - 5;
        kind_expect_same(kind_run(KIND_KEYS_UP, slot, NULL, from),
                         kind_run(KIND_KEYS_DOWN, slot, NULL, from), "keys listed and kept");
    }
}

/* One step: from one slot, or two of the same kind, into one. */
static void kind_step(void) {
    struct kind_slot *slot = &kind_slots[random_below(KIND_SLOTS)];
    struct kind_slot *other = &kind_slots[random_below(KIND_SLOTS)];
    unsigned key = random_below(slot->room);
    struct kind_slot made = *slot;
    enum kind_statement what = KIND_ADD;
    unsigned choice = random_below(10);
    if (choice == 0 && other->exact == slot->exact) {
        what = KIND_UNION;
        for (unsigned i = 0; i < KIND_KEYS; i++) {
            made.copies[i] += other->copies[i];
            if (!slot->exact && made.copies[i] > COUNT_MOST)
                return; /* it would fill counters */
        }
        if (other->room > made.room)
            made.room = other->room;
    } else if (choice < 3 && slot->exact && other->exact) {
        what = KIND_INTERSECT;
        for (unsigned i = 0; i < KIND_KEYS; i++)
            made.copies[i] = made.copies[i] > 0 && other->copies[i] > 0;
        if (other->room < made.room)
            made.room = other->room;
    } else if (choice < 6 && !slot->exact) {
        /* Only what was added is taken out. */
        if (made.copies[key] == 0)
            return;
        what = KIND_REMOVE;
        made.copies[key]--;
    } else if (slot->exact || made.copies[key] < COUNT_MOST) {
        made.copies[key] += slot->exact ? made.copies[key] == 0 : 1;
    } else {
        return;
    }
    bool merges = what == KIND_UNION || what == KIND_INTERSECT;
    struct kind_slot result = kind_run(what, slot, merges ? other : NULL, (int)key);
    free(slot->bytes);
    made.bytes = result.bytes;
    made.length = result.length;
    for (unsigned i = 0; i < KIND_KEYS && made.exact; i++)
        made.copies[i] = made.copies[i] > 0;
    *slot = made;
    if (random_once_in(4))
        kind_compare(slot);
}

static void kind_fresh(struct kind_slot *slot, bool exact) {
    static const unsigned rooms[] = {1, 9, 64, 100, KIND_KEYS};
    char *sql;
    memset(slot, 0, sizeof *slot);
    slot->exact = exact;
    slot->room = exact ? rooms[random_below(5)] : KIND_KEYS;
    if (exact)
        sql = sqlite3_mprintf("SELECT bloom_new(%u, NULL, 'bitmap')", slot->room);
    else
        sql = sqlite3_mprintf("SELECT bloom_new(400, 0.001, 'counting')");
    sqlite3_stmt *statement = prepare(kind_database, "%s", sql);
    sqlite3_free(sql);
    expect(sqlite3_step(statement) == SQLITE_ROW, "%s", sqlite3_errmsg(kind_database));
    slot->length = sqlite3_column_bytes(statement, 0);
    slot->bytes = malloc((size_t)slot->length);
    expect(slot->bytes != NULL, "no memory");
    memcpy(slot->bytes, sqlite3_column_blob(statement, 0), (size_t)slot->length);
    sqlite3_finalize(statement);
}

void random_kinds(void) {
    static struct set nothing;
    kind_database = open_connection(":memory:", KIND_KEYS, &nothing);
    expect(sqlite3_exec(kind_database,
                        "CREATE TABLE counts(key INTEGER PRIMARY KEY, copies INTEGER);"
                        "CREATE TABLE numbers(i INTEGER PRIMARY KEY);"
                        "INSERT INTO numbers VALUES (1), (2), (3), (4), (5), (6)",
                        NULL, NULL, NULL) == SQLITE_OK,
           "%s", sqlite3_errmsg(kind_database));
    kind_write = prepare(kind_database, "REPLACE INTO counts VALUES (?1, ?2)");
    for (int i = 0; i < KIND_STATEMENTS; i++)
        kind_statements[i] = prepare(kind_database, "%s", KIND_SQL[i]);
    for (unsigned i = 0; i < KIND_SLOTS; i++)
        kind_fresh(&kind_slots[i], i % 2 == 0);
    for (unsigned step = 0; step < KIND_STEPS; step++) {
        kind_step();
        if (random_once_in(300)) {
            unsigned i = random_below(KIND_SLOTS);
            free(kind_slots[i].bytes);
            kind_fresh(&kind_slots[i], i % 2 == 0);
        }
    }
    for (unsigned i = 0; i < KIND_SLOTS; i++)
        free(kind_slots[i].bytes);
    for (int i = 0; i < KIND_STATEMENTS; i++)
        sqlite3_finalize(kind_statements[i]);
    sqlite3_finalize(kind_write);
    sqlite3_close(kind_database);
}

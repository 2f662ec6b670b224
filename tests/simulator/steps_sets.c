/* Steps: sets of hashes are added, by 'add_all' and bloom_hashes. Which sets a table refuses,
 * tests/sql/table_add_all.test shows. */
#include "steps.h"

#include <stdlib.h>

static int compare_words(const void *a, const void *b) {
    const uint64_t *one = *(const uint64_t *const *)a, *other = *(const uint64_t *const *)b;
    return (*one > *other) - (*one < *other);
}

/* The words of each hash of the set once; *counted gets a key of each. Returns how many there are.
 */
static size_t words_of_set(const struct attempt *attempt, const struct keys *keys,
                           const uint64_t **words, struct keys *counted) {
    size_t count = 0, i;
    for (unsigned key = 0; key < UNIVERSE; key++) {
        if (!keys_have(keys, key))
            continue;
        words[count] = words_to_add(attempt, key);
        for (i = 0; words[i][0] != words[count][0]; i++)
            continue;
        if (i == count) {
            keys_add(counted, key);
            count++;
        }
    }
    return count;
}

/* Adds the set to what was read. In which order a chunk takes the hashes is not known. Unless one
 * closes, it plays no part in the bits; and a key whose chunk was closed before is refused. */
static void add_set(struct attempt *attempt, const struct keys *keys, struct keys *counted) {
    struct raw *raw = &attempt->raw;
    const uint64_t *words[UNIVERSE];
    size_t count = words_of_set(attempt, keys, words, counted), new = 0;
    bool may_close = false;
    for (size_t i = 0; i < count; i++) {
        if (raw_has_at(raw, words[i], 0))
            raw_add(raw, words[i], true);
        else
            words[new ++] = words[i];
    }
    for (size_t i = 0; i < new; i++)
        may_close = may_close || raw_may_close(raw, words[i], (unsigned)new);
    qsort(words, new, sizeof *words, compare_words);
    for (size_t i = 0; i < new; i++) {
        const bool full = raw_add(raw, words[i], true) == RAW_FULL;
        attempt->must_refuse |= full && raw->closings == 0;
        attempt->may_refuse |= full;
    }
    if (raw->closings > 0 || may_close) {
        attempt->may_refuse |= attempt->table->options.refuses;
        attempt->known = false;
    }
}

/* How the hashes are to be made: by the options of the table, or, where no column converts keys,
 * by a filter. */
static void bind_hashing(const struct attempt *attempt, sqlite3_stmt *statement) {
    const struct key_type_properties *type = &TYPES[attempt->table->options.key];
    if (type->options[0] != '\0' && (type->column != AS_IT_IS || random_once_in(2))) {
        sqlite3_bind_text(statement, 1, type->options, -1, SQLITE_STATIC);
        return;
    }
    static const struct keys NONE;
    size_t bytes;
    uint8_t *filter = make_filter(attempt, &NONE, &bytes);
    sqlite3_bind_blob(statement, 1, filter, (int)bytes, free);
}

static void add_all_done(struct attempt *attempt, const struct keys *keys,
                         const struct keys *counted) {
    const char *name = NAME[attempt->table->name];
    const int changes = sqlite3_changes(attempt->connection->database);
    expect(attempt->doubtful || changes == 1, "%s: changes() is %d after a set", name, changes);
    attempt->estimated = true; /* which keys seemed to be in depends on the order */
    if (attempt_compare(attempt))
        expect(attempt->keys_after <= attempt->keys_before + keys_count(counted),
               "%s: for %u hashes it counts %llu keys more", name, keys_count(counted),
               (unsigned long long)(attempt->keys_after - attempt->keys_before));
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (keys_have(keys, key))
            table_add(attempt->table, key, !attempt->doubtful && keys_have(counted, key), 0);
}

void step_add_all(connection_t *connection) {
    struct attempt attempt;
    struct keys counted = {{0}};
    sqlite3_stmt *statement = attempt_begin(&attempt, connection, ADD_ALL);
    if (statement == NULL)
        return;
    const enum key_type type = attempt.table->options.key;
    connection->asked = some_keys(random_once_in(8) ? AS_IT_IS : type);
    if (attempt.known) {
        bind_hashing(&attempt, statement);
        attempt.must_refuse = !all_have_words(type, &connection->asked);
        if (!attempt.must_refuse)
            add_set(&attempt, &connection->asked, &counted);
        note("%s: -- a set of %u keys%s", connection->name, keys_count(&connection->asked),
             attempt.must_refuse ? "; is refused" : "");
        if (attempt_run(&attempt, statement, random_fault()))
            add_all_done(&attempt, &connection->asked, &counted);
        else
            expect(!attempt.changed || attempt.doubtful, "%s: a failed add_all has changed %s",
                   connection->name, NAME[attempt.table->name]);
        sqlite3_clear_bindings(statement);
    }
    raw_clear(&attempt.raw);
}

/* Steps: sets of hashes are added, by 'add_all' and bloom_hashes. */
#include "steps.h"

#include <stdlib.h>

struct set {
    struct keys keys;
    unsigned groups;       /* by the numbers of the keys, each a row of the statement */
    enum key_type made_as; /* its column type, rule and salt */
    bool from_filter;      /* which gives rule and salt, and no column type */
    struct keys counted;   /* one for each hash of a group */
};

static int compare_words(const void *a, const void *b) {
    const uint64_t *one = *(const uint64_t *const *)a, *other = *(const uint64_t *const *)b;
    return (*one > *other) - (*one < *other);
}

/* The words of each hash of a group once, and how many there are. */
static size_t words_of_group(const struct attempt *attempt, struct set *set, unsigned group,
                             const uint64_t **words) {
    size_t count = 0, i;
    for (unsigned key = group; key < UNIVERSE; key += set->groups) {
        if (!keys_have(&set->keys, key))
            continue;
        words[count] = words_to_add(attempt, key);
        for (i = 0; words[i][0] != words[count][0]; i++)
            continue;
        if (i == count) {
            keys_add(&set->counted, key);
            count++;
        }
    }
    return count;
}

/* Adds a group to what was read. In which order a chunk takes the hashes is not known. Unless one
 * closes, it plays no part in the bits; and a key whose chunk was closed before is refused. */
static void add_group(struct attempt *attempt, struct set *set, unsigned group) {
    struct raw *raw = &attempt->raw;
    const uint64_t *words[UNIVERSE];
    const unsigned closings = raw->closings;
    size_t count = words_of_group(attempt, set, group, words), new = 0;
    for (size_t i = 0; i < count; i++) {
        if (raw_has_at(raw, words[i], 0))
            raw_add(raw, words[i], true);
        else
            words[new ++] = words[i];
    }
    bool may_close = false;
    for (size_t i = 0; i < new; i++)
        may_close = may_close || raw_may_close(raw, words[i], (unsigned)new);
    qsort(words, new, sizeof *words, compare_words);
    for (size_t i = 0; i < new; i++) {
        const bool full = raw_add(raw, words[i], true) == RAW_FULL;
        const bool sure = raw->closings == closings && attempt->known;
        attempt->must_refuse |= full && sure;
        attempt->may_refuse |= full;
    }
    if (raw->closings > closings || may_close) {
        attempt->may_refuse |= attempt->options->refuses;
        attempt->known = false;
    }
}

static bool is_exact_in(enum key_type column, const struct key_value *key) {
    const sqlite3_int64 most = INT64_C(1) << 53;
    if (key->type == SQLITE_TEXT)
        return column < NUMBERS;
    return key->type != SQLITE_INTEGER || column != REALS ||
           (-most <= key->integer && key->integer <= most);
}

/* Whether the table takes the set. Without a column type it fits a table whose column converts no
 * key. Where a column might have converted a value, but leaves this one, both will do. */
static void judge_set(struct attempt *attempt, const struct set *set) {
    const struct key_type_properties *table = &TYPES[attempt->options->key];
    const struct key_type_properties *made = &TYPES[set->made_as];
    const enum key_type plain = table->salted ? SALTED : AS_IT_IS;
    const enum key_type column = set->from_filter ? AS_IT_IS : made->column;
    const bool any = keys_count(&set->keys) > 0;
    bool fits = made->rule == table->rule && made->salted == table->salted;
    attempt->must_refuse = !all_have_words(set->made_as, &set->keys);
    if (set->groups == 1 && !any)
        return; /* a set of no rows fits every table */
    if (column > BLOBS && column != table->column)
        fits = fits && column >= NUMBERS && column < REALS && table->column >= NUMBERS &&
               table->column < REALS;
    for (unsigned key = 0; key < UNIVERSE && fits && column <= BLOBS && table->rule == 0; key++)
        if (keys_have(&set->keys, key)) {
            fits = added_words(plain, key)[0] == words_to_add(attempt, key)[0];
            attempt->may_refuse |= !is_exact_in(table->column, stored_key(AS_IT_IS, key));
        }
    attempt->must_refuse |= !fits && any;
    attempt->may_refuse |= !fits;
}

/* Mostly one that the table takes. */
static struct set random_set(enum key_type type) {
    static const struct keys NONE;
    const enum key_type others[] = {(enum key_type)random_below(KEY_TYPES),
                                    TYPES[type].salted ? SALTED : AS_IT_IS};
    struct set set = {.groups = random_once_in(4) ? 1 + random_below(3) : 1,
                      .made_as = random_once_in(8) ? others[random_below(2)] : type};
    set.keys = random_once_in(16) ? NONE : some_keys(random_once_in(8) ? AS_IT_IS : set.made_as);
    set.from_filter = TYPES[set.made_as].options[0] == '\0' || random_once_in(4);
    if (set.made_as == type && !set.from_filter)
        return set;
    const bool numbers = TYPES[type].column > TEXTS && !random_once_in(4);
    const bool texts = TYPES[type].column == TEXTS && !random_once_in(4);
    for (unsigned key = 0; key < UNIVERSE; key++) {
        const int stored = stored_key(AS_IT_IS, key)->type;
        if ((numbers && stored == SQLITE_TEXT) ||
            (texts && (stored == SQLITE_INTEGER || stored == SQLITE_FLOAT)))
            set.keys.words[key / 64] &= ~(UINT64_C(1) << key % 64);
    }
    return set;
}

/* How the hashes are to be made. */
static void bind_set(const struct attempt *attempt, const struct set *set,
                     sqlite3_stmt *statement) {
    if (set->from_filter) {
        struct bloom_shape shape = attempt->raw.generations[0].layers[0].shape;
        shape.keying = keying_of(set->made_as);
        uint8_t *filter = calloc(1, (size_t)bloom_filter_bytes(&shape));
        expect(filter != NULL, "no memory");
        bloom_header_write(&shape, filter);
        sqlite3_bind_blob(statement, 1, filter, (int)bloom_filter_bytes(&shape), SQLITE_TRANSIENT);
        free(filter);
    } else {
        sqlite3_bind_text(statement, 1, TYPES[set->made_as].options, -1, SQLITE_STATIC);
    }
    if (set->groups > 1)
        sqlite3_bind_int(statement, 2, (int)set->groups);
}

static void add_all_done(struct attempt *attempt, const struct set *set, bool known) {
    const char *name = NAME[attempt->table->name];
    const int changes = sqlite3_changes(attempt->connection->database);
    known = known && !attempt->doubtful;
    expect(!known || (unsigned)changes == set->groups, "%s: changes() is %d after %u sets", name,
           changes, set->groups);
    attempt->estimated = true; /* which keys seemed to be in depends on the order */
    if (attempt_compare(attempt))
        expect(attempt->keys_after <= attempt->keys_before + keys_count(&set->counted),
               "%s: for %u hashes it counts %llu keys more", name, keys_count(&set->counted),
               (unsigned long long)(attempt->keys_after - attempt->keys_before));
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (keys_have(&set->keys, key))
            table_add(attempt->table, key, known && keys_have(&set->counted, key), 0);
}

void step_add_all(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    struct set set = random_set(attempt.options->key);
    connection->asked = set.keys;
    sqlite3_stmt *statement = statement_for(&attempt, set.groups > 1 ? ADD_ALL_GROUPS : ADD_ALL);
    if (statement != NULL && attempt.known) {
        bind_set(&attempt, &set, statement);
        judge_set(&attempt, &set);
        for (unsigned i = 0; i < set.groups && !attempt.must_refuse; i++)
            add_group(&attempt, &set, i);
        note("%s: -- %u sets of %u keys, made with '%s'%s%s", connection->name, set.groups,
             keys_count(&set.keys), TYPES[set.made_as].options,
             set.from_filter ? " of a filter" : "", attempt.must_refuse ? "; is refused" : "");
        if (attempt_run(&attempt, statement, random_fault()))
            add_all_done(&attempt, &set, true);
        else
            expect(!attempt.changed || attempt.doubtful, "%s: a failed add_all has changed %s",
                   connection->name, NAME[attempt.table->name]);
        sqlite3_clear_bindings(statement);
    }
    raw_clear(&attempt.raw);
}

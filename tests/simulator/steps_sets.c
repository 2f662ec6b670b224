/* Steps: sets of hashes are added, by 'add_all' and bloom_hashes. */
#include "steps.h"

#include <stdlib.h>

struct set {
    struct keys keys;
    unsigned groups;       /* by the numbers of the keys, each a row of the statement */
    enum key_type made_as; /* its rule and salt */
    enum key_type column;  /* in which form the values come */
    bool from_filter;      /* which tells rule and salt */
    bool must_refuse;      /* the table */
    bool may_refuse;       /* it is full then, by its ones perhaps before the last key */
    struct keys counted;   /* one for each hash of a group */
    bool may_grow;
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

/* What a group makes of the bits: where hashes are counted, those come first that are in; those
 * that are not come in ascending order. False when the table must refuse it. */
static bool add_group(struct attempt *attempt, struct set *set, unsigned group) {
    struct raw *raw = &attempt->raw;
    const uint64_t *words[UNIVERSE];
    size_t count = words_of_group(attempt, set, group, words), new = 0;
    for (size_t i = 0; i < count; i++) {
        if (raw_has_at(raw, words[i], 0))
            raw_add(raw, words[i], true);
        else
            words[new ++] = words[i];
    }
    const struct raw_layer *last = &raw->layers[raw->layer_count - 1];
    uint64_t room = room_of(last, attempt->options);
    if (attempt->options->refuses && new > room)
        return false;
    qsort(words, new, sizeof *words, compare_words);
    for (size_t i = 0; i < new; i++)
        raw_add(raw, words[i], true);
    bool full = new > room || is_full(last, attempt->options);
    set->may_grow = set->may_grow || (attempt->options->grows && full);
    set->may_refuse = set->may_refuse || (attempt->options->refuses && full);
    return true;
}

static bool is_number(enum key_type column, unsigned key) {
    int type = stored_key(column, key)->type;
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* Values that the column of the table would make others of, which a hash cannot be. */
static bool has_foreign(const struct set *set, enum key_type table) {
    const enum key_type column = TYPES[table].column;
    for (unsigned key = 0; key < UNIVERSE && column > BLOBS; key++)
        if (keys_have(&set->keys, key) && is_number(set->column, key) == (column == TEXTS))
            return true;
    return false;
}

/* Mostly one that the table takes. */
static void random_set(struct set *set, enum key_type type) {
    const enum key_type column = TYPES[type].column;
    const struct keys none = {{0}};
    *set =
        (struct set){.groups = random_once_in(4) ? 1 + random_below(3) : 1,
                     .made_as = random_once_in(10) ? (enum key_type)random_below(KEY_TYPES) : type,
                     .column = column};
    const struct key_type_properties *made = &TYPES[set->made_as];
    bool same = made->rule == TYPES[type].rule && made->salted == TYPES[type].salted;
    set->keys = random_once_in(16) ? none : some_keys(random_once_in(8) ? AS_IT_IS : set->made_as);
    bool numbers = column > TEXTS && column < COLUMN_TYPES && !random_once_in(8);
    for (unsigned key = 0; key < UNIVERSE && numbers; key++)
        if (!is_number(column, key))
            set->keys.words[key / 64] &= ~(UINT64_C(1) << key % 64);
    /* As they are only where the set is refused: what becomes of others is not worked out. */
    set->column = random_once_in(10) ? AS_IT_IS : column;
    if (!has_foreign(set, type))
        set->column = column;
    set->from_filter = same && random_once_in(4);
    /* An aggregate of no rows is NULL, and of NULLs a set without hashes. */
    set->must_refuse = !all_have_words(set->made_as, &set->keys) || has_foreign(set, type) ||
                       (!same && (set->groups > 1 || keys_count(&set->keys) > 0));
}

/* How the hashes are to be made. */
static void bind_set(const struct attempt *attempt, const struct set *set,
                     sqlite3_stmt *statement) {
    static const struct keys NONE;
    if (set->from_filter && attempt->raw.sane) {
        size_t bytes;
        uint8_t *filter = make_filter(attempt, &NONE, &bytes);
        sqlite3_bind_blob(statement, 1, filter, (int)bytes, SQLITE_TRANSIENT);
        free(filter);
    } else {
        sqlite3_bind_text(statement, 1, TYPES[set->made_as].options, -1, SQLITE_STATIC);
    }
    sqlite3_bind_int(statement, 2, (int)set->column);
}

/* Binds a set that was made before. False when it cannot be made. */
static bool bind_value(const struct attempt *attempt, const struct set *set,
                       sqlite3_stmt *statement) {
    sqlite3_stmt *maker;
    int code = sqlite3_prepare_v2(attempt->connection->database,
                                  "SELECT bloom_hashes(" STORED_KEY ", ?1) FROM temp.universe "
                                  "WHERE in_set(i)",
                                  -1, &maker, NULL);
    if (code != SQLITE_OK)
        return false;
    bind_set(attempt, set, maker);
    if (sqlite3_step(maker) == SQLITE_ROW)
        sqlite3_bind_value(statement, 1, sqlite3_column_value(maker, 0));
    return sqlite3_finalize(maker) == SQLITE_OK;
}

static void add_all_done(struct attempt *attempt, const struct set *set, bool tampered) {
    const char *name = NAME[attempt->table->name];
    int changes = sqlite3_changes(attempt->connection->database);
    bool sure = attempt_is_sure(attempt), grown;
    bool known = sure && !attempt->doubtful && attempt->raw.sane && !tampered;
    expect(!known || !set->must_refuse, "%s has taken a set that it must refuse", name);
    expect(!known || (unsigned)changes == set->groups, "%s: changes() is %d after %u sets", name,
           changes, set->groups);
    attempt->doubtful |= set->must_refuse; /* of counts that somebody made wrong */
    attempt->estimates = set->may_grow;    /* what seemed to be in meanwhile depends on the order */
    if (attempt_compare(attempt, &grown) && known) {
        expect(!grown || set->may_grow, "%s has grown, and had room for the set", name);
        expect(attempt->keys_after <= attempt->keys_before + keys_count(&set->counted),
               "%s: for %u hashes it counts %llu keys more", name, keys_count(&set->counted),
               (unsigned long long)(attempt->keys_after - attempt->keys_before));
    }
    for (unsigned key = 0; key < UNIVERSE && sure; key++)
        if (keys_have(&set->keys, key))
            table_add(attempt->table, key, known && keys_have(&set->counted, key), 0);
}

void step_add_all(connection_t *connection) {
    struct attempt attempt;
    struct set set;
    if (!attempt_begin(&attempt, connection))
        return;
    random_set(&set, attempt.options->key);
    connection->asked = set.keys;
    bool as_value = set.groups == 1 && random_once_in(3);
    bool tampered = view(connection, attempt.schema)->tampered;
    sqlite3_stmt *statement = statement_for(&attempt, as_value         ? ADD_SET
                                                      : set.groups > 1 ? ADD_ALL_GROUPS
                                                                       : ADD_ALL);
    if (statement != NULL && as_value)
        statement = bind_value(&attempt, &set, statement) ? statement : NULL;
    else if (statement != NULL)
        bind_set(&attempt, &set, statement);
    if (statement != NULL) {
        if (set.groups > 1)
            sqlite3_bind_int(statement, 3, (int)set.groups);
        for (unsigned i = 0; i < set.groups && !set.must_refuse && attempt.raw.sane; i++)
            set.must_refuse = !add_group(&attempt, &set, i);
        note("%s: -- %u sets of %u keys, made with %s%s%s", connection->name, set.groups,
             keys_count(&set.keys), TYPES[set.made_as].options,
             set.from_filter ? " of a filter" : "", set.must_refuse ? "; is refused" : "");
        attempt.may_refuse = set.must_refuse || set.may_refuse;
        if (attempt_run(&attempt, statement, random_fault(true)))
            add_all_done(&attempt, &set, tampered);
        else /* of a statement of one row SQLite takes nothing back; a lock may come amid it */
            expect(!attempt.changed || attempt.doubtful ||
                       (as_value && (attempt.met || tampered || is_busy(attempt.code))),
                   "%s: a failed add_all has changed %s", connection->name,
                   NAME[attempt.table->name]);
        sqlite3_clear_bindings(statement);
    }
    raw_clear(&attempt.raw);
}

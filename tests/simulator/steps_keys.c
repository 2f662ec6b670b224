/* Steps: keys come and go. */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

const uint64_t *words_to_add(const struct attempt *attempt, unsigned key) {
    return added_words(attempt->options->key, key);
}

/* ---- Adding ---- */

static void insert_done(struct attempt *attempt, unsigned key, bool only_new) {
    expect(words_to_add(attempt, key) != NULL, "%s: key %u has no key by the rule, and was added",
           attempt->connection->name, key);
    const struct raw_layer *last = &attempt->raw.layers[attempt->raw.layer_count - 1];
    const uint64_t *words = words_to_add(attempt, key);
    unsigned age = raw_age(&attempt->raw, words);
    bool is_in = age < AGES_MOST, found = only_new ? is_in : age == 0, grown;
    bool full = !attempt->raw.sane || view(attempt->connection, attempt->schema)->tampered ||
                room_of(last, attempt->options) == 0;
    bool sure = attempt_is_sure(attempt), known = sure && !attempt->doubtful;
    int changes = sqlite3_changes(attempt->connection->database);
    if (attempt->raw.sane)
        raw_add(&attempt->raw, words, !only_new);
    bool compared = attempt_compare(attempt, &grown);
    expect(!grown || !found, "%s: %s has grown for a key that was in", attempt->connection->name,
           NAME[attempt->table->name]);
    expect(!grown || full, "%s: %s has grown before it was full", attempt->connection->name,
           NAME[attempt->table->name]);
    expect(!grown || attempt->raw.strays > 0 || attempt->keys_after == attempt->keys_before + 1,
           "%s: %s has grown for one key, and counts %llu more", attempt->connection->name,
           NAME[attempt->table->name],
           (unsigned long long)(attempt->keys_after - attempt->keys_before));
    /* The key may be in chunks whose layer was taken away, and is there again since it grew. */
    known = known && (attempt->raw.strays == 0 || (compared && !grown));
    expect(!known || changes == (!only_new || !is_in), "%s: changes() is %d for key %u that was %s",
           attempt->connection->name, changes, key, is_in ? "in" : "not in");
    if (sure)
        table_add(attempt->table, key, !only_new || (known && !is_in), only_new && is_in ? age : 0);
}

void step_insert(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    unsigned key = random_below(UNIVERSE);
    bool only_new = random_once_in(2);
    enum statement counted = random_once_in(3) ? ADD_COUNTED : ADD;
    sqlite3_stmt *statement = statement_for(&attempt, only_new ? ADD_NEW : counted);
    if (statement != NULL) {
        note("%s: -- key %u", connection->name, key);
        bind_key(statement, 1, key);
        attempt.keys = 1;
        attempt.may_refuse = words_to_add(&attempt, key) == NULL;
        if (attempt_run(&attempt, statement, random_fault(true)))
            insert_done(&attempt, key, only_new);
    }
    raw_clear(&attempt.raw);
}

/* What the library makes of it tells which keys were new, unless the table has grown meanwhile. */
static void insert_many_done(struct attempt *attempt, const struct keys *keys, bool only_new) {
    struct keys new = {{0}};
    bool grown, sure = attempt_is_sure(attempt);
    for (unsigned key = 0; key < UNIVERSE && attempt->raw.sane; key++)
        if (keys_have(keys, key) && raw_add(&attempt->raw, words_to_add(attempt, key), !only_new))
            keys_add(&new, key);
    int changes = sqlite3_changes(attempt->connection->database);
    bool compared = attempt_compare(attempt, &grown);
    bool known = sure && !grown && !attempt->doubtful && attempt->raw.sane;
    expect(!compared || !only_new || attempt->raw.strays > 0 ||
               attempt->keys_after - attempt->keys_before == (uint64_t)changes,
           "%s: changes() is %d, and %llu more keys are counted", attempt->connection->name,
           changes, (unsigned long long)(attempt->keys_after - attempt->keys_before));
    unsigned wanted = keys_count(only_new ? &new : keys);
    expect(!known || (unsigned)changes == wanted, "%s: changes() is %d, not %u",
           attempt->connection->name, changes, wanted);
    /* Where they are that were found is seen now: those that only seemed to be in, too. */
    struct raw after;
    bool looked = attempt->options->ages > 1 && only_new && sure &&
                  look_raw(attempt->connection, attempt->schema, attempt->table->name, &after);
    for (unsigned key = 0; key < UNIVERSE && sure; key++) {
        unsigned age = looked ? raw_age(&after, words_to_add(attempt, key)) : 0;
        bool copied = !only_new || (known && keys_have(&new, key));
        expect(!looked || !keys_have(keys, key) || !after.sane || age < AGES_MOST,
               "%s: key %u was added, and is not in", attempt->connection->name, key);
        if (keys_have(keys, key) && age < AGES_MOST &&
            (looked || attempt->options->ages == 1 || !only_new))
            table_add(attempt->table, key, copied, age);
    }
    if (looked)
        raw_clear(&after);
}

void step_insert_many(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    bool only_new = !random_once_in(3);
    sqlite3_stmt *statement = statement_for(&attempt, only_new ? ADD_MANY_NEW : ADD_MANY);
    if (statement != NULL) {
        connection->asked = some_keys(random_once_in(8) ? AS_IT_IS : attempt.options->key);
        note("%s: -- %u keys", connection->name, keys_count(&connection->asked));
        attempt.keys = keys_count(&connection->asked);
        attempt.may_refuse = !all_have_words(attempt.options->key, &connection->asked);
        if (attempt_run(&attempt, statement, random_fault(true))) {
            expect(!attempt.may_refuse, "%s: values without a key by the rule were added",
                   connection->name);
            insert_many_done(&attempt, &connection->asked, only_new);
        }
    }
    raw_clear(&attempt.raw);
}

/* The statement fails at one of its keys: it leaves nothing. */
void step_insert_failing(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, ADD_MANY_FAILING);
    if (statement != NULL) {
        connection->asked = some_keys(AS_IT_IS);
        unsigned last = UNIVERSE - 1;
        while (!keys_have(&connection->asked, last))
            last--;
        unsigned from = random_below(last + 1);
        note("%s: -- %u keys, fails from %u on", connection->name, keys_count(&connection->asked),
             from);
        sqlite3_bind_int(statement, 1, (int)from);
        attempt.code = run(connection, statement, NULL, FAULT_NONE, &attempt.met);
        expect(attempt.code != SQLITE_OK, "%s: succeeds", sqlite3_sql(statement));
        struct raw after;
        if (!lost_transaction(connection) &&
            look_raw(connection, attempt.schema, attempt.table->name, &after)) {
            expect(after.digest == attempt.raw.digest || connection->in_transaction,
                   "%s: a failed statement without a transaction has changed %s", connection->name,
                   NAME[attempt.table->name]);
            expect(after.layer_count == attempt.raw.layer_count &&
                       raw_same_bits(&attempt.raw, &after),
                   "%s: a failed statement of several keys has left bits", connection->name);
            raw_clear(&after);
        }
    }
    raw_clear(&attempt.raw);
}

/* ---- Taking out ---- */

/* One that was added; sometimes one that is certainly not in. Another one would take counts from
 * those that are. */
static bool choose_to_remove(const struct attempt *attempt, unsigned *key) {
    *key = random_below(UNIVERSE);
    if (random_once_in(4))
        return !raw_has(&attempt->raw, asked_words(attempt->options->key, *key));
    for (unsigned i = 0; i < UNIVERSE; i++, *key = (*key + 1) % UNIVERSE)
        if (attempt->table->copies[*key] > 0)
            return true;
    return false;
}

/* It was rolled back before it was tried again, and the keys may not have been in then: they may
 * have taken counts from all others. */
static void forget_copies(struct table *table) {
    memset(table->keys, 0, sizeof table->keys);
    memset(table->copies, 0, sizeof table->copies);
}

static void delete_done(struct attempt *attempt, unsigned key) {
    struct keys keys = {{0}};
    const uint64_t *words = asked_words(attempt->options->key, key);
    unsigned layers = raw_layers_with(&attempt->raw, words);
    int changes = sqlite3_changes(attempt->connection->database);
    bool sure = attempt_is_sure(attempt), grown;
    expect(attempt->doubtful || !sure || changes == (layers > 0),
           "%s: changes() is %d for the deletion of key %u that is in %u layers",
           attempt->connection->name, changes, key, layers);
    if (attempt->raw.sane)
        raw_remove(&attempt->raw, words);
    keys_add(&keys, key);
    attempt_compare(attempt, &grown);
    expect(!grown, "%s: %s has grown by a deletion", attempt->connection->name,
           NAME[attempt->table->name]);
    if (attempt->doubtful)
        forget_copies(attempt->table);
    else if (layers == 1)
        table_remove(attempt->table, &keys);
}

void step_delete(connection_t *connection) {
    struct attempt attempt;
    unsigned key;
    if (!attempt_begin(&attempt, connection))
        return;
    bool counts = attempt.options->counts;
    sqlite3_stmt *statement = statement_for(&attempt, REMOVE);
    if (statement != NULL && counts && choose_to_remove(&attempt, &key)) {
        note("%s: -- key %u", connection->name, key);
        bind_key(statement, 1, key);
        if (attempt_run(&attempt, statement, random_fault(true))) {
            delete_done(&attempt, key);
        } else if (attempt.changed) {
            struct keys keys = {{0}};
            keys_add(&keys, key);
            table_remove(attempt.table, &keys);
        }
    } else if (statement != NULL && !counts && random_once_in(10)) {
        key = random_below(UNIVERSE);
        bool is_in = raw_has(&attempt.raw, asked_words(attempt.options->key, key));
        bind_key(statement, 1, key);
        attempt.code = run(connection, statement, NULL, FAULT_NONE, &attempt.met);
        expect(!is_in || attempt.code != SQLITE_OK,
               "%s: key %u was deleted from %s, which does not count", connection->name, key,
               NAME[attempt.table->name]);
        bool refused = is_in && attempt.code == SQLITE_ERROR;
        if (!lost_transaction(connection))
            judge_write(connection, attempt.code, refused, sqlite3_sql(statement));
    }
    raw_clear(&attempt.raw);
}

/* What several of them do to one another, so that one is left since it seems to be in another
 * layer, is not worked out. */
void step_delete_many(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = attempt.options->counts ? statement_for(&attempt, REMOVE_MANY) : NULL;
    if (statement != NULL) {
        struct keys keys = some_keys(attempt.options->key);
        for (unsigned key = 0; key < UNIVERSE; key++)
            if (attempt.table->copies[key] == 0)
                keys.words[key / 64] &= ~(UINT64_C(1) << key % 64);
        connection->asked = keys;
        note("%s: -- %u keys", connection->name, keys_count(&keys));
        if (attempt_run(&attempt, statement, random_fault(true)) || attempt.changed) {
            if (attempt.doubtful)
                forget_copies(attempt.table);
            else
                table_remove(attempt.table, &keys);
        }
    }
    raw_clear(&attempt.raw);
}

/* ---- Merging ---- */

uint8_t *make_filter(const struct attempt *attempt, const struct keys *keys, size_t *bytes) {
    const struct bloom_shape *shape = &attempt->raw.layers[0].shape;
    const unsigned header = bloom_header_bytes(shape);
    *bytes = header + (size_t)bloom_payload_bytes(shape);
    uint8_t *filter = calloc(1, *bytes);
    expect(filter != NULL, "no memory");
    memcpy(filter, attempt->raw.header, header);
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (keys_have(keys, key))
            shape->layout->add(shape, filter + header, words_to_add(attempt, key), 1);
    return filter;
}

static void merge_done(struct attempt *attempt, const struct keys *keys, double rate) {
    const struct options *options = attempt->options;
    bool over = (options->grows || options->refuses) && rate > options->rate * 1.0001, grown;
    const bool tampered = view(attempt->connection, attempt->schema)->tampered; /* counts are */
    expect(!over || tampered || attempt->met || rate < 1.6 * options->rate + 0.01,
           "%s: a merge into %s.%s takes its first layer to %g, %g was asked for",
           attempt->connection->name, SCHEMA[attempt->schema], NAME[attempt->table->name], rate,
           options->rate);
    for (unsigned key = 0; key < UNIVERSE && attempt_is_sure(attempt); key++)
        if (keys_have(keys, key))
            table_add(attempt->table, key, true, 0);
    attempt_compare(attempt, &grown);
    expect(!grown, "%s: %s has grown by a merge", attempt->connection->name,
           NAME[attempt->table->name]);
}

void step_merge(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, MERGE);
    if (statement != NULL && attempt.raw.sane) {
        struct raw_layer *first = &attempt.raw.layers[newest_first(&attempt.raw)];
        const struct options *options = attempt.options;
        struct keys keys = some_keys(options->key);
        size_t bytes;
        uint8_t *filter = make_filter(&attempt, &keys, &bytes);
        first->shape.layout->unite(first->payload, filter + bloom_header_bytes(&first->shape),
                                   (size_t)bloom_payload_bytes(&first->shape));
        double rate = first->shape.layout->estimate(&first->shape, first->payload).rate;
        note("%s: -- a filter of %u keys; the layer would have a rate of %g", connection->name,
             keys_count(&keys), rate);
        sqlite3_bind_blob(statement, 1, filter, (int)bytes, SQLITE_STATIC);
        attempt.estimates = true;
        attempt.may_refuse =
            (options->grows || options->refuses) && rate > 0.8 * options->rate / options->ages;
        bool done = attempt_run(&attempt, statement, random_fault(true));
        if (done)
            merge_done(&attempt, &keys, rate);
        else if (attempt.code == SQLITE_ERROR && !attempt.met)
            expect(strpbrk(last_error, "0123456789") != NULL,
                   "%s: the refusal of a merge names no rate: %s", connection->name, last_error);
        if (done || attempt.changed)
            attempt.table->merged = true;
        sqlite3_bind_null(statement, 1);
        free(filter);
    }
    raw_clear(&attempt.raw);
}

void step_clear(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, CLEAR);
    if (statement != NULL) {
        bool done = attempt_run(&attempt, statement, random_fault(true));
        bool doubtful = !attempt_is_sure(&attempt) || (attempt.met && may_come_late(attempt.fault));
        if (done || (doubtful && attempt.changed)) {
            table_clear(attempt.table);
            attempt.table->unknown = attempt.table->merged = doubtful;
        }
    }
    raw_clear(&attempt.raw);
}

/* The oldest generation is gone, if there were as many as there may be; a new one has one layer,
 * which is empty; all others are as they were. */
static void rotate_done(struct attempt *attempt) {
    struct raw after;
    const struct raw *before = &attempt->raw;
    table_rotate(attempt->table);
    if (attempt->doubtful || !attempt_is_sure(attempt) || !before->sane ||
        !look_raw(attempt->connection, attempt->schema, attempt->table->name, &after))
        return;
    const char *name = NAME[attempt->table->name];
    unsigned gone = 0;
    expect(after.newest == before->newest + 1, "%s: from generation %llu to %llu", name,
           (unsigned long long)before->newest, (unsigned long long)after.newest);
    while (gone < before->layer_count && before->layers[gone].age == before->ages - 1)
        gone++;
    expect(after.layer_count == before->layer_count - gone + 1, "%s: %u layers become %u", name,
           before->layer_count, after.layer_count);
    for (unsigned i = gone; i < before->layer_count; i++) {
        const struct raw_layer *was = &before->layers[i], *is = &after.layers[i - gone];
        expect(was->number == is->number && was->generation == is->generation &&
                   was->rows == is->rows && was->keys == is->keys &&
                   memcmp(was->payload, is->payload, (size_t)bloom_payload_bytes(&was->shape)) == 0,
               "%s: a rotation has changed layer %llu", name, (unsigned long long)was->number);
    }
    const struct raw_layer *new = &after.layers[after.layer_count - 1];
    expect(new->age == 0 && new->index == 0 && new->rows == 0 && new->keys == 0 &&
               new->chunks == 0 && new->ones == 0,
           "%s: the new generation is not empty", name);
    raw_clear(&after);
}

void step_rotate(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, ROTATE);
    if (statement != NULL) {
        attempt.may_refuse = attempt.options->ages == 1;
        bool done = attempt_run(&attempt, statement, random_fault(true));
        expect(!done || attempt.options->ages > 1, "%s has no generations, and has rotated",
               NAME[attempt.table->name]);
        if (done)
            rotate_done(&attempt);
        else if (attempt.changed)
            table_rotate(attempt.table);
    }
    raw_clear(&attempt.raw);
}

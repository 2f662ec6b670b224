/* Steps: keys come and go. */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

const uint64_t *words_to_add(const struct attempt *attempt, unsigned key) {
    return added_words(attempt->table->options.key, key);
}

/* ---- Adding ---- */

void step_insert(connection_t *connection) {
    struct attempt attempt;
    const bool only_new = random_once_in(2);
    const unsigned key = random_below(UNIVERSE);
    sqlite3_stmt *statement = attempt_begin(&attempt, connection,
                                            only_new            ? ADD_NEW
                                            : random_once_in(3) ? ADD_COUNTED
                                                                : ADD);
    if (statement == NULL)
        return;
    const uint64_t *words = words_to_add(&attempt, key);
    unsigned age = AGES_MOST;
    enum raw_added added = RAW_KNOWN;
    if (words != NULL && attempt.known) {
        age = raw_age(&attempt.raw, words);
        added = raw_add(&attempt.raw, words, !only_new);
    }
    note("%s: -- key %u", connection->name, key);
    bind_key(statement, 1, key);
    attempt.must_refuse = words == NULL || added == RAW_FULL;
    if (attempt_run(&attempt, statement, random_fault())) {
        const int changes = sqlite3_changes(connection->database);
        const bool known = attempt.known && !attempt.doubtful;
        attempt_compare(&attempt);
        expect(!known || changes == (!only_new || added == RAW_NEW),
               "%s: changes() is %d for key %u that was %s", connection->name, changes, key,
               added == RAW_NEW ? "not in" : "in");
        table_add(attempt.table, key, !only_new || (known && added == RAW_NEW),
                  only_new && age < AGES_MOST ? age : 0);
    }
    raw_clear(&attempt.raw);
}

/* Adds the keys to what was read, in the order of the statement. Returns those that were new. */
static struct keys add_many(struct attempt *attempt, const struct keys *keys, bool only_new) {
    struct keys new = {{0}};
    attempt->must_refuse = !all_have_words(attempt->table->options.key, keys);
    for (unsigned key = 0; key < UNIVERSE && attempt->known && !attempt->must_refuse; key++)
        if (keys_have(keys, key)) {
            enum raw_added added = raw_add(&attempt->raw, words_to_add(attempt, key), !only_new);
            attempt->must_refuse = added == RAW_FULL;
            if (added == RAW_NEW)
                keys_add(&new, key);
        }
    return new;
}

/* Where keys are that were found is known from what was read, if that is known. */
static void insert_many_done(struct attempt *attempt, const struct keys *keys,
                             const struct keys *new, bool only_new) {
    const bool known = attempt->known && !attempt->doubtful;
    const int changes = sqlite3_changes(attempt->connection->database);
    const unsigned wanted = keys_count(only_new ? new : keys);
    expect(!known || (unsigned)changes == wanted, "%s: changes() is %d, not %u",
           attempt->connection->name, changes, wanted);
    attempt_compare(attempt);
    for (unsigned key = 0; key < UNIVERSE; key++) {
        const bool copied = !only_new || (known && keys_have(new, key));
        if (keys_have(keys, key) && (known || attempt->table->options.ages == 1 || !only_new))
            table_add(attempt->table, key, copied,
                      known && only_new ? raw_age(&attempt->raw, words_to_add(attempt, key)) : 0);
    }
}

void step_insert_many(connection_t *connection) {
    struct attempt attempt;
    const bool only_new = !random_once_in(3);
    sqlite3_stmt *statement =
        attempt_begin(&attempt, connection, only_new ? ADD_MANY_NEW : ADD_MANY);
    if (statement == NULL)
        return;
    connection->asked = some_keys(random_once_in(8) ? AS_IT_IS : attempt.table->options.key);
    note("%s: -- %u keys", connection->name, keys_count(&connection->asked));
    struct keys new = add_many(&attempt, &connection->asked, only_new);
    if (attempt_run(&attempt, statement, random_fault()))
        insert_many_done(&attempt, &connection->asked, &new, only_new);
    raw_clear(&attempt.raw);
}

/* ---- Taking out ---- */

/* One that was added; sometimes one that is certainly not in. Another one would take counts from
 * those that are. */
static bool choose_to_remove(const struct attempt *attempt, unsigned *key) {
    *key = random_below(UNIVERSE);
    if (random_once_in(4))
        return raw_find(&attempt->raw, asked_words(attempt->table->options.key, *key)) ==
               RAW_ABSENT;
    for (unsigned i = 0; i < UNIVERSE; i++, *key = (*key + 1) % UNIVERSE)
        if (attempt->table->copies[*key] > 0)
            return true;
    return false;
}

/* Keys were deleted. When that was rolled back before it was tried again, they may not have been in
 * then, and may have taken counts from all others. */
static void removed(struct attempt *attempt, const struct keys *keys) {
    struct table *table = attempt->table;
    if (!attempt->doubtful) {
        table_remove(table, keys);
        return;
    }
    memset(table->keys, 0, sizeof table->keys);
    memset(table->copies, 0, sizeof table->copies);
}

static void compare_delete(struct attempt *attempt, unsigned key) {
    const bool known = attempt->known && !attempt->doubtful;
    const int changes = sqlite3_changes(attempt->connection->database);
    const bool found =
        attempt->known && raw_remove(&attempt->raw, asked_words(attempt->table->options.key, key));
    expect(!known || changes == found, "%s: changes() is %d for the deletion of key %u that is %s",
           attempt->connection->name, changes, key, found ? "in" : "not in");
    attempt_compare(attempt);
}

void step_delete(connection_t *connection) {
    struct attempt attempt;
    unsigned key;
    sqlite3_stmt *statement = attempt_begin(&attempt, connection, REMOVE);
    if (statement == NULL)
        return;
    if (attempt.table->options.counts && choose_to_remove(&attempt, &key)) {
        struct keys keys = {{0}};
        keys_add(&keys, key);
        note("%s: -- key %u", connection->name, key);
        bind_key(statement, 1, key);
        const bool done = attempt_run(&attempt, statement, random_fault());
        if (done)
            compare_delete(&attempt, key);
        if (done || attempt.changed)
            removed(&attempt, &keys);
    }
    raw_clear(&attempt.raw);
}

/* The order of the keys, and which of them are equal, is not worked out. */
void step_delete_many(connection_t *connection) {
    struct attempt attempt;
    sqlite3_stmt *statement = attempt_begin(&attempt, connection, REMOVE_MANY);
    if (statement == NULL)
        return;
    if (attempt.table->options.counts) {
        struct keys keys = some_keys(attempt.table->options.key);
        for (unsigned key = 0; key < UNIVERSE; key++)
            if (attempt.table->copies[key] == 0)
                keys.words[key / 64] &= ~(UINT64_C(1) << key % 64);
        connection->asked = keys;
        note("%s: -- %u keys", connection->name, keys_count(&keys));
        if (attempt_run(&attempt, statement, random_fault()) || attempt.changed)
            removed(&attempt, &keys);
    }
    raw_clear(&attempt.raw);
}

/* ---- Whole tables ---- */

uint8_t *make_filter(const struct attempt *attempt, const struct keys *keys, size_t *bytes) {
    const struct bloom_shape *shape = &attempt->raw.generations[0].layers[0].shape;
    const unsigned header = bloom_header_bytes(shape);
    *bytes = header + (size_t)bloom_payload_bytes(shape);
    uint8_t *filter = calloc(1, *bytes);
    expect(filter != NULL, "no memory");
    bloom_header_write(shape, filter);
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (keys_have(keys, key))
            shape->layout->add(shape, filter + header, words_to_add(attempt, key), 1);
    return filter;
}

static uint64_t rows_beyond_first_layer(const struct raw *raw) {
    uint64_t rows = 0;
    for (unsigned i = 1; i < raw->generations[0].layer_count; i++)
        rows += raw->generations[0].layers[i].rows;
    return rows;
}

/* Unites the first layer with a filter; a chunk that gets no bits gets no row. Returns the rate of
 * the layer. */
static double unite(struct raw *raw, const uint8_t *payload) {
    struct raw_layer *layer = &raw->generations[0].layers[0];
    const size_t block_bytes = layer->shape.layout->blocks->bytes;
    layer->shape.layout->unite(layer->payload, payload, (size_t)bloom_payload_bytes(&layer->shape));
    for (uint64_t c = 0; c < layer->chunk_count; c++)
        for (size_t i = (size_t)chunk_start(layer, c) * block_bytes;
             i < (size_t)chunk_start(layer, c + 1) * block_bytes; i++)
            layer->chunks[c].exists |= payload[i] != 0;
    return layer->shape.layout->estimate(&layer->shape, layer->payload).rate;
}

/* With the keys of the query. */
static void merge(struct attempt *attempt, sqlite3_stmt *statement) {
    connection_t *connection = attempt->connection;
    const struct options *options = &attempt->table->options;
    const bool limited = options->grows || options->refuses;
    const bool tampered = view(connection, attempt->schema)->tampered; /* counts are */
    const struct bloom_shape *shape = &attempt->raw.generations[0].layers[0].shape;
    size_t bytes;
    uint8_t *filter = make_filter(attempt, &connection->asked, &bytes);
    const double rate = unite(&attempt->raw, filter + bloom_header_bytes(shape));
    note("%s: -- a filter of %u keys; the layer would have a rate of %g", connection->name,
         keys_count(&connection->asked), rate);
    sqlite3_bind_blob(statement, 1, filter, (int)bytes, free);
    attempt->estimated = true;
    attempt->must_refuse = rows_beyond_first_layer(&attempt->raw) > 0;
    attempt->may_refuse = limited && rate > 0.8 * options->rate / options->ages;
    if (attempt_run(attempt, statement, random_fault())) {
        expect(!limited || tampered || attempt->met || rate < 1.6 * options->rate + 0.01,
               "%s: a merge into %s.%s takes its first layer to %g, %g was asked for",
               connection->name, SCHEMA[attempt->schema], NAME[attempt->table->name], rate,
               options->rate);
        for (unsigned key = 0; key < UNIVERSE; key++)
            if (keys_have(&connection->asked, key))
                table_add(attempt->table, key, true, 0);
        attempt_compare(attempt);
    }
    sqlite3_bind_null(statement, 1);
}

void step_merge(connection_t *connection) {
    struct attempt attempt;
    sqlite3_stmt *statement = attempt_begin(&attempt, connection, MERGE);
    if (statement == NULL)
        return;
    connection->asked = some_keys(attempt.table->options.key);
    if (attempt.known)
        merge(&attempt, statement);
    raw_clear(&attempt.raw);
}

void step_clear(connection_t *connection) {
    struct attempt attempt;
    sqlite3_stmt *statement = attempt_begin(&attempt, connection, CLEAR);
    if (statement == NULL)
        return;
    raw_clear(&attempt.raw);
    attempt.raw.newest = 0;
    const bool done = attempt_run(&attempt, statement, random_fault());
    const bool doubtful = attempt.doubtful || (attempt.met && may_come_late(attempt.fault));
    if (done || (doubtful && attempt.changed)) {
        table_clear(attempt.table);
        attempt.table->unknown = doubtful;
    }
    if (done)
        attempt_compare(&attempt);
    raw_clear(&attempt.raw);
}

void step_rotate(connection_t *connection) {
    struct attempt attempt;
    sqlite3_stmt *statement = attempt_begin(&attempt, connection, ROTATE);
    if (statement == NULL)
        return;
    attempt.must_refuse = attempt.table->options.ages == 1;
    if (!attempt.must_refuse)
        raw_rotate(&attempt.raw);
    const bool done = attempt_run(&attempt, statement, random_fault());
    if (done || attempt.changed)
        table_rotate(attempt.table);
    if (done)
        attempt_compare(&attempt);
    raw_clear(&attempt.raw);
}

/* One loop serves all: follow the path, and stop where the key is found or its chunk is open. */
#include "table/keys.h"

/* Looks a key up in one generation. A path ends in the last layer, because chunks.c takes a closed
 * chunk there for damage. */
static int find_key(struct bloom_chunks *chunks, uint32_t generation, const uint64_t *words,
                    bool *found) {
    bool closed = true;
    *found = false;
    for (unsigned index = 0; closed; index++) {
        const uint8_t *block;
        const struct bloom_place place = bloom_place_of_key(chunks, index, generation, words);
        const struct bloom_shape *shape = &place.layer->shape;
        int code = bloom_chunks_read(chunks, &place, &block, &closed);
        if (code != SQLITE_OK || block == NULL)
            return code;
        *found = shape->layout->blocks->check(shape, block, words);
        if (*found)
            return code;
    }
    return SQLITE_OK;
}

/* Looks a key up in the generations from an age to before another. */
static int find_in_ages(struct bloom_chunks *chunks, unsigned age, unsigned end,
                        const uint64_t *words, bool *found) {
    int code = SQLITE_OK;
    *found = false;
    for (; code == SQLITE_OK && !*found && age < end && bloom_chunks_has_age(chunks, age); age++)
        code = find_key(chunks, chunks->rotation.newest - age, words, found);
    return code;
}

int bloom_keys_check(struct bloom_chunks *chunks, const uint64_t *words, unsigned count,
                     bool *found) {
    int code = SQLITE_OK;
    *found = false;
    for (; code == SQLITE_OK && count > 0 && !*found;
         count--, words += bloom_chunks_growth(chunks)->layout->hash_words)
        code = find_in_ages(chunks, 0, BLOOM_GENERATIONS_MAXIMUM, words, found);
    return code;
}

/* Opens the block that decides about a key: where it is found, or the first whose chunk is open. */
static int open_path(struct bloom_chunks *chunks, const uint64_t *words,
                     struct bloom_change *change, bool *found) {
    *found = false;
    for (unsigned index = 0;; index++) {
        const struct bloom_place place =
            bloom_place_of_key(chunks, index, chunks->rotation.newest, words);
        const struct bloom_shape *shape = &place.layer->shape;
        int code = bloom_change_open(chunks, &place, change);
        if (code != SQLITE_OK)
            return code;
        *found = shape->layout->blocks->check(shape, change->blocks, words);
        if (*found || !change->head.is_closed)
            return code;
        if (bloom_chunks_growth(chunks)->mode == BLOOM_GROWTH_ERROR)
            return bloom_database_fail(&chunks->span.database, SQLITE_ERROR,
                                       "the table is full: it was made for %llu keys, and "
                                       "growth=error refuses more. Make one with a larger capacity",
                                       (sqlite3_uint64)bloom_chunks_growth(chunks)->capacity);
    }
}

/* Counts of a damaged chunk may be anything, and of counters that were full more keys may be
 * removed than were counted. */
static uint32_t clamped(int64_t count) {
    return count < 0 ? 0 : count > BLOOM_COUNT_MAXIMUM ? BLOOM_COUNT_MAXIMUM : (uint32_t)count;
}

/* Adds a key to the block that is open. */
static int add_to_block(struct bloom_chunks *chunks, const uint64_t *words, bool is_new,
                        struct bloom_change *change) {
    const struct bloom_place *place = &change->place;
    const struct bloom_shape *shape = &place->layer->shape;
    struct bloom_head *head = &change->head;
    const unsigned ones = shape->layout->blocks->add(shape, change->blocks, words);
    head->ones = clamped((int64_t)head->ones + ones);
    head->keys = clamped((int64_t)head->keys + is_new);
    if (is_new && bloom_layer_is_full(place->layer, place->blocks, head->keys, head->ones))
        head->is_closed = true;
    return bloom_change_save(chunks, change);
}

int bloom_keys_add(struct bloom_chunks *chunks, const uint64_t *words, bool again,
                   bool *expects_change, bool *found) {
    struct bloom_change change;
    const bool counts = again && bloom_chunks_growth(chunks)->layout->blocks->remove != NULL;
    const bool looks = !counts && !*expects_change;
    int code = SQLITE_OK;
    *found = false;
    if (!again)
        code = find_in_ages(chunks, 1, BLOOM_GENERATIONS_MAXIMUM, words, found);
    if (code == SQLITE_OK && !*found && looks)
        code = find_in_ages(chunks, 0, 1, words, found);
    if (code == SQLITE_OK && !*found) {
        code = open_path(chunks, words, &change, found);
        if (code == SQLITE_OK && (!*found || counts))
            code = add_to_block(chunks, words, !*found, &change);
    }
    *expects_change = code == SQLITE_OK && (!*found || counts);
    return code;
}

int bloom_keys_remove(struct bloom_chunks *chunks, const uint64_t *words) {
    struct bloom_change change;
    bool found;
    int code = open_path(chunks, words, &change, &found);
    if (code != SQLITE_OK || !found)
        return code;
    const struct bloom_shape *shape = &change.place.layer->shape;
    struct bloom_head *head = &change.head;
    const unsigned zeros = shape->layout->blocks->remove(shape, change.blocks, words);
    head->ones = clamped((int64_t)head->ones - zeros);
    /* The key is gone when one of its counters is zero. */
    head->keys = clamped((int64_t)head->keys - (zeros > 0));
    return bloom_change_save(chunks, &change);
}

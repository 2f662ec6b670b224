/* Keys are appended to chunks. When a partition has grown enough, a hash table finds its
 * duplicates, and the keys that remain move to the front of their own chunks, so this needs no
 * second copy. */
#include "filter/key_set.h"

#include "base/limits.h"
#include "base/portable.h"

#include <assert.h>
#include <string.h>

static_assert(BLOOM_MOST(key_chunk_words_fewest) >= BLOOM_HASH_WORDS_MAXIMUM &&
                  (BLOOM_MOST(stack_slots) & (BLOOM_MOST(stack_slots) - 1)) == 0,
              "the limits of a key set");

static unsigned partitions_most(void) {
    return 1U << bloom_limits.key_set_partition_bits;
}

struct bloom_key_chunk {
    struct bloom_key_chunk *next;
    uint32_t words; /* used */
    uint32_t room;
    uint64_t values[];
};

static bool append(struct bloom_key_set *set, struct bloom_key_partition *partition,
                   const uint64_t *value) {
    unsigned width = set->layout->hash_words;
    struct bloom_key_chunk *chunk = partition->last;
    if (chunk == NULL || chunk->words + width > chunk->room) {
        uint32_t room = bloom_limits.key_chunk_words_most;
        if (partition->keys <
            bloom_limits.key_chunk_words_most * bloom_limits.key_chunk_share / width)
            room = (uint32_t)partition->keys * width / bloom_limits.key_chunk_share;
        if (room < bloom_limits.key_chunk_words_fewest)
            room = bloom_limits.key_chunk_words_fewest;
        chunk = bloom_allocate(set->memory, sizeof *chunk + room * sizeof *chunk->values);
        if (chunk == NULL)
            return false;
        chunk->next = NULL;
        chunk->words = 0;
        chunk->room = room;
        if (partition->last != NULL)
            partition->last->next = chunk;
        else
            partition->first = chunk;
        partition->last = chunk;
    }
    for (unsigned i = 0; i < width; i++)
        chunk->values[chunk->words++] = value[i];
    partition->keys++;
    return true;
}

static void release_chunks(struct bloom_key_set *set, struct bloom_key_chunk *chunk) {
    while (chunk != NULL) {
        struct bloom_key_chunk *next = chunk->next;
        bloom_release(set->memory, chunk);
        chunk = next;
    }
}

static inline bool is_zero(const uint64_t *value, unsigned width) {
    uint64_t any = 0;
    for (unsigned i = 0; i < width; i++)
        any |= value[i];
    return any == 0;
}

/* Compares every word: keys that share some words can be made on purpose. */
static inline bool is_equal(const uint64_t *a, const uint64_t *b, unsigned width) {
    uint64_t different = 0;
    for (unsigned i = 0; i < width; i++)
        different |= a[i] ^ b[i];
    return different == 0;
}

/* An open-addressing table of slots, a power of two. Nobody can predict the slot of a key: it is
 * hashed by two secret odd factors, with a fold between them so that the result is not linear. The
 * words of a key are a hash already, but one that everybody can compute and invert: 160,000 chosen
 * keys would share a slot, and each would pass all before it. (The constants serve a set without a
 * seed.) */
struct key_table {
    uint64_t *slots;
    uint64_t mask;
    uint64_t first, second; /* the factors */
    unsigned shift;         /* from a hash to a slot */
    uint64_t steps;         /* slots that were passed */
};

static struct key_table key_table_of(const struct bloom_key_set *set, uint64_t *slots,
                                     uint64_t count) {
    return (struct key_table){.slots = slots,
                              .mask = count - 1,
                              .first = (set->seed[0] ^ UINT64_C(0x9e3779b97f4a7c15)) | 1,
                              .second = (set->seed[1] ^ UINT64_C(0xbf58476d1ce4e5b9)) | 1,
                              .shift = 64 - bloom_log2_floor(count)};
}

static inline uint64_t slot_of(const struct key_table *table, const uint64_t *value,
                               unsigned width) {
    uint64_t mixed = value[0] * table->first;
    for (unsigned i = 1; i < width; i++)
        mixed = (mixed ^ mixed >> 32 ^ value[i]) * table->second;
    return (mixed ^ mixed >> 32) * table->second >> table->shift;
}

/* Counts a value in a table. With repeats an entry is a value and the number of its copies so far,
 * which is zero in an empty one. Otherwise it is only the value, and zeros mean empty. Returns how
 * many copies there were before; without repeats, 1 for any number of them. */
static inline uint64_t count_copy(struct key_table *table, const uint64_t *value, unsigned width,
                                  bool repeats) {
    uint64_t start = slot_of(table, value, width);
    for (uint64_t slot = start;; slot++) {
        uint64_t *entry = table->slots + (slot & table->mask) * (width + repeats);
        bool is_new = repeats ? entry[width] == 0 : is_zero(entry, width);
        if (is_new)
            memcpy(entry, value, width * sizeof *value);
        if (is_new || is_equal(entry, value, width)) {
            table->steps += slot - start;
            return repeats ? entry[width]++ : !is_new;
        }
    }
}

/* Keeps the first of each group of equal values, or the first BLOOM_REPEATS_MAXIMUM of them. Those
 * that remain move to the front of their own chunks. */
static inline void drop_copies(struct bloom_key_partition *partition, struct key_table *table,
                               unsigned width, bool repeats) {
    struct bloom_key_chunk *to = partition->first;
    uint32_t at = 0;
    uint64_t keys = 0, distinct = 0;
    uint64_t zeros = 0; /* copies of the empty key, which a table without counts cannot hold */
    for (struct bloom_key_chunk *from = partition->first; from != NULL; from = from->next)
        for (uint32_t i = 0; i < from->words; i += width) {
            const uint64_t *value = from->values + i;
            uint64_t copies = !repeats && is_zero(value, width)
                                  ? zeros++
                                  : count_copy(table, value, width, repeats);
            distinct += copies == 0;
            if (copies >= (repeats ? BLOOM_REPEATS_MAXIMUM : 1))
                continue;
            if (at + width > to->room) {
                to->words = at;
                to = to->next;
                at = 0;
            }
            memmove(to->values + at, value, width * sizeof *value);
            at += width;
            keys++;
        }
    to->words = at;
    partition->last = to;
    partition->keys = keys;
    partition->distinct = distinct;
}

static bool settle(struct bloom_key_set *set, struct bloom_key_partition *partition) {
    bool repeats = set->layout->repeats;
    unsigned width = repeats ? 2 : set->layout->hash_words; /* of a slot */
    uint64_t on_stack[BLOOM_MOST(stack_slots)];
    uint64_t *table = on_stack;
    uint64_t slots = bloom_limits.stack_slots / 8; /* small groups: clear no more than needed */

    if (partition->keys == 0)
        return true;
    while (slots < partition->keys + partition->keys / 2)
        slots *= 2;
    if (slots * width > bloom_limits.stack_slots) {
        if (slots > set->table_slots) {
            uint64_t *larger = bloom_allocate(set->memory, slots * width * sizeof *larger);
            if (larger == NULL)
                return false;
            bloom_release(set->memory, set->table);
            set->table = larger;
            set->table_slots = slots;
        }
        table = set->table;
    }
    memset(table, 0, (size_t)(slots * width) * sizeof *table);
    struct key_table ordered = key_table_of(set, table, slots);
    if (repeats) /* one word decides about a key */
        drop_copies(partition, &ordered, 1, true);
    else if (width == 1)
        drop_copies(partition, &ordered, 1, false);
    else if (width == 2)
        drop_copies(partition, &ordered, 2, false);
    else
        drop_copies(partition, &ordered, width, false);
    set->steps += ordered.steps;
    release_chunks(set, partition->last->next);
    partition->last->next = NULL;
    partition->settle_at = partition->keys * bloom_limits.settle_factor;
    return true;
}

static inline struct bloom_key_partition *partition_of(struct bloom_key_set *set, uint64_t word) {
    return &set->partitions[word >> (64 - bloom_limits.key_set_partition_bits)];
}

/* Distributes the keys of the first partition over many. */
static bool key_set_split(struct bloom_key_set *set) {
    unsigned width = set->layout->hash_words;
    struct bloom_key_partition all = set->one;
    set->partitions = bloom_allocate(set->memory, partitions_most() * sizeof *set->partitions);
    if (set->partitions == NULL)
        return false;
    memset(set->partitions, 0, partitions_most() * sizeof *set->partitions);
    set->one = (struct bloom_key_partition){0};
    for (unsigned i = 0; i < partitions_most(); i++)
        set->partitions[i].settle_at =
            bloom_limits.key_set_unpartitioned / partitions_most() * bloom_limits.settle_factor;
    for (struct bloom_key_chunk *chunk = all.first; chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->words; i += width)
            if (!append(set, partition_of(set, chunk->values[i]), chunk->values + i)) {
                /* Go back to one partition, because no key may be lost. */
                for (unsigned j = 0; j < partitions_most(); j++)
                    release_chunks(set, set->partitions[j].first);
                bloom_release(set->memory, set->partitions);
                set->partitions = NULL;
                set->one = all;
                return false;
            }
    release_chunks(set, all.first);
    return true;
}

bool bloom_key_set_add(struct bloom_key_set *set, const uint64_t *words) {
    if (set->partitions == NULL && set->one.keys == bloom_limits.key_set_unpartitioned) {
        if (!settle(set, &set->one))
            return false;
        if (set->one.keys > bloom_limits.key_set_unpartitioned / 2 && !key_set_split(set))
            return false;
    }
    if (set->partitions == NULL)
        return append(set, &set->one, words);
    struct bloom_key_partition *partition = partition_of(set, words[0]);
    if (partition->keys >= partition->settle_at && !settle(set, partition))
        return false;
    return append(set, partition, words);
}

static size_t partition_count(const struct bloom_key_set *set) {
    return set->partitions ? partitions_most() : 1;
}

bool bloom_key_set_interrupted(const struct bloom_key_set *set, uint64_t keys_handled,
                               uint64_t *since_poll) {
    *since_poll += keys_handled;
    if (*since_poll < bloom_limits.keys_between_questions || set->interrupted == NULL)
        return false;
    *since_poll = 0;
    return set->interrupted(set->argument);
}

enum bloom_built bloom_key_set_settle(struct bloom_key_set *set, uint64_t *keys) {
    struct bloom_key_partition *partitions = set->partitions ? set->partitions : &set->one;
    uint64_t since_poll = 0;
    *keys = 0;
    for (size_t i = 0; i < partition_count(set); i++) {
        if (bloom_key_set_interrupted(set, partitions[i].keys, &since_poll))
            return BLOOM_BUILD_INTERRUPTED;
        if (!settle(set, &partitions[i]))
            return BLOOM_BUILD_NO_MEMORY;
        *keys += partitions[i].distinct;
    }
    return BLOOM_BUILT;
}

bool bloom_key_set_each(const struct bloom_key_set *set,
                        void (*visit)(void *argument, const uint64_t *words, size_t count),
                        void *argument) {
    const struct bloom_key_partition *partitions = set->partitions ? set->partitions : &set->one;
    unsigned width = set->layout->hash_words;
    uint64_t since_poll = 0;
    for (size_t i = 0; i < partition_count(set); i++) {
        if (bloom_key_set_interrupted(set, partitions[i].keys, &since_poll))
            return false;
        for (const struct bloom_key_chunk *chunk = partitions[i].first; chunk != NULL;
             chunk = chunk->next) {
            BLOOM_PREFETCH(chunk->next); /* it may lie anywhere */
            visit(argument, chunk->values, chunk->words / width);
        }
    }
    return true;
}

struct filling {
    const struct bloom_shape *shape;
    uint8_t *payload;
};

static void fill(void *argument, const uint64_t *words, size_t count) {
    const struct filling *filling = argument;
    filling->shape->layout->add(filling->shape, filling->payload, words, count);
}

enum bloom_built bloom_key_set_build(const struct bloom_key_set *set, struct bloom_shape *shape,
                                     uint8_t *payload) {
    struct filling filling = {shape, payload};
    if (shape->layout->build != NULL)
        return shape->layout->build(shape, payload, set);
    return bloom_key_set_each(set, fill, &filling) ? BLOOM_BUILT : BLOOM_BUILD_INTERRUPTED;
}

void bloom_key_set_clear(struct bloom_key_set *set) {
    release_chunks(set, set->one.first);
    set->one = (struct bloom_key_partition){0};
    if (set->partitions != NULL)
        for (unsigned i = 0; i < partitions_most(); i++)
            release_chunks(set, set->partitions[i].first);
    bloom_release(set->memory, set->partitions);
    bloom_release(set->memory, set->table);
    set->partitions = NULL;
    set->table = NULL;
    set->table_slots = 0;
}

/* The distinct keys of a filter that is not sized yet. A key set collects hashes in any order,
 * drops duplicates, counts the keys, and adds them to a filter. For a layout in which a key counts
 * as often as it is added, it keeps the first BLOOM_REPEATS_MAXIMUM copies of each.
 *
 * It stores only the words that decide about a key: 8 bytes for a layout of one hash word, 16 for
 * two, 32 for four. Many keys are stored in partitions by the high bits of their first word. All
 * copies of a key are in one partition, so duplicates are found in a table that fits the
 * second-level cache. The blocked layout maps a partition to neighbouring blocks, so setting bits
 * stays in cache as well. */
#ifndef BLOOM_FILTER_KEY_SET_H
#define BLOOM_FILTER_KEY_SET_H

#include "base/memory.h"
#include "filter/layout.h"

struct bloom_key_chunk;

struct bloom_key_partition {
    struct bloom_key_chunk *first, *last;
    uint64_t keys;      /* duplicates included */
    uint64_t distinct;  /* distinct ones, when duplicates were last dropped */
    uint64_t settle_at; /* number of keys at which duplicates are dropped next */
};

/* A set of zero bytes with layout and memory set is empty and ready. See also seed. */
struct bloom_key_set {
    const struct bloom_layout *layout;
    const struct bloom_memory *memory;
    /* Called about every millisecond while a set is settled or built. Returning true ends the work.
     * May be NULL. */
    bool (*interrupted)(void *argument);
    void *argument;
    struct bloom_key_partition one;         /* while there are few keys */
    struct bloom_key_partition *partitions; /* then; NULL before */
    uint64_t *table;                        /* scratch for finding duplicates */
    uint64_t table_slots;
    /* Decides the order in that table and nothing else. Use a random seed when the keys are not
     * trusted, because an attacker who knows the order can make keys collide. */
    uint64_t seed[2];
    uint64_t steps; /* slots of the table that were passed: about one for each key */
};

/* Adds a key by the words of its hash. Returns false, and changes nothing, without memory. */
bool bloom_key_set_add(struct bloom_key_set *set, const uint64_t *words);

/* Drops all duplicates and sets *keys to the number of distinct keys. */
enum bloom_built bloom_key_set_settle(struct bloom_key_set *set, uint64_t *keys);

/* Calls visit with the words of all keys, hash_words for each, count keys at a time. Returns false
 * when interrupted. */
bool bloom_key_set_each(const struct bloom_key_set *set,
                        void (*visit)(void *argument, const uint64_t *words, size_t count),
                        void *argument);

/* Returns true when the work should end. keys_handled is the number of keys processed since the
 * last call. Polls `interrupted` now and then. *since_poll begins as 0. */
bool bloom_key_set_interrupted(const struct bloom_key_set *set, uint64_t keys_handled,
                               uint64_t *since_poll);

/* Adds the keys of a settled set to a payload of zeros. The shape must be sized for the set. */
enum bloom_built bloom_key_set_build(const struct bloom_key_set *set, struct bloom_shape *shape,
                                     uint8_t *payload);

/* Releases all memory and leaves the set empty. */
void bloom_key_set_clear(struct bloom_key_set *set);

#endif

/* The distinct keys of a filter that is still to be sized: collects hashes in any order, drops
 * duplicates, tells how many are left and puts them into a filter. For a layout in which keys count
 * as often as they are added it keeps the first BLOOM_REPEATS_MAXIMUM copies of each.
 *
 * It holds what decides about a key and no more: 8 bytes for a layout of one hash word, 16 for one
 * of two, 32 for one of four. Once there are many they are kept in partitions by the high bits of
 * their first word. All copies of a key are in one partition, so duplicates are found in a table
 * that fits the second-level cache; and the blocked layout maps a partition to a stretch of
 * neighbouring blocks, so that setting bits stays in cache as well.
 */
#ifndef BLOOM_FILTER_KEY_SET_H
#define BLOOM_FILTER_KEY_SET_H

#include "base/memory.h"
#include "filter/layout.h"

/* A set of more keys than these is partitioned by so many of the upper bits of their first word. */
enum { BLOOM_KEY_SET_UNPARTITIONED = 1 << 12, BLOOM_KEY_SET_PARTITION_BITS = 9 };

struct bloom_key_chunk;

struct bloom_key_partition {
    struct bloom_key_chunk *first, *last;
    uint64_t keys;      /* held, duplicates included */
    uint64_t distinct;  /* of them, when duplicates were looked for last */
    uint64_t settle_at; /* number of keys at which duplicates are looked for */
};

/* A set of zero bytes with layout and memory filled in is empty and ready; see seed, too. */
struct bloom_key_set {
    const struct bloom_layout *layout;
    const struct bloom_memory *memory;
    /* A partition is searched for duplicates each time it has grown to so many times what it held
     * after the last search: repeated keys then cost at most this factor in memory, distinct ones 1
     * / (factor - 1) more time in all. 0 means 4. */
    unsigned settle_factor;
    /* Asked about every millisecond while a set is settled or built; true ends the work. NULL:
     * never asked.
     */
    bool (*interrupted)(void *argument);
    void *argument;
    struct bloom_key_partition one;         /* while there are few keys */
    struct bloom_key_partition *partitions; /* then; NULL before */
    uint64_t *table;                        /* scratch for finding duplicates */
    uint64_t table_slots;
    /* Decides the order in that table and nothing else. Use a random seed when the keys are not
     * trusted: an attacker who knows the order can make keys collide in it. */
    uint64_t seed[2];
    uint64_t steps; /* slots of the table passed so far: about one a key, whatever the keys are */
};

/* Adds a key by the words of its hash. Returns false, and changes nothing, when there is no memory.
 */
bool bloom_key_set_add(struct bloom_key_set *set, const uint64_t *words);

/* Drops all duplicates and sets *keys to the number of distinct keys. */
enum bloom_built bloom_key_set_settle(struct bloom_key_set *set, uint64_t *keys);

/* The number of keys that the set holds, duplicates included as far as they are not dropped yet. */
uint64_t bloom_key_set_held(const struct bloom_key_set *set);

/* Calls visit with the words of all keys, hash_words for each, count keys at a time: ascending by
 * the upper bits of their first word as far as the set is partitioned, else in no order. Returns
 * false when interrupted. */
bool bloom_key_set_each(const struct bloom_key_set *set,
                        void (*visit)(void *argument, const uint64_t *words, size_t count),
                        void *argument);

/* Whether to give up. keys_handled counts the keys since the last call; interrupted is asked now
 * and then. *since_asked is 0 at first. */
bool bloom_key_set_interrupted(const struct bloom_key_set *set, uint64_t keys_handled,
                               uint64_t *since_asked);

/* Fills payload, which is zeros, with the keys of a settled set, for which shape was sized. */
enum bloom_built bloom_key_set_build(const struct bloom_key_set *set, struct bloom_shape *shape,
                                     uint8_t *payload);

/* Releases all memory and leaves the set empty. */
void bloom_key_set_clear(struct bloom_key_set *set);

#endif

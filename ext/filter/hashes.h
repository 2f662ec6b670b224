/* A set of hashes, which the command 'add_all' of a filter table adds. It is made of the keys of a
 * query and sorted once, so that a table can be filled chunk by chunk. */
#ifndef BLOOM_FILTER_HASHES_H
#define BLOOM_FILTER_HASHES_H

#include "filter/key_set.h"

struct bloom_hashes {
    uint64_t *hashes; /* ascending; the owner releases them to the memory of the key set */
    uint64_t count;
    struct bloom_keying keying;
    unsigned affinities; /* of columns that hash these keys alike: bits 1u << affinity */
};

/* Makes the hashes of a set of keys, which need not be settled. On failure, and when the set is
 * empty, hashes->hashes is NULL. */
enum bloom_built bloom_hashes_sort(struct bloom_hashes *hashes, const struct bloom_key_set *keys);

#endif

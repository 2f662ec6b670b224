/* A set of hashes: what the command 'add_all' of a filter table adds. It is made of the keys of a
 * query, once and sorted, so that a table can be filled chunk by chunk. */
#ifndef BLOOM_FILTER_HASHES_H
#define BLOOM_FILTER_HASHES_H

#include "filter/key_set.h"

struct bloom_hashes {
    uint64_t *hashes; /* ascending; from the memory of the key set, the owner's to release */
    uint64_t count;
    struct bloom_keying keying;
    unsigned affinities; /* of columns that hash these keys alike: bits 1u << affinity */
};

/* Makes the hashes of a set of keys, which need not be settled. Leaves hashes->hashes NULL on
 * failure, and when the set is empty. */
enum bloom_built bloom_hashes_sort(struct bloom_hashes *hashes, const struct bloom_key_set *keys);

#endif

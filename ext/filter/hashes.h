/* Sets of hashes (layout hashes) for the commands of filter tables that take them. */
#ifndef BLOOM_HASHES_H
#define BLOOM_HASHES_H

#include "filter/layout.h"

/* The types of the keys of a set, in extra[0] of its shape: text or BLOBs, and numbers. A table
 * whose column has a type converts a key before hashing it, which is not possible with a hash. */
enum { BLOOM_HASHES_OF_TEXT = 1, BLOOM_HASHES_OF_NUMBERS = 2 };

/* Hash number index, from 0 to below the capacity of the set. */
uint64_t bloom_hashes_at(const uint8_t *payload, uint64_t index);

#endif

/* The keys of a filter table: looked up, added and removed. `words` are the words of a key's hash.
 *
 * Everything goes along the path of a key: from layer 0 on, to the next layer as long as the chunk
 * is closed. Because a closed chunk never gets a new key, a key never changes its place, and a
 * DELETE finds exactly the chunk that an INSERT counted it in. There is no shortcut to the newest
 * layer: a DELETE that took one would remove other keys.
 *
 * Call bloom_chunks_begin_operation before each function.
 */
#ifndef BLOOM_TABLE_KEYS_H
#define BLOOM_TABLE_KEYS_H

#include "table/chunks.h"

/* Sets *found to whether any of `count` keys is probably in. The words of each key follow those of
 * the one before. */
int bloom_keys_check(struct bloom_chunks *chunks, const uint64_t *words, unsigned count,
                     bool *found);

/* Adds a key, unless it is probably in, which sets *found. With `again` (a plain INSERT) only the
 * newest generation counts as in, and a layout that counts counts a key that is in once more.
 *
 * *expects_change is a hint that the caller keeps: the last key changed its chunk, so the next one
 * probably will, too. Otherwise a key is looked up first, which is cheaper than to open its chunk
 * for change. */
int bloom_keys_add(struct bloom_chunks *chunks, const uint64_t *words, bool again,
                   bool *expects_change, bool *found);

/* Removes one count of a key, unless it is certainly not in. The layout must count. */
int bloom_keys_remove(struct bloom_chunks *chunks, const uint64_t *words);

#endif

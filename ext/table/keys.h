/* Keys of a filter table: asked, added, taken out. words are the words of a key's hash. */
#ifndef BLOOM_TABLE_KEYS_H
#define BLOOM_TABLE_KEYS_H

#include "table/layers.h"

/* Whether any of count keys is probably in. The words of a key follow those of the one before. */
int bloom_keys_check(struct bloom_layers *layers, const uint64_t *words, unsigned count,
                     bool *found);

/* Adds a key, unless it is probably in already, which *found tells. If again, it is also added when
 * only generations before the newest have it, and counting layouts count a key that is in once
 * more. */
int bloom_keys_add(struct bloom_layers *layers, const uint64_t *words, bool again, bool *found);

/* Takes a key out once, unless it seems to be in no layer or in several: then it is not known from
 * which one, and the wrong one would lose other keys. The layout counts. */
int bloom_keys_remove(struct bloom_layers *layers, const uint64_t *words);

/* bulk.c: adds all keys of a set, of layout hashes and of the keying of the table, as plain INSERTs
 * of each would. Called between bloom_layers_start and bloom_layers_finish. */
int bloom_bulk_add(struct bloom_layers *layers, const struct bloom_stored *set);

#endif

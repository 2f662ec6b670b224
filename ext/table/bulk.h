/* Many keys at once: a set of hashes (bloom_hashes) written chunk by chunk. */
#ifndef BLOOM_TABLE_BULK_H
#define BLOOM_TABLE_BULK_H

#include "table/layers.h"

/* Adds all keys of a set, of layout hashes and of the keying of the table, as plain INSERTs of each
 * would; layers are opened as needed. Called between bloom_layers_start and bloom_layers_finish. */
int bloom_bulk_add(struct bloom_layers *layers, const struct bloom_stored *set);

#endif

/* What concerns all chunks of a filter table: its filter, info, merge, integrity, repair. Each is
 * called between bloom_layers_start and bloom_layers_finish.
 */
#ifndef BLOOM_TABLE_WHOLE_H
#define BLOOM_TABLE_WHOLE_H

#include "table/layers.h"

/* Writes the call that makes a set of hashes for a table with this keying, with dots for a salt.
 * Returns text. */
enum { BLOOM_HASHES_CALL_SIZE = 64 };
char *bloom_hashes_call(char text[BLOOM_HASHES_CALL_SIZE], const struct bloom_keying *keying);

/* A table of one layer as a filter: its shape, and its bytes from sqlite3_malloc64, which become
 * the caller's. */
int bloom_whole_filter(struct bloom_layers *layers, struct bloom_shape *shape, uint8_t **bytes);

/* Everything about the table as a JSON object, from sqlite3_malloc, the caller's. */
int bloom_whole_info(struct bloom_layers *layers, char **json);

/* Adds the keys of a filter that has the shape of the first layer. Refused when the layer would
 * then exceed its rate. A table with growth=off takes them all the same, since it has no other
 * layer. */
int bloom_whole_merge(struct bloom_layers *layers, const struct bloom_stored *filter);

/* Looks for damage. *problem stays NULL when all is well, otherwise it is the caller's to
 * sqlite3_free. Lost keys are an error, SQLITE_CORRUPT_VTAB. */
int bloom_whole_verify(struct bloom_layers *layers, char **problem);

/* Writes the counts that the bits say, and takes layers at the end away that hold no key. Refused,
 * with the same error, where bits are gone that were counted. */
int bloom_whole_repair(struct bloom_layers *layers);

#endif

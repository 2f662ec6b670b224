/* What concerns all chunks of a filter table: its filter, its description, merging, checking.
 *
 * Call bloom_chunks_begin_operation before each function.
 */
#ifndef BLOOM_TABLE_MAINTAIN_H
#define BLOOM_TABLE_MAINTAIN_H

#include "table/chunks.h"

/* Removes all keys, and forgets the number of the period. */
int bloom_maintain_clear(struct bloom_chunks *chunks);

/* Begins a new generation, in which the oldest one is forgotten. In a table that rotates by the
 * clock, it is an error. */
int bloom_maintain_rotate(struct bloom_chunks *chunks);

/* The present period has that number. The first call keeps it. Later a larger number rotates by the
 * difference, at most G times, which is the number of generations. A smaller one changes nothing.
 * If it is smaller by more than G, it is an error, because no clock goes back that far. */
int bloom_maintain_period(struct bloom_chunks *chunks, sqlite3_int64 period);

/* Makes a filter of a table whose keys are all in one layer: its shape, and its bytes from
 * sqlite3_malloc64, which become the caller's. */
int bloom_maintain_filter(struct bloom_chunks *chunks, struct bloom_shape *shape, uint8_t **bytes);

/* Describes the table as a JSON object, from sqlite3_malloc, the caller's. */
int bloom_maintain_info(struct bloom_chunks *chunks, char **json);

/* Adds the keys of a filter that has the shape of the first layer. It is refused when the layer
 * would then exceed its rate, except with growth=off, or when keys are in a further layer. */
int bloom_maintain_merge(struct bloom_chunks *chunks, const struct bloom_stored *filter);

/* Looks for damage: SQLITE_CORRUPT_VTAB with a message if there is any. */
int bloom_maintain_verify(struct bloom_chunks *chunks);

#endif

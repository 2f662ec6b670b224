/* The chunks of a filter table: where the block of a key is, and how it is read and written.
 *
 * FORMAT-tables.md says what is stored: each row but row 0 is a chunk, a head and then blocks, as
 * many as fill a database page without overflowing it. A chunk that has no row counts as zeros, and
 * so does one of a generation that is forgotten.
 *
 * span.h says when a row is in memory, too. The first change of a chunk in a transaction is written
 * at once. So a small transaction costs what it costs without memory, and each chunk that has bits
 * has a row.
 *
 * Reading without memory takes a statement, or a BLOB handle: the reader. It takes longer to open
 * than a statement takes, and less time to move. So it is for queries that read many blocks, and
 * for chunks so large that a statement would copy too much.
 *
 * An open handle keeps the transaction alive and the database locked. So the writer lives for one
 * operation, and the reader until an operation ends while the table has no cursor open. SQLite
 * calls the authorizer for a statement, but not for a handle. So an application that sets an
 * authorizer must let it allow reading and writing NAME_data, as with R*Tree.
 */
#ifndef BLOOM_TABLE_CHUNKS_H
#define BLOOM_TABLE_CHUNKS_H

#include "table/configuration.h"
#include "table/span.h"

/* The head of a chunk. */
struct bloom_head {
    uint32_t ones, keys, generation;
    bool is_closed;
};
enum { BLOOM_CHUNK_HEAD_BYTES = 16, BLOOM_COUNT_MAXIMUM = INT32_MAX };

/* The chunks of one object of a table. Begins as its span and zeros. */
struct bloom_chunks {
    struct bloom_span span;                          /* first */
    uint8_t row_0[BLOOM_CONFIGURATION_BYTES];        /* as it was read last */
    struct bloom_configuration configuration;        /* what row 0 says */
    struct bloom_rotation rotation;                  /* what it says in this operation */
    struct bloom_layer layers[BLOOM_LAYERS_MAXIMUM]; /* without chunks: not computed yet */
    sqlite3_blob *writer; /* at any row, in an operation that changes; NULL: not open */
    sqlite3_blob *reader; /* at any row; NULL: not open */
    unsigned reads;       /* since the reader was closed */
    unsigned cursors;     /* of the table that are open */
    uint8_t *buffer;      /* room for the longest row */
};

static inline const struct bloom_growth *bloom_chunks_growth(const struct bloom_chunks *chunks) {
    return &chunks->configuration.growth;
}

/* Frees what it has, and gives the span back. */
void bloom_chunks_close(struct bloom_chunks *chunks);

/* Call when row 0, of `length` bytes, is new to this object: at CREATE, at the first use, or when
 * the table is another one now. Reads the configuration from it, ends the span, and the revision
 * rises. */
int bloom_chunks_configure(struct bloom_chunks *chunks,
                           const uint8_t row[BLOOM_CONFIGURATION_BYTES], int length);

/* Call first in each operation. Decides whether memory is usable, and reads row 0 unless it is
 * known. If that is of another table than before, the revision rises. With `changes`, a change of a
 * chunk probably follows, so row 0 is read by the writer, which then moves on to the chunk. */
int bloom_chunks_begin_operation(struct bloom_chunks *chunks, bool changes);

/* Call last in each operation, after an error, too. Closes the writer and, unless a cursor is open,
 * the reader, and lets the span rest. */
void bloom_chunks_end_operation(struct bloom_chunks *chunks);

/* Call at a rollback and a renaming: what the reader points to may be gone. */
void bloom_chunks_close_reader(struct bloom_chunks *chunks);

/* Writes the rotation into row 0. */
int bloom_chunks_write_rotation(struct bloom_chunks *chunks, const struct bloom_rotation *rotation);

/* Computes the layer with that index. */
void bloom_chunks_compute(struct bloom_chunks *chunks, unsigned index);

/* The layer with that index. */
static inline const struct bloom_layer *bloom_chunks_layer(struct bloom_chunks *chunks,
                                                           unsigned index) {
    if (chunks->layers[index].chunks == 0)
        bloom_chunks_compute(chunks, index);
    return &chunks->layers[index];
}

/* Whether there is a generation that is `age` generations older than the newest one. */
static inline bool bloom_chunks_has_age(const struct bloom_chunks *chunks, unsigned age) {
    return age < bloom_chunks_growth(chunks)->generations && age <= chunks->rotation.newest;
}

/* A place: a chunk, and which bytes of its row: a block, or all blocks. */
struct bloom_place {
    const struct bloom_layer *layer;
    unsigned index; /* of the layer */
    uint32_t generation;
    uint64_t chunk;         /* its number in the layer */
    uint32_t blocks;        /* of the chunk */
    uint32_t offset, bytes; /* in the row */
};

/* Return the place of all blocks of a chunk, and of the block that decides about a key. */
struct bloom_place bloom_place_of_chunk(struct bloom_chunks *chunks, unsigned index,
                                        uint32_t generation, uint64_t chunk);
struct bloom_place bloom_place_of_key(struct bloom_chunks *chunks, unsigned index,
                                      uint32_t generation, const uint64_t *words);

/* Reads a block, valid until the next call; *block is NULL when its chunk counts as zeros. *closed
 * is the mark of the chunk. */
int bloom_chunks_read(struct bloom_chunks *chunks, const struct bloom_place *place,
                      const uint8_t **block, bool *closed);

/* A place that is open for change, with the head of its chunk. */
struct bloom_change {
    struct bloom_place place;
    struct bloom_head head;
    uint8_t *row;           /* kept->bytes or the buffer */
    uint8_t *blocks;        /* the bytes of the place in it, zeros when the chunk counts as zeros */
    struct bloom_row *kept; /* the row in memory, or NULL */
    bool is_new;            /* the chunk counts as zeros */
    bool may_draft;         /* a kept row is not written now; otherwise the writer is at the row */
};

/* Opens a place for change. The writer moves to it, which takes a fraction of the time of opening
 * it, unless the change will wait in memory. Only one change of a table may be open; to give it up,
 * forget it. */
int bloom_change_open(struct bloom_chunks *chunks, const struct bloom_place *place,
                      struct bloom_change *change);

/* Writes head and blocks, now or later, as a new row if the chunk counts as zeros. */
int bloom_change_save(struct bloom_chunks *chunks, struct bloom_change *change);

/* Calls visit for each chunk that does not count as zeros, in the order of their ids: of one
 * generation, or, with NULL, of all. Drafts are taken from memory. An error of visit ends it, and
 * so does a row that is no chunk or contradicts FORMAT-tables.md. visit must not call it. */
typedef int bloom_chunk_visit(void *argument, const struct bloom_place *place,
                              const struct bloom_head *head, const uint8_t *blocks);
int bloom_chunks_each(struct bloom_chunks *chunks, const uint32_t *generation,
                      bloom_chunk_visit *visit, void *argument);

#endif

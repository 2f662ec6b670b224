/* Filters as other systems serialise them, and the interface that every such foreign format
 * implements.
 *
 * A format is one file, NAME.c, and one row of the table in exchange.c. Formats that differ in
 * little are rows of one file. Reading and writing are in two steps each, so that the caller
 * allocates in between, and only after a filter is known to be sound: it never allocates much more
 * than the bytes that it was given.
 *
 * What was read and is written again in the same format has the same bytes, with two exceptions.
 * `go`, `parquet` and `parquet-int32` read every form that their systems write, and write the usual
 * one. `dcso` and `redisbloom` count how many adds changed a bit. No set of keys tells that: a key
 * whose bits other keys set, too, has counted when it came before them, and not when it came after,
 * and the bits are the same. A filter that kept the count would have other bytes for the same keys,
 * so none keeps it; what is written is the estimate from the bits.
 */
#ifndef BLOOM_FOREIGN_EXCHANGE_H
#define BLOOM_FOREIGN_EXCHANGE_H

#include "filter/layout.h"

struct bloom_exchange {
    const char *name;
    unsigned form; /* which of its file's formats: the first argument of every function */

    /* Reads and validates length bytes of which nothing is known. On true, shape is that of the
     * filter, and bytes may be given to read_payload. On false, problem completes the sentence "the
     * bytes ...". */
    bool (*read)(unsigned form, struct bloom_shape *shape, const uint8_t *bytes, uint64_t length,
                 bloom_problem problem);

    /* Fills payload, of shape->bits bits, from bytes that read has found sound. */
    void (*read_payload)(unsigned form, const struct bloom_shape *shape, const uint8_t *bytes,
                         uint64_t length, uint8_t *payload);

    /* Sets length to the bytes that write will write for a filter of that shape. Returns false when
     * the format has no such filters; problem completes the sentence "the filter ...". */
    bool (*measure)(unsigned form, const struct bloom_shape *shape, uint64_t *length,
                    bloom_problem problem);

    /* Writes a filter that measure has accepted. Equal shapes and payloads give equal bytes. */
    void (*write)(unsigned form, const struct bloom_shape *shape, const uint8_t *payload,
                  uint8_t *bytes);
};

extern const struct bloom_exchange bloom_exchange_guava;
extern const struct bloom_exchange bloom_exchange_guava_utf16;
extern const struct bloom_exchange bloom_exchange_spark;
extern const struct bloom_exchange bloom_exchange_dcso;
extern const struct bloom_exchange bloom_exchange_go;
extern const struct bloom_exchange bloom_exchange_parquet;
extern const struct bloom_exchange bloom_exchange_parquet_int32;
extern const struct bloom_exchange bloom_exchange_redisbloom;

/* Reads bytes by a format's member read, and names a compressed file for what it is. */
bool bloom_exchange_read(const struct bloom_exchange *format, struct bloom_shape *shape,
                         const uint8_t *bytes, uint64_t length, bloom_problem problem);

/* Whether bytes begin as java.io.ObjectOutputStream does: the filters of Guava and Spark are
 * Serializable, too, but that form is Java's alone. */
bool bloom_exchange_is_java_object(const uint8_t *bytes, uint64_t length);

/* bloom_shape_probes_fit; problem completes "the bytes ...". */
bool bloom_exchange_probes_fit(const struct bloom_shape *shape, bloom_problem problem);

/* How many keys the bits stand for, to the nearest whole number, at most n: for formats that count.
 */
uint64_t bloom_exchange_count(const struct bloom_shape *shape, const uint8_t *payload);

/* The format of that name (length bytes, any case); NULL when there is none. */
const struct bloom_exchange *bloom_exchange_by_name(const char *name, size_t length);

/* Writes the names of all formats into text of size bytes (at least 1), as bloom_layout_list. */
void bloom_exchange_list(char *text, size_t size);

#endif

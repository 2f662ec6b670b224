/* Filters as other systems serialise them, and the interface of such a format.
 *
 * A system is one file, with its formats, layouts and hashings. Each format is a row of the table
 * in exchange.c. Formats that differ
 * little are rows of one file. Reading and writing are in two steps each. So the caller allocates
 * in between, and only after a filter has been validated: it never allocates much more than the
 * bytes that it was given.
 *
 * Reading a filter and writing it again in the same format returns the same bytes, with two
 * exceptions. `go`, `parquet` and `parquet-int32` read every form that their systems write, and
 * write the usual one. `dcso` and `redisbloom` count how many adds changed a bit. This number does
 * not follow from a set of keys, because it depends on their order: a key whose bits other keys
 * set, too, counts only if it came before them. If a filter kept the number, the same keys would
 * have different bytes. So an import drops it, and an export writes the estimate from the bits. */
#ifndef BLOOM_FOREIGN_EXCHANGE_H
#define BLOOM_FOREIGN_EXCHANGE_H

#include "filter/layout.h"

/* The bits of a filter within the bytes of another system: words of 64 bits, bit b being bit b & 63
 * of word b >> 6. The last word is complete. */
struct bloom_row {
    const uint8_t *bytes;
    bool big_endian; /* the words; otherwise they are the payload */
};

struct bloom_exchange {
    const char *name;
    const struct bloom_layout *layout; /* of its filters: an argument of read and measure; NULL if
                                        * there are several */

    /* Reads and validates length bytes of which nothing is known. On true, shape is the shape of
     * the filter, and row is where its bits are. On false, problem completes "the bytes ...". */
    bool (*read)(const struct bloom_layout *layout, struct bloom_shape *shape,
                 struct bloom_row *row, const uint8_t *bytes, uint64_t length,
                 bloom_problem problem);

    /* Sets *length to the number of bytes that write will write for a filter of that shape. Returns
     * false when the format has no such filter; problem completes "the filter ...". */
    bool (*measure)(const struct bloom_layout *layout, const struct bloom_shape *shape,
                    uint64_t *length, bloom_problem problem);

    /* Writes a filter that measure has accepted. Equal filters have equal bytes. */
    void (*write)(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes);
};

extern const struct bloom_exchange bloom_exchange_guava;
extern const struct bloom_exchange bloom_exchange_guava_utf16;
extern const struct bloom_exchange bloom_exchange_spark;
extern const struct bloom_exchange bloom_exchange_dcso;
extern const struct bloom_exchange bloom_exchange_go;
extern const struct bloom_exchange bloom_exchange_parquet;
extern const struct bloom_exchange bloom_exchange_parquet_int32;
extern const struct bloom_exchange bloom_exchange_redisbloom;

/* Calls the format's member read. If that fails, recognises a compressed file. */
bool bloom_exchange_read(const struct bloom_exchange *format, struct bloom_shape *shape,
                         struct bloom_row *row, const uint8_t *bytes, uint64_t length,
                         bloom_problem problem);

/* Fills the payload of a shape from a row. */
void bloom_row_read(const struct bloom_row *row, const struct bloom_shape *shape, uint8_t *payload);

/* Writes the payload of a shape as a row. */
void bloom_row_write(uint8_t *row, bool big_endian, const struct bloom_shape *shape,
                     const uint8_t *payload);

/* What several formats check. On false, problem completes "the bytes ...", or "the filter ..." for
 * has_layout. */

/* The bytes have room for a header. filter names the filter in the message. */
bool bloom_exchange_has_header(uint64_t length, uint64_t header, const char *filter,
                               const char *advice, bloom_problem problem);

/* The bytes are as many as their header says. */
bool bloom_exchange_has_length(uint64_t length, uint64_t expected, const char *advice,
                               bloom_problem problem);

/* No bit of the last word after that many bits is set. */
bool bloom_row_ends(const struct bloom_row *row, uint64_t bits, const char *advice,
                    bloom_problem problem);

/* The filter has the one layout that the system knows. */
bool bloom_exchange_has_layout(const struct bloom_shape *shape, const struct bloom_layout *layout,
                               const char *system, bloom_problem problem);

/* The bytes do not begin as java.io.ObjectOutputStream does. The filters of Guava and Spark are
 * Serializable, too, but only Java can read that form. */
bool bloom_exchange_is_plain(const uint8_t *bytes, uint64_t length, bloom_problem problem);

/* A Java program can have as many words. */
bool bloom_exchange_words_fit(uint32_t words, const char *system, bloom_problem problem);

/* The header's number of hashes is plausible: see bloom_shape_probes_fit. */
bool bloom_exchange_probes_fit(const struct bloom_shape *shape, bloom_problem problem);

/* Returns the number of keys that the bits stand for, to the nearest integer and at most n, for
 * formats that store it. */
uint64_t bloom_exchange_count(const struct bloom_shape *shape, const uint8_t *payload);

/* Returns the format of that name (length bytes, any case), or NULL. */
const struct bloom_exchange *bloom_exchange_by_name(const char *name, size_t length);

/* Writes the names of all formats, as bloom_layout_list does. size is at least 1. */
void bloom_exchange_list(char *text, size_t size);

#endif

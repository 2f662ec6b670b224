/* Filters as other systems serialise them, and the interface of such a format.
 *
 * A system is one file, with its formats, layouts and hashings. Each format is a row of the table
 * in exchange.c. Formats that differ little are rows of one file. A filter of every system is a
 * header and a row of words. Reading and writing are in two steps each. So the caller allocates in
 * between, and only after a filter has been validated: it never allocates much more than the bytes
 * that it was given.
 *
 * Reading a filter and writing it again in the same format returns the same bytes, with two
 * exceptions. `bits-and-blooms`, `parquet` and `parquet-int32` read every form that their systems
 * write, and write the usual one. `dcso` and `redisbloom` count how many adds changed a bit. This
 * number does not follow from a set of keys, because it depends on their order: a key whose bits
 * other keys set, too, counts only if it came before them. If a filter kept the number, the same
 * keys would have different bytes. So an import drops it, and an export writes the estimate from
 * the bits. */
#ifndef BLOOM_FOREIGN_EXCHANGE_H
#define BLOOM_FOREIGN_EXCHANGE_H

#include "base/portable.h"
#include "filter/layouts/classic.h"

/* A filter in the bytes of another system. */
struct bloom_foreign {
    const struct bloom_exchange *format;
    const uint8_t *bytes;
    uint64_t length;
    struct bloom_shape shape; /* read starts from the layout of the format */
    /* Where its bits are: words of 64 bits, bit b being bit b & 63 of word b >> 6. The last word is
     * complete. */
    const uint8_t *row;
    bool big_endian; /* the words; otherwise they are the payload */
};

struct bloom_exchange {
    const char *name;
    const struct bloom_layout *layout; /* of its filters */
    const struct bloom_layout *older;  /* of its filters of another version, or NULL */
    const char *unknown; /* completes "has layout NAME, which " for a filter of another layout */
    const char *system;  /* for messages */
    const char *advice;  /* what to do about bytes that are cut off or damaged */
    bool big_endian;     /* the words that it writes */

    /* Reads bytes of which nothing is known but their length, and validates them. On false, problem
     * completes "the bytes ...". */
    bool (*read)(struct bloom_foreign *filter, bloom_problem problem);

    /* Returns false when the system has no filter of a shape, although it knows the layout; problem
     * completes "the filter ...". NULL: it has all. */
    bool (*fits)(const struct bloom_shape *shape, bloom_problem problem);

    /* Writes the header, at most BLOOM_EXCHANGE_HEADER_MOST bytes, and returns its length. Equal
     * filters have equal headers. payload is NULL when only the length matters. */
    uint64_t (*header)(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *header);
};

enum { BLOOM_EXCHANGE_HEADER_MOST = 80 };

extern const struct bloom_layout bloom_layout_spark1;
extern const struct bloom_layout bloom_layout_spark2;
extern const struct bloom_layout bloom_layout_dcso;
extern const struct bloom_layout bloom_layout_go;
extern const struct bloom_layout bloom_layout_parquet;
extern const struct bloom_layout bloom_layout_parquet_int32;
extern const struct bloom_layout bloom_layout_redisbloom;

extern const struct bloom_exchange *const bloom_exchanges[]; /* all formats, up to NULL */
extern const struct bloom_exchange bloom_exchange_guava;
extern const struct bloom_exchange bloom_exchange_guava_utf16;
extern const struct bloom_exchange bloom_exchange_spark;
extern const struct bloom_exchange bloom_exchange_dcso;
extern const struct bloom_exchange bloom_exchange_go;
extern const struct bloom_exchange bloom_exchange_parquet;
extern const struct bloom_exchange bloom_exchange_parquet_int32;
extern const struct bloom_exchange bloom_exchange_redisbloom;

/* Reads and validates bytes as a filter of a format. On false, problem completes "the bytes ...".
 */
bool bloom_exchange_read(const struct bloom_exchange *format, const uint8_t *bytes, uint64_t length,
                         struct bloom_foreign *filter, bloom_problem problem);

/* Writes a filter that was read as one of ours, header and payload. */
void bloom_exchange_import(const struct bloom_foreign *filter, uint8_t *ours);

/* Sets *length to the number of bytes that a filter of that shape has in a format. Returns false
 * when the format has no such filter; problem completes "the filter ...". */
bool bloom_exchange_measure(const struct bloom_exchange *format, const struct bloom_shape *shape,
                            uint64_t *length, bloom_problem problem);

/* Writes a filter that was measured. */
void bloom_exchange_export(const struct bloom_exchange *format, const struct bloom_shape *shape,
                           const uint8_t *payload, uint8_t *bytes);

/* Returns the format of that name (length bytes, any case), or NULL. */
const struct bloom_exchange *bloom_exchange_by_name(const char *name, size_t length);

/* Writes the names of all formats, as bloom_layout_list does. size is at least 1. */
void bloom_exchange_list(char *text, size_t size);

/* What several formats check and read. On false, problem completes "the bytes ...". */

/* The bytes have room for a header. */
bool bloom_foreign_has_header(const struct bloom_foreign *filter, uint64_t header,
                              bloom_problem problem);

/* k and m of the header become those of the shape. Both must be in range and plausible together.
 * `rest` must be true: the format has checked the rest of the header. */
bool bloom_foreign_numbers(struct bloom_foreign *filter, uint64_t probes, uint64_t bits, bool rest,
                           bloom_problem problem);

/* As many words as the shape needs follow the header, and nothing else. They are the row. */
bool bloom_foreign_has_row(struct bloom_foreign *filter, uint64_t header, bloom_problem problem);

/* No bit of the row's last word after that many bits is set. */
bool bloom_foreign_ends(const struct bloom_foreign *filter, uint64_t bits, bloom_problem problem);

/* The bytes do not begin as java.io.ObjectOutputStream does. The filters of Guava and Spark are
 * Serializable, too, but only Java can read that form. */
bool bloom_foreign_is_plain(const struct bloom_foreign *filter, bloom_problem problem);

/* The same as bloom_foreign_numbers and bloom_foreign_has_row for a header of Java, whose last four
 * bytes are the number of words that follow. */
bool bloom_foreign_has_java_row(struct bloom_foreign *filter, uint64_t header, uint32_t probes,
                                bloom_problem problem);

/* Returns the number of keys that the bits stand for, to the nearest integer and at most n, for
 * formats that store it; 0 without a payload. */
uint64_t bloom_foreign_count(const struct bloom_shape *shape, const uint8_t *payload);

/* The advice for filters of Java. */
#define BLOOM_WRITE_TO "Store exactly what BloomFilter.writeTo writes"

enum { BLOOM_WORD_BYTES = BLOOM_WORD_BITS / 8 };

/* Returns the number of words for this many bits. */
static inline uint64_t bloom_words_of(uint64_t bits) {
    return bits / BLOOM_WORD_BITS + (bits % BLOOM_WORD_BITS != 0);
}

/* Load and store eight or four bytes at any address as a big-endian number. */
static inline uint64_t bloom_load64_big(const uint8_t *bytes) {
    return bloom_swap64(bloom_load64(bytes));
}

static inline void bloom_store64_big(uint8_t *bytes, uint64_t value) {
    bloom_store64(bytes, bloom_swap64(value));
}

static inline uint32_t bloom_load32_big(const uint8_t *bytes) {
    return (uint32_t)(bloom_swap64(bloom_load32(bytes)) >> 32);
}

static inline void bloom_store32_big(uint8_t *bytes, uint32_t value) {
    bloom_store32(bytes, (uint32_t)(bloom_swap64(value) >> 32));
}

#endif

/* What a filter looks like (its shape) and the interface that every layout of the bits implements.
 *
 * A layout is one file, layout_NAME.c, and one row of the table in layout.c. Its number is stored
 * in filters: what a number stands for is never changed, only joined by further numbers.
 */
#ifndef BLOOM_LAYOUT_H
#define BLOOM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for what went wrong, in words: a sentence without subject and full stop. */
#define BLOOM_PROBLEM_SIZE 320

struct bloom_layout;

/* The parameters of a filter: everything that its header holds. */
struct bloom_shape {
    const struct bloom_layout *layout;
    uint32_t hashes;   /* probes per key, k; at least 1 */
    uint64_t bits;     /* bits of the payload, m; at least 1, at most BLOOM_BITS_MAXIMUM */
    uint64_t capacity; /* keys it was made for, n; 0 when made from m and k */
    double rate;       /* false-positive rate it was made for, p; 0 when made from m and k */
};

/* Every n and m below these keeps all 64-bit arithmetic of this library from overflowing. */
#define BLOOM_CAPACITY_MAXIMUM (UINT64_C(1) << 40)
#define BLOOM_BITS_MAXIMUM (UINT64_C(1) << 52)

/* What the bits of a filter tell about it. */
struct bloom_estimate {
    uint64_t ones; /* bits that are set */
    double count;  /* estimated number of distinct keys; infinite when every bit is set */
    double rate;   /* false-positive rate to expect now */
};

struct bloom_layout {
    const char *name;
    uint8_t number;          /* as stored in the header */
    unsigned hash_words;     /* 64-bit words of a key's hash that decide everything: 1 or 2 */
    uint32_t hashes_maximum; /* k is 1 to this */
    uint32_t bits_multiple;  /* m is a multiple of this */
    bool imported_only;      /* no filter is made in it, only read from another system's */

    /* Sets hashes and bits from capacity and rate, which are in range (see bloom_shape_for).
     * Returns false and says why in problem when this layout cannot keep the rate. The same answer
     * on every machine. */
    bool (*size)(struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]);

    /* In the following, payload has shape->bits bits, needs no alignment, and values holds
     * hash_words words for each key, the first words of its hash. */

    /* Adds count keys. */
    void (*add)(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *values,
                size_t count);

    /* Whether one key is probably in. */
    bool (*check)(const struct bloom_shape *shape, const uint8_t *payload, const uint64_t *value);

    /* Sets found[i] to 1 when key i is probably in, else to 0, for count keys. */
    void (*check_many)(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *values, size_t count, uint8_t *found);

    struct bloom_estimate (*estimate)(const struct bloom_shape *shape, const uint8_t *payload);
};

extern const struct bloom_layout bloom_layout_blocked;
extern const struct bloom_layout bloom_layout_classic;
extern const struct bloom_layout bloom_layout_classic32;

/* The layout of that number or name (length bytes, any case); NULL when there is none. */
const struct bloom_layout *bloom_layout_by_number(unsigned number);
const struct bloom_layout *bloom_layout_by_name(const char *name, size_t length);

/* The layout of a filter for which none is asked: the first of the table. */
const struct bloom_layout *bloom_layout_default(void);

/* Writes the names of all layouts that filters are made in into text of size bytes (at least 1), as in:
 * 'blocked', 'classic'. */
void bloom_layout_list(char *text, size_t size);

/* The shape of a filter for capacity keys at false-positive rate rate in a layout; capacity 0 is
 * sized as 1. Returns false and says why in problem when capacity is above BLOOM_CAPACITY_MAXIMUM,
 * when rate is not strictly between 0 and 1, or when the layout cannot keep it. */
bool bloom_shape_for(struct bloom_shape *shape, const struct bloom_layout *layout,
                     uint64_t capacity, double rate, char problem[BLOOM_PROBLEM_SIZE]);

/* Bytes of the payload alone. */
static inline uint64_t bloom_payload_bytes(const struct bloom_shape *shape) {
    return (shape->bits + 7) / 8;
}

/* Whether two shapes are equal, so that their payloads may be merged; otherwise problem says in
 * what they differ. */
bool bloom_shape_same(const struct bloom_shape *a, const struct bloom_shape *b,
                      char problem[BLOOM_PROBLEM_SIZE]);

#endif

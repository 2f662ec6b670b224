/* The shape of a filter, and the interface of a layout of its bits.
 *
 * A layout is one file and one row of the table in layout.c. Filters store the number of the layout
 * and of its hashing. The meaning of a number never changes; new layouts get new numbers. */
#ifndef BLOOM_FILTER_LAYOUT_H
#define BLOOM_FILTER_LAYOUT_H

#include "base/text.h"
#include "filter/key_rule.h"
#include "hash/hashing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bloom_key_set;
struct bloom_layout;
struct bloom_shape;

/* Returns 1 when the key is probably in, or else 0. The key is decided by this one word, which is
 * passed in a register. The result is an int, so that a caller with the same type can jump here. */
typedef int bloom_word_check(const struct bloom_shape *shape, const uint8_t *payload,
                             uint64_t word);

/* How values become the words of keys, as far as a user chooses it. Zeros: each value is its own
 * key, and the layout's hashing hashes it. */
struct bloom_keying {
    const struct bloom_key_rule *rule; /* NULL: none */
    bool salted;                       /* hashed by siphash under salt; else salt is zeros */
    uint64_t salt[2];                  /* its 16 bytes as two little-endian numbers */
};

/* The parameters of a filter: everything that its header holds. */
struct bloom_shape {
    const struct bloom_layout *layout;
    uint32_t probes;   /* per key, k; at least 1 */
    uint64_t bits;     /* of the payload, m; at least 1, at most BLOOM_BITS_MAXIMUM */
    uint64_t capacity; /* keys it was made for, n; 0 when made from m and k */
    double rate;       /* false-positive rate it was made for, p; 0 when made from m and k */
    uint64_t extra[2]; /* header bytes 40 to 55: the layout's own */
    struct bloom_keying keying; /* zeros, unless the layout offers more */
};

/* The default of p, and that with a key rule, by which a check asks several keys. */
#define BLOOM_RATE_DEFAULT 0.01
#define BLOOM_RATE_DEFAULT_RULED 0.0001

/* With n and m up to these, no 64-bit arithmetic of this library overflows. */
#define BLOOM_CAPACITY_MAXIMUM (UINT64_C(1) << 40)
#define BLOOM_BITS_MAXIMUM (UINT64_C(1) << 52)

/* What the bits of a filter show. */
struct bloom_estimate {
    uint64_t ones; /* bits that are set; of counters: counters that are not zero */
    double count;  /* estimated number of distinct keys; infinite when every bit is set */
    double rate;   /* false-positive rate to expect now */
    double fill;   /* share of the bits, or counters, that are set; negative if it means nothing */
};

/* The most copies of a key that make a difference: then all its counters are full. */
#define BLOOM_REPEATS_MAXIMUM 15

/* BLOOM_BUILD_NO_SEED: no filter can be made of these keys, because they were chosen against it.
 * BLOOM_BUILD_REFUSED: the layout has no such filter, or no room for a key, and problem is set.
 * BLOOM_BUILD_TOO_LONG: the filter would exceed the limit of the builder. */
enum bloom_built {
    BLOOM_BUILT,
    BLOOM_BUILD_NO_MEMORY,
    BLOOM_BUILD_INTERRUPTED,
    BLOOM_BUILD_NO_SEED,
    BLOOM_BUILD_REFUSED,
    BLOOM_BUILD_TOO_LONG
};

/* The number of blocks by their number of ones, which is all that an estimate needs. Begins as
 * zeros. Blocks that are not stored count as empty. */
enum { BLOOM_BLOCK_ONES_MAXIMUM = 512 };
struct bloom_tally {
    uint64_t blocks_with[BLOOM_BLOCK_ONES_MAXIMUM + 1];
};

/* For layouts that keep each key within one block of 512 places, so that a filter table can store
 * each stretch of blocks in a database page. words are the words of a key's hash. block points to
 * the block of the key (bloom_block_of); it needs no alignment. */
enum { BLOOM_BLOCK_BYTES_MAXIMUM = 256 };
struct bloom_blocks {
    uint32_t bytes; /* of a block; a power of two from 64 to BLOOM_BLOCK_BYTES_MAXIMUM */

    /* Returns true when a key is probably in. */
    bool (*check)(const struct bloom_shape *shape, const uint8_t *block, const uint64_t *words);

    /* Adds a key. Returns the number of bits that were zero before. */
    unsigned (*add)(const struct bloom_shape *shape, uint8_t *block, const uint64_t *words);

    /* Removes a key that is probably in, once. Returns the number of ones that became zero. NULL:
     * keys cannot be removed. Where it is supported, one word decides about a key. */
    unsigned (*remove)(const struct bloom_shape *shape, uint8_t *block, const uint64_t *words);

    /* Counts `count` blocks that are stored one after the other. */
    void (*tally)(struct bloom_tally *tally, const uint8_t *blocks, uint64_t count);
};

typedef void bloom_payload_merge(uint8_t *into, const uint8_t *a, const uint8_t *b, size_t bytes);

/* A layout. A function that is NULL is not supported; the caller reports that, with the advice.
 * payload has shape->bits bits and needs no alignment. words has hash_words words for each key. */
struct bloom_layout {
    const char *name;
    const struct bloom_hashing *hashing;
    uint8_t number;      /* as stored in the header; layout and hashing together name this struct */
    unsigned hash_words; /* the number of words that decide about a key: its first ones */
    uint32_t probes_maximum; /* k is 1 to this */
    uint32_t bits_multiple;  /* m is a multiple of this */
    double rate_minimum;     /* of filters that are sized; 0: size judges p */
    uint64_t extra_used[2];  /* the bits of extra that mean something; the others are zero */
    bool keying;             /* key rules and salts may be chosen */
    bool exact; /* a set of whole numbers without false positives: p is 0, sets of all sizes merge,
                   * and one that is built grows up to its largest number */
    bool repeats; /* a key counts as often as it is added, up to BLOOM_REPEATS_MAXIMUM times; one
                   * word decides about it */
    const char *advice; /* what to do instead of what is not supported, as a sentence */

    /* Sets probes, bits and extra for the capacity and rate of a shape, which are in range. Returns
     * false when the layout cannot keep the rate, or has no such filter. Every machine computes the
     * same sizes. NULL: such filters are only imported, and bloom_option_layout refuses the layout,
     * with the advice. Call it through bloom_shape_size. */
    bool (*size)(struct bloom_shape *shape, bloom_problem problem);

    /* Judges a header whose probes, bits, n and p are each in range: its extra, and what depends on
     * several of these. NULL: all such headers are possible. */
    bool (*valid)(const struct bloom_shape *shape);

    /* Returns true when a key is probably in. */
    bool (*check)(const struct bloom_shape *shape, const uint8_t *payload, const uint64_t *words);

    /* Sets found[i] to 1 when key i is probably in, else to 0, for count keys. NULL: a loop over
     * check. Call it through bloom_check_many. */
    void (*check_many)(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *words, size_t count, uint8_t *found);

    /* Adds count keys, all of which the shape has room for (bloom_shape_has_room). NULL: a filter
     * is made of a finished set. */
    void (*add)(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                size_t count);

    /* Fills a payload of zeros from a settled set, for which the shape was sized; may set extra.
     * NULL: add is called for every key. */
    enum bloom_built (*build)(struct bloom_shape *shape, uint8_t *payload,
                              const struct bloom_key_set *keys);

    /* Merge bytes of two payloads, or of complete blocks, of equal shape. into may be a. */
    bloom_payload_merge *unite, *intersect;

    /* Turns a payload of `bytes` bytes into the payload of a filter of the same keys with half the
     * bits, in the first half of the bytes. So two filters merge when one has 2, 4, 8, ... times
     * the bits of the other. */
    void (*halve)(uint8_t *payload, uint64_t bytes);

    struct bloom_estimate (*estimate)(const struct bloom_shape *shape, const uint8_t *payload);

    const struct bloom_blocks *blocks; /* NULL: not for filter tables */
};

/* Returns all layouts, up to NULL. The table is in foreign/layouts.c. */
const struct bloom_layout *const *bloom_layouts(void);

extern const struct bloom_layout bloom_layout_blocked;
extern const struct bloom_layout bloom_layout_classic;
extern const struct bloom_layout bloom_layout_classic32;
extern const struct bloom_layout bloom_layout_counting;
extern const struct bloom_layout bloom_layout_fuse;
extern const struct bloom_layout bloom_layout_bitmap;
extern const struct bloom_layout bloom_layout_classic_utf16;

/* Find a layout by the numbers of layout and hashing, or by its name (length bytes, any case). The
 * hashing is the layout's own, or siphash where salts may be chosen. Return NULL if there is no
 * such layout. */
const struct bloom_layout *bloom_layout_by_numbers(unsigned layout, unsigned hashing);
const struct bloom_layout *bloom_layout_by_name(const char *name, size_t length);

/* Returns the layout for a user who names none: the first of the table. */
const struct bloom_layout *bloom_layout_default(void);

/* Writes the names of all layouts that users choose from, as in: 'blocked', 'classic'; or only of
 * those that have key rules and salts. size is at least 1. */
void bloom_layout_list(char *text, size_t size, bool keying);

/* Sizes a filter for capacity keys; capacity 0 is sized as 1. layout, keying and rate of the shape
 * are given. The layout has a member size, and the rate plays no part where it is exact. Returns
 * false when capacity is above BLOOM_CAPACITY_MAXIMUM, when the rate is not strictly between 0 and
 * 1, or when the layout cannot keep it. */
bool bloom_shape_size(struct bloom_shape *shape, uint64_t capacity, bloom_problem problem);

/* Returns false when the key with these words is too large a number for the filter; problem
 * completes "the key ...". Only exact layouts refuse keys. A shape without bits has room for every
 * key. */
static inline bool bloom_shape_has_room(const struct bloom_shape *shape, const uint64_t *words,
                                        bloom_problem problem) {
    return !shape->layout->exact || shape->bits == 0 || words[0] < shape->bits ||
           bloom_fail(problem,
                      "is %" PRIu64 ", but the filter has room for 0 to %" PRIu64
                      ". Make it larger, or leave n out of bloom_agg",
                      words[0], shape->bits - 1);
}

/* Sets found[i] to 1 when key i is probably in, else to 0, for count keys. words has hash_words
 * words for each. */
void bloom_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                      const uint64_t *words, size_t count, uint8_t *found);

/* Return the hashing of a filter's keys, and the seed to call it with. */
static inline const struct bloom_hashing *bloom_shape_hashing(const struct bloom_shape *shape) {
    return shape->keying.salted ? &bloom_hashing_siphash : shape->layout->hashing;
}

static inline const uint64_t *bloom_shape_seed(const struct bloom_shape *shape) {
    return shape->keying.salted ? shape->keying.salt : shape->extra;
}

/* Return the number of blocks of a filter, and the number of the block of a key. */
static inline uint64_t bloom_block_count(const struct bloom_shape *shape) {
    return shape->bits / 8 / shape->layout->blocks->bytes;
}

uint64_t bloom_block_of(const struct bloom_shape *shape, const uint64_t *words);

/* Estimate from the payload, and from the tally of its blocks, what is in a filter whose layout has
 * blocks. */
struct bloom_estimate bloom_estimate_blocks(const struct bloom_shape *shape,
                                            const uint8_t *payload);
struct bloom_estimate bloom_estimate_tally(const struct bloom_shape *shape,
                                           const struct bloom_tally *tally);

/* Returns the average number of ones of such a filter for this many distinct keys. */
double bloom_expected_ones(const struct bloom_shape *shape, double keys);

/* Returns false for a k that was forged to cost time: no system that makes many hashes makes more
 * of them than bits. */
static inline bool bloom_shape_probes_fit(const struct bloom_shape *shape) {
    return shape->probes <= 255 || shape->probes <= shape->bits;
}

/* Returns the length of the payload. */
static inline uint64_t bloom_payload_bytes(const struct bloom_shape *shape) {
    return (shape->bits + 7) / 8;
}

/* Returns true when two shapes are equal, so that their payloads can be merged. Otherwise problem
 * lists the differences, but never a salt. */
bool bloom_shape_same(const struct bloom_shape *a, const struct bloom_shape *b,
                      bloom_problem problem);

/* Returns true when filters of two shapes can be merged: the shapes are equal, or both are exact
 * sets, or they differ only in bits and the larger filter can be halved to the smaller one. */
bool bloom_shape_merges(const struct bloom_shape *a, const struct bloom_shape *b,
                        bloom_problem problem);

/* What only filters of layout counting can do. */

/* Returns how often a key was added, 0 to BLOOM_REPEATS_MAXIMUM: sometimes more, never less. */
unsigned bloom_counting_times(const struct bloom_shape *shape, const uint8_t *payload,
                              const uint64_t *words);

/* Removes a key once. A key that is certainly not in changes nothing. */
void bloom_counting_remove(const struct bloom_shape *shape, uint8_t *payload,
                           const uint64_t *words);

/* Returns the shape of the filter of layout blocked that has the same keys. */
struct bloom_shape bloom_counting_as_blocked(const struct bloom_shape *shape);

/* Writes the payload of that filter: bit by bit what blocked makes of the same keys. */
void bloom_counting_convert(const struct bloom_shape *shape, const uint8_t *payload,
                            uint8_t *blocked);

/* Lists keys of a filter of layout bitmap: the smallest ones from first to last, ascending, or the
 * largest ones, descending. Writes at most `room` keys and returns their number. first <= last <
 * shape->bits. */
size_t bloom_bitmap_list(const struct bloom_shape *shape, const uint8_t *payload, uint64_t first,
                         uint64_t last, bool descending, uint64_t *keys, size_t room);

#endif

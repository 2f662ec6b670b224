/* Layout `bitmap`: an exact set of whole numbers, one bit for each number from 0 to m - 1.
 *
 * Bit b of the payload is number b. Where keys are dense (row numbers, document numbers) this is
 * the smallest form there is, and sorts, removes duplicates and intersects at the speed of memory:
 * Bentley, "Programming Pearls", column 1, 1986. Filters of any two sizes merge: the shorter one
 * counts as if zeros followed it. n equals m. */
#include "filter/layout.h"

#include "base/bitset.h"

enum { BITMAP_NUMBER = 6, WORD_NUMBERS = 64 };

static bool bitmap_size(struct bloom_shape *shape, bloom_problem problem) {
    (void)problem;
    /* A payload has at least one bit. */
    if (shape->capacity == 0)
        shape->capacity = 1;
    shape->probes = 1;
    shape->bits = shape->capacity;
    return true;
}

static bool bitmap_valid(const struct bloom_shape *shape) {
    return shape->capacity == shape->bits && shape->rate == 0;
}

static bool bitmap_check(const struct bloom_shape *shape, const uint8_t *payload,
                         const uint64_t *words) {
    return words[0] < shape->bits && (payload[words[0] >> 3] >> (words[0] & 7) & 1) != 0;
}

static void bitmap_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                              const uint64_t *words, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = bitmap_check(shape, payload, words + i);
}

static void bitmap_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                       size_t count) {
    (void)shape;
    for (size_t i = 0; i < count; i++)
        payload[words[i] >> 3] |= (uint8_t)(1u << (words[i] & 7));
}

static struct bloom_estimate bitmap_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload) {
    struct bloom_estimate estimate = {0};
    estimate.ones = bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(shape));
    estimate.count = (double)estimate.ones;
    estimate.fill = (double)estimate.ones / (double)shape->bits;
    return estimate;
}

/* Word number `word` of the payload, with only the bits of the numbers from first to last. */
static uint64_t bitmap_word(const struct bloom_shape *shape, const uint8_t *payload, uint64_t word,
                            uint64_t first, uint64_t last) {
    uint64_t bytes = bloom_payload_bytes(shape), bits = 0;
    if (bytes - 8 * word >= 8)
        bits = bloom_load64(payload + 8 * word);
    else
        for (uint64_t i = 8 * word; i < bytes; i++)
            bits |= (uint64_t)payload[i] << 8 * (i & 7);
    if (word == first / WORD_NUMBERS)
        bits &= UINT64_MAX << first % WORD_NUMBERS;
    if (word == last / WORD_NUMBERS)
        bits &= UINT64_MAX >> (WORD_NUMBERS - 1 - last % WORD_NUMBERS);
    return bits;
}

size_t bloom_bitmap_list(const struct bloom_shape *shape, const uint8_t *payload, uint64_t first,
                         uint64_t last, bool descending, uint64_t *keys, size_t room) {
    const uint64_t lowest = first / WORD_NUMBERS, words = last / WORD_NUMBERS - lowest + 1;
    size_t listed = 0;
    for (uint64_t i = 0; i < words; i++) {
        const uint64_t word = lowest + (descending ? words - 1 - i : i);
        for (uint64_t bits = bitmap_word(shape, payload, word, first, last); bits != 0;) {
            if (listed == room)
                return listed;
            unsigned bit = descending ? bloom_log2_floor(bits) : bloom_lowest_one64(bits);
            keys[listed++] = word * WORD_NUMBERS + bit;
            bits ^= UINT64_C(1) << bit;
        }
    }
    return listed;
}

const struct bloom_layout bloom_layout_bitmap = {
    .name = "bitmap",
    .hashing = &bloom_hashing_integer,
    .number = BITMAP_NUMBER,
    .exact = true,
    .hash_words = 1,
    .probes_maximum = 1,
    .bits_multiple = 1,
    .size = bitmap_size,
    .valid = bitmap_valid,
    .check = bitmap_check,
    .check_many = bitmap_check_many,
    .add = bitmap_add,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bitmap_estimate,
};

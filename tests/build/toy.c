/* The smallest layout and hashing that work, which sources_test.py adds to a copy of the sources: a
 * hashing to the length of a text, and a layout of one bit a key, h[0] mod m. They are not shipped,
 * and so their numbers are private. */
#include "base/bitset.h"
#include "filter/layout.h"

static void toy_text(const uint64_t seed[2], const void *text, size_t length, uint64_t *words) {
    (void)seed;
    (void)text;
    words[0] = length;
}

static const struct bloom_hashing bloom_hashing_toy = {
    .keys = "text", .number = 200, .text_only = true, .bytes = toy_text};

static bool toy_size(struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]) {
    (void)problem;
    shape->probes = 1;
    shape->bits = 64;
    shape->extra[0] = 5;
    return true;
}

static bool toy_valid(const struct bloom_shape *shape) {
    return shape->extra[0] == 5;
}

static bool toy_check(const struct bloom_shape *shape, const uint8_t *payload,
                      const uint64_t *words) {
    return (payload[words[0] % shape->bits / 8] >> words[0] % 8 & 1) != 0;
}

static void toy_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                    size_t count) {
    for (size_t i = 0; i < count; i++)
        payload[words[i] % shape->bits / 8] |= (uint8_t)(1u << words[i] % 8);
}

static struct bloom_estimate toy_estimate(const struct bloom_shape *shape, const uint8_t *payload) {
    const uint64_t ones = bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(shape));
    return (struct bloom_estimate){.rate = 1, .ones = ones, .count = (double)ones};
}

extern const struct bloom_layout bloom_layout_toy;
const struct bloom_layout bloom_layout_toy = {.name = "toy",
                                              .hashing = &bloom_hashing_toy,
                                              .number = 200,
                                              .hash_words = 1,
                                              .probes_maximum = 1,
                                              .bits_multiple = 64,
                                              .extra_used = {7},
                                              .advice = "Make another toy",
                                              .size = toy_size,
                                              .valid = toy_valid,
                                              .check = toy_check,
                                              .add = toy_add,
                                              .estimate = toy_estimate};

/* Merging and counting touch every byte they are given, and no other. */
#include "library_test.h"

#include "base/bitset.h"

enum { LENGTH_MOST = 200, OFFSETS = 9 };

static uint8_t either(uint8_t a, uint8_t b) {
    return a | b;
}

static uint8_t both(uint8_t a, uint8_t b) {
    return a & b;
}

static void assert_merges(void (*merge)(uint8_t *, const uint8_t *, size_t),
                          uint8_t (*expected)(uint8_t, uint8_t)) {
    uint64_t random = 1;
    for (size_t i = 0; i < (LENGTH_MOST + 1) * OFFSETS; i++) {
        const size_t length = i / OFFSETS, offset = i % OFFSETS;
        uint8_t *into = allocate_exactly(offset + length), *from = allocate_exactly(length);
        random_fill(&random, into, offset + length);
        random_fill(&random, from, length);
        uint8_t *wanted = copy_exactly(into, offset + length), *same = copy_exactly(from, length);
        for (size_t byte = 0; byte < length; byte++)
            wanted[offset + byte] = expected(wanted[offset + byte], from[byte]);
        merge(into + offset, from, length);
        assert_memory_equal(into, wanted, offset + length);
        assert_memory_equal(from, same, length);
        free(into);
        free(from);
        free(wanted);
        free(same);
    }
}

static void union_is_or(void) {
    assert_merges(bloom_bitset_union, either);
}

static void intersection_is_and(void) {
    assert_merges(bloom_bitset_intersect, both);
}

static void ones_are_counted(void) {
    uint64_t random = 2;
    for (size_t i = 0; i < (LENGTH_MOST + 1) * OFFSETS; i++) {
        const size_t length = i / OFFSETS, offset = i % OFFSETS;
        uint8_t *set = allocate_exactly(offset + length);
        uint64_t expected = 0;
        random_fill(&random, set, offset + length);
        for (size_t bit = 0; bit < 8 * length; bit++)
            expected += set[offset + bit / 8] >> bit % 8 & 1;
        assert_same(bloom_bitset_ones(set + offset, length), expected, "ones");
        memset(set, 0xff, offset + length);
        assert_same(bloom_bitset_ones(set + offset, length), 8 * length, "ones of a full set");
        free(set);
    }
}

RUN_GROUP("bitset", TEST("A union is the bitwise OR and leaves its source alone", union_is_or),
          TEST("An intersection is the bitwise AND and leaves its source alone",
               intersection_is_and),
          TEST("The ones of random sets of any length and address are counted", ones_are_counted))

/* What portable.h does where the compiler offers no help (no 128-bit integers, no byte swap, no bit
 * counting) is what it does where it does. The other tests run the helped versions; this program
 * undoes the help. */
#include "library_test.h"

#ifdef __SIZEOF_INT128__
#define REFERENCE 1
__extension__ typedef unsigned __int128 reference_product;
#endif

#undef __GNUC__
#undef __SIZEOF_INT128__
#undef __POPCNT__
#include "base/portable.h"

static const uint64_t EDGES[] = {0,
                                 1,
                                 2,
                                 UINT32_MAX >> 1,
                                 UINT64_C(1) << 31,
                                 UINT32_MAX,
                                 UINT64_C(1) << 32,
                                 UINT64_MAX >> 1,
                                 UINT64_C(1) << 63,
                                 UINT64_C(0xffffffff00000001),
                                 UINT64_MAX};

static uint64_t edge_or_random(uint64_t *random) {
    uint64_t choice = random_below(random, 2 * COUNT_OF(EDGES));
    return choice < COUNT_OF(EDGES) ? EDGES[choice]
                                    : random_next(random) >> random_below(random, 64);
}

static void assert_product(uint64_t a, uint64_t b, uint64_t high, uint64_t low) {
    uint64_t found_low;
    assert_same(bloom_multiply_wide(a, b, &found_low), high, "high half");
    assert_same(found_low, low, "low half");
    assert_same(bloom_reduce(a, b), high, "reduced");
}

static void known_products(void) {
    assert_product(0, UINT64_MAX, 0, 0);
    assert_product(UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1);
    assert_product(UINT64_MAX, 2, 1, UINT64_MAX - 1);
    assert_product(UINT64_C(1) << 63, UINT64_C(1) << 63, UINT64_C(1) << 62, 0);
    assert_product(0x123456789abcdef0, 0xfedcba9876543210, 0x121fa00ad77d7422, 0x236d88fe5618cf00);
    assert_product(0xffffffff00000001, 0xffffffff00000001, 0xfffffffe00000002, 0xfffffffe00000001);
}

static void random_products(void) {
#ifdef REFERENCE
    uint64_t random = 1;
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t a = edge_or_random(&random), b = edge_or_random(&random);
        reference_product product = (reference_product)a * b;
        assert_product(a, b, (uint64_t)(product >> 64), (uint64_t)product);
    }
#else
    skip();
#endif
}

static void bytes_and_bits(void) {
    uint64_t random = 2;
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t value = edge_or_random(&random), swapped = 0;
        unsigned ones = 0;
        for (unsigned byte = 0; byte < 8; byte++)
            swapped = swapped << 8 | (value >> 8 * byte & 0xff);
        for (unsigned bit = 0; bit < 64; bit++)
            ones += (unsigned)(value >> bit & 1);
        assert_same(bloom_swap64(value), swapped, "swapped");
        assert_int_equal(bloom_popcount64(value), ones);
    }
}

static void logarithm(void) {
    for (unsigned log = 0; log < 64; log++) {
        assert_int_equal(bloom_log2_floor(UINT64_C(1) << log), log);
        assert_int_equal(bloom_log2_floor((UINT64_C(2) << log) - 1), log);
    }
}

static void memory_is_little_endian(void) {
    for (size_t offset = 0; offset < 8; offset++) {
        uint8_t *bytes = allocate_exactly(offset + 8);
        bloom_store64(bytes + offset, 0x8877665544332211);
        assert_memory_equal(bytes + offset, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
        assert_same(bloom_load64(bytes + offset), 0x8877665544332211, "loaded");
        bloom_store32(bytes + offset, 0xf4f3f2f1);
        assert_memory_equal(bytes + offset, "\xf1\xf2\xf3\xf4", 4);
        assert_same(bloom_load32(bytes + offset), 0xf4f3f2f1, "loaded");
        free(bytes);
    }
}

RUN_GROUP("portable", TEST("The 128-bit product of known numbers is right", known_products),
          TEST("The 128-bit product of random numbers is the compiler's", random_products),
          TEST("Bytes are swapped, bits are counted", bytes_and_bits),
          TEST("The logarithm steps up at each power of two", logarithm),
          TEST("Words in memory are little-endian at any address", memory_is_little_endian))

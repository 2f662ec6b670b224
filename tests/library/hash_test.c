/* The hash is MurmurHash3 x64 128 to the last bit, for every length and alignment, and numbers
 * become keys by the rules of hash.h: if any of this changed, stored filters would answer falsely.
 *
 * Everything is held against libmurmurhash, an implementation by somebody else, after that one has
 * been held against the value published with the algorithm. */
#include "library_test.h"

#include "filter/hash.h"

#include <math.h>
#include <murmurhash.h>

enum { LENGTH_MOST = 300, ALIGNMENTS = 16, CONTENTS = 4 };

static struct bloom_hash independent(const void *key, size_t length) {
    struct bloom_hash hash;
    lmmh_x64_128(key, (unsigned)length, 0, hash.words);
    return hash;
}

static void assert_hash(struct bloom_hash found, struct bloom_hash expected) {
    assert_same(found.words[0], expected.words[0], "first word");
    assert_same(found.words[1], expected.words[1], "second word");
}

/* The procedure of SMHasher: hash the keys {}, {0}, {0, 1}, ... with the seeds 256, 255, ..., then
 * all the hashes with seed 0, and look at the first four bytes. */
static void verification_value(void **state) {
    (void)state;
    uint8_t key[256];
    uint8_t hashes[256][16];
    uint64_t last[2];
    for (unsigned i = 0; i < 256; i++) {
        uint64_t words[2];
        key[i] = (uint8_t)i;
        lmmh_x64_128(key, i, 256 - i, words);
        for (unsigned byte = 0; byte < 16; byte++)
            hashes[i][byte] = (uint8_t)(words[byte / 8] >> 8 * (byte % 8));
    }
    lmmh_x64_128(hashes, sizeof hashes, 0, last);
    assert_int_equal((uint32_t)last[0], 0x6384BA69);
}

static void every_length_and_alignment(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t length = 0; length <= LENGTH_MOST; length++)
        for (size_t alignment = 0; alignment < ALIGNMENTS; alignment++)
            for (unsigned content = 0; content < CONTENTS; content++) {
                uint8_t *memory = allocate_exactly(alignment + length);
                random_fill(&random, memory, alignment + length);
                const uint8_t *key = memory + alignment;
                assert_hash(bloom_hash_bytes(key, length), independent(key, length));
                free(memory);
            }
}

static void long_keys(void **state) {
    (void)state;
    uint64_t random = 2;
    for (size_t length = 1000000; length < 1000000 + 33; length++) {
        uint8_t *key = allocate_exactly(length);
        random_fill(&random, key, length);
        assert_hash(bloom_hash_bytes(key, length), independent(key, length));
        free(key);
    }
}

static void empty_key(void **state) {
    (void)state;
    assert_hash(bloom_hash_bytes(NULL, 0), (struct bloom_hash){{0, 0}});
    assert_hash(bloom_hash_bytes("x", 0), (struct bloom_hash){{0, 0}});
}

static void written_form(void **state) {
    (void)state;
    uint8_t *bytes = allocate_exactly(16);
    bloom_hash_write(bloom_hash_bytes("hello", 5), bytes);
    assert_bytes_are(bytes, 16, "029bbd41b3a7d8cb191dae486a901e5b");
    bloom_hash_write((struct bloom_hash){{0x0706050403020100, 0x0f0e0d0c0b0a0908}}, bytes);
    assert_bytes_are(bytes, 16, "000102030405060708090a0b0c0d0e0f");
    free(bytes);
}

/* The hash of the eight bytes of word, the least significant first. */
static struct bloom_hash hash_of_word(uint64_t word) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
    return independent(bytes, sizeof bytes);
}

static double real_of_bits(uint64_t bits) {
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static void other_reals(void **state) {
    (void)state;
    static const struct {
        double key;
        uint64_t bits;
    } known[] = {
        {0.5, 0x3fe0000000000000},
        {-0.5, 0xbfe0000000000000},
        {0.1, 0x3fb999999999999a},
        {1.5, 0x3ff8000000000000},
        {4503599627370495.5, 0x432fffffffffffff},
        {9223372036854775808.0, 0x43e0000000000000}, /* 2^63 is no 64-bit integer */
        {-9223372036854777856.0, 0xc3e0000000000001},
        {18446744073709551616.0, 0x43f0000000000000},
        {1e300, 0x7e37e43c8800759c},
        {-1e300, 0xfe37e43c8800759c},
        {1.7976931348623157e308, 0x7fefffffffffffff},
        {2.2250738585072014e-308, 0x0010000000000000}, /* the least normal one */
        {2.2250738585072009e-308, 0x000fffffffffffff}, /* the largest subnormal one */
        {4.9406564584124654e-324, 0x0000000000000001}, /* the least of all */
        {-4.9406564584124654e-324, 0x8000000000000001},
        {INFINITY, 0x7ff0000000000000},
        {-INFINITY, 0xfff0000000000000},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_hash(bloom_hash_real(known[i].key), hash_of_word(known[i].bits));
    static const uint64_t no_numbers[] = {0x7ff8000000000000, 0xfff8000000000000,
                                          0x7ff8000000000001, 0xffffffffffffffff};
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++)
        assert_hash(bloom_hash_real(real_of_bits(no_numbers[i])), hash_of_word(no_numbers[i]));
}

static void any_real(void **state) {
    (void)state;
    uint64_t random = 6;
    unsigned whole = 0, other = 0;
    for (unsigned i = 0; i < 100000; i++) {
        /* Exponents around those of 64-bit integers, so that both cases occur often. */
        uint64_t bits = random_next(&random) >> 12 |
                        (UINT64_C(1000) + random_below(&random, 100)) << 52 |
                        random_next(&random) << 63;
        bits &= ~UINT64_C(0) << random_below(&random, 53);
        double key = real_of_bits(bits);
        if (floor(key) == key && key >= -0x1p63 && key < 0x1p63) {
            whole++;
            assert_hash(bloom_hash_real(key), hash_of_word((uint64_t)(int64_t)key));
        } else {
            other++;
            assert_hash(bloom_hash_real(key), hash_of_word(bits));
        }
    }
    assert_true(whole > 10000 && other > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("The independent implementation has the published verification value",
             verification_value),
        TEST("Every length from 0 to 300 at every alignment hashes as published",
             every_length_and_alignment),
        TEST("Long keys hash as published", long_keys),
        TEST("The empty key hashes to zeros and may be a null pointer", empty_key),
        TEST("A hash is written as its two words, each little-endian", written_form),
        TEST("Any other real is hashed as its IEEE 754 bytes", other_reals),
        TEST("A hundred thousand random reals follow the same two rules", any_real),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}

/* Layouts `spark1` and `spark2`: k bits anywhere in the filter, where Spark's BloomFilterImpl
 * (every release since 2.0) and BloomFilterImplV2 (since 4.1) put them.
 *
 * With h1 and h2 the two 32-bit hashes of a key, and ~ the complement of every bit:
 *
 *   spark1   for i = 1 to k: c = h1 + i * h2 (32 bits, signed); bit (c < 0 ? ~c : c) mod m
 *   spark2   c = h1 (signed) * (2^31 - 1); k times: c += h2 (signed; 64 bits),
 *            bit (c < 0 ? ~c : c) mod m
 *
 * Bit b of the filter is bit b & 7 of byte b >> 3 of the payload. m is a multiple of 64. spark2 has
 * a seed of 32 bits, the low half of the first extra word of the header; the rest is zero.
 *
 * c of spark1 has 31 bits: beyond 2^31 (256 MiB) a filter has bits that no key ever sets.
 *
 * org.apache.spark.util.sketch.BloomFilterImpl and BloomFilterImplV2 for the rules.
 */
#include "filter/layouts/classic_size.h"

#include "base/bitset.h"
#include "filter/layouts/classic.h"


enum { SPARK1_NUMBER = 7, SPARK2_NUMBER = 8 };

static bool spark_valid_bits(const struct bloom_shape *shape, bloom_problem problem) {
    if (shape->bits <= BLOOM_FOREIGN_JAVA_BITS)
        return true;
    return bloom_fail(problem,
                      "is invalid: layout %s has at most 2^31 - 1 words" BLOOM_MADE_WRONGLY,
                      shape->layout->name);
}

static bool spark1_valid(const struct bloom_shape *shape, bloom_problem problem) {
    if ((shape->extra[0] | shape->extra[1]) == 0)
        return spark_valid_bits(shape, problem);
    return bloom_fail(problem, "is invalid: layout spark1 has no seed" BLOOM_MADE_WRONGLY);
}

static bool spark2_valid(const struct bloom_shape *shape, bloom_problem problem) {
    if (shape->extra[0] <= UINT32_MAX && shape->extra[1] == 0)
        return spark_valid_bits(shape, problem);
    return bloom_fail(problem,
                      "is invalid: layout spark2 has a seed of 32 bits" BLOOM_MADE_WRONGLY);
}

/* The low 32 bits as a signed number, in two's complement of 64 bits. */
static inline uint64_t spark_widened(uint64_t word) {
    return ((word & UINT32_MAX) ^ UINT64_C(0x80000000)) - UINT64_C(0x80000000);
}

static inline uint64_t spark2_bit(uint64_t combined, uint64_t bits) {
    return (combined > INT64_MAX ? ~combined : combined) % bits;
}

static void spark2_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t combined = spark_widened(words[i]) * INT32_MAX;
        uint64_t step = spark_widened(words[i] >> 32);
        for (uint32_t turn = 0; turn < shape->probes; turn++)
            bloom_classic_set(payload, spark2_bit(combined += step, shape->bits));
    }
}

static bool spark2_check(const struct bloom_shape *shape, const uint8_t *payload,
                         const uint64_t *words) {
    uint64_t combined = spark_widened(words[0]) * INT32_MAX;
    uint64_t step = spark_widened(words[0] >> 32);
    for (uint32_t turn = 0; turn < shape->probes; turn++)
        if (!bloom_classic_is_set(payload, spark2_bit(combined += step, shape->bits)))
            return false;
    return true;
}

static void spark2_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                              const uint64_t *words, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = spark2_check(shape, payload, words + i);
}

const struct bloom_layout bloom_layout_spark1 = {
    .name = "spark1",
    .hashing = &bloom_hashing_spark,
    .number = SPARK1_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS,
    .size = bloom_foreign_size_as_guava,
    .valid = spark1_valid,
    .add = bloom_classic32_add,
    .check = bloom_classic32_check,
    .check_many = bloom_classic32_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};

const struct bloom_layout bloom_layout_spark2 = {
    .name = "spark2",
    .hashing = &bloom_hashing_spark,
    .number = SPARK2_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS,
    .size = bloom_foreign_size_as_guava,
    .valid = spark2_valid,
    .add = spark2_add,
    .check = spark2_check,
    .check_many = spark2_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};

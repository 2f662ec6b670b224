/* Layouts `spark1` and `spark2`: k bits anywhere in the filter, where Spark's BloomFilterImpl
 * (every release since 2.0) and BloomFilterImplV2 (since 4.1) put them.
 *
 * With h1 and h2 the two 32-bit hashes of a key, and ~ the complement of every bit:
 *
 *   spark1   for i = 1 to k: c = h1 + i * h2 (32 bits, signed); bit (c < 0 ? ~c : c) mod m
 *   spark2   c = h1 (signed) * (2^31 - 1); k times: c += h2 (signed; 64 bits),
 *            bit (c < 0 ? ~c : c) mod m
 *
 * m is a multiple of 64. spark2 has a seed of 32 bits, the low half of the first extra word of the
 * header; the rest is zero.
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

static inline struct bloom_walk spark2_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = spark_widened(words[0]) * INT32_MAX,
                               .step = spark_widened(words[0] >> 32)};
}

static inline uint64_t spark2_step(struct bloom_walk *walk) {
    walk->at += walk->step;
    return walk->at > INT64_MAX ? ~walk->at : walk->at;
}

BLOOM_WALK_MEMBERS(spark1, 1, bloom_walk32_begin, bloom_walk32_step);
BLOOM_WALK_MEMBERS(spark2, 1, spark2_begin, spark2_step);

const struct bloom_layout bloom_layout_spark1 = {
    .name = "spark1",
    .hashing = &bloom_hashing_spark,
    .number = SPARK1_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS,
    .size = bloom_foreign_size_as_guava,
    .valid = spark1_valid,
    .add = spark1_add,
    .check = spark1_check,
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
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};

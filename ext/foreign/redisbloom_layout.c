/* Layout `redisbloom`: k bits anywhere in the filter, where RedisBloom (module `bf`, since its
 * release 2.2) puts them.
 *
 * With a and b the two words of a key's hash, for i = 0 to k - 1: bit (a + i * b) mod m, the sum in
 * 64 bits. m is a multiple of 64.
 *
 * n and p are those of BF.RESERVE. A filter that scales (the default there) is a chain whose first
 * link has half of p; one that was reserved with NONSCALING has p itself. This layout is the first
 * link. The header's extra words keep what Redis also writes:
 *
 *   0  bits 0 to 31: growth, by how much a next link is larger; bit 32: 1 for NONSCALING; the rest
 *      is zero
 *   1  bits per key, -ln(rate of the link) / ln^2 2, as an IEEE 754 double as Redis computed it
 */
#include "foreign/redisbloom_layout.h"

#include "base/bitset.h"
#include "filter/layouts/classic.h"
#include "filter/layouts/classic_size.h"

#include <string.h>

enum { REDISBLOOM_NUMBER = 12, REDISBLOOM_GROWTH = 2 };

/* ln^2 2 and ln 2 as deps/bloom/bloom.c has them, to 15 digits. */
#define REDISBLOOM_LN2_SQUARED 0.480453013918201
#define REDISBLOOM_LN2 0.693147180559945

static struct bloom_rounded redisbloom_bits_per_key(const struct bloom_shape *shape) {
    struct bloom_rounded rate = bloom_rounded_double(bloom_redisbloom_link_rate(shape));
    return bloom_rounded_over(bloom_rounded_log(rate),
                              bloom_rounded_double(REDISBLOOM_LN2_SQUARED));
}

static uint64_t redisbloom_probes(struct bloom_rounded bits_per_key) {
    return bloom_rounded_ceiling(
        bloom_rounded_times(bloom_rounded_double(REDISBLOOM_LN2), bits_per_key));
}

/* As BF.RESERVE key p n. A link has at least 1.4 bits per key, since its rate is below 1/2, and all
 * take less than 2^52. */
static bool redisbloom_size(struct bloom_shape *shape, bloom_problem problem) {
    if (shape->rate < BLOOM_REDISBLOOM_RATE_MINIMUM) {
        char number[BLOOM_NUMBER_SIZE];
        return bloom_fail(
            problem,
            "p = %s is less than layout redisbloom can keep: 1e-300. Ask for layout blocked "
            "and a larger p",
            bloom_number_text(number, shape->rate, 6));
    }
    shape->extra[0] = REDISBLOOM_GROWTH;
    struct bloom_rounded bits_per_key = redisbloom_bits_per_key(shape);
    double value = bloom_rounded_as_double(bits_per_key);
    memcpy(&shape->extra[1], &value, sizeof value);
    shape->probes = (uint32_t)redisbloom_probes(bits_per_key);
    uint64_t bits = bloom_rounded_floor(
        bloom_rounded_times(bloom_rounded_integer(bloom_foreign_keys(shape)), bits_per_key));
    shape->bits = ((bits - 1) / BLOOM_WORD_BITS + 1) * BLOOM_WORD_BITS;
    return true;
}

bool bloom_redisbloom_is_of_redis(const struct bloom_shape *shape) {
    enum { UNITS_TOLERATED = 8 };
    if (shape->capacity == 0 || shape->rate < BLOOM_REDISBLOOM_RATE_MINIMUM)
        return false;
    double value = bloom_rounded_as_double(redisbloom_bits_per_key(shape));
    double stored;
    uint64_t expected;
    memcpy(&expected, &value, sizeof expected);
    memcpy(&stored, &shape->extra[1], sizeof stored);
    return shape->extra[1] - expected + UNITS_TOLERATED <= 2 * UNITS_TOLERATED &&
           redisbloom_probes(bloom_rounded_double(stored)) == shape->probes;
}

static bool redisbloom_valid(const struct bloom_shape *shape, bloom_problem problem) {
    if ((shape->extra[0] >> 33) == 0)
        return true;
    return bloom_fail(
        problem,
        "is invalid: its header has options that RedisBloom does not know" BLOOM_MADE_WRONGLY);
}

static inline struct bloom_walk redisbloom_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = words[0], .step = words[1]};
}

static inline uint64_t redisbloom_step(struct bloom_walk *walk) {
    const uint64_t at = walk->at;
    walk->at += walk->step;
    return at;
}

BLOOM_WALK_MEMBERS(redisbloom, 2, redisbloom_begin, redisbloom_step);

const struct bloom_layout bloom_layout_redisbloom = {
    .name = "redisbloom",
    .hashing = &bloom_hashing_murmur2,
    .number = REDISBLOOM_NUMBER,
    .hash_words = 2,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS,
    .size = redisbloom_size,
    .valid = redisbloom_valid,
    .add = redisbloom_add,
    .check = redisbloom_check,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};

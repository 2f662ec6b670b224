/* Layout `classic`: k bits anywhere in the filter, where Guava's MURMUR128_MITZ_64 puts them.
 *
 * With h the two words of a key's hash: c = h[0]; k times: bit (c & (2^63 - 1)) mod m, then c +=
 * h[1] (mod 2^64).
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970; Kirsch, Mitzenmacher,
 * "Less Hashing, Same Performance", 2006; com.google.common.hash.BloomFilterStrategies for the
 * rule.
 */
#include "filter/layouts/classic.h"

#include "base/bitset.h"
#include "filter/layouts/classic_size.h"

#include <math.h>

enum { CLASSIC_NUMBER = 2 };

static inline struct bloom_walk classic_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = words[0], .step = words[1]};
}

static inline uint64_t classic_step(struct bloom_walk *walk) {
    const uint64_t at = walk->at;
    walk->at += walk->step;
    return at & INT64_MAX;
}

BLOOM_WALK_MEMBERS(classic, 2, classic_begin, classic_step);

struct bloom_estimate bloom_classic_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload) {
    struct bloom_estimate estimate = {0};
    estimate.ones = bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(shape));
    estimate.fill = (double)estimate.ones / (double)shape->bits;
    estimate.count = -log1p(-estimate.fill) * (double)shape->bits / shape->probes;
    estimate.rate = pow(estimate.fill, shape->probes);
    return estimate;
}

#define CLASSIC_LAYOUT(layout_name, key_hashing)                                                   \
    {                                                                                              \
        .name = layout_name, .hashing = &key_hashing, .number = CLASSIC_NUMBER, .hash_words = 2,   \
        .probes_maximum = BLOOM_CLASSIC_PROBES_MAXIMUM, .bits_multiple = 1,                        \
        .size = bloom_foreign_size_as_guava, /* so that filters of the same n and p merge */       \
            .add = classic_add, .check = classic_check, .unite = bloom_bitset_union,               \
        .intersect = bloom_bitset_intersect, .estimate = bloom_classic_estimate,                   \
    }

const struct bloom_layout bloom_layout_classic = CLASSIC_LAYOUT("classic", bloom_hashing_murmur3);

/* The same bits for text as UTF-16: Guava's other funnel. */
const struct bloom_layout bloom_layout_classic_utf16 =
    CLASSIC_LAYOUT("classic-utf16", bloom_hashing_utf16);

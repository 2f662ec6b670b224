/* The filters of RedisBloom: their hashing, layout and format.
 *
 * Format `redisbloom`: what BF.SCANDUMP of RedisBloom 2.2 and newer returns for a filter of one
 * link: the chunk of iterator 0, which is the header, and all later chunks, which are the bits, one
 * after the other. Everything is little-endian:
 *
 *    0  8  size: adds that changed a bit, in all links      28  8  bits, 8 times that
 *    8  4  links, 1                                         36  8  size, of this link
 *   12  4  options: 5, or 13 for NONSCALING                 44  8  rate of the link, a double
 *   16  4  growth of the next link                          52  8  bits per key, likewise
 *   20  8  bytes of this link                               60  4  k
 *                                                           64  8  entries, n
 *                                                           72  1  zero
 *   73     the bits
 *
 * An import drops the two sizes, because a filter of ours is only its parameters and its bits. An
 * export writes for both the estimate from the bits, at most n. */
#include "foreign/exchange.h"

#include <stdio.h>

/* Hashing `murmur2`: the two hashes of RedisBloom, a = H(key, seed c6a4a7935bd1e995) and b = H(key,
 * seed a), H being MurmurHash64A (Austin Appleby, public domain, 2008).
 *
 *   text      its UTF-8 bytes
 *   bytes     themselves
 *   integer   its decimal digits, which is what clients of Redis send for it
 *   real      equal to an integer of 64 bits: as that integer, as everywhere in this extension,
 *             since hosts such as JavaScript have no other numbers. Other reals have no
 *             key: clients write them differently
 */

#define MURMUR2_FACTOR UINT64_C(0xc6a4a7935bd1e995)

static inline uint64_t murmur2_scramble(uint64_t word) {
    word *= MURMUR2_FACTOR;
    return (word ^ word >> 47) * MURMUR2_FACTOR;
}

static uint64_t murmur2(const uint8_t *bytes, size_t length, uint64_t seed) {
    uint64_t hash = seed ^ length * MURMUR2_FACTOR;
    size_t left = length;
    for (; left >= 8; left -= 8, bytes += 8)
        hash = (hash ^ murmur2_scramble(bloom_load64(bytes))) * MURMUR2_FACTOR;
    if (left > 0)
        hash = (hash ^ bloom_load_partial(bytes, left)) * MURMUR2_FACTOR;
    hash = (hash ^ hash >> 47) * MURMUR2_FACTOR;
    return hash ^ hash >> 47;
}

static void murmur2_bytes(const uint64_t seed[2], const void *bytes, size_t length,
                          uint64_t *words) {
    (void)seed;
    words[0] = murmur2(bytes, length, MURMUR2_FACTOR);
    words[1] = murmur2(bytes, length, words[0]);
}

static bool murmur2_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    char text[24];
    int length = snprintf(text, sizeof text, "%" PRId64, key);
    murmur2_bytes(seed, text, (size_t)length, words);
    return true;
}

static const struct bloom_hashing HASHING_MURMUR2 = {
    .keys = "text, BLOBs and whole numbers",
    .number = 9,
    .bytes = murmur2_bytes,
    .integer = murmur2_integer,
};

/* Layout `redisbloom`: k bits anywhere in the filter, where RedisBloom (module `bf`, since its
 * release 2.2) puts them.
 *
 * m is a multiple of 64.
 *
 * n and p are those of BF.RESERVE. A filter that scales (the default there) is a chain whose first
 * link has half of p; one that was reserved with NONSCALING has p itself. This layout is the first
 * link. The header's extra words keep what Redis also writes (FORMAT-layouts.md): growth and
 * NONSCALING, and the bits per key as Redis computed them. */

enum { REDISBLOOM_NUMBER = 12, REDISBLOOM_GROWTH = 2 };

/* ln^2 2 and ln 2 as deps/bloom/bloom.c has them, to 15 digits. */
#define REDISBLOOM_LN2_SQUARED 0.480453013918201
#define REDISBLOOM_LN2 0.693147180559945

#define REDISBLOOM_NONSCALING (UINT64_C(1) << 32)

/* Half of it is still a double with all its digits. */
#define REDISBLOOM_RATE_MINIMUM 1e-300

/* Returns the rate of the one link that the filter is. */
static double redisbloom_link_rate(const struct bloom_shape *shape) {
    return (shape->extra[0] & REDISBLOOM_NONSCALING) != 0 ? shape->rate : shape->rate / 2;
}

static struct bloom_rounded redisbloom_bits_per_key(const struct bloom_shape *shape) {
    struct bloom_rounded rate = bloom_rounded_double(redisbloom_link_rate(shape));
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
    (void)problem;
    shape->extra[0] = REDISBLOOM_GROWTH;
    struct bloom_rounded bits_per_key = redisbloom_bits_per_key(shape);
    shape->extra[1] = bloom_bits_of_double(bloom_rounded_as_double(bits_per_key));
    shape->probes = (uint32_t)redisbloom_probes(bits_per_key);
    uint64_t bits = bloom_rounded_floor(
        bloom_rounded_times(bloom_rounded_integer(bloom_foreign_keys(shape)), bits_per_key));
    shape->bits = ((bits - 1) / BLOOM_WORD_BITS + 1) * BLOOM_WORD_BITS;
    return true;
}

/* Returns true when RedisBloom can have such a filter: its loader computes k from the bits per key.
 * These may differ from those of n and p in the last digits, as logarithms of different machines
 * do. */
static bool redisbloom_is_of_redis(const struct bloom_shape *shape) {
    enum { UNITS_TOLERATED = 8 };
    if (shape->capacity == 0 || shape->rate < REDISBLOOM_RATE_MINIMUM)
        return false;
    const uint64_t expected =
        bloom_bits_of_double(bloom_rounded_as_double(redisbloom_bits_per_key(shape)));
    const double stored = bloom_double_of_bits(shape->extra[1]);
    return shape->extra[1] - expected + UNITS_TOLERATED <= 2 * UNITS_TOLERATED &&
           redisbloom_probes(bloom_rounded_double(stored)) == shape->probes;
}

static inline uint64_t redisbloom_step(struct bloom_walk *walk) {
    const uint64_t at = walk->at;
    walk->at += walk->step;
    return at;
}

BLOOM_WALK_MEMBERS(redisbloom, 2, bloom_walk64_begin, redisbloom_step);

const struct bloom_layout bloom_layout_redisbloom = {
    .name = "redisbloom",
    .hashing = &HASHING_MURMUR2,
    .number = REDISBLOOM_NUMBER,
    .hash_words = 2,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS,
    .rate_minimum = REDISBLOOM_RATE_MINIMUM,
    .extra_used = {UINT32_MAX | REDISBLOOM_NONSCALING, UINT64_MAX},
    .size = redisbloom_size,
    BLOOM_WALK_LAYOUT(redisbloom),
};

enum {
    REDIS_AT_LINKS = 8,
    REDIS_AT_OPTIONS = 12,
    REDIS_AT_GROWTH = 16,
    REDIS_AT_BYTES = 20,
    REDIS_AT_BITS = 28,
    REDIS_AT_LINK_SIZE = 36,
    REDIS_AT_RATE = 44,
    REDIS_AT_BITS_PER_KEY = 52,
    REDIS_AT_PROBES = 60,
    REDIS_AT_CAPACITY = 64,
    REDIS_AT_POWER = 72,
    REDIS_HEADER_BYTES = 73,
    REDIS_SCALING = 5, /* not rounded to a power of two, hashes of 64 bits */
    REDIS_NONSCALING = 13
};

static bool redis_read(struct bloom_foreign *filter, bloom_problem problem) {
    struct bloom_shape *shape = &filter->shape;
    const uint8_t *bytes = filter->bytes;
    if (!bloom_foreign_has_header(filter, REDIS_HEADER_BYTES, problem))
        return false;
    uint32_t links = bloom_load32(bytes + REDIS_AT_LINKS);
    uint32_t options = bloom_load32(bytes + REDIS_AT_OPTIONS);
    bool scaling = options == REDIS_SCALING;
    if (!scaling && options != REDIS_NONSCALING)
        return bloom_fail(
            problem,
            "are not a filter of RedisBloom 2.2 or newer: their header says options %" PRIu32
            ", but only 5 and 13 are known. Join all chunks of BF.SCANDUMP, the first one first",
            options);
    if (links != 1)
        return bloom_fail(problem,
                          "are %" PRIu32
                          " filters in a chain, and only one can be read. Reserve room for "
                          "all keys with BF.RESERVE, so that there is one",
                          links);
    shape->probes = bloom_load32(bytes + REDIS_AT_PROBES);
    shape->capacity = bloom_load64(bytes + REDIS_AT_CAPACITY);
    shape->extra[0] = bloom_load32(bytes + REDIS_AT_GROWTH) | (scaling ? 0 : REDISBLOOM_NONSCALING);
    shape->extra[1] = bloom_load64(bytes + REDIS_AT_BITS_PER_KEY);
    shape->rate = bloom_double_of_bits(bloom_load64(bytes + REDIS_AT_RATE));
    if (scaling)
        shape->rate *= 2;
    uint64_t bits = bloom_load64(bytes + REDIS_AT_BITS);
    const bool is_of_redis = bits % BLOOM_WORD_BITS == 0 &&
                             bits / 8 == bloom_load64(bytes + REDIS_AT_BYTES) &&
                             bytes[REDIS_AT_POWER] == 0 &&
                             bloom_load64(bytes) == bloom_load64(bytes + REDIS_AT_LINK_SIZE) &&
                             shape->capacity <= BLOOM_CAPACITY_MAXIMUM && shape->rate < 1 &&
                             redisbloom_is_of_redis(shape);
    return bloom_foreign_numbers(filter, shape->probes, bits, is_of_redis, problem) &&
           bloom_foreign_has_row(filter, REDIS_HEADER_BYTES, problem);
}

static bool redis_fits(const struct bloom_shape *shape, bloom_problem problem) {
    if (shape->capacity == 0)
        return bloom_fail(
            problem, "was made for n = 0 keys, and RedisBloom has no such filter. Build it for 1");
    return redisbloom_is_of_redis(shape) ||
           bloom_fail(problem,
                      "says p or bits per key that no filter of RedisBloom has for its %" PRIu32
                      " hashes. Build it with bloom_agg(key, n, p, 'redisbloom')",
                      shape->probes);
}

static uint64_t redis_header(const struct bloom_shape *shape, const uint8_t *payload,
                             uint8_t *header) {
    bool scaling = (shape->extra[0] & REDISBLOOM_NONSCALING) == 0;
    uint64_t count = bloom_foreign_count(shape, payload);
    bloom_store64(header, count);
    bloom_store32(header + REDIS_AT_LINKS, 1);
    bloom_store32(header + REDIS_AT_OPTIONS, scaling ? REDIS_SCALING : REDIS_NONSCALING);
    bloom_store32(header + REDIS_AT_GROWTH, (uint32_t)shape->extra[0]);
    bloom_store64(header + REDIS_AT_BYTES, bloom_payload_bytes(shape));
    bloom_store64(header + REDIS_AT_BITS, shape->bits);
    bloom_store64(header + REDIS_AT_LINK_SIZE, count);
    bloom_store64(header + REDIS_AT_RATE, bloom_bits_of_double(redisbloom_link_rate(shape)));
    bloom_store64(header + REDIS_AT_BITS_PER_KEY, shape->extra[1]);
    bloom_store32(header + REDIS_AT_PROBES, shape->probes);
    bloom_store64(header + REDIS_AT_CAPACITY, shape->capacity);
    header[REDIS_AT_POWER] = 0;
    return REDIS_HEADER_BYTES;
}

const struct bloom_exchange bloom_exchange_redisbloom = {
    .name = "redisbloom",
    .layout = &bloom_layout_redisbloom,
    .unknown = "RedisBloom does not know. Build it with layout redisbloom",
    .system = "RedisBloom",
    .advice = "Join exactly the chunks of BF.SCANDUMP, the first one first",
    .read = redis_read,
    .fits = redis_fits,
    .header = redis_header,
};

/* Format `redisbloom`: what BF.SCANDUMP of RedisBloom 2.2 and newer returns for a filter of one
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
#include "foreign/words.h"

#include "filter/layouts/classic_size.h"
#include "foreign/redisbloom_layout.h"

#include <inttypes.h>

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

/* Reads the header of one link, and returns true when RedisBloom writes such headers. The length is
 * not checked. */
static bool redis_read_link(struct bloom_shape *shape, const uint8_t *bytes,
                            bloom_problem problem) {
    uint64_t rate = bloom_load64(bytes + REDIS_AT_RATE);
    uint64_t size = bloom_load64(bytes + REDIS_AT_BYTES);
    bool scaling = bloom_load32(bytes + REDIS_AT_OPTIONS) == REDIS_SCALING;
    *shape = (struct bloom_shape){
        .layout = &bloom_layout_redisbloom,
        .probes = bloom_load32(bytes + REDIS_AT_PROBES),
        .bits = bloom_load64(bytes + REDIS_AT_BITS),
        .capacity = bloom_load64(bytes + REDIS_AT_CAPACITY),
        .extra = {bloom_load32(bytes + REDIS_AT_GROWTH) |
                      (scaling ? 0 : BLOOM_REDISBLOOM_NONSCALING),
                  bloom_load64(bytes + REDIS_AT_BITS_PER_KEY)},
    };
    memcpy(&shape->rate, &rate, sizeof rate);
    if (scaling)
        shape->rate *= 2;
    bool sound = size > 0 && size <= BLOOM_BITS_MAXIMUM / 8 && shape->bits == 8 * size &&
                 shape->bits % BLOOM_WORD_BITS == 0 && bytes[REDIS_AT_POWER] == 0 &&
                 bloom_load64(bytes) == bloom_load64(bytes + REDIS_AT_LINK_SIZE) &&
                 shape->capacity <= BLOOM_CAPACITY_MAXIMUM && bloom_shape_probes_fit(shape) &&
                 shape->rate < 1 && bloom_redisbloom_is_of_redis(shape);
    if (!sound) {
        char number[BLOOM_NUMBER_SIZE];
        bloom_fail(problem,
                   "are damaged: their header says %" PRIu64 " keys, rate %s, %" PRIu32
                   " hashes and %" PRIu64 " bits in %" PRIu64
                   " bytes, which no filter of RedisBloom "
                   "has. Dump it again with BF.SCANDUMP",
                   shape->capacity, bloom_number_text(number, shape->rate, 6), shape->probes,
                   shape->bits, size);
    }
    return sound;
}

static bool redis_read(unsigned form, struct bloom_shape *shape, const uint8_t *bytes,
                       uint64_t length, bloom_problem problem) {
    (void)form;
    if (!bloom_exchange_has_header(length, REDIS_HEADER_BYTES, "RedisBloom filter",
                                   "Join all chunks of BF.SCANDUMP", problem))
        return false;
    uint32_t links = bloom_load32(bytes + REDIS_AT_LINKS);
    uint32_t options = bloom_load32(bytes + REDIS_AT_OPTIONS);
    if (options != REDIS_SCALING && options != REDIS_NONSCALING)
        return bloom_fail(
            problem,
            "are not a filter of RedisBloom 2.2 or newer: their header says options %" PRIu32
            ", but known are 5 and 13. Join all chunks of BF.SCANDUMP, the first one first",
            options);
    if (links != 1)
        return bloom_fail(problem,
                          "are %" PRIu32
                          " filters in a chain, and only one can be read. Reserve room for "
                          "all keys with BF.RESERVE, so that there is one",
                          links);
    if (!redis_read_link(shape, bytes, problem))
        return false;
    return bloom_exchange_has_length(length, REDIS_HEADER_BYTES + bloom_payload_bytes(shape),
                                     "Join exactly the chunks of BF.SCANDUMP", problem);
}

static void redis_read_payload(const struct bloom_shape *shape, const uint8_t *bytes,
                               uint64_t length, uint8_t *payload) {
    (void)length;
    memcpy(payload, bytes + REDIS_HEADER_BYTES, (size_t)bloom_payload_bytes(shape));
}

static bool redis_measure(unsigned form, const struct bloom_shape *shape, uint64_t *length,
                          bloom_problem problem) {
    (void)form;
    if (!bloom_exchange_has_layout(shape, &bloom_layout_redisbloom, "RedisBloom", problem))
        return false;
    if (shape->capacity == 0)
        return bloom_fail(
            problem, "was made for n = 0 keys, and RedisBloom has no such filter. Build it for 1");
    if (!bloom_redisbloom_is_of_redis(shape))
        return bloom_fail(problem,
                          "says p or bits per key that no filter of RedisBloom has for its %" PRIu32
                          " hashes. Build it with bloom_agg(key, n, p, 'redisbloom')",
                          shape->probes);
    *length = REDIS_HEADER_BYTES + bloom_payload_bytes(shape);
    return true;
}

static void redis_write(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes) {
    bool scaling = (shape->extra[0] & BLOOM_REDISBLOOM_NONSCALING) == 0;
    double link_rate = bloom_redisbloom_link_rate(shape);
    uint64_t rate, size = bloom_payload_bytes(shape), count = bloom_exchange_count(shape, payload);
    memcpy(&rate, &link_rate, sizeof rate);
    bloom_store64(bytes, count);
    bloom_store32(bytes + REDIS_AT_LINKS, 1);
    bloom_store32(bytes + REDIS_AT_OPTIONS, scaling ? REDIS_SCALING : REDIS_NONSCALING);
    bloom_store32(bytes + REDIS_AT_GROWTH, (uint32_t)shape->extra[0]);
    bloom_store64(bytes + REDIS_AT_BYTES, size);
    bloom_store64(bytes + REDIS_AT_BITS, shape->bits);
    bloom_store64(bytes + REDIS_AT_LINK_SIZE, count);
    bloom_store64(bytes + REDIS_AT_RATE, rate);
    bloom_store64(bytes + REDIS_AT_BITS_PER_KEY, shape->extra[1]);
    bloom_store32(bytes + REDIS_AT_PROBES, shape->probes);
    bloom_store64(bytes + REDIS_AT_CAPACITY, shape->capacity);
    bytes[REDIS_AT_POWER] = 0;
    memcpy(bytes + REDIS_HEADER_BYTES, payload, (size_t)size);
}

const struct bloom_exchange bloom_exchange_redisbloom = {
    .name = "redisbloom",
    .read = redis_read,
    .read_payload = redis_read_payload,
    .measure = redis_measure,
    .write = redis_write,
};

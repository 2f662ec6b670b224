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
#include "hash/hashing.h"

#include "base/portable.h"

#include <inttypes.h>
#include <stdio.h>

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

const struct bloom_hashing bloom_hashing_murmur2 = {
    .name = "murmur2",
    .keys = "text, BLOBs and whole numbers",
    .number = 9,
    .words = 2,
    .bytes = murmur2_bytes,
    .integer = murmur2_integer,
};

/* From a key to the 128 bits that stand for it.
 *
 * The hash is MurmurHash3 x64 128 (Austin Appleby, public domain, 2011) with seed 0: verification
 * value 0x6384BA69. The bytes of a key that are hashed are fixed as well, because both together
 * decide what a stored filter answers:
 *
 *   text      its UTF-8 bytes, all of them, embedded NULs included, without a terminator
 *   bytes     themselves; text and bytes of the same content are the same key
 *   integer   8 bytes, little-endian, two's complement
 *   real      equal to an integer of 64 bits: as that integer (1.0 is 1, -0.0 is 0);
 *             any other: the 8 bytes of its IEEE 754 double, little-endian
 *
 * With these rules Guava's stringFunnel(UTF_8) and longFunnel give the same 128 bits.
 */
#ifndef BLOOM_HASH_HASH_H
#define BLOOM_HASH_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two 64-bit halves in the order in which MurmurHash3 writes them. The empty key is {0, 0}. */
struct bloom_hash {
    uint64_t words[2];
};

/* Writes the hash of length bytes. key may be NULL when length is 0. */
void bloom_hash_bytes_to(const void *key, size_t length, uint64_t words[2]);

/* That of an integer key. */
void bloom_hash_integer_to(int64_t key, uint64_t words[2]);

/* Whether a number is equal to an integer of 64 bits, which integer then is. */
bool bloom_integer_of(double key, int64_t *integer);

/* The integer that is hashed for a floating-point key: the one that the key is equal to, else the
 * key's bits. A NaN, which SQLite turns into NULL, is hashed by its bits, too. */
int64_t bloom_real_as_integer(double key);

/* The hash of a floating-point key. */
void bloom_hash_real_to(double key, uint64_t words[2]);

/* A bijection of 64-bit words that spreads them: variant 13 of David Stafford ("Better Bit Mixing",
 * 2011) of the finaliser of MurmurHash3, as SplitMix64 has it. */
static inline uint64_t bloom_mix(uint64_t word) {
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

/* The same hashes as return values, for callers that do not depend on speed: see murmur3.h. */
struct bloom_hash bloom_hash_bytes(const void *key, size_t length);
struct bloom_hash bloom_hash_integer(int64_t key);

/* The 16 bytes of a hash as every published implementation prints them: the first word, then the
 * second, each little-endian. */
void bloom_hash_write(struct bloom_hash hash, uint8_t bytes[16]);

#endif

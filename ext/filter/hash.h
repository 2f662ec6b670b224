/* From a key to the 128 bits that stand for it.
 *
 * The hash is MurmurHash3 x64 128 (Austin Appleby, public domain, 2011) with seed 0: verification
 * value 0x6384BA69. What of a key is hashed is fixed with it, because both together decide what a
 * stored filter answers:
 *
 *   text      its UTF-8 bytes, all of them, embedded NULs included, without a terminator
 *   bytes     themselves; text and bytes of the same content are the same key
 *   integer   8 bytes, little-endian, two's complement
 *   real      equal to an integer of 64 bits: as that integer (1.0 is 1, -0.0 is 0);
 *             any other: the 8 bytes of its IEEE 754 double, little-endian
 *
 * With these rules Guava's stringFunnel(UTF_8) and longFunnel give the same 128 bits.
 */
#ifndef BLOOM_HASH_H
#define BLOOM_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two 64-bit halves in the order in which MurmurHash3 writes them. The empty key is {0, 0}. */
struct bloom_hash {
    uint64_t words[2];
};

/* Hash of length bytes. key may be NULL when length is 0. */
struct bloom_hash bloom_hash_bytes(const void *key, size_t length);

/* The same for a key that comes in pieces: from a state of zeros through all whole blocks of 16
 * bytes, in order, to the end with the 0 to 15 bytes that are left; length is that of the whole
 * key. */
#define BLOOM_HASH_BLOCK_BYTES 16
struct bloom_hash bloom_hash_blocks(struct bloom_hash state, const uint8_t *bytes, size_t blocks);
struct bloom_hash bloom_hash_end(struct bloom_hash state, const uint8_t *tail, size_t left,
                                 uint64_t length);

/* Hash of an integer key. */
struct bloom_hash bloom_hash_integer(int64_t key);

/* Whether a number is equal to an integer of 64 bits, which integer then is. */
bool bloom_integer_of(double key, int64_t *integer);

/* Hash of a floating-point key. NaN, which SQLite turns into NULL, counts by its bits. */
struct bloom_hash bloom_hash_real(double key);

/* The 16 bytes of a hash as every published implementation prints them: the first word, then the
 * second, each little-endian. */
void bloom_hash_write(struct bloom_hash hash, uint8_t bytes[16]);

#endif

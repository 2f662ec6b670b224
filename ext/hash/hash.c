/* MurmurHash3 of keys, and the rules that turn numbers into keys. See hash.h and murmur3.h. */
#include "hash/hash.h"
#include "hash/murmur3.h"

void bloom_hash_bytes_to(const void *key, size_t length, uint64_t words[2]) {
    bloom_murmur3_bytes(key, length, words);
}

void bloom_hash_integer_to(int64_t key, uint64_t words[2]) {
    bloom_murmur3_integer(key, words);
}

bool bloom_integer_of(double key, int64_t *integer) {
    /* 2^63 itself is out of the integer range, -2^63 is in it; both are exact doubles. */
    if (!(key >= -9223372036854775808.0 && key < 9223372036854775808.0))
        return false;
    *integer = (int64_t)key;
    return (double)*integer == key;
}

int64_t bloom_real_as_integer(double key) {
    int64_t bits;
    if (!bloom_integer_of(key, &bits))
        memcpy(&bits, &key, sizeof bits);
    return bits;
}

void bloom_hash_real_to(double key, uint64_t words[2]) {
    bloom_hash_integer_to(bloom_real_as_integer(key), words);
}

struct bloom_hash bloom_hash_bytes(const void *key, size_t length) {
    struct bloom_hash hash;
    bloom_hash_bytes_to(key, length, hash.words);
    return hash;
}

struct bloom_hash bloom_hash_integer(int64_t key) {
    struct bloom_hash hash;
    bloom_hash_integer_to(key, hash.words);
    return hash;
}

void bloom_hash_write(struct bloom_hash hash, uint8_t bytes[16]) {
    bloom_store64(bytes, hash.words[0]);
    bloom_store64(bytes + 8, hash.words[1]);
}

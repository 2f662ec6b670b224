/* The hash is MurmurHash3 x64 128 to the last bit, for every length and alignment: if it changed,
 * stored filters would answer falsely. It is held against libmurmurhash, an implementation by
 * somebody else, after that one has been held against the value published with the algorithm. How
 * numbers become keys is in format_test.py. */
#include "library_test.h"

#include "shorthand.h"

#include <murmurhash.h>

enum { LENGTH_MOST = 300, ALIGNMENTS = 16, CONTENTS = 4 };

static struct bloom_hash independent(const void *key, size_t length) {
    struct bloom_hash hash;
    lmmh_x64_128(key, (unsigned)length, 0, hash.words);
    return hash;
}

static void assert_hash(struct bloom_hash found, struct bloom_hash expected) {
    assert_same(found.words[0], expected.words[0], "first word");
    assert_same(found.words[1], expected.words[1], "second word");
}

/* The procedure of SMHasher: hash the keys {}, {0}, {0, 1}, ... with the seeds 256, 255, ..., then
 * all the hashes with seed 0, and look at the first four bytes. */
static void verification_value(void) {
    uint8_t key[256];
    uint8_t hashes[256][16];
    uint64_t last[2];
    for (unsigned i = 0; i < 256; i++) {
        uint64_t words[2];
        key[i] = (uint8_t)i;
        lmmh_x64_128(key, i, 256 - i, words);
        for (unsigned byte = 0; byte < 16; byte++)
            hashes[i][byte] = (uint8_t)(words[byte / 8] >> 8 * (byte % 8));
    }
    lmmh_x64_128(hashes, sizeof hashes, 0, last);
    assert_int_equal((uint32_t)last[0], 0x6384BA69);
}

static void every_length_and_alignment(void) {
    uint64_t random = 1;
    for (size_t length = 0; length <= LENGTH_MOST; length++)
        for (size_t alignment = 0; alignment < ALIGNMENTS; alignment++)
            for (unsigned content = 0; content < CONTENTS; content++) {
                uint8_t *memory = allocate_exactly(alignment + length);
                random_fill(&random, memory, alignment + length);
                const uint8_t *key = memory + alignment;
                assert_hash(bloom_hash_bytes(key, length), independent(key, length));
                free(memory);
            }
}

RUN_GROUP("hash",
          TEST("The independent implementation has the published verification value",
               verification_value),
          TEST("Every length from 0 to 300 at every alignment hashes as published",
               every_length_and_alignment))

/* What someone can do who chooses keys, since MurmurHash3 has no secret and can be inverted: the
 * figures that README.md gives. They are a reason for exact verification, not faults. */
#include "inverse_hash.h"
#include "library_test.h"

#include "base/portable.h"
#include "shapes.h"

/* The printable text of 32 bytes with a wanted hash: the first 16 are tried, the others follow. */
static void a_second_printable_key_has_the_same_128_bits(void) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static const char VICTIM[] = "http://good.example/index.html?a=1";
    struct bloom_hash wanted = bloom_hash_bytes(VICTIM, sizeof VICTIM - 1);
    /* What the last block has to leave behind. */
    uint64_t h1 = wanted.words[0], h2 = wanted.words[1];
    h2 -= h1;
    h1 -= h2;
    h1 = unmix(h1);
    h2 = unmix(h2);
    h2 -= h1;
    h1 -= h2;
    h1 ^= 32;
    h2 ^= 32;
    const uint64_t fifth = reciprocal(5), per_c1 = reciprocal(HASH_C1),
                   per_c2 = reciprocal(HASH_C2);
    const uint64_t end1 = (h1 - UINT64_C(0x52dce729)) * fifth;
    const uint64_t end2 = rotated_left((h2 - UINT64_C(0x38495ab5)) * fifth - h1, 33);
    uint8_t key[32] = "evil.test/";
    for (uint64_t tries = 1; tries <= UINT64_C(1) << 28; tries++) {
        for (int i = 0; i < 6; i++)
            key[10 + i] = (uint8_t)DIGITS[tries >> 6 * i & 63];
        uint64_t g1 = rotated_left(bloom_load64(key) * HASH_C1, 31) * HASH_C2,
                 g2 = rotated_left(bloom_load64(key + 8) * HASH_C2, 33) * HASH_C1;
        g1 = rotated_left(g1, 27) * 5 + UINT64_C(0x52dce729);
        g2 = (rotated_left(g2, 31) + g1) * 5 + UINT64_C(0x38495ab5);
        uint64_t k[2];
        k[0] = rotated_left((rotated_left(end1 - g2, 37) ^ g1) * per_c2, 33) * per_c1;
        k[1] = rotated_left((end2 ^ g2) * per_c1, 31) * per_c2;
        int printable = 0;
        while (printable < 16) {
            uint8_t byte = (uint8_t)(k[printable / 8] >> 8 * (printable % 8));
            if (byte < 0x21 || byte > 0x7e)
                break;
            key[16 + printable++] = byte;
        }
        if (printable < 16)
            continue;
        struct bloom_hash found = bloom_hash_bytes(key, sizeof key);
        assert_same(found.words[0], wanted.words[0], "first word");
        assert_same(found.words[1], wanted.words[1], "second word");
        printf("figures: %.32s has the 128 bits of %s, after 2^%.1f tries\n", (const char *)key,
               VICTIM, (double)(63 - __builtin_clzll(tries)));
        return;
    }
    fail_msg("none found");
}

/* One block; which keys fall into one is for their choosers to say, too. */
static void few_chosen_keys_saturate_a_block(void) {
    const struct bloom_shape shape = sized_shape(&bloom_layout_blocked, 1, 0.01);
    uint8_t block[64] = {0};
    uint64_t random = 3;
    unsigned keys = 0, ones = 0;
    assert_same(shape.bits, 512, "bits");
    const struct bloom_blocks *blocks = shape.layout->blocks;
    for (; ones < 512; keys++) {
        uint64_t best = 0;
        unsigned most = 0;
        for (unsigned i = 0; i < 1u << 16 && most < shape.probes; i++) {
            uint64_t word = random_next(&random);
            uint8_t copy[64];
            memcpy(copy, block, sizeof copy);
            unsigned more = blocks->add(&shape, copy, &word);
            if (more > most) {
                most = more;
                best = word;
            }
        }
        ones += blocks->add(&shape, block, &best);
    }
    printf("figures: %u chosen keys saturate a block, k = %u\n", keys, (unsigned)shape.probes);
    assert_true(keys >= 512 / shape.probes && keys <= 100);
    for (int i = 0; i < 1000; i++) {
        uint64_t word = random_next(&random);
        assert_true(blocks->check(&shape, block, &word));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("A second printable key has the same 128 bits",
             a_second_printable_key_has_the_same_128_bits),
        TEST("A few chosen keys saturate a block", few_chosen_keys_saturate_a_block),
    };
    return cmocka_run_group_tests_name("chosen keys", tests, NULL, NULL);
}

/* Millions of random operations on the filter library: keys added one by one, in batches of any
 * size and by the key set, checked one by one, in batches, and by every kernel that the processor
 * has. All must agree to the bit.
 *
 *     RUNS=100 SEED=1 build/tests/random_test
 *
 * does what it does without (RUNS=1) a hundred times over, each time with the next seed. A failure
 * tells its seed; with that as SEED and RUNS=1 it comes again.
 *
 * That what they agree on is right is for tests/library/layout_test.c and kernel_test.c, whose
 * naive programs are too slow for millions of keys; what SQL makes of filters is for the simulator.
 */
#include "filter/header.h"
#include "filter/hash.h"
#include "filter/key_set.h"
#include "filter/blocked_kernel.h"
#include "filter/layout.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t operations, state, seed;

/* SplitMix64 (Steele, Lea, Flood, 2014). */
static uint64_t random_next(void) {
    uint64_t word = state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static unsigned random_below(unsigned range) {
    return (unsigned)((random_next() >> 32) * range >> 32);
}

static bool random_once_in(unsigned times) {
    return random_below(times) == 0;
}

/* Ends the program as failed, with the formatted message and how to come here again, unless
 * holds. */
static void expect(bool holds, const char *format, ...) {
    if (holds)
        return;
    va_list list;
    va_start(list, format);
    printf("SEED=%" PRIu64 ", after %" PRIu64 " operations: ", seed, operations);
    vprintf(format, list);
    va_end(list);
    puts("\n0 passed, 1 failed");
    exit(1);
}

enum { ROUNDS = 2200, KEYS_MOST = 1500, BATCH_MOST = 150 };

static struct bloom_shape random_shape(const struct bloom_layout *layout) {
    struct bloom_shape shape = {.layout = layout};
    shape.probes = 1 + random_below(random_once_in(4) ? layout->probes_maximum : 16);
    /* From nearly empty to overfull: 0 to 32 bits for a key, at most. */
    shape.bits =
        (uint64_t)layout->bits_multiple *
        (1 + random_below(1 + (KEYS_MOST * 32U >> random_below(12)) / layout->bits_multiple));
    return shape;
}

/* Every kernel against the answers of the layout. */
static void compare_kernels(const struct bloom_shape *shape, const uint8_t *payload,
                            const uint64_t *values, size_t count, const uint8_t *expected) {
    for (size_t kernel = 0; bloom_blocked_kernels[kernel] != NULL; kernel++) {
        const struct bloom_blocked_kernel *with = bloom_blocked_kernels[kernel];
        if (!with->supported())
            continue;
        for (size_t i = 0; i < count;) {
            uint8_t found[BATCH_MOST];
            size_t batch = 1 + random_below(BATCH_MOST);
            batch = batch < count - i ? batch : count - i;
            for (size_t j = i; j < i + batch; j++)
                expect(with->check(shape, payload, values[j]) == (expected[j] != 0),
                       "kernel %s answers otherwise", with->name);
            with->check_many(shape, payload, values + i, batch, found);
            expect(memcmp(found, expected + i, batch) == 0,
                   "kernel %s answers otherwise in a batch", with->name);
            i += batch;
            operations += 2 * batch;
        }
    }
}

static void compare(const struct bloom_layout *layout) {
    static struct bloom_hash keys[2 * KEYS_MOST];
    static uint64_t values[2 * 2 * KEYS_MOST];
    static uint8_t found[2 * KEYS_MOST];
    struct bloom_shape shape = random_shape(layout);
    size_t width = layout->hash_words, bytes = (size_t)bloom_payload_bytes(&shape);
    size_t count = random_below(KEYS_MOST + 1), asked = count + random_below(KEYS_MOST);
    uint8_t *single = calloc(1, bytes), *bulk = calloc(1, bytes), *collected = calloc(1, bytes);
    struct bloom_key_set set = {.layout = layout, .memory = &bloom_c_memory};
    struct bloom_key_summary distinct;
    expect(single != NULL && bulk != NULL && collected != NULL, "no memory");

    for (size_t i = 0; i < asked; i++) {
        /* Some keys come again. */
        keys[i] = i > 0 && i < count && random_once_in(8)
                      ? keys[random_below((unsigned)i)]
                      : (struct bloom_hash){{random_next(), random_next()}};
        memcpy(values + i * width, keys[i].words, width * sizeof *values);
    }
    for (size_t i = 0; i < count; i++) {
        layout->add(&shape, single, values + i * width, 1);
        expect(layout->check(&shape, single, values + i * width), "%s: a false negative",
               layout->name);
        expect(bloom_key_set_add(&set, keys[i].words), "no memory");
    }
    for (size_t i = 0, batch; i < count; i += batch) {
        batch = 1 + random_below(100);
        batch = batch < count - i ? batch : count - i;
        layout->add(&shape, bulk, values + i * width, batch);
    }
    expect(bloom_key_set_settle(&set, &distinct) == BLOOM_BUILT && distinct.keys <= count &&
               bloom_key_set_build(&set, &shape, collected) == BLOOM_BUILT,
           "no memory");
    bloom_key_set_clear(&set);
    expect(memcmp(single, bulk, bytes) == 0, "%s: added in batches, other bits", layout->name);
    expect(memcmp(single, collected, bytes) == 0, "%s: added by the key set, other bits",
           layout->name);

    layout->check_many(&shape, single, values, asked, found);
    for (size_t i = 0; i < asked; i++) {
        expect(found[i] != 0 || i >= count, "%s: a false negative in a batch", layout->name);
        expect(found[i] == layout->check(&shape, single, values + i * width),
               "%s: other answers in a batch", layout->name);
    }
    operations += 4 * count + 2 * asked;
    if (layout == &bloom_layout_blocked)
        compare_kernels(&shape, single, values, asked, found);
    free(single);
    free(bulk);
    free(collected);
}

static uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

int main(void) {
    uint64_t runs = from_environment("RUNS", 1);
    seed = from_environment("SEED", 1);
    for (uint64_t i = 0; i < runs; i++, seed++) {
        state = seed * 1000003;
        for (unsigned round = 0; round < ROUNDS; round++) {
            compare(&bloom_layout_blocked);
            compare(&bloom_layout_classic);
            compare(&bloom_layout_classic32);
        }
    }
    printf("figures: %" PRIu64 " random operations\n1 passed, 0 failed\n", operations);
    return 0;
}

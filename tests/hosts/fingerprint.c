/* Prints what must come out the same on every platform: sizes, headers, hashes and payloads of many
 * filters, one a line. platforms_test.py compares the output of other processors and C libraries
 * with that of this one. With an argument, prints the kernels that this processor can run instead.
 */
#include "filter/growth.h"
#include "filter/header.h"
#include "filter/key.h"
#include "filter/key_set.h"
#include "filter/layouts/kernels/kernel.h"
#include "../library/shorthand.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_hash(const char *what, const void *bytes, size_t length) {
    struct bloom_hash hash = bloom_hash_bytes(bytes, length);
    printf("%s %016" PRIx64 "%016" PRIx64 "\n", what, hash.words[0], hash.words[1]);
}

/* A filter of keys 0 to count - 1, added one by one, checked, and built again from a key set with
 * duplicates.
 */
static void print_filter(const struct bloom_layout *layout, uint64_t count, double rate) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape, read;
    if (!bloom_shape_for(&shape, layout, count, rate, problem)) {
        printf("%s %" PRIu64 " %a: %s\n", layout->name, count, rate, problem);
        return;
    }
    size_t length = (size_t)bloom_filter_bytes(&shape);
    uint8_t *filter = calloc(1, length), *built = calloc(1, length);
    if (filter == NULL || built == NULL)
        exit(1);
    struct bloom_key_set set = {.layout = layout, .memory = &bloom_c_memory};
    uint64_t keys;
    uint64_t missed = 0;
    bloom_header_write(&shape, filter);
    bloom_header_write(&shape, built);
    for (uint64_t i = 0; i < count; i++) {
        struct bloom_hash hash = bloom_hash_integer((int64_t)i);
        layout->add(&shape, filter + BLOOM_HEADER_BYTES, hash.words, 1);
        if (!bloom_key_set_add(&set, hash.words) ||
            !bloom_key_set_add(&set, bloom_hash_integer((int64_t)(i / 2)).words))
            exit(1);
    }
    if (bloom_key_set_settle(&set, &keys) != BLOOM_BUILT)
        exit(1);
    bloom_key_set_build(&set, &shape, built + BLOOM_HEADER_BYTES);
    bloom_key_set_clear(&set);
    for (uint64_t i = 0; i < count; i++)
        missed += !layout->check(&shape, filter + BLOOM_HEADER_BYTES,
                                 bloom_hash_integer((int64_t)i).words);
    struct bloom_estimate estimate = layout->estimate(&shape, filter + BLOOM_HEADER_BYTES);
    printf("%s %" PRIu64 " %a: %" PRIu64 " bits, %" PRIu32 " hashes, %" PRIu64 " ones, %" PRIu64
           " keys, %" PRIu64 " missed, %s, %s",
           layout->name, count, rate, shape.bits, shape.probes, estimate.ones, keys, missed,
           memcmp(filter, built, length) == 0 ? "same" : "different",
           bloom_filter_read(&read, filter, length, problem) ? "valid" : problem);
    print_hash("", filter, length);
    free(filter);
    free(built);
}

/* A filter of the kinds counting, fuse and bitmap, of every third number, built of a set in which
 * some keys are there twice; what it is converted to, and lists. */
static void print_kind(const struct bloom_layout *layout, uint64_t count, double rate) {
    struct bloom_key_set set = {.layout = layout, .memory = &bloom_c_memory};
    uint64_t keys;
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t words[2] = {3 * i, 3 * (i / 2)};
        for (unsigned j = 0; j < 2; j++) {
            if (!layout->exact)
                words[j] = bloom_hash_integer((int64_t)words[j]).words[0];
            if (!bloom_key_set_add(&set, words + j))
                exit(1);
        }
    }
    if (bloom_key_set_settle(&set, &keys) != BLOOM_BUILT)
        exit(1);
    if (!bloom_shape_for(&shape, layout, layout->exact ? 3 * count - 2 : keys, rate, problem)) {
        printf("%s %" PRIu64 " %a: %s\n", layout->name, count, rate, problem);
        bloom_key_set_clear(&set);
        return;
    }
    size_t length = (size_t)bloom_filter_bytes(&shape);
    uint8_t *filter = calloc(1, length), *payload = filter + BLOOM_HEADER_BYTES;
    if (filter == NULL || bloom_key_set_build(&set, &shape, payload) != BLOOM_BUILT)
        exit(1);
    bloom_key_set_clear(&set);
    bloom_header_write(&shape, filter);
    struct bloom_estimate estimate = layout->estimate(&shape, payload);
    printf("%s %" PRIu64 " %a: %" PRIu64 " bits, %" PRIu64 " keys, %" PRIu64 " ones", layout->name,
           count, rate, shape.bits, keys, estimate.ones);
    if (layout->exact) {
        uint64_t listed[50], sum = 0, last = shape.bits - 1, middle = count < last ? count : last;
        size_t up = bloom_bitmap_list(&shape, payload, middle, last, false, listed, 50);
        for (size_t i = 0; i < up; i++)
            sum = sum * 31 + listed[i];
        size_t down = bloom_bitmap_list(&shape, payload, 0, middle, true, listed, 50);
        for (size_t i = 0; i < down; i++)
            sum = sum * 31 + listed[i];
        printf(", lists %016" PRIx64, sum);
    }
    print_hash("", filter, length);
    if (layout->repeats) {
        const struct bloom_shape converted = bloom_counting_as_blocked(&shape);
        size_t bytes = (size_t)bloom_payload_bytes(&converted);
        uint8_t *bits = calloc(1, bytes);
        if (bits == NULL)
            exit(1);
        bloom_counting_convert(&shape, payload, bits);
        print_hash("converted", bits, bytes);
        free(bits);
    }
    free(filter);
}

/* The headers of the layers of a table, and how they are cut into chunks. */
static void print_layers(uint64_t capacity, double rate, enum bloom_growth_mode mode) {
    struct bloom_growth growth = {
        .layout = &bloom_layout_blocked,
        .capacity = capacity,
        .rate = rate,
        .generations = 1,
        .chunk_blocks = 63,
        .mode = mode,
    };
    uint8_t headers[BLOOM_LAYERS_MAXIMUM][BLOOM_HEADER_BYTES + 16];
    char problem[BLOOM_PROBLEM_SIZE];
    unsigned count = mode == BLOOM_GROWTH_ON ? BLOOM_LAYERS_MAXIMUM : 1;
    for (unsigned i = 0; i < count; i++) {
        struct bloom_layer layer;
        if (!bloom_growth_layer(&growth, i, &layer, problem))
            exit(1);
        bloom_header_write(&layer.shape, headers[i]);
        bloom_store64(headers[i] + BLOOM_HEADER_BYTES, layer.chunks);
        bloom_store64(headers[i] + BLOOM_HEADER_BYTES + 8, layer.longer);
    }
    printf("%u layers of %" PRIu64 " %a", count, capacity, rate);
    print_hash("", headers, count * sizeof *headers);
}

/* Falling rates below 1, three to an octave, that every arithmetic represents exactly. */
static double rate_number(int i) {
    return ldexp(1 + (i * 37 % 64) / 64.0, -1 - i / 3);
}

#define PRINT_KERNELS(layout, kernels)                                                             \
    printf(layout);                                                                                \
    for (size_t i = 0; kernels[i] != NULL; i++)                                                    \
        if (bloom_kernel_is_supported(kernels[i]))                                                 \
            printf(" %s", kernels[i]->name);                                                       \
    printf("\n")

static int print_kernels(void) {
    PRINT_KERNELS("blocked", bloom_blocked_kernels);
    PRINT_KERNELS("counting", bloom_counting_kernels);
    PRINT_KERNELS("parquet", bloom_parquet_kernels);
    return 0;
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1)
        return print_kernels();
    static const struct bloom_layout *const LAYOUTS[] = {&bloom_layout_blocked,
                                                         &bloom_layout_classic};
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 167 + 13);
    for (size_t length = 0; length < 70; length++)
        print_hash("bytes", bytes + length % 9, length);
    static const double REALS[] = {
        0.0, -0.0, 1.0, 0.5, -1e300, 9223372036854775808.0, -9223372036854775808.0, 5e-324};
    for (size_t i = 0; i < sizeof REALS / sizeof *REALS; i++) {
        uint64_t words[2];
        const struct bloom_shape shape = {.layout = &bloom_layout_blocked};
        bloom_real_key(&shape, REALS[i], words);
        printf("real %016" PRIx64 "\n", words[0]);
    }
    for (uint64_t capacity = 1; capacity <= BLOOM_CAPACITY_MAXIMUM; capacity = capacity * 99 + 1)
        for (int i = 1; i < 1000; i += i < 20 ? 1 : 49) { /* emulated machines are slow */
            print_layers(capacity, i / 1000.0, BLOOM_GROWTH_ON);
            print_layers(capacity, i / 1000000.0, BLOOM_GROWTH_ON);
            print_layers(capacity, i / 1000000.0, BLOOM_GROWTH_ERROR);
        }
    static const struct bloom_layout *const KINDS[] = {&bloom_layout_counting, &bloom_layout_fuse,
                                                       &bloom_layout_bitmap};
    for (unsigned i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        for (uint64_t count = 1; count <= 100000; count = count * 7 + 3)
            for (int j = 0; j < (KINDS[i]->exact ? 1 : 100); j += 17)
                print_kind(KINDS[i], count, rate_number(j));
    for (unsigned i = 0; i < 2; i++) {
        for (uint64_t count = 1; count <= 200000; count = count * 7 + 3)
            for (int j = 0; j < 90; j += 7)
                if (count < 3000 || j < 40)
                    print_filter(LAYOUTS[i], count, rate_number(j));
        /* Sizes alone, over the whole range. */
        for (uint64_t count = 1; count <= BLOOM_CAPACITY_MAXIMUM; count = count * 5 + 1)
            for (int j = 0; j < 130; j++) {
                double rate = rate_number(j);
                char problem[BLOOM_PROBLEM_SIZE];
                struct bloom_shape shape;
                bool kept = bloom_shape_for(&shape, LAYOUTS[i], count, rate, problem);
                printf("%s %" PRIu64 " %a: %" PRIu64 " %" PRIu32 "\n", LAYOUTS[i]->name, count,
                       rate, kept ? shape.bits : 0, kept ? shape.probes : 0);
            }
    }
    return 0;
}

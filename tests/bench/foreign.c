/* What a check costs in the layouts of other systems, beside those of this project.
 *
 *     foreign [N ...]     for filters of N keys each (default: 100000 and 10000000)
 *
 * prints CSV: layout, N, what, nanoseconds a key (median of the turns) and the ratio to its
 * yardstick: layout classic with the same m and k; for layout parquet blocked, of equal size at k =
 * 8. Half of the keys are in, in random order. "check": hashes given, one call for each key.
 * "batch": 1024 a call. "key": the key is hashed, too: 40 upper-case hexadecimal digits, as of a
 * SHA-1. All layouts take turns, so that the machine's moods hit all alike.
 */
#define _POSIX_C_SOURCE 200809L

#include "keys.h"

#include "filter/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 9, SAMPLE = 1 << 19, BULK = 1024, DIGITS = 40, PROBES = 8, WAYS = 3 };

struct contender {
    const struct bloom_layout *layout;
    struct bloom_shape shape;
    unsigned yardstick; /* which contender */
    uint8_t *payload;
    uint64_t *words; /* of the sample */
    double times[WAYS][TURNS];
};

static struct contender contenders[] = {
    {.layout = &bloom_layout_classic, .yardstick = 0},
    {.layout = &bloom_layout_blocked, .yardstick = 1},
    {.layout = &bloom_layout_classic_utf16, .yardstick = 0},
    {.layout = &bloom_layout_spark1, .yardstick = 0},
    {.layout = &bloom_layout_spark2, .yardstick = 0},
    {.layout = &bloom_layout_dcso, .yardstick = 0},
    {.layout = &bloom_layout_go, .yardstick = 0},
    {.layout = &bloom_layout_redisbloom, .yardstick = 0},
    {.layout = &bloom_layout_parquet, .yardstick = 1},
};

#define CONTENDERS (sizeof contenders / sizeof *contenders)

static uint64_t found_all; /* so that nothing is left out */

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "foreign: out of memory\n");
        exit(EXIT_FAILURE);
    }
    memset(memory, 0, bytes);
    return memory;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void digits(uint64_t number, char *text) {
    static const char DIGIT[] = "0123456789ABCDEF";
    uint64_t word = 0;
    for (unsigned i = 0; i < DIGITS; i++, word >>= 4) {
        if (i % 16 == 0)
            word = bench_random(number + (i << 24));
        text[i] = DIGIT[word & 15];
    }
}

static void hash(const struct contender *contender, uint64_t number, uint64_t *words) {
    char text[DIGITS];
    digits(number, text);
    contender->layout->hashing->text(contender->shape.extra, text, DIGITS, words);
}

static void fill(struct contender *contender, uint64_t keys) {
    struct bloom_shape *shape = &contender->shape;
    unsigned width = contender->layout->hash_words;
    shape->layout = contender->layout;
    shape->probes = PROBES;
    shape->bits = (12 * keys + 511) / 512 * 512;
    contender->payload = allocate((size_t)bloom_payload_bytes(shape));
    contender->words = allocate((size_t)SAMPLE * width * sizeof *contender->words);
    uint64_t *batch = allocate(BULK * width * sizeof *batch);
    for (uint64_t i = 0; i < keys; i += BULK) {
        size_t count = keys - i < BULK ? (size_t)(keys - i) : BULK;
        for (size_t j = 0; j < count; j++)
            hash(contender, i + j, batch + j * width);
        contender->layout->add(shape, contender->payload, batch, count);
    }
    free(batch);
    for (uint64_t i = 0; i < SAMPLE; i++) /* even ones are in */
        hash(contender, bench_random(i) % keys + (i & 1) * keys, contender->words + i * width);
}

static double measure(struct contender *contender, unsigned way, const char *texts) {
    static uint8_t found[BULK];
    const struct bloom_shape *shape = &contender->shape;
    const struct bloom_layout *layout = contender->layout;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM], all = 0;
    double start = now();
    if (way == 1) {
        for (size_t i = 0; i < SAMPLE; i += BULK) {
            layout->check_many(shape, contender->payload, contender->words + i * layout->hash_words,
                               BULK, found);
            all += found[i % BULK];
        }
    } else if (way == 0) {
        for (size_t i = 0; i < SAMPLE; i++)
            all +=
                layout->check(shape, contender->payload, contender->words + i * layout->hash_words);
    } else {
        for (size_t i = 0; i < SAMPLE; i++) {
            layout->hashing->text(shape->extra, texts + i * DIGITS, DIGITS, words);
            all += layout->check(shape, contender->payload, words);
        }
    }
    found_all += all;
    return (now() - start) / SAMPLE;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(uint64_t keys) {
    static const char *const WAY_NAMES[WAYS] = {"check", "batch", "key"};
    char *texts = allocate((size_t)SAMPLE * DIGITS);
    for (uint64_t i = 0; i < SAMPLE; i++)
        digits(bench_random(i) % keys + (i & 1) * keys, texts + i * DIGITS);
    for (size_t i = 0; i < CONTENDERS; i++)
        fill(&contenders[i], keys);
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned way = 0; way < WAYS; way++)
            for (size_t i = 0; i < CONTENDERS; i++) {
                struct contender *contender = &contenders[(i + turn) % CONTENDERS];
                contender->times[way][turn] = measure(contender, way, texts);
            }
    for (size_t i = 0; i < CONTENDERS; i++)
        for (unsigned way = 0; way < WAYS; way++)
            qsort(contenders[i].times[way], TURNS, sizeof(double), ascending);
    for (size_t i = 0; i < CONTENDERS; i++)
        for (unsigned way = 0; way < WAYS; way++)
            printf("%s,%" PRIu64 ",%s,%.2f,%.2f\n", contenders[i].layout->name, keys,
                   WAY_NAMES[way], contenders[i].times[way][TURNS / 2],
                   contenders[i].times[way][TURNS / 2] /
                       contenders[contenders[i].yardstick].times[way][TURNS / 2]);
    for (size_t i = 0; i < CONTENDERS; i++) {
        free(contenders[i].payload);
        free(contenders[i].words);
    }
    free(texts);
}

int main(int count, char **arguments) {
    printf("layout,keys,what,nanoseconds,ratio\n");
    if (count < 2) {
        compare(100000);
        compare(10000000);
    }
    for (int i = 1; i < count; i++)
        compare((uint64_t)strtod(arguments[i], NULL));
    return found_all == 0;
}

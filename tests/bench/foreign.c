/* What a check costs in the layouts of other systems, beside those of this project.
 *
 *     foreign N ...     for filters of N keys each
 *
 * prints Markdown: nanoseconds a key, and how many times those of the yardstick, which is layout
 * classic with the same m and k; for the layouts of Parquet blocked, of equal size at k = 8.
 *
 *   check      hashes given, one call for each key
 *   batch      1024 a call
 *   key        the key is hashed, too: 40 upper-case hexadecimal digits, as of a SHA-1
 *   long key   70 of them, as long as a URL
 *
 * Half of the keys are in, in random order. Filters have 12 bits a key, of which half are set at
 * random, as in one that is full; the keys that are in are added to these. So a filter of 10^8 keys
 * costs no more time to make than it has bytes. Both sides take turns, yardstick, layout,
 * yardstick, and the ratio is the median over the turns of that within one: what else the machine
 * does hits both. Nanoseconds are medians, too, of this program's processor time.
 */
#define _POSIX_C_SOURCE 200809L

#include "keys.h"

#include "filter/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    TURNS = 11,
    SAMPLE = 1 << 17, /* keys: their lines of a filter are more than a cache holds */
    BULK = 1024,
    SHORT = 40,
    LONG = 70,
    PROBES = 8,
    BITS_PER_KEY = 12,
    BLOCK = 512
};

enum way { CHECK, BATCH, KEY, LONG_KEY, WAYS };

struct contender {
    struct bloom_shape shape;
    uint8_t *payload;
    uint64_t *words; /* of the sample */
};

/* Each with its yardstick. */
static const struct bloom_layout *const PAIRS[][2] = {
    {&bloom_layout_classic_utf16, &bloom_layout_classic},
    {&bloom_layout_spark1, &bloom_layout_classic},
    {&bloom_layout_spark2, &bloom_layout_classic},
    {&bloom_layout_dcso, &bloom_layout_classic},
    {&bloom_layout_go, &bloom_layout_classic},
    {&bloom_layout_redisbloom, &bloom_layout_classic},
    {&bloom_layout_parquet, &bloom_layout_blocked},
};

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
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void digits(uint64_t number, char *text, unsigned length) {
    static const char DIGIT[] = "0123456789ABCDEF";
    uint64_t word = 0;
    for (unsigned i = 0; i < length; i++, word >>= 4) {
        if (i % 16 == 0)
            word = bench_random(number + (i << 24));
        text[i] = DIGIT[word & 15];
    }
}

static void begin(struct contender *contender, const struct bloom_layout *layout, uint64_t keys,
                  const char *texts) {
    struct bloom_shape *shape = &contender->shape;
    *shape = (struct bloom_shape){
        .layout = layout,
        .probes = PROBES,
        .bits = (BITS_PER_KEY * keys + BLOCK - 1) / BLOCK * BLOCK,
    };
    contender->payload = allocate((size_t)bloom_payload_bytes(shape));
    for (uint64_t i = 0; i < shape->bits / 64; i++) {
        uint64_t word = bench_random(i);
        memcpy(contender->payload + 8 * i, &word, sizeof word);
    }
    contender->words = allocate((size_t)SAMPLE * layout->hash_words * sizeof *contender->words);
    for (uint64_t i = 0; i < SAMPLE; i++) { /* even ones are in */
        uint64_t *words = contender->words + i * layout->hash_words;
        layout->hashing->text(shape->extra, texts + i * LONG, SHORT, words);
        if (i % 2 == 0)
            layout->add(shape, contender->payload, words, 1);
    }
}

static void end(struct contender *contender) {
    free(contender->payload);
    free(contender->words);
}

/* Long keys are asked for as they are, of which hardly any is in. */
static double measure(const struct contender *contender, enum way way, const char *texts) {
    static uint8_t found[BULK];
    const struct bloom_shape *shape = &contender->shape;
    const struct bloom_layout *layout = shape->layout;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM], all = 0;
    size_t length = way == KEY ? SHORT : LONG;
    double start = now();
    if (way == BATCH) {
        for (size_t i = 0; i < SAMPLE; i += BULK) {
            layout->check_many(shape, contender->payload, contender->words + i * layout->hash_words,
                               BULK, found);
            all += found[i % BULK];
        }
    } else if (way == CHECK) {
        for (size_t i = 0; i < SAMPLE; i++)
            all +=
                layout->check(shape, contender->payload, contender->words + i * layout->hash_words);
    } else {
        for (size_t i = 0; i < SAMPLE; i++) {
            layout->hashing->text(shape->extra, texts + i * LONG, length, words);
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

static double median(double *values) {
    qsort(values, TURNS, sizeof *values, ascending);
    return values[TURNS / 2];
}

static void compare(uint64_t keys) {
    char *texts = allocate((size_t)SAMPLE * LONG);
    for (uint64_t i = 0; i < SAMPLE; i++)
        digits(i, texts + i * LONG, LONG);
    printf("\n%" PRIu64 " keys, %" PRIu64 " bytes:\n\n"
           "| layout | check | batch | key | long key |\n|---|---:|---:|---:|---:|\n",
           keys, (BITS_PER_KEY * keys + BLOCK - 1) / BLOCK * (BLOCK / 8));
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        struct contender pair[2];
        double times[2][WAYS][TURNS], ratios[WAYS][TURNS];
        begin(&pair[0], PAIRS[i][0], keys, texts);
        begin(&pair[1], PAIRS[i][1], keys, texts);
        for (unsigned turn = 0; turn < TURNS; turn++)
            for (enum way way = 0; way < WAYS; way++) {
                double before = measure(&pair[1], way, texts);
                double between = measure(&pair[0], way, texts);
                double after = measure(&pair[1], way, texts);
                times[0][way][turn] = between;
                times[1][way][turn] = (before + after) / 2;
                ratios[way][turn] = between / times[1][way][turn];
            }
        for (unsigned side = 0; side < 2; side++) {
            printf("| %s%s%s |", side ? "(" : "", PAIRS[i][side]->name, side ? ")" : "");
            for (enum way way = 0; way < WAYS; way++) {
                printf(" %.1f", median(times[side][way]));
                if (side == 0)
                    printf(" = %.2f x", median(ratios[way]));
                printf(" |");
            }
            printf("\n");
        }
        end(&pair[0]);
        end(&pair[1]);
    }
    free(texts);
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++)
        compare((uint64_t)strtod(arguments[i], NULL));
    return found_all == 0;
}

/* What the C interface costs beside the kernel that it calls.
 *
 *     interface N ...     for filters of N keys each at 1 %, of integers and of URLs
 *
 * and prints a table. "direct" hashes a key and calls the fastest kernel of this processor, with no
 * layout, no type of key and no filter to ask for them in between. "C" is the interface: "value",
 * sqlite_bloom_filter_check_integer and _check_text; "key", sqlite_bloom_filter_check; "256 keys",
 * sqlite_bloom_filter_check_many. 41 times each in turn asks the same keys, half of them in the
 * filter, in random order, and the shortest time of each counts: what else the machine does strikes
 * both, and can only lengthen a turn. What a call makes of its answer is added up, and must be the
 * same. */
#define _POSIX_C_SOURCE 200809L

#include "sqlite-bloom-filter.h"

#include "filter/header.h"
#include "filter/layouts/kernels/kernel.h"
#include "hash/murmur3.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 41, SAMPLE = 1000000, TOGETHER = 256, URL_BYTES = 48 };

struct sample {
    struct bloom_shape shape;
    const uint8_t *payload;
    struct sqlite_bloom_filter *filter;
    const struct bloom_kernel *kernel;
    struct sqlite_bloom_key *keys; /* SAMPLE of them */
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static inline void hash_directly(const struct sqlite_bloom_key *key, bool is_text,
                                 uint64_t words[2]) {
    if (is_text)
        bloom_murmur3_bytes(key->value.bytes, key->length, words);
    else
        bloom_murmur3_integer(key->value.integer, words);
}

static uint64_t direct_one(const struct sample *sample, bool is_text) {
    uint64_t in = 0, words[2];
    for (size_t i = 0; i < SAMPLE; i++) {
        hash_directly(&sample->keys[i], is_text, words);
        in += (uint64_t)sample->kernel->check(&sample->shape, sample->payload, words[0]);
    }
    return in;
}

static uint64_t through_value(const struct sample *sample, bool is_text) {
    uint64_t in = 0;
    for (size_t i = 0; i < SAMPLE; i++) {
        const struct sqlite_bloom_key *key = &sample->keys[i];
        in += (uint64_t)(is_text ? sqlite_bloom_filter_check_text(sample->filter, key->value.bytes,
                                                                  key->length)
                                 : sqlite_bloom_filter_check_integer(sample->filter,
                                                                     key->value.integer));
    }
    return in;
}

static uint64_t through_key(const struct sample *sample, bool is_text) {
    uint64_t in = 0;
    (void)is_text;
    for (size_t i = 0; i < SAMPLE; i++)
        in += (uint64_t)sqlite_bloom_filter_check(sample->filter, sample->keys[i]);
    return in;
}

static uint64_t direct_many(const struct sample *sample, bool is_text) {
    uint64_t in = 0, words[TOGETHER + 1];
    uint8_t found[TOGETHER];
    for (size_t at = 0, count; at < SAMPLE; at += count) {
        count = SAMPLE - at < TOGETHER ? SAMPLE - at : TOGETHER;
        for (size_t i = 0; i < count; i++)
            hash_directly(&sample->keys[at + i], is_text, words + i);
        sample->kernel->check_many(&sample->shape, sample->payload, words, count, found);
        for (size_t i = 0; i < count; i++)
            in += found[i];
    }
    return in;
}

static uint64_t through_many(const struct sample *sample, bool is_text) {
    uint8_t found[TOGETHER];
    uint64_t in = 0;
    (void)is_text;
    for (size_t at = 0, count; at < SAMPLE; at += count) {
        count = SAMPLE - at < TOGETHER ? SAMPLE - at : TOGETHER;
        in += (uint64_t)sqlite_bloom_filter_check_many(sample->filter, sample->keys + at, count,
                                                       found);
    }
    return in;
}

typedef uint64_t ask_function(const struct sample *sample, bool is_text);

static const struct way {
    const char *name;
    ask_function *direct, *through;
} WAYS[] = {{"value", direct_one, through_value},
            {"key", direct_one, through_key},
            {"256 keys", direct_many, through_many}};

static void compare(const struct sample *sample, uint64_t size, bool is_text,
                    const struct way *way) {
    double direct = INFINITY, through = INFINITY;
    for (int turn = 0; turn < TURNS; turn++) {
        double begun = now();
        uint64_t one = way->direct(sample, is_text);
        double between = now();
        uint64_t other = way->through(sample, is_text);
        double ended = now();
        if (one != other || one < SAMPLE / 2) {
            fprintf(stderr, "interface: %" PRIu64 " and %" PRIu64 " keys are in\n", one, other);
            exit(1);
        }
        direct = fmin(direct, (between - begun) / SAMPLE);
        through = fmin(through, (ended - between) / SAMPLE);
    }
    printf("| %" PRIu64 " | %s | %s | %.1f | %.1f | %.2f |\n", size, is_text ? "URL" : "integer",
           way->name, direct, through, through / direct);
}

/* text has room for URL_BYTES, and stays while the key is used. */
static struct sqlite_bloom_key key_of(uint64_t number, bool is_text, char *text) {
    if (!is_text)
        return sqlite_bloom_integer_key((int64_t)number);
    int length = snprintf(text, URL_BYTES, "http://host%" PRIu64 ".example/page/%" PRIu64,
                          number % 1000, number);
    return sqlite_bloom_text_key(text, (size_t)length);
}

/* Half of the keys are those that were added, the others are not. */
static void measure(uint64_t size, bool is_text) {
    struct sample sample = {.keys = malloc(SAMPLE * sizeof *sample.keys)};
    char *texts = malloc((size_t)SAMPLE * URL_BYTES), problem[SQLITE_BLOOM_PROBLEM_SIZE];
    size_t length;
    if (sample.keys == NULL || texts == NULL ||
        sqlite_bloom_filter_new(&sample.filter, size, 0.01, NULL, NULL, problem) != 0)
        exit(1);
    for (uint64_t i = 0; i < size; i++)
        sqlite_bloom_filter_add(sample.filter, key_of(i, is_text, texts), problem);
    for (size_t i = 0; i < SAMPLE; i++) {
        uint64_t word = bloom_mix(i + 1);
        sample.keys[i] = key_of(word % size + (word >> 63) * size, is_text, texts + i * URL_BYTES);
    }
    const uint8_t *bytes = sqlite_bloom_filter_bytes(sample.filter, &length);
    if (!bloom_filter_read(&sample.shape, bytes, length, problem))
        exit(1);
    sample.payload = bytes + bloom_header_bytes(&sample.shape);
    const struct bloom_kernel *const *kernel = bloom_blocked_kernels;
    while (!bloom_kernel_is_supported(*kernel))
        kernel++;
    sample.kernel = *kernel;
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++)
        compare(&sample, size, is_text, &WAYS[i]);
    sqlite_bloom_filter_close(sample.filter);
    free(sample.keys);
    free(texts);
}

int main(int count, char **arguments) {
    printf("| keys in the filter | key | asked by | direct, ns | C, ns | C / direct |\n"
           "|---:|---|---|---:|---:|---:|\n");
    for (int i = 1; i < count; i++)
        for (int text = 0; text < 2; text++)
            measure((uint64_t)strtod(arguments[i], NULL), text);
    return 0;
}

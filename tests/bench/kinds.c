/* The kinds beside each other and beside a binary fuse filter as the paper describes it, hashes
 * given: what building and checking cost, and in how many bits. Prints Markdown.
 *
 *     kinds N ...     each number of keys; 1e7 takes 1 GB and half a minute
 *
 *   blocked, counting, fuse   this library's, p = 2^-8; fuse is built of a settled set of keys.
 *                             Settling (dropping duplicate keys), which every layout needs that is
 *                             sized for its keys, is shown apart
 *   fuse of 10 bits           p = 2^-10: numbers that do not end with a byte
 *   paper 3-wise, 4-wise      Graf and Lemire's algorithm with segments as long as they give them,
 *                             eight-bit numbers in bytes, all arrays of the whole set at once;
 *                             written for this comparison
 *
 * Times are processor time, since a shared machine takes a program's turn away: the least of five
 * rounds, in each of which all contenders had their turn. Keys that are asked are all absent, then
 * all present, each one by one.
 */
#define _POSIX_C_SOURCE 200809L

#include "keys.h"

#include "filter/key_set.h"
#include "filter/layout.h"
#include "filter/portable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5, WIDTH = 8, PACKED_WIDTH = 10 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Memory, counted, so that what building takes can be told. */
static uint64_t held, most;

static void *take(void *context, uint64_t bytes) {
    (void)context;
    uint64_t *memory = malloc((size_t)bytes + 16);
    if (memory == NULL) {
        fputs("kinds: out of memory\n", stderr);
        exit(1);
    }
    *memory = bytes;
    held += bytes;
    if (held > most)
        most = held;
    return memory + 2;
}

static void give(void *context, void *memory) {
    (void)context;
    if (memory == NULL)
        return;
    uint64_t *whole = (uint64_t *)memory - 2;
    held -= *whole;
    free(whole);
}

static const struct bloom_memory MEMORY = {.allocate = take, .release = give};

/* Zeros for a filter. All contenders get them alike: at the beginning of a large page, so that none
 * has more or fewer pages to be found. */
static uint8_t *zeros(uint64_t bytes) {
    const uint64_t page = 1 << 21;
    uint64_t whole = (bytes + page - 1) / page * page;
    uint8_t *memory = aligned_alloc((size_t)page, (size_t)whole);
    if (memory == NULL) {
        fputs("kinds: out of memory\n", stderr);
        exit(1);
    }
    memset(memory, 0, (size_t)whole);
    return memory;
}

/* ---- The paper's filter ---- */

struct paper {
    unsigned places; /* of a key: 3 or 4 */
    uint64_t seed, length, firsts, size;
    uint8_t *numbers;
};

static inline uint64_t paper_mix(uint64_t word) {
    word = (word ^ word >> 33) * UINT64_C(0xff51afd7ed558ccd);
    word = (word ^ word >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return word ^ word >> 33;
}

static inline void paper_places(const struct paper *paper, uint64_t hash, uint32_t *places) {
    uint64_t first = bloom_reduce(hash, paper->firsts), mask = paper->length - 1;
    places[0] = (uint32_t)first;
    places[1] = (uint32_t)((first + paper->length) ^ (hash >> 18 & mask));
    places[2] = (uint32_t)((first + 2 * paper->length) ^ (hash & mask));
    if (paper->places == 4)
        places[3] = (uint32_t)((first + 3 * paper->length) ^ (hash >> 36 & mask));
}

static inline uint8_t paper_number(const struct paper *paper, uint64_t hash,
                                   const uint32_t *places) {
    uint8_t number = (uint8_t)(hash ^ hash >> 32);
    for (unsigned i = 0; i < paper->places; i++)
        number ^= paper->numbers[places[i]];
    return number;
}

static bool paper_check(const struct paper *paper, uint64_t word) {
    uint32_t places[4];
    uint64_t hash = paper_mix(word + paper->seed);
    paper_places(paper, hash, places);
    return paper_number(paper, hash, places) == 0;
}

/* Called like this library's, through a pointer. In a loop of its own, inlined, it takes some 30 %
 * less where each check misses the cache: more of them are on their way at a time. */
static bool (*volatile paper_ask)(const struct paper *, uint64_t) = paper_check;

static void paper_size(struct paper *paper, uint64_t keys) {
    double n = (double)keys;
    double log_length = paper->places == 3 ? log(n) / log(3.33) + 2.25 : log(n) / log(2.91) - 0.5;
    double factor = paper->places == 3 ? fmax(1.125, 0.875 + 0.25 * log(1e6) / log(n))
                                       : fmax(1.075, 0.77 + 0.305 * log(6e5) / log(n));
    paper->length = UINT64_C(1) << (unsigned)fmin(log_length, 18);
    uint64_t segments = ((uint64_t)(n * factor) + paper->length - 1) / paper->length;
    paper->size = segments * paper->length;
    paper->firsts = (segments - (paper->places - 1)) * paper->length;
}

/* Keys by the segment of their first place, counts and sums of all places, a queue of places with
 * one key, and back. */
static void paper_build(struct paper *paper, const uint64_t *words, uint64_t keys) {
    paper_size(paper, keys);
    paper->numbers = zeros(paper->size);
    uint64_t *order = take(NULL, keys * sizeof *order),
             *sums = take(NULL, paper->size * sizeof *sums);
    uint8_t *counts = take(NULL, paper->size), *which = take(NULL, keys);
    uint32_t *queue = take(NULL, paper->size * sizeof *queue), places[4];
    uint64_t blocks = paper->firsts / paper->length;
    uint64_t *starts = take(NULL, (blocks + 1) * sizeof *starts);
    for (paper->seed = 1;; paper->seed++) {
        uint64_t peeled = 0, queued = 0;
        memset(starts, 0, (size_t)(blocks + 1) * sizeof *starts);
        memset(sums, 0, (size_t)paper->size * sizeof *sums);
        memset(counts, 0, (size_t)paper->size);
        for (uint64_t i = 0; i < keys; i++)
            starts[bloom_reduce(paper_mix(words[i] + paper->seed), blocks) + 1]++;
        for (uint64_t i = 0; i < blocks; i++)
            starts[i + 1] += starts[i];
        for (uint64_t i = 0; i < keys; i++) {
            uint64_t hash = paper_mix(words[i] + paper->seed);
            order[starts[bloom_reduce(hash, blocks)]++] = hash;
        }
        for (uint64_t i = 0; i < keys; i++) {
            paper_places(paper, order[i], places);
            for (unsigned j = 0; j < paper->places; j++) {
                counts[places[j]] = (uint8_t)((counts[places[j]] + 4) ^ j);
                sums[places[j]] ^= order[i];
            }
        }
        for (uint64_t i = 0; i < paper->size; i++) {
            queue[queued] = (uint32_t)i;
            queued += counts[i] >> 2 == 1;
        }
        while (queued > 0) {
            uint32_t place = queue[--queued];
            if (counts[place] >> 2 != 1)
                continue;
            uint64_t hash = sums[place];
            order[peeled] = hash;
            which[peeled++] = counts[place] & 3;
            paper_places(paper, hash, places);
            for (unsigned j = 0; j < paper->places; j++) {
                counts[places[j]] = (uint8_t)((counts[places[j]] - 4) ^ j);
                sums[places[j]] ^= hash;
                if (counts[places[j]] >> 2 == 1)
                    queue[queued++] = places[j];
            }
        }
        if (peeled == keys)
            break;
    }
    for (uint64_t i = keys; i-- > 0;) {
        paper_places(paper, order[i], places);
        paper->numbers[places[which[i]]] = paper_number(paper, order[i], places);
    }
    give(NULL, order);
    give(NULL, sums);
    give(NULL, counts);
    give(NULL, which);
    give(NULL, queue);
    give(NULL, starts);
}

/* ---- Contenders ---- */

enum { BLOCKED, COUNTING, FUSE, FUSE_PACKED, PAPER_3, PAPER_4, CONTENDERS };
static const char *const NAMES[] = {"blocked",         "counting",     "fuse",
                                    "fuse of 10 bits", "paper 3-wise", "paper 4-wise"};

struct result {
    double build, settle, absent, present, batch, bits, memory;
};

static void keep_least(double *kept, double found) {
    if (*kept == 0 || found < *kept)
        *kept = found;
}

static void ask(const struct bloom_shape *shape, const uint8_t *payload, const struct paper *paper,
                const uint64_t *words, uint64_t keys, struct result *result) {
    static volatile uint64_t seen;
    double times[2];
    for (unsigned present = 0; present < 2; present++) {
        const uint64_t *asked = words + (present ? 0 : keys);
        uint64_t found = 0;
        double begun = now();
        if (shape != NULL) {
            for (uint64_t i = 0; i < keys; i++)
                found += shape->layout->check(shape, payload, asked + i);
        } else {
            for (uint64_t i = 0; i < keys; i++)
                found += paper_ask(paper, asked[i]);
        }
        times[present] = (now() - begun) / (double)keys;
        if (present && found != keys) {
            fputs("kinds: a key is missed\n", stderr);
            exit(1);
        }
        seen = found;
    }
    (void)seen;
    keep_least(&result->absent, times[0]);
    keep_least(&result->present, times[1]);
    if (shape != NULL) {
        uint8_t *found = take(NULL, keys);
        memset(found, 0, (size_t)keys);
        double begun = now();
        shape->layout->check_many(shape, payload, words + keys, (size_t)keys, found);
        keep_least(&result->batch, (now() - begun) / (double)keys);
        give(NULL, found);
    }
}

static void run_layout(const struct bloom_layout *layout, const uint64_t *words, uint64_t keys,
                       unsigned width, struct result *result) {
    struct bloom_key_set set = {.layout = layout, .memory = &MEMORY};
    struct bloom_key_summary summary;
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    double begun = now();
    for (uint64_t i = 0; i < keys; i++)
        bloom_key_set_add(&set, words + i);
    bloom_key_set_settle(&set, &summary);
    keep_least(&result->settle, (now() - begun) / (double)keys);
    if (!bloom_shape_for_keys(&shape, layout, &summary, ldexp(1, -(int)width), problem)) {
        fprintf(stderr, "kinds: %s\n", problem);
        exit(1);
    }
    uint8_t *payload = zeros(bloom_payload_bytes(&shape));
    uint64_t before = most = held;
    begun = now();
    bloom_key_set_build(&set, &shape, payload);
    keep_least(&result->build, (now() - begun) / (double)keys);
    result->memory = (double)(most - before) / (double)keys;
    result->bits = (double)shape.bits / (double)keys;
    bloom_key_set_clear(&set);
    ask(&shape, payload, NULL, words, keys, result);
    free(payload);
}

static void run_paper(unsigned places, const uint64_t *words, uint64_t keys,
                      struct result *result) {
    struct paper paper = {.places = places};
    uint64_t before = most = held;
    double begun = now();
    paper_build(&paper, words, keys);
    keep_least(&result->build, (now() - begun) / (double)keys);
    result->memory = (double)(most - before) / (double)keys;
    result->bits = (double)paper.size * WIDTH / (double)keys;
    ask(NULL, NULL, &paper, words, keys, result);
    free(paper.numbers);
}

static void compare(uint64_t keys) {
    struct result results[CONTENDERS] = {{0}};
    uint64_t *words = take(NULL, 2 * keys * sizeof *words);
    for (uint64_t i = 0; i < 2 * keys; i++)
        words[i] = bench_random(i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        run_layout(&bloom_layout_blocked, words, keys, WIDTH, &results[BLOCKED]);
        run_layout(&bloom_layout_counting, words, keys, WIDTH, &results[COUNTING]);
        run_layout(&bloom_layout_fuse, words, keys, WIDTH, &results[FUSE]);
        run_layout(&bloom_layout_fuse, words, keys, PACKED_WIDTH, &results[FUSE_PACKED]);
        run_paper(3, words, keys, &results[PAPER_3]);
        run_paper(4, words, keys, &results[PAPER_4]);
    }
    give(NULL, words);
    printf("\n%.0f keys, p = 2^-%d; ns and bytes per key:\n\n", (double)keys, WIDTH);
    puts(
        "| | bits per key | build | memory for it | settle before | check absent | present | batch "
        "of absent |\n|---|---:|---:|---:|---:|---:|---:|---:|");
    for (unsigned i = 0; i < CONTENDERS; i++) {
        const struct result *result = &results[i];
        printf("| %s | %.2f | %.1f | %.1f | ", NAMES[i], result->bits, result->build,
               result->memory);
        printf(result->settle > 0 ? "%.1f" : "", result->settle);
        printf(" | %.1f | %.1f | ", result->absent, result->present);
        printf(result->batch > 0 ? "%.1f |\n" : " |\n", result->batch);
    }
    const struct result *fuse = &results[FUSE], *paper = &results[PAPER_3];
    printf(
        "\nfuse / paper 3-wise: build %.2f, check %.2f (absent), %.2f (present), of 10 bits %.2f. "
        "fuse / blocked: check %.2f. counting / blocked: check %.2f (absent), %.2f (present).\n",
        fuse->build / paper->build, fuse->absent / paper->absent, fuse->present / paper->present,
        results[FUSE_PACKED].absent / paper->absent, fuse->absent / results[BLOCKED].absent,
        results[COUNTING].absent / results[BLOCKED].absent,
        results[COUNTING].present / results[BLOCKED].present);
}

int main(int count, char **arguments) {
    if (count < 2) {
        fputs("usage: kinds N ...\n", stderr);
        return 1;
    }
    for (int i = 1; i < count; i++)
        compare((uint64_t)atof(arguments[i]));
    return 0;
}

/* The filter library alone, without SQLite: what an add and a check cost, and whether the rate is kept.
 *
 *     floor speed N ...   for filters of N keys each, p = 1 % and 0.1 %, hashes given and URLs hashed
 *     floor fill          the false-positive rate of a filter for 1,000,000 keys as it fills, up to twice
 * that floor space         bits per key against p floor kernels       the kernels that this processor
 * supports, fastest first
 *
 * and prints CSV. Contenders: layout blocked with every kernel that the processor supports (a kernel only
 * checks; adding is common to all), layout classic, and libbloom, the one Bloom filter library for C in
 * Debian. (The others there are for Go, Haskell, Perl and Python, and in C++ RocksDB's and LevelDB's, which
 * are internal to their storage engines and take all keys of a filter at once.)
 *
 * Adding: a filter is filled with its N keys in ten stretches, in turns one key at a time ("add") and 1024
 * keys a call ("bulk add"); all contenders fill the same stretch before any goes on to the next. Small
 * filters are filled several times. Checking: five times each contender in turn checks the same four million
 * keys that are not in the filter, and then as many (or all N, if fewer) that are. The time of a key is the
 * median over the stretches or turns. All memory has been touched before; keys lie in memory one after the
 * other, as they do in a scan, and their bits at random. With URLs, hashing is part of the time. libbloom has
 * no bulk functions.
 */
#define _POSIX_C_SOURCE 200809L

#include "floor.h"
#include "keys.h"

#include "filter/blocked_kernel.h"
#include "filter/hash.h"
#include "filter/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    STRETCHES = 10,
    ROUNDS_MOST = 20,
    TURNS = 5,
    SAMPLE = 4000000,
    URLS_MOST_SMALL_RATE = 20000000, /* above this URLs only at the first rate: it takes minutes */
    KEYS_ADDED_LEAST = 2000000,
    BULK = 1024,
    CONTENDERS_MOST = 8,
    TIMES_MOST = STRETCHES * ROUNDS_MOST,
    ALIGNMENT = 64
};

/* Where the numbers of keys that are never added begin. */
#define ABSENT (UINT64_C(1) << 40)

extern const struct bloom_layout floor_layout_avx2, floor_layout_portable;

enum operation {
    ADD,
    BULK_ADD,
    CHECK_ABSENT,
    CHECK_PRESENT,
    BULK_CHECK_ABSENT,
    BULK_CHECK_PRESENT,
    OPERATIONS
};

static const char *const OPERATION_NAMES[OPERATIONS] = {
    "add", "bulk add", "check absent", "check present", "bulk check absent", "bulk check present"};

struct contender {
    const char *name;
    struct bloom_shape shape; /* layout is NULL for libbloom */
    uint8_t *payload;
    bool borrowed; /* another contender fills and owns the payload */
    struct floor_libbloom *libbloom;
    uint64_t found; /* absent keys that the last check found */
    size_t times[OPERATIONS];
    double nanoseconds[OPERATIONS][TIMES_MOST];
};

static _Noreturn void fail(const char *problem) {
    fprintf(stderr, "floor: %s\n", problem);
    exit(EXIT_FAILURE);
}

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (memory == NULL)
        fail("out of memory");
    return memory;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static struct floor_keys keys_allocate(size_t room, bool text) {
    struct floor_keys keys = {.text = text};
    keys.first = allocate(room * sizeof *keys.first);
    keys.both = allocate(text ? 1 : 2 * room * sizeof *keys.both);
    keys.urls = allocate(text ? room * BENCH_URL_MOST : 1);
    keys.starts = allocate(text ? (room + 1) * sizeof *keys.starts : 1);
    return keys;
}

static void keys_free(struct floor_keys *keys) {
    free(keys->first);
    free(keys->both);
    free(keys->urls);
    free(keys->starts);
}

/* Makes the keys of the numbers from, from + step, ... */
static void keys_make(struct floor_keys *keys, uint64_t from, double step, size_t count) {
    uint32_t at = 0;
    keys->count = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = from + (uint64_t)((double)i * step);
        if (keys->text) {
            keys->starts[i] = at;
            at += (uint32_t)bench_url(number, keys->urls + at);
        } else {
            keys->first[i] = keys->both[2 * i] = bench_random(number);
            keys->both[2 * i + 1] = bench_random(~number);
        }
    }
    if (keys->text)
        keys->starts[count] = at;
}

static inline struct bloom_hash hash_of(const struct floor_keys *keys, size_t i) {
    return bloom_hash_bytes(keys->urls + keys->starts[i], keys->starts[i + 1] - keys->starts[i]);
}

/* The hash words of the keys from i on, as the layout wants them: those given, or those of URLs, in buffer.
 */
static const uint64_t *hash_many(const struct contender *contender, const struct floor_keys *keys,
                                 size_t from, size_t count, uint64_t *buffer) {
    unsigned width = contender->shape.layout->hash_words;
    if (!keys->text)
        return (width == 1 ? keys->first : keys->both) + from * width;
    for (size_t i = 0; i < count; i++) {
        struct bloom_hash hash = hash_of(keys, from + i);
        memcpy(buffer + i * width, hash.words, width * sizeof *buffer);
    }
    return buffer;
}

static void add_all(struct contender *contender, const struct floor_keys *keys, bool bulk) {
    const struct bloom_shape *shape = &contender->shape;
    uint64_t buffer[2 * BULK];
    if (shape->layout == NULL) {
        floor_libbloom_add(contender->libbloom, keys);
    } else if (bulk) {
        for (size_t i = 0; i < keys->count; i += BULK) {
            size_t count = keys->count - i < BULK ? keys->count - i : BULK;
            shape->layout->add(shape, contender->payload,
                               hash_many(contender, keys, i, count, buffer), count);
        }
    } else if (keys->text) {
        for (size_t i = 0; i < keys->count; i++) {
            struct bloom_hash hash = hash_of(keys, i);
            shape->layout->add(shape, contender->payload, hash.words, 1);
        }
    } else {
        const uint64_t *values = hash_many(contender, keys, 0, keys->count, buffer);
        for (size_t i = 0; i < keys->count; i++)
            shape->layout->add(shape, contender->payload, values + i * shape->layout->hash_words,
                               1);
    }
}

static uint64_t check_all(struct contender *contender, const struct floor_keys *keys, bool bulk) {
    const struct bloom_shape *shape = &contender->shape;
    uint64_t buffer[2 * BULK];
    uint8_t found[BULK];
    uint64_t all_found = 0;
    if (shape->layout == NULL) {
        all_found = floor_libbloom_check(contender->libbloom, keys);
    } else if (bulk) {
        for (size_t i = 0; i < keys->count; i += BULK) {
            size_t count = keys->count - i < BULK ? keys->count - i : BULK;
            shape->layout->check_many(shape, contender->payload,
                                      hash_many(contender, keys, i, count, buffer), count, found);
            for (size_t j = 0; j < count; j++)
                all_found += found[j];
        }
    } else if (keys->text) {
        for (size_t i = 0; i < keys->count; i++) {
            struct bloom_hash hash = hash_of(keys, i);
            all_found += shape->layout->check(shape, contender->payload, hash.words);
        }
    } else {
        const uint64_t *values = hash_many(contender, keys, 0, keys->count, buffer);
        for (size_t i = 0; i < keys->count; i++)
            all_found += shape->layout->check(shape, contender->payload,
                                              values + i * shape->layout->hash_words);
    }
    return all_found;
}

static void measure(struct contender *contender, enum operation operation,
                    const struct floor_keys *keys) {
    bool bulk = operation == BULK_ADD || operation >= BULK_CHECK_ABSENT;
    if (bulk && contender->shape.layout == NULL)
        return;
    if (contender->times[operation] == TIMES_MOST)
        fail("too many repetitions");
    double start = now();
    if (operation <= BULK_ADD) {
        add_all(contender, keys, bulk);
    } else {
        uint64_t found = check_all(contender, keys, bulk);
        if (operation == CHECK_ABSENT || operation == BULK_CHECK_ABSENT)
            contender->found = found;
        else if (found != keys->count)
            fail("a key that was added is not found");
    }
    contender->nanoseconds[operation][contender->times[operation]++] =
        (now() - start) / (double)keys->count;
}

static bool fills(const struct contender *contender, enum operation operation) {
    /* libbloom, which has no bulk add, takes the bulk stretches one by one, untimed. */
    return !contender->borrowed && (operation == ADD || contender->shape.layout != NULL);
}

static void fill(struct contender *contenders, size_t count, uint64_t keys_in_all,
                 struct floor_keys *keys) {
    uint64_t rounds = (KEYS_ADDED_LEAST + keys_in_all - 1) / keys_in_all;
    rounds = rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            if (contenders[i].shape.layout == NULL)
                floor_libbloom_reset(contenders[i].libbloom);
            else if (!contenders[i].borrowed)
                memset(contenders[i].payload, 0, (size_t)bloom_payload_bytes(&contenders[i].shape));
        for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
            uint64_t from = keys_in_all * stretch / STRETCHES;
            uint64_t to = keys_in_all * (stretch + 1) / STRETCHES;
            enum operation operation = stretch % 2 == 0 ? ADD : BULK_ADD;
            keys_make(keys, from, 1, (size_t)(to - from));
            for (size_t i = 0; i < count; i++) {
                struct contender *contender = &contenders[(i + stretch) % count];
                if (fills(contender, operation))
                    measure(contender, operation, keys);
                else if (!contender->borrowed)
                    add_all(contender, keys, false);
            }
        }
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(struct contender *contender, bool text, uint64_t keys, double rate) {
    const char *kind = text ? "URLs" : "hashes";
    for (int i = 0; i < OPERATIONS; i++) {
        double *times = contender->nanoseconds[i];
        size_t count = contender->times[i];
        if (count == 0)
            continue;
        qsort(times, count, sizeof *times, ascending);
        printf("%s,%" PRIu64 ",%g,%s,%s,%.2f,%.2f,%.2f\n", kind, keys, rate, contender->name,
               OPERATION_NAMES[i], (times[(count - 1) / 2] + times[count / 2]) / 2, times[0],
               times[count - 1]);
    }
    bool ours = contender->shape.layout != NULL;
    uint64_t bits = ours ? contender->shape.bits : floor_libbloom_bits(contender->libbloom);
    printf("%s,%" PRIu64 ",%g,%s,rate,%.6f,,\n", kind, keys, rate, contender->name,
           (double)contender->found / SAMPLE);
    printf("%s,%" PRIu64 ",%g,%s,bits per key,%.3f,,\n", kind, keys, rate, contender->name,
           (double)bits / (double)keys);
    fflush(stdout);
}

static struct bloom_shape shape_for(const struct bloom_layout *layout, uint64_t keys, double rate) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape;
    if (!bloom_shape_for(&shape, layout, keys, rate, problem))
        fail(problem);
    return shape;
}

/* The layout that uses a kernel; NULL when there is none. Layout blocked itself takes the first that is
 * supported. */
static const struct bloom_layout *layout_with(const char *kernel, bool first) {
    if (first)
        return &bloom_layout_blocked;
    if (strcmp(kernel, "avx2") == 0)
        return &floor_layout_avx2;
    return strcmp(kernel, "portable") == 0 ? &floor_layout_portable : NULL;
}

static size_t contenders_make(struct contender *contenders, uint64_t keys, double rate) {
    size_t count = 0;
    memset(contenders, 0, CONTENDERS_MOST * sizeof *contenders);
    for (size_t i = 0; bloom_blocked_kernels[i] != NULL; i++) {
        const struct bloom_blocked_kernel *kernel = bloom_blocked_kernels[i];
        const struct bloom_layout *layout = layout_with(kernel->name, count == 0);
        if (!kernel->supported() || layout == NULL)
            continue;
        contenders[count].name = kernel->name;
        contenders[count].shape = shape_for(layout, keys, rate);
        contenders[count].borrowed = count > 0;
        count++;
    }
    size_t bytes = (size_t)bloom_payload_bytes(&contenders[0].shape);
    contenders[0].payload = allocate(bytes);
    for (size_t i = 1; i < count; i++)
        contenders[i].payload = contenders[0].payload;
    contenders[count].name = "classic";
    contenders[count].shape = shape_for(&bloom_layout_classic, keys, rate);
    contenders[count].payload = allocate((size_t)bloom_payload_bytes(&contenders[count].shape));
    count++;
    contenders[count].name = "libbloom";
    contenders[count].libbloom = floor_libbloom_new((size_t)keys, rate);
    if (contenders[count].libbloom == NULL)
        fail("libbloom refuses a filter of that size");
    return count + 1;
}

static void speed(uint64_t keys_in_all, double rate, bool text) {
    static struct contender contenders[CONTENDERS_MOST];
    size_t count = contenders_make(contenders, keys_in_all, rate);
    size_t present = keys_in_all < SAMPLE ? (size_t)keys_in_all : SAMPLE;
    size_t stretch = (size_t)(keys_in_all / STRETCHES + 1);
    struct floor_keys keys = keys_allocate(stretch > SAMPLE ? stretch : SAMPLE, text);
    fill(contenders, count, keys_in_all, &keys);
    for (int kind = CHECK_ABSENT; kind <= CHECK_PRESENT; kind++) {
        if (kind == CHECK_ABSENT)
            keys_make(&keys, ABSENT, 1, SAMPLE);
        else
            keys_make(&keys, 0, (double)keys_in_all / (double)present, present);
        for (size_t turn = 0; turn < TURNS; turn++)
            for (size_t i = 0; i < count; i++) {
                struct contender *contender = &contenders[(i + turn) % count];
                measure(contender, (enum operation)kind, &keys);
                measure(contender, (enum operation)(kind + BULK_CHECK_ABSENT - CHECK_ABSENT),
                        &keys);
            }
    }
    for (size_t i = 0; i < count; i++) {
        print_times(&contenders[i], text, keys_in_all, rate);
        if (!contenders[i].borrowed)
            free(contenders[i].payload);
        floor_libbloom_free(contenders[i].libbloom);
    }
    keys_free(&keys);
}

/* Measured over absent keys, and as the bits themselves tell (what bloom_fpr returns). */
static void rate_by_fill(const struct bloom_layout *layout, uint64_t capacity, double rate) {
    enum { STEPS = 20, STEPS_TO_CAPACITY = 10 };
    struct floor_keys keys = keys_allocate(SAMPLE, false);
    struct floor_keys absent = keys_allocate(SAMPLE, false);
    struct contender contender = {.name = layout->name, .shape = shape_for(layout, capacity, rate)};
    contender.payload = allocate((size_t)bloom_payload_bytes(&contender.shape));
    memset(contender.payload, 0, (size_t)bloom_payload_bytes(&contender.shape));
    keys_make(&absent, ABSENT, 1, SAMPLE);
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t from = capacity * step / STEPS_TO_CAPACITY;
        uint64_t to = capacity * (step + 1) / STEPS_TO_CAPACITY;
        keys_make(&keys, from, 1, (size_t)(to - from));
        add_all(&contender, &keys, true);
        printf("%s,%.2f,%" PRIu32 ",%.5f,%.7f,%.7f\n", layout->name, (double)to / (double)capacity,
               contender.shape.probes, (double)contender.shape.bits / (double)to,
               (double)check_all(&contender, &absent, true) / SAMPLE,
               layout->estimate(&contender.shape, contender.payload).rate);
    }
    free(contender.payload);
    keys_free(&keys);
    keys_free(&absent);
}

/* Large filters, where rounding up to whole blocks and words does not show. */
static void space(void) {
    const uint64_t capacity = 100000000;
    const double steps[] = {5, 2, 1};
    printf("p,blocked,classic\n");
    for (double decade = 0.1; decade > 0.9e-9; decade /= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            double rate = decade * steps[i];
            printf("%g,%.4f,%.4f\n", rate,
                   (double)shape_for(&bloom_layout_blocked, capacity, rate).bits / (double)capacity,
                   (double)shape_for(&bloom_layout_classic, capacity, rate).bits /
                       (double)capacity);
        }
}

static void kernels(void) {
    for (size_t i = 0; bloom_blocked_kernels[i] != NULL; i++)
        if (bloom_blocked_kernels[i]->supported())
            puts(bloom_blocked_kernels[i]->name);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "speed") == 0 && count > 2) {
        const double rates[] = {0.01, 0.001};
        puts("keys,n,p,filter,operation,median,least,most");
        for (int i = 2; i < count; i++)
            for (size_t j = 0; j < sizeof rates / sizeof *rates; j++)
                for (int text = 0; text <= 1; text++) {
                    double keys = strtod(arguments[i], NULL);
                    if (!(keys >= 1000 && keys <= 2e8))
                        fail("N must be from 1000 to 2e8");
                    if (!text || j == 0 || keys <= URLS_MOST_SMALL_RATE)
                        speed((uint64_t)keys, rates[j], text);
                }
    } else if (strcmp(what, "fill") == 0) {
        puts("layout,filled,hashes,bits per key,measured,from bits");
        rate_by_fill(&bloom_layout_blocked, 1000000, 0.01);
        rate_by_fill(&bloom_layout_classic, 1000000, 0.01);
    } else if (strcmp(what, "space") == 0) {
        space();
    } else if (strcmp(what, "kernels") == 0) {
        kernels();
    } else {
        fail("usage: floor speed N ... | fill | space | kernels");
    }
}

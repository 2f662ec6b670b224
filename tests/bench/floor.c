/* The filter library alone, without SQLite: what an add and a check cost, and whether the rate is
 * kept.
 *
 *     floor speed N ...   for filters of N keys each, p = 1 % and 0.1 %, hashes given and hashed
 *     URLs
 *     floor fill          the false-positive rate of a filter for 1,000,000 keys as it fills
 *     floor space         bits per key against p
 *
 * and prints CSV. Contenders: layouts blocked and classic; libbloom, the one Bloom filter library
 * for C in Debian; and, when run.sh was given a folder with their sources, RocksDB's FastLocalBloom
 * with as many bits as layout blocked has, and libfilter's split block filter. (What else Debian
 * has is for Go, Haskell, Perl and Python.)
 *
 * Adding: a filter is filled with its N keys in ten stretches, in turns one key at a time ("add"),
 * 32 ("batch add") and 1024 keys a call ("bulk add"); all contenders fill the same stretch before
 * any goes on to the next. Small filters are filled several times. Checking, one key at a time, 32
 * ("batch check") and 1024 a call ("bulk check"): nine times each contender in turn checks the same
 * million keys that are not in the filter, then as many (or all N, if fewer) that are, then a mix
 * of both, half and half at random; so that what else the machine does at the time strikes all
 * alike. The time of a key is the median over the stretches or turns. All memory has been touched
 * before; keys lie in memory one after the other, as they do in a scan, and their bits at random.
 * With URLs, hashing is part of the time; filters that take only hashes are left out there. */
#define _POSIX_C_SOURCE 200809L

#include "floor.h"
#include "keys.h"

#include "filter/layout.h"
#include "hash/murmur3.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    STRETCHES = 10,
    ROUNDS_MOST = 20,
    TURNS = 9,
    SAMPLE = 1000000,
    URLS_MOST_SMALL_RATE = 20000000, /* above this URLs only at the first rate: it takes minutes */
    KEYS_ADDED_LEAST = 2000000,
    BULK = 1024,
    CONTENDERS_MOST = 5,
    TIMES_MOST = STRETCHES * ROUNDS_MOST,
    ALIGNMENT = 64
};

/* Where the numbers of keys that are never added begin. */
#define ABSENT (UINT64_C(1) << 40)

/* A measurement is an action with a number of keys in each call. */
enum action { ADD, CHECK_ABSENT, CHECK_PRESENT, CHECK_MIXED, ACTIONS };
static const char *const ACTION_NAMES[ACTIONS] = {"add", "check absent", "check present",
                                                  "check mixed"};
static const size_t CALLS[] = {1, 32, BULK};
static const char *const CALL_NAMES[] = {"", "batch ", "bulk "};
enum { CALL_COUNT = sizeof CALLS / sizeof *CALLS };

/* Keys in the forms in which filters take them. */
struct keys {
    size_t count;
    bool text;       /* URLs that are still to be hashed; otherwise hashes given */
    uint64_t *first; /* hashes given: the first word of each key's hash */
    uint64_t *both;  /* both words of each */
    char *urls;      /* URL i is urls[starts[i]] to urls[starts[i + 1] - 1] */
    uint32_t *starts;
};

struct contender {
    const char *name;
    const struct floor_peer *peer; /* NULL: a layout of ours */
    void *filter;                  /* the peer's */
    struct bloom_shape shape;      /* ours, as the next */
    uint8_t *payload;
    uint64_t found; /* absent keys that the last check found */
    size_t times[ACTIONS][CALL_COUNT];
    double nanoseconds[ACTIONS][CALL_COUNT][TIMES_MOST];
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

static struct keys keys_allocate(size_t room, bool text) {
    struct keys keys = {.text = text};
    keys.first = allocate(room * sizeof *keys.first);
    keys.both = allocate(2 * room * sizeof *keys.both);
    keys.urls = allocate(text ? room * BENCH_URL_MOST : 1);
    keys.starts = allocate((room + 1) * sizeof *keys.starts);
    return keys;
}

static void keys_free(struct keys *keys) {
    free(keys->first);
    free(keys->both);
    free(keys->urls);
    free(keys->starts);
}

/* Makes keys for an action: from the numbers from, from + step, ..., from as many numbers that are
 * never added, or from half of each. */
static void keys_make(struct keys *keys, enum action action, uint64_t from, double step,
                      size_t count) {
    uint32_t at = 0;
    keys->count = count;
    for (size_t i = 0; i < count; i++) {
        bool absent = action == CHECK_ABSENT ||
                      (action == CHECK_MIXED && bench_random(i ^ ABSENT) >> 63 != 0);
        uint64_t number = absent ? ABSENT + i : from + (uint64_t)((double)i * step);
        if (keys->text) {
            keys->starts[i] = at;
            at += (uint32_t)bench_url(number, keys->urls + at);
        } else {
            keys->first[i] = keys->both[2 * i] = bench_random(number);
            keys->both[2 * i + 1] = bench_random(~number);
        }
    }
    keys->starts[count] = at;
}

static const char *url(const struct keys *keys, size_t i, size_t *length) {
    *length = keys->starts[i + 1] - keys->starts[i];
    return keys->urls + keys->starts[i];
}

static void hash_url(const struct keys *keys, size_t i, uint64_t words[2]) {
    size_t length;
    const char *text = url(keys, i, &length);
    bloom_murmur3_bytes(text, length, words);
}

/* The hash words of the keys from i on, as the layout wants them: those given, or those of URLs, in
 * buffer. */
static const uint64_t *hash_many(const struct bloom_shape *shape, const struct keys *keys,
                                 size_t from, size_t count, uint64_t *buffer) {
    unsigned width = shape->layout->hash_words;
    if (!keys->text)
        return (width == 1 ? keys->first : keys->both) + from * width;
    for (size_t i = 0; i < count; i++) {
        uint64_t words[2];
        hash_url(keys, from + i, words);
        memcpy(buffer + i * width, words, width * sizeof *buffer);
    }
    return buffer;
}

/* One key a call: each loop alone in a function, so that all have the registers that they need. */
__attribute__((noinline)) static void add_singly(const struct bloom_shape *shape, uint8_t *payload,
                                                 const uint64_t *words, size_t count) {
    size_t width = shape->layout->hash_words;
    for (size_t i = 0; i < count; i++)
        shape->layout->add(shape, payload, words + i * width, 1);
}

__attribute__((noinline)) static uint64_t check_singly(const struct bloom_shape *shape,
                                                       const uint8_t *payload,
                                                       const uint64_t *words, size_t count) {
    size_t width = shape->layout->hash_words;
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += shape->layout->check(shape, payload, words + i * width);
    return found;
}

__attribute__((noinline)) static void add_singly_to_peer(const struct floor_peer *peer,
                                                         void *filter, const struct keys *keys) {
    size_t length;
    for (size_t i = 0; !keys->text && i < keys->count; i++)
        peer->add(filter, keys->first + i);
    for (size_t i = 0; keys->text && i < keys->count; i++) {
        const char *text = url(keys, i, &length);
        peer->add_bytes(filter, text, length);
    }
}

__attribute__((noinline)) static uint64_t
check_singly_in_peer(const struct floor_peer *peer, const void *filter, const struct keys *keys) {
    uint64_t found = 0;
    size_t length;
    for (size_t i = 0; !keys->text && i < keys->count; i++)
        found += peer->check(filter, keys->first + i);
    for (size_t i = 0; keys->text && i < keys->count; i++) {
        const char *text = url(keys, i, &length);
        found += peer->check_bytes(filter, text, length);
    }
    return found;
}

/* By so many keys a call. */
static void add_by(struct contender *contender, const struct keys *keys, size_t by) {
    const struct bloom_shape *shape = &contender->shape;
    const struct floor_peer *peer = contender->peer;
    uint64_t buffer[2 * BULK];
    if (by == 1 && peer != NULL) {
        add_singly_to_peer(peer, contender->filter, keys);
    } else if (by == 1 && !keys->text) {
        add_singly(shape, contender->payload, hash_many(shape, keys, 0, 0, NULL), keys->count);
    } else {
        for (size_t i = 0; i < keys->count; i += by) {
            size_t count = keys->count - i < by ? keys->count - i : by;
            if (peer != NULL)
                peer->add_many(contender->filter, keys->first + i, count);
            else
                shape->layout->add(shape, contender->payload,
                                   hash_many(shape, keys, i, count, buffer), count);
        }
    }
}

static uint64_t check_by(const struct contender *contender, const struct keys *keys, size_t by) {
    const struct bloom_shape *shape = &contender->shape;
    const struct floor_peer *peer = contender->peer;
    uint64_t buffer[2 * BULK], all_found = 0;
    uint8_t found[BULK];
    if (by == 1 && peer != NULL)
        return check_singly_in_peer(peer, contender->filter, keys);
    if (by == 1 && !keys->text)
        return check_singly(shape, contender->payload, hash_many(shape, keys, 0, 0, NULL),
                            keys->count);
    for (size_t i = 0; by == 1 && i < keys->count; i++) {
        hash_url(keys, i, buffer);
        all_found += shape->layout->check(shape, contender->payload, buffer);
    }
    for (size_t i = 0; by > 1 && i < keys->count; i += by) {
        size_t count = keys->count - i < by ? keys->count - i : by;
        if (peer != NULL)
            peer->check_many(contender->filter, keys->first + i, count, found);
        else
            bloom_check_many(shape, contender->payload, hash_many(shape, keys, i, count, buffer),
                             count, found);
        for (size_t j = 0; j < count; j++)
            all_found += found[j];
    }
    return all_found;
}

static bool offers(const struct contender *contender, enum action action, size_t by) {
    const struct floor_peer *peer = contender->peer;
    return by == 1 || peer == NULL ||
           (action == ADD ? peer->add_many != NULL : peer->check_many != NULL);
}

static void measure(struct contender *contender, enum action action, size_t call,
                    const struct keys *keys) {
    size_t by = CALLS[call];
    if (!offers(contender, action, by))
        return;
    if (contender->times[action][call] == TIMES_MOST)
        fail("too many repetitions");
    double start = now();
    if (action == ADD) {
        add_by(contender, keys, by);
    } else {
        uint64_t found = check_by(contender, keys, by);
        if (action == CHECK_ABSENT)
            contender->found = found;
        else if (action == CHECK_PRESENT && found != keys->count)
            fail("a key that was added is not found");
    }
    contender->nanoseconds[action][call][contender->times[action][call]++] =
        (now() - start) / (double)keys->count;
}

static void fill(struct contender *contenders, size_t count, uint64_t keys_in_all,
                 struct keys *keys) {
    uint64_t rounds = (KEYS_ADDED_LEAST + keys_in_all - 1) / keys_in_all;
    rounds = rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            if (contenders[i].peer != NULL)
                contenders[i].peer->reset(contenders[i].filter);
            else
                memset(contenders[i].payload, 0, (size_t)bloom_payload_bytes(&contenders[i].shape));
        for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
            uint64_t from = keys_in_all * stretch / STRETCHES;
            uint64_t to = keys_in_all * (stretch + 1) / STRETCHES;
            size_t call = stretch % CALL_COUNT;
            keys_make(keys, ADD, from, 1, (size_t)(to - from));
            for (size_t i = 0; i < count; i++) {
                struct contender *contender = &contenders[(i + stretch) % count];
                if (offers(contender, ADD, CALLS[call]))
                    measure(contender, ADD, call, keys);
                else
                    add_by(contender, keys, 1); /* untimed */
            }
        }
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(struct contender *contender, bool text, uint64_t keys, double rate) {
    const struct floor_peer *peer = contender->peer;
    uint64_t bits = peer != NULL ? peer->bits(contender->filter) : contender->shape.bits;
    char start[100];
    snprintf(start, sizeof start, "%s,%" PRIu64 ",%g,%s", text ? "URLs" : "hashes", keys, rate,
             contender->name);
    for (int action = 0; action < ACTIONS; action++)
        for (size_t call = 0; call < CALL_COUNT; call++) {
            double *times = contender->nanoseconds[action][call];
            size_t count = contender->times[action][call];
            if (count == 0)
                continue;
            qsort(times, count, sizeof *times, ascending);
            printf("%s,%s%s,%.2f,%.2f,%.2f\n", start, CALL_NAMES[call], ACTION_NAMES[action],
                   (times[(count - 1) / 2] + times[count / 2]) / 2, times[0], times[count - 1]);
        }
    printf("%s,rate,%.6f,,\n", start, (double)contender->found / SAMPLE);
    printf("%s,bits per key,%.3f,,\n", start, (double)bits / (double)keys);
    fflush(stdout);
}

static struct bloom_shape shape_for(const struct bloom_layout *layout, uint64_t keys, double rate) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape = {.layout = layout, .rate = rate};
    if (!bloom_shape_size(&shape, keys, problem))
        fail(problem);
    return shape;
}

static struct contender *contender_of(struct contender *contender,
                                      const struct bloom_layout *layout, uint64_t keys,
                                      double rate) {
    size_t bytes;
    contender->name = layout->name;
    contender->shape = shape_for(layout, keys, rate);
    bytes = (size_t)bloom_payload_bytes(&contender->shape);
    contender->payload = memset(allocate(bytes), 0, bytes);
    return contender + 1;
}

static struct contender *contender_of_peer(struct contender *contender,
                                           const struct floor_peer *peer, uint64_t keys,
                                           double rate) {
    contender->name = peer->name;
    contender->peer = peer;
    contender->filter = peer->make(keys, rate, shape_for(&bloom_layout_blocked, keys, rate).bits);
    if (contender->filter == NULL)
        fail("a peer refuses a filter of that size");
    return contender + 1;
}

static size_t contenders_make(struct contender *contenders, uint64_t keys, double rate, bool text) {
    static const struct floor_peer *const PEERS[] = {
#ifdef FLOOR_ROCKSDB
        &floor_rocksdb,
#endif
#ifdef FLOOR_LIBFILTER
        &floor_libfilter,
#endif
        &floor_libbloom,
    };
    struct contender *next = contenders;
    memset(contenders, 0, CONTENDERS_MOST * sizeof *contenders);
    next = contender_of(next, &bloom_layout_blocked, keys, rate);
    next = contender_of(next, &bloom_layout_classic, keys, rate);
    for (size_t i = 0; i < sizeof PEERS / sizeof *PEERS; i++)
        if (!text || PEERS[i]->add_bytes != NULL)
            next = contender_of_peer(next, PEERS[i], keys, rate);
    return (size_t)(next - contenders);
}

static void speed(uint64_t keys_in_all, double rate, bool text) {
    static struct contender contenders[CONTENDERS_MOST];
    size_t count = contenders_make(contenders, keys_in_all, rate, text);
    size_t present = keys_in_all < SAMPLE ? (size_t)keys_in_all : SAMPLE;
    double step = (double)keys_in_all / (double)present;
    struct keys asked[ACTIONS]; /* by each way of checking */
    asked[ADD] = keys_allocate((size_t)(keys_in_all / STRETCHES + 1), text);
    fill(contenders, count, keys_in_all, &asked[ADD]);
    for (enum action action = CHECK_ABSENT; action < ACTIONS; action++) {
        asked[action] = keys_allocate(SAMPLE, text);
        keys_make(&asked[action], action, 0, step, action == CHECK_ABSENT ? SAMPLE : present);
    }
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t call = 0; call < CALL_COUNT; call++)
            for (enum action action = CHECK_ABSENT; action < ACTIONS; action++)
                for (size_t i = 0; i < count; i++)
                    measure(&contenders[(i + turn) % count], action, call, &asked[action]);
    for (struct contender *contender = contenders; contender < contenders + count; contender++) {
        print_times(contender, text, keys_in_all, rate);
        free(contender->payload);
        if (contender->peer != NULL)
            contender->peer->release(contender->filter);
    }
    for (enum action action = ADD; action < ACTIONS; action++)
        keys_free(&asked[action]);
}

/* Measured over absent keys, and as the bits themselves tell (what bloom_fpr returns). */
static void rate_by_fill(const struct bloom_layout *layout, uint64_t capacity, double rate) {
    enum { STEPS = 20, STEPS_TO_CAPACITY = 10 };
    static struct contender contender;
    struct keys keys = keys_allocate(SAMPLE, false), absent = keys_allocate(SAMPLE, false);
    contender_of(&contender, layout, capacity, rate);
    keys_make(&absent, CHECK_ABSENT, 0, 1, SAMPLE);
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t from = capacity * step / STEPS_TO_CAPACITY;
        uint64_t to = capacity * (step + 1) / STEPS_TO_CAPACITY;
        keys_make(&keys, ADD, from, 1, (size_t)(to - from));
        add_by(&contender, &keys, BULK);
        printf("%s,%.2f,%" PRIu32 ",%.5f,%.7f,%.7f\n", layout->name, (double)to / (double)capacity,
               contender.shape.probes, (double)contender.shape.bits / (double)to,
               (double)check_by(&contender, &absent, BULK) / SAMPLE,
               layout->estimate(&contender.shape, contender.payload).rate);
    }
    free(contender.payload);
    keys_free(&keys);
    keys_free(&absent);
}

/* Large filters, where rounding up to whole blocks and words does not show. */
static void space(void) {
    static const struct bloom_layout *const LAYOUTS[] = {
        &bloom_layout_blocked, &bloom_layout_classic, &bloom_layout_fuse, &bloom_layout_counting};
    const uint64_t capacity = 100000000;
    const double steps[] = {5, 2, 1};
    printf("p,blocked,classic,fuse,counting\n");
    for (double decade = 0.1; decade > 0.9e-9; decade /= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            printf("%g", decade * steps[i]);
            for (size_t j = 0; j < sizeof LAYOUTS / sizeof *LAYOUTS; j++)
                printf(",%.4f", (double)shape_for(LAYOUTS[j], capacity, decade * steps[i]).bits /
                                    (double)capacity);
            printf("\n");
        }
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
    } else {
        fail("usage: floor speed N ... | fill | space");
    }
}

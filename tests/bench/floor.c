/* The filter library alone, without SQLite: what an add and a check cost, and whether the rate is
 * kept.
 *
 *     floor speed N ...   for filters of N keys each, p = 1 % and 0.1 %, hashes given and hashed
 *     URLs
 *     floor fill          the false-positive rate of a filter for 1,000,000 keys as it fills
 *     floor space         bits per key against p
 *     floor hash          the library's hash beside XXH3
 *     floor kernels       the kernels that this processor supports, fastest first
 *
 * and prints CSV. Contenders: layout blocked as it is shipped and with every kernel that the
 * processor supports called directly; layout classic; libbloom, the one Bloom filter library for C
 * in Debian; and, when run.sh was given a folder with their sources, RocksDB's FastLocalBloom with
 * as many bits as layout blocked has, and libfilter's split block filter. (What else Debian has is
 * for Go, Haskell, Perl and Python.)
 *
 * Adding: a filter is filled with its N keys in ten stretches, in turns one key at a time ("add"),
 * 32 ("batch add") and 1024 keys a call ("bulk add"); all contenders fill the same stretch before
 * any goes on to the next. Small filters are filled several times. Checking, one key at a time, 32
 * ("batch check") and 1024 a call ("bulk check"): nine times each contender in turn checks the same
 * million keys that are not in the filter, then as many (or all N, if fewer) that are, then a mix
 * of both, half and half at random; so that what else the machine does at the time strikes all
 * alike. The time of a key is the median over the stretches or turns. All memory has been touched
 * before; keys lie in memory one after the other, as they do in a scan, and their bits at random.
 * With URLs, hashing is part of the time; the kernels and the filters that take hashes as layout
 * blocked does are left out there. libbloom has no functions for many keys, libfilter none either;
 * "direct" is a kernel called without the layout before it. */
#define _POSIX_C_SOURCE 200809L

#include "floor.h"
#include "keys.h"

#include "filter/layout.h"
#include "filter/layouts/kernels/kernel.h"
#include "../library/shorthand.h"

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
    KERNELS_MOST = 4,
    CONTENDERS_MOST = KERNELS_MOST + 5,
    TIMES_MOST = STRETCHES * ROUNDS_MOST,
    ALIGNMENT = 64
};

/* Where the numbers of keys that are never added begin. */
#define ABSENT (UINT64_C(1) << 40)

/* What is measured: a deed, with so many keys a call. */
enum deed { ADD, CHECK_ABSENT, CHECK_PRESENT, CHECK_MIXED, DEEDS };
static const char *const DEED_NAMES[DEEDS] = {"add", "check absent", "check present",
                                              "check mixed"};
static const size_t CALLS[] = {1, 32, BULK};
static const char *const CALL_NAMES[] = {"", "batch ", "bulk "};
enum { CALL_COUNT = sizeof CALLS / sizeof *CALLS };

struct contender {
    const char *name;
    struct bloom_shape shape; /* layout is NULL for those of others */
    bloom_word_check *check;  /* a kernel's, of one key */
    uint8_t *payload;
    struct floor_libbloom *libbloom;
    const struct floor_peer *peer;
    void *filter;   /* the peer's */
    uint64_t found; /* absent keys that the last check found */
    size_t times[DEEDS][CALL_COUNT];
    double nanoseconds[DEEDS][CALL_COUNT][TIMES_MOST];
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

/* The hash words of the keys from i on, as the layout wants them: those given, or those of URLs, in
 * buffer. */
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

/* One key a call, hashes given: each loop alone in a function, so that all have the registers that
 * they need. */
__attribute__((noinline)) static void add_singly(const struct bloom_shape *shape, uint8_t *payload,
                                                 const uint64_t *words, size_t count) {
    size_t width = shape->layout->hash_words;
    for (size_t i = 0; i < count; i++)
        shape->layout->add(shape, payload, words + i * width, 1);
}

__attribute__((noinline)) static void add_singly_to_peer(const struct floor_peer *peer,
                                                         void *filter, const uint64_t *hashes,
                                                         size_t count) {
    for (size_t i = 0; i < count; i++)
        peer->add(filter, hashes + i);
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

__attribute__((noinline)) static uint64_t
check_singly_by_kernel(bloom_word_check *check, const struct bloom_shape *shape,
                       const uint8_t *payload, const uint64_t *words, size_t count) {
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += check(shape, payload, words[i]) != 0;
    return found;
}

__attribute__((noinline)) static uint64_t check_singly_in_peer(const struct floor_peer *peer,
                                                               const void *filter,
                                                               const uint64_t *hashes,
                                                               size_t count) {
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += peer->check(filter, hashes + i);
    return found;
}

static const uint64_t *words_given(const struct contender *contender,
                                   const struct floor_keys *keys) {
    return contender->shape.layout->hash_words == 1 ? keys->first : keys->both;
}

/* By so many keys a call. */
static void add_by(struct contender *contender, const struct floor_keys *keys, size_t by) {
    const struct bloom_shape *shape = &contender->shape;
    const struct floor_peer *peer = contender->peer;
    uint64_t buffer[2 * BULK];
    if (contender->libbloom != NULL) {
        floor_libbloom_add(contender->libbloom, keys);
    } else if (peer != NULL && by == 1) {
        add_singly_to_peer(peer, contender->filter, keys->first, keys->count);
    } else if (peer != NULL) {
        for (size_t i = 0; i < keys->count; i += by)
            peer->add_many(contender->filter, keys->first + i,
                           keys->count - i < by ? keys->count - i : by);
    } else if (by == 1 && !keys->text) {
        add_singly(shape, contender->payload, words_given(contender, keys), keys->count);
    } else {
        for (size_t i = 0; i < keys->count; i += by) {
            size_t count = keys->count - i < by ? keys->count - i : by;
            shape->layout->add(shape, contender->payload,
                               hash_many(contender, keys, i, count, buffer), count);
        }
    }
}

static uint64_t check_by(struct contender *contender, const struct floor_keys *keys, size_t by) {
    const struct bloom_shape *shape = &contender->shape;
    const struct floor_peer *peer = contender->peer;
    uint64_t buffer[2 * BULK];
    uint8_t found[BULK];
    uint64_t all_found = 0;
    if (contender->libbloom != NULL)
        return floor_libbloom_check(contender->libbloom, keys);
    if (by > 1) {
        for (size_t i = 0; i < keys->count; i += by) {
            size_t count = keys->count - i < by ? keys->count - i : by;
            if (peer != NULL)
                peer->check_many(contender->filter, keys->first + i, count, found);
            else
                bloom_check_many(shape, contender->payload,
                                 hash_many(contender, keys, i, count, buffer), count, found);
            for (size_t j = 0; j < count; j++)
                all_found += found[j];
        }
    } else if (peer != NULL) {
        all_found = check_singly_in_peer(peer, contender->filter, keys->first, keys->count);
    } else if (contender->check != NULL) {
        all_found = check_singly_by_kernel(contender->check, shape, contender->payload, keys->first,
                                           keys->count);
    } else if (keys->text) {
        for (size_t i = 0; i < keys->count; i++) {
            struct bloom_hash hash = hash_of(keys, i);
            all_found += shape->layout->check(shape, contender->payload, hash.words);
        }
    } else {
        all_found =
            check_singly(shape, contender->payload, words_given(contender, keys), keys->count);
    }
    return all_found;
}

static bool offers(const struct contender *contender, enum deed deed, size_t by) {
    if (by == 1)
        return true;
    if (contender->peer != NULL)
        return deed == ADD ? contender->peer->add_many != NULL
                           : contender->peer->check_many != NULL;
    return contender->shape.layout != NULL;
}

static void measure(struct contender *contender, enum deed deed, size_t call,
                    const struct floor_keys *keys) {
    size_t by = CALLS[call];
    if (!offers(contender, deed, by))
        return;
    if (contender->times[deed][call] == TIMES_MOST)
        fail("too many repetitions");
    double start = now();
    if (deed == ADD) {
        add_by(contender, keys, by);
    } else {
        uint64_t found = check_by(contender, keys, by);
        if (deed == CHECK_ABSENT)
            contender->found = found;
        else if (deed == CHECK_PRESENT && found != keys->count)
            fail("a key that was added is not found");
    }
    contender->nanoseconds[deed][call][contender->times[deed][call]++] =
        (now() - start) / (double)keys->count;
}

static void reset(struct contender *contender) {
    if (contender->libbloom != NULL)
        floor_libbloom_reset(contender->libbloom);
    else if (contender->peer != NULL)
        contender->peer->reset(contender->filter);
    else
        memset(contender->payload, 0, (size_t)bloom_payload_bytes(&contender->shape));
}

static void fill(struct contender *contenders, size_t count, uint64_t keys_in_all,
                 struct floor_keys *keys) {
    uint64_t rounds = (KEYS_ADDED_LEAST + keys_in_all - 1) / keys_in_all;
    rounds = rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++)
            reset(&contenders[i]);
        for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
            uint64_t from = keys_in_all * stretch / STRETCHES;
            uint64_t to = keys_in_all * (stretch + 1) / STRETCHES;
            size_t call = stretch % CALL_COUNT;
            keys_make(keys, from, 1, (size_t)(to - from));
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

static uint64_t bits_of(const struct contender *contender) {
    if (contender->libbloom != NULL)
        return floor_libbloom_bits(contender->libbloom);
    return contender->peer != NULL ? contender->peer->bits(contender->filter)
                                   : contender->shape.bits;
}

static void print_times(struct contender *contender, bool text, uint64_t keys, double rate) {
    const char *kind = text ? "URLs" : "hashes";
    for (int deed = 0; deed < DEEDS; deed++)
        for (size_t call = 0; call < CALL_COUNT; call++) {
            double *times = contender->nanoseconds[deed][call];
            size_t count = contender->times[deed][call];
            if (count == 0)
                continue;
            qsort(times, count, sizeof *times, ascending);
            printf("%s,%" PRIu64 ",%g,%s,%s%s,%.2f,%.2f,%.2f\n", kind, keys, rate, contender->name,
                   CALL_NAMES[call], DEED_NAMES[deed],
                   (times[(count - 1) / 2] + times[count / 2]) / 2, times[0], times[count - 1]);
        }
    printf("%s,%" PRIu64 ",%g,%s,rate,%.6f,,\n", kind, keys, rate, contender->name,
           (double)contender->found / SAMPLE);
    printf("%s,%" PRIu64 ",%g,%s,bits per key,%.3f,,\n", kind, keys, rate, contender->name,
           (double)bits_of(contender) / (double)keys);
    fflush(stdout);
}

static struct bloom_shape shape_for(const struct bloom_layout *layout, uint64_t keys, double rate) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape;
    if (!bloom_shape_for(&shape, layout, keys, rate, problem))
        fail(problem);
    return shape;
}

static struct contender *contender_of(struct contender *contender, const char *name,
                                      const struct bloom_layout *layout, uint64_t keys,
                                      double rate) {
    contender->name = name;
    contender->shape = shape_for(layout, keys, rate);
    contender->payload = allocate((size_t)bloom_payload_bytes(&contender->shape));
    return contender + 1;
}

static struct contender *contender_of_peer(struct contender *contender,
                                           const struct floor_peer *peer, uint64_t keys,
                                           double rate) {
    uint64_t bits = shape_for(&bloom_layout_blocked, keys, rate).bits;
    contender->name = peer->name;
    contender->peer = peer;
    contender->filter = peer->make(keys, rate, bits);
    if (contender->filter == NULL)
        fail("a peer refuses a filter of that size");
    return contender + 1;
}

/* The kernels as layouts: their functions for many keys are those of a layout. */
static struct contender *contenders_of_kernels(struct contender *contender, uint64_t keys,
                                               double rate) {
    static struct bloom_layout layouts[KERNELS_MOST];
    static char names[KERNELS_MOST][32];
    for (size_t i = 0; bloom_blocked_kernels[i] != NULL && i < KERNELS_MOST; i++) {
        const struct bloom_kernel *kernel = bloom_blocked_kernels[i];
        if (!bloom_kernel_is_supported(kernel))
            continue;
        layouts[i] = bloom_layout_blocked;
        layouts[i].add = kernel->add;
        layouts[i].check_many = kernel->check_many;
        snprintf(names[i], sizeof names[i], "%s direct", kernel->name);
        contender->check = kernel->check;
        contender = contender_of(contender, names[i], &layouts[i], keys, rate);
    }
    return contender;
}

static size_t contenders_make(struct contender *contenders, uint64_t keys, double rate, bool text) {
    struct contender *next = contenders;
    memset(contenders, 0, CONTENDERS_MOST * sizeof *contenders);
    next = contender_of(next, "blocked", &bloom_layout_blocked, keys, rate);
    if (!text) {
        next = contenders_of_kernels(next, keys, rate);
#ifdef FLOOR_ROCKSDB
        next = contender_of_peer(next, &floor_rocksdb, keys, rate);
#endif
#ifdef FLOOR_LIBFILTER
        next = contender_of_peer(next, &floor_libfilter, keys, rate);
#endif
        (void)contender_of_peer; /* for a build without peers */
    }
    next = contender_of(next, "classic", &bloom_layout_classic, keys, rate);
    next->name = "libbloom";
    next->libbloom = floor_libbloom_new((size_t)keys, rate);
    if (next->libbloom == NULL)
        fail("libbloom refuses a filter of that size");
    return (size_t)(next + 1 - contenders);
}

/* The keys that are to be checked. present of all keys of the filter were added. */
static void keys_to_check(struct floor_keys *keys, struct floor_keys *other, enum deed deed,
                          uint64_t keys_in_all, size_t present) {
    double step = (double)keys_in_all / (double)present;
    if (deed == CHECK_ABSENT)
        keys_make(keys, ABSENT, 1, SAMPLE);
    else
        keys_make(keys, 0, step, present);
    if (deed != CHECK_MIXED)
        return;
    keys_make(other, ABSENT, 1, present);
    uint32_t at = 0;
    static char url[BENCH_URL_MOST];
    for (size_t i = 0; i < present; i++) {
        bool absent = bench_random(i ^ ABSENT) >> 63 != 0;
        if (!keys->text && absent) {
            keys->first[i] = other->first[i];
            memcpy(keys->both + 2 * i, other->both + 2 * i, 2 * sizeof *keys->both);
        } else if (keys->text) {
            uint64_t number = absent ? ABSENT + i : (uint64_t)((double)i * step);
            size_t length = bench_url(number, url);
            memcpy(keys->urls + at, url, length);
            keys->starts[i] = at;
            at += (uint32_t)length;
        }
    }
    if (keys->text)
        keys->starts[present] = at;
}

static void speed(uint64_t keys_in_all, double rate, bool text) {
    static struct contender contenders[CONTENDERS_MOST];
    size_t count = contenders_make(contenders, keys_in_all, rate, text);
    size_t present = keys_in_all < SAMPLE ? (size_t)keys_in_all : SAMPLE;
    size_t stretch = (size_t)(keys_in_all / STRETCHES + 1);
    struct floor_keys keys = keys_allocate(stretch > SAMPLE ? stretch : SAMPLE, text);
    struct floor_keys other = keys_allocate(SAMPLE, false);
    struct floor_keys asked[DEEDS]; /* by each way of checking */
    fill(contenders, count, keys_in_all, &keys);
    for (int deed = CHECK_ABSENT; deed < DEEDS; deed++) {
        asked[deed] = keys_allocate(SAMPLE, text);
        keys_to_check(&asked[deed], &other, (enum deed)deed, keys_in_all, present);
    }
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t call = 0; call < CALL_COUNT; call++)
            for (int deed = CHECK_ABSENT; deed < DEEDS; deed++)
                for (size_t i = 0; i < count; i++)
                    measure(&contenders[(i + turn) % count], (enum deed)deed, call, &asked[deed]);
    for (size_t i = 0; i < count; i++) {
        struct contender *contender = &contenders[i];
        print_times(contender, text, keys_in_all, rate);
        free(contender->payload);
        floor_libbloom_free(contender->libbloom);
        if (contender->peer != NULL)
            contender->peer->release(contender->filter);
    }
    for (int deed = CHECK_ABSENT; deed < DEEDS; deed++)
        keys_free(&asked[deed]);
    keys_free(&keys);
    keys_free(&other);
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
    const uint64_t capacity = 100000000;
    const double steps[] = {5, 2, 1};
    printf("p,blocked,classic,fuse,counting\n");
    for (double decade = 0.1; decade > 0.9e-9; decade /= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            double rate = decade * steps[i], n = (double)capacity;
            char problem[BLOOM_PROBLEM_SIZE];
            struct bloom_shape fuse;
            if (!bloom_shape_for(&fuse, &bloom_layout_fuse, capacity, rate, problem))
                fail(problem);
            printf("%g,%.4f,%.4f,%.4f,%.4f\n", rate,
                   (double)shape_for(&bloom_layout_blocked, capacity, rate).bits / n,
                   (double)shape_for(&bloom_layout_classic, capacity, rate).bits / n,
                   (double)fuse.bits / n,
                   (double)shape_for(&bloom_layout_counting, capacity, rate).bits / n);
        }
}

static uint64_t hash_murmur(const void *bytes, size_t length) {
    return bloom_hash_bytes(bytes, length).words[0];
}

/* Keys of one length, or of lengths that follow one another at random, in cache; in turns. */
static void hash_row(const char *keys, size_t least, size_t most) {
    enum { TEXTS = 1024, ROUNDS = 200 };
    static char text[TEXTS][256];
    static size_t lengths[TEXTS];
    static uint64_t (*const hashes[])(const void *, size_t) = {
        hash_murmur,
#ifdef FLOOR_XXHASH
        floor_xxh3,
#endif
    };
    static const char *const names[] = {"MurmurHash3", "XXH3"};
    enum { HASHES = sizeof hashes / sizeof *hashes };
    double times[HASHES][TURNS];
    uint64_t sum = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        lengths[i] = least + (size_t)(bench_random(i) % (most - least + 1));
        for (size_t j = 0; j < sizeof text[i]; j++)
            text[i][j] = (char)bench_random(i * sizeof text[i] + j);
    }
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < HASHES; i++) {
            uint64_t (*const volatile hash)(const void *, size_t) = hashes[i];
            double start = now();
            for (size_t round = 0; round < ROUNDS; round++)
                for (size_t j = 0; j < TEXTS; j++)
                    sum += hash(text[j], lengths[j]);
            times[i][turn] = (now() - start) / ROUNDS / TEXTS;
        }
    for (size_t i = 0; i < HASHES; i++) {
        qsort(times[i], TURNS, sizeof *times[i], ascending);
        printf("%s,%s,%.2f\n", keys, names[i], times[i][TURNS / 2]);
    }
    if (sum == 0)
        fail("hashes of nothing"); /* so that they are computed */
}

static void hash(void) {
    puts("keys,hash,median");
    hash_row("integers (8 bytes)", 8, 8);
    hash_row("words (4 to 12 bytes)", 4, 12);
    hash_row("e-mails (16 to 32 bytes)", 16, 32);
    hash_row("URLs (60 to 80 bytes)", BENCH_URL_LEAST, BENCH_URL_MOST);
    hash_row("long (256 bytes)", 256, 256);
}

static void kernels(void) {
    for (size_t i = 0; bloom_blocked_kernels[i] != NULL; i++)
        if (bloom_kernel_is_supported(bloom_blocked_kernels[i]))
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
    } else if (strcmp(what, "hash") == 0) {
        hash();
    } else if (strcmp(what, "kernels") == 0) {
        kernels();
    } else {
        fail("usage: floor speed N ... | fill | space | hash | kernels");
    }
}

/* The filter library alone, without SQLite: what an add and a check cost, and whether the rate is
 * kept.
 *
 *     floor N ...   for filters of N keys each at 1 %
 *
 * and prints CSV, of which floor.py makes a page. Contenders: layouts blocked and classic;
 * libbloom, the one Bloom filter library for C in Debian; and, when run.sh was given a folder
 * with its source, libfilter's split block filter (of Parquet and Impala). All are given
 * hashes. libbloom hashes them once more, because it takes bytes only.
 *
 * Adding: a filter is filled with its N keys in 20 stretches, in turns one key at a time
 * ("add") and 1024 keys a call ("bulk add", which only our layouts have); all contenders fill
 * the same stretch before any goes on to the next. Checking, one key at a time and 1024 a call
 * ("bulk check"): nine times each contender in turn checks the same million keys (or N, if
 * fewer) of which half are in it, at random. The time of a key is the median over the stretches
 * or turns. All memory has been touched before; hashes lie in memory one after the other, as in
 * a scan.
 */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include "filter/layout.h"

#include <bloom.h> /* libbloom's */
#ifdef FLOOR_LIBFILTER
#include <filter/block.h>
#endif

#include <inttypes.h>
#include <stdio.h>

enum { STRETCHES = 20, TURNS = 9, SAMPLE = 1000000, BULK = 1024 };
#define ABSENT (UINT64_C(1) << 40) /* where numbers of keys that are not added begin */
#define RATE 0.01

/* A measurement is an action, one key a call or many. */
enum action { ADD, CHECK, ACTIONS };
static const char *const ACTION_NAMES[] = {"add", "check mixed"};

/* Hashes of keys, of one word each and of two. */
struct keys {
    uint64_t *one, *two;
    size_t count, present;
};

struct times {
    size_t count;
    double of[STRETCHES];
};

/* A filter that takes part, with what it took. */
struct contender {
    const char *name;
    const struct bloom_layout *layout; /* of ours */
    void (*make)(struct contender *it, uint64_t capacity);
    /* Of others, for one key: they have no call for many. */
    void (*add)(struct contender *it, uint64_t key);
    bool (*check)(struct contender *it, uint64_t key);
    struct bloom_shape shape;
    uint8_t *payload;
    struct bloom libbloom;
#ifdef FLOOR_LIBFILTER
    libfilter_block libfilter;
#endif
    uint64_t bits;
    struct times times[ACTIONS][2];
};

_Noreturn static void fail(const char *problem) {
    fprintf(stderr, "floor: %s\n", problem);
    exit(EXIT_FAILURE);
}

static void *allocated(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL)
        fail("out of memory");
    return memory;
}

/* Of the numbers from, from + step, ...; a share of them is of numbers that are never added. */
static struct keys make_keys(double absent_share, uint64_t from, double step, size_t count) {
    uint64_t *words = allocated(24 * count);
    struct keys keys = {words, words + count, count, 0};
    for (size_t i = 0; i < count; i++) {
        bool absent = (double)bench_random(i ^ ABSENT) < absent_share * 0x1p64;
        uint64_t number = absent ? ABSENT + i : from + (uint64_t)((double)i * step);
        keys.one[i] = keys.two[2 * i] = bench_random(number);
        keys.two[2 * i + 1] = bench_random(~number);
        keys.present += !absent;
    }
    return keys;
}

static void make_ours(struct contender *it, uint64_t capacity) {
    char problem[BLOOM_PROBLEM_SIZE];
    it->shape = (struct bloom_shape){.layout = it->layout, .rate = RATE};
    if (!bloom_shape_size(&it->shape, capacity, problem))
        fail(problem);
    it->bits = it->shape.bits;
    it->payload = allocated(bloom_payload_bytes(&it->shape));
    memset(it->payload, 0, bloom_payload_bytes(&it->shape));
}

static void add_ours(struct contender *it, const struct keys *keys, bool many) {
    size_t width = it->layout->hash_words, by = many ? BULK : 1;
    const uint64_t *words = width == 1 ? keys->one : keys->two;
    for (size_t i = 0; i < keys->count; i += by)
        it->layout->add(&it->shape, it->payload, words + i * width,
                        keys->count - i < by ? keys->count - i : by);
}

static uint64_t check_ours(struct contender *it, const struct keys *keys, bool many) {
    size_t width = it->layout->hash_words, count;
    const uint64_t *words = width == 1 ? keys->one : keys->two;
    uint64_t in = 0;
    if (!many)
        for (size_t i = 0; i < keys->count; i++)
            in += it->layout->check(&it->shape, it->payload, words + i * width);
    else
        for (size_t i = 0; i < keys->count; i += count) {
            uint8_t found[BULK];
            count = keys->count - i < BULK ? keys->count - i : BULK;
            bloom_check_many(&it->shape, it->payload, words + i * width, count, found);
            for (size_t j = 0; j < count; j++)
                in += found[j];
        }
    return in;
}

static void make_libbloom(struct contender *it, uint64_t capacity) {
    if (bloom_init(&it->libbloom, (int)capacity, RATE) != 0)
        fail("libbloom refuses a filter of that size");
    bloom_reset(&it->libbloom);
    it->bits = (uint64_t)it->libbloom.bits;
}

static void add_libbloom(struct contender *it, uint64_t key) {
    bloom_add(&it->libbloom, &key, sizeof key);
}

static bool check_libbloom(struct contender *it, uint64_t key) {
    return bloom_check(&it->libbloom, &key, sizeof key) != 0;
}

#ifdef FLOOR_LIBFILTER
static void make_libfilter(struct contender *it, uint64_t capacity) {
    if (libfilter_block_init(libfilter_block_bytes_needed((double)capacity, RATE), &it->libfilter) <
        0)
        fail("libfilter refuses a filter of that size");
    const uint64_t bytes = libfilter_block_size_in_bytes(&it->libfilter);
    memset(it->libfilter.block_.block, 0, bytes);
    it->bits = 8 * bytes;
}

static void add_libfilter(struct contender *it, uint64_t key) {
    libfilter_block_add_hash(key, &it->libfilter);
}

static bool check_libfilter(struct contender *it, uint64_t key) {
    return libfilter_block_find_hash(key, &it->libfilter);
}
#endif

static void add(struct contender *it, const struct keys *keys, bool many) {
    for (size_t i = 0; it->layout == NULL && i < keys->count; i++)
        it->add(it, keys->one[i]);
    if (it->layout != NULL)
        add_ours(it, keys, many);
}

/* Returns the number of keys that are found. */
static uint64_t check(struct contender *it, const struct keys *keys, bool many) {
    if (it->layout != NULL)
        return check_ours(it, keys, many);
    uint64_t in = 0;
    for (size_t i = 0; i < keys->count; i++)
        in += it->check(it, keys->one[i]);
    return in;
}

static struct contender contenders[] = {
    {.name = "blocked", .layout = &bloom_layout_blocked, .make = make_ours},
    {.name = "classic", .layout = &bloom_layout_classic, .make = make_ours},
    {.name = "libbloom", .make = make_libbloom, .add = add_libbloom, .check = check_libbloom},
#ifdef FLOOR_LIBFILTER
    {.name = "libfilter", .make = make_libfilter, .add = add_libfilter, .check = check_libfilter},
#endif
};
enum { CONTENDERS = sizeof contenders / sizeof *contenders };

/* Each contender, beginning with another one every turn. */
static void measure(enum action action, bool many, size_t turn, const struct keys *keys) {
    for (size_t i = 0; i < CONTENDERS; i++) {
        struct contender *it = &contenders[(i + turn) % CONTENDERS];
        struct times *times = &it->times[action][many];
        double start = bench_now(CLOCK_PROCESS_CPUTIME_ID);
        uint64_t in = keys->present;
        if (action == ADD)
            add(it, keys, many);
        else
            in = check(it, keys, many);
        if (!many || it->layout != NULL)
            times->of[times->count++] =
                (bench_now(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)keys->count;
        if (in < keys->present)
            fail("a key that was added is not found");
    }
}

static void fill(uint64_t capacity) {
    for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
        uint64_t from = capacity * stretch / STRETCHES;
        struct keys keys = make_keys(0, from, 1, capacity * (stretch + 1) / STRETCHES - from);
        measure(ADD, stretch % 2 == 1, stretch, &keys);
        free(keys.one);
    }
}

static void print(struct contender *it, uint64_t capacity, uint64_t found) {
    for (int action = 0; action < ACTIONS; action++)
        for (int many = 0; many < 2; many++) {
            struct times *times = &it->times[action][many];
            if (times->count > 0)
                printf("%" PRIu64 ",%s,%s%s,%.2f\n", capacity, it->name, many ? "bulk " : "",
                       ACTION_NAMES[action], bench_median(times->of, times->count));
            times->count = 0;
        }
    printf("%" PRIu64 ",%s,rate,%.6f\n", capacity, it->name, (double)found / SAMPLE);
    printf("%" PRIu64 ",%s,bits per key,%.3f\n", capacity, it->name,
           (double)it->bits / (double)capacity);
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        double asked = strtod(arguments[i], NULL);
        if (!(asked >= 1000 && asked <= 2e8))
            fail("N must be from 1000 to 2e8");
        uint64_t capacity = (uint64_t)asked;
        for (size_t j = 0; j < CONTENDERS; j++)
            contenders[j].make(&contenders[j], capacity);
        fill(capacity);
        size_t checked = capacity < SAMPLE ? (size_t)capacity : SAMPLE;
        struct keys mixed = make_keys(0.5, 0, asked / (double)checked, checked);
        struct keys absent = make_keys(1, 0, 1, SAMPLE);
        for (size_t turn = 0; turn < TURNS; turn++)
            for (int many = 0; many < 2; many++)
                measure(CHECK, many, turn, &mixed);
        for (size_t j = 0; j < CONTENDERS; j++)
            print(&contenders[j], capacity, check(&contenders[j], &absent, false));
        free(mixed.one);
        free(absent.one);
    }
    return 0;
}

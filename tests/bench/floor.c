/* The filter library alone, without SQLite: what an add and a check cost a program, and whether the
 * rate is kept.
 *
 *     floor N ...   for filters of N keys each at 1 %
 *
 * and prints CSV, of which floor.py makes a page. Contenders: layouts blocked and classic, by the
 * functions of sqlite-bloom-filter.h; libbloom, the one Bloom filter library for C in Debian; and,
 * when run.sh was given a folder with its source, libfilter's split block filter (of Parquet and
 * Impala). The keys are integers. libfilter takes hashes, so it gets SplitMix64 of the key, inline.
 *
 * Adding: a filter is filled with its N keys in 20 stretches, in turns by a call for each key
 * ("add") and by one call for the stretch ("bulk add", which only our layouts have); all contenders
 * fill the same stretch before any goes on to the next. Checking, likewise ("check mixed", "bulk
 * check mixed"): nine times each contender in turn checks the same million keys (or N, if fewer) of
 * which half are in it, at random. The time of a key is the median over the stretches or turns. All
 * memory has been touched before; keys lie in memory one after the other, as in a scan.
 */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include "sqlite-bloom-filter.h"

#include <bloom.h> /* libbloom's */
#ifdef FLOOR_LIBFILTER
#include <filter/block.h>
#endif

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum { STRETCHES = 20, TURNS = 9, SAMPLE = 1000000 };
#define ABSENT (INT64_C(1) << 40) /* where numbers of keys that are not added begin */
#define RATE 0.01

enum action { ADD, CHECK, ACTIONS };
static const char *const ACTION_NAMES[] = {"add", "check mixed"};

struct keys {
    struct sqlite_bloom_key *keys;
    size_t count, present;
};

/* A filter that takes part, with what it took. */
struct contender {
    const char *name;
    /* Makes an empty filter for `capacity` keys. */
    void (*make)(struct contender *it, uint64_t capacity);
    /* Adds or checks keys, one a call or many. Returns how many are found. */
    uint64_t (*use)(struct contender *it, enum action action, bool many, const struct keys *keys);
    struct sqlite_bloom_filter *filter;
    struct bloom libbloom;
#ifdef FLOOR_LIBFILTER
    libfilter_block libfilter;
#endif
    uint64_t bits;
    struct {
        size_t count;
        double of[STRETCHES];
    } times[ACTIONS][2];
};

_Noreturn static void fail(const char *problem) {
    fprintf(stderr, "floor: %s\n", problem);
    exit(EXIT_FAILURE);
}

static void *allocated(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL)
        fail("out of memory");
    return memory;
}

/* Of the numbers from, from + step, ...; a share of them is of numbers that are never added. */
static struct keys make_keys(double absent_share, uint64_t from, double step, size_t count) {
    struct keys keys = {allocated(count * sizeof *keys.keys), count, 0};
    for (size_t i = 0; i < count; i++) {
        bool absent = (double)bench_random(i ^ (uint64_t)ABSENT) < absent_share * 0x1p64;
        keys.keys[i] = sqlite_bloom_integer_key(
            absent ? ABSENT + (int64_t)i : (int64_t)(from + (uint64_t)((double)i * step)));
        keys.present += !absent;
    }
    return keys;
}

static void make_ours(struct contender *it, uint64_t capacity) {
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    struct sqlite_bloom_description is;
    sqlite_bloom_filter_close(it->filter);
    if (sqlite_bloom_filter_new(&it->filter, capacity, RATE, it->name, NULL, problem) != 0)
        fail(problem);
    sqlite_bloom_filter_describe(it->filter, &is);
    it->bits = is.bits;
}

static uint64_t use_ours(struct contender *it, enum action action, bool many,
                         const struct keys *keys) {
    static unsigned char found[SAMPLE];
    uint64_t in = 0;
    if (many && action == ADD)
        sqlite_bloom_filter_add_many(it->filter, keys->keys, keys->count, NULL, NULL);
    else if (many)
        in = (uint64_t)sqlite_bloom_filter_check_many(it->filter, keys->keys, keys->count, found);
    else if (action == ADD)
        for (size_t i = 0; i < keys->count; i++)
            sqlite_bloom_filter_add_integer(it->filter, keys->keys[i].value.integer, NULL);
    else
        for (size_t i = 0; i < keys->count; i++)
            in += (uint64_t)sqlite_bloom_filter_check_integer(it->filter,
                                                              keys->keys[i].value.integer);
    return in;
}

static void make_libbloom(struct contender *it, uint64_t capacity) {
    if (bloom_init(&it->libbloom, (int)capacity, RATE) != 0)
        fail("libbloom refuses a filter of that size");
    bloom_reset(&it->libbloom);
    it->bits = (uint64_t)it->libbloom.bits;
}

static uint64_t use_libbloom(struct contender *it, enum action action, bool many,
                             const struct keys *keys) {
    uint64_t in = 0;
    (void)many;
    for (size_t i = 0; i < keys->count; i++)
        in += (uint64_t)(action == ADD ? bloom_add : bloom_check)(&it->libbloom,
                                                                  &keys->keys[i].value, 8);
    return in;
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

static uint64_t use_libfilter(struct contender *it, enum action action, bool many,
                              const struct keys *keys) {
    uint64_t in = 0;
    (void)many;
    for (size_t i = 0; action == ADD && i < keys->count; i++)
        libfilter_block_add_hash(bench_random((uint64_t)keys->keys[i].value.integer),
                                 &it->libfilter);
    for (size_t i = 0; action == CHECK && i < keys->count; i++)
        in += libfilter_block_find_hash(bench_random((uint64_t)keys->keys[i].value.integer),
                                        &it->libfilter);
    return in;
}
#endif

static struct contender contenders[] = {
    {.name = "blocked", .make = make_ours, .use = use_ours},
    {.name = "classic", .make = make_ours, .use = use_ours},
    {.name = "libbloom", .make = make_libbloom, .use = use_libbloom},
#ifdef FLOOR_LIBFILTER
    {.name = "libfilter", .make = make_libfilter, .use = use_libfilter},
#endif
};
enum { CONTENDERS = sizeof contenders / sizeof *contenders };

/* Each contender, beginning with another one every turn. */
static void measure(enum action action, bool many, size_t turn, const struct keys *keys) {
    for (size_t i = 0; i < CONTENDERS; i++) {
        struct contender *it = &contenders[(i + turn) % CONTENDERS];
        double start = bench_now(CLOCK_PROCESS_CPUTIME_ID);
        uint64_t in = it->use(it, action, many, keys);
        if (!many || it->use == use_ours)
            it->times[action][many].of[it->times[action][many].count++] =
                (bench_now(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)keys->count;
        if (action == CHECK && in < keys->present)
            fail("a key that was added is not found");
    }
}

static void fill(uint64_t capacity) {
    for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
        uint64_t from = capacity * stretch / STRETCHES;
        struct keys keys = make_keys(0, from, 1, capacity * (stretch + 1) / STRETCHES - from);
        measure(ADD, stretch % 2 == 1, stretch, &keys);
        free(keys.keys);
    }
}

static void print(struct contender *it, uint64_t capacity, uint64_t found) {
    for (int action = 0; action < ACTIONS; action++)
        for (int many = 0; many < 2; many++) {
            if (it->times[action][many].count > 0)
                printf("%" PRIu64 ",%s,%s%s,%.2f\n", capacity, it->name, many ? "bulk " : "",
                       ACTION_NAMES[action],
                       bench_median(it->times[action][many].of, it->times[action][many].count));
            it->times[action][many].count = 0;
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
            print(&contenders[j], capacity,
                  contenders[j].use(&contenders[j], CHECK, false, &absent));
        free(mixed.keys);
        free(absent.keys);
    }
    return 0;
}

/* The filter library alone, without SQLite: what an add and a check cost, and whether the rate is
 * kept.
 *
 *     floor speed N ...   for filters of N keys each, p = 1 % and 0.1 %
 *     floor fill          the false-positive rate of a filter for 1,000,000 keys as it fills
 *     floor space         bits per key against p
 *
 * and prints CSV. Contenders: layouts blocked and classic; libbloom, the one Bloom filter library
 * for C in Debian; and, when run.sh was given a folder with their sources, RocksDB's FastLocalBloom
 * with as many bits as layout blocked has, and libfilter's split block filter (of Parquet and
 * Impala). (What else Debian has is for Go, Haskell, Perl and Python.) All are given hashes.
 * libbloom hashes them once more, because it takes bytes only.
 *
 * Adding: a filter is filled with its N keys in ten stretches, in turns one key at a time ("add"),
 * 32 ("batch add") and 1024 keys a call ("bulk add"); all contenders fill the same stretch before
 * any goes on to the next. Small filters are filled several times. Checking, one key at a time, 32
 * ("batch check") and 1024 a call ("bulk check"): nine times each contender in turn checks the same
 * million keys that are not in the filter, then as many (or all N, if fewer) that are, then a mix
 * of both, half and half at random; so that what else the machine does at the time strikes all
 * alike. The time of a key is the median over the stretches or turns. All memory has been touched
 * before; hashes lie in memory one after the other, as in a scan, and their bits at random. */
#include "keys.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include <bloom.h> /* libbloom's */
#ifdef FLOOR_ROCKSDB
#include "util/bloom_impl.h"
#endif
extern "C" {
#ifdef FLOOR_LIBFILTER
#include <filter/block.h>
#endif
#include "filter/layout.h"
}

namespace {

constexpr size_t STRETCHES = 10, ROUNDS_MOST = 20, TURNS = 9, SAMPLE = 1000000, BULK = 1024;
constexpr uint64_t KEYS_ADDED_LEAST = 2000000;
constexpr uint64_t ABSENT = uint64_t{1} << 40; /* where numbers of keys that are not added begin */

/* A measurement is an action with a number of keys in each call. */
enum Action { ADD, CHECK_ABSENT, CHECK_PRESENT, CHECK_MIXED, ACTIONS };
const char *const ACTION_NAMES[] = {"add", "check absent", "check present", "check mixed"};
constexpr size_t CALLS[] = {1, 32, BULK}, CALL_COUNT = 3;
const char *const CALL_NAMES[] = {"", "batch ", "bulk "};

[[noreturn]] void fail(const char *problem) {
    fprintf(stderr, "floor: %s\n", problem);
    exit(EXIT_FAILURE);
}

double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/* Memory that has been touched and begins at a cache line. */
struct Freed {
    void operator()(void *memory) const {
        free(memory);
    }
};
using Memory = std::unique_ptr<uint8_t, Freed>;

Memory zeros(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == nullptr)
        fail("out of memory");
    return Memory(static_cast<uint8_t *>(memset(memory, 0, bytes)));
}

/* Hashes of keys, of one word each and of two. */
struct Keys {
    std::vector<uint64_t> one, two;

    /* Of the numbers from, from + step, ..., of as many numbers that are never added, or of half
     * of each. */
    Keys(Action action, uint64_t from, double step, size_t count) {
        for (size_t i = 0; i < count; i++) {
            bool absent = action == CHECK_ABSENT ||
                          (action == CHECK_MIXED && bench_random(i ^ ABSENT) >> 63 != 0);
            uint64_t number =
                absent ? ABSENT + i : from + static_cast<uint64_t>(static_cast<double>(i) * step);
            one.push_back(bench_random(number));
            two.push_back(one.back());
            two.push_back(bench_random(~number));
        }
    }
};

bloom_shape shape_for(const bloom_layout *layout, uint64_t capacity, double rate) {
    char problem[BLOOM_PROBLEM_SIZE];
    bloom_shape shape = {};
    shape.layout = layout;
    shape.rate = rate;
    if (!bloom_shape_size(&shape, capacity, problem))
        fail(problem);
    return shape;
}

/* A layout of ours. */
struct Ours {
    bloom_shape shape;
    Memory payload;

    Ours(const bloom_layout *layout, uint64_t capacity, double rate)
        : shape(shape_for(layout, capacity, rate)), payload(zeros(bloom_payload_bytes(&shape))) {
    }
    void reset() {
        memset(payload.get(), 0, bloom_payload_bytes(&shape));
    }
    uint64_t bits() const {
        return shape.bits;
    }
    size_t words() const {
        return shape.layout->hash_words;
    }
    void add(const uint64_t *hash) {
        add_many(hash, 1);
    }
    bool check(const uint64_t *hash) {
        return shape.layout->check(&shape, payload.get(), hash);
    }
    void add_many(const uint64_t *hashes, size_t count) {
        shape.layout->add(&shape, payload.get(), hashes, count);
    }
    void check_many(const uint64_t *hashes, size_t count, uint8_t *found) {
        bloom_check_many(&shape, payload.get(), hashes, count, found);
    }
};

/* Filters of other projects. A function for one key is called and not inlined, as ours is. One
 * without functions for many keys has none here. */
struct Libbloom {
    bloom filter = {};

    Libbloom(uint64_t capacity, double rate) {
        if (bloom_init(&filter, static_cast<int>(capacity), rate) != 0)
            fail("libbloom refuses a filter of that size");
    }
    Libbloom(const Libbloom &) = delete;
    ~Libbloom() {
        bloom_free(&filter);
    }
    void reset() {
        bloom_reset(&filter);
    }
    uint64_t bits() const {
        return static_cast<uint64_t>(filter.bits);
    }
    size_t words() const {
        return 1;
    }
    void add(const uint64_t *hash) {
        bloom_add(&filter, hash, sizeof *hash);
    }
    bool check(const uint64_t *hash) {
        return bloom_check(&filter, hash, sizeof *hash) != 0;
    }
};

#ifdef FLOOR_LIBFILTER
struct Libfilter {
    uint64_t bytes;
    libfilter_block filter;

    Libfilter(uint64_t capacity, double rate)
        : bytes(libfilter_block_bytes_needed(static_cast<double>(capacity), rate)) {
        make();
    }
    Libfilter(const Libfilter &) = delete;
    ~Libfilter() {
        libfilter_block_destruct(&filter);
    }
    void make() {
        if (libfilter_block_init(bytes, &filter) < 0)
            fail("libfilter refuses a filter of that size");
        memset(filter.block_.block, 0, libfilter_block_size_in_bytes(&filter));
    }
    void reset() { /* by a new one: libfilter_block_zero_out gives the memory back */
        libfilter_block_destruct(&filter);
        make();
    }
    uint64_t bits() const {
        return 8 * libfilter_block_size_in_bytes(&filter);
    }
    size_t words() const {
        return 1;
    }
    [[gnu::noinline]] void add(const uint64_t *hash) {
        libfilter_block_add_hash(*hash, &filter);
    }
    [[gnu::noinline]] bool check(const uint64_t *hash) {
        return libfilter_block_find_hash(*hash, &filter);
    }
};
#endif

#ifdef FLOOR_ROCKSDB
/* Handles batches as RocksDB does: 32 keys are prefetched and then tested (MultiGet hands over no
 * more at once); eight adds are under way. */
struct RocksDb {
    using Filter = ROCKSDB_NAMESPACE::FastLocalBloomImpl;
    uint32_t bytes;
    int probes;
    Memory memory;

    RocksDb(uint64_t capacity, double rate) {
        uint64_t bits = shape_for(&bloom_layout_blocked, capacity, rate).bits;
        bytes = static_cast<uint32_t>(bits / 8);
        probes = Filter::ChooseNumProbes(static_cast<int>(
            1000.0 * static_cast<double>(bits) / static_cast<double>(capacity) + 0.5));
        memory = zeros(bytes);
    }
    static uint32_t low(uint64_t hash) {
        return static_cast<uint32_t>(hash);
    }
    static uint32_t high(uint64_t hash) {
        return static_cast<uint32_t>(hash >> 32);
    }
    char *data() {
        return reinterpret_cast<char *>(memory.get());
    }
    void reset() {
        memset(memory.get(), 0, bytes);
    }
    uint64_t bits() const {
        return uint64_t{8} * bytes;
    }
    size_t words() const {
        return 1;
    }
    [[gnu::noinline]] void add(const uint64_t *hash) {
        Filter::AddHash(low(*hash), high(*hash), bytes, probes, data());
    }
    [[gnu::noinline]] bool check(const uint64_t *hash) {
        return Filter::HashMayMatch(low(*hash), high(*hash), bytes, probes, data());
    }
    void add_many(const uint64_t *hashes, size_t count) {
        constexpr size_t UNDER_WAY = 8;
        uint32_t offsets[UNDER_WAY];
        for (size_t i = 0; i < count + UNDER_WAY; i++) {
            if (i >= UNDER_WAY)
                Filter::AddHashPrepared(high(hashes[i - UNDER_WAY]), probes,
                                        data() + offsets[i % UNDER_WAY]);
            if (i < count)
                Filter::PrepareHash(low(hashes[i]), bytes, data(), &offsets[i % UNDER_WAY]);
        }
    }
    void check_many(const uint64_t *hashes, size_t count, uint8_t *found) {
        constexpr size_t BATCH = 32;
        uint32_t offsets[BATCH];
        for (size_t from = 0; from < count; from += BATCH) {
            size_t to = std::min(count, from + BATCH);
            for (size_t i = from; i < to; i++)
                Filter::PrepareHash(low(hashes[i]), bytes, data(), &offsets[i - from]);
            for (size_t i = from; i < to; i++)
                found[i] = Filter::HashMayMatchPrepared(high(hashes[i]), probes,
                                                        data() + offsets[i - from]);
        }
    }
};
#endif

/* A filter that takes part, with what it took. */
struct Contender {
    const char *name;
    uint64_t found = 0; /* absent keys that the last check found */
    std::vector<double> nanoseconds[ACTIONS][CALL_COUNT];

    explicit Contender(const char *its_name) : name(its_name) {
    }
    virtual ~Contender() = default;
    virtual bool takes_many() const = 0;
    virtual void reset() = 0;
    virtual uint64_t bits() const = 0;
    virtual void add(const Keys &keys, size_t by) = 0; /* so many in a call */
    virtual uint64_t check(const Keys &keys, size_t by) = 0;

    void measure(Action action, size_t call, const Keys &keys) {
        size_t by = CALLS[call];
        if (by > 1 && !takes_many()) {
            if (action == ADD)
                add(keys, 1); /* untimed */
            return;
        }
        double start = now();
        uint64_t in = action == ADD ? (add(keys, by), 0) : check(keys, by);
        nanoseconds[action][call].push_back((now() - start) / static_cast<double>(keys.one.size()));
        if (action == CHECK_ABSENT)
            found = in;
        else if (action == CHECK_PRESENT && in != keys.one.size())
            fail("a key that was added is not found");
    }
};

template <class Filter> struct Of : Contender {
    static constexpr bool MANY = requires {
        &Filter::add_many;
    };
    Filter filter;

    template <class... Arguments>
    explicit Of(const char *its_name, Arguments... arguments)
        : Contender(its_name), filter(arguments...) {
    }
    bool takes_many() const override {
        return MANY;
    }
    void reset() override {
        filter.reset();
    }
    uint64_t bits() const override {
        return filter.bits();
    }

    void add(const Keys &keys, size_t by) override {
        size_t width = filter.words(), count = keys.one.size();
        const uint64_t *words = (width == 1 ? keys.one : keys.two).data();
        for (size_t i = 0; by == 1 && i < count; i++)
            filter.add(words + i * width);
        if constexpr (MANY)
            for (size_t i = 0; by > 1 && i < count; i += by)
                filter.add_many(words + i * width, std::min(by, count - i));
    }

    uint64_t check(const Keys &keys, size_t by) override {
        size_t width = filter.words(), count = keys.one.size();
        const uint64_t *words = (width == 1 ? keys.one : keys.two).data();
        uint64_t in = 0;
        for (size_t i = 0; by == 1 && i < count; i++)
            in += filter.check(words + i * width);
        if constexpr (MANY)
            for (size_t i = 0; by > 1 && i < count; i += by) {
                uint8_t answers[BULK];
                size_t now_asked = std::min(by, count - i);
                filter.check_many(words + i * width, now_asked, answers);
                for (size_t j = 0; j < now_asked; j++)
                    in += answers[j];
            }
        return in;
    }
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

void fill(const Contenders &contenders, uint64_t keys_in_all) {
    size_t rounds = (KEYS_ADDED_LEAST + keys_in_all - 1) / keys_in_all;
    for (size_t round = 0; round < std::min(rounds, ROUNDS_MOST); round++) {
        for (const auto &contender : contenders)
            contender->reset();
        for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
            uint64_t from = keys_in_all * stretch / STRETCHES;
            Keys keys(ADD, from, 1, keys_in_all * (stretch + 1) / STRETCHES - from);
            for (size_t i = 0; i < contenders.size(); i++)
                contenders[(i + stretch) % contenders.size()]->measure(ADD, stretch % CALL_COUNT,
                                                                       keys);
        }
    }
}

void print(Contender &contender, uint64_t capacity, double rate) {
    char start[100];
    snprintf(start, sizeof start, "%" PRIu64 ",%g,%s", capacity, rate, contender.name);
    for (int action = 0; action < ACTIONS; action++)
        for (size_t call = 0; call < CALL_COUNT; call++) {
            std::vector<double> &times = contender.nanoseconds[action][call];
            size_t count = times.size();
            std::sort(times.begin(), times.end());
            if (count > 0)
                printf("%s,%s%s,%.2f,%.2f,%.2f\n", start, CALL_NAMES[call], ACTION_NAMES[action],
                       (times[(count - 1) / 2] + times[count / 2]) / 2, times[0], times[count - 1]);
        }
    printf("%s,rate,%.6f,,\n", start, static_cast<double>(contender.found) / SAMPLE);
    printf("%s,bits per key,%.3f,,\n", start,
           static_cast<double>(contender.bits()) / static_cast<double>(capacity));
    fflush(stdout);
}

void speed(uint64_t capacity, double rate) {
    Contenders contenders;
    for (const bloom_layout *layout : {&bloom_layout_blocked, &bloom_layout_classic})
        contenders.push_back(std::make_unique<Of<Ours>>(layout->name, layout, capacity, rate));
#ifdef FLOOR_ROCKSDB
    contenders.push_back(std::make_unique<Of<RocksDb>>("RocksDB", capacity, rate));
#endif
#ifdef FLOOR_LIBFILTER
    contenders.push_back(std::make_unique<Of<Libfilter>>("libfilter", capacity, rate));
#endif
    contenders.push_back(std::make_unique<Of<Libbloom>>("libbloom", capacity, rate));
    fill(contenders, capacity);
    size_t present = std::min<uint64_t>(capacity, SAMPLE);
    double step = static_cast<double>(capacity) / static_cast<double>(present);
    const Keys asked[] = {{CHECK_ABSENT, 0, step, SAMPLE},
                          {CHECK_PRESENT, 0, step, present},
                          {CHECK_MIXED, 0, step, present}};
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t call = 0; call < CALL_COUNT; call++)
            for (int action = CHECK_ABSENT; action < ACTIONS; action++)
                for (size_t i = 0; i < contenders.size(); i++)
                    contenders[(i + turn) % contenders.size()]->measure(
                        static_cast<Action>(action), call, asked[action - CHECK_ABSENT]);
    for (const auto &contender : contenders)
        print(*contender, capacity, rate);
}

/* Measured over absent keys, and as the bits themselves tell (what bloom_fpr returns). */
void rate_by_fill(const bloom_layout *layout, uint64_t capacity, double rate) {
    constexpr uint64_t STEPS = 20, STEPS_TO_CAPACITY = 10;
    Of<Ours> contender(layout->name, layout, capacity, rate);
    const bloom_shape &shape = contender.filter.shape;
    const Keys absent(CHECK_ABSENT, 0, 1, SAMPLE);
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t from = capacity * step / STEPS_TO_CAPACITY;
        uint64_t to = capacity * (step + 1) / STEPS_TO_CAPACITY;
        contender.add(Keys(ADD, from, 1, to - from), BULK);
        printf("%s,%.2f,%" PRIu32 ",%.5f,%.7f,%.7f\n", layout->name,
               static_cast<double>(to) / static_cast<double>(capacity), shape.probes,
               static_cast<double>(shape.bits) / static_cast<double>(to),
               static_cast<double>(contender.check(absent, BULK)) / SAMPLE,
               layout->estimate(&shape, contender.filter.payload.get()).rate);
    }
}

/* Large filters, where rounding up to whole blocks and words does not show. */
void space() {
    constexpr uint64_t CAPACITY = 100000000;
    printf("p,blocked,classic,fuse,counting\n");
    for (double decade = 0.1; decade > 0.9e-9; decade /= 10)
        for (double step : {5, 2, 1}) {
            printf("%g", decade * step);
            for (const bloom_layout *layout : {&bloom_layout_blocked, &bloom_layout_classic,
                                               &bloom_layout_fuse, &bloom_layout_counting})
                printf(",%.4f",
                       static_cast<double>(shape_for(layout, CAPACITY, decade * step).bits) /
                           static_cast<double>(CAPACITY));
            printf("\n");
        }
}

} // namespace

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "speed") == 0 && count > 2) {
        puts("n,p,filter,operation,median,least,most");
        for (int i = 2; i < count; i++)
            for (double rate : {0.01, 0.001}) {
                double capacity = strtod(arguments[i], nullptr);
                if (!(capacity >= 1000 && capacity <= 2e8))
                    fail("N must be from 1000 to 2e8");
                speed(static_cast<uint64_t>(capacity), rate);
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

/* RocksDB's FastLocalBloom, of its util/bloom_impl.h, behind floor.h. Compiled with the options of
 * RocksDB's own build (for this very processor) when PEERS has its sources; see run.sh.
 *
 * Batches are handled as RocksDB does: 32 keys are prefetched and then tested (MultiGet hands over
 * no more at once); eight adds are under way. */
#include "floor.h"

#include "util/bloom_impl.h"

#include <cstdlib>
#include <cstring>

using Implementation = ROCKSDB_NAMESPACE::FastLocalBloomImpl;

namespace {

struct Filter {
    char *data;
    uint32_t length;
    int probes;
};

uint32_t low(uint64_t hash) {
    return static_cast<uint32_t>(hash);
}

uint32_t high(uint64_t hash) {
    return static_cast<uint32_t>(hash >> 32);
}

void *make(uint64_t capacity, double, uint64_t bits) {
    if (bits / 8 > UINT32_MAX)
        return nullptr;
    auto *filter = static_cast<Filter *>(malloc(sizeof(Filter)));
    if (filter == nullptr)
        return nullptr;
    filter->length = static_cast<uint32_t>(bits / 8);
    filter->probes = Implementation::ChooseNumProbes(
        static_cast<int>(1000.0 * static_cast<double>(bits) / static_cast<double>(capacity) + 0.5));
    filter->data = static_cast<char *>(aligned_alloc(64, filter->length));
    if (filter->data == nullptr) {
        free(filter);
        return nullptr;
    }
    return filter;
}

void reset(void *opaque) {
    auto *filter = static_cast<Filter *>(opaque);
    memset(filter->data, 0, filter->length);
}

void release(void *opaque) {
    free(static_cast<Filter *>(opaque)->data);
    free(opaque);
}

uint64_t bits(const void *opaque) {
    return uint64_t{8} * static_cast<const Filter *>(opaque)->length;
}

void add(void *opaque, const uint64_t *hash) {
    auto *filter = static_cast<Filter *>(opaque);
    Implementation::AddHash(low(*hash), high(*hash), filter->length, filter->probes, filter->data);
}

bool check(const void *opaque, const uint64_t *hash) {
    auto *filter = static_cast<const Filter *>(opaque);
    return Implementation::HashMayMatch(low(*hash), high(*hash), filter->length, filter->probes,
                                        filter->data);
}

void add_many(void *opaque, const uint64_t *hashes, size_t count) {
    enum { UNDER_WAY = 8 };
    auto *filter = static_cast<Filter *>(opaque);
    uint32_t offsets[UNDER_WAY];
    for (size_t i = 0; i < count + UNDER_WAY; i++) {
        if (i >= UNDER_WAY)
            Implementation::AddHashPrepared(high(hashes[i - UNDER_WAY]), filter->probes,
                                            filter->data + offsets[i % UNDER_WAY]);
        if (i < count)
            Implementation::PrepareHash(low(hashes[i]), filter->length, filter->data,
                                        &offsets[i % UNDER_WAY]);
    }
}

void check_many(const void *opaque, const uint64_t *hashes, size_t count, uint8_t *found) {
    enum { BATCH = 32 };
    auto *filter = static_cast<const Filter *>(opaque);
    uint32_t offsets[BATCH];
    for (size_t from = 0; from < count; from += BATCH) {
        size_t to = count - from < BATCH ? count : from + BATCH;
        for (size_t i = from; i < to; i++)
            Implementation::PrepareHash(low(hashes[i]), filter->length, filter->data,
                                        &offsets[i - from]);
        for (size_t i = from; i < to; i++)
            found[i] = Implementation::HashMayMatchPrepared(high(hashes[i]), filter->probes,
                                                            filter->data + offsets[i - from]);
    }
}

} // namespace

const floor_peer floor_rocksdb = {"RocksDB", make,  reset,    release,   bits,
                                  add,       check, add_many, check_many};

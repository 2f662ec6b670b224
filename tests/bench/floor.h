/* What floor.c shares with the filters it is compared with. Each stands in a file of its own, in
 * which nothing of ext/ may appear: libbloom's <bloom.h> once had the name of this project's
 * header, and the others bring names of their own. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A filter of another project, called in the form in which a layout is called: the function
 * through a table, the key through a pointer. */
struct floor_peer {
    const char *name;
    /* For capacity keys at a rate, sized by the peer's own rule, or of as many bits as layout
     * blocked takes where the peer leaves the choice to its user. NULL: no memory, or no filter of
     * that size. */
    void *(*make)(uint64_t capacity, double rate, uint64_t bits);
    void (*reset)(void *filter);
    void (*release)(void *filter);
    uint64_t (*bits)(const void *filter);
    void (*add)(void *filter, const uint64_t *hash);
    bool (*check)(const void *filter, const uint64_t *hash);
    /* NULL: the peer has no such function. */
    void (*add_many)(void *filter, const uint64_t *hashes, size_t count);
    void (*check_many)(const void *filter, const uint64_t *hashes, size_t count, uint8_t *found);
    /* Of a peer that hashes keys itself. NULL: it takes hashes only. */
    void (*add_bytes)(void *filter, const void *key, size_t length);
    bool (*check_bytes)(const void *filter, const void *key, size_t length);
};

/* Debian's libbloom, and those that run.sh found in the folder PEERS; it defines FLOOR_ROCKSDB and
 * FLOOR_LIBFILTER. */
extern const struct floor_peer floor_libbloom, floor_rocksdb, floor_libfilter;

#ifdef __cplusplus
}
#endif

#endif

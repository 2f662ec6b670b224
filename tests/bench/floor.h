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

/* Keys in the form in which each filter takes them. */
struct floor_keys {
    size_t count;
    bool text;       /* URLs that are still to be hashed; otherwise hashes given */
    uint64_t *first; /* hashes given: the first word of each key's hash */
    uint64_t *both;  /* both words of each */
    char *urls;      /* URL i is urls[starts[i]] to urls[starts[i + 1] - 1] */
    uint32_t *starts;
};

/* Debian's libbloom. It hashes every key itself; where hashes are given to others it gets the 8
 * bytes of the first word as a key. */
struct floor_libbloom;
struct floor_libbloom *floor_libbloom_new(size_t capacity, double rate);
void floor_libbloom_reset(struct floor_libbloom *filter);
void floor_libbloom_free(struct floor_libbloom *filter);
uint64_t floor_libbloom_bits(const struct floor_libbloom *filter);
unsigned floor_libbloom_hashes(const struct floor_libbloom *filter);
void floor_libbloom_add(struct floor_libbloom *filter, const struct floor_keys *keys);
/* Returns the number of keys found. */
uint64_t floor_libbloom_check(struct floor_libbloom *filter, const struct floor_keys *keys);

/* A filter of another project that takes hashes, called in the form in which a layout is called:
 * the function through a table, the key through a pointer. */
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
};

/* Those that run.sh found in the folder PEERS; it defines FLOOR_ROCKSDB and FLOOR_LIBFILTER. */
extern const struct floor_peer floor_rocksdb, floor_libfilter;

/* Hashes bytes with XXH3, 128 bits, and returns the first word; run.sh defines FLOOR_XXHASH where
 * <xxhash.h> is. */
uint64_t floor_xxh3(const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif

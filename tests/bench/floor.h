/* What floor.c shares with the filter it is compared with, floor_libbloom.c. That one includes libbloom's
 * <bloom.h>, which has the name of this project's own header; so nothing of ext/ may appear here. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys in the form in which each filter takes them. */
struct floor_keys {
    size_t count;
    bool text;       /* URLs that are still to be hashed; otherwise hashes given */
    uint64_t *first; /* hashes given: the first word of each key's hash */
    uint64_t *both;  /* both words of each */
    char *urls;      /* URL i is urls[starts[i]] to urls[starts[i + 1] - 1] */
    uint32_t *starts;
};

/* Debian's libbloom. It hashes every key itself; where hashes are given to others it gets the 8 bytes of the
 * first word as a key. */
struct floor_libbloom;
struct floor_libbloom *floor_libbloom_new(size_t capacity, double rate);
void floor_libbloom_reset(struct floor_libbloom *filter);
void floor_libbloom_free(struct floor_libbloom *filter);
uint64_t floor_libbloom_bits(const struct floor_libbloom *filter);
unsigned floor_libbloom_hashes(const struct floor_libbloom *filter);
void floor_libbloom_add(struct floor_libbloom *filter, const struct floor_keys *keys);
/* Returns the number of keys found. */
uint64_t floor_libbloom_check(struct floor_libbloom *filter, const struct floor_keys *keys);

#endif

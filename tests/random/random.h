/* What the parts of the random test share: reproducible random numbers, sets of keys as the oracle,
 * and a connection that knows the keys.
 *
 * A key is a number below a universe of UNIVERSE_MOST keys at most. What the number stands for, an
 * integer, a text, a BLOB or a real, is fixed; which of several forms of the same key is used (1 or
 * 1.0, 'a' or x'61') is chosen anew each time. So a set of keys is a set of bits, and exact.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include "sqlite-bloom.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNIVERSE_MOST = 4096 };

struct set {
    uint64_t words[UNIVERSE_MOST / 64];
};

static inline bool set_has(const struct set *set, unsigned key) {
    return (set->words[key / 64] >> key % 64 & 1) != 0;
}

static inline void set_add(struct set *set, unsigned key) {
    set->words[key / 64] |= UINT64_C(1) << key % 64;
}

static inline void set_unite(struct set *set, const struct set *other) {
    for (size_t i = 0; i < UNIVERSE_MOST / 64; i++)
        set->words[i] |= other->words[i];
}

static inline void set_intersect(struct set *set, const struct set *other) {
    for (size_t i = 0; i < UNIVERSE_MOST / 64; i++)
        set->words[i] &= other->words[i];
}

unsigned set_count(const struct set *set);

/* SplitMix64 (Steele, Lea, Flood, 2014), begun with the seed of the run. */
uint64_t random_next(void);
void random_begin(uint64_t seed);

/* A number from 0 to range - 1; true once in times. */
unsigned random_below(unsigned range);
bool random_once_in(unsigned times);

/* A set of keys below universe, of any size, small ones as often as large ones. */
struct set random_set(unsigned universe);

/* Ends the program as failed, with the formatted message and how to come here again, unless holds.
 */
void expect(bool holds, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* What has been done so far; a failure tells it. */
extern uint64_t operations;

/* Observed against expected numbers of false positives. The keys asked are fresh ones each time, so
 * that one observation is independent of the others. */
struct false_positives {
    double asked, found, expected, variance;
};

void false_positives_count(struct false_positives *sum, unsigned asked, unsigned found,
                           double rate);

/* Expects found to be what chance allows, and slack of expected more; the rate of a filter is an
 * estimate. */
void false_positives_expect(const struct false_positives *sum, double slack, const char *what);

/* A number beyond all integers of the universe and all that this has returned before: this and the
 * next UNIVERSE_MOST ones are fresh keys. */
sqlite3_int64 fresh_keys(void);

/* A connection to a file with a table of the keys below universe, universe(i, k), and the function
 * in_set(i), which asks *set. */
sqlite3 *open_connection(const char *file, unsigned universe, struct set *set);

/* Prepares a statement (the text is a sqlite3_mprintf format) that will be used for long. */
sqlite3_stmt *prepare(sqlite3 *database, const char *format, ...);

/* Binds a key in one of its forms. */
void bind_key(sqlite3_stmt *statement, int parameter, unsigned key);

/* The parts; each does what takes some 15 seconds. */
void random_values(void);
void random_tables(void);
void random_floor(void);
void random_kinds(void);

#endif

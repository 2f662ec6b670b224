/* Filters of sqlite-bloom from C and C++, without SQLite: the bytes that bloom_new, bloom_agg and
 * the other SQL functions make, asked, changed, built and exchanged in memory.
 *
 *     struct sqlite_bloom_filter *filter;
 *     char problem[SQLITE_BLOOM_PROBLEM_SIZE];
 *     if (sqlite_bloom_filter_open(&filter, bytes, length, NULL, problem) != SQLITE_BLOOM_OK)
 *         fail(problem);
 *     if (sqlite_bloom_filter_check(filter, sqlite_bloom_text_key("evil.example", 12)) != 0)
 *         refuse();
 *     sqlite_bloom_filter_close(filter);
 *
 * It needs the C library alone. Either link libsqlite-bloom-filter.a (make install puts it beside
 * this header; pkg-config: sqlite-bloom-filter; CMake: sqlite-bloom::filter), or compile the
 * amalgamation, sqlite-bloom-filter.c, into the program; Windows needs no -lm:
 *
 *     cc -O2 -std=c11 -ffp-contract=off -c sqlite-bloom-filter.c
 *     cc -o program program.o sqlite-bloom-filter.o -lm
 *
 * Threads. Functions that take a const filter may run at once on one filter, if its allocator may.
 * All else needs one thread at a time for each filter or builder. There is no global state but the
 * choice of code for the processor, which is made once and is the same for all.
 *
 * Bytes. A filter is one stretch of bytes, the value of a BLOB; ext/FORMAT.md specifies it. No
 * alignment is needed. Equal sets of keys give equal bytes on every machine, whoever makes them:
 * this library or SQL. Bytes are never trusted: whatever they are, no function leaves them.
 *
 * Errors. A function that can fail returns SQLITE_BLOOM_OK (0), or a negative number and, in
 * problem, a sentence of valid UTF-8 that begins with the function's name; problem has room for
 * SQLITE_BLOOM_PROBLEM_SIZE bytes or is NULL. What failed has changed nothing, and where it would
 * have made something, that is NULL. Pointers are not NULL unless it is said.
 */
#ifndef SQLITE_BLOOM_FILTER_H
#define SQLITE_BLOOM_FILTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The release that this header belongs to, and the same as a number: 1002003 is 1.2.3. */
#define SQLITE_BLOOM_VERSION "1.1.0"
#define SQLITE_BLOOM_VERSION_NUMBER 1001000

/* The release of the library that runs, as text. */
const char *sqlite_bloom_filter_version(void);

enum sqlite_bloom_status {
    SQLITE_BLOOM_OK = 0,
    SQLITE_BLOOM_NO_MEMORY = -1,    /* the allocator returned NULL */
    SQLITE_BLOOM_NOT_A_FILTER = -2, /* the bytes are none, are damaged, or of a newer release */
    SQLITE_BLOOM_REFUSED = -3,    /* an argument is out of range, or the layout does not offer it */
    SQLITE_BLOOM_NO_KEY = -4,     /* a key that the filter's key rule or hashing does not know */
    SQLITE_BLOOM_DIFFERENT = -5,  /* filters that have other parameters cannot be merged */
    SQLITE_BLOOM_CHOSEN_KEYS = -6 /* keys chosen against layout fuse: give it another salt */
};

/* Room for a problem in words. */
#define SQLITE_BLOOM_PROBLEM_SIZE 640

/* Where memory comes from. NULL in place of it: malloc, realloc and free. context is handed to each
 * function. allocate returns memory aligned as malloc's, or NULL; bytes is never 0. release takes
 * NULL, too. resize is as realloc, and may be NULL itself: then what grows is copied. The struct is
 * copied, context is not: it must live as long as what was made with it. */
struct sqlite_bloom_memory {
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *memory);
    void *(*resize)(void *context, void *memory, size_t bytes);
    void *context;
};

/* --- Keys --- */

/* A key has the type that it has in SQL: text in UTF-8 (with no need of a NUL at its end), bytes
 * (a BLOB), an INTEGER or a REAL. Text and bytes of equal contents are one key, and so are a real
 * and the integer that it is equal to; what else holds for a layout of another system, SQL's
 * documentation says. What text and bytes point to stays the caller's, and is read during the call
 * alone; it may be NULL when length, in bytes, is 0.
 *
 * A filter with a key rule (key=url) applies it: what is added goes in under its canonical key, and
 * what is asked is looked up under all keys that may cover it. There a number counts as the text
 * that SQLite makes of it: an integer as its decimal digits, a real with 15 of them (1.5, 3.0,
 * 1.0e+21). */
enum sqlite_bloom_key_type {
    SQLITE_BLOOM_TEXT = 1,
    SQLITE_BLOOM_BYTES = 2,
    SQLITE_BLOOM_INTEGER = 3,
    SQLITE_BLOOM_REAL = 4
};

/* For functions that stand in a header, used or not. */
#if defined(__GNUC__)
#define SQLITE_BLOOM_INLINE static inline __attribute__((unused))
#else
#define SQLITE_BLOOM_INLINE static inline
#endif

struct sqlite_bloom_key {
    enum sqlite_bloom_key_type type;
    union {
        const void *bytes; /* of text and bytes */
        int64_t integer;
        double real;
    } value;
    size_t length; /* of text and bytes */
};

SQLITE_BLOOM_INLINE struct sqlite_bloom_key sqlite_bloom_text_key(const char *text, size_t length) {
    struct sqlite_bloom_key key;
    key.type = SQLITE_BLOOM_TEXT;
    key.value.bytes = text;
    key.length = length;
    return key;
}

SQLITE_BLOOM_INLINE struct sqlite_bloom_key sqlite_bloom_bytes_key(const void *bytes,
                                                                   size_t length) {
    struct sqlite_bloom_key key;
    key.type = SQLITE_BLOOM_BYTES;
    key.value.bytes = bytes;
    key.length = length;
    return key;
}

SQLITE_BLOOM_INLINE struct sqlite_bloom_key sqlite_bloom_integer_key(int64_t integer) {
    struct sqlite_bloom_key key;
    key.type = SQLITE_BLOOM_INTEGER;
    key.value.integer = integer;
    key.length = 0;
    return key;
}

SQLITE_BLOOM_INLINE struct sqlite_bloom_key sqlite_bloom_real_key(double real) {
    struct sqlite_bloom_key key;
    key.type = SQLITE_BLOOM_REAL;
    key.value.real = real;
    key.length = 0;
    return key;
}

/* --- Filters --- */

/* A filter: a view on bytes of the caller, or on bytes of its own. */
struct sqlite_bloom_filter;

/* Opens length bytes as a filter, after validating them once: header, length, and that no bit is
 * set beyond the last. Nothing is copied: bytes must stay where they are, unchanged, until the
 * filter is closed. bytes may be NULL when length is 0. The filter can be asked, not changed.
 * Allocates some 200 bytes; takes the same short time whatever the length. Fails with NO_MEMORY and
 * NOT_A_FILTER. */
int sqlite_bloom_filter_open(struct sqlite_bloom_filter **filter, const void *bytes, size_t length,
                             const struct sqlite_bloom_memory *memory, char *problem);

/* The same for bytes that may be changed: add and remove work on them where they are. */
int sqlite_bloom_filter_open_writable(struct sqlite_bloom_filter **filter, void *bytes,
                                      size_t length, const struct sqlite_bloom_memory *memory,
                                      char *problem);

/* Makes an empty filter for n keys (0 to 2^40) at the false-positive rate p, between 0 and 1; p is
 * 0 for a layout that is exact. options is NULL or text in SQL's words, as in
 * "layout=counting, key=url, salt=00112233445566778899aabbccddeeff", or the name of a layout. The
 * bytes are of its own, and those of bloom_new(n, p, options). Takes as long as memory takes to
 * become zeros. Fails with NO_MEMORY and REFUSED. */
int sqlite_bloom_filter_new(struct sqlite_bloom_filter **filter, uint64_t n, double p,
                            const char *options, const struct sqlite_bloom_memory *memory,
                            char *problem);

/* Makes a filter with a copy of another's bytes, which can be changed. Takes a pass over them.
 * Fails with NO_MEMORY. */
int sqlite_bloom_filter_copy(struct sqlite_bloom_filter **filter,
                             const struct sqlite_bloom_filter *from,
                             const struct sqlite_bloom_memory *memory, char *problem);

/* Releases a filter, and its bytes when they are its own. filter may be NULL. */
void sqlite_bloom_filter_close(struct sqlite_bloom_filter *filter);

/* The bytes of a filter, header included, to be stored as a BLOB, and their number. They are the
 * filter's: valid until it is closed, and they change with it. */
const void *sqlite_bloom_filter_bytes(const struct sqlite_bloom_filter *filter, size_t *length);

/* --- Asking --- */

/* Whether a key is in: 1 probably, 0 certainly not. NO_KEY: by the filter's key rule this is no
 * key, as text without a host is no URL (SQL says NULL). NO_MEMORY: only with a key rule and text
 * of more than 496 bytes. Takes 5 to 20 ns when the filter is in cache, a few cache misses when it
 * is not, 0.1 to 0.4 us with key=url. Allocates nothing else. */
SQLITE_BLOOM_INLINE int sqlite_bloom_filter_check(const struct sqlite_bloom_filter *filter,
                                                  struct sqlite_bloom_key key);

/* The same for a key of each type, without a struct around it. */
int sqlite_bloom_filter_check_text(const struct sqlite_bloom_filter *filter, const char *text,
                                   size_t length);
int sqlite_bloom_filter_check_bytes(const struct sqlite_bloom_filter *filter, const void *bytes,
                                    size_t length);
int sqlite_bloom_filter_check_integer(const struct sqlite_bloom_filter *filter, int64_t integer);
int sqlite_bloom_filter_check_real(const struct sqlite_bloom_filter *filter, double real);

/* Inline: where a key is made in the call, nothing is left of its type and its struct. */
SQLITE_BLOOM_INLINE int sqlite_bloom_filter_check(const struct sqlite_bloom_filter *filter,
                                                  struct sqlite_bloom_key key) {
    switch (key.type) {
    case SQLITE_BLOOM_TEXT:
        return sqlite_bloom_filter_check_text(filter, (const char *)key.value.bytes, key.length);
    case SQLITE_BLOOM_BYTES:
        return sqlite_bloom_filter_check_bytes(filter, key.value.bytes, key.length);
    case SQLITE_BLOOM_INTEGER:
        return sqlite_bloom_filter_check_integer(filter, key.value.integer);
    case SQLITE_BLOOM_REAL:
        return sqlite_bloom_filter_check_real(filter, key.value.real);
    default:
        return SQLITE_BLOOM_NO_KEY;
    }
}

/* The same for count keys, whose cache misses overlap. Sets found[i] to 1 or 0 for key i, 0 where
 * it is no key. Returns how many are 1, or NO_MEMORY, after which found tells nothing. keys and
 * found may be NULL when count is 0. */
int64_t sqlite_bloom_filter_check_many(const struct sqlite_bloom_filter *filter,
                                       const struct sqlite_bloom_key *keys, size_t count,
                                       unsigned char *found);

/* What a filter is: all that its header says, in no time. */
struct sqlite_bloom_description {
    const char *layout;   /* its name, which lives for ever; so does that of the key rule */
    const char *key_rule; /* or NULL */
    int salted;           /* 1 or 0 */
    uint32_t hashes;      /* of a key, k */
    uint64_t bits;        /* m */
    uint64_t n;           /* keys it was made for; 0 when made from m and k */
    double p;             /* rate it was made for; 0 when made from m and k, and of exact layouts */
};
void sqlite_bloom_filter_describe(const struct sqlite_bloom_filter *filter,
                                  struct sqlite_bloom_description *description);

/* What its bits say. Reads all of them, some 10 GB a second. */
struct sqlite_bloom_estimate {
    double count; /* of distinct keys that are in; infinite when every bit is set */
    double rate;  /* of false positives to expect now, 0 to 1 */
    double fill;  /* share of the bits, or counters, that are set; negative where it says nothing */
    uint64_t ones;
};
void sqlite_bloom_filter_estimate(const struct sqlite_bloom_filter *filter,
                                  struct sqlite_bloom_estimate *estimate);

/* --- Changing --- */

/* Adds a key, in place. Takes 20 to 30 ns in cache; allocates what a check does. Fails with NO_KEY,
 * NO_MEMORY, and REFUSED: the filter is open for reading only, or its layout is made of a finished
 * set. */
int sqlite_bloom_filter_add(struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                            char *problem);

/* Adds count keys, whose cache misses overlap; keys may be NULL when count is 0. Stops at the first
 * that cannot be added. added, unless it is NULL, is set to how many were, those from the first. */
int sqlite_bloom_filter_add_many(struct sqlite_bloom_filter *filter,
                                 const struct sqlite_bloom_key *keys, size_t count, size_t *added,
                                 char *problem);

/* Takes a key out once, in place; one that is certainly not in changes nothing. One that was never
 * added but is probably in takes counts of others: remove what was added, and nothing else. Takes
 * as long as an add, and fails as it does; REFUSED also for a layout other than counting. */
int sqlite_bloom_filter_remove(struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                               char *problem);

/* Makes the union, or an intersection (all keys that are in each, and at times others), of count
 * filters, 1 or more, that have equal parameters, as bloom_union and bloom_intersect do: of equal
 * bytes, but layouts whose sizes mix may mix them. The bytes are of its own. Takes a pass over all
 * of them, and room for one result more at most. Fails with NO_MEMORY, REFUSED and DIFFERENT. */
int sqlite_bloom_filter_union(struct sqlite_bloom_filter **filter,
                              const struct sqlite_bloom_filter *const *filters, size_t count,
                              const struct sqlite_bloom_memory *memory, char *problem);
int sqlite_bloom_filter_intersect(struct sqlite_bloom_filter **filter,
                                  const struct sqlite_bloom_filter *const *filters, size_t count,
                                  const struct sqlite_bloom_memory *memory, char *problem);

/* --- Building --- */

/* A filter in the making, sized exactly for its distinct keys when all have come. */
struct sqlite_bloom_builder;

/* Begins with p and options as in sqlite_bloom_filter_new, layouts included that are made of a
 * finished set (fuse). Allocates some 1,000 bytes. Fails with NO_MEMORY and REFUSED. */
int sqlite_bloom_builder_open(struct sqlite_bloom_builder **builder, double p, const char *options,
                              const struct sqlite_bloom_memory *memory, char *problem);

/* Where others choose the keys: 16 random bytes, before the first key, keep them from choosing ones
 * that make building slow. Without it they come from the clock and an address. The filter's bytes
 * do not depend on it. */
void sqlite_bloom_builder_seed(struct sqlite_bloom_builder *builder, const void *seed);

/* Takes a key. 8 bytes of memory for each distinct key (16 for classic, 32 for go), at times four
 * times as much for repeated ones; of layout bitmap a bit for each number up to the largest. Some
 * 20 to 100 ns. Fails with NO_MEMORY, NO_KEY and REFUSED. */
int sqlite_bloom_builder_add(struct sqlite_bloom_builder *builder, struct sqlite_bloom_key key,
                             char *problem);

/* Makes the filter of the keys so far, with bytes of its own: those of bloom_agg(key, NULL, p,
 * options). The builder is empty then, and ready for another set. Takes 10 to 50 ns a key, fuse
 * 100. Fails with NO_MEMORY, REFUSED and CHOSEN_KEYS; the builder then has its keys as before. */
int sqlite_bloom_builder_finish(struct sqlite_bloom_builder *builder,
                                struct sqlite_bloom_filter **filter, char *problem);

/* Releases a builder and its keys. builder may be NULL. */
void sqlite_bloom_builder_close(struct sqlite_bloom_builder *builder);

/* --- Other systems --- */

/* Makes the filter that another system serialised, with bytes of its own. format is one of SQL's
 * bloom_import: "guava", "spark", "dcso", "go", "parquet", "redisbloom", ... bytes may be NULL when
 * length is 0. Takes a pass over them. Fails with NO_MEMORY, NOT_A_FILTER and REFUSED. */
int sqlite_bloom_filter_import(struct sqlite_bloom_filter **filter, const void *bytes,
                               size_t length, const char *format,
                               const struct sqlite_bloom_memory *memory, char *problem);

/* Writes a filter as another system serialises it, to bytes, which has room for *length bytes, and
 * sets *length to those written. With bytes NULL it only sets *length, in no time; else it takes a
 * pass over them. Allocates nothing. Fails with REFUSED: the format has no such filters, or the
 * room is too small (*length then says what is needed). */
int sqlite_bloom_filter_export(const struct sqlite_bloom_filter *filter, const char *format,
                               void *bytes, size_t *length, char *problem);

#ifdef __cplusplus
}
#endif

#endif

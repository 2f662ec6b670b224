/* Bloom filters for C and C++ programs, without SQLite.
 *
 * The bytes of a filter are those that the SQL functions of sqlite-bloom make and read. This
 * library checks, changes, builds, merges and exchanges them in memory.
 *
 *     struct sqlite_bloom_filter *filter;
 *     char problem[SQLITE_BLOOM_PROBLEM_SIZE];
 *     if (sqlite_bloom_filter_open(&filter, bytes, length, NULL, problem) != SQLITE_BLOOM_OK)
 *         fail(problem);
 *     if (sqlite_bloom_filter_check(filter, sqlite_bloom_text_key("evil.example", 12)) != 0)
 *         refuse();
 *     sqlite_bloom_filter_close(filter);
 *
 * The library needs only the C library. Either link libsqlite-bloom-filter.a, which make install
 * puts beside this header (pkg-config: sqlite-bloom-filter; CMake: sqlite-bloom::filter), or
 * compile the amalgamation sqlite-bloom-filter.c into the program. Windows needs no -lm:
 *
 *     cc -O2 -std=c11 -ffp-contract=off -c sqlite-bloom-filter.c
 *     cc -o program program.o sqlite-bloom-filter.o -lm
 *
 * Threads. Functions that take a const filter may run at the same time on one filter, if its
 * allocator allows that. All other functions need one thread at a time for each filter or builder.
 * The only global state is the choice of code for the processor, which is the same for every
 * thread.
 *
 * Bytes. A filter is one sequence of bytes, the value of a BLOB, which ext/FORMAT.md specifies. It
 * needs no alignment. Equal sets of keys give equal bytes on every machine, whether this library or
 * SQL makes them. Bytes are never trusted: whatever they hold, no function reads or writes outside
 * of them.
 *
 * Errors. A function that can fail returns SQLITE_BLOOM_OK (0) or a negative number. On failure it
 * writes to `problem` what is wrong and what to do, as valid UTF-8 that begins with the name of the
 * function. `problem` has room for SQLITE_BLOOM_PROBLEM_SIZE bytes, or is NULL. A function that
 * failed has changed nothing, and sets a pointer to a new object to NULL. Pointers must not be NULL
 * unless the comment of the function says that they may.
 */
#ifndef SQLITE_BLOOM_FILTER_H
#define SQLITE_BLOOM_FILTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The release of this header, as text and as a number: 1002003 is 1.2.3. */
#define SQLITE_BLOOM_VERSION "1.1.0"
#define SQLITE_BLOOM_VERSION_NUMBER 1001000

/* Returns the release of the library that is linked, as text. */
const char *sqlite_bloom_filter_version(void);

enum sqlite_bloom_status {
    SQLITE_BLOOM_OK = 0,
    SQLITE_BLOOM_NO_MEMORY = -1,    /* the allocator returned NULL */
    SQLITE_BLOOM_NOT_A_FILTER = -2, /* the bytes are not a filter, are damaged, or newer */
    SQLITE_BLOOM_REFUSED = -3,      /* an argument is out of range, or not supported */
    SQLITE_BLOOM_NO_KEY = -4,     /* the key rule or the hashing of the filter has no key for it */
    SQLITE_BLOOM_DIFFERENT = -5,  /* filters with different parameters cannot be merged */
    SQLITE_BLOOM_CHOSEN_KEYS = -6 /* keys chosen against layout fuse: use another salt */
};

/* Size of the buffer for an error message. */
#define SQLITE_BLOOM_PROBLEM_SIZE 640

/* An allocator. Where a function takes a pointer to one, NULL means malloc, realloc and free.
 * context is passed to each function. allocate returns memory that is aligned as malloc's, or NULL;
 * bytes is never 0. release must accept NULL. resize works as realloc; if it is NULL, memory that
 * grows is copied. The struct is copied, but context is not: it must live as long as the objects
 * that were made with it. */
struct sqlite_bloom_memory {
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *memory);
    void *(*resize)(void *context, void *memory, size_t bytes);
    void *context;
};

/* --- Keys --- */

/* A key has a type, as in SQL: text in UTF-8 (a NUL at its end is not needed), bytes (a BLOB), an
 * INTEGER or a REAL. Text and bytes with the same content are the same key, and so are a real and
 * the integer that it is equal to. For layouts of other systems, see the documentation of SQL. The
 * library reads text and bytes during the call only. The pointer may be NULL when length, in bytes,
 * is 0. Types are numbered as SQLite's, so sqlite3_value_type returns one. What has another type,
 * such as NULL, is not a key. Bytes that are a filter are REFUSED as a key by every function,
 * because filters are merged and not added.
 *
 * A filter with a key rule (key=url) applies it to every key. Added text is stored under its
 * canonical key, and checked text is looked up under all keys that may cover it. A number counts as
 * the text that SQLite makes of it: an integer as its decimal digits, a real with 15 digits (1.5,
 * 3.0, 1.0e+21). */
enum sqlite_bloom_key_type {
    SQLITE_BLOOM_INTEGER = 1,
    SQLITE_BLOOM_REAL = 2,
    SQLITE_BLOOM_TEXT = 3,
    SQLITE_BLOOM_BYTES = 4
};

/* For functions that are defined in a header, because a program may not use all of them. */
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
    struct sqlite_bloom_key key = {SQLITE_BLOOM_TEXT, {text}, length};
    return key;
}

SQLITE_BLOOM_INLINE struct sqlite_bloom_key sqlite_bloom_bytes_key(const void *bytes,
                                                                   size_t length) {
    struct sqlite_bloom_key key = {SQLITE_BLOOM_BYTES, {bytes}, length};
    return key;
}

SQLITE_BLOOM_INLINE struct sqlite_bloom_key sqlite_bloom_integer_key(int64_t integer) {
    struct sqlite_bloom_key key = {SQLITE_BLOOM_INTEGER, {NULL}, 0};
    key.value.integer = integer;
    return key;
}

SQLITE_BLOOM_INLINE struct sqlite_bloom_key sqlite_bloom_real_key(double real) {
    struct sqlite_bloom_key key = {SQLITE_BLOOM_REAL, {NULL}, 0};
    key.value.real = real;
    return key;
}

/* --- Filters --- */

/* A filter. Its bytes belong to the caller or to the filter. */
struct sqlite_bloom_filter;

/* Opens length bytes as a filter for reading. Validates the header, the length, and that no bit
 * after the last one is set, in constant time. Copies nothing: the bytes must stay in place and
 * unchanged until the filter is closed. bytes may be NULL when length is 0. The caller must close
 * the filter. Fails with NO_MEMORY and NOT_A_FILTER. */
int sqlite_bloom_filter_open(struct sqlite_bloom_filter **filter, const void *bytes, size_t length,
                             const struct sqlite_bloom_memory *memory, char *problem);

/* Opens length bytes as a filter that can be changed: add and remove change the bytes in place. */
int sqlite_bloom_filter_open_writable(struct sqlite_bloom_filter **filter, void *bytes,
                                      size_t length, const struct sqlite_bloom_memory *memory,
                                      char *problem);

/* Makes an empty filter for n keys (0 to 2^40) at the false-positive rate p, with bytes of its own:
 * those of bloom_new(n, p, options). p is between 0 and 1, or 0 for a layout that is exact. options
 * is NULL, the name of a layout, or text as in SQL: "layout=counting, key=url,
 * salt=00112233445566778899aabbccddeeff". Fails with NO_MEMORY and REFUSED. */
int sqlite_bloom_filter_new(struct sqlite_bloom_filter **filter, uint64_t n, double p,
                            const char *options, const struct sqlite_bloom_memory *memory,
                            char *problem);

/* Makes a copy of a filter, with bytes of its own, which can be changed. Fails with NO_MEMORY. */
int sqlite_bloom_filter_copy(struct sqlite_bloom_filter **filter,
                             const struct sqlite_bloom_filter *from,
                             const struct sqlite_bloom_memory *memory, char *problem);

/* Releases a filter, and its bytes if they are its own. filter may be NULL. */
void sqlite_bloom_filter_close(struct sqlite_bloom_filter *filter);

/* Returns the bytes of a filter, header included, to be stored as a BLOB, and sets *length to their
 * number. They belong to the filter. They are valid until it is closed, and change when it changes.
 */
const void *sqlite_bloom_filter_bytes(const struct sqlite_bloom_filter *filter, size_t *length);

/* --- Checking --- */

/* Returns 1 when a key is probably in the filter, and 0 when it is certainly not. Returns NO_KEY
 * when the filter's key rule has no key for it, for example for text that is not a URL (SQL returns
 * NULL), and REFUSED when the key is a filter. Returns NO_MEMORY only for text of more than 432
 * bytes in a filter with a key rule; other checks allocate nothing. */
SQLITE_BLOOM_INLINE int sqlite_bloom_filter_check(const struct sqlite_bloom_filter *filter,
                                                  struct sqlite_bloom_key key);

/* Check a key of one type. */
int sqlite_bloom_filter_check_text(const struct sqlite_bloom_filter *filter, const char *text,
                                   size_t length);
int sqlite_bloom_filter_check_bytes(const struct sqlite_bloom_filter *filter, const void *bytes,
                                    size_t length);
int sqlite_bloom_filter_check_integer(const struct sqlite_bloom_filter *filter, int64_t integer);
int sqlite_bloom_filter_check_real(const struct sqlite_bloom_filter *filter, double real);

/* Inline, so that a call with a key that is made in place does not test its type. */
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

/* Checks count keys, which is faster than checking one after the other in a filter that is not in
 * the cache. Sets found[i] to 1 when key i is probably in, to 0 when it is certainly not, and to 2
 * when it is not a key, so that a single check returns NO_KEY. Returns the number of keys that are
 * probably in, or NO_MEMORY; then found is undefined. keys and found may be NULL when count is 0.
 */
int64_t sqlite_bloom_filter_check_many(const struct sqlite_bloom_filter *filter,
                                       const struct sqlite_bloom_key *keys, size_t count,
                                       unsigned char *found);

/* Returns how often a key was added to a filter of layout counting, 0 to 15, where 15 means 15 or
 * more: sometimes more than it was, never less. Fails as a check does, and with REFUSED for every
 * other layout. */
int sqlite_bloom_filter_count(const struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                              char *problem);

/* What the header of a filter says. */
struct sqlite_bloom_description {
    const char *layout;   /* names are never released */
    const char *key_rule; /* or NULL */
    int salted;           /* 1 or 0 */
    uint32_t hashes;      /* k, for each key */
    uint64_t bits;        /* m */
    uint64_t capacity;    /* keys that it was made for; 0 when made from m and k */
    double fpr;           /* rate that it was made for; 0 when made from m and k, or exact */
};
/* Reads the header only. */
void sqlite_bloom_filter_describe(const struct sqlite_bloom_filter *filter,
                                  struct sqlite_bloom_description *description);

/* What the bits of a filter say. */
struct sqlite_bloom_estimate {
    double count;   /* of distinct keys; infinite when every bit is set */
    double fpr_now; /* rate of false positives that is expected now, 0 to 1 */
    double fill;    /* share of the bits or counters that are set; negative if meaningless */
    uint64_t ones;
};
/* Reads every bit. */
void sqlite_bloom_filter_estimate(const struct sqlite_bloom_filter *filter,
                                  struct sqlite_bloom_estimate *estimate);

/* --- Changing --- */

/* Adds a key in place. Allocates what a check does. Fails with NO_KEY and NO_MEMORY, and with
 * REFUSED if the filter is open for reading only, or if its layout is made of a finished set. */
SQLITE_BLOOM_INLINE int sqlite_bloom_filter_add(struct sqlite_bloom_filter *filter,
                                                struct sqlite_bloom_key key, char *problem);

/* Add a key of one type. */
int sqlite_bloom_filter_add_text(struct sqlite_bloom_filter *filter, const char *text,
                                 size_t length, char *problem);
int sqlite_bloom_filter_add_bytes(struct sqlite_bloom_filter *filter, const void *bytes,
                                  size_t length, char *problem);
int sqlite_bloom_filter_add_integer(struct sqlite_bloom_filter *filter, int64_t integer,
                                    char *problem);
int sqlite_bloom_filter_add_real(struct sqlite_bloom_filter *filter, double real, char *problem);

/* Adds count keys. Stops at the first key that cannot be added. Sets *added to the number of keys
 * that were added, counted from the first one. added may be NULL; keys may be NULL when count is 0.
 */
int sqlite_bloom_filter_add_many(struct sqlite_bloom_filter *filter,
                                 const struct sqlite_bloom_key *keys, size_t count, size_t *added,
                                 char *problem);

/* Inline, because a key that is passed as a struct is written to memory in small pieces and read as
 * a large one, for which a processor waits longer than it adds. */
SQLITE_BLOOM_INLINE int sqlite_bloom_filter_add(struct sqlite_bloom_filter *filter,
                                                struct sqlite_bloom_key key, char *problem) {
    switch (key.type) {
    case SQLITE_BLOOM_TEXT:
        return sqlite_bloom_filter_add_text(filter, (const char *)key.value.bytes, key.length,
                                            problem);
    case SQLITE_BLOOM_BYTES:
        return sqlite_bloom_filter_add_bytes(filter, key.value.bytes, key.length, problem);
    case SQLITE_BLOOM_INTEGER:
        return sqlite_bloom_filter_add_integer(filter, key.value.integer, problem);
    case SQLITE_BLOOM_REAL:
        return sqlite_bloom_filter_add_real(filter, key.value.real, problem);
    default:
        return sqlite_bloom_filter_add_many(filter, &key, 1, NULL, problem);
    }
}

/* Removes a key once, in place. A key that is certainly not in changes nothing. Remove only keys
 * that were added: one that was never added but is probably in decreases the counters of other
 * keys. Fails as an add does, and with REFUSED for every layout except counting. */
int sqlite_bloom_filter_remove(struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                               char *problem);

/* Makes the union of count filters (1 or more), with bytes of its own, as bloom_union does. The
 * filters must have equal parameters; some layouts also merge different sizes. Fails with
 * NO_MEMORY, REFUSED and DIFFERENT. */
int sqlite_bloom_filter_union(struct sqlite_bloom_filter **filter,
                              const struct sqlite_bloom_filter *const *filters, size_t count,
                              const struct sqlite_bloom_memory *memory, char *problem);
/* Makes an intersection in the same way, as bloom_intersect does. It has every key that is in all
 * the filters, and may have others. */
int sqlite_bloom_filter_intersect(struct sqlite_bloom_filter **filter,
                                  const struct sqlite_bloom_filter *const *filters, size_t count,
                                  const struct sqlite_bloom_memory *memory, char *problem);

/* --- Building --- */

/* Builds a filter that is sized exactly for its distinct keys, when all of them have been added. */
struct sqlite_bloom_builder;

/* Opens a builder. p and options are those of sqlite_bloom_filter_new, and the layout may also be
 * one that is made of a finished set (fuse). The caller must close the builder. Fails with
 * NO_MEMORY and REFUSED. */
int sqlite_bloom_builder_open(struct sqlite_bloom_builder **builder, double p, const char *options,
                              const struct sqlite_bloom_memory *memory, char *problem);

/* Sets 16 random bytes that keep an attacker from choosing keys that make building slow. Call it
 * before the first key if others choose the keys. By default the bytes come from the clock and an
 * address. The bytes of the filter do not depend on them. */
void sqlite_bloom_builder_seed(struct sqlite_bloom_builder *builder, const void *seed);

/* Adds a key to a builder. A distinct key takes about 10 bytes of memory, and up to 17 if keys
 * repeat; for classic twice, and for bits-and-blooms four times as much. Layout bitmap takes a bit
 * for each number up to the largest one. Fails with NO_MEMORY, NO_KEY and REFUSED. */
int sqlite_bloom_builder_add(struct sqlite_bloom_builder *builder, struct sqlite_bloom_key key,
                             char *problem);

/* Makes the filter of the keys so far, with bytes of its own: those of bloom_agg(key, NULL, p,
 * options). Then the builder is empty and ready for another set. Fails with NO_MEMORY, CHOSEN_KEYS,
 * and REFUSED, for example without a key; then the builder still has its keys. */
int sqlite_bloom_builder_finish(struct sqlite_bloom_builder *builder,
                                struct sqlite_bloom_filter **filter, char *problem);

/* Releases a builder and its keys. builder may be NULL. */
void sqlite_bloom_builder_close(struct sqlite_bloom_builder *builder);

/* Makes a filter of the entries of a block list, with bytes of its own: those of
 * bloom_list_agg(text, p, options). text is the text of the list in UTF-8, of length bytes, in any
 * of the forms that ext/URLS.md names. It may be NULL when length is 0. p = 0 means 0.0001. options
 * is as above. Unless it names a key rule, the filter has key=url_nocase, or key=host if no entry
 * has a path. Fails with NO_MEMORY, CHOSEN_KEYS and REFUSED, for example if the text is the name of
 * a file or has no entry. */
int sqlite_bloom_filter_from_list(struct sqlite_bloom_filter **filter, const void *text,
                                  size_t length, double p, const char *options,
                                  const struct sqlite_bloom_memory *memory, char *problem);

/* --- Other systems --- */

/* Makes a filter from bytes that another system wrote, with bytes of its own. format is one that
 * bloom_import knows: "guava", "spark", "dcso", "bits-and-blooms", "parquet", "redisbloom", ...
 * bytes may be NULL when length is 0. Fails with NO_MEMORY, NOT_A_FILTER and REFUSED. */
int sqlite_bloom_filter_import(struct sqlite_bloom_filter **filter, const void *bytes,
                               size_t length, const char *format,
                               const struct sqlite_bloom_memory *memory, char *problem);

/* Writes a filter as another system does. bytes has room for *length bytes; *length is set to the
 * number of bytes that the filter takes. If bytes is NULL, only sets *length. Allocates nothing.
 * Fails with REFUSED when the format has no such filter, or when there is too little room. */
int sqlite_bloom_filter_export(const struct sqlite_bloom_filter *filter, const char *format,
                               void *bytes, size_t *length, char *problem);

#ifdef __cplusplus
}
#endif

#endif

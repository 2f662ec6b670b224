/* Kernels: the inner loops of layouts, each written for one kind of processor. The layout chooses
 * one when it is first used.
 *
 * Every kernel of a layout returns the same answers and writes the same bytes. Tests compare all
 * kernels that the processor supports. No kernel branches on whether a probe is set, because a
 * branch that is mispredicted costs more than all probes of a key.
 *
 * The number of instructions matters in cache and out of it: out of cache it limits how many misses
 * the processor has under way at a time. */
#ifndef BLOOM_FILTER_LAYOUTS_KERNELS_KERNEL_H
#define BLOOM_FILTER_LAYOUTS_KERNELS_KERNEL_H

#include "base/portable.h"
#include "filter/layout.h"
#include "hash/murmur3.h"

#include <assert.h>
#include <stdatomic.h>

/* The members are NULL that the layout does not use. They have the contracts of the members of the
 * same names in layout.h; check_block is the check of struct bloom_blocks. */
struct bloom_kernel {
    const char *name;
    bool (*supported)(void); /* by this processor; NULL: by every one */
    bloom_word_check *check;
    bool (*check_block)(const struct bloom_shape *shape, const uint8_t *block,
                        const uint64_t *words);
    void (*check_many)(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *words, size_t count, uint8_t *found);
    void (*add)(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                size_t count);
    /* Of blocked: a check of one key of murmur3, whose hash is in the same function because a call
     * between them would take a tenth of the time; and an add of one. */
    int (*check_integer)(const struct bloom_shape *shape, const uint8_t *payload, int64_t key);
    int (*check_bytes)(const struct bloom_shape *shape, const uint8_t *payload, const void *key,
                       size_t length);
    void (*add_one)(const struct bloom_shape *shape, uint8_t *payload, uint64_t word);
};

/* All kernels of a layout in this build, fastest first, the last one portable; ends with NULL. */
extern const struct bloom_kernel *const bloom_blocked_kernels[];
extern const struct bloom_kernel *const bloom_counting_kernels[];
extern const struct bloom_kernel *const bloom_parquet_kernels[];

/* The choice of a layout. Begins with `chosen` NULL. Threads may choose at the same time, because
 * they choose the same kernel. */
struct bloom_kernel_choice {
    const struct bloom_kernel *const *kernels;
    const struct bloom_kernel *_Atomic chosen;
};

/* Chooses the first kernel of the list that the processor supports. Both are in blocked.c. */
BLOOM_RARE const struct bloom_kernel *bloom_kernel_choose(struct bloom_kernel_choice *choice);
bool bloom_kernel_is_supported(const struct bloom_kernel *kernel);

/* Returns the kernel in use. */
static inline const struct bloom_kernel *bloom_kernel(struct bloom_kernel_choice *choice) {
    const struct bloom_kernel *chosen = atomic_load_explicit(&choice->chosen, memory_order_relaxed);
    return chosen != NULL ? chosen : bloom_kernel_choose(choice);
}

/* The probes of layouts blocked and counting; blocked.c describes them. */

enum {
    BLOOM_BLOCK_BITS = 512,
    BLOOM_BLOCK_BYTES = BLOOM_BLOCK_BITS / 8,
    BLOOM_PROBE_BITS = 9,
    BLOOM_PROBES_PER_WORD = 7
};

/* 2^64 divided by the golden ratio, made odd, and the digits of the square root of two. */
#define BLOOM_PROBE_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define BLOOM_PROBE_OFFSET UINT64_C(0xb504f333f9de6485)

/* Returns the word that holds the first seven probes of a key. */
static inline uint64_t bloom_probe_word(uint64_t value) {
    return value * BLOOM_PROBE_FACTOR + BLOOM_PROBE_OFFSET;
}

/* Returns the word that holds the probes after those of `word`. */
static inline uint64_t bloom_next_probe_word(uint64_t word) {
    return (word ^ word >> 32) * BLOOM_PROBE_FACTOR;
}

/* The probes of a key one by one: word i / 7 of them, topmost nine bits first. */
struct bloom_probes {
    uint64_t word, left;
    uint32_t of_word;
};

static inline struct bloom_probes bloom_probes_of(uint64_t value) {
    uint64_t word = bloom_probe_word(value);
    return (struct bloom_probes){.word = word, .left = word};
}

static inline unsigned bloom_probe_next(struct bloom_probes *probes) {
    if (probes->of_word == BLOOM_PROBES_PER_WORD) {
        probes->word = bloom_next_probe_word(probes->word);
        probes->left = probes->word;
        probes->of_word = 0;
    }
    unsigned probe = (unsigned)(probes->left >> (64 - BLOOM_PROBE_BITS));
    probes->left <<= BLOOM_PROBE_BITS;
    probes->of_word++;
    return probe;
}

/* Returns where the block of a key begins, in bytes: floor(value * blocks / 2^64) * 64. This is
 * computed from bit number floor(value * bits / 2^64), which is in the same block. */
static inline size_t bloom_block_offset(const struct bloom_shape *shape, uint64_t value) {
    return (size_t)(bloom_reduce(value, shape->bits) / 8) & ~(size_t)(BLOOM_BLOCK_BYTES - 1);
}

/* When many keys are checked or added, this many blocks are loaded into the cache ahead of the one
 * in use. With fewer, memory is idle; more gain little. The loops prefetch in their own bodies,
 * because GCC takes a function that only prefetches for one without effect and drops the calls. */
enum { BLOOM_BLOCKS_AHEAD = 64 };

/* Returns where the block of a key begins, in bytes. */
typedef size_t bloom_block_locate(const struct bloom_shape *shape, uint64_t value);

/* Tests a key in its block. few: one probe word holds all its probes; the caller passes a constant,
 * so that no loop over words is left. */
typedef bool bloom_block_find(const struct bloom_shape *shape, const uint8_t *block,
                              const uint64_t *words, bool few);

/* Adds a key to its block. */
typedef void bloom_block_set(const struct bloom_shape *shape, uint8_t *block,
                             const uint64_t *words);

/* The check_many and the add of layouts that keep each key within a block of that many bytes. The
 * loops that nearly all keys take have no branch but their own. */
BLOOM_INLINE void bloom_find_each(const struct bloom_shape *shape, const uint8_t *payload,
                                  const uint64_t *words, size_t count, uint8_t *found,
                                  size_t block_bytes, bloom_block_locate *locate,
                                  bloom_block_find *find, bool few) {
    const struct bloom_shape here = *shape; /* what is written to found cannot change it */
    size_t i;
    for (i = 0; i < count && i < BLOOM_BLOCKS_AHEAD; i++)
        for (size_t line = 0; line < block_bytes; line += BLOOM_BLOCK_BYTES)
            BLOOM_PREFETCH(payload + locate(&here, words[i]) + line);
    for (i = 0; i + BLOOM_BLOCKS_AHEAD < count; i++) {
        for (size_t line = 0; line < block_bytes; line += BLOOM_BLOCK_BYTES)
            BLOOM_PREFETCH(payload + locate(&here, words[i + BLOOM_BLOCKS_AHEAD]) + line);
        found[i] = find(&here, payload + locate(&here, words[i]), words + i, few);
    }
    for (; i < count; i++)
        found[i] = find(&here, payload + locate(&here, words[i]), words + i, few);
}

BLOOM_INLINE void bloom_set_each(const struct bloom_shape *shape, uint8_t *payload,
                                 const uint64_t *words, size_t count, size_t block_bytes,
                                 bloom_block_locate *locate, bloom_block_set *set) {
    const struct bloom_shape here = *shape; /* what is written to payload cannot change it */
    size_t i;
    for (i = 0; i < count && i < BLOOM_BLOCKS_AHEAD && count > 1; i++)
        for (size_t line = 0; line < block_bytes; line += BLOOM_BLOCK_BYTES)
            BLOOM_PREFETCH(payload + locate(&here, words[i]) + line);
    for (i = 0; i + BLOOM_BLOCKS_AHEAD < count; i++) {
        for (size_t line = 0; line < block_bytes; line += BLOOM_BLOCK_BYTES)
            BLOOM_PREFETCH(payload + locate(&here, words[i + BLOOM_BLOCKS_AHEAD]) + line);
        set(&here, payload + locate(&here, words[i]), words + i);
    }
    for (; i < count; i++)
        set(&here, payload + locate(&here, words[i]), words + i);
}

/* Defines the members check and check_many of a kernel that has name_find. `with` are the
 * attributes of its functions. */
#define BLOOM_KERNEL_CHECKS(with, name, block_bytes, locate)                                       \
    BLOOM_INLINE with int name##_check(const struct bloom_shape *shape, const uint8_t *payload,    \
                                       uint64_t word) {                                            \
        const uint8_t *block = payload + locate(shape, word);                                      \
        return shape->probes <= BLOOM_PROBES_PER_WORD ? name##_find(shape, block, &word, true)     \
                                                      : name##_find(shape, block, &word, false);   \
    }                                                                                              \
    static with void name##_check_many(const struct bloom_shape *shape, const uint8_t *payload,    \
                                       const uint64_t *words, size_t count, uint8_t *found) {      \
        if (shape->probes <= BLOOM_PROBES_PER_WORD)                                                \
            bloom_find_each(shape, payload, words, count, found, block_bytes, locate, name##_find, \
                            true);                                                                 \
        else                                                                                       \
            bloom_find_each(shape, payload, words, count, found, block_bytes, locate, name##_find, \
                            false);                                                                \
    }                                                                                              \
    static_assert((int)BLOOM_BLOCK_BITS == (int)BLOOM_BLOCK_ONES_MAXIMUM, "places of a block")

/* Sets the bit of probe number i of a word of a block of layout blocked, and those of all probes of
 * a key: for processors that have nothing faster. */
static inline void bloom_set_probe(uint8_t *block, uint64_t word, unsigned i) {
    uint64_t probe = word >> (64 - BLOOM_PROBE_BITS - BLOOM_PROBE_BITS * i);
    uint8_t *part = block + (probe >> 6 & 7) * 8;
    bloom_store64(part, bloom_load64(part) | UINT64_C(1) << (probe & 63));
}

/* Calls set(word, i) for each probe of a key, which is probe i of a word. There is no loop over the
 * probes of a word, so i is a constant. */
#define BLOOM_EACH_PROBE(shape, value, set)                                                        \
    uint64_t word = bloom_probe_word(value);                                                       \
    for (uint32_t left = (shape)->probes;; left -= BLOOM_PROBES_PER_WORD) {                        \
        switch (left) {                                                                            \
        default:                                                                                   \
            set(word, 6); /* fall through */                                                       \
        case 6:                                                                                    \
            set(word, 5); /* fall through */                                                       \
        case 5:                                                                                    \
            set(word, 4); /* fall through */                                                       \
        case 4:                                                                                    \
            set(word, 3); /* fall through */                                                       \
        case 3:                                                                                    \
            set(word, 2); /* fall through */                                                       \
        case 2:                                                                                    \
            set(word, 1); /* fall through */                                                       \
        case 1:                                                                                    \
            set(word, 0);                                                                          \
        }                                                                                          \
        if (left <= BLOOM_PROBES_PER_WORD)                                                         \
            break;                                                                                 \
        word = bloom_next_probe_word(word);                                                        \
    }

BLOOM_INLINE void bloom_set_probes(const struct bloom_shape *shape, uint8_t *block,
                                   const uint64_t *words) {
#define SET(word, i) bloom_set_probe(block, word, i)
    BLOOM_EACH_PROBE(shape, words[0], SET)
#undef SET
}

/* Defines check_integer, check_bytes and add_one of a kernel that has name_check, and the add
 * that sets the bits of a key by `set`. */
#define BLOOM_KERNEL_ONE(with, name, set)                                                          \
    static with int name##_check_integer(const struct bloom_shape *shape, const uint8_t *payload,  \
                                         int64_t key) {                                            \
        uint64_t words[2];                                                                         \
        bloom_murmur3_integer(key, words);                                                         \
        return name##_check(shape, payload, words[0]);                                             \
    }                                                                                              \
    static with int name##_check_bytes(const struct bloom_shape *shape, const uint8_t *payload,    \
                                       const void *key, size_t length) {                           \
        uint64_t words[2];                                                                         \
        bloom_murmur3_bytes(key, length, words);                                                   \
        return name##_check(shape, payload, words[0]);                                             \
    }                                                                                              \
    static with void name##_add_one(const struct bloom_shape *shape, uint8_t *payload,             \
                                    uint64_t word) {                                               \
        set(shape, payload + bloom_block_offset(shape, word), &word);                              \
    }                                                                                              \
    static with void name##_add(const struct bloom_shape *shape, uint8_t *payload,                 \
                                const uint64_t *words, size_t count) {                             \
        bloom_set_each(shape, payload, words, count, BLOOM_BLOCK_BYTES, bloom_block_offset, set);  \
    }                                                                                              \
    static_assert((int)BLOOM_BLOCK_BITS == 8 * (int)BLOOM_BLOCK_BYTES, "bits of a block")

/* The members of a kernel that these define. */
#define BLOOM_KERNEL_ONE_MEMBERS(name)                                                             \
    .check = name##_check, .check_many = name##_check_many, .check_block = name##_check_block,     \
    .add = name##_add, .check_integer = name##_check_integer, .check_bytes = name##_check_bytes,   \
    .add_one = name##_add_one

/* Those of a kernel of layout blocked, and check_block. */
#define BLOOM_BLOCKED_KERNEL(with, name)                                                           \
    static with bool name##_check_block(const struct bloom_shape *shape, const uint8_t *block,     \
                                        const uint64_t *words) {                                   \
        return name##_find(shape, block, words, false);                                            \
    }                                                                                              \
    BLOOM_KERNEL_CHECKS(with, name, BLOOM_BLOCK_BYTES, bloom_block_offset)

#if defined(__x86_64__) && defined(__GNUC__)
#define BLOOM_X86_KERNELS 1

/* How far each of eight lanes shifts a word, so that each lane has a probe at its low end. For a
 * word of 1 to 7 probes these are the eight entries from index probes - 1 on. The lanes that remain
 * test the first probe again. */
static const uint64_t BLOOM_LANE_SHIFTS[] = {55, 55, 55, 55, 55, 55, 55, 55, 46, 37, 28, 19, 10, 1};

extern const struct bloom_kernel bloom_blocked_avx2;
extern const struct bloom_kernel bloom_blocked_avx512;
extern const struct bloom_kernel bloom_counting_avx512;
#endif

#if defined(__aarch64__) && defined(__ARM_NEON) && defined(__GNUC__) && !BLOOM_BIG_ENDIAN
#define BLOOM_NEON_KERNEL 1
extern const struct bloom_kernel bloom_blocked_neon;
#endif

/* The kernel that every machine can run. */
extern const struct bloom_kernel bloom_blocked_portable;

/* What blocked.c offers to counting.c, which has blocks of as many places, and to callers. */

/* The most probes that a key has: three words of seven. */
#define BLOOM_BLOCKED_PROBES_MAXIMUM (3 * BLOOM_PROBES_PER_WORD)

/* Returns the kernel of this processor. Whoever keeps a filter of layout blocked saves calls by it.
 */
const struct bloom_kernel *bloom_blocked_kernel(void);

/* The member size of both layouts. The arithmetic is of integers, on the bits of the double p, so
 * that every machine gets the same size: a filter that is built again elsewhere must have the same
 * bytes. */
bool bloom_blocked_size(struct bloom_shape *shape, bloom_problem problem);

#endif

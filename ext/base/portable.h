/* What C11 leaves to the machine: byte order, the 128-bit product, bit counting.
 *
 * Everything in a filter is stored little-endian. These helpers make the same bytes on every
 * machine, and compile to single instructions where the machine agrees. No pointer needs alignment,
 * because SQLite aligns BLOBs to 8 bytes at best. */
#ifndef BLOOM_BASE_PORTABLE_H
#define BLOOM_BASE_PORTABLE_H

#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BLOOM_BIG_ENDIAN 1
#else
#define BLOOM_BIG_ENDIAN 0
#endif

/* BLOOM_PREFETCH starts loading the cache line at an address. It is only a hint.
 *
 * BLOOM_UNROLLED is for a loop whose body is to be repeated four times.
 *
 * BLOOM_RARE is for a function that is rarely called, so that its caller need not save registers
 * for it. */
#if defined(__GNUC__)
#define BLOOM_PREFETCH(address) __builtin_prefetch(address)
#define BLOOM_UNROLLED _Pragma("GCC unroll 4")
#define BLOOM_RARE __attribute__((noinline, cold))
#else
#define BLOOM_PREFETCH(address) ((void)(address))
#define BLOOM_UNROLLED
#define BLOOM_RARE
#endif

/* For a function that must be inlined, because its callers pass constants or because it runs for
 * each key. Compilers do not inline functions that they consider too large. A build without
 * optimisation, such as the coverage build, gains nothing from copies. */
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define BLOOM_INLINE __attribute__((always_inline)) static inline
#else
#define BLOOM_INLINE static inline
#endif

/* Makes the compiler compute a 64-bit variable here, in one register. A compiler that sees a word
 * rotated by nine again and again copies it and rotates the copies by nine, eighteen, twenty-seven
 * and so on, which takes one more instruction and one more register for each step. */
#if defined(__GNUC__) && defined(__LP64__)
#define BLOOM_COMPUTED(variable) __asm__("" : "+r"(variable))
#else
#define BLOOM_COMPUTED(variable) ((void)(variable))
#endif

/* Returns the bytes in the opposite order. */
static inline uint64_t bloom_swap64(uint64_t value) {
#if defined(__GNUC__)
    return __builtin_bswap64(value);
#else
    value = (value & 0x00ff00ff00ff00ffULL) << 8 | (value >> 8 & 0x00ff00ff00ff00ffULL);
    value = (value & 0x0000ffff0000ffffULL) << 16 | (value >> 16 & 0x0000ffff0000ffffULL);
    return value << 32 | value >> 32;
#endif
}

/* Load and store eight or four bytes at any address as a little-endian number. */
static inline uint64_t bloom_load64(const void *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return BLOOM_BIG_ENDIAN ? bloom_swap64(value) : value;
}

static inline void bloom_store64(void *bytes, uint64_t value) {
    value = BLOOM_BIG_ENDIAN ? bloom_swap64(value) : value;
    memcpy(bytes, &value, sizeof value);
}

static inline uint32_t bloom_load32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return BLOOM_BIG_ENDIAN ? (uint32_t)(bloom_swap64(value) >> 32) : value;
}

static inline void bloom_store32(uint8_t *bytes, uint32_t value) {
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Convert a double and the 64 bits of its IEEE 754 form. */
static inline uint64_t bloom_bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double bloom_double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Loads 1 to 8 bytes as a little-endian word; the missing ones are zero. The loads overlap, because
 * a switch over the length would be mispredicted for keys of mixed lengths. */
static inline uint64_t bloom_load_partial(const uint8_t *bytes, size_t length) {
    if (length >= 4)
        return bloom_load32(bytes) | (uint64_t)bloom_load32(bytes + length - 4)
                                         << (8 * (length - 4));
    return bytes[0] | (uint64_t)bytes[length / 2] << (8 * (length / 2)) |
           (uint64_t)bytes[length - 1] << (8 * (length - 1));
}

/* Returns the high half of the 128-bit product a * b, and sets *low to its low half. */
static inline uint64_t bloom_multiply_wide(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 uint128;
    uint128 product = (uint128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32); /* at most 2^64 - 2^32: cannot overflow */
    uint64_t other = a0 * b1 + (uint32_t)middle; /* likewise */
    *low = a * b;
    return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}

/* Returns floor(value * range / 2^64): maps a uniform 64-bit value to 0 .. range-1 without a
 * division (Lemire, "Fast random integer generation in an interval", 2019). It is monotone in
 * value, so sorting values sorts what they are mapped to. */
static inline uint64_t bloom_reduce(uint64_t value, uint64_t range) {
    uint64_t low;
    return bloom_multiply_wide(value, range, &low);
}

/* Rotates to the left, by 1 to 63 bits. */
static inline uint64_t bloom_rotate64(uint64_t value, int count) {
    return value << count | value >> (64 - count);
}

/* Returns the number of bits that are set, 0 to 64. */
static inline unsigned bloom_popcount64(uint64_t value) {
#if defined(__GNUC__) && defined(__POPCNT__)
    return (unsigned)__builtin_popcountll(value);
#else
    value -= value >> 1 & 0x5555555555555555ULL;
    value = (value & 0x3333333333333333ULL) + (value >> 2 & 0x3333333333333333ULL);
    value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return (unsigned)(value * 0x0101010101010101ULL >> 56);
#endif
}

/* Returns floor(log2(value)) for value > 0. */
static inline unsigned bloom_log2_floor(uint64_t value) {
#if defined(__GNUC__)
    return 63 - (unsigned)__builtin_clzll(value);
#else
    unsigned log = 0;
    for (unsigned step = 32; step > 0; step /= 2)
        if (value >> step) {
            value >>= step;
            log += step;
        }
    return log;
#endif
}

/* Returns the number of the lowest bit that is set in value > 0. */
static inline unsigned bloom_lowest_one64(uint64_t value) {
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(value);
#else
    return bloom_log2_floor(value & (~value + 1));
#endif
}

#endif

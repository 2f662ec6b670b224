/* Positive numbers, as programs with IEEE 754 doubles compute with them: rounded to 53 bits after
 * every step, to the nearest, ties to even.
 *
 * Filters of other systems have the size that their library computes in doubles, and a filter that
 * grows computes the rates of its layers from its own rate. Every machine must get the same
 * results, including one that keeps more digits in registers (x87), fuses multiplication with
 * addition, or has another logarithm. So these steps use integers. The logarithm is the true one,
 * rounded to the nearest double; the logarithms of libraries differ from it in the last bit at
 * most. That bit decides about a size only where n ln p / ln^2 2 is a whole number to within about
 * 10^-15 of its value. There the libraries themselves differ from machine to machine. */
#ifndef BLOOM_BASE_ROUNDED_H
#define BLOOM_BASE_ROUNDED_H

#include <stdbool.h>
#include <stdint.h>

/* mantissa * 2^exponent; mantissa is 0 or from 2^52 to 2^53 - 1. Zero has any exponent. */
struct bloom_rounded {
    uint64_t mantissa;
    int exponent;
};

/* high * 2^64 + low, times 2^exponent. more: a nonzero digit follows. */
struct bloom_rounded bloom_rounded_wide(uint64_t high, uint64_t low, int exponent, bool more);

/* Convert a whole number, and a double that is finite and not negative. */
struct bloom_rounded bloom_rounded_integer(uint64_t value);
struct bloom_rounded bloom_rounded_double(double value);

/* a * b, and a / b for a b above zero, each rounded. Exponents of what is given and of the
 * result are within -10^6 and 10^6, those of any doubles and of some products of them. */
struct bloom_rounded bloom_rounded_times(struct bloom_rounded a, struct bloom_rounded b);
struct bloom_rounded bloom_rounded_over(struct bloom_rounded a, struct bloom_rounded b);

/* -ln(value), value greater than 0 and below 1. */
struct bloom_rounded bloom_rounded_log(struct bloom_rounded value);

/* Return the whole number below, above, and nearest (halves go up), at most UINT64_MAX. */
uint64_t bloom_rounded_floor(struct bloom_rounded value);
uint64_t bloom_rounded_ceiling(struct bloom_rounded value);
uint64_t bloom_rounded_nearest(struct bloom_rounded value);

/* The same as a double, and ln 2 as one: what log(2) is everywhere. */
double bloom_rounded_as_double(struct bloom_rounded value);
#define BLOOM_ROUNDED_LN2 ((struct bloom_rounded){UINT64_C(0x162e42fefa39ef), -53})

#endif

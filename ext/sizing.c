/* See sizing.h. */
#include "sizing.h"

#include "portable.h"

struct blocked_row {
    uint32_t hashes;
    uint32_t bits_at_lower; /* bits per key at the lower end of the row's rates, in 1 / 2^16 */
    uint32_t bits_at_upper;
};

static const struct blocked_row BLOCKED_ROWS[] = {
#include "blocked_sizes.h"
};

/* Splits a positive double into a mantissa of 53 bits and an exponent: rate = mantissa *
 * 2^exponent. */
static uint64_t split(double rate, int *exponent) {
    uint64_t bits;
    memcpy(&bits, &rate, sizeof bits);
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    *exponent = (biased > 0 ? biased : 1) - 1075;
    return biased > 0 ? mantissa | UINT64_C(1) << 52 : mantissa;
}

/* The digits of a logarithm by repeated squaring: what is squared stays in [1, 2) as a fixed-point
 * number with 63 fractional bits, and each time it reaches 2 the next digit is one. Truncation
 * costs less than one unit of the result in all. */
uint64_t bloom_sizing_log(double rate) {
    int exponent;
    uint64_t mantissa = split(rate, &exponent);
    unsigned top = bloom_log2_floor(mantissa);
    uint64_t square = mantissa << (63 - top);
    uint64_t digits = 0;
    for (int i = 0; i < BLOOM_LOG_FRACTION_BITS; i++) {
        uint64_t low;
        uint64_t high = bloom_multiply_wide(square, square, &low);
        uint64_t digit = high >> 63;
        digits = digits << 1 | digit;
        square = digit ? high : high << 1 | low >> 63;
    }
    /* log2(rate) = exponent + top + digits, and is negative; digits is truncated, so round what is
     * subtracted up unless the rate is a power of two. */
    uint64_t whole = (uint64_t) - (exponent + (int)top);
    if ((mantissa & (mantissa - 1)) != 0)
        digits++;
    return (whole << BLOOM_LOG_FRACTION_BITS) - digits;
}

bool bloom_sizing_blocked(uint64_t capacity, double rate, uint32_t *hashes, uint64_t *blocks) {
    enum { OCTAVES = 30, ROW_BITS = 3, WITHIN_BITS = 16 };
    int exponent;
    uint64_t mantissa = split(rate, &exponent);

    /* The rate in units of 2^-64. Two keys of the same 64-bit value cannot be told apart: of n keys
     * in the filter one has the value of another key with probability n / 2^64, which the bits then
     * must make up for. */
    int shift = exponent + 64;
    uint64_t fixed = shift >= 0 ? mantissa << shift : shift > -64 ? mantissa >> -shift : 0;
    if (fixed <= capacity)
        return false;
    fixed -= capacity;
    unsigned octave = bloom_log2_floor(fixed); /* 63 for 0.5 <= rate < 1 */
    if (octave < 64 - OCTAVES)
        return false;

    /* Linear interpolation between the ends of a row: need falls and is convex in the rate for
     * given hashes, so the chord is never less than what is needed, and at p = 1 % less than 0.1 %
     * more. */
    uint64_t within = fixed << (64 - octave - 1) << 1; /* the bits below the leading one, left-aligned */
    const struct blocked_row *row =
        &BLOCKED_ROWS[((octave - (64 - OCTAVES)) << ROW_BITS) + (within >> (64 - ROW_BITS))];
    uint64_t part = within << ROW_BITS >> (64 - WITHIN_BITS);
    uint64_t difference = row->bits_at_lower - row->bits_at_upper;
    uint64_t bits_per_key = row->bits_at_lower - (difference * part >> WITHIN_BITS);

    *hashes = row->hashes;
    *blocks = (capacity * bits_per_key + (UINT64_C(1) << 25) - 1) >> 25; /* 512 bits in units of 2^-16 */
    if (*blocks == 0)
        *blocks = 1;
    return true;
}

void bloom_sizing_classic(uint64_t capacity, double rate, uint32_t *hashes, uint64_t *bits) {
    /* 1 / ln 2 in units of 2^-62. */
    static const uint64_t PER_LN2 = 6653256548922161245ULL;
    uint64_t log = bloom_sizing_log(rate);
    uint64_t low, rounded = (log >> (BLOOM_LOG_FRACTION_BITS - 1)) + 1;
    *hashes = rounded / 2 > 0 ? (uint32_t)(rounded / 2) : 1;

    uint64_t high = bloom_multiply_wide(log, PER_LN2, &low);
    uint64_t bits_per_key = high << 2 | low >> 62;
    high = bloom_multiply_wide(capacity, bits_per_key, &low);
    uint64_t whole = high << (64 - BLOOM_LOG_FRACTION_BITS) | low >> BLOOM_LOG_FRACTION_BITS;
    *bits = (whole + 64) / 64 * 64;
}

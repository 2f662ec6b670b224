/* The bits per key were computed for rates in steps of an eighth of an octave (blocked_sizes.py).
 * Between the steps they are interpolated. */
#include "filter/layouts/sizing.h"

#include "base/portable.h"

struct blocked_row {
    uint32_t probes;
    uint32_t bits_at_lower; /* bits per key at the lower end of the row's rates, in 1 / 2^16 */
    uint32_t bits_at_upper;
};

static const struct blocked_row BLOCKED_ROWS[] = {
#include "filter/layouts/blocked_sizes.h"
};

/* Splits a positive double into a mantissa of 53 bits and an exponent: rate = mantissa *
 * 2^exponent. */
static uint64_t rate_split(double rate, int *exponent) {
    uint64_t bits;
    memcpy(&bits, &rate, sizeof bits);
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    *exponent = (biased > 0 ? biased : 1) - 1075;
    return biased > 0 ? mantissa | UINT64_C(1) << 52 : mantissa;
}

bool bloom_sizing_blocked(uint64_t capacity, double rate, uint32_t *probes, uint64_t *blocks) {
    enum { OCTAVES = 30, ROW_BITS = 3, WITHIN_BITS = 16 };
    int exponent;
    uint64_t mantissa = rate_split(rate, &exponent);

    /* The rate in units of 2^-64. Two keys with the same 64-bit value cannot be distinguished. An
     * absent key has the value of one of n keys with probability n / 2^64, so the bits must make up
     * for that. */
    int shift = exponent + 64;
    uint64_t fixed = shift >= 0 ? mantissa << shift : shift > -64 ? mantissa >> -shift : 0;
    if (fixed <= capacity)
        return false;
    fixed -= capacity;
    /* So high a rate takes one probe. What one probe needs is convex in the rate only up to 1 -
     * e^-2; from there on the chord below is too low. So rates above 7/8 are sized as 7/8. */
    const uint64_t seven_eighths = UINT64_C(7) << 61;
    if (fixed >= seven_eighths)
        fixed = seven_eighths - 1;
    unsigned octave = bloom_log2_floor(fixed); /* 63 for 0.5 <= rate < 1 */
    if (octave < 64 - OCTAVES)
        return false;

    /* Linear interpolation between the ends of a row: need falls and is convex in the rate for
     * given hashes, so the chord is never less than what is needed, and at p = 1 % less than 0.1 %
     * more. */
    uint64_t within = fixed << (64 - octave - 1)
                            << 1; /* the bits below the leading one, left-aligned */
    const struct blocked_row *row =
        &BLOCKED_ROWS[((octave - (64 - OCTAVES)) << ROW_BITS) + (within >> (64 - ROW_BITS))];
    uint64_t part = within << ROW_BITS >> (64 - WITHIN_BITS);
    uint64_t difference = row->bits_at_lower - row->bits_at_upper;
    uint64_t bits_per_key = row->bits_at_lower - (difference * part >> WITHIN_BITS);

    *probes = row->probes;
    *blocks =
        (capacity * bits_per_key + (UINT64_C(1) << 25) - 1) >> 25; /* 512 bits in units of 2^-16 */
    return true;
}

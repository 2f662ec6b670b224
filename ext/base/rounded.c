/* Every step computes with more digits than a double has, and then rounds once. A logarithm is the
 * sum of a series in integers of 128 bits. */
#include "base/rounded.h"

#include "base/portable.h"

#include <math.h>

enum { MANTISSA_BITS = 53 };

/* floor(high * 2^64 / divisor), for high below divisor; *more is set when a remainder is left. */
static uint64_t divide_wide(uint64_t high, uint64_t divisor, bool *more) {
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t carry = high >> 63;
        high <<= 1;
        quotient <<= 1;
        if (carry != 0 || high >= divisor) {
            high -= divisor;
            quotient |= 1;
        }
    }
    *more = high != 0;
    return quotient;
}

struct bloom_rounded bloom_rounded_wide(uint64_t high, uint64_t low, int exponent, bool more) {
    if (high == 0 && low == 0)
        return (struct bloom_rounded){0, 0};
    /* The leading one to bit 63 of high. */
    if (high == 0) {
        high = low;
        low = 0;
        exponent -= 64;
    }
    unsigned shift = 63 - bloom_log2_floor(high);
    if (shift > 0) {
        high = high << shift | low >> (64 - shift);
        low <<= shift;
    }
    exponent += 64 - (int)shift;
    enum { DROPPED = 64 - MANTISSA_BITS };
    const uint64_t half = UINT64_C(1) << (DROPPED - 1);
    uint64_t dropped = high & (2 * half - 1);
    uint64_t mantissa = high >> DROPPED;
    if (dropped > half || (dropped == half && (low != 0 || more || (mantissa & 1) != 0)))
        mantissa++;
    exponent += DROPPED;
    if (mantissa >> MANTISSA_BITS != 0) {
        mantissa >>= 1;
        exponent++;
    }
    return (struct bloom_rounded){mantissa, exponent};
}

struct bloom_rounded bloom_rounded_integer(uint64_t value) {
    return bloom_rounded_wide(0, value, 0, false);
}

struct bloom_rounded bloom_rounded_double(double value) {
    uint64_t bits = bloom_bits_of_double(value);
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    if (biased > 0)
        mantissa |= UINT64_C(1) << 52;
    return bloom_rounded_wide(0, mantissa, (biased > 0 ? biased : 1) - 1075, false);
}

struct bloom_rounded bloom_rounded_times(struct bloom_rounded a, struct bloom_rounded b) {
    uint64_t low, high = bloom_multiply_wide(a.mantissa, b.mantissa, &low);
    return bloom_rounded_wide(high, low, a.exponent + b.exponent, false);
}

struct bloom_rounded bloom_rounded_over(struct bloom_rounded a, struct bloom_rounded b) {
    bool more;
    uint64_t quotient = divide_wide(a.mantissa, 2 * b.mantissa, &more);
    return bloom_rounded_wide(0, quotient, a.exponent - b.exponent - 63, more);
}

/* value = 2^-whole * f with f from 3/4 to 3/2, and ln f = 2 artanh t with t = (f - 1) / (f + 1), of
 * which at most 1/5 remains: 2 t (1 + t^2 / 3 + t^4 / 5 + ...). Near 1 value itself is f, so that
 * no digits cancel. */
struct bloom_rounded bloom_rounded_log(struct bloom_rounded value) {
    enum { TERMS = 15 };
    const uint64_t one = UINT64_C(1) << 62, ln2 = UINT64_C(0xb17217f7d1cf79ac); /* times 2^64 */
    uint64_t f = value.mantissa << (62 - (MANTISSA_BITS - 1));
    int whole = -(value.exponent + MANTISSA_BITS - 1);
    if (f >= one + one / 2) {
        f /= 2;
        whole--;
    }
    uint64_t apart = f > one ? f - one : one - f;
    uint64_t part = 0; /* |ln f| in units of 2^-(62 + shift) */
    unsigned shift = 0;
    if (apart > 0) {
        bool more;
        shift = 61 - bloom_log2_floor(apart);
        uint64_t t = divide_wide(apart << shift, f + one, &more); /* 2^-(64 + shift) */
        uint64_t low, square = bloom_multiply_wide(t, t, &low);
        square = shift < 32 ? square >> (2 * shift) : 0;
        uint64_t sum = 0; /* 2^-63 */
        for (uint64_t i = TERMS; i-- > 0;)
            sum = (UINT64_C(1) << 63) / (2 * i + 1) + bloom_multiply_wide(square, sum, &low);
        part = bloom_multiply_wide(t, sum, &low);
    }
    if (whole == 0)
        return bloom_rounded_wide(0, part, -62 - (int)shift, true);
    uint64_t low, high = bloom_multiply_wide((uint64_t)whole, ln2, &low);
    uint64_t log = shift < 2 ? part << (2 - shift) : part >> (shift - 2);
    uint64_t sum = f > one ? low - log : low + log;
    high = f > one ? high - (sum > low) : high + (sum < low);
    return bloom_rounded_wide(high, sum, -64, true);
}

uint64_t bloom_rounded_floor(struct bloom_rounded value) {
    if (value.exponent <= -MANTISSA_BITS || value.mantissa == 0)
        return 0;
    if (value.exponent < 0)
        return value.mantissa >> -value.exponent;
    return value.exponent <= 64 - MANTISSA_BITS ? value.mantissa << value.exponent : UINT64_MAX;
}

uint64_t bloom_rounded_ceiling(struct bloom_rounded value) {
    uint64_t below = bloom_rounded_floor(value);
    if (value.mantissa == 0 || value.exponent >= 0)
        return below;
    bool whole = value.exponent > -MANTISSA_BITS &&
                 (value.mantissa & ((UINT64_C(1) << -value.exponent) - 1)) == 0;
    return whole ? below : below + 1;
}

uint64_t bloom_rounded_nearest(struct bloom_rounded value) {
    uint64_t below = bloom_rounded_floor(value);
    if (value.exponent >= 0 || value.exponent < -MANTISSA_BITS)
        return below;
    return below + (value.mantissa >> (-value.exponent - 1) & 1);
}

double bloom_rounded_as_double(struct bloom_rounded value) {
    return ldexp((double)value.mantissa, value.exponent);
}

/* Every step computes with more digits than a double has, and then rounds once. */
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

/* Returns the upper half of a product of two numbers of 128 bits, and its lower 64 bits in *low. It
 * is too small by 2 at most. */
static uint64_t times_128(uint64_t a, uint64_t a_low, uint64_t b, uint64_t b_low, uint64_t *low) {
    uint64_t high = bloom_multiply_wide(a, b, low), dropped;
    const uint64_t cross[] = {bloom_multiply_wide(a, b_low, &dropped),
                              bloom_multiply_wide(a_low, b, &dropped)};
    for (int i = 0; i < 2; i++) {
        *low += cross[i];
        high += *low < cross[i];
    }
    return high;
}

/* value = 2^-log * f, log being whole and f from 1 to 2. Squaring f shows one binary digit of its
 * logarithm: 1 if the square is 2 or more, which is then halved. This goes on until -log2(value)
 * has 127 digits. An error of a square counts half as much in each later digit, so that the sum of
 * all errors is below 2^-123. */
struct bloom_rounded bloom_rounded_log(struct bloom_rounded value) {
    uint64_t f = value.mantissa << (64 - MANTISSA_BITS), f_low = 0; /* times 2^127 */
    uint64_t log = 0, log_low = (uint64_t) - (value.exponent + MANTISSA_BITS - 1);
    int exponent = 0;
    for (; log >> 62 == 0; exponent--) {
        f = times_128(f, f_low, f, f_low, &f_low);
        log = log << 1 | log_low >> 63;
        log_low <<= 1;
        if (f >> 63 != 0) {
            log -= log_low == 0;
            log_low--;
        } else {
            f = f << 1 | f_low >> 63;
            f_low <<= 1;
        }
    }
    const uint64_t ln2 = UINT64_C(0xb17217f7d1cf79ab), ln2_low = UINT64_C(0xc9e3b39803f2f6af);
    log = times_128(log, log_low, ln2, ln2_low, &log_low);
    return bloom_rounded_wide(log, log_low, exponent, true);
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

/* See sizing.h. */
#include "filter/sizing.h"

#include "filter/portable.h"

struct blocked_row {
    uint32_t probes;
    uint32_t bits_at_lower; /* bits per key at the lower end of the row's rates, in 1 / 2^16 */
    uint32_t bits_at_upper;
};

static const struct blocked_row BLOCKED_ROWS[] = {
#include "filter/blocked_sizes.h"
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

/* The digits of a logarithm by repeated squaring: what is squared stays in [1, 2) as a fixed-point
 * number with 63 fractional bits, and each time it reaches 2 the next digit is one. Truncation
 * costs less than one unit of the result in all. */
uint64_t bloom_sizing_log(double rate) {
    int exponent;
    uint64_t mantissa = rate_split(rate, &exponent);
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

bool bloom_sizing_blocked(uint64_t capacity, double rate, uint32_t *probes, uint64_t *blocks) {
    enum { OCTAVES = 30, ROW_BITS = 3, WITHIN_BITS = 16 };
    int exponent;
    uint64_t mantissa = rate_split(rate, &exponent);

    /* The rate in units of 2^-64. Two keys of the same 64-bit value cannot be told apart: of n keys
     * in the filter one has the value of another key with probability n / 2^64, which the bits then
     * must make up for. */
    int shift = exponent + 64;
    uint64_t fixed = shift >= 0 ? mantissa << shift : shift > -64 ? mantissa >> -shift : 0;
    if (fixed <= capacity)
        return false;
    fixed -= capacity;
    /* One probe, which is all that so high a rate takes, is convex in the rate only up to 1 - e^-2, and from there on the chord below is too
     * low: nobody needs more than 7/8. */
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

/* 1 / ln 2 in units of 2^-62. */
static const uint64_t PER_LN2 = 6653256548922161245ULL;

/* A logarithm to base 2, as from bloom_sizing_log, in bits per key: log / ln 2, in the same units. */
static uint64_t bits_for(uint64_t log) {
    uint64_t low, high = bloom_multiply_wide(log, PER_LN2, &low);
    return high << 2 | low >> 62;
}

/* In the following, bits per key are in units of 2^-24. */
enum { PER_KEY_BITS = 24 };

/* What the rounding of k costs: 1.8 (k - log)^2 / (5 k - log) bits per key, log being log2(1 / p). The least
 * bits per key for p with k hashes are -k / ln(1 - p^(1/k)): a parabola in k around log with this curvature,
 * bent for small k as the exact one is, and nowhere below it. */
static uint64_t rounding_bits(uint64_t log, uint32_t probes) {
    uint64_t wide = (uint64_t)probes << PER_KEY_BITS;
    uint64_t narrow = log >> (BLOOM_LOG_FRACTION_BITS - PER_KEY_BITS);
    uint64_t apart = wide > narrow ? wide - narrow : narrow - wide; /* below one */
    return apart * apart / (5 * wide - narrow) * 9 / 5;
}

/* What it costs that all k positions follow from two numbers, in a filter of words * 64 bits; UINT64_MAX when
 * no number of spare bits makes up for it.
 *
 * A key that is not in finds its bits set too often when its step is near a simple fraction of the range, or
 * its start and step are near those of another key. The excess over independent positions is A n / m^2,
 * measured over n from 1 to 10^6 and k from 3 to 30 as A = 9/8 + 7/2 x + 10 x^2 with the load x = k (n + 9) /
 * m. When the odd part o of the number of words is small, steps keep to few classes of positions:
 * 2^-((o-1)/2) of 2 k - 6, at most k + 10, is to be added to A. With E = A n / (p m^2), the bits must give a
 * rate of p (1 - E). */
static uint64_t coincidence_bits(uint64_t capacity, uint32_t probes, uint64_t per_rate,
                                 uint64_t words) {
    uint64_t bits = words * 64;
    uint64_t load = (probes * (capacity + 9) << 16) / bits; /* in units of 2^-16 */
    if (load >= 4 << 16)
        return UINT64_MAX;
    uint64_t pairs = (9 << 13) + load * 7 / 2 + (load * load >> 16) * 10;
    uint64_t odd_part = words;
    while (odd_part % 2 == 0)
        odd_part /= 2;
    if ((words % 2 == 0 || words == 1) && odd_part < 33)
        pairs += (uint64_t)(probes < 16 ? 2 * probes - 6 : probes + 10) << 16 >> (odd_part - 1) / 2;
    /* E in units of 2^-20, as pairs are of 2^-16 and per_rate of 2^-4; each factor is divided by m with all
     * the digits that fit. */
    unsigned pairs_shift = 63 - bloom_log2_floor(pairs * capacity);
    unsigned rate_shift = 63 - bloom_log2_floor(per_rate);
    uint64_t low, high = bloom_multiply_wide((pairs * capacity << pairs_shift) / bits + 1,
                                             (per_rate << rate_shift) / bits + 1, &low);
    /* As the load is below 4 and p at least 2^-40, E is below 2^43. The shift is above 0, since per_rate is
     * below 2^63. */
    unsigned shift = pairs_shift + rate_shift;
    uint64_t excess = shift >= 64 ? high >> (shift - 64) : high << (64 - shift) | low >> shift;
    if (excess >= 1 << 20)
        return UINT64_MAX;
    uint64_t log = excess > 0 ? bloom_sizing_log(1 - (double)excess / (1 << 20)) : 0;
    return bits_for(log) >> (BLOOM_LOG_FRACTION_BITS - PER_KEY_BITS);
}

/* 1 / rate in units of 2^-4, rounded up by at most 2^-18 of it, for a rate from 2^-40 to 1: 2^(4 - exponent) over the mantissa, of which 19
 * bits are kept so that the power stays below 2^63. */
static uint64_t per_rate(double rate) {
    enum { DROPPED_BITS = 34 };
    int exponent;
    uint64_t mantissa = rate_split(rate, &exponent) >> DROPPED_BITS;
    return (UINT64_C(1) << (4 - exponent - DROPPED_BITS)) / mantissa + 1;
}

struct classic_need {
    uint64_t capacity;
    uint64_t ideal;    /* bits in all by the classic formula */
    uint64_t rounding; /* bits per key for the rounding of k, beyond what is tolerated */
    uint64_t per_rate; /* 1 / p in units of 2^-4 */
    uint32_t probes;
};

/* Of the rate, half a percent is tolerated for the rounding of k and one percent for coincidences, which fade
 * with n: within that a filter keeps the size which other implementations give it, too. A percent is worth
 * 1/48 bit per key. */
enum {
    ROUNDING_TOLERATED = (1 << PER_KEY_BITS) / 96,
    COINCIDENCE_TOLERATED = (1 << PER_KEY_BITS) / 48
};

static uint64_t beyond(uint64_t bits_per_key, uint64_t tolerated) {
    return bits_per_key > tolerated ? bits_per_key - tolerated : 0;
}

static bool is_enough(const struct classic_need *need, uint64_t words) {
    uint64_t coincidence = 0;
    if (need->probes >=
        3) /* one position cannot coincide with another, and two do not do so measurably */
        coincidence = coincidence_bits(need->capacity, need->probes, need->per_rate, words);
    if (coincidence == UINT64_MAX)
        return false;
    uint64_t extra = need->rounding + beyond(coincidence, COINCIDENCE_TOLERATED);
    /* At most 2^40 keys of less than 40 bits: below 2^70, so as a wide product. */
    uint64_t low, high = bloom_multiply_wide(need->capacity, extra, &low);
    uint64_t whole = high << (64 - PER_KEY_BITS) | low >> PER_KEY_BITS;
    return need->ideal + whole < words * 64;
}

void bloom_sizing_classic(uint64_t capacity, double rate, uint32_t *probes, uint64_t *bits) {
    uint64_t log = bloom_sizing_log(rate);
    uint64_t rounded = ((log >> (BLOOM_LOG_FRACTION_BITS - 1)) + 1) / 2;
    *probes = rounded > 0 ? (uint32_t)rounded : 1;

    uint64_t low, high = bloom_multiply_wide(capacity, bits_for(log), &low);
    struct classic_need need = {
        .capacity = capacity,
        .ideal = high << (64 - BLOOM_LOG_FRACTION_BITS) | low >> BLOOM_LOG_FRACTION_BITS,
        .rounding = beyond(rounding_bits(log, *probes), ROUNDING_TOLERATED),
        .per_rate = per_rate(rate),
        .probes = *probes,
    };
    uint64_t words = need.ideal / 64 + 1;
    if (!is_enough(&need, words)) {
        /* The least odd number of words that is enough, by doubling and bisection over odd = 2 half + 1. */
        uint64_t too_few = words / 2, enough = too_few + 1;
        while (!is_enough(&need, 2 * enough + 1))
            enough *= 2;
        while (enough - too_few > 1) {
            uint64_t middle = too_few + (enough - too_few) / 2;
            if (is_enough(&need, 2 * middle + 1))
                enough = middle;
            else
                too_few = middle;
        }
        words = 2 * (is_enough(&need, 2 * too_few + 1) ? too_few : enough) + 1;
    }
    *bits = words * 64;
}

/* See foreign.h. */
#include "filter/foreign.h"

#include "filter/number.h"

#include <inttypes.h>
#include <stdio.h>

struct bloom_rounded bloom_foreign_bits(const struct bloom_shape *shape) {
    struct bloom_rounded log = bloom_rounded_log(bloom_rounded_double(shape->rate));
    return bloom_rounded_over(
        bloom_rounded_times(bloom_rounded_integer(bloom_foreign_keys(shape)), log),
        bloom_rounded_times(BLOOM_ROUNDED_LN2, BLOOM_ROUNDED_LN2));
}

struct bloom_rounded bloom_foreign_probes(const struct bloom_shape *shape, uint64_t bits) {
    return bloom_rounded_over(bloom_rounded_times(BLOOM_ROUNDED_LN2, bloom_rounded_integer(bits)),
                              bloom_rounded_integer(bloom_foreign_keys(shape)));
}

bool bloom_foreign_set_bits(struct bloom_shape *shape, uint64_t bits, uint64_t maximum,
                            char problem[BLOOM_PROBLEM_SIZE]) {
    char number[BLOOM_NUMBER_SIZE];
    shape->bits = bits;
    if (bits == 0) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "n = %" PRIu64 " and p = %s: layout %s, with the size that its own library gives "
                 "it, would have no bits; ask for a smaller p",
                 shape->capacity, bloom_number_text(number, shape->rate, 6), shape->layout->name);
        return false;
    }
    if (bits <= maximum)
        return true;
    snprintf(problem, BLOOM_PROBLEM_SIZE,
             "n = %" PRIu64 " at p = %s takes %" PRIu64 " bits, layout %s has at most %" PRIu64
             "; make several filters, or one of layout blocked",
             shape->capacity, bloom_number_text(number, shape->rate, 6), bits, shape->layout->name,
             maximum);
    return false;
}

bool bloom_foreign_kept(const struct bloom_shape *shape, struct bloom_rounded rate,
                        char problem[BLOOM_PROBLEM_SIZE]) {
    enum { TENTHS = 11 };
    struct bloom_rounded tenths = bloom_rounded_over(
        bloom_rounded_times(rate, bloom_rounded_integer(10)), bloom_rounded_double(shape->rate));
    if (bloom_rounded_ceiling(tenths) <= TENTHS)
        return true;
    char asked[BLOOM_NUMBER_SIZE], would[BLOOM_NUMBER_SIZE];
    snprintf(problem, BLOOM_PROBLEM_SIZE,
             "n = %" PRIu64 " and p = %s: layout %s, with the size that its own library gives it, "
             "would have the rate %s; ask for layout blocked, or for other n and p",
             shape->capacity, bloom_number_text(asked, shape->rate, 6), shape->layout->name,
             bloom_number_text(would, bloom_rounded_as_double(rate), 2));
    return false;
}

/* The parts below add to (1 - e^-x)^k, x = k n / m, the rate of k independent positions. They are
 * fitted to rates measured with random hashes for n from 1 to 5000, p from 0.1 to 10^-5 and every
 * layout. What they let pass, from 20 keys on, was measured at 1.15 p at most; what they refuse, at
 * 1.02 p at least. */

/* n keys in m bits whose positions are an arithmetic sequence: a key that is not in shares them
 * with one that is, or has few different ones, with A n / m^2, A = 9/8 + 7/2 x + 10 x^2. When the
 * odd part o of the number of words is small, steps keep to few classes of positions: 2^-((o - 1) /
 * 2) of 2 k - 6, at most k + 10, is to be added to A. */
static struct bloom_rounded foreign_coincidences(const struct bloom_shape *shape,
                                                 struct bloom_rounded load, bool classes_count) {
    enum { ODD_MOST = 33 };
    const struct bloom_rounded eighth = {UINT64_C(1) << 52, -55};
    struct bloom_rounded keys = bloom_rounded_integer(bloom_foreign_keys(shape));
    struct bloom_rounded bits = bloom_rounded_integer(shape->bits);
    struct bloom_rounded pairs = bloom_rounded_plus(
        bloom_rounded_times(bloom_rounded_integer(9), eighth),
        bloom_rounded_times(
            load, bloom_rounded_plus(bloom_rounded_times(bloom_rounded_integer(28), eighth),
                                     bloom_rounded_times(bloom_rounded_integer(10), load))));
    uint64_t words = shape->bits / BLOOM_WORD_BITS, odd = words;
    while (odd % 2 == 0)
        odd /= 2;
    if (classes_count && (words % 2 == 0 || words == 1) && odd < ODD_MOST && shape->probes > 3) {
        struct bloom_rounded classes =
            bloom_rounded_integer(shape->probes < 16 ? 2 * shape->probes - 6 : shape->probes + 10);
        classes.exponent -= (int)(odd - 1) / 2;
        pairs = bloom_rounded_plus(pairs, classes);
    }
    return bloom_rounded_over(bloom_rounded_over(bloom_rounded_times(pairs, keys), bits), bits);
}

/* DCSO multiplies by a constant, which keeps what power of two divides a position, of those that
 * divide m, and keeps within one of two halves of the odd rest from 8 on. Each such group is a
 * filter of its own, and has more keys than others by chance. */
static uint64_t foreign_groups(uint64_t bits) {
    uint64_t zeros = 0;
    for (; bits % 2 == 0; bits /= 2)
        zeros++;
    return zeros < 3 ? zeros : 2 * zeros - 2; /* less one */
}

/* How likely a position is set that is one of 2^31 numbers mod m: of these, q = floor(2^31 / m)
 * fall on each bit, and one more on the first 2^31 mod m. */
static struct bloom_rounded foreign_fill_31(const struct bloom_shape *shape) {
    const uint64_t numbers = UINT64_C(1) << 31;
    struct bloom_rounded keys = bloom_rounded_integer(bloom_foreign_keys(shape));
    struct bloom_rounded sets = bloom_rounded_times(keys, bloom_rounded_integer(shape->probes));
    sets.exponent -= 31;
    uint64_t few = numbers / shape->bits, first = numbers % shape->bits;
    struct bloom_rounded fill = {0, 0};
    for (uint64_t more = 0; more < 2; more++) {
        struct bloom_rounded each = bloom_rounded_integer(few + more);
        struct bloom_rounded share = bloom_rounded_times(
            bloom_rounded_integer((more > 0 ? first : shape->bits - first) * (few + more)),
            bloom_rounded_share(bloom_rounded_times(sets, each)));
        share.exponent -= 31;
        fill = bloom_rounded_plus(fill, share);
    }
    return fill;
}

bool bloom_foreign_keeps(const struct bloom_shape *shape, enum bloom_foreign_positions positions,
                         char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t keys = bloom_foreign_keys(shape), probes = shape->probes, more = 0; /* 2^-20 */
    struct bloom_rounded load = bloom_rounded_over(
        bloom_rounded_times(bloom_rounded_integer(keys), bloom_rounded_integer(probes)),
        bloom_rounded_integer(shape->bits));
    struct bloom_rounded fill = positions == BLOOM_POSITIONS_OF_31_BITS ? foreign_fill_31(shape)
                                                                        : bloom_rounded_share(load);
    struct bloom_rounded rate = bloom_rounded_power(fill, shape->probes);
    struct bloom_rounded coincidences = {0, 0};
    switch (positions) {
    case BLOOM_POSITIONS_OF_31_BITS: /* a sequence is cut where it wraps, which is soon */
        coincidences = foreign_coincidences(shape, load, false);
        coincidences.exponent -= 1;
        break;
    case BLOOM_POSITIONS_FOLDED: /* c and ~c alike: two signs for each of two keys, 4 at most */
        coincidences = bloom_rounded_over(
            bloom_rounded_times(foreign_coincidences(shape, load, false),
                                bloom_rounded_integer(2 * (probes < 14 ? probes : 14))),
            bloom_rounded_integer(7));
        break;
    case BLOOM_POSITIONS_STEPPED: /* one position makes no sequence, two none that is measurable */
        if (probes >= 3)
            coincidences = foreign_coincidences(shape, load, true);
        break;
    case BLOOM_POSITIONS_ALTERNATING: /* measured: k^3 / 10 m more, and a quarter of it where m is
                                       * odd, since multiples of four steps then meet more rarely */
        more = (probes * probes * probes << 20) / (shape->bits % 2 == 0 ? 10 : 40) / shape->bits;
        break;
    default: /* BLOOM_POSITIONS_CHAINED */
        more = (probes * probes * foreign_groups(shape->bits) << 20) / 4 / keys +
               (probes * probes << 20) / 5 / shape->bits;
        break;
    }
    struct bloom_rounded times = bloom_rounded_integer((UINT64_C(1) << 20) + more);
    times.exponent -= 20;
    return bloom_foreign_kept(
        shape, bloom_rounded_plus(bloom_rounded_times(rate, times), coincidences), problem);
}

bool bloom_foreign_size_as_guava(struct bloom_shape *shape, enum bloom_foreign_positions positions,
                                 char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t bits = bloom_rounded_floor(bloom_foreign_bits(shape));
    uint64_t words = bits / BLOOM_WORD_BITS + (bits % BLOOM_WORD_BITS != 0);
    uint64_t probes = bloom_rounded_nearest(
        bloom_rounded_times(bloom_rounded_over(bloom_rounded_integer(bits),
                                               bloom_rounded_integer(bloom_foreign_keys(shape))),
                            BLOOM_ROUNDED_LN2));
    shape->probes = probes > 0 ? (uint32_t)probes : 1;
    return bloom_foreign_set_bits(shape, words * BLOOM_WORD_BITS, BLOOM_FOREIGN_JAVA_BITS,
                                  problem) &&
           bloom_foreign_keeps(shape, positions, problem);
}

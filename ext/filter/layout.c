/* How a layout is found, and what is common to all shapes. */
#include "filter/layout.h"

#include "base/portable.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct bloom_layout *bloom_layout_by_numbers(unsigned layout, unsigned hashing) {
    for (size_t i = 0; bloom_layouts()[i] != NULL; i++)
        if (bloom_layouts()[i]->number == layout &&
            (bloom_layouts()[i]->hashing->number == hashing ||
             (bloom_layouts()[i]->keying && bloom_hashing_siphash.number == hashing)))
            return bloom_layouts()[i];
    return NULL;
}

const struct bloom_layout *bloom_layout_by_name(const char *name, size_t length) {
    for (size_t i = 0; bloom_layouts()[i] != NULL; i++)
        if (bloom_name_is(bloom_layouts()[i]->name, name, length))
            return bloom_layouts()[i];
    return NULL;
}

const struct bloom_layout *bloom_layout_default(void) {
    return bloom_layouts()[0];
}

void bloom_layout_list(char *text, size_t size, bool keying) {
    text[0] = '\0';
    for (size_t i = 0; bloom_layouts()[i] != NULL; i++)
        if (keying ? bloom_layouts()[i]->keying : bloom_layouts()[i]->size != NULL)
            bloom_name_append(text, size, bloom_layouts()[i]->name);
}

bool bloom_shape_size(struct bloom_shape *shape, uint64_t capacity, bloom_problem problem) {
    if (capacity > BLOOM_CAPACITY_MAXIMUM)
        return bloom_fail(problem, "n is %" PRIu64 ". Pass at most %" PRIu64, capacity,
                          BLOOM_CAPACITY_MAXIMUM);
    char number[BLOOM_NUMBER_SIZE], least[BLOOM_NUMBER_SIZE];
    if (shape->layout->exact)
        shape->rate = 0;
    else if (!(shape->rate > 0 && shape->rate < 1))
        return bloom_fail(problem, "p is %s. Pass a number between 0 and 1",
                          bloom_number_text(number, shape->rate, 6));
    else if (shape->rate < shape->layout->rate_minimum)
        return bloom_fail(problem,
                          "a rate of %s is less than layout %s can keep. Ask for %s or more",
                          bloom_number_text(number, shape->rate, 6), shape->layout->name,
                          bloom_number_text(least, shape->layout->rate_minimum, 3));
    shape->capacity = capacity;
    return shape->layout->size(shape, problem);
}

void bloom_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                      const uint64_t *words, size_t count, uint8_t *found) {
    const struct bloom_layout *layout = shape->layout;
    if (layout->check_many != NULL)
        layout->check_many(shape, payload, words, count, found);
    else
        for (size_t i = 0; i < count; i++)
            found[i] = layout->check(shape, payload, words + i * layout->hash_words);
}

uint64_t bloom_block_of(const struct bloom_shape *shape, const uint64_t *words) {
    return bloom_reduce(words[0], bloom_block_count(shape));
}

/* Returns the logarithm of the probability that one key leaves a place zero: the key falls into the
 * block of the place with probability 1 / blocks, and sets a share of the block. */
static double log_of_zero_left(const struct bloom_shape *shape) {
    const double share = 1 - pow(1 - 1.0 / (double)BLOOM_BLOCK_ONES_MAXIMUM, shape->probes);
    return log1p(-share / (double)bloom_block_count(shape));
}

static double places(const struct bloom_shape *shape) {
    return (double)(bloom_block_count(shape) * BLOOM_BLOCK_ONES_MAXIMUM);
}

double bloom_expected_ones(const struct bloom_shape *shape, double keys) {
    return -expm1(keys * log_of_zero_left(shape)) * places(shape);
}

/* count is the number of keys that leave this many zeros on average. rate: an absent key falls into
 * each block with equal probability, so the rate is the mean over the blocks of (ones / 512)^k. The
 * power of the mean would be too low. */
struct bloom_estimate bloom_estimate_tally(const struct bloom_shape *shape,
                                           const struct bloom_tally *tally) {
    struct bloom_estimate estimate = {0};
    for (unsigned ones = 0; ones <= BLOOM_BLOCK_ONES_MAXIMUM; ones++) {
        estimate.ones += tally->blocks_with[ones] * ones;
        estimate.rate += (double)tally->blocks_with[ones] *
                         pow((double)ones / (double)BLOOM_BLOCK_ONES_MAXIMUM, shape->probes);
    }
    estimate.rate /= (double)bloom_block_count(shape);
    estimate.fill = (double)estimate.ones / places(shape);
    estimate.count = log1p(-estimate.fill) / log_of_zero_left(shape);
    return estimate;
}

struct bloom_estimate bloom_estimate_blocks(const struct bloom_shape *shape,
                                            const uint8_t *payload) {
    struct bloom_tally tally = {0};
    shape->layout->blocks->tally(&tally, payload, bloom_block_count(shape));
    return bloom_estimate_tally(shape, &tally);
}

/* Appends to problem, which has room for every parameter at its longest. */
static void append_difference(bloom_problem problem, const char *format, ...) {
    size_t used = strlen(problem);
    if (used > 0) {
        snprintf(problem + used, BLOOM_PROBLEM_SIZE - used, "; ");
        used = strlen(problem);
    }
    va_list list;
    va_start(list, format);
    vsnprintf(problem + used, BLOOM_PROBLEM_SIZE - used, format, list);
    va_end(list);
}

static const char *rule_name(const struct bloom_keying *keying) {
    return keying->rule != NULL ? keying->rule->name : "none";
}

static void append_keying(bloom_problem problem, const struct bloom_keying *a,
                          const struct bloom_keying *b) {
    if (a->rule != b->rule)
        append_difference(problem, "key rule %s and %s", rule_name(a), rule_name(b));
    if (a->salted != b->salted)
        append_difference(problem, "%s", a->salted ? "a salt and none" : "no salt and one");
    else if (memcmp(a->salt, b->salt, sizeof a->salt) != 0)
        append_difference(problem, "two salts");
}

bool bloom_shape_same(const struct bloom_shape *a, const struct bloom_shape *b,
                      bloom_problem problem) {
    problem[0] = '\0';
    if (a->layout != b->layout)
        append_difference(problem, "layout %s and %s", a->layout->name, b->layout->name);
    if (a->capacity != b->capacity)
        append_difference(problem, "n = %" PRIu64 " and %" PRIu64, a->capacity, b->capacity);
    if (memcmp(&a->rate, &b->rate, sizeof a->rate) != 0) {
        /* Writes as many digits as it takes to see the difference. */
        char one[BLOOM_NUMBER_SIZE], other[BLOOM_NUMBER_SIZE];
        if (strcmp(bloom_number_text(one, a->rate, 15), bloom_number_text(other, b->rate, 15)) ==
            0) {
            bloom_number_text(one, a->rate, 17);
            bloom_number_text(other, b->rate, 17);
        }
        append_difference(problem, "p = %s and %s", one, other);
    }
    if (a->bits != b->bits)
        append_difference(problem, "%" PRIu64 " and %" PRIu64 " bits", a->bits, b->bits);
    if (a->probes != b->probes)
        append_difference(problem, "%" PRIu32 " and %" PRIu32 " hashes", a->probes, b->probes);
    if (memcmp(a->extra, b->extra, sizeof a->extra) != 0)
        append_difference(problem, "header bytes 40 to 55");
    append_keying(problem, &a->keying, &b->keying);
    return problem[0] == '\0';
}

/* Returns true when one number is 1, 2, 4, ... times the other. */
static bool halves_to(uint64_t one, uint64_t other) {
    while (one < other)
        one *= 2;
    while (other < one)
        other *= 2;
    return one == other;
}

bool bloom_shape_merges(const struct bloom_shape *a, const struct bloom_shape *b,
                        bloom_problem problem) {
    struct bloom_shape same = *b;
    if (a->layout == b->layout && a->layout->exact)
        return true;
    if (a->layout->halve != NULL && halves_to(a->bits, b->bits))
        same.bits = a->bits;
    return bloom_shape_same(a, &same, problem);
}

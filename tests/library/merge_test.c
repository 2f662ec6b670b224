/* Merges of filters of equal and unequal size, in either order: what comes out is what the keys
 * give when they are added to a filter of that size. Each moment at which one may be interrupted,
 * each allocation that may fail, and what is told of the bytes that were handled. */
#include "library_test.h"
#include "shapes.h"

#include "filter/header.h"
#include "filter/merge.h"

static struct test_memory memory;
static const struct bloom_memory MEMORY = {test_allocate, test_release, NULL, &memory};
static struct test_questions questions;
static uint64_t told[64]; /* with each question */

static bool interrupted(void *argument, uint64_t bytes) {
    told[questions.asked % COUNT_OF(told)] = bytes;
    return test_is_stopped(argument);
}

/* Two filters and what they should give. */
struct operands {
    struct bloom_shape shapes[2], result;
    const uint64_t *keys[2];
    size_t counts[2];
};

/* Header and payload of a filter of some keys. */
static uint8_t *filter_of(const struct bloom_shape *shape, const uint64_t *words, size_t count) {
    uint8_t *filter = allocate_exactly((size_t)bloom_filter_bytes(shape));
    bloom_header_write(shape, filter);
    for (size_t i = 0; i < count; i++)
        shape->layout->add(shape, filter + bloom_header_bytes(shape), (uint64_t[]){words[i], 0}, 1);
    return filter;
}

/* Merges with the question that is answered with yes, and the allocation that fails; 0: none. */
static enum bloom_built merge_them(struct bloom_merge *merge, enum bloom_merge_kind kind,
                                   const struct operands *operands, unsigned yes_at,
                                   uint64_t fails) {
    char problem[BLOOM_PROBLEM_SIZE];
    enum bloom_built merged = BLOOM_BUILT;
    questions = (struct test_questions){.yes_at = yes_at};
    memory = (struct test_memory){.fails_from = fails, .fails_to = fails};
    *merge = (struct bloom_merge){
        .kind = kind, .memory = &MEMORY, .interrupted = interrupted, .argument = &questions};
    for (int i = 0; i < 2 && merged == BLOOM_BUILT; i++) {
        uint8_t *filter = filter_of(&operands->shapes[i], operands->keys[i], operands->counts[i]);
        merged = bloom_merge_take(merge, &operands->shapes[i], filter, problem);
        free(filter);
    }
    return merged;
}

static void end_merge(struct bloom_merge *merge) {
    bloom_merge_release(merge);
    assert_same(memory.pieces, 0, "pieces of memory left");
}

static void assert_merges(enum bloom_merge_kind kind, const struct operands *operands,
                          unsigned asks) {
    size_t bytes = (size_t)bloom_filter_bytes(&operands->result);
    uint8_t *wanted = filter_of(&operands->result, operands->keys[0], operands->counts[0]);
    uint8_t *other = filter_of(&operands->result, operands->keys[1], operands->counts[1]);
    struct bloom_merge merge;
    for (size_t i = bloom_header_bytes(&operands->result); i < bytes; i++)
        wanted[i] = kind == BLOOM_UNION ? wanted[i] | other[i] : wanted[i] & other[i];
    assert_int_equal(merge_them(&merge, kind, operands, 0, 0), BLOOM_BUILT);
    assert_memory_equal(merge.filter, wanted, bytes);
    assert_int_equal(merge.shape.bits, operands->result.bits);
    assert_int_equal(questions.asked, asks);
    const uint64_t allocations = memory.allocations;
    end_merge(&merge);
    for (unsigned at = 1; at <= asks; at++) {
        assert_int_equal(merge_them(&merge, kind, operands, at, 0), BLOOM_BUILD_INTERRUPTED);
        assert_int_equal(questions.asked, at);
        end_merge(&merge);
    }
    for (uint64_t failing = 1; failing <= allocations; failing++) {
        assert_int_equal(merge_them(&merge, kind, operands, 0, failing), BLOOM_BUILD_NO_MEMORY);
        assert_int_equal(memory.allocations, failing);
        end_merge(&merge);
    }
    free(wanted);
    free(other);
}

static void either_order(struct operands operands, enum bloom_merge_kind kind, unsigned asks) {
    const struct operands turned = {{operands.shapes[1], operands.shapes[0]},
                                    operands.result,
                                    {operands.keys[1], operands.keys[0]},
                                    {operands.counts[1], operands.counts[0]}};
    assert_merges(kind, &operands, asks);
    assert_merges(kind, &turned, asks);
}

static void sizes_alike(void) {
    static const uint64_t ONE[] = {UINT64_C(0x123456789abcdef0), 7}, TWO[] = {UINT64_MAX, 7, 9};
    struct bloom_shape shape = sized_shape(&bloom_layout_blocked, 100, 0.01);
    struct operands operands = {{shape, shape}, shape, {ONE, TWO}, {2, 3}};
    either_order(operands, BLOOM_UNION, 2); /* copied, combined */
    either_order(operands, BLOOM_INTERSECTION, 2);
}

/* The larger one is halved twice, in whichever order they come. */
static void halved(void) {
    static const uint64_t ONE[] = {UINT64_C(0x0123456789abcdef), UINT64_C(3) << 62},
                          TWO[] = {UINT64_MAX, UINT64_C(3) << 62, 9};
    struct bloom_shape small = sized_shape(&bloom_layout_parquet, 100, 0.01), large = small;
    large.bits *= 4;
    struct operands operands = {{small, large}, small, {ONE, TWO}, {2, 3}};
    either_order(operands, BLOOM_UNION, 4);
}

/* A union of bitmaps has the size of the larger one, an intersection that of the smaller. */
static void numbers(void) {
    static const uint64_t ONE[] = {0, 9, 69}, TWO[] = {9, 10, 69}, MORE[] = {9, 10, 69, 4999};
    struct bloom_shape small = {.layout = &bloom_layout_bitmap, .probes = 1, .bits = 128}, large;
    small.rate = 0;
    large = small;
    large.bits = 64 * 80;
    either_order((struct operands){{small, large}, large, {ONE, MORE}, {3, 4}}, BLOOM_UNION, 2);
    either_order((struct operands){{small, large}, small, {ONE, TWO}, {3, 3}}, BLOOM_INTERSECTION,
                 2);
}

static void handled_bytes_are_told(void) {
    static const uint64_t ONE[] = {1}, TWO[] = {2};
    struct bloom_shape shape = sized_shape(&bloom_layout_blocked, 10 << 20, 0.01);
    struct operands operands = {{shape, shape}, shape, {ONE, TWO}, {1, 1}};
    uint64_t bytes = bloom_payload_bytes(&shape);
    struct bloom_merge merge;
    assert_int_equal(merge_them(&merge, BLOOM_UNION, &operands, 0, 0), BLOOM_BUILT);
    end_merge(&merge);
    const unsigned asked = questions.asked;
    assert_int_equal(asked, 1 + (bytes + BLOOM_MERGE_STRETCH - 1) / BLOOM_MERGE_STRETCH);
    assert_true(asked > 3);
    assert_int_equal(told[0], bloom_filter_bytes(&shape));
    for (unsigned i = 1; i + 1 < asked; i++)
        assert_int_equal(told[i], BLOOM_MERGE_STRETCH);
    assert_int_equal(told[asked - 1], bytes % BLOOM_MERGE_STRETCH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Filters of one size", sizes_alike),
        TEST("Filters that are halved", halved),
        TEST("Bitmaps of two sizes", numbers),
        TEST("The bytes that were handled are told", handled_bytes_are_told),
    };
    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}

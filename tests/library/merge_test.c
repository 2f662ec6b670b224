/* Merges of filters of equal and unequal size, in either order: what comes out is what the keys
 * give when they are added to a filter of that size. Each moment at which one may be interrupted,
 * each allocation that may fail, and what is told of the bytes that were handled. */
#include "library_test.h"
#include "shorthand.h"

#include "filter/header.h"
#include "filter/merge.h"

static unsigned asked, interrupt_at, allocations, failing, held;
static uint64_t told[64];

static bool interrupted(void *argument, uint64_t bytes) {
    assert_ptr_equal(argument, told);
    told[asked % COUNT_OF(told)] = bytes;
    return ++asked == interrupt_at;
}

static void *allocate(void *context, size_t bytes) {
    assert_null(context);
    if (++allocations == failing)
        return NULL;
    held++;
    return allocate_exactly((size_t)bytes);
}

static void release(void *context, void *memory) {
    assert_null(context);
    held -= memory != NULL;
    free(memory);
}

static const struct bloom_memory MEMORY = {.allocate = allocate, .release = release};

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

static enum bloom_built merge_them(struct bloom_merge *merge, const struct operands *operands) {
    char problem[BLOOM_PROBLEM_SIZE];
    enum bloom_built merged = BLOOM_BUILT;
    asked = allocations = 0;
    for (int i = 0; i < 2 && merged == BLOOM_BUILT; i++) {
        uint8_t *filter = filter_of(&operands->shapes[i], operands->keys[i], operands->counts[i]);
        merged = bloom_merge_take(merge, &operands->shapes[i], filter, problem);
        free(filter);
    }
    return merged;
}

static struct bloom_merge new_merge(enum bloom_merge_kind kind) {
    return (struct bloom_merge){
        .kind = kind, .memory = &MEMORY, .interrupted = interrupted, .argument = told};
}

static void assert_merges(enum bloom_merge_kind kind, const struct operands *operands) {
    size_t bytes = (size_t)bloom_filter_bytes(&operands->result);
    uint8_t *wanted = filter_of(&operands->result, operands->keys[0], operands->counts[0]);
    uint8_t *other = filter_of(&operands->result, operands->keys[1], operands->counts[1]);
    for (size_t i = bloom_header_bytes(&operands->result); i < bytes; i++)
        wanted[i] = kind == BLOOM_UNION ? wanted[i] | other[i] : wanted[i] & other[i];
    interrupt_at = failing = 0;
    struct bloom_merge merge = new_merge(kind);
    assert_int_equal(merge_them(&merge, operands), BLOOM_BUILT);
    assert_memory_equal(merge.filter, wanted, bytes);
    assert_int_equal(merge.shape.bits, operands->result.bits);
    bloom_merge_release(&merge);
    unsigned questions = asked, pieces = allocations;
    assert_int_equal(held, 0);
    for (interrupt_at = 1; interrupt_at <= questions; interrupt_at++) {
        merge = new_merge(kind);
        assert_int_equal(merge_them(&merge, operands), BLOOM_BUILD_INTERRUPTED);
        assert_int_equal(asked, interrupt_at);
        bloom_merge_release(&merge);
        assert_int_equal(held, 0);
    }
    interrupt_at = 0;
    for (failing = 1; failing <= pieces; failing++) {
        merge = new_merge(kind);
        assert_int_equal(merge_them(&merge, operands), BLOOM_BUILD_NO_MEMORY);
        assert_int_equal(allocations, failing);
        bloom_merge_release(&merge);
        assert_int_equal(held, 0);
    }
    failing = 0;
    free(wanted);
    free(other);
}

static struct bloom_shape shape_of(const struct bloom_layout *layout, uint64_t capacity) {
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_true(bloom_shape_for(&shape, layout, capacity, 0.01, problem));
    return shape;
}

static void either_order(struct operands operands, enum bloom_merge_kind kind, unsigned asks) {
    for (int turn = 0; turn < 2; turn++) {
        assert_merges(kind, &operands);
        struct operands before = operands;
        for (int i = 0; i < 2; i++) {
            operands.shapes[i] = before.shapes[!i];
            operands.keys[i] = before.keys[!i];
            operands.counts[i] = before.counts[!i];
        }
        struct bloom_merge merge = new_merge(kind);
        assert_int_equal(merge_them(&merge, &operands), BLOOM_BUILT);
        assert_int_equal(asked, asks);
        bloom_merge_release(&merge);
    }
}

static void sizes_alike(void) {
    static const uint64_t ONE[] = {UINT64_C(0x123456789abcdef0), 7}, TWO[] = {UINT64_MAX, 7, 9};
    struct bloom_shape shape = shape_of(&bloom_layout_blocked, 100);
    struct operands operands = {{shape, shape}, shape, {ONE, TWO}, {2, 3}};
    either_order(operands, BLOOM_UNION, 2); /* copied, combined */
    either_order(operands, BLOOM_INTERSECTION, 2);
}

/* The larger one is halved twice, in whichever order they come. */
static void halved(void) {
    static const uint64_t ONE[] = {UINT64_C(0x0123456789abcdef), UINT64_C(3) << 62},
                          TWO[] = {UINT64_MAX, UINT64_C(3) << 62, 9};
    struct bloom_shape small = shape_of(&bloom_layout_parquet, 100), large = small;
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
    struct bloom_shape shape = shape_of(&bloom_layout_blocked, 10 << 20);
    struct operands operands = {{shape, shape}, shape, {ONE, TWO}, {1, 1}};
    uint64_t bytes = bloom_payload_bytes(&shape);
    struct bloom_merge merge = new_merge(BLOOM_UNION);
    assert_int_equal(merge_them(&merge, &operands), BLOOM_BUILT);
    bloom_merge_release(&merge);
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

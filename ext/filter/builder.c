/* There are three ways to build. A shape with bits is filled as keys come, a batch at a time. A set
 * of numbers grows as larger keys come. In every other case the keys are collected, and the filter
 * is sized and filled when all have come. */
#include "filter/builder.h"

#include "base/limits.h"
#include "filter/header.h"

uint8_t *bloom_filter_new(const struct bloom_shape *shape, const struct bloom_memory *memory) {
    uint64_t length = bloom_filter_bytes(shape);
    uint8_t *filter = bloom_allocate(memory, length);
    if (filter != NULL) {
        memset(filter, 0, (size_t)length);
        bloom_header_write(shape, filter);
    }
    return filter;
}

static bool keys_decide(const struct bloom_builder *builder) {
    return builder->shape.bits == 0;
}

static bool grows(const struct bloom_builder *builder) {
    return keys_decide(builder) && builder->shape.layout->exact;
}

bool bloom_builder_begin(struct bloom_builder *builder, const struct bloom_shape *shape,
                         uint64_t limit, const uint64_t seed[2],
                         const struct bloom_memory *memory) {
    *builder = (struct bloom_builder){
        .shape = *shape,
        .limit = limit,
        .keys = {.layout = shape->layout, .memory = memory, .seed = {seed[0], seed[1]}}};
    if (keys_decide(builder))
        return true;
    builder->filter = bloom_filter_new(shape, memory);
    return builder->filter != NULL;
}

static void set_bits(struct bloom_builder *builder) {
    const struct bloom_shape *shape = grows(builder) ? &builder->growing.shape : &builder->shape;
    shape->layout->add(shape, builder->filter + bloom_header_bytes(shape), builder->batch,
                       builder->waiting / shape->layout->hash_words);
    builder->waiting = 0;
}

static enum bloom_built size_for(struct bloom_builder *builder, uint64_t keys,
                                 struct bloom_shape *shape, bloom_problem problem) {
    *shape = builder->shape;
    if (!bloom_shape_size(shape, keys, problem))
        return BLOOM_BUILD_REFUSED;
    builder->needed = bloom_filter_bytes(shape);
    return builder->needed <= builder->limit ? BLOOM_BUILT : BLOOM_BUILD_TOO_LONG;
}

/* Makes room for a key. The room grows by half each time, so all the growing costs no more than a
 * few copies. */
static enum bloom_built grow_for(struct bloom_builder *builder, uint64_t key,
                                 bloom_problem problem) {
    struct bloom_growing *growing = &builder->growing;
    struct bloom_shape shape;
    if (key < growing->shape.bits)
        return BLOOM_BUILT;
    if (key >= BLOOM_CAPACITY_MAXIMUM) {
        bloom_fail(problem,
                   "the largest number, %" PRIu64
                   ", is too large: layout %s needs a bit for each number up to it. Use another "
                   "layout",
                   key, builder->shape.layout->name);
        return BLOOM_BUILD_REFUSED;
    }
    enum bloom_built built = size_for(builder, key + 1, &shape, problem);
    if (built != BLOOM_BUILT)
        return built;
    uint64_t bytes = bloom_filter_bytes(&shape);
    if (bytes > growing->room) {
        bytes = bytes + bytes / 2 < builder->limit ? bytes + bytes / 2 : builder->limit;
        uint8_t *larger =
            bloom_enlarge(builder->keys.memory, builder->filter, growing->room, bytes);
        if (larger == NULL)
            return BLOOM_BUILD_NO_MEMORY;
        memset(larger + growing->room, 0, (size_t)(bytes - growing->room));
        builder->filter = larger;
        growing->room = bytes;
    }
    growing->shape = shape;
    return BLOOM_BUILT;
}

enum bloom_built bloom_builder_add(struct bloom_builder *builder, const uint64_t *words,
                                   bloom_problem problem) {
    if (grows(builder)) {
        enum bloom_built built = grow_for(builder, words[0], problem);
        if (built != BLOOM_BUILT)
            return built;
    } else if (keys_decide(builder)) {
        const bool added = bloom_key_set_add(&builder->keys, words);
        builder->has_key |= added;
        return added ? BLOOM_BUILT : BLOOM_BUILD_NO_MEMORY;
    }
    builder->has_key = true;
    for (unsigned i = 0; i < builder->shape.layout->hash_words; i++)
        builder->batch[builder->waiting++] = words[i];
    if (builder->waiting == bloom_limits.builder_words)
        set_bits(builder);
    return BLOOM_BUILT;
}

/* Sizes the filter for the collected keys and fills it. */
static enum bloom_built finish_from_keys(struct bloom_builder *builder, struct bloom_shape *shape,
                                         uint8_t **filter, bloom_problem problem) {
    const struct bloom_memory *memory = builder->keys.memory;
    uint64_t keys;
    enum bloom_built built = bloom_key_set_settle(&builder->keys, &keys);
    if (built == BLOOM_BUILT)
        built = size_for(builder, keys, shape, problem);
    if (built != BLOOM_BUILT)
        return built;
    *filter = bloom_filter_new(shape, memory);
    if (*filter == NULL)
        return BLOOM_BUILD_NO_MEMORY;
    built = bloom_key_set_build(&builder->keys, shape, *filter + bloom_header_bytes(shape));
    if (built == BLOOM_BUILT) {
        bloom_header_write(shape, *filter); /* building may have changed the shape */
        return built;
    }
    bloom_release(memory, *filter);
    *filter = NULL;
    if (built == BLOOM_BUILD_NO_SEED)
        bloom_fail(problem,
                   "cannot make a filter of layout %s, because the keys were chosen against it. "
                   "Give a new salt of 32 random hexadecimal digits, as in 'layout=%s, salt=...'",
                   shape->layout->name, shape->layout->name);
    return built;
}

enum bloom_built bloom_builder_finish(struct bloom_builder *builder,
                                      bool (*interrupted)(void *argument), void *argument,
                                      struct bloom_shape *shape, uint8_t **filter,
                                      bloom_problem problem) {
    *filter = NULL;
    *shape = builder->shape;
    builder->keys.interrupted = interrupted;
    builder->keys.argument = argument;
    if (builder->filter == NULL) { /* also an exact set that got no key */
        enum bloom_built built = finish_from_keys(builder, shape, filter, problem);
        if (built != BLOOM_BUILT)
            return built;
    } else {
        set_bits(builder);
        if (grows(builder)) {
            *shape = builder->growing.shape;
            bloom_header_write(shape, builder->filter);
        }
        *filter = builder->filter;
        builder->filter = NULL;
    }
    bloom_builder_release(builder);
    return BLOOM_BUILT;
}

void bloom_builder_release(struct bloom_builder *builder) {
    bloom_release(builder->keys.memory, builder->filter);
    builder->filter = NULL;
    builder->growing = (struct bloom_growing){0};
    builder->has_key = false;
    bloom_key_set_clear(&builder->keys);
}

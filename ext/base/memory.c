/* The allocator of the C library. */
#include "base/memory.h"

#include <stdlib.h>

static void *c_allocate(void *context, size_t bytes) {
    (void)context;
    return malloc(bytes);
}

static void c_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

static void *c_resize(void *context, void *memory, size_t bytes) {
    (void)context;
    return realloc(memory, bytes);
}

const struct bloom_memory bloom_c_memory = {c_allocate, c_release, c_resize, NULL};

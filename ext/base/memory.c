/* The allocator of the C library. On machines where size_t is smaller than 64 bits, larger sizes
 * fail. */
#include "base/memory.h"

#include <stdlib.h>

static void *c_allocate(void *context, uint64_t bytes) {
    (void)context;
    return bytes <= SIZE_MAX ? malloc((size_t)bytes) : NULL;
}

static void c_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

static void *c_resize(void *context, void *memory, uint64_t bytes) {
    (void)context;
    return bytes <= SIZE_MAX ? realloc(memory, (size_t)bytes) : NULL;
}

const struct bloom_memory bloom_c_memory = {c_allocate, c_release, c_resize, NULL};

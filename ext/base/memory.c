/* The allocator of the C library. What it returns begins at a cache line, so that a block of a
 * filter is in one: a check of a filter of 12 MB takes a fifth less. Before it is the pointer that
 * malloc returned. */
#include "base/memory.h"

#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>

enum { CACHE_LINE = 64 };

void bloom_use_huge_pages(void *memory, size_t bytes) {
#if defined(__linux__)
    extern int madvise(void *start, size_t length, int advice); /* C11 hides it */
    enum { PAGE = 2 << 20, HUGE_PAGES = 14 };
    static_assert((int)BLOOM_MOST(huge_pages_from) >= (int)PAGE,
                  "the rest of a page is in the memory");
    if (bytes >= bloom_limits.huge_pages_from)
        madvise((char *)memory + PAGE - (uintptr_t)memory % PAGE, bytes - PAGE, HUGE_PAGES);
#else
    (void)memory;
    (void)bytes;
#endif
}

static void **start_of(void *memory) {
    return (void **)memory - 1;
}

/* malloc aligns for a pointer at least, so there is room for one before the line. */
static void *place(void *start) {
    return (char *)start + CACHE_LINE - (uintptr_t)start % CACHE_LINE;
}

static void *c_resize(void *context, void *memory, size_t bytes) {
    const size_t before = memory != NULL ? (size_t)((char *)memory - (char *)*start_of(memory)) : 0;
    void *start = bytes <= SIZE_MAX - CACHE_LINE
                      ? realloc(memory != NULL ? *start_of(memory) : NULL, bytes + CACHE_LINE)
                      : NULL;
    (void)context;
    if (start == NULL)
        return NULL;
    bloom_use_huge_pages(start, bytes);
    void *placed = place(start);
    if (memory != NULL && placed != (char *)start + before)
        memmove(placed, (char *)start + before, bytes);
    *start_of(placed) = start;
    return placed;
}

static void *c_allocate(void *context, size_t bytes) {
    return c_resize(context, NULL, bytes);
}

static void c_release(void *context, void *memory) {
    (void)context;
    if (memory != NULL)
        free(*start_of(memory));
}

const struct bloom_memory bloom_c_memory = {c_allocate, c_release, c_resize, NULL};

/* Memory comes from an allocator that the caller of the filter library chooses. */
#ifndef BLOOM_BASE_MEMORY_H
#define BLOOM_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* context is passed to every function. allocate returns NULL when there is no memory; bytes is
 * never 0. release accepts NULL. resize returns memory of another size that begins with the same
 * bytes; or it returns NULL, and the old memory is unchanged. Its argument may be NULL. The member
 * resize may itself be NULL, and then memory that grows is copied. */
struct bloom_memory {
    void *(*allocate)(void *context, size_t bytes);
    void (*release)(void *context, void *memory);
    void *(*resize)(void *context, void *memory, size_t bytes);
    void *context;
};

/* The allocator of the C library. */
extern const struct bloom_memory bloom_c_memory;

/* Asks for large pages for memory that has many, and that is read at random places. */
void bloom_use_huge_pages(void *memory, size_t bytes);

/* Returns NULL for more than size_t can count, too. */
static inline void *bloom_allocate(const struct bloom_memory *memory, uint64_t bytes) {
    return bytes <= SIZE_MAX ? memory->allocate(memory->context, (size_t)bytes) : NULL;
}

static inline void bloom_release(const struct bloom_memory *memory, void *what) {
    memory->release(memory->context, what);
}

/* Returns larger memory with the first `used` bytes of `what`, or NULL; then `what` is unchanged.
 * used is 0 when what is NULL. */
static inline void *bloom_enlarge(const struct bloom_memory *memory, void *what, uint64_t used,
                                  uint64_t bytes) {
    if (memory->resize != NULL)
        return bytes <= SIZE_MAX ? memory->resize(memory->context, what, (size_t)bytes) : NULL;
    void *larger = bloom_allocate(memory, bytes);
    if (larger != NULL && used > 0)
        memcpy(larger, what, (size_t)used);
    if (larger != NULL)
        bloom_release(memory, what);
    return larger;
}

#endif

/* SQLite's memory while fuzzing; see memory.h. Compiled without sanitizers. */
#include "memory.h"

#include "sqlite-bloom.h"

#include <malloc.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Chunks come in classes of a size: by 16 bytes up to 1 KiB, then four to each doubling up to
 * 64 KiB. Room for 16 MiB of them is more than a target needs; what has no room, and what is
 * larger, comes from the sanitizer's allocator. A freed chunk goes behind the others of its
 * class, so that it stays forbidden as long as that takes. */
enum { STEP = 16, SMALL = 1024, SMALL_CLASSES = SMALL / STEP, LARGE_CLASSES = 4 * 6 };
enum { CLASSES = SMALL_CLASSES + LARGE_CLASSES, ARENA = 16 << 20, PART = 256 << 10 };

struct chunk {
    struct chunk *next; /* when free: the next that is free */
    uint32_t bytes;     /* asked for */
    uint32_t class;
};

static struct {
    unsigned char *start, *unused, *known; /* the leak checker knows what is before `known` */
    struct {
        struct chunk *first, *last;
    } free[CLASSES];
} arena;

static unsigned class_of(size_t bytes) {
    if (bytes <= SMALL)
        return (unsigned)((bytes + STEP - 1) / STEP) - (bytes > 0);
    if (bytes > (size_t)SMALL << LARGE_CLASSES / 4)
        return CLASSES;
    unsigned doubling = 53 - (unsigned)__builtin_clzll(bytes - 1); /* 0: 1025 to 2048 */
    size_t quarter = (size_t)SMALL / 4 << doubling;
    return SMALL_CLASSES + 4 * doubling + (unsigned)((bytes - 1) / quarter) - 4;
}

static size_t size_of(unsigned class) {
    if (class < SMALL_CLASSES)
        return STEP * ((size_t) class + 1);
    class -= SMALL_CLASSES;
    return (size_t)SMALL / 4 * (class % 4 + 5) << class / 4;
}

static int is_ours(const void *memory) {
    const unsigned char *at = memory;
    return at >= arena.start && at < arena.start + ARENA;
}

static struct chunk *unused_chunk(unsigned class) {
    size_t size = sizeof(struct chunk) + size_of(class);
    if ((size_t)(arena.start + ARENA - arena.unused) < size)
        return NULL;
    struct chunk *chunk = (struct chunk *)(void *)arena.unused;
    arena.unused += size;
    for (; arena.known < arena.unused; arena.known += PART)
        __lsan_register_root_region(arena.known, PART);
    chunk->class = class;
    return chunk;
}

static void *arena_malloc(int bytes) {
    unsigned class = class_of((size_t)bytes);
    if (class == CLASSES)
        return malloc((size_t)bytes);
    struct chunk *chunk = arena.free[class].first;
    if (chunk != NULL)
        arena.free[class].first = chunk->next;
    else if ((chunk = unused_chunk(class)) == NULL)
        return malloc((size_t)bytes);
    chunk->bytes = (uint32_t)bytes;
    __asan_unpoison_memory_region(chunk + 1, (size_t)bytes);
    return chunk + 1;
}

static void arena_free(void *memory) {
    if (!is_ours(memory)) {
        free(memory);
        return;
    }
    struct chunk *chunk = (struct chunk *)memory - 1;
    __asan_poison_memory_region(memory, chunk->bytes);
    chunk->next = NULL;
    if (arena.free[chunk->class].first == NULL)
        arena.free[chunk->class].first = chunk;
    else
        arena.free[chunk->class].last->next = chunk;
    arena.free[chunk->class].last = chunk;
}

static int arena_size(void *memory) {
    if (memory == NULL)
        return 0;
    if (!is_ours(memory))
        return (int)malloc_usable_size(memory);
    return (int)((struct chunk *)memory - 1)->bytes;
}

static void *arena_realloc(void *memory, int bytes) {
    if (!is_ours(memory))
        return realloc(memory, (size_t)bytes);
    struct chunk *chunk = (struct chunk *)memory - 1;
    if (class_of((size_t)bytes) == chunk->class) {
        __asan_poison_memory_region(memory, chunk->bytes);
        __asan_unpoison_memory_region(memory, (size_t)bytes);
        chunk->bytes = (uint32_t)bytes;
        return memory;
    }
    void *moved = arena_malloc(bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, memory, (uint32_t)bytes < chunk->bytes ? (uint32_t)bytes : chunk->bytes);
    arena_free(memory);
    return moved;
}

static int arena_roundup(int bytes) {
    return bytes;
}

static int arena_init(void *data) {
    (void)data;
    return SQLITE_OK;
}

static void arena_shutdown(void *data) {
    (void)data;
}

void fuzz_memory_take(void) {
    static const struct sqlite3_mem_methods methods = {arena_malloc,   arena_free,    arena_realloc,
                                                       arena_size,     arena_roundup, arena_init,
                                                       arena_shutdown, NULL};
    for (size_t bytes = 0, most = (size_t)SMALL << LARGE_CLASSES / 4; bytes <= most; bytes++)
        if (size_of(class_of(bytes)) < bytes ||
            (class_of(bytes) > 0 && size_of(class_of(bytes) - 1) >= bytes))
            abort();
    arena.start = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena.start == MAP_FAILED)
        abort();
    arena.unused = arena.known = arena.start;
    __asan_poison_memory_region(arena.start, ARENA);
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        abort();
}

void *fuzz_malloc64(sqlite3_uint64 bytes) {
    return bytes == 0 || bytes > 0x7fffff00 ? NULL : malloc((size_t)bytes);
}

void *fuzz_malloc(int bytes) {
    return bytes <= 0 ? NULL : malloc((size_t)bytes);
}

void *fuzz_realloc64(void *memory, sqlite3_uint64 bytes) {
    if (memory == NULL)
        return fuzz_malloc64(bytes);
    if (bytes > 0x7fffff00)
        return NULL;
    if (bytes == 0) {
        sqlite3_free(memory);
        return NULL;
    }
    return arena_realloc(memory, (int)bytes);
}

static char *moved(char *text) {
    char *copy = text != NULL ? strdup(text) : NULL;
    sqlite3_free(text);
    return copy;
}

char *fuzz_vmprintf(const char *format, va_list arguments) {
    return moved(sqlite3_vmprintf(format, arguments));
}

char *fuzz_mprintf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    return moved(text);
}

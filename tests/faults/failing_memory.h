/* Allocations of SQLite that fail when the program that includes this says so. */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <sqlite3.h>

#include <stdbool.h>
#include <stddef.h>

static sqlite3_mem_methods original_memory;

/* Asked at each allocation. */
static bool allocation_fails(void);

static void *failing_malloc(int bytes) {
    return allocation_fails() ? NULL : original_memory.xMalloc(bytes);
}

static void *failing_realloc(void *memory, int bytes) {
    return allocation_fails() ? NULL : original_memory.xRealloc(memory, bytes);
}

/* Before SQLite begins. */
static void install_failing_memory(void) {
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original_memory);
    sqlite3_mem_methods failing = original_memory;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* else small allocations would not come by */
}

#endif

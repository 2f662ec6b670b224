/* Where memory comes from while fuzzing.
 *
 * SQLite allocates hundreds of times for a statement, and the sanitizer's allocator, with its
 * quarantine and its note of who allocated, took half of the time of an execution. So SQLite gets
 * its memory from an arena of ours, which marks what lies between chunks and what is free as
 * forbidden: the extension is caught as before when it reads a value beyond its end, or one that is
 * gone. What the extension itself allocates goes to the sanitizer's allocator, which also finds
 * leaks: its objects are compiled with FUZZ_RENAME (see run.sh). sqlite3_free takes either kind.
 */
#ifndef BLOOM_FUZZ_MEMORY_H
#define BLOOM_FUZZ_MEMORY_H

#include "sqlite-bloom.h"

#include <stdarg.h>

/* Gives the arena to SQLite; before SQLite is used. */
void fuzz_memory_take(void);

/* What stands for sqlite3_malloc and its like in the extension. */
void *fuzz_malloc(int bytes);
void *fuzz_malloc64(sqlite3_uint64 bytes);
void *fuzz_realloc64(void *memory, sqlite3_uint64 bytes);
char *fuzz_mprintf(const char *format, ...);
char *fuzz_vmprintf(const char *format, va_list arguments);

#endif

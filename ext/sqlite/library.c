/* Which SQLite library of the process the extension serves.
 *
 * A loaded extension calls SQLite through one static pointer, sqlite3_api. A process may hold two
 * SQLite libraries, as Python does with sqlite3 and apsw, and both may load this file. The second
 * load must not set the pointer while connections of the first library are open, because every call
 * for them would then go to the other library.
 *
 * So the users of the pointer are counted: each call of the entry point, and each connection from
 * its first load until SQLite has released everything that was registered on it. Only the first
 * user sets the pointer. Nothing depends on the file being unloaded, which musl never does.
 */
#include "sqlite/functions.h"

#ifndef SQLITE_CORE /* otherwise the linker decides */

#include <stdatomic.h>

static atomic_flag entering = ATOMIC_FLAG_INIT;
static atomic_size_t users;

/* The lock lets one thread at a time decide whether it is the first user. It does not guard the
 * end of a use: a count that falls meanwhile only makes the refusal a moment out of date. */
bool bloom_library_enter(const struct sqlite3_api_routines *api) {
    while (atomic_flag_test_and_set_explicit(&entering, memory_order_acquire))
        api->sleep(1);
    bool first = atomic_load_explicit(&users, memory_order_acquire) == 0;
    if (first)
        sqlite3_api = api;
    bool served = first || sqlite3_api == api;
    if (served)
        atomic_fetch_add_explicit(&users, 1, memory_order_relaxed);
    atomic_flag_clear_explicit(&entering, memory_order_release);
    return served;
}

void bloom_library_keep(void) {
    atomic_fetch_add_explicit(&users, 1, memory_order_relaxed);
}

void bloom_library_leave(void) {
    atomic_fetch_sub_explicit(&users, 1, memory_order_release);
}

#endif

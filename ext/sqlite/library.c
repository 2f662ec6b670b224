/* The one lock, and which SQLite library of the process the extension serves.
 *
 * A loaded extension calls SQLite through one static pointer, sqlite3_api. A process may hold two
 * SQLite libraries, as Python does with sqlite3 and apsw, and both may load this file. The second
 * load must not set the pointer while connections of the first library are open, because every call
 * for them would then go to the other library.
 *
 * So the users of the pointer are counted: each call of the entry point, and each connection from
 * its first load until SQLite has released everything that was registered on it. Only the first
 * user sets the pointer. Nothing depends on the file being unloaded, which musl never does.
 *
 * The lock is our own because a mutex belongs to one SQLite library, and to none where SQLite was
 * built without threads.
 */
#include "sqlite/connection.h"

#include <stdatomic.h>

static atomic_flag locked = ATOMIC_FLAG_INIT;

/* A thread that finds the lock taken soon sleeps between its attempts, because its holder may have
 * a lower priority. */
static void lock_or_sleep(int (*sleep)(int)) {
    enum { TRIES = 1000 };
    unsigned tries = 0;
    while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
        if (++tries % TRIES == 0)
            sleep(1);
}

void bloom_lock(void) {
    lock_or_sleep(sqlite3_sleep);
}

void bloom_unlock(void) {
    atomic_flag_clear_explicit(&locked, memory_order_release);
}

static size_t users;

bool bloom_library_enter(const struct sqlite3_api_routines *api) {
#ifdef SQLITE_CORE /* the linker decides which library is served */
    const bool served = true;
    (void)api;
    bloom_lock();
#else
    lock_or_sleep(api->sleep);
    if (users == 0)
        sqlite3_api = api;
    const bool served = sqlite3_api == api;
#endif
    users += served;
    bloom_unlock();
    return served;
}

void bloom_library_keep(void) {
    bloom_lock();
    users++;
    bloom_unlock();
}

void bloom_library_leave(void) {
    bloom_lock();
    users--;
    bloom_unlock();
}

static uint64_t table_bytes;

uint64_t bloom_library_count(uint64_t before, uint64_t now) {
    bloom_lock();
    table_bytes += now - before;
    const uint64_t all = table_bytes;
    bloom_unlock();
    return all;
}

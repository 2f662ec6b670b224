/* A call of SQLite after the end of a use, which another library may follow. */
#include "sqlite/functions.h"

static inline void leave_too_early(void) {
    bloom_library_leave();
    sqlite3_free(NULL);
}
#define bloom_library_leave leave_too_early

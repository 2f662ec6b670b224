/* Put in front of one of the extension's files, this gives it what none of them may have. run.sh
 * checks that the sanitizer finds it. An inner name of a macro is not expanded again: it is the
 * function. */
#if defined(RACE_OF_VALUES) /* a static variable that calls change without a lock */
#include "sqlite3.h"
static int race_calls;
#define sqlite3_value_type(value) (race_calls++, sqlite3_value_type(value))
#else /* a call of SQLite after the end of a use, which another library may follow */
#include "sqlite/functions.h"
static inline void leave_too_early(void) {
    bloom_library_leave();
    sqlite3_free(NULL);
}
#define bloom_library_leave leave_too_early
#endif

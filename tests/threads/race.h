/* Put in front of one of the extension's files, this gives it what none of them may have: a static
 * variable that calls change without a lock. run.sh checks that the sanitizer finds it. */
#include "sqlite3.h"

static int race_calls;

/* The inner name is not expanded again: it is SQLite's function. */
#define sqlite3_value_type(value) (race_calls++, sqlite3_value_type(value))

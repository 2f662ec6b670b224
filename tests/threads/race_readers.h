/* Put in front of sqlite-bloom-filter.c, this gives a check what none may have: a static variable
 * that calls change without a lock. run.sh checks that the sanitizer finds it. */
#include "hash/murmur3.h"

static int race_calls;

/* The inner name is not expanded again: it is the library's function. */
#define bloom_murmur3_integer(key, words) (race_calls++, bloom_murmur3_integer(key, words))

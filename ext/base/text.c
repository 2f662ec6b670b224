/* A problem that is too long for its buffer is cut off. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

bool bloom_fail(bloom_problem problem, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(problem, BLOOM_PROBLEM_SIZE, format, list);
    va_end(list);
    return false;
}

/* Text for messages. */
#ifndef BLOOM_BASE_TEXT_H
#define BLOOM_BASE_TEXT_H

#include <inttypes.h>
#include <stdbool.h>

/* Lets the compiler check the arguments of a function that formats as printf does. */
#if defined(__MINGW_PRINTF_FORMAT)
#define BLOOM_FORMAT(text, first) __attribute__((format(__MINGW_PRINTF_FORMAT, text, first)))
#elif defined(__GNUC__)
#define BLOOM_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define BLOOM_FORMAT(text, first)
#endif

/* Why something failed: a predicate, without a subject and without a final period, in valid UTF-8.
 * The caller puts the subject in front of it, for example "the filter ". */
enum { BLOOM_PROBLEM_SIZE = 512 };
typedef char bloom_problem[BLOOM_PROBLEM_SIZE];

/* Writes the problem, as printf does, and returns false. */
bool bloom_fail(bloom_problem problem, const char *format, ...) BLOOM_FORMAT(2, 3);

#endif

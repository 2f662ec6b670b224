/* Text for messages: problems, quoted text, numbers, names. */
#ifndef BLOOM_BASE_TEXT_H
#define BLOOM_BASE_TEXT_H

#include <inttypes.h> /* for numbers in problems */
#include <stdbool.h>
#include <stddef.h>

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

/* Writes length bytes of text in quotation marks, as valid UTF-8 without control characters. Long
 * text is cut off, and three dots follow. Returns quoted. Every message quotes text of users and
 * databases by this function. */
enum { BLOOM_QUOTE_SIZE = 200 };
char *bloom_quote(char quoted[BLOOM_QUOTE_SIZE], const void *text, size_t length);

/* The size has room for any number with 17 digits, and for a decimal point of several bytes while
 * it is there. */
enum { BLOOM_NUMBER_SIZE = 40 };

/* Writes number with at most `digits` (1 to 17) significant digits, as %g does, but always with a
 * point as its decimal point, whatever the program's locale says. Returns text. */
char *bloom_number_text(char text[BLOOM_NUMBER_SIZE], double number, int digits);

/* Writes a number that is not NaN as SQLite makes text of a REAL: with 15 digits, always with a
 * point (3.0, 1.0e+21), and Inf. Returns text. */
char *bloom_number_sql_text(char text[BLOOM_NUMBER_SIZE], double number);

/* Returns true when name, of length bytes, is the known name. The letters A to Z equal a to z. */
bool bloom_name_is(const char *known, const char *name, size_t length);

/* Appends name to a list like 'one', 'two'. text has room for size bytes; the list is cut off
 * there. */
void bloom_name_append(char *text, size_t size, const char *name);

#endif

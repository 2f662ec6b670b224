/* Names that users write in SQL: of layouts and of foreign formats. */
#ifndef BLOOM_BASE_NAMES_H
#define BLOOM_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether name, of length bytes, is known: A to Z count as a to z, and a NUL byte is a byte like
 * others. */
bool bloom_name_is(const char *known, const char *name, size_t length);

/* Appends name to the list in text, which has room for size bytes and is cut off there: 'one',
 * 'two'. */
void bloom_name_append(char *text, size_t size, const char *name);

#endif

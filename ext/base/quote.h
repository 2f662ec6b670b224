/* Text of others in messages: every message quotes it by this. */
#ifndef BLOOM_BASE_QUOTE_H
#define BLOOM_BASE_QUOTE_H

#include <stddef.h>

enum { BLOOM_QUOTE_SIZE = 200 };

/* Writes length bytes of text in quotation marks, as valid UTF-8 without control characters, and
 * cut off with three dots when they are long. Returns quoted. */
char *bloom_quote(char quoted[BLOOM_QUOTE_SIZE], const void *text, size_t length);

#endif

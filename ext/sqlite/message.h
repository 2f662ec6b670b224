/* Messages, and values in words. Text of others passes through bloom_quote. */
#ifndef BLOOM_SQLITE_MESSAGE_H
#define BLOOM_SQLITE_MESSAGE_H

#include <stdarg.h>

#include "base/text.h"
#include "sqlite/value.h"

/* Returns "NAME: " and the formatted text (as sqlite3_vmprintf), from sqlite3_malloc; NULL: no
 * memory. It is valid UTF-8 without control characters, whatever it quotes. It is no longer than
 * values of the connection may be, because SQLite drops the text of a longer one. */
char *bloom_message(sqlite3 *database, const char *name, const char *format, va_list list);

enum { BLOOM_WORDS_SIZE = BLOOM_QUOTE_SIZE + 16 };

/* Writes what a value is: NULL, a number, the text '...', a BLOB of 3 bytes. Returns words, or NULL
 * if there is no memory. */
char *bloom_sql_describe(char words[BLOOM_WORDS_SIZE], sqlite3_value *value);

/* Writes an estimate as a JSON number that reads back as a REAL, the same in every release of
 * SQLite. It has 6 digits, because more would pretend to be known. Returns text. */
char *bloom_sql_estimate(char text[BLOOM_NUMBER_SIZE], double estimate);

#endif

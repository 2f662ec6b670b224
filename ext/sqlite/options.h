/* Options as text: the third argument of bloom_new, and the arguments of CREATE VIRTUAL TABLE.
 *
 *   options     NAME = VALUE, separated by commas, white space around each; VALUE may stand in
 *               quotes, '' or ""; each name in any case, once
 *   layout      the name of a layout
 *   key         the name of a key rule
 *   salt        32 hexadecimal digits
 *
 * SQL functions take these three; filter tables have more (table/options.h). All functions here
 * return SQLITE_OK, SQLITE_NOMEM, or SQLITE_ERROR with a message from sqlite3_malloc in *error.
 */
#ifndef BLOOM_SQL_OPTIONS_H
#define BLOOM_SQL_OPTIONS_H

#include "sqlite/sqlite.h"

struct bloom_text {
    const char *start;
    size_t length;
};

/* One option: its name, in lower case, and what reads its value into target. */
struct bloom_option {
    const char *name;
    int (*read)(void *target, struct bloom_text value, char **error);
};

/* Reads one NAME = VALUE by the table of options, which ends with a name that is NULL; list is that
 * table in words. Bit i of *given is set when option i was read before: a second time is an error.
 */
int bloom_option_read(const struct bloom_option *options, const char *list,
                      struct bloom_text argument, void *target, unsigned *given, char **error);

/* Whether a text is that word, in any case. */
bool bloom_text_is(struct bloom_text text, const char *word);

/* "EXPECTATION, not 'value'". */
int bloom_option_wrong(char **error, const char *expectation, struct bloom_text value);

/* What the values of key and salt say. A salt never appears in a message. */
int bloom_option_rule(struct bloom_text value, struct bloom_keying *keying, char **error);
int bloom_option_salt(struct bloom_text value, struct bloom_keying *keying, char **error);

/* An error when the layout has no key rules and salts, but one is chosen. */
int bloom_options_fit(const struct bloom_layout *layout, const struct bloom_keying *keying,
                      char **error);

/* Reads the options of a value into layout and keying of shape; what is left out is the default. */
int bloom_options_of_value(struct bloom_text text, struct bloom_shape *shape, char **error);

#endif

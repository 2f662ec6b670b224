/* Options as text: the third argument of bloom_new, and the arguments of CREATE VIRTUAL TABLE.
 *
 *   options     NAME = VALUE, separated by commas, white space around each; VALUE may stand in
 *               quotes, '' or ""; each name in any case, once
 *   layout      the name of a layout
 *   key         the name of a key rule
 *   salt        32 hexadecimal digits
 *
 * Filters that are values take these three; filter tables have more (table/options.h).
 */
#ifndef BLOOM_FILTER_OPTIONS_H
#define BLOOM_FILTER_OPTIONS_H

#include "filter/layout.h"

/* Results of reading. Any other number is a code that an option's own reader returned; it is passed
 * on. After BLOOM_OPTION_WRONG problem is a sentence. */
enum { BLOOM_OPTION_READ = 0, BLOOM_OPTION_WRONG = 1 };

struct bloom_text {
    const char *start;
    size_t length;
};

/* One option: its name, in lower case, and what reads its value into target. */
struct bloom_option {
    const char *name;
    int (*read)(void *target, struct bloom_text value, bloom_problem problem);
};

/* Reads one NAME = VALUE by the table of options, which ends with a name that is NULL; list is that
 * table in words. Bit i of *given is set when option i was read before: a second time is an error.
 */
int bloom_option_read(const struct bloom_option *options, const char *list,
                      struct bloom_text argument, void *target, unsigned *given,
                      bloom_problem problem);

/* Reads options that are separated by commas, likewise. */
int bloom_options_read(const struct bloom_option *options, const char *list, struct bloom_text text,
                       void *target, bloom_problem problem);

/* Whether a text is that word, in any case. */
bool bloom_text_is(struct bloom_text text, const char *word);

/* "EXPECTATION, not 'value'". Room for an expectation, so that all of it goes into a problem. */
enum { BLOOM_EXPECTATION_SIZE = BLOOM_PROBLEM_SIZE - BLOOM_QUOTE_SIZE - 8 };
int bloom_option_wrong(bloom_problem problem, const char *expectation, struct bloom_text value);

/* The type of a column of keys. Its affinity is applied to keys as in an ordinary column. */
enum bloom_key_type {
    BLOOM_KEY_AS_IT_IS, /* none given */
    BLOOM_KEY_BLOB,
    BLOOM_KEY_TEXT,
    BLOOM_KEY_NUMERIC,
    BLOOM_KEY_INTEGER,
    BLOOM_KEY_REAL,
};

/* Returns the name of a type in a declaration: "" for BLOOM_KEY_AS_IT_IS. */
const char *bloom_key_type_name(enum bloom_key_type type);

/* Reads the value of the option key: the name of a key rule, or of a type. type is NULL for a
 * filter that is a value, because only columns have types. */
int bloom_option_key(struct bloom_text value, enum bloom_key_type *type,
                     struct bloom_keying *keying, bloom_problem problem);

/* Reads the value of the option salt. No digit of a salt appears in a message. */
int bloom_option_salt(struct bloom_text value, struct bloom_keying *keying, bloom_problem problem);

/* An error when the layout has no key rules and salts, but one is chosen. */
int bloom_options_fit(const struct bloom_layout *layout, const struct bloom_keying *keying,
                      bloom_problem problem);

/* Reads the options of a value into layout and keying of shape; what is left out is the default. */
int bloom_options_of_value(struct bloom_text text, struct bloom_shape *shape,
                           bloom_problem problem);

/* The same, or the name of a layout alone. */
int bloom_options_or_layout(struct bloom_text text, struct bloom_shape *shape,
                            bloom_problem problem);

#endif

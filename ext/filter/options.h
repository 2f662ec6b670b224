/* Options as text: the third argument of bloom_new, and the arguments of CREATE VIRTUAL TABLE.
 *
 *   options     NAME = VALUE, separated by commas, with white space around each; VALUE may be in
 *               quotes, '' or ""; each name in any case, once
 *   layout      the name of a layout
 *   key         the name of a key rule
 *   salt        32 hexadecimal digits
 *
 * Filters that are values have these three options; filter tables have more
 * (table/configuration.c). */
#ifndef BLOOM_FILTER_OPTIONS_H
#define BLOOM_FILTER_OPTIONS_H

#include "filter/layout.h"

/* Results of reading. Any other number is a code that the reader of an option returned, which is
 * passed on. problem is set after BLOOM_OPTION_WRONG. */
enum { BLOOM_OPTION_READ = 0, BLOOM_OPTION_WRONG = 1 };

struct bloom_text {
    const char *start;
    size_t length;
};

/* One option: its name in lower case, and the function that reads its value into target. */
struct bloom_option {
    const char *name;
    int (*read)(void *target, struct bloom_text value, bloom_problem problem);
};

/* Reads one NAME = VALUE by a table of options, which ends with a NULL name. list names the options
 * of the table for messages. Bit i of *given is set when option i was read before; a second time is
 * an error. */
int bloom_option_read(const struct bloom_option *options, const char *list,
                      struct bloom_text argument, void *target, unsigned *given,
                      bloom_problem problem);

/* Returns true when a text is that word, in any case. */
bool bloom_text_is(struct bloom_text text, const char *word);

/* Writes the expectation, which has a %s for the value in quotes, and returns BLOOM_OPTION_WRONG.
 * An expectation of this size leaves room for the value. */
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

/* What the options layout, key and salt choose. */
struct bloom_choice {
    bool for_table; /* keys may have a type, and layouts must have blocks */
    const struct bloom_layout *layout;
    struct bloom_keying keying;
    enum bloom_key_type type;
};

/* Returns the name of a type in a declaration: "" for BLOOM_KEY_AS_IT_IS. */
const char *bloom_key_type_name(enum bloom_key_type type);

/* Read the values of these options. The target is a struct bloom_choice, or begins with one. No
 * digit of a salt appears in a message. */
int bloom_option_layout(void *target, struct bloom_text value, bloom_problem problem);
int bloom_option_key(void *target, struct bloom_text value, bloom_problem problem);
int bloom_option_salt(void *target, struct bloom_text value, bloom_problem problem);

/* Returns BLOOM_OPTION_WRONG when a key rule or a salt is chosen, and the layout does not support
 * them. */
int bloom_options_fit(const struct bloom_layout *layout, const struct bloom_keying *keying,
                      bloom_problem problem);

/* Reads the options of a value, or only the name of a layout, into layout and keying of shape.
 * Options that are left out have their defaults. */
int bloom_options_or_layout(struct bloom_text text, struct bloom_shape *shape,
                            bloom_problem problem);

#endif

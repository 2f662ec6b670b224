/* An option is found by its name in a table, and a function of its row reads the value. A message
 * for an unknown name guesses what was meant. */
#include "filter/options.h"

#include <stdio.h>
#include <string.h>

enum { SALT_DIGITS = 32 };

/* Writes a problem, as bloom_fail does. */
#define WRONG(...) (bloom_fail(__VA_ARGS__), BLOOM_OPTION_WRONG)

static bool is_space(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r' || letter == '\f';
}

static struct bloom_text trim(const char *start, size_t length) {
    while (length > 0 && is_space(*start)) {
        start++;
        length--;
    }
    while (length > 0 && is_space(start[length - 1]))
        length--;
    return (struct bloom_text){start, length};
}

/* Removes quotes. A doubled quote inside stays doubled, because no option has a value with a quote
 * in it. */
static struct bloom_text unquote(struct bloom_text text) {
    if (text.length >= 2 && (*text.start == '\'' || *text.start == '"') &&
        text.start[text.length - 1] == *text.start)
        return trim(text.start + 1, text.length - 2);
    return text;
}

bool bloom_text_is(struct bloom_text text, const char *word) {
    return bloom_name_is(word, text.start, text.length);
}

int bloom_option_wrong(bloom_problem problem, const char *expectation, struct bloom_text value) {
    char quoted[BLOOM_QUOTE_SIZE];
    return WRONG(problem, expectation, bloom_quote(quoted, value.start, value.length));
}

/* Returns the value of a hexadecimal digit, or 16 for any other character. */
static unsigned digit_of(char letter) {
    static const char DIGITS[] = "0123456789abcdef";
    const char *digit = letter != '\0' ? strchr(DIGITS, letter | (letter >= 'A' ? 0x20 : 0)) : NULL;
    return digit != NULL ? (unsigned)(digit - DIGITS) : 16;
}

/* The message begins with what was probably meant. `alone`: no = follows the name. */
static int unknown_option(struct bloom_text name, bool alone, const char *list,
                          bloom_problem problem) {
    /* An option of tables, and three names that others have for it. */
    static const char *const NAMES[] = {"capacity",    "n",   "size",   "items",
                                        "fpr",         "p",   "rate",   "error_rate",
                                        "generations", "ttl", "expire", "retention"};
    enum { NAME_COUNT = 12, OF_VALUES = 8 };
    const bool for_table = strstr(list, NAMES[0]) != NULL;
    char quoted[BLOOM_QUOTE_SIZE], meant[BLOOM_QUOTE_SIZE] = "";
    size_t digits = 0, called = 0;
    while (called < NAME_COUNT && !bloom_text_is(name, NAMES[called]))
        called++;
    while (digits < name.length && (name.start[digits] == '.' || digit_of(name.start[digits]) < 10))
        digits++;
    const struct bloom_layout *layout = bloom_layout_by_name(name.start, name.length);
    const struct bloom_key_rule *rule = bloom_key_rule_by_name(name.start, name.length);
    if (name.length == 0)
        snprintf(meant, sizeof meant, "Leave it out, with its comma. ");
    else if (digits == name.length)
        snprintf(meant, sizeof meant, "Write numbers after the name, without separators. ");
    else if (layout != NULL)
        snprintf(meant, sizeof meant, "Write layout=%s. ", layout->name);
    else if (rule != NULL && alone && for_table)
        snprintf(meant, sizeof meant,
                 "The column is always called key. If a key is %s, write key=%s. ", rule->wants,
                 rule->name);
    else if (rule != NULL)
        snprintf(meant, sizeof meant, "Write key=%s. ", rule->name);
    else if (called < NAME_COUNT && for_table)
        snprintf(meant, sizeof meant, "The option is called %s. ", NAMES[called / 4 * 4]);
    else if (called < OF_VALUES)
        snprintf(meant, sizeof meant, "Give n and p as numbers before the options. ");
    else if (alone && for_table)
        snprintf(meant, sizeof meant,
                 "If it declares the column, that is always called key. Write its type as in "
                 "key=TEXT. ");
    return WRONG(problem, "unknown option %s. %sThe options are %s",
                 bloom_quote(quoted, name.start, name.length), meant, list);
}

int bloom_option_read(const struct bloom_option *options, const char *list,
                      struct bloom_text argument, void *target, unsigned *given,
                      bloom_problem problem) {
    const char *equals = argument.length > 0 ? memchr(argument.start, '=', argument.length) : NULL;
    size_t before = equals != NULL ? (size_t)(equals - argument.start) : argument.length;
    struct bloom_text name = trim(argument.start, before);
    unsigned which = 0;
    while (options[which].name != NULL && !bloom_text_is(name, options[which].name))
        which++;
    if (options[which].name == NULL)
        return unknown_option(name, equals == NULL, list, problem);
    if (equals == NULL)
        return WRONG(problem, "option %s has no value. Write %s=VALUE", options[which].name,
                     options[which].name);
    if (*given & 1u << which)
        return WRONG(problem, "option %s is given twice. Leave one out", options[which].name);
    *given |= 1u << which;
    struct bloom_text value = unquote(trim(equals + 1, argument.length - before - 1));
    if (value.length > 0 && memchr(value.start, '=', value.length) != NULL)
        return bloom_option_wrong(
            problem, "one option has the value %s. Write commas between options", value);
    return options[which].read(target, value, problem);
}

const char *bloom_key_type_name(enum bloom_key_type type) {
    static const char *const NAMES[] = {
        [BLOOM_KEY_AS_IT_IS] = "",       [BLOOM_KEY_BLOB] = "BLOB",
        [BLOOM_KEY_TEXT] = "TEXT",       [BLOOM_KEY_NUMERIC] = "NUMERIC",
        [BLOOM_KEY_INTEGER] = "INTEGER", [BLOOM_KEY_REAL] = "REAL"};
    return NAMES[type];
}

int bloom_option_key(void *target, struct bloom_text value, bloom_problem problem) {
    struct bloom_choice *choice = target;
    char expectation[BLOOM_EXPECTATION_SIZE];
    enum bloom_key_type named = BLOOM_KEY_REAL;
    while (named > BLOOM_KEY_AS_IT_IS && !bloom_text_is(value, bloom_key_type_name(named)))
        named--;
    choice->type = named;
    if (named > BLOOM_KEY_AS_IT_IS && !choice->for_table)
        return WRONG(problem,
                     "key=%s is for filter tables, whose column has a type. Cast the keys "
                     "instead, as in CAST(x AS %s)",
                     bloom_key_type_name(named), bloom_key_type_name(named));
    choice->keying.rule = bloom_key_rule_by_name(value.start, value.length);
    if (named > BLOOM_KEY_AS_IT_IS || choice->keying.rule != NULL)
        return BLOOM_OPTION_READ;
    snprintf(expectation, sizeof expectation, "key is %%s. Write one of %s",
             choice->for_table ? "TEXT, INTEGER, REAL, NUMERIC, BLOB, " : "");
    bloom_key_rule_list(expectation + strlen(expectation),
                        sizeof expectation - strlen(expectation));
    return bloom_option_wrong(problem, expectation, value);
}

int bloom_option_salt(void *target, struct bloom_text value, bloom_problem problem) {
    struct bloom_keying *keying = &((struct bloom_choice *)target)->keying;
    size_t digits = 0;
    for (; digits < value.length && digit_of(value.start[digits]) < 16; digits++)
        if (digits < SALT_DIGITS) /* byte digits / 2, the upper half of it first */
            keying->salt[digits / 16] |= (uint64_t)digit_of(value.start[digits])
                                         << (8 * (digits / 2 % 8) + (digits % 2 == 0 ? 4 : 0));
    keying->salted = true;
    if (digits == SALT_DIGITS && value.length == SALT_DIGITS)
        return BLOOM_OPTION_READ;
    const char *wrong = value.start + digits; /* if there is a byte left */
    size_t end = digits + 1;
    char quoted[BLOOM_QUOTE_SIZE], found[BLOOM_QUOTE_SIZE + 40];
    while (end < value.length && ((unsigned char)value.start[end] & 0xc0) == 0x80)
        end++;
    if (digits == value.length)
        snprintf(found, sizeof found, ", but %" PRIu64 " are given", (uint64_t)digits);
    else
        snprintf(found, sizeof found, ", but byte %" PRIu64 " is %s", (uint64_t)digits + 1,
                 bloom_quote(quoted, wrong, end - digits));
    return WRONG(problem,
                 "salt must be %d hexadecimal digits%s. SELECT lower(hex(randomblob(16))) "
                 "makes one. Paste it, in quotes if a table is created",
                 SALT_DIGITS, found);
}

int bloom_options_fit(const struct bloom_layout *layout, const struct bloom_keying *keying,
                      bloom_problem problem) {
    char names[BLOOM_EXPECTATION_SIZE];
    if (layout->keying || (keying->rule == NULL && !keying->salted))
        return BLOOM_OPTION_READ;
    bloom_layout_list(names, sizeof names, true);
    return WRONG(problem, "layout %s has no option %s. Use one of %s", layout->name,
                 keying->salted ? "salt" : "key", names);
}

int bloom_option_layout(void *target, struct bloom_text value, bloom_problem problem) {
    struct bloom_choice *choice = target;
    char names[BLOOM_EXPECTATION_SIZE] =
        "layout is %s. Leave it out, or write counting, fuse or bitmap. All layouts are ";
    const struct bloom_layout *layout = bloom_layout_by_name(value.start, value.length);
    choice->layout = layout;
    if (choice->for_table && (layout == NULL || layout->blocks == NULL))
        return bloom_option_wrong(
            problem, "layout is %s. Write blocked or counting for a filter table", value);
    if (layout != NULL)
        return layout->size != NULL ? BLOOM_OPTION_READ : WRONG(problem, "%s", layout->advice);
    const struct bloom_key_rule *rule = bloom_key_rule_by_name(value.start, value.length);
    if (rule != NULL)
        snprintf(names, sizeof names,
                 "%%s is not a layout. Write key=%s, and commas between options", rule->name);
    else
        bloom_layout_list(names + strlen(names), sizeof names - strlen(names), false);
    return bloom_option_wrong(problem, names, value);
}

/* Removes the first argument from a list. Commas in quotes belong to it. */
static struct bloom_text next_argument(struct bloom_text *list) {
    char quote = '\0';
    size_t length = 0;
    for (; length < list->length && (quote != '\0' || list->start[length] != ','); length++) {
        char letter = list->start[length];
        if (quote != '\0')
            quote = letter == quote ? '\0' : quote;
        else if (letter == '\'' || letter == '"')
            quote = letter;
    }
    struct bloom_text argument = {list->start, length};
    size_t taken = length < list->length ? length + 1 : length;
    *list = (struct bloom_text){list->start + taken, list->length - taken};
    return argument;
}

int bloom_options_or_layout(struct bloom_text text, struct bloom_shape *shape,
                            bloom_problem problem) {
    static const struct bloom_option OPTIONS[] = {{"layout", bloom_option_layout},
                                                  {"key", bloom_option_key},
                                                  {"salt", bloom_option_salt},
                                                  {NULL, NULL}};
    struct bloom_choice choice = {.layout = bloom_layout_default()};
    bool more = memchr(text.start, '=', text.length) != NULL;
    unsigned given = 0;
    int code = more ? BLOOM_OPTION_READ
                    : bloom_option_layout(&choice, trim(text.start, text.length), problem);
    while (more && code == BLOOM_OPTION_READ) {
        const size_t before = text.length;
        struct bloom_text argument = next_argument(&text);
        more = argument.length < before; /* a comma follows */
        code = bloom_option_read(OPTIONS, "layout=NAME, key=RULE and salt=DIGITS", argument,
                                 &choice, &given, problem);
    }
    *shape = (struct bloom_shape){.layout = choice.layout, .keying = choice.keying};
    return code == BLOOM_OPTION_READ ? bloom_options_fit(choice.layout, &choice.keying, problem)
                                     : code;
}

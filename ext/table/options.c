/* See options.h. */
#include "table/options.h"

#include "filter/options.h"

#include <assert.h>
#include <string.h>

static_assert((int)BLOOM_OPTION_READ == SQLITE_OK && (int)BLOOM_OPTION_WRONG == SQLITE_ERROR,
              "what options read as is a code of SQLite");

/* The options. Each reads its value, and says what it wants when it gets something else. */

/* What is no number is 0, which no option takes. *whole stays as it is unless the value is a whole
 * number from minimum to maximum. */
static int read_whole(const struct bloom_options *to, struct bloom_text value, uint64_t minimum,
                      uint64_t maximum, uint64_t *whole, const char *expectation,
                      char problem[BLOOM_PROBLEM_SIZE]) {
    double number;
    int code = bloom_sql_literal(to->connection, value.start, value.length, &number);
    if (code != SQLITE_OK)
        return code;
    if (number < (double)minimum || number > (double)maximum || (double)(uint64_t)number != number)
        return bloom_option_wrong(problem, expectation, value);
    *whole = (uint64_t)number;
    return SQLITE_OK;
}

static int read_capacity(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_options *to = target;
    return read_whole(to, value, 1, BLOOM_CAPACITY_MAXIMUM, &to->growth.capacity,
                      "capacity must be a whole number from 1 to 1099511627776", problem);
}

static int read_generations(void *target, struct bloom_text value,
                            char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_options *to = target;
    uint64_t generations = 1;
    int code = read_whole(to, value, 2, BLOOM_GENERATIONS_MAXIMUM, &generations,
                          "generations must be a whole number from 2 to 64", problem);
    to->growth.generations = (unsigned)generations;
    return code;
}

static int read_fpr(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_options *to = target;
    double *rate = &to->growth.rate;
    int code = bloom_sql_literal(to->connection, value.start, value.length, rate);
    return code != SQLITE_OK || (*rate > 0 && *rate < 1)
               ? code
               : bloom_option_wrong(problem, "fpr must be between 0 and 1 (0.01 is 1 %)", value);
}

static int read_growth(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    static const char *const MODES[] = {
        [BLOOM_GROWTH_ON] = "on", [BLOOM_GROWTH_OFF] = "off", [BLOOM_GROWTH_ERROR] = "error"};
    struct bloom_options *to = target;
    for (unsigned i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (bloom_text_is(value, MODES[i])) {
            to->growth.mode = (enum bloom_growth_mode)i;
            return SQLITE_OK;
        }
    return bloom_option_wrong(problem, "growth must be on, off or error", value);
}

static int read_layout(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_options *to = target;
    const struct bloom_layout *layout = bloom_layout_by_name(value.start, value.length);
    to->growth.layout = layout;
    if (layout != NULL && layout->blocks != NULL)
        return SQLITE_OK;
    return bloom_option_wrong(problem, "layout of a filter table must be blocked or counting",
                              value);
}

static int read_key(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    char rules[BLOOM_PROBLEM_SIZE / 2], expectation[BLOOM_EXPECTATION_SIZE];
    struct bloom_options *to = target;
    for (to->key = BLOOM_KEY_REAL; to->key > BLOOM_KEY_AS_IT_IS; to->key--)
        if (bloom_text_is(value, bloom_key_type_name(to->key)))
            return SQLITE_OK;
    to->growth.keying.rule = bloom_key_rule_by_name(value.start, value.length);
    if (to->growth.keying.rule != NULL)
        return SQLITE_OK;
    bloom_key_rule_list(rules, sizeof rules);
    sqlite3_snprintf(sizeof expectation, expectation,
                     "key must be TEXT, INTEGER, REAL, NUMERIC or BLOB, or a key rule: %s", rules);
    return bloom_option_wrong(problem, expectation, value);
}

static int read_salt(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_options *to = target;
    return bloom_option_salt(value, &to->growth.keying, problem);
}

static const struct bloom_option OPTIONS[] = {
    {"capacity", read_capacity},
    {"fpr", read_fpr},
    {"generations", read_generations},
    {"growth", read_growth},
    {"layout", read_layout},
    {"key", read_key},
    {"salt", read_salt},
    {NULL, NULL},
};
static const char OPTION_LIST[] = "capacity=N, fpr=P, generations=G, growth=on, off or "
                                  "error, layout=NAME, key=TYPE and salt='DIGITS'";

int bloom_options_read(sqlite3 *connection, int count, const char *const *arguments,
                       struct bloom_options *options, char **error) {
    char problem[BLOOM_PROBLEM_SIZE];
    unsigned given = 0;
    int code = SQLITE_OK;
    *options = (struct bloom_options){.connection = connection,
                                      .growth = {.layout = bloom_layout_default(),
                                                 .capacity = 1000000,
                                                 .rate = 0.01,
                                                 .generations = 1,
                                                 .mode = BLOOM_GROWTH_ON}};
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        const struct bloom_text argument = {arguments[i], strlen(arguments[i])};
        code = bloom_option_read(OPTIONS, OPTION_LIST, argument, options, &given, problem);
    }
    if (code == SQLITE_OK)
        code = bloom_options_fit(options->growth.layout, &options->growth.keying, problem);
    if (code == SQLITE_OK && !bloom_growth_possible(&options->growth, problem))
        code = SQLITE_ERROR;
    if (code == SQLITE_ERROR)
        *error = sqlite3_mprintf("bloom: %s", problem);
    return code == SQLITE_ERROR && *error == NULL ? SQLITE_NOMEM : code;
}

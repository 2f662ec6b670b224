/* See options.h. */
#include "table/options.h"

#include "filter/names.h"

#include <string.h>

struct text {
    const char *start;
    size_t length;
};

static bool is_space(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r' || letter == '\f';
}

static bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

static bool is_hexadecimal(char letter) {
    return is_digit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

static struct text trim(const char *start, size_t length) {
    while (length > 0 && is_space(*start)) {
        start++;
        length--;
    }
    while (length > 0 && is_space(start[length - 1]))
        length--;
    return (struct text){start, length};
}

/* Takes quotes off; what would have to be unescaped is no value that anything takes. */
static struct text unquote(struct text text) {
    if (text.length >= 2 && (*text.start == '\'' || *text.start == '"') &&
        text.start[text.length - 1] == *text.start)
        return trim(text.start + 1, text.length - 2);
    return text;
}

static bool is_word(struct text text, const char *word) {
    return text.length == strlen(word) && sqlite3_strnicmp(text.start, word, (int)text.length) == 0;
}

/* Numbers */

/* The length of the literal at the start of a text that ends with a NUL; 0 when there is none. */
static size_t literal_length(const char *text) {
    size_t i = 0, digits = 0;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        for (i = 2; is_hexadecimal(text[i]); i++)
            digits++;
        return digits > 0 ? i : 0;
    }
    for (; is_digit(text[i]); i++)
        digits++;
    if (text[i] == '.')
        for (i++; is_digit(text[i]); i++)
            digits++;
    if (digits == 0)
        return 0;
    if (text[i] == 'e' || text[i] == 'E') {
        size_t j = i + 1;
        j += text[j] == '+' || text[j] == '-';
        if (!is_digit(text[j]))
            return 0;
        while (is_digit(text[j]))
            j++;
        i = j;
    }
    return i;
}

/* Whether a text that ends with a NUL consists of literals and operators, of which two - in a row,
 * and a / before a *, would begin a comment. Whether they make sense SQLite finds out. */
static bool is_arithmetic(const char *text) {
    for (size_t i = 0; text[i] != '\0';) {
        size_t length = literal_length(text + i);
        if (length == 0 && strchr("+-*/() \t\n\r\f", text[i]) != NULL)
            length = 1;
        if (length == 0 || (text[i] == '-' && text[i + 1] == '-') ||
            (text[i] == '/' && text[i + 1] == '*'))
            return false;
        i += length;
        /* 12abc: what follows a literal at once is an operator or a blank. */
        if ((is_hexadecimal(text[i - 1]) || text[i - 1] == '.') && text[i] != '\0' &&
            strchr("+-*/() \t\n\r\f", text[i]) == NULL)
            return false;
    }
    return true;
}

static bool is_literal(const char *text) {
    text += *text == '+' || *text == '-';
    size_t length = literal_length(text);
    return length > 0 && text[length] == '\0';
}

/* Who reads the options: what they were in former releases is only for tables that are there
 * already. */
struct reader {
    sqlite3 *connection;
    bool create;
};

/* Returns SQLITE_ERROR for what is no number. */
static int read_number(const struct reader *reader, struct text text, double *number) {
    sqlite3_stmt *statement;
    char *copy = sqlite3_mprintf("%.*s", (int)text.length, text.start);
    if (copy == NULL)
        return SQLITE_NOMEM;
    bool readable = is_literal(copy) || (!reader->create && text.length > 0 && is_arithmetic(copy));
    char *sql = readable ? sqlite3_mprintf("SELECT (%s)", copy) : NULL;
    sqlite3_free(copy);
    if (!readable)
        return SQLITE_ERROR;
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code =
        sqlite3_prepare_v3(reader->connection, sql, -1, SQLITE_PREPARE_NO_VTAB, &statement, NULL);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code == SQLITE_NOMEM || code == SQLITE_INTERRUPT ? code : SQLITE_ERROR;
    int type = SQLITE_NULL;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        type = sqlite3_column_type(statement, 0);
        *number = sqlite3_column_double(statement, 0);
    }
    code = sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return code;
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? SQLITE_OK : SQLITE_ERROR;
}

/* The options. Each reads its value, and says what it wants when it gets something else. */

static int wrong(char **error, const char *expectation, struct text value) {
    char quoted[BLOOM_QUOTE_SIZE];
    *error = sqlite3_mprintf("bloom: %s, not %s", expectation,
                             bloom_sql_quote(quoted, value.start, value.length));
    return *error != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
}

static int read_capacity(const struct reader *reader, struct text value,
                         struct bloom_options *options, char **error) {
    double number = 0;
    int code = read_number(reader, value, &number);
    if (code != SQLITE_OK && code != SQLITE_ERROR)
        return code;
    if (code == SQLITE_OK && number >= 1 && number <= (double)BLOOM_CAPACITY_MAXIMUM &&
        (double)(uint64_t)number == number) {
        options->growth.capacity = (uint64_t)number;
        return SQLITE_OK;
    }
    return wrong(error, "capacity must be a whole number from 1 to 1099511627776", value);
}

static int read_fpr(const struct reader *reader, struct text value, struct bloom_options *options,
                    char **error) {
    double number = 0;
    int code = read_number(reader, value, &number);
    if (code != SQLITE_OK && code != SQLITE_ERROR)
        return code;
    if (code == SQLITE_OK && number > 0 && number < 1) {
        options->growth.rate = number;
        return SQLITE_OK;
    }
    return wrong(error, "fpr must be between 0 and 1", value);
}

static int read_growth(const struct reader *reader, struct text value,
                       struct bloom_options *options, char **error) {
    static const char *const MODES[] = {
        [BLOOM_GROWTH_ON] = "on", [BLOOM_GROWTH_OFF] = "off", [BLOOM_GROWTH_ERROR] = "error"};
    (void)reader;
    for (unsigned i = 0; i < sizeof MODES / sizeof *MODES; i++)
        if (is_word(value, MODES[i])) {
            options->growth.mode = (enum bloom_growth_mode)i;
            return SQLITE_OK;
        }
    return wrong(error, "growth must be on, off or error", value);
}

static int read_layout(const struct reader *reader, struct text value,
                       struct bloom_options *options, char **error) {
    (void)reader;
    options->growth.layout = bloom_layout_by_name(value.start, value.length);
    if (options->growth.layout == NULL)
        return wrong(error, "layout must be the name of a layout", value);
    if (options->growth.layout->blocks == NULL)
        return wrong(error, "layout must be one that a filter table can have, as blocked", value);
    return SQLITE_OK;
}

static const char *const KEY_TYPES[] = {
    [BLOOM_KEY_AS_IT_IS] = "",       [BLOOM_KEY_BLOB] = "BLOB",       [BLOOM_KEY_TEXT] = "TEXT",
    [BLOOM_KEY_NUMERIC] = "NUMERIC", [BLOOM_KEY_INTEGER] = "INTEGER", [BLOOM_KEY_REAL] = "REAL"};

const char *bloom_key_type_name(enum bloom_key_type type) {
    return KEY_TYPES[type];
}

static int read_key(const struct reader *reader, struct text value, struct bloom_options *options,
                    char **error) {
    (void)reader;
    for (unsigned i = BLOOM_KEY_BLOB; i < sizeof KEY_TYPES / sizeof *KEY_TYPES; i++)
        if (is_word(value, KEY_TYPES[i])) {
            options->key = (enum bloom_key_type)i;
            return SQLITE_OK;
        }
    return wrong(error, "key must be TEXT, INTEGER, REAL, NUMERIC or BLOB", value);
}

static const struct option {
    const char *name;
    int (*read)(const struct reader *reader, struct text value, struct bloom_options *options,
                char **error);
} OPTIONS[] = {
    {"capacity", read_capacity}, {"fpr", read_fpr}, {"growth", read_growth},
    {"layout", read_layout},     {"key", read_key},
};

enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

static int read_option(const struct reader *reader, const char *argument,
                       struct bloom_options *options, unsigned *given, char **error) {
    const char *equals = strchr(argument, '=');
    struct text name =
        trim(argument, equals != NULL ? (size_t)(equals - argument) : strlen(argument));
    unsigned which = 0;
    while (which < OPTION_COUNT && !is_word(name, OPTIONS[which].name))
        which++;
    if (which == OPTION_COUNT || equals == NULL) {
        char quoted[BLOOM_QUOTE_SIZE];
        *error = sqlite3_mprintf("bloom: unknown option %s; the options are capacity=N, fpr=P, "
                                 "growth=on, off or error, layout=NAME and key=TYPE",
                                 bloom_sql_quote(quoted, name.start, name.length));
        return *error != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
    }
    if (*given & 1u << which) {
        *error = sqlite3_mprintf("bloom: option %s is given twice", OPTIONS[which].name);
        return *error != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
    }
    *given |= 1u << which;
    struct text value = unquote(trim(equals + 1, strlen(equals + 1)));
    return OPTIONS[which].read(reader, value, options, error);
}

int bloom_options_read(sqlite3 *connection, int count, const char *const *arguments, bool create,
                       struct bloom_options *options, char **error) {
    const struct reader reader = {connection, create};
    char problem[BLOOM_PROBLEM_SIZE];
    unsigned given = 0;
    int code = SQLITE_OK;
    *options = (struct bloom_options){.growth = {.layout = bloom_layout_default(),
                                                 .capacity = 1000000,
                                                 .rate = 0.01,
                                                 .mode = BLOOM_GROWTH_ON}};
    for (int i = 0; i < count && code == SQLITE_OK; i++)
        code = read_option(&reader, arguments[i], options, &given, error);
    if (code != SQLITE_OK || bloom_growth_possible(&options->growth, problem))
        return code;
    *error = sqlite3_mprintf("bloom: %s", problem);
    return *error != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
}

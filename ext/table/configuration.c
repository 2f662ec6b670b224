/* Options are read one by one: each has a function that reads its value into the configuration, or
 * says what it wants instead. Row 0 is read as bytes of a stranger: the checksum tells whether they
 * are damaged, and every number is checked all the same. */
#include "table/configuration.h"

#include "base/portable.h"
#include "filter/options.h"
#include "hash/murmur3.h"
#include "table/chunks.h"

#include <assert.h>
#include <string.h>

static_assert((int)BLOOM_OPTION_READ == SQLITE_OK && (int)BLOOM_OPTION_WRONG == SQLITE_ERROR,
              "what options read as is a code of SQLite");

/* Options */

struct reader {
    struct bloom_choice choice;
    sqlite3 *connection;
    struct bloom_growth growth;
};

/* Sets *integer to the value if it is a whole number from minimum to maximum. A value that is not a
 * number counts as 0, which no option takes. */
static int read_integer(const struct reader *to, struct bloom_text value, uint64_t minimum,
                        uint64_t maximum, uint64_t *integer, const char *expectation,
                        char problem[BLOOM_PROBLEM_SIZE]) {
    double number;
    int code = bloom_sql_literal(to->connection, value.start, value.length, &number);
    if (code != SQLITE_OK)
        return code;
    if (number < (double)minimum || number > (double)maximum || (double)(uint64_t)number != number)
        return bloom_option_wrong(problem, expectation, value);
    *integer = (uint64_t)number;
    return SQLITE_OK;
}

static int read_capacity(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct reader *to = target;
    return read_integer(to, value, 1, BLOOM_CAPACITY_MAXIMUM, &to->growth.capacity,
                        "capacity is %s. Write a whole number from 1 to 1099511627776", problem);
}

static int read_generations(void *target, struct bloom_text value,
                            char problem[BLOOM_PROBLEM_SIZE]) {
    struct reader *to = target;
    uint64_t generations = 1;
    int code = read_integer(to, value, 2, BLOOM_GENERATIONS_MAXIMUM, &generations,
                            "generations is %s. Write a whole number from 2 to 64", problem);
    to->growth.generations = (unsigned)generations;
    return code;
}

static int read_fpr(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct reader *to = target;
    double *rate = &to->growth.rate;
    int code = bloom_sql_literal(to->connection, value.start, value.length, rate);
    return code != SQLITE_OK || (*rate > 0 && *rate < 1)
               ? code
               : bloom_option_wrong(
                     problem,
                     "fpr is %s. Write a number between 0 and 1, for example 0.01 for 1 %%", value);
}

const char *const bloom_growth_words[] = {
    [BLOOM_GROWTH_ON] = "on", [BLOOM_GROWTH_OFF] = "off", [BLOOM_GROWTH_ERROR] = "error"};

static int read_growth(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct reader *to = target;
    enum bloom_growth_mode mode = BLOOM_GROWTH_ON;
    while (mode <= BLOOM_GROWTH_ERROR && !bloom_text_is(value, bloom_growth_words[mode]))
        mode++;
    to->growth.mode = mode;
    if (mode <= BLOOM_GROWTH_ERROR)
        return SQLITE_OK;
    return bloom_option_wrong(problem, "growth is %s. Write on, off or error", value);
}

static const struct bloom_option TABLE_OPTIONS[] = {
    {"capacity", read_capacity},       {"fpr", read_fpr},
    {"generations", read_generations}, {"growth", read_growth},
    {"layout", bloom_option_layout},   {"key", bloom_option_key},
    {"salt", bloom_option_salt},       {NULL, NULL},
};
static const char OPTION_LIST[] = "capacity=N, fpr=P, generations=G, growth=on, off or "
                                  "error, layout=NAME, key=TYPE and salt='DIGITS'";

enum bloom_key_type bloom_configuration_key_type(int count, const char *const *arguments) {
    static const struct bloom_option KEY_OPTION[] = {{"key", bloom_option_key}, {NULL, NULL}};
    char problem[BLOOM_PROBLEM_SIZE];
    unsigned given = 0;
    struct bloom_choice choice = {.for_table = true};
    for (int i = 0; i < count; i++) {
        const struct bloom_text argument = {arguments[i], strlen(arguments[i])};
        bloom_option_read(KEY_OPTION, "", argument, &choice, &given, problem);
    }
    return choice.type;
}

/* Row 0 */

/* Neither ASCII nor UTF-8 begins with this byte, so text is never taken for row 0. The last byte is
 * the version of the format. */
static const uint8_t ROW_MAGIC[] = {0x89, 'B', 'L', 'T', 1};

enum {
    ROW_VERSION_AT = 4,
    ROW_LAYOUT_AT = 5,
    ROW_HASHING_AT = 6,
    ROW_RULE_AT = 7,
    ROW_AFFINITY_AT = 8,
    ROW_GROWTH_AT = 9,
    ROW_GENERATIONS_AT = 10,
    ROW_CHUNK_BLOCKS_AT = 12,
    ROW_CAPACITY_AT = 16,
    ROW_RATE_AT = 24,
    ROW_SALT_AT = 32,
    ROW_NEWEST_AT = 48,
    ROW_PERIOD_AT = 52,
    ROW_HAS_PERIOD_AT = 60, /* zeros follow */
    ROW_CHECKSUM_AT = 64
};

/* By the rule of a filter's header: the first word of the MurmurHash3 of all other bytes. */
static uint64_t row_checksum(const uint8_t *row) {
    uint64_t words[2];
    bloom_murmur3_bytes(row, ROW_CHECKSUM_AT, words);
    return words[0];
}

static void write_row_0(const struct bloom_configuration *configuration,
                        uint8_t row[BLOOM_CONFIGURATION_BYTES]) {
    const struct bloom_growth *growth = &configuration->growth;
    const struct bloom_keying *keying = &growth->keying;
    const struct bloom_shape shape = {.layout = growth->layout, .keying = *keying};
    memset(row, 0, BLOOM_CONFIGURATION_BYTES); /* that is also the rotation of a new table */
    memcpy(row, ROW_MAGIC, sizeof ROW_MAGIC);
    row[ROW_LAYOUT_AT] = growth->layout->number;
    row[ROW_HASHING_AT] = bloom_shape_hashing(&shape)->number;
    row[ROW_RULE_AT] = keying->rule != NULL ? keying->rule->number : 0;
    row[ROW_AFFINITY_AT] = (uint8_t)configuration->key;
    row[ROW_GROWTH_AT] = (uint8_t)growth->mode;
    row[ROW_GENERATIONS_AT] = (uint8_t)growth->generations;
    bloom_store32(row + ROW_CHUNK_BLOCKS_AT, growth->chunk_blocks);
    bloom_store64(row + ROW_CAPACITY_AT, growth->capacity);
    bloom_store64(row + ROW_RATE_AT, bloom_bits_of_double(growth->rate));
    for (int i = 0; keying->salted && i < 2; i++)
        bloom_store64(row + ROW_SALT_AT + 8 * i, keying->salt[i]);
    bloom_store64(row + ROW_CHECKSUM_AT, row_checksum(row));
}

int bloom_configuration_of_text(sqlite3 *connection, int count, const char *const *arguments,
                                uint32_t page_bytes, uint8_t row[BLOOM_CONFIGURATION_BYTES],
                                char **error) {
    char problem[BLOOM_PROBLEM_SIZE];
    unsigned given = 0;
    int code = SQLITE_OK;
    struct reader to = {.choice = {.for_table = true, .layout = bloom_layout_default()},
                        .connection = connection,
                        .growth = {.capacity = 1000000, .generations = 1, .mode = BLOOM_GROWTH_ON}};
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        const struct bloom_text argument = {arguments[i], strlen(arguments[i])};
        code = bloom_option_read(TABLE_OPTIONS, OPTION_LIST, argument, &to, &given, problem);
    }
    if (code == SQLITE_OK)
        code = bloom_options_fit(to.choice.layout, &to.choice.keying, problem);
    if (code == SQLITE_OK) {
        to.growth.layout = to.choice.layout;
        to.growth.keying = to.choice.keying;
        if (to.growth.rate == 0)
            to.growth.rate =
                to.choice.keying.rule != NULL ? BLOOM_RATE_DEFAULT_RULED : BLOOM_RATE_DEFAULT;
        to.growth.chunk_blocks =
            (page_bytes - BLOOM_CHUNK_HEAD_BYTES) / to.choice.layout->blocks->bytes;
        code = bloom_growth_possible(&to.growth, problem) ? SQLITE_OK : SQLITE_ERROR;
    }
    if (code == SQLITE_OK)
        write_row_0(&(struct bloom_configuration){.growth = to.growth, .key = to.choice.type}, row);
    if (code == SQLITE_ERROR)
        *error = sqlite3_mprintf("bloom: %s", problem);
    return code == SQLITE_ERROR && *error == NULL ? SQLITE_NOMEM : code;
}

/* Whether the numbers of a growth are in range, each by itself. */
static bool in_range(const struct bloom_growth *growth) {
    return growth->layout != NULL && growth->layout->blocks != NULL &&
           growth->mode <= BLOOM_GROWTH_ERROR && growth->generations >= 1 &&
           growth->generations <= BLOOM_GENERATIONS_MAXIMUM && growth->chunk_blocks >= 1 &&
           growth->chunk_blocks <= (BLOOM_CHUNK_BYTES_MAXIMUM - BLOOM_CHUNK_HEAD_BYTES) /
                                       growth->layout->blocks->bytes &&
           growth->capacity >= 1 && growth->capacity <= BLOOM_CAPACITY_MAXIMUM &&
           growth->rate > 0 && growth->rate < 1;
}

/* Interprets a row 0 that is intact. */
static bool read_row_0(struct bloom_configuration *configuration, const uint8_t *row,
                       char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_growth *growth = &configuration->growth;
    char text[BLOOM_PROBLEM_SIZE];
    uint8_t again[BLOOM_CONFIGURATION_BYTES];
    *configuration = (struct bloom_configuration){
        .growth = {.layout = bloom_layout_by_numbers(row[ROW_LAYOUT_AT], row[ROW_HASHING_AT]),
                   .keying = {.salted = row[ROW_HASHING_AT] == bloom_hashing_siphash.number,
                              .salt = {bloom_load64(row + ROW_SALT_AT),
                                       bloom_load64(row + ROW_SALT_AT + 8)}},
                   .capacity = bloom_load64(row + ROW_CAPACITY_AT),
                   .rate = bloom_double_of_bits(bloom_load64(row + ROW_RATE_AT)),
                   .generations = row[ROW_GENERATIONS_AT],
                   .chunk_blocks = bloom_load32(row + ROW_CHUNK_BLOCKS_AT),
                   .mode = (enum bloom_growth_mode)row[ROW_GROWTH_AT]},
        .key = (enum bloom_key_type)row[ROW_AFFINITY_AT]};
    if (!bloom_key_rule_by_number(row[ROW_RULE_AT], &growth->keying.rule) || !in_range(growth) ||
        configuration->key > (growth->keying.rule != NULL ? BLOOM_KEY_AS_IT_IS : BLOOM_KEY_REAL) ||
        !bloom_growth_possible(growth, text))
        return bloom_fail(problem, "has numbers that this release does not know");
    configuration->key_shape =
        (struct bloom_shape){.layout = growth->layout, .keying = growth->keying};
    write_row_0(configuration, again); /* with zeros for what was not read */
    return bloom_configuration_same(row, again) ||
           bloom_fail(problem, "has numbers where this release knows only zeros");
}

/* The version comes before the length, because row 0 may be longer in a later version. */
enum bloom_row_0 bloom_configuration_read(struct bloom_configuration *configuration,
                                          const uint8_t row[BLOOM_CONFIGURATION_BYTES], int length,
                                          char problem[BLOOM_PROBLEM_SIZE]) {
    const bool begins = length >= ROW_VERSION_AT && memcmp(row, ROW_MAGIC, ROW_VERSION_AT) == 0;
    if (begins && length > ROW_VERSION_AT && row[ROW_VERSION_AT] != ROW_MAGIC[ROW_VERSION_AT]) {
        bloom_fail(problem, "has version %u", row[ROW_VERSION_AT]);
        return row[ROW_VERSION_AT] > 0 ? BLOOM_ROW_0_NEWER : BLOOM_ROW_0_DAMAGED;
    }
    if (!begins && length >= ROW_VERSION_AT)
        bloom_fail(problem, "does not begin with 89424c54");
    else if (length != BLOOM_CONFIGURATION_BYTES)
        bloom_fail(problem, "is not a BLOB of %d bytes", BLOOM_CONFIGURATION_BYTES);
    else if (bloom_load64(row + ROW_CHECKSUM_AT) != row_checksum(row))
        bloom_fail(problem, "has a wrong checksum");
    else
        return read_row_0(configuration, row, problem) ? BLOOM_ROW_0_READ : BLOOM_ROW_0_NEWER;
    return BLOOM_ROW_0_DAMAGED;
}

bool bloom_configuration_same(const uint8_t row[BLOOM_CONFIGURATION_BYTES],
                              const uint8_t known[BLOOM_CONFIGURATION_BYTES]) {
    uint8_t rotated[BLOOM_CONFIGURATION_BYTES];
    const struct bloom_rotation rotation = bloom_rotation_load(row);
    memcpy(rotated, known, sizeof rotated);
    if (memcmp(row, known, sizeof rotated) != 0 && row[ROW_GENERATIONS_AT] > 1)
        bloom_rotation_store(&rotation, rotated);
    return memcmp(row, rotated, sizeof rotated) == 0;
}

struct bloom_rotation bloom_rotation_load(const uint8_t row[BLOOM_CONFIGURATION_BYTES]) {
    return (struct bloom_rotation){.newest = bloom_load32(row + ROW_NEWEST_AT),
                                   .has_period = row[ROW_HAS_PERIOD_AT] != 0,
                                   .period = (sqlite3_int64)bloom_load64(row + ROW_PERIOD_AT)};
}

void bloom_rotation_store(const struct bloom_rotation *rotation,
                          uint8_t row[BLOOM_CONFIGURATION_BYTES]) {
    bloom_store32(row + ROW_NEWEST_AT, rotation->newest);
    row[ROW_HAS_PERIOD_AT] = rotation->has_period;
    bloom_store64(row + ROW_PERIOD_AT, rotation->has_period ? (uint64_t)rotation->period : 0);
    bloom_store64(row + ROW_CHECKSUM_AT, row_checksum(row));
}

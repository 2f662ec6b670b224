/* The keys. A key is a number below UNIVERSE and stands for a value:
 *
 *   odd          a text: eight spellings and parts of each of 64 sites
 *   even         the number itself, but one in four is the number two below in another form, which
 *                a column may take for the same: a text, a REAL, a BLOB; or one near to it; or a
 *                whole number that no REAL is
 *
 * An ordinary table with a column of a type shows what SQLite makes of them there. What a key rule
 * makes of them bloom_url() and bloom_url_keys() tell, which have tests of their own. */
#include "simulator.h"

#include "filter/key_rule.h"

#include <stdio.h>
#include <string.h>

enum { FORM_DIGITS, FORM_REAL, FORM_TEXT_REAL, FORM_SPACES, FORM_HALF, FORM_BLOB, FORM_LARGE };

#define SALTING "salt='000102030405060708090a0b0c0d0e0f'"

const struct key_type_properties TYPES[KEY_TYPES] = {
    [AS_IT_IS] = {"", AS_IT_IS, 0, false},
    [BLOBS] = {"key=BLOB", BLOBS, 0, false},
    [TEXTS] = {"key=TEXT", TEXTS, 0, false},
    [NUMBERS] = {"key=NUMERIC", NUMBERS, 0, false},
    [INTEGERS] = {"key=INTEGER", INTEGERS, 0, false},
    [REALS] = {"key=REAL", REALS, 0, false},
    [URLS] = {"key=url", AS_IT_IS, 1, false},
    [URLS_NOCASE] = {"key=url_nocase", AS_IT_IS, 2, false},
    [SALTED] = {SALTING, AS_IT_IS, 0, true},
    [SALTED_TEXTS] = {"key=TEXT, " SALTING, TEXTS, 0, true},
    [SALTED_URLS] = {"key=url, " SALTING, AS_IT_IS, 1, true},
};
static const uint64_t SALT_WORDS[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};

static const sqlite3_int64 LARGE = INT64_C(9007199254740993); /* 2^53 + 1 */

enum { WORDS = 2, COVERING_MOST = 30 };

static struct key_value stored[COLUMN_TYPES][UNIVERSE];
static uint64_t words[KEY_TYPES][UNIVERSE][WORDS];
static bool keyless[KEY_TYPES][UNIVERSE];
static uint64_t covering[KEY_TYPES][UNIVERSE][COVERING_MOST][WORDS];
static unsigned covering_counts[KEY_TYPES][UNIVERSE];

unsigned keys_count(const struct keys *keys) {
    unsigned count = 0;
    for (size_t i = 0; i < UNIVERSE / 64; i++)
        for (uint64_t word = keys->words[i]; word != 0; word &= word - 1)
            count++;
    return count;
}

static void bind_format(sqlite3_stmt *statement, int parameter, const char *format,
                        sqlite3_int64 number) {
    char text[KEY_TEXT_SIZE];
    sqlite3_snprintf(sizeof text, text, format, number);
    sqlite3_bind_text(statement, parameter, text, -1, SQLITE_TRANSIENT);
}

/* The second is the first to a URL, the sixth the fourth, and without case the third is, too. The
 * last has no host. */
static const char *const SPELLINGS[] = {
    "http://%lld.example/",        "%lld.example",
    "http://%lld.example/Path",    "http://%lld.example/path",
    "http://www.%lld.example/p/x", "HTTP://%lld.EXAMPLE:80/a/../path#x",
    "http://a.b.%lld.example/?q",  "mailto:a@%lld.example"};
enum { SPELLING_COUNT = sizeof SPELLINGS / sizeof *SPELLINGS };

void bind_key(sqlite3_stmt *statement, int parameter, unsigned key) {
    char digits[KEY_TEXT_SIZE];
    unsigned number = key - 2;
    if (key % 2) {
        bind_format(statement, parameter, SPELLINGS[key / 2 % SPELLING_COUNT],
                    key / 2 / SPELLING_COUNT);
        return;
    }
    if (key % 8 != 6) {
        sqlite3_bind_int64(statement, parameter, key);
        return;
    }
    switch (key / 8 % 8) {
    case FORM_DIGITS:
        bind_format(statement, parameter, "%lld", number);
        break;
    case FORM_REAL:
        sqlite3_bind_double(statement, parameter, number);
        break;
    case FORM_TEXT_REAL:
        bind_format(statement, parameter, "%lld.0", number);
        break;
    case FORM_SPACES:
        bind_format(statement, parameter, " %lld ", number);
        break;
    case FORM_HALF:
        sqlite3_bind_double(statement, parameter, number + 0.5);
        break;
    case FORM_BLOB:
        sqlite3_bind_blob(statement, parameter, digits,
                          snprintf(digits, sizeof digits, "%u", number), SQLITE_TRANSIENT);
        break;
    case FORM_LARGE:
        sqlite3_bind_int64(statement, parameter, LARGE + number);
        break;
    default:
        bind_format(statement, parameter, "%lld", LARGE + number);
        break;
    }
}

struct bloom_keying keying_of(enum key_type type) {
    struct bloom_keying keying = {.salted = TYPES[type].salted};
    expect(bloom_key_rule_by_number(TYPES[type].rule, &keying.rule), "no key rule");
    if (keying.salted)
        memcpy(keying.salt, SALT_WORDS, sizeof SALT_WORDS);
    return keying;
}

const struct key_value *stored_key(enum key_type type, unsigned key) {
    return &stored[TYPES[type].column][key];
}

const uint64_t *added_words(enum key_type type, unsigned key) {
    return keyless[type][key] ? NULL : words[type][key];
}

/* A number is not made a REAL for a comparison. */
const uint64_t *asked_words(enum key_type type, unsigned key) {
    return added_words(type == REALS ? NUMBERS : type, key);
}

unsigned covering_words(enum key_type type, unsigned key, const uint64_t **first) {
    *first = covering[type][key][0];
    return covering_counts[type][key];
}

static void read_value(struct key_value *value, sqlite3_stmt *row, int column) {
    const void *bytes;
    memset(value, 0, sizeof *value);
    value->type = sqlite3_column_type(row, column);
    value->integer = sqlite3_column_int64(row, column);
    value->real = sqlite3_column_double(row, column);
    bytes = value->type == SQLITE_BLOB ? sqlite3_column_blob(row, column)
                                       : sqlite3_column_text(row, column);
    value->length = sqlite3_column_bytes(row, column);
    expect(value->length < KEY_TEXT_SIZE, "a key of %d bytes", value->length);
    if (bytes != NULL)
        memcpy(value->text, bytes, (size_t)value->length);
}

static void hash_value(enum key_type type, const struct key_value *value, uint64_t *into) {
    const struct bloom_hashing *hashing =
        TYPES[type].salted ? &bloom_hashing_siphash : &bloom_hashing_murmur3;
    int64_t integer;
    if (value->type == SQLITE_INTEGER)
        hashing->integer(SALT_WORDS, value->integer, into);
    else if (value->type == SQLITE_FLOAT)
        expect(bloom_real_as_integer(hashing->reals, value->real, &integer) &&
                   hashing->integer(SALT_WORDS, integer, into),
               "no key");
    else
        hashing->bytes(SALT_WORDS, value->text, (size_t)value->length, into);
}

static void learn_types(sqlite3 *database) {
    must_run(database, "CREATE TABLE types(as_it_is, blobs BLOB, texts TEXT, numbers NUMERIC, "
                       "integers INTEGER, reals REAL)");
    sqlite3_stmt *statement =
        must_prepare(database, "INSERT INTO types VALUES (?1, ?1, ?1, ?1, ?1, ?1)");
    for (unsigned key = 0; key < UNIVERSE; key++) {
        bind_key(statement, 1, key);
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    statement = must_prepare(database, "SELECT * FROM types ORDER BY rowid");
    for (unsigned key = 0; key < UNIVERSE && sqlite3_step(statement) == SQLITE_ROW; key++)
        for (int type = 0; type < COLUMN_TYPES; type++)
            read_value(&stored[type][key], statement, type);
    sqlite3_finalize(statement);
}

/* The first key is that of an entry, which covers itself. Numbers, which are the even keys, are no
 * entries. */
static void learn_rule(sqlite3 *database, enum key_type type) {
    sqlite3_stmt *statement = must_prepare(
        database, type == URLS_NOCASE ? "SELECT lower(bloom_url(CAST(?1 AS TEXT))) UNION ALL "
                                        "SELECT lower(key) FROM bloom_url_keys(CAST(?1 AS TEXT))"
                                      : "SELECT bloom_url(CAST(?1 AS TEXT)) UNION ALL "
                                        "SELECT key FROM bloom_url_keys(CAST(?1 AS TEXT))");
    for (unsigned key = 0; key < UNIVERSE; key++) {
        struct key_value value;
        unsigned count = 0;
        bind_key(statement, 1, key);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            expect(count <= COVERING_MOST, "key %u has %u keys", key, count);
            read_value(&value, statement, 0);
            hash_value(type, &value, count > 0 ? covering[type][key][count - 1] : words[type][key]);
            keyless[type][key] |= value.type == SQLITE_NULL || key % 2 == 0;
            count++;
        }
        covering_counts[type][key] = count - 1;
        expect((keyless[type][key] && key % 2 == 1) == (count == 1), "key %u is covered by %u", key,
               count - 1);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
}

void keys_learn(void) {
    static const struct file MEMORY;
    sqlite3 *database = fresh_connection(&MEMORY, 0);
    learn_types(database);
    for (enum key_type type = 0; type < KEY_TYPES; type++)
        if (TYPES[type].rule > 0)
            learn_rule(database, type);
        else
            for (unsigned key = 0; key < UNIVERSE; key++)
                hash_value(type, stored_key(type, key), words[type][key]);
    sqlite3_close(database);
}

/* The aggregate bloom_hashes: the distinct hashes of the keys of a query, as a set for the command
 * 'add_all' of a filter table.
 *
 * The result is a pointer value (pins.c), because a set is of no use but to that command: it has no
 * length limit, it cannot be stored and found outdated, and it says for which tables it was made.
 * That is its keying, and the types of columns that hash its keys alike. With key=TYPE the keys are
 * converted as a column of that type would store them. Without it each key narrows what the set
 * fits: a text, for example, is another key in a column of numbers.
 */
#include "sqlite/affinity.h"
#include "sqlite/functions.h"

#include <string.h>

enum { OPTIONS_KEPT = 120 };

struct hashes_build {
    bool begun, failed; /* failed: an error has been reported */
    enum bloom_key_type type;
    struct bloom_shape shape; /* only how keys are hashed */
    unsigned affinities;
    struct bloom_key_set keys;
    uint64_t added;     /* keys, duplicates included */
    int options_length; /* of the first row, as far as they fit; -1: they were not kept */
    char options[OPTIONS_KEPT];
};

struct hashing {
    enum bloom_key_type type;
    struct bloom_keying keying;
};

static int read_key(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct hashing *to = target;
    return bloom_option_key(value, &to->type, &to->keying, problem);
}

static int read_salt(void *target, struct bloom_text value, char problem[BLOOM_PROBLEM_SIZE]) {
    struct hashing *to = target;
    return bloom_option_salt(value, &to->keying, problem);
}

/* Reads how keys are to be hashed: as in the filter that is argument 2, or as options say. */
static bool read_hashing(sqlite3_context *context, int count, sqlite3_value **arguments,
                         struct hashing *hashing) {
    static const struct bloom_option OPTIONS[] = {
        {"key", read_key}, {"salt", read_salt}, {NULL, NULL}};
    struct bloom_stored like;
    char problem[BLOOM_PROBLEM_SIZE];
    *hashing = (struct hashing){.type = BLOOM_KEY_AS_IT_IS};
    if (count < 2)
        return true;
    if (sqlite3_value_type(arguments[1]) != SQLITE_TEXT) {
        if (!bloom_sql_filter(context, 2, arguments[1], &like))
            return false;
        hashing->keying = like.shape.keying;
        if (!like.shape.layout->keying) {
            bloom_layout_list_keying(problem, sizeof problem, " or ");
            bloom_sql_error(context,
                            "the filter (argument 2) has layout %s, which hashes keys otherwise. "
                            "Give one of layout %s, or key= and salt= as text",
                            like.shape.layout->name, problem);
        }
        return like.shape.layout->keying;
    }
    const struct bloom_text text = {(const char *)sqlite3_value_text(arguments[1]),
                                    (size_t)sqlite3_value_bytes(arguments[1])};
    if (text.start == NULL) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    if (bloom_options_read(OPTIONS, "key=TYPE or RULE and salt=DIGITS", text, hashing, problem) !=
        BLOOM_OPTION_READ) {
        bloom_sql_error(context, "%s", problem);
        return false;
    }
    return true;
}

/* The types that hash a key of this column type alike. INTEGER and NUMERIC convert alike, and so do
 * BLOB and no type. */
static unsigned types_like(enum bloom_key_type type) {
    enum {
        AS_IT_IS = 1u << BLOOM_KEY_AS_IT_IS | 1u << BLOOM_KEY_BLOB,
        WHOLE = 1u << BLOOM_KEY_INTEGER | 1u << BLOOM_KEY_NUMERIC
    };
    if (type == BLOOM_KEY_TEXT || type == BLOOM_KEY_REAL)
        return 1u << type;
    return type <= BLOOM_KEY_BLOB ? AS_IT_IS | WHOLE | 1u << BLOOM_KEY_TEXT | 1u << BLOOM_KEY_REAL
                                  : WHOLE;
}

/* The types of columns in which a value stays the key that it is. */
static unsigned types_of(sqlite3_value *value) {
    static const uint64_t EXACT = UINT64_C(1) << 53;
    const unsigned as_it_is = 1u << BLOOM_KEY_AS_IT_IS | 1u << BLOOM_KEY_BLOB;
    const unsigned whole = 1u << BLOOM_KEY_INTEGER | 1u << BLOOM_KEY_NUMERIC;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        /* A column of REAL rounds it to a double, which up to 2^53 is the same number. */
        return as_it_is | whole |
               ((uint64_t)sqlite3_value_int64(value) + EXACT <= 2 * EXACT ? 1u << BLOOM_KEY_REAL
                                                                          : 0);
    case SQLITE_FLOAT:
        return as_it_is | whole | 1u << BLOOM_KEY_REAL;
    case SQLITE_TEXT:
        return as_it_is | 1u << BLOOM_KEY_TEXT;
    default: /* no type converts a BLOB */
        return ~0u;
    }
}

static bool begin_hashes(sqlite3_context *context, int count, sqlite3_value **arguments,
                         struct hashes_build *build) {
    struct hashing hashing;
    if (!read_hashing(context, count, arguments, &hashing))
        return false;
    const bool has_options = count > 1 && sqlite3_value_type(arguments[1]) == SQLITE_TEXT;
    build->begun = true;
    build->type = hashing.type;
    build->affinities = types_like(hashing.type);
    build->shape = (struct bloom_shape){.layout = bloom_layout_default(), .keying = hashing.keying};
    /* A factor of 2 keeps the set below 20 bytes a distinct key. */
    build->keys = (struct bloom_key_set){
        .layout = bloom_layout_default(), .memory = &bloom_sql_memory, .settle_factor = 2};
    sqlite3_randomness(sizeof build->keys.seed, build->keys.seed);
    build->options_length = has_options ? sqlite3_value_bytes(arguments[1]) : -1;
    if (build->options_length > OPTIONS_KEPT)
        build->options_length = -1;
    if (build->options_length > 0)
        memcpy(build->options, sqlite3_value_text(arguments[1]), (size_t)build->options_length);
    return true;
}

/* Whether a later row has the options of the first one. */
static bool same_hashing(sqlite3_context *context, int count, sqlite3_value **arguments,
                         const struct hashes_build *build) {
    struct hashing hashing;
    char problem[BLOOM_PROBLEM_SIZE];
    if (count < 2)
        return true;
    if (build->options_length >= 0 && sqlite3_value_type(arguments[1]) == SQLITE_TEXT) {
        const void *text = sqlite3_value_text(arguments[1]);
        if (text != NULL && sqlite3_value_bytes(arguments[1]) == build->options_length &&
            memcmp(text, build->options, (size_t)build->options_length) == 0)
            return true;
    }
    if (!read_hashing(context, count, arguments, &hashing))
        return false;
    if (!bloom_keying_same(&build->shape.keying, &hashing.keying, problem))
        bloom_sql_error(context, "argument 2 must be the same for all rows of a group, not %s",
                        problem);
    else if (hashing.type != build->type)
        bloom_sql_error(context, "argument 2 must be the same for all rows of a group");
    else
        return true;
    return false;
}

/* Adds the key of a row, if it has one. Returns false after failing the function. */
static bool take_hashed_key(sqlite3_context *context, struct hashes_build *build,
                            sqlite3_value *value) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (build->type <= BLOOM_KEY_BLOB) {
        switch (bloom_sql_key_to_add(context, 1, value, &build->shape, words)) {
        case BLOOM_KEY_SKIP:
            return true;
        case BLOOM_KEY_FAILED:
            return false;
        default:
            build->affinities &= types_of(value);
        }
    } else {
        struct bloom_typed_key key = bloom_typed_key(build->type, value, true);
        switch (bloom_typed_key_words(&key, &build->shape, words)) {
        case BLOOM_KEY_NULL:
            return true;
        case BLOOM_KEY:
            break;
        default: /* without a key rule, every value has a key */
            sqlite3_result_error_nomem(context);
            return false;
        }
    }
    build->added++;
    if (bloom_key_set_add(&build->keys, words))
        return true;
    sqlite3_result_error_nomem(context);
    return false;
}

/* bloom_hashes(key [, filter or options]). */
void bloom_sql_hashes_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct hashes_build *build = sqlite3_aggregate_context(context, sizeof *build);
    if (build == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    build->failed = !(build->begun ? same_hashing(context, count, arguments, build)
                                   : begin_hashes(context, count, arguments, build)) ||
                    !take_hashed_key(context, build, arguments[0]);
}

/* Makes the set. Returns false after failing the function. When duplicates have been dropped, the
 * set probably holds further ones, which would take memory twice. */
static bool finish(sqlite3_context *context, struct hashes_build *build,
                   struct bloom_hashes *hashes) {
    struct bloom_question question = {.database = sqlite3_context_db_handle(context)};
    build->keys.interrupted = bloom_sql_question;
    build->keys.argument = &question;
    uint64_t distinct;
    enum bloom_built built = BLOOM_BUILT;
    if (build->added > bloom_key_set_size(&build->keys))
        built = bloom_key_set_settle(&build->keys, &distinct);
    if (built == BLOOM_BUILT)
        built = bloom_hashes_sort(hashes, &build->keys);
    sqlite3_finalize(question.statement);
    if (built == BLOOM_BUILT)
        return true;
    if (built == BLOOM_BUILD_INTERRUPTED)
        sqlite3_result_error_code(context, question.code);
    else
        sqlite3_result_error_nomem(context);
    return false;
}

/* No rows make an empty set, which every table takes. */
void bloom_sql_hashes_final(sqlite3_context *context) {
    struct hashes_build *build = sqlite3_aggregate_context(context, 0);
    struct bloom_hashes hashes = {.affinities = ~0u};
    if (build == NULL || !build->begun) {
        if (build == NULL || !build->failed)
            bloom_sql_result_hashes(context, &hashes);
        return;
    }
    hashes.keying = build->shape.keying;
    hashes.affinities = build->affinities;
    if (!build->failed && finish(context, build, &hashes))
        bloom_sql_result_hashes(context, &hashes);
    bloom_key_set_clear(&build->keys);
}

/* The aggregate bloom_hashes: the distinct hashes of the keys of a query, as a set for the command
 * 'add_all' of a filter table.
 *
 * The result is a pointer value (pins.c), because a set is of use only to that command. So it has
 * no length limit, it cannot be stored and become outdated, and it carries for which tables it was
 * made: its keying, and the types of columns that hash its keys in the same way. With key=TYPE the
 * keys are converted as a column of that type would store them. Without it each key narrows what
 * the set fits. For example, the text '1' is another key in a column of numbers.
 */
#include "sqlite/affinity.h"
#include "sqlite/functions.h"

struct hashes_build {
    bool begun, failed; /* failed: an error has been reported */
    struct bloom_choice hashing;
    unsigned affinities;
    struct bloom_key_set keys;
    uint64_t added; /* keys, duplicates included */
    struct bloom_kept_options options;
};

/* Reads how keys are to be hashed: as in the filter that is argument 2, or by options. */
static bool read_hashing(sqlite3_context *context, int count, sqlite3_value **arguments,
                         struct bloom_choice *hashing) {
    static const struct bloom_option OPTIONS[] = {
        {"key", bloom_option_key}, {"salt", bloom_option_salt}, {NULL, NULL}};
    struct bloom_stored like;
    bloom_problem problem;
    *hashing = (struct bloom_choice){.for_table = true};
    if (count < 2)
        return true;
    if (sqlite3_value_type(arguments[1]) != SQLITE_TEXT) {
        if (!bloom_sql_filter(context, 2, arguments[1], &like))
            return false;
        hashing->keying = like.shape.keying;
        if (!like.shape.layout->keying)
            bloom_sql_error(context,
                            "argument 2 is a filter of layout %s, which hashes keys differently "
                            "from filter tables. Give options as text instead, as in 'key=url'",
                            like.shape.layout->name);
        return like.shape.layout->keying;
    }
    struct bloom_text text;
    if (!bloom_sql_text_argument(context, arguments[1], &text))
        return false;
    if (bloom_options_read(OPTIONS, "key=TYPE or RULE and salt=DIGITS", text, hashing, problem) !=
        BLOOM_OPTION_READ) {
        bloom_sql_error(context, "%s", problem);
        return false;
    }
    return true;
}

/* Sets of column types. INTEGER and NUMERIC convert in the same way, and so do BLOB and none. */
enum {
    TYPES_AS_IT_IS = 1u << BLOOM_KEY_AS_IT_IS | 1u << BLOOM_KEY_BLOB,
    TYPES_WHOLE = 1u << BLOOM_KEY_INTEGER | 1u << BLOOM_KEY_NUMERIC,
    TYPES_REAL = 1u << BLOOM_KEY_REAL,
    TYPES_TEXT = 1u << BLOOM_KEY_TEXT,
    TYPES_ALL = TYPES_AS_IT_IS | TYPES_WHOLE | TYPES_REAL | TYPES_TEXT
};

/* Returns the types of columns that leave a value as it is. */
static unsigned types_of(sqlite3_value *value) {
    static const unsigned TYPES[] = {[SQLITE_INTEGER] = TYPES_AS_IT_IS | TYPES_WHOLE,
                                     [SQLITE_FLOAT] = TYPES_AS_IT_IS | TYPES_WHOLE | TYPES_REAL,
                                     [SQLITE_TEXT] = TYPES_AS_IT_IS | TYPES_TEXT,
                                     [SQLITE_BLOB] = TYPES_ALL};
    static const uint64_t EXACT = UINT64_C(1) << 53;
    const int type = sqlite3_value_type(value);
    /* A REAL column rounds an integer to a double, which is the same number up to 2^53. */
    return type == SQLITE_INTEGER && (uint64_t)sqlite3_value_int64(value) + EXACT <= 2 * EXACT
               ? TYPES[type] | TYPES_REAL
               : TYPES[type];
}

static bool begin_hashes(sqlite3_context *context, int count, sqlite3_value **arguments,
                         struct hashes_build *build) {
    /* The types that hash a key of a column in the same way. */
    static const unsigned ALIKE[] = {
        [BLOOM_KEY_AS_IT_IS] = TYPES_ALL,  [BLOOM_KEY_BLOB] = TYPES_ALL,
        [BLOOM_KEY_TEXT] = TYPES_TEXT,     [BLOOM_KEY_NUMERIC] = TYPES_WHOLE,
        [BLOOM_KEY_INTEGER] = TYPES_WHOLE, [BLOOM_KEY_REAL] = TYPES_REAL};
    if (!read_hashing(context, count, arguments, &build->hashing))
        return false;
    build->begun = true;
    build->affinities = ALIKE[build->hashing.type];
    /* A factor of 2 keeps the set below 20 bytes a distinct key. */
    build->keys = (struct bloom_key_set){
        .layout = bloom_layout_default(), .memory = &bloom_sql_memory, .settle_factor = 2};
    sqlite3_randomness(sizeof build->keys.seed, build->keys.seed);
    if (count > 1)
        bloom_kept_options_keep(&build->options, arguments[1]);
    return true;
}

/* Returns true if a later row has the options of the first one, or else fails the function. */
static bool same_hashing(sqlite3_context *context, int count, sqlite3_value **arguments,
                         const struct hashes_build *build) {
    struct bloom_choice hashing;
    bloom_problem problem;
    if (count < 2 || bloom_kept_options_are(&build->options, arguments[1]))
        return true;
    if (!read_hashing(context, count, arguments, &hashing))
        return false;
    if (!bloom_keying_same(&build->hashing.keying, &hashing.keying, problem))
        bloom_sql_error(
            context, "argument 2 differs within a group (%s). Give the same for all rows", problem);
    else if (hashing.type != build->hashing.type)
        bloom_sql_error(context, "argument 2 differs within a group. Give the same for all rows");
    else
        return true;
    return false;
}

/* Adds the key of a row, unless it is NULL. Returns false after failing the function. */
static bool take_hashed_key(sqlite3_context *context, struct hashes_build *build,
                            sqlite3_value *value) {
    const struct bloom_shape shape = {.layout = build->keys.layout,
                                      .keying = build->hashing.keying};
    const struct bloom_typed_key key = bloom_typed_key(build->hashing.type, value, true);
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    enum bloom_key_kind kind = bloom_typed_key_words(&key, &shape, words);
    if (kind != BLOOM_KEY)
        return bloom_sql_skip_key(context, 1, value, &shape, kind);
    if (build->hashing.type <= BLOOM_KEY_BLOB)
        build->affinities &= types_of(value);
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

/* Makes the set. Returns false after failing the function. If duplicates have been dropped before,
 * there are probably more, which would take memory twice. So the set is settled first. */
static bool finish(sqlite3_context *context, struct hashes_build *build,
                   struct bloom_hashes *hashes) {
    struct bloom_poller poller = {.database = sqlite3_context_db_handle(context)};
    build->keys.interrupted = bloom_poller_ends;
    build->keys.argument = &poller;
    uint64_t distinct;
    enum bloom_built built = BLOOM_BUILT;
    if (build->added > bloom_key_set_size(&build->keys))
        built = bloom_key_set_settle(&build->keys, &distinct);
    if (built == BLOOM_BUILT)
        built = bloom_hashes_sort(hashes, &build->keys);
    if (built == BLOOM_BUILT)
        return true;
    if (built == BLOOM_BUILD_INTERRUPTED)
        sqlite3_result_error_code(context, poller.code);
    else
        sqlite3_result_error_nomem(context);
    return false;
}

/* Without rows the set is empty, and every table accepts it. */
void bloom_sql_hashes_final(sqlite3_context *context) {
    struct hashes_build *build = sqlite3_aggregate_context(context, 0);
    struct bloom_hashes hashes = {.affinities = TYPES_ALL};
    if (build == NULL || !build->begun) {
        if (build == NULL || !build->failed)
            bloom_sql_result_hashes(context, &hashes);
        return;
    }
    hashes.keying = build->hashing.keying;
    hashes.affinities = build->affinities;
    if (!build->failed && finish(context, build, &hashes))
        bloom_sql_result_hashes(context, &hashes);
    bloom_key_set_clear(&build->keys);
}

/* The set as an argument */

const struct bloom_hashes *bloom_hashes_for_table(sqlite3 *database, sqlite3_value *value,
                                                  const struct bloom_table_keys *keys,
                                                  char **message) {
    const struct bloom_hashes *set = bloom_sql_pinned_hashes(database, value);
    const char *type = bloom_key_type_name(keys->type);
    const char *key = keys->keying->rule != NULL ? keys->keying->rule->name : type;
    const bool has_key = *key != '\0', salted = keys->keying->salted;
    char found[BLOOM_WORDS_SIZE], call[80], problem[BLOOM_PROBLEM_SIZE];
    *message = NULL;
    /* The call that makes a set for the table, with dots for a salt. */
    sqlite3_snprintf(sizeof call, call, "bloom_hashes(key%s%s%s%s%s%s)",
                     has_key || salted ? ", '" : "", has_key ? "key=" : "", key,
                     has_key && salted ? ", " : "", salted ? "salt=..." : "",
                     has_key || salted ? "'" : "");
    if (set == NULL && bloom_sql_describe(found, value) != NULL)
        *message = sqlite3_mprintf(
            "the command add_all needs a set of hashes as key, not %s. Write INSERT INTO %s(%s, "
            "key) SELECT 'add_all', %s FROM ..., because SQLite makes a set NULL in a table, a "
            "view, "
            "a subquery in FROM, with ORDER BY, or if the query reads %s itself",
            found, keys->table, keys->table, call, keys->table);
    if (set == NULL || set->count == 0)
        return set;
    if (!bloom_keying_same(keys->keying, &set->keying, problem))
        *message = sqlite3_mprintf(
            "the options of the set are not those of the table (table and set: %s). Make it "
            "with %s%s",
            problem, call, salted ? ", with the table's salt" : "");
    else if (!(set->affinities & 1u << keys->type))
        *message =
            sqlite3_mprintf("the set is not of keys as the table stores them%s%s. Make it with %s",
                            *type != '\0' ? ", whose column key is " : "", type, call);
    else
        return set;
    return NULL;
}

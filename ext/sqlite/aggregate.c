/* The aggregates bloom_agg and bloom_hashes. */
#include "sqlite/functions.h"

#include "filter/hashes.h"
#include "filter/key_set.h"
#include "sqlite/options.h"

#include <stdio.h>
#include <string.h>

/* Keys that wait until their bits are set together, so that the cache misses overlap. */
enum { BATCH_WORDS = 64 };

/* How n was given with the first row of a group: it must stay the same for all. */
enum size_source { SIZE_UNDECIDED, SIZE_FROM_KEYS, SIZE_FROM_NUMBER, SIZE_FROM_FILTER };

/* A filter that grows as its keys come; its bytes are those of the build. */
struct growing {
    struct bloom_shape shape; /* for the largest key so far; no layout: there is none yet */
    uint64_t largest;
    uint64_t room; /* bytes */
};

struct build {
    enum size_source source;
    bool failed;              /* an error has been reported: the final step has only to clean up */
    struct bloom_shape shape; /* SIZE_FROM_KEYS: rate, layout and keying only, until the end */
    uint8_t *filter;          /* otherwise: the filter in the making, ours */
    unsigned kinds;           /* of keys, for layout hashes */
    bool options_kept;        /* of the first row */
    int options_length;
    char options[120];
    unsigned waiting; /* words in batch */
    uint64_t batch[BATCH_WORDS];
    struct bloom_key_set keys; /* SIZE_FROM_KEYS */
    struct growing growing;    /* SIZE_FROM_KEYS in a layout whose sizes mix, instead of keys */
};

static void *allocate(uint64_t bytes) {
    return sqlite3_malloc64(bytes);
}

static void release(void *memory) {
    sqlite3_free(memory);
}

static const struct bloom_memory MEMORY = {allocate, release};

static enum size_source source_of(int count, sqlite3_value **arguments) {
    if (count < 2)
        return SIZE_FROM_KEYS;
    switch (sqlite3_value_type(arguments[1])) {
    case SQLITE_NULL:
        return bloom_sql_is_null(arguments[1]) ? SIZE_FROM_KEYS : SIZE_FROM_FILTER;
    case SQLITE_BLOB:
        return SIZE_FROM_FILTER;
    default:
        return SIZE_FROM_NUMBER;
    }
}

/* Reads n, p and options of a row. A shape without bits is one that the keys decide. */
static bool read_shape(sqlite3_context *context, int count, sqlite3_value **arguments,
                       enum size_source source, struct bloom_shape *shape) {
    struct bloom_stored template;
    switch (source) {
    case SIZE_FROM_NUMBER:
        return bloom_sql_shape(context, count - 1, arguments + 1, shape);
    case SIZE_FROM_FILTER:
        if (count > 2) {
            bloom_sql_error(context,
                            "p and options come from the filter given as n; leave them out");
            return false;
        }
        if (!bloom_sql_filter(context, 2, arguments[1], &template))
            return false;
        *shape = template.shape;
        return true;
    default:
        if (count == 2) {
            bloom_sql_error(context,
                            "n (argument 2) is NULL: is the filter not there, or its pin lost? To "
                            "size by the keys, leave n out or give p, too: "
                            "bloom_agg(key, NULL, 0.01)");
            return false;
        }
        return bloom_sql_rate_and_options(context, count - 2, arguments + 2, shape);
    }
}

/* Keeps the options of the first row. A text that is too long is read again for each row. */
static void keep_options(struct build *build, sqlite3_value *value) {
    const void *text = sqlite3_value_text(value);
    int length = sqlite3_value_bytes(value);
    build->options_kept = text != NULL && length <= (int)sizeof build->options;
    if (!build->options_kept)
        return;
    memcpy(build->options, text, (size_t)length);
    build->options_length = length;
}

static bool begin(sqlite3_context *context, int count, sqlite3_value **arguments,
                  struct build *build) {
    enum size_source source = source_of(count, arguments);
    if (!read_shape(context, count, arguments, source, &build->shape))
        return false;
    if (source == SIZE_FROM_KEYS) {
        build->keys.layout = build->shape.layout;
        build->keys.memory = &MEMORY;
        sqlite3_randomness(sizeof build->keys.seed, build->keys.seed);
    } else if (!bloom_sql_offers(context, build->shape.layout, build->shape.layout->add != NULL,
                                 "add keys to")) {
        return false;
    } else {
        /* A statement of many groups may have no other occasion. */
        if (bloom_sql_interrupted(context, bloom_filter_bytes(&build->shape), &(uint64_t){0}))
            return false;
        build->filter = bloom_sql_new_filter(&build->shape);
        if (build->filter == NULL) {
            sqlite3_result_error_nomem(context);
            return false;
        }
    }
    if (count > 3)
        keep_options(build, arguments[3]);
    build->source = source;
    return true;
}

/* Whether a value is the text of the first row's options. */
static bool are_kept_options(const struct build *build, sqlite3_value *value) {
    if (sqlite3_value_type(value) != SQLITE_TEXT || !build->options_kept)
        return false;
    const void *text = sqlite3_value_text(value);
    return text != NULL && sqlite3_value_bytes(value) == build->options_length &&
           memcmp(text, build->options, (size_t)build->options_length) == 0;
}

/* Whether it is plain that a row asks for what the first one asked for: sizing a filter again takes
 * as long as adding a key. */
static bool plainly_same(enum size_source source, int count, sqlite3_value **arguments,
                         const struct build *build) {
    const struct bloom_shape *first = &build->shape;
    if (source == SIZE_FROM_FILTER || (count > 3 && !are_kept_options(build, arguments[3])))
        return false;
    if (source == SIZE_FROM_NUMBER &&
        (sqlite3_value_type(arguments[1]) != SQLITE_INTEGER ||
         sqlite3_value_int64(arguments[1]) != (sqlite3_int64)first->capacity))
        return false;
    return count < 3 ||
           (sqlite3_value_type(arguments[2]) == SQLITE_FLOAT && !first->layout->exact &&
            sqlite3_value_double(arguments[2]) == first->rate);
}

/* Whether a later row asks for what the first one asked for. */
static bool same_parameters(sqlite3_context *context, int count, sqlite3_value **arguments,
                            const struct build *build) {
    static const char *const SOURCES[] = {[SIZE_FROM_KEYS] = "n left out",
                                          [SIZE_FROM_NUMBER] = "n as a number",
                                          [SIZE_FROM_FILTER] = "n as a filter"};
    struct bloom_shape shape = {0};
    enum size_source source = source_of(count, arguments);
    char problem[BLOOM_PROBLEM_SIZE];
    if (source != build->source) {
        snprintf(problem, sizeof problem, "%s and %s", SOURCES[build->source], SOURCES[source]);
    } else if (plainly_same(source, count, arguments, build)) {
        return true;
    } else if (!read_shape(context, count, arguments, source, &shape)) {
        return false;
    } else if (bloom_shape_same(&build->shape, &shape, problem)) {
        return true;
    }
    bloom_sql_error(context, "n, p and options must be the same for all rows of a group, not %s",
                    problem);
    return false;
}

static bool build_grows(const struct build *build) {
    return build->source == SIZE_FROM_KEYS && build->shape.layout->numbers != NULL;
}

static void set_bits(struct build *build) {
    const struct bloom_shape *shape = build_grows(build) ? &build->growing.shape : &build->shape;
    shape->layout->add(shape, build->filter + bloom_header_bytes(shape), build->batch,
                       build->waiting / shape->layout->hash_words);
    build->waiting = 0;
}

/* Makes room for a key. Half as much again is asked for each time, so that growing costs no more
 * than a few copies in all, up to what a value may have. Returns false after failing the function.
 */
static bool grow_for(sqlite3_context *context, struct build *build, const uint64_t *words) {
    struct growing *growing = &build->growing;
    const struct bloom_key_summary keys = {.keys = 1, .largest = words[0]};
    if (growing->shape.layout != NULL && words[0] <= growing->largest)
        return true;
    growing->shape = build->shape;
    if (!bloom_sql_size_for_keys(context, &keys, &growing->shape))
        return false;
    growing->largest = words[0];
    uint64_t bytes = bloom_filter_bytes(&growing->shape);
    if (bytes <= growing->room)
        return true;
    const uint64_t most = bloom_sql_length_limit(context);
    bytes = bytes + bytes / 2 < most ? bytes + bytes / 2 : most;
    uint8_t *larger = sqlite3_realloc64(build->filter, bytes);
    if (larger == NULL) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    memset(larger + growing->room, 0, (size_t)(bytes - growing->room));
    build->filter = larger;
    growing->room = bytes;
    return true;
}

/* Returns false after failing the function. */
static bool agg_take(sqlite3_context *context, struct build *build, const uint64_t *words) {
    if (build_grows(build)) {
        if (!grow_for(context, build, words))
            return false;
    } else if (build->source == SIZE_FROM_KEYS) {
        if (bloom_key_set_add(&build->keys, words))
            return true;
        sqlite3_result_error_nomem(context);
        return false;
    }
    for (unsigned i = 0; i < build->shape.layout->hash_words; i++)
        build->batch[build->waiting++] = words[i];
    if (build->waiting == BATCH_WORDS)
        set_bits(build);
    return true;
}

/* Takes the key of a row, if it has one; what became of it. */
static enum bloom_key_added take_key(sqlite3_context *context, struct build *build,
                                     sqlite3_value *key) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    enum bloom_key_added added = bloom_sql_key_to_add(context, 1, key, &build->shape, words);
    build->failed =
        added == BLOOM_KEY_FAILED || (added == BLOOM_KEY_ADD && !agg_take(context, build, words));
    return added;
}

/* bloom_agg(key [, n [, p [, options]]]), or bloom_agg(key, filter). */
void bloom_sql_agg_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct build *build = sqlite3_aggregate_context(context, sizeof *build);
    if (build == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    build->failed = !(build->source == SIZE_UNDECIDED ? begin(context, count, arguments, build)
                      : count > 1 ? same_parameters(context, count, arguments, build)
                                  : true);
    if (!build->failed)
        take_key(context, build, arguments[0]);
}

/* Reads how keys are to be hashed: as in the filter that is argument 2, or as options say. */
static bool read_hashing(sqlite3_context *context, int count, sqlite3_value **arguments,
                         struct bloom_keying *keying) {
    struct bloom_stored like;
    struct bloom_shape shape = {.layout = bloom_layout_default()};
    char *error = NULL;
    *keying = (struct bloom_keying){0};
    if (count < 2)
        return true;
    if (sqlite3_value_type(arguments[1]) != SQLITE_TEXT) {
        if (!bloom_sql_filter(context, 2, arguments[1], &like))
            return false;
        *keying = like.shape.keying;
        if (!like.shape.layout->keying)
            bloom_sql_error(context,
                            "the filter (argument 2) has layout %s, which hashes keys otherwise; "
                            "give one of layout blocked, counting or fuse, or key= and salt= as "
                            "text",
                            like.shape.layout->name);
        return like.shape.layout->keying;
    }
    const struct bloom_text text = {(const char *)sqlite3_value_text(arguments[1]),
                                    (size_t)sqlite3_value_bytes(arguments[1])};
    int code = text.start != NULL ? bloom_options_of_value(text, &shape, &error) : SQLITE_NOMEM;
    if (code == SQLITE_OK && shape.layout != bloom_layout_default()) {
        error = sqlite3_mprintf("a set of hashes has no other layout: give key= and salt= alone");
        code = error != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
    }
    if (code == SQLITE_NOMEM)
        sqlite3_result_error_nomem(context);
    else if (code != SQLITE_OK)
        bloom_sql_error(context, "%s", error);
    sqlite3_free(error);
    *keying = shape.keying;
    return code == SQLITE_OK;
}

static bool begin_hashes(sqlite3_context *context, int count, sqlite3_value **arguments,
                         struct build *build) {
    build->shape = (struct bloom_shape){.layout = &bloom_layout_hashes};
    if (!read_hashing(context, count, arguments, &build->shape.keying))
        return false;
    build->keys.layout = build->shape.layout;
    build->keys.memory = &MEMORY;
    build->keys.settle_factor = 2; /* of memory: 20 bytes a distinct key at most */
    sqlite3_randomness(sizeof build->keys.seed, build->keys.seed);
    if (count > 1 && sqlite3_value_type(arguments[1]) == SQLITE_TEXT)
        keep_options(build, arguments[1]);
    build->source = SIZE_FROM_KEYS;
    return true;
}

static bool same_keying(sqlite3_context *context, int count, sqlite3_value **arguments,
                        const struct build *build) {
    struct bloom_keying keying;
    char problem[BLOOM_PROBLEM_SIZE];
    if (count < 2 || are_kept_options(build, arguments[1]))
        return true;
    if (!read_hashing(context, count, arguments, &keying))
        return false;
    if (bloom_keying_same(&build->shape.keying, &keying, problem))
        return true;
    bloom_sql_error(context, "argument 2 must be the same for all rows of a group, not %s",
                    problem);
    return false;
}

/* bloom_hashes(key [, filter or options]). */
void bloom_sql_hashes_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct build *build = sqlite3_aggregate_context(context, sizeof *build);
    if (build == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    build->failed =
        !(build->source == SIZE_UNDECIDED ? begin_hashes(context, count, arguments, build)
                                          : same_keying(context, count, arguments, build));
    if (build->failed || take_key(context, build, arguments[0]) != BLOOM_KEY_ADD)
        return;
    int type = sqlite3_value_type(arguments[0]);
    build->kinds |= type == SQLITE_INTEGER || type == SQLITE_FLOAT ? BLOOM_HASHES_OF_NUMBERS
                                                                   : BLOOM_HASHES_OF_TEXT;
}

/* What the key set asks while it builds; code is why it was answered with yes. */
struct question {
    sqlite3 *database;
    sqlite3_stmt *statement;
    int code;
};

static bool is_interrupted(void *argument) {
    struct question *question = argument;
    question->code = bloom_sql_ask(question->database, &question->statement);
    return question->code != SQLITE_OK;
}

static int fail_without_seed(sqlite3_context *context, const struct bloom_shape *shape) {
    bloom_sql_error(context,
                    "no filter of layout %s can be made of these keys: they were chosen against "
                    "it; give %s salt of 32 random hexadecimal digits, as in 'layout=%s, salt=...'",
                    shape->layout->name, shape->keying.salted ? "another" : "a",
                    shape->layout->name);
    return SQLITE_ERROR;
}

/* Sizes the filter for the keys found and fills it. Returns SQLITE_ERROR when an error has been
 * reported. */
static int fill_from_keys(sqlite3_context *context, struct build *build) {
    static const int CODES[] = {[BLOOM_BUILT] = SQLITE_OK,
                                [BLOOM_BUILD_NO_MEMORY] = SQLITE_NOMEM,
                                [BLOOM_BUILD_INTERRUPTED] = SQLITE_INTERRUPT};
    struct bloom_key_set *set = &build->keys;
    struct bloom_key_summary keys;
    enum bloom_built built = bloom_key_set_settle(set, &keys);
    if (built != BLOOM_BUILT)
        return CODES[built];
    if (!bloom_sql_size_for_keys(context, &keys, &build->shape))
        return SQLITE_ERROR;
    if (build->shape.layout == &bloom_layout_hashes)
        build->shape.extra[0] = build->kinds;
    build->filter = bloom_sql_new_filter(&build->shape);
    if (build->filter == NULL)
        return SQLITE_NOMEM;
    built =
        bloom_key_set_build(set, &build->shape, build->filter + bloom_header_bytes(&build->shape));
    if (built == BLOOM_BUILD_NO_SEED)
        return fail_without_seed(context, &build->shape);
    bloom_header_write(&build->shape, build->filter); /* which the building may have changed */
    return CODES[built];
}

static bool finish_from_keys(sqlite3_context *context, struct build *build) {
    struct question question = {.database = sqlite3_context_db_handle(context)};
    build->keys.interrupted = is_interrupted;
    build->keys.argument = &question;
    int code = fill_from_keys(context, build);
    sqlite3_finalize(question.statement);
    if (question.code != SQLITE_OK)
        code = question.code;
    if (code == SQLITE_NOMEM)
        sqlite3_result_error_nomem(context);
    else if (code != SQLITE_OK && code != SQLITE_ERROR)
        sqlite3_result_error_code(context, code);
    return code == SQLITE_OK;
}

/* Cuts the filter to the size of its largest key. */
static bool finish_growing(sqlite3_context *context, struct build *build) {
    static const struct bloom_key_summary NO_KEYS = {0};
    if (build->growing.shape.layout != NULL) {
        set_bits(build);
        build->shape = build->growing.shape;
        bloom_header_write(&build->shape, build->filter);
        return true;
    }
    if (!bloom_sql_size_for_keys(context, &NO_KEYS, &build->shape))
        return false;
    build->filter = bloom_sql_new_filter(&build->shape); /* NULL: the result is out of memory */
    return true;
}

void bloom_sql_agg_final(sqlite3_context *context) {
    struct build *build = sqlite3_aggregate_context(context, 0);
    if (build == NULL || build->source == SIZE_UNDECIDED)
        return;
    if (!build->failed) {
        if (build_grows(build))
            build->failed = !finish_growing(context, build);
        else if (build->source == SIZE_FROM_KEYS)
            build->failed = !finish_from_keys(context, build);
        else
            set_bits(build);
    }
    if (!build->failed) {
        bloom_sql_result_filter(context, &build->shape, build->filter);
        build->filter = NULL;
    }
    sqlite3_free(build->filter);
    if (build->keys.memory != NULL)
        bloom_key_set_clear(&build->keys);
}

/* The filter library for programs: the functions of sqlite-bloom-filter.h. The folders below do the
 * work. This file adds handles, the allocator of the caller, and messages that begin with the name
 * of the function. */
#include "sqlite-bloom-filter.h"

#include "base/text.h"
#include "filter/builder.h"
#include "filter/header.h"
#include "filter/key.h"
#include "filter/layouts/blocked.h"
#include "filter/layouts/counting.h"
#include "filter/merge.h"
#include "filter/options.h"
#include "foreign/exchange.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *sqlite_bloom_filter_version(void) {
    return SQLITE_BLOOM_VERSION;
}

/* Writes "FUNCTION: " and a formatted sentence, and returns status. */
static int interface_fail(char *problem, int status, const char *function, const char *format,
                          ...) {
    if (problem != NULL) {
        int used = snprintf(problem, SQLITE_BLOOM_PROBLEM_SIZE, "%s: ", function);
        va_list list;
        va_start(list, format);
        vsnprintf(problem + used, SQLITE_BLOOM_PROBLEM_SIZE - (size_t)used, format, list);
        va_end(list);
    }
    return status;
}

static int interface_no_memory(char *problem, const char *function) {
    return interface_fail(problem, SQLITE_BLOOM_NO_MEMORY, function, "out of memory");
}

/* --- Memory --- */

/* The allocator of a caller, and the same for the library. It must not move, because memory points
 * into it. */
struct interface_memory {
    struct sqlite_bloom_memory allocator;
    struct bloom_memory memory;
};

static void *caller_allocate(void *context, uint64_t bytes) {
    const struct sqlite_bloom_memory *allocator = context;
    return bytes <= SIZE_MAX ? allocator->allocate(allocator->context, (size_t)bytes) : NULL;
}

static void caller_release(void *context, void *memory) {
    const struct sqlite_bloom_memory *allocator = context;
    allocator->release(allocator->context, memory);
}

static void *caller_resize(void *context, void *memory, uint64_t bytes) {
    const struct sqlite_bloom_memory *allocator = context;
    return bytes <= SIZE_MAX ? allocator->resize(allocator->context, memory, (size_t)bytes) : NULL;
}

static void interface_memory_begin(struct interface_memory *memory,
                                   const struct sqlite_bloom_memory *allocator) {
    memory->memory = bloom_c_memory;
    if (allocator == NULL)
        return;
    memory->allocator = *allocator;
    memory->memory =
        (struct bloom_memory){caller_allocate, caller_release,
                              allocator->resize != NULL ? caller_resize : NULL, &memory->allocator};
}

/* Returns `size` zero bytes from an allocator. */
static void *interface_allocate(size_t size, const struct sqlite_bloom_memory *allocator) {
    struct interface_memory memory;
    interface_memory_begin(&memory, allocator);
    void *made = bloom_allocate(&memory.memory, size);
    if (made != NULL)
        memset(made, 0, size);
    return made;
}

/* Returns the allocator that the caller passed, or NULL. */
static const struct sqlite_bloom_memory *allocator_of(const struct interface_memory *memory) {
    return memory->memory.context != NULL ? &memory->allocator : NULL;
}

/* Releases an object that contains its own allocator. */
static void interface_release(void *handle, const struct interface_memory *memory) {
    struct interface_memory copy;
    interface_memory_begin(&copy, allocator_of(memory));
    bloom_release(&copy.memory, handle);
}

/* --- Handles --- */

struct sqlite_bloom_filter {
    struct bloom_shape shape;
    const uint8_t *payload;
    /* The check of a filter without a key rule whose keys are hashed by murmur3 and decided by one
     * word, as those of most filters are; or NULL. */
    bloom_word_check *plain_check;
    const uint8_t *bytes; /* with the header */
    uint8_t *writable;    /* the same; NULL: for reading only */
    uint8_t *owned;       /* the same; NULL: they are the caller's */
    struct interface_memory memory;
};

/* A filter without bytes. */
static struct sqlite_bloom_filter *filter_begin(const struct sqlite_bloom_memory *allocator) {
    struct sqlite_bloom_filter *filter = interface_allocate(sizeof *filter, allocator);
    if (filter != NULL)
        interface_memory_begin(&filter->memory, allocator);
    return filter;
}

static void filter_view(struct sqlite_bloom_filter *filter, const uint8_t *bytes,
                        uint8_t *writable) {
    filter->bytes = bytes;
    filter->payload = bytes + bloom_header_bytes(&filter->shape);
    filter->writable = writable;
    if (filter->shape.keying.rule == NULL && bloom_is_murmur3(&filter->shape) &&
        filter->shape.layout == &bloom_layout_blocked)
        filter->plain_check = bloom_blocked_word_check();
}

/* Makes bytes of the filter's shape its own. */
static void filter_own(struct sqlite_bloom_filter *filter, uint8_t *bytes) {
    filter->owned = bytes;
    filter_view(filter, bytes, bytes);
}

void sqlite_bloom_filter_close(struct sqlite_bloom_filter *filter) {
    if (filter == NULL)
        return;
    bloom_release(&filter->memory.memory, filter->owned);
    interface_release(filter, &filter->memory);
}

/* Returns the new filter, or NO_MEMORY if it could not be allocated. */
static int filter_made(struct sqlite_bloom_filter **made, struct sqlite_bloom_filter *filter,
                       char *problem, const char *function) {
    *made = filter;
    if (filter != NULL && filter->bytes != NULL)
        return SQLITE_BLOOM_OK;
    sqlite_bloom_filter_close(filter);
    *made = NULL;
    return interface_no_memory(problem, function);
}

static int filter_open(struct sqlite_bloom_filter **made, const void *bytes, uint8_t *writable,
                       size_t length, const struct sqlite_bloom_memory *allocator, char *problem,
                       const char *function) {
    bloom_problem reason;
    struct bloom_shape shape;
    *made = NULL;
    if (!bloom_filter_read(&shape, bytes, length, reason))
        return interface_fail(problem, SQLITE_BLOOM_NOT_A_FILTER, function, "the data %s", reason);
    struct sqlite_bloom_filter *filter = filter_begin(allocator);
    if (filter != NULL) {
        filter->shape = shape;
        filter_view(filter, bytes, writable);
    }
    return filter_made(made, filter, problem, function);
}

int sqlite_bloom_filter_open(struct sqlite_bloom_filter **filter, const void *bytes, size_t length,
                             const struct sqlite_bloom_memory *memory, char *problem) {
    return filter_open(filter, bytes, NULL, length, memory, problem, __func__);
}

int sqlite_bloom_filter_open_writable(struct sqlite_bloom_filter **filter, void *bytes,
                                      size_t length, const struct sqlite_bloom_memory *memory,
                                      char *problem) {
    return filter_open(filter, bytes, bytes, length, memory, problem, __func__);
}

/* Reads p and options into rate, layout and keying of a shape. */
static int read_parameters(struct bloom_shape *shape, double p, const char *options, char *problem,
                           const char *function) {
    bloom_problem reason;
    char number[BLOOM_NUMBER_SIZE];
    const struct bloom_text text = {options, options != NULL ? strlen(options) : 0};
    *shape = (struct bloom_shape){.layout = bloom_layout_default()};
    if (options != NULL && bloom_options_or_layout(text, shape, reason) != BLOOM_OPTION_READ)
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, function, "%s", reason);
    shape->rate = p;
    if (shape->layout->exact ? p == 0 : p > 0 && p < 1)
        return SQLITE_BLOOM_OK;
    bloom_number_text(number, p, 6);
    return shape->layout->exact
               ? interface_fail(problem, SQLITE_BLOOM_REFUSED, function,
                                "p is %s. Pass 0, because layout %s is exact", number,
                                shape->layout->name)
               : interface_fail(problem, SQLITE_BLOOM_REFUSED, function,
                                "p is %s. Pass a number between 0 and 1, for example 0.01 for 1 %%",
                                number);
}

/* Fails because a layout does not support an action. */
static int not_offered(const struct bloom_layout *layout, const char *action, char *problem,
                       const char *function) {
    return interface_fail(problem, SQLITE_BLOOM_REFUSED, function,
                          "cannot %s a filter of layout %s. %s", action, layout->name,
                          layout->advice);
}

int sqlite_bloom_filter_new(struct sqlite_bloom_filter **filter, uint64_t n, double p,
                            const char *options, const struct sqlite_bloom_memory *memory,
                            char *problem) {
    bloom_problem reason;
    struct bloom_shape shape;
    *filter = NULL;
    int status = read_parameters(&shape, p, options, problem, __func__);
    if (status != SQLITE_BLOOM_OK)
        return status;
    if (shape.layout->add == NULL)
        return not_offered(shape.layout, "choose n for", problem, __func__);
    if (!bloom_shape_size(&shape, n, reason))
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, __func__, "%s", reason);
    struct sqlite_bloom_filter *made = filter_begin(memory);
    if (made != NULL) {
        uint8_t *bytes = bloom_filter_new(&shape, &made->memory.memory);
        made->shape = shape;
        if (bytes != NULL)
            filter_own(made, bytes);
    }
    return filter_made(filter, made, problem, __func__);
}

int sqlite_bloom_filter_copy(struct sqlite_bloom_filter **filter,
                             const struct sqlite_bloom_filter *from,
                             const struct sqlite_bloom_memory *memory, char *problem) {
    struct sqlite_bloom_filter *made = filter_begin(memory);
    if (made != NULL) {
        uint64_t length = bloom_filter_bytes(&from->shape);
        uint8_t *bytes = bloom_allocate(&made->memory.memory, length);
        made->shape = from->shape;
        if (bytes != NULL) {
            memcpy(bytes, from->bytes, (size_t)length);
            filter_own(made, bytes);
        }
    }
    return filter_made(filter, made, problem, __func__);
}

const void *sqlite_bloom_filter_bytes(const struct sqlite_bloom_filter *filter, size_t *length) {
    *length = (size_t)bloom_filter_bytes(&filter->shape);
    return filter->bytes;
}

/* --- Keys --- */

/* The bytes of a text or BLOB; never NULL. */
static inline const void *key_bytes(const struct sqlite_bloom_key *key) {
    return key->length > 0 ? key->value.bytes : "";
}

static inline bool is_of_bytes(const struct sqlite_bloom_key *key) {
    return key->type == SQLITE_BLOOM_TEXT || key->type == SQLITE_BLOOM_BYTES;
}

/* The words of a key in a filter without a key rule. BLOOM_KEY_NULL: it has no type, or is no
 * number, which SQL has for NULL. */
static inline enum bloom_key_kind words_of_key(const struct bloom_shape *shape,
                                               const struct sqlite_bloom_key *key,
                                               uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    switch (key->type) {
    case SQLITE_BLOOM_TEXT:
        return bloom_text_key(shape, key_bytes(key), key->length, words);
    case SQLITE_BLOOM_BYTES:
        return bloom_bytes_key(shape, key_bytes(key), key->length, words);
    case SQLITE_BLOOM_INTEGER:
        return bloom_integer_key(shape, key->value.integer, words);
    case SQLITE_BLOOM_REAL:
        return key->value.real == key->value.real ? bloom_real_key(shape, key->value.real, words)
                                                  : BLOOM_KEY_NULL;
    default:
        return BLOOM_KEY_NULL;
    }
}

/* The text of a key that a key rule works on. */
struct interface_text {
    const uint8_t *bytes;
    size_t length;
    char digits[BLOOM_NUMBER_SIZE];
};

/* Returns false when a key of that type has no text. */
static bool ruled_text(struct interface_text *text, const struct sqlite_bloom_key *key) {
    switch (key->type) {
    case SQLITE_BLOOM_TEXT:
    case SQLITE_BLOOM_BYTES:
        text->bytes = key_bytes(key);
        text->length = key->length;
        return true;
    case SQLITE_BLOOM_INTEGER:
        text->bytes = (const uint8_t *)text->digits;
        text->length =
            (size_t)snprintf(text->digits, sizeof text->digits, "%" PRId64, key->value.integer);
        return true;
    case SQLITE_BLOOM_REAL:
        if (key->value.real != key->value.real)
            return false;
        text->bytes = (const uint8_t *)bloom_number_sql_text(text->digits, key->value.real);
        text->length = strlen(text->digits);
        return true;
    default:
        return false;
    }
}

/* The words of a key that is added or removed. */
static enum bloom_key_kind words_of_added(const struct bloom_shape *shape,
                                          const struct sqlite_bloom_key *key,
                                          const struct bloom_memory *memory,
                                          uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    struct interface_text text;
    if (shape->keying.rule == NULL)
        return words_of_key(shape, key, words);
    return ruled_text(&text, key) ? bloom_ruled_key(shape, text.bytes, text.length, memory, words)
                                  : BLOOM_KEY_FOREIGN;
}

/* Writes a key for a message. */
static void describe_key(char words[BLOOM_QUOTE_SIZE], const struct sqlite_bloom_key *key) {
    switch (key->type) {
    case SQLITE_BLOOM_TEXT:
        bloom_quote(words, key_bytes(key), key->length);
        break;
    case SQLITE_BLOOM_BYTES:
        snprintf(words, BLOOM_QUOTE_SIZE, "%" PRIu64 " bytes", (uint64_t)key->length);
        break;
    case SQLITE_BLOOM_INTEGER:
        snprintf(words, BLOOM_QUOTE_SIZE, "%" PRId64, key->value.integer);
        break;
    case SQLITE_BLOOM_REAL:
        bloom_number_text(words, key->value.real, 15);
        break;
    default:
        snprintf(words, BLOOM_QUOTE_SIZE, "of type %d", (int)key->type);
    }
}

/* The words of a key that is to be added to a filter of that shape; a shape without bits has room
 * for all. */
static int words_to_add(const struct bloom_shape *shape, const struct sqlite_bloom_key *key,
                        const struct bloom_memory *memory, uint64_t words[BLOOM_HASH_WORDS_MAXIMUM],
                        char *problem, const char *function) {
    bloom_problem reason;
    char found[BLOOM_QUOTE_SIZE];
    const struct bloom_layout *layout = shape->layout;
    enum bloom_key_kind kind = words_of_added(shape, key, memory, words);
    if (kind == BLOOM_KEY_NO_MEMORY)
        return interface_no_memory(problem, function);
    if (kind == BLOOM_KEY) {
        if (bloom_shape_has_room(shape, words, reason))
            return SQLITE_BLOOM_OK;
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, function, "the key %s", reason);
    }
    describe_key(found, key);
    if (shape->keying.rule != NULL)
        return interface_fail(problem, SQLITE_BLOOM_NO_KEY, function,
                              "the key, %s, is not a URL. Leave it out", found);
    return interface_fail(
        problem, SQLITE_BLOOM_NO_KEY, function,
        "the key is %s, but the keys of layout %s are %s. Convert it, or leave it out", found,
        layout->name, layout->hashing->keys);
}

/* --- Checking --- */

/* Checks all keys that may cover a key, by the key rule. */
static int check_by_rule(const struct sqlite_bloom_filter *filter,
                         const struct sqlite_bloom_key *key) {
    uint64_t words[BLOOM_ASKED_WORDS];
    uint8_t found[BLOOM_RULE_KEYS_MAXIMUM], any = 0;
    struct interface_text text;
    unsigned count;
    if (!ruled_text(&text, key))
        return SQLITE_BLOOM_NO_KEY;
    switch (bloom_ruled_keys(&filter->shape, text.bytes, text.length, &filter->memory.memory, words,
                             &count)) {
    case BLOOM_KEY:
        bloom_check_many(&filter->shape, filter->payload, words, count, found);
        for (unsigned i = 0; i < count; i++)
            any |= found[i];
        return any;
    case BLOOM_KEY_NO_MEMORY:
        return SQLITE_BLOOM_NO_MEMORY;
    default:
        return SQLITE_BLOOM_NO_KEY;
    }
}

static int check_any(const struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (filter->shape.keying.rule != NULL)
        return check_by_rule(filter, &key);
    enum bloom_key_kind kind = words_of_key(&filter->shape, &key, words);
    if (kind == BLOOM_KEY)
        return filter->shape.layout->check(&filter->shape, filter->payload, words);
    return kind == BLOOM_KEY_FOREIGN ? 0 : SQLITE_BLOOM_NO_KEY;
}

/* The hash is inline in each: a call more would be 5 % of a check. */
int sqlite_bloom_filter_check_text(const struct sqlite_bloom_filter *filter, const char *text,
                                   size_t length) {
    uint64_t words[2];
    if (filter->plain_check == NULL)
        return check_any(filter, sqlite_bloom_text_key(text, length));
    bloom_murmur3_bytes(text, length, words);
    return filter->plain_check(&filter->shape, filter->payload, words[0]);
}

int sqlite_bloom_filter_check_bytes(const struct sqlite_bloom_filter *filter, const void *bytes,
                                    size_t length) {
    uint64_t words[2];
    if (filter->plain_check == NULL)
        return check_any(filter, sqlite_bloom_bytes_key(bytes, length));
    bloom_murmur3_bytes(bytes, length, words);
    return filter->plain_check(&filter->shape, filter->payload, words[0]);
}

int sqlite_bloom_filter_check_integer(const struct sqlite_bloom_filter *filter, int64_t integer) {
    uint64_t words[2];
    if (filter->plain_check == NULL)
        return check_any(filter, sqlite_bloom_integer_key(integer));
    bloom_murmur3_integer(integer, words);
    return filter->plain_check(&filter->shape, filter->payload, words[0]);
}

int sqlite_bloom_filter_check_real(const struct sqlite_bloom_filter *filter, double real) {
    return check_any(filter, sqlite_bloom_real_key(real));
}

/* Keys that are looked up together: enough for their cache misses to overlap, and their words fit
 * the first-level cache. */
enum { CHECKED_TOGETHER = 256 };

/* Writes the words of at most CHECKED_TOGETHER keys, and where those are that have none. Returns
 * how many these are. */
static size_t words_of_keys(const struct sqlite_bloom_filter *filter,
                            const struct sqlite_bloom_key *keys, size_t count, uint64_t *words,
                            uint8_t unknown[CHECKED_TOGETHER]) {
    const size_t width = filter->shape.layout->hash_words;
    const bool plain = filter->plain_check != NULL;
    size_t unknowns = 0;
    for (size_t i = 0; i < count; i++, words += width) {
        if (plain && keys[i].type == SQLITE_BLOOM_INTEGER) {
            bloom_murmur3_integer(keys[i].value.integer, words);
        } else if (plain && is_of_bytes(&keys[i])) {
            bloom_murmur3_bytes(keys[i].value.bytes, keys[i].length, words);
        } else if (words_of_key(&filter->shape, &keys[i], words) != BLOOM_KEY) {
            memset(words, 0, width * sizeof *words);
            unknown[unknowns++] = (uint8_t)i;
        }
    }
    return unknowns;
}

/* The sum of bytes that are 0 or 1, eight at a time. */
static int64_t sum_of(const uint8_t *found, size_t count) {
    uint64_t sum = 0;
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        sum += bloom_load64(found + i) * UINT64_C(0x0101010101010101) >> 56;
    for (; i < count; i++)
        sum += found[i];
    return (int64_t)sum;
}

/* At most CHECKED_TOGETHER keys, without a key rule. Returns how many are in. */
static int64_t check_stretch(const struct sqlite_bloom_filter *filter,
                             const struct sqlite_bloom_key *keys, size_t count,
                             unsigned char *found) {
    /* A hashing may write more words than decide: the next key's go over them. */
    uint64_t words[(CHECKED_TOGETHER + 1) * BLOOM_HASH_WORDS_MAXIMUM];
    uint8_t unknown[CHECKED_TOGETHER];
    words[0] = 0; /* gcc does not see that count is above 0 */
    const size_t unknowns = words_of_keys(filter, keys, count, words, unknown);
    bloom_check_many(&filter->shape, filter->payload, words, count, found);
    for (size_t i = 0; i < unknowns; i++)
        found[unknown[i]] = 0;
    return sum_of(found, count);
}

int64_t sqlite_bloom_filter_check_many(const struct sqlite_bloom_filter *filter,
                                       const struct sqlite_bloom_key *keys, size_t count,
                                       unsigned char *found) {
    int64_t in = 0;
    if (filter->shape.keying.rule != NULL) {
        for (size_t i = 0; i < count; i++) {
            int answer = check_by_rule(filter, &keys[i]);
            if (answer == SQLITE_BLOOM_NO_MEMORY)
                return answer;
            found[i] = answer == 1;
            in += found[i];
        }
        return in;
    }
    for (size_t at = 0, now; at < count; at += now) {
        now = count - at < CHECKED_TOGETHER ? count - at : CHECKED_TOGETHER;
        in += check_stretch(filter, keys + at, now, found + at);
    }
    return in;
}

void sqlite_bloom_filter_describe(const struct sqlite_bloom_filter *filter,
                                  struct sqlite_bloom_description *description) {
    const struct bloom_shape *shape = &filter->shape;
    *description = (struct sqlite_bloom_description){
        .layout = shape->layout->name,
        .key_rule = shape->keying.rule != NULL ? shape->keying.rule->name : NULL,
        .salted = shape->keying.salted,
        .hashes = shape->probes,
        .bits = shape->bits,
        .n = shape->capacity,
        .p = shape->rate};
}

void sqlite_bloom_filter_estimate(const struct sqlite_bloom_filter *filter,
                                  struct sqlite_bloom_estimate *estimate) {
    const struct bloom_estimate bits =
        filter->shape.layout->estimate(&filter->shape, filter->payload);
    *estimate = (struct sqlite_bloom_estimate){
        .count = bits.count, .rate = bits.rate, .fill = bits.fill, .ones = bits.ones};
}

/* --- Changing --- */

/* Returns OK when the filter is writable and its layout supports an action. */
static int may_change(const struct sqlite_bloom_filter *filter, bool offered, const char *action,
                      char *problem, const char *function) {
    if (!offered)
        return not_offered(filter->shape.layout, action, problem, function);
    if (filter->writable == NULL)
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, function,
                              "the filter is open for reading only. Open it with "
                              "sqlite_bloom_filter_open_writable, or copy it");
    return SQLITE_BLOOM_OK;
}

static uint8_t *writable_payload(const struct sqlite_bloom_filter *filter) {
    return filter->writable + bloom_header_bytes(&filter->shape);
}

static int add_many(struct sqlite_bloom_filter *filter, const struct sqlite_bloom_key *keys,
                    size_t count, size_t *added, char *problem, const char *function) {
    const struct bloom_layout *layout = filter->shape.layout;
    uint64_t words[BLOOM_BUILDER_WORDS + BLOOM_HASH_WORDS_MAXIMUM];
    size_t done = 0;
    int status = may_change(filter, layout->add != NULL, "add keys to", problem, function);
    while (status == SQLITE_BLOOM_OK && done < count) {
        size_t waiting = 0;
        while (status == SQLITE_BLOOM_OK && done + waiting < count &&
               (waiting + 1) * layout->hash_words <= BLOOM_BUILDER_WORDS) {
            status = words_to_add(&filter->shape, &keys[done + waiting], &filter->memory.memory,
                                  words + waiting * layout->hash_words, problem, function);
            waiting += status == SQLITE_BLOOM_OK;
        }
        layout->add(&filter->shape, writable_payload(filter), words, waiting);
        done += waiting;
    }
    if (added != NULL)
        *added = done;
    return status;
}

int sqlite_bloom_filter_add_many(struct sqlite_bloom_filter *filter,
                                 const struct sqlite_bloom_key *keys, size_t count, size_t *added,
                                 char *problem) {
    return add_many(filter, keys, count, added, problem, __func__);
}

int sqlite_bloom_filter_add(struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                            char *problem) {
    return add_many(filter, &key, 1, NULL, problem, __func__);
}

int sqlite_bloom_filter_remove(struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                               char *problem) {
    const struct bloom_layout *layout = filter->shape.layout;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (!layout->repeats)
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, __func__,
                              "cannot remove keys from a filter of layout %s. Make it with layout "
                              "counting",
                              layout->name);
    int status = may_change(filter, true, "", problem, __func__);
    if (status == SQLITE_BLOOM_OK)
        status =
            words_to_add(&filter->shape, &key, &filter->memory.memory, words, problem, __func__);
    if (status == SQLITE_BLOOM_OK)
        bloom_counting_remove(&filter->shape, writable_payload(filter), words);
    return status;
}

static int merge_filters(struct sqlite_bloom_filter **made, enum bloom_merge_kind kind,
                         const struct sqlite_bloom_filter *const *filters, size_t count,
                         const struct sqlite_bloom_memory *allocator, char *problem,
                         const char *function) {
    bloom_problem reason;
    *made = NULL;
    if (count == 0)
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, function,
                              "there is no filter. Pass at least one");
    for (size_t i = 0; i < count; i++)
        if (!bloom_merge_offered(kind, filters[i]->shape.layout))
            return not_offered(filters[i]->shape.layout,
                               kind == BLOOM_UNION ? "unite" : "intersect", problem, function);
    struct sqlite_bloom_filter *filter = filter_begin(allocator);
    if (filter == NULL)
        return interface_no_memory(problem, function);
    struct bloom_merge merge = {.kind = kind, .memory = &filter->memory.memory};
    enum bloom_merged merged = BLOOM_MERGED;
    size_t taken = 0;
    for (; taken < count && merged == BLOOM_MERGED; taken++)
        merged = bloom_merge_take(&merge, &filters[taken]->shape, filters[taken]->bytes, reason);
    if (merged != BLOOM_MERGED) {
        bloom_merge_release(&merge);
        sqlite_bloom_filter_close(filter);
        return merged == BLOOM_MERGE_NO_MEMORY
                   ? interface_no_memory(problem, function)
                   : interface_fail(problem, SQLITE_BLOOM_DIFFERENT, function,
                                    "filter %" PRIu64 " differs from the first filter (first and "
                                    "filter %" PRIu64 ": %s). Make them with the same parameters",
                                    (uint64_t)taken, (uint64_t)taken, reason);
    }
    filter->shape = merge.shape;
    filter_own(filter, merge.filter);
    *made = filter;
    return SQLITE_BLOOM_OK;
}

int sqlite_bloom_filter_union(struct sqlite_bloom_filter **filter,
                              const struct sqlite_bloom_filter *const *filters, size_t count,
                              const struct sqlite_bloom_memory *memory, char *problem) {
    return merge_filters(filter, BLOOM_UNION, filters, count, memory, problem, __func__);
}

int sqlite_bloom_filter_intersect(struct sqlite_bloom_filter **filter,
                                  const struct sqlite_bloom_filter *const *filters, size_t count,
                                  const struct sqlite_bloom_memory *memory, char *problem) {
    return merge_filters(filter, BLOOM_INTERSECTION, filters, count, memory, problem, __func__);
}

/* --- Building --- */

struct sqlite_bloom_builder {
    struct bloom_builder builder;
    struct interface_memory memory;
};

int sqlite_bloom_builder_open(struct sqlite_bloom_builder **builder, double p, const char *options,
                              const struct sqlite_bloom_memory *memory, char *problem) {
    struct bloom_shape shape;
    *builder = NULL;
    int status = read_parameters(&shape, p, options, problem, __func__);
    if (status != SQLITE_BLOOM_OK)
        return status;
    struct sqlite_bloom_builder *made = interface_allocate(sizeof *made, memory);
    if (made == NULL)
        return interface_no_memory(problem, __func__);
    interface_memory_begin(&made->memory, memory);
    const uint64_t place = (uint64_t)(uintptr_t)made, moment = (uint64_t)time(NULL);
    const uint64_t seed[2] = {bloom_mix(place ^ bloom_mix(moment)),
                              bloom_mix(bloom_mix(place) + (uint64_t)clock())};
    bloom_builder_begin(&made->builder, &shape, UINT64_MAX, seed, &made->memory.memory);
    *builder = made;
    return SQLITE_BLOOM_OK;
}

void sqlite_bloom_builder_seed(struct sqlite_bloom_builder *builder, const void *seed) {
    uint64_t words[2];
    memcpy(words, seed, sizeof words);
    bloom_builder_seed(&builder->builder, words);
}

/* Converts the result of building to a status and a message. */
static int status_of_building(enum bloom_built built, const struct bloom_shape *shape,
                              const char *reason, char *problem, const char *function) {
    switch (built) {
    case BLOOM_BUILT:
        return SQLITE_BLOOM_OK;
    case BLOOM_BUILD_REFUSED:
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, function, "%s", reason);
    case BLOOM_BUILD_NO_SEED:
        return interface_fail(problem, SQLITE_BLOOM_CHOSEN_KEYS, function,
                              "cannot make a filter of layout %s, because the keys were chosen "
                              "against it. Give %s salt of 32 random hexadecimal digits, as in "
                              "\"layout=%s, salt=...\"",
                              shape->layout->name, shape->keying.salted ? "another" : "a",
                              shape->layout->name);
    default: /* nothing interrupts it, and its length has no limit */
        return interface_no_memory(problem, function);
    }
}

int sqlite_bloom_builder_add(struct sqlite_bloom_builder *builder, struct sqlite_bloom_key key,
                             char *problem) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    bloom_problem reason;
    struct bloom_builder *building = &builder->builder;
    int status =
        words_to_add(&building->shape, &key, &builder->memory.memory, words, problem, __func__);
    if (status != SQLITE_BLOOM_OK)
        return status;
    return status_of_building(bloom_builder_add(building, words, reason), &building->shape, reason,
                              problem, __func__);
}

int sqlite_bloom_builder_finish(struct sqlite_bloom_builder *builder,
                                struct sqlite_bloom_filter **filter, char *problem) {
    bloom_problem reason;
    struct sqlite_bloom_filter *made = filter_begin(allocator_of(&builder->memory));
    uint8_t *bytes;
    *filter = NULL;
    if (made == NULL)
        return interface_no_memory(problem, __func__);
    enum bloom_built built =
        bloom_builder_finish(&builder->builder, NULL, NULL, &made->shape, &bytes, reason);
    if (built != BLOOM_BUILT) {
        sqlite_bloom_filter_close(made);
        return status_of_building(built, &builder->builder.shape, reason, problem, __func__);
    }
    filter_own(made, bytes);
    *filter = made;
    return SQLITE_BLOOM_OK;
}

void sqlite_bloom_builder_close(struct sqlite_bloom_builder *builder) {
    if (builder == NULL)
        return;
    bloom_builder_release(&builder->builder);
    interface_release(builder, &builder->memory);
}

/* --- Other systems --- */

/* Returns NULL after failing. */
static const struct bloom_exchange *read_format_name(const char *name, char *problem,
                                                     const char *function) {
    bloom_problem names;
    char quoted[BLOOM_QUOTE_SIZE];
    const struct bloom_exchange *format = bloom_exchange_by_name(name, strlen(name));
    if (format == NULL) {
        bloom_exchange_list(names, sizeof names);
        interface_fail(problem, SQLITE_BLOOM_REFUSED, function, "format is %s. Pass one of %s",
                       bloom_quote(quoted, name, strlen(name)), names);
    }
    return format;
}

int sqlite_bloom_filter_import(struct sqlite_bloom_filter **filter, const void *bytes,
                               size_t length, const char *format,
                               const struct sqlite_bloom_memory *memory, char *problem) {
    bloom_problem reason;
    struct bloom_shape shape;
    const uint8_t *from = length > 0 ? bytes : (const uint8_t *)"";
    *filter = NULL;
    const struct bloom_exchange *exchange = read_format_name(format, problem, __func__);
    if (exchange == NULL)
        return SQLITE_BLOOM_REFUSED;
    /* Check this first, because bytes without a header could be anything, including a filter of
     * ours. */
    if (bloom_filter_read(&shape, from, length, reason))
        return interface_fail(
            problem, SQLITE_BLOOM_REFUSED, __func__,
            "the bytes are a filter of this library already. Open them without an "
            "import");
    if (!bloom_exchange_read(exchange, &shape, from, length, reason))
        return interface_fail(problem, SQLITE_BLOOM_NOT_A_FILTER, __func__, "the bytes %s", reason);
    struct sqlite_bloom_filter *made = filter_begin(memory);
    if (made != NULL) {
        uint8_t *own = bloom_allocate(&made->memory.memory, bloom_filter_bytes(&shape));
        made->shape = shape;
        if (own != NULL) {
            bloom_header_write(&shape, own);
            exchange->read_payload(&shape, from, length, own + bloom_header_bytes(&shape));
            filter_own(made, own);
        }
    }
    return filter_made(filter, made, problem, __func__);
}

int sqlite_bloom_filter_export(const struct sqlite_bloom_filter *filter, const char *format,
                               void *bytes, size_t *length, char *problem) {
    bloom_problem reason;
    uint64_t needed;
    const size_t room = *length;
    const struct bloom_exchange *exchange = read_format_name(format, problem, __func__);
    if (exchange == NULL)
        return SQLITE_BLOOM_REFUSED;
    if (!exchange->measure(exchange->form, &filter->shape, &needed, reason))
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, __func__, "the filter %s", reason);
    *length = (size_t)needed;
    if (bytes == NULL)
        return SQLITE_BLOOM_OK;
    if (needed > room)
        return interface_fail(problem, SQLITE_BLOOM_REFUSED, __func__,
                              "there is room for %" PRIu64 " bytes, but %" PRIu64
                              " are needed. Pass a larger buffer",
                              (uint64_t)room, needed);
    exchange->write(&filter->shape, filter->payload, bytes);
    return SQLITE_BLOOM_OK;
}

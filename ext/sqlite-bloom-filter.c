/* The filter library for programs: the functions of sqlite-bloom-filter.h. The folders below do the
 * work. This file adds handles, the allocator of the caller, and messages that begin with the name
 * of the function. */
#include "sqlite-bloom-filter.h"

#include "base/limits.h"
#include "base/text.h"
#include "filter/blocklist.h"
#include "filter/given_text.h"
#include "filter/header.h"
#include "filter/key.h"
#include "filter/layouts/kernels/kernel.h"
#include "filter/merge.h"
#include "filter/options.h"
#include "foreign/exchange.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *sqlite_bloom_filter_version(void) {
    return SQLITE_BLOOM_VERSION;
}

/* Where a function of the interface reports why it failed. */
struct report {
    char *problem; /* the caller's, or NULL */
    const char *function;
};

/* Writes "FUNCTION: " and a formatted sentence, and returns status. */
BLOOM_FORMAT(3, 4)
static int report_fail(const struct report *report, int status, const char *format, ...) {
    if (report->problem != NULL) {
        int used = snprintf(report->problem, SQLITE_BLOOM_PROBLEM_SIZE, "%s: ", report->function);
        va_list list;
        va_start(list, format);
        vsnprintf(report->problem + used, SQLITE_BLOOM_PROBLEM_SIZE - (size_t)used, format, list);
        va_end(list);
    }
    return status;
}

static int report_no_memory(const struct report *report) {
    return report_fail(report, SQLITE_BLOOM_NO_MEMORY, "out of memory");
}

/* Fails because a layout does not support an action. */
static int report_not_offered(const struct report *report, const struct bloom_layout *layout,
                              const char *action, const char *advice) {
    return report_fail(report, SQLITE_BLOOM_REFUSED, "cannot %s filter of layout %s. %s", action,
                       layout->name, advice);
}

static struct bloom_memory memory_of(const struct sqlite_bloom_memory *allocator) {
    return allocator == NULL ? bloom_c_memory
                             : (struct bloom_memory){allocator->allocate, allocator->release,
                                                     allocator->resize, allocator->context};
}

/* --- Handles --- */

struct sqlite_bloom_filter {
    struct bloom_memory memory;
    struct bloom_shape shape;
    const uint8_t *bytes; /* with the header */
    const uint8_t *payload;
    uint8_t *writable; /* bytes; NULL: for reading only */
    bool owns;         /* the bytes; otherwise they are the caller's */
    /* The kernel of a filter of layout blocked without a key rule and a salt, as most filters are;
     * or NULL. */
    const struct bloom_kernel *plain;
};

static void filter_begin(struct sqlite_bloom_filter *filter, const struct bloom_memory *memory,
                         const struct bloom_shape *shape, const uint8_t *bytes, uint8_t *writable,
                         bool owns) {
    *filter = (struct sqlite_bloom_filter){.memory = *memory,
                                           .shape = *shape,
                                           .bytes = bytes,
                                           .payload = bytes + bloom_header_bytes(shape),
                                           .writable = writable,
                                           .owns = owns};
    if (shape->layout == &bloom_layout_blocked && shape->keying.rule == NULL &&
        bloom_is_murmur3(shape))
        filter->plain = bloom_blocked_kernel();
}

/* Makes a filter that owns its bytes. NULL: there was no memory for them. */
static int filter_own(struct sqlite_bloom_filter **made, const struct bloom_memory *memory,
                      const struct bloom_shape *shape, uint8_t *bytes,
                      const struct report *report) {
    *made = bytes != NULL ? bloom_allocate(memory, sizeof **made) : NULL;
    if (*made == NULL) {
        bloom_release(memory, bytes);
        return report_no_memory(report);
    }
    filter_begin(*made, memory, shape, bytes, bytes, true);
    return SQLITE_BLOOM_OK;
}

void sqlite_bloom_filter_close(struct sqlite_bloom_filter *filter) {
    if (filter == NULL)
        return;
    const struct bloom_memory memory = filter->memory;
    if (filter->owns)
        bloom_release(&memory, filter->writable);
    bloom_release(&memory, filter);
}

static int filter_open(struct sqlite_bloom_filter **made, const void *bytes, uint8_t *writable,
                       size_t length, const struct sqlite_bloom_memory *allocator,
                       const struct report *report) {
    const struct bloom_memory memory = memory_of(allocator);
    bloom_problem reason;
    struct bloom_shape shape;
    *made = NULL;
    if (!bloom_filter_read(&shape, bytes, length, reason))
        return report_fail(report, SQLITE_BLOOM_NOT_A_FILTER, "the data %s", reason);
    *made = bloom_allocate(&memory, sizeof **made);
    if (*made == NULL)
        return report_no_memory(report);
    filter_begin(*made, &memory, &shape, bytes, writable, false);
    return SQLITE_BLOOM_OK;
}

int sqlite_bloom_filter_open(struct sqlite_bloom_filter **filter, const void *bytes, size_t length,
                             const struct sqlite_bloom_memory *memory, char *problem) {
    return filter_open(filter, bytes, NULL, length, memory, &(struct report){problem, __func__});
}

int sqlite_bloom_filter_open_writable(struct sqlite_bloom_filter **filter, void *bytes,
                                      size_t length, const struct sqlite_bloom_memory *memory,
                                      char *problem) {
    return filter_open(filter, bytes, bytes, length, memory, &(struct report){problem, __func__});
}

/* Reads p and options into rate, layout and keying of a shape. If p is 0 although the layout is not
 * exact, it is `otherwise`. */
static int read_parameters(struct bloom_shape *shape, double p, double otherwise,
                           const char *options, const struct report *report) {
    bloom_problem reason;
    char number[BLOOM_NUMBER_SIZE];
    const struct bloom_text text = {options, options != NULL ? strlen(options) : 0};
    *shape = (struct bloom_shape){.layout = bloom_layout_default()};
    if (options != NULL && bloom_options_or_layout(text, shape, reason) != BLOOM_OPTION_READ)
        return report_fail(report, SQLITE_BLOOM_REFUSED, "%s", reason);
    if (p == 0 && !shape->layout->exact)
        p = otherwise;
    shape->rate = p;
    bloom_number_text(number, p, 6);
    if (shape->layout->exact && p != 0)
        return report_fail(report, SQLITE_BLOOM_REFUSED,
                           "p is %s. Pass 0, because layout %s is exact", number,
                           shape->layout->name);
    if (!shape->layout->exact && !(p > 0 && p < 1))
        return report_fail(report, SQLITE_BLOOM_REFUSED,
                           "p is %s. Pass a number between 0 and 1, for example 0.01 for 1 %%",
                           number);
    return SQLITE_BLOOM_OK;
}

int sqlite_bloom_filter_new(struct sqlite_bloom_filter **filter, uint64_t n, double p,
                            const char *options, const struct sqlite_bloom_memory *memory,
                            char *problem) {
    const struct report report = {problem, __func__};
    const struct bloom_memory own = memory_of(memory);
    bloom_problem reason;
    struct bloom_shape shape;
    *filter = NULL;
    int status = read_parameters(&shape, p, 0, options, &report);
    if (status != SQLITE_BLOOM_OK)
        return status;
    if (shape.layout->add == NULL)
        return report_not_offered(&report, shape.layout, "make an empty", shape.layout->advice);
    if (!bloom_shape_size(&shape, n, reason))
        return report_fail(&report, SQLITE_BLOOM_REFUSED, "%s", reason);
    return filter_own(filter, &own, &shape, bloom_filter_new(&shape, &own), &report);
}

int sqlite_bloom_filter_copy(struct sqlite_bloom_filter **filter,
                             const struct sqlite_bloom_filter *from,
                             const struct sqlite_bloom_memory *memory, char *problem) {
    const struct bloom_memory own = memory_of(memory);
    uint64_t length = bloom_filter_bytes(&from->shape);
    uint8_t *bytes = bloom_allocate(&own, length);
    if (bytes != NULL)
        memcpy(bytes, from->bytes, (size_t)length);
    return filter_own(filter, &own, &from->shape, bytes, &(struct report){problem, __func__});
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

/* Returns true for bytes that begin as a filter does. The fast ways leave those to others, so that
 * they need not call anything to find out. Most keys are short, so the length comes first. */
static inline bool may_be_filter(enum sqlite_bloom_key_type type, const void *bytes,
                                 size_t length) {
    return length >= BLOOM_HEADER_BYTES && type == SQLITE_BLOOM_BYTES &&
           bloom_load32(bytes) == BLOOM_MAGIC;
}

/* Returns true for bytes that are a filter, which is no key. */
static inline bool is_filter_key(const struct sqlite_bloom_key *key) {
    return key->type == SQLITE_BLOOM_BYTES && bloom_is_filter(key->value.bytes, key->length);
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

/* Writes a number as text, because a key rule works on text. Returns false when it has no key. */
static bool make_text(struct sqlite_bloom_key *key, char digits[BLOOM_NUMBER_SIZE]) {
    if (key->type == SQLITE_BLOOM_INTEGER)
        snprintf(digits, BLOOM_NUMBER_SIZE, "%" PRId64, key->value.integer);
    else if (key->type == SQLITE_BLOOM_REAL && key->value.real == key->value.real)
        bloom_number_sql_text(digits, key->value.real);
    else
        return is_of_bytes(key);
    *key = sqlite_bloom_text_key(digits, strlen(digits));
    return true;
}

/* Writes a key for a message. */
static void describe_key(char words[BLOOM_QUOTE_SIZE], const struct sqlite_bloom_key *key) {
    if (key->type == SQLITE_BLOOM_TEXT)
        bloom_quote(words, key_bytes(key), key->length);
    else if (key->type == SQLITE_BLOOM_BYTES)
        snprintf(words, BLOOM_QUOTE_SIZE, "%" PRIu64 " bytes", (uint64_t)key->length);
    else if (key->type == SQLITE_BLOOM_INTEGER)
        snprintf(words, BLOOM_QUOTE_SIZE, "%" PRId64, key->value.integer);
    else if (key->type == SQLITE_BLOOM_REAL)
        bloom_number_text(words, key->value.real, 15);
    else
        snprintf(words, BLOOM_QUOTE_SIZE, "of type %d", (int)key->type);
}

/* As words_to_add, for every filter and key. */
static int words_of_any(const struct bloom_shape *shape, const struct sqlite_bloom_key *key,
                        const struct bloom_memory *memory, uint64_t words[BLOOM_HASH_WORDS_MAXIMUM],
                        const struct report *report) {
    bloom_problem reason;
    char found[BLOOM_QUOTE_SIZE], digits[BLOOM_NUMBER_SIZE];
    struct sqlite_bloom_key text = *key;
    enum bloom_key_kind kind = BLOOM_KEY_FOREIGN;
    if (shape->keying.rule == NULL)
        kind = words_of_key(shape, key, words);
    else if (is_filter_key(key))
        kind = BLOOM_KEY_FILTER;
    else if (make_text(&text, digits))
        kind = bloom_ruled_key(shape, key_bytes(&text), text.length, memory, words);
    if (kind == BLOOM_KEY_NO_MEMORY)
        return report_no_memory(report);
    if (kind == BLOOM_KEY_FILTER)
        return report_fail(report, SQLITE_BLOOM_REFUSED,
                           "the key is a filter. Merge filters with sqlite_bloom_filter_union");
    if (kind == BLOOM_KEY)
        return bloom_shape_has_room(shape, words, reason)
                   ? SQLITE_BLOOM_OK
                   : report_fail(report, SQLITE_BLOOM_REFUSED, "the key %s", reason);
    describe_key(found, key);
    if (shape->keying.rule != NULL)
        return report_fail(report, SQLITE_BLOOM_NO_KEY, "the key, %s, is not %s. Leave it out",
                           found, shape->keying.rule->wants);
    return report_fail(
        report, SQLITE_BLOOM_NO_KEY,
        "the key is %s, but the keys of layout %s are %s. Convert it, or leave it out", found,
        shape->layout->name, shape->layout->hashing->keys);
}

/* Returns true for keys that most filters have: without a key rule, hashed by MurmurHash3. */
static inline bool is_plain(const struct bloom_shape *shape) {
    return shape->keying.rule == NULL && bloom_is_murmur3(shape);
}

/* The words of a key that is added to a filter of that shape; one without bits has room for all.
 * Inline for plain keys, because calls would be a tenth of the work. */
BLOOM_INLINE int words_to_add(const struct bloom_shape *shape, const struct sqlite_bloom_key *key,
                              const struct bloom_memory *memory,
                              uint64_t words[BLOOM_HASH_WORDS_MAXIMUM], const struct report *report,
                              bool plain) {
    if (plain && is_of_bytes(key) && !may_be_filter(key->type, key->value.bytes, key->length))
        bloom_murmur3_bytes(key_bytes(key), key->length, words);
    else if (plain && key->type == SQLITE_BLOOM_INTEGER)
        bloom_murmur3_integer(key->value.integer, words);
    else
        return words_of_any(shape, key, memory, words, report);
    return SQLITE_BLOOM_OK;
}

/* --- Checking --- */

/* Checks all keys that may cover a key, by the key rule. */
static int check_by_rule(const struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key) {
    uint64_t words[BLOOM_ASKED_WORDS];
    uint8_t found[BLOOM_RULE_KEYS_MAXIMUM];
    char digits[BLOOM_NUMBER_SIZE];
    unsigned count;
    if (is_filter_key(&key))
        return SQLITE_BLOOM_REFUSED;
    if (!make_text(&key, digits))
        return SQLITE_BLOOM_NO_KEY;
    enum bloom_key_kind kind = bloom_ruled_keys(&filter->shape, key_bytes(&key), key.length,
                                                &filter->memory, words, &count);
    if (kind != BLOOM_KEY)
        return kind == BLOOM_KEY_NO_MEMORY ? SQLITE_BLOOM_NO_MEMORY : SQLITE_BLOOM_NO_KEY;
    bloom_check_many(&filter->shape, filter->payload, words, count, found);
    return memchr(found, 1, count) != NULL;
}

static int check_any(const struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (filter->shape.keying.rule != NULL)
        return check_by_rule(filter, key);
    enum bloom_key_kind kind = words_of_key(&filter->shape, &key, words);
    if (kind == BLOOM_KEY)
        return filter->shape.layout->check(&filter->shape, filter->payload, words);
    return kind == BLOOM_KEY_FOREIGN  ? 0
           : kind == BLOOM_KEY_FILTER ? SQLITE_BLOOM_REFUSED
                                      : SQLITE_BLOOM_NO_KEY;
}

BLOOM_INLINE int check_of_bytes(const struct sqlite_bloom_filter *filter,
                                enum sqlite_bloom_key_type type, const void *bytes, size_t length) {
    if (filter->plain == NULL || may_be_filter(type, bytes, length))
        return check_any(filter, (struct sqlite_bloom_key){type, {bytes}, length});
    return filter->plain->check_bytes(&filter->shape, filter->payload, bytes, length);
}

int sqlite_bloom_filter_check_text(const struct sqlite_bloom_filter *filter, const char *text,
                                   size_t length) {
    return check_of_bytes(filter, SQLITE_BLOOM_TEXT, text, length);
}

int sqlite_bloom_filter_check_bytes(const struct sqlite_bloom_filter *filter, const void *bytes,
                                    size_t length) {
    return check_of_bytes(filter, SQLITE_BLOOM_BYTES, bytes, length);
}

int sqlite_bloom_filter_check_integer(const struct sqlite_bloom_filter *filter, int64_t integer) {
    if (filter->plain == NULL)
        return check_any(filter, sqlite_bloom_integer_key(integer));
    return filter->plain->check_integer(&filter->shape, filter->payload, integer);
}

int sqlite_bloom_filter_check_real(const struct sqlite_bloom_filter *filter, double real) {
    return check_any(filter, sqlite_bloom_real_key(real));
}

/* Keys that are looked up together: enough for their cache misses to overlap, and their words fit
 * the first-level cache. The number of a key is a byte. */
enum { CHECKED_TOGETHER = 256 };

enum { NOT_A_KEY = 2 }; /* the answer where a single check returns NO_KEY */

/* At most CHECKED_TOGETHER keys, without a key rule. Returns how many are in, or REFUSED. */
static int64_t check_stretch(const struct sqlite_bloom_filter *filter,
                             const struct sqlite_bloom_key *keys, size_t count,
                             unsigned char *found) {
    /* A hashing may write more words than decide: the next key's go over them. */
    uint64_t words[CHECKED_TOGETHER * BLOOM_HASH_WORDS_MAXIMUM];
    uint8_t unknown[CHECKED_TOGETHER]; /* keys that have no words */
    uint8_t answer[CHECKED_TOGETHER];  /* to each of these */
    const size_t width = filter->shape.layout->hash_words;
    const bool plain = filter->plain != NULL;
    uint64_t *to = words;
    size_t unknowns = 0;
    int64_t in = 0;
    enum bloom_key_kind kind;
    words[0] = 0; /* gcc does not see that there is a key */
    for (size_t i = 0; i < count; i++, to += width) {
        if (plain && keys[i].type == SQLITE_BLOOM_INTEGER) {
            bloom_murmur3_integer(keys[i].value.integer, to);
        } else if (plain && is_of_bytes(&keys[i]) &&
                   !may_be_filter(keys[i].type, keys[i].value.bytes, keys[i].length)) {
            bloom_murmur3_bytes(keys[i].value.bytes, keys[i].length, to);
        } else if ((kind = words_of_key(&filter->shape, &keys[i], to)) != BLOOM_KEY) {
            if (kind == BLOOM_KEY_FILTER)
                return SQLITE_BLOOM_REFUSED;
            memset(to, 0, width * sizeof *to);
            answer[unknowns] = kind == BLOOM_KEY_FOREIGN ? 0 : NOT_A_KEY;
            unknown[unknowns++] = (uint8_t)i;
        }
    }
    bloom_check_many(&filter->shape, filter->payload, words, count, found);
    for (size_t i = 0; i < unknowns; i++)
        found[unknown[i]] = 0;
    for (size_t i = 0; i < count; i++)
        in += found[i];
    for (size_t i = 0; i < unknowns; i++)
        found[unknown[i]] = answer[i];
    return in;
}

int64_t sqlite_bloom_filter_check_many(const struct sqlite_bloom_filter *filter,
                                       const struct sqlite_bloom_key *keys, size_t count,
                                       unsigned char *found) {
    int64_t in = 0;
    if (filter->shape.keying.rule != NULL) {
        for (size_t i = 0; i < count; i++) {
            int answer = check_by_rule(filter, keys[i]);
            if (answer == SQLITE_BLOOM_NO_MEMORY || answer == SQLITE_BLOOM_REFUSED)
                return answer;
            found[i] = answer == SQLITE_BLOOM_NO_KEY ? NOT_A_KEY : (unsigned char)answer;
            in += answer == 1;
        }
        return in;
    }
    for (size_t at = 0, now; at < count; at += now) {
        now = count - at < CHECKED_TOGETHER ? count - at : CHECKED_TOGETHER;
        const int64_t more = check_stretch(filter, keys + at, now, found + at);
        if (more < 0)
            return more;
        in += more;
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
        .capacity = shape->capacity,
        .fpr = shape->rate};
}

void sqlite_bloom_filter_estimate(const struct sqlite_bloom_filter *filter,
                                  struct sqlite_bloom_estimate *estimate) {
    const struct bloom_estimate bits =
        filter->shape.layout->estimate(&filter->shape, filter->payload);
    *estimate = (struct sqlite_bloom_estimate){
        .count = bits.count, .fpr_now = bits.rate, .fill = bits.fill, .ones = bits.ones};
}

/* --- Changing --- */

/* Returns OK when the layout supports an action and the filter is writable. */
static int may_change(const struct sqlite_bloom_filter *filter, bool offered, const char *action,
                      const char *advice, const struct report *report) {
    if (!offered)
        return report_not_offered(report, filter->shape.layout, action, advice);
    if (filter->writable == NULL)
        return report_fail(report, SQLITE_BLOOM_REFUSED,
                           "the filter is open for reading only. Open it with "
                           "sqlite_bloom_filter_open_writable, or copy it");
    return SQLITE_BLOOM_OK;
}

static uint8_t *writable_payload(const struct sqlite_bloom_filter *filter) {
    return filter->writable + bloom_header_bytes(&filter->shape);
}

static int add_many(struct sqlite_bloom_filter *filter, const struct sqlite_bloom_key *keys,
                    size_t count, size_t *added, const struct report *report) {
    const struct bloom_layout *layout = filter->shape.layout;
    uint64_t words[BLOOM_MOST(builder_words) + BLOOM_HASH_WORDS_MAXIMUM];
    const bool plain = is_plain(&filter->shape);
    size_t done = 0;
    int status = may_change(filter, layout->add != NULL, "add keys to a", layout->advice, report);
    while (status == SQLITE_BLOOM_OK && done < count) {
        size_t waiting = 0;
        while (status == SQLITE_BLOOM_OK && done + waiting < count &&
               (waiting + 1) * layout->hash_words <= bloom_limits.builder_words) {
            status = words_to_add(&filter->shape, &keys[done + waiting], &filter->memory,
                                  words + waiting * layout->hash_words, report, plain);
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
    return add_many(filter, keys, count, added, &(struct report){problem, __func__});
}

static int add_any(struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key, char *problem) {
    return add_many(filter, &key, 1, NULL, &(struct report){problem, "sqlite_bloom_filter_add"});
}

/* The hash is inline in each, as in the checks. */
BLOOM_INLINE int add_bytes(struct sqlite_bloom_filter *filter, enum sqlite_bloom_key_type type,
                           const void *bytes, size_t length, char *problem) {
    uint64_t words[2];
    if (filter->plain == NULL || filter->writable == NULL ||
        (type == SQLITE_BLOOM_BYTES && bloom_is_filter(bytes, length)))
        return add_any(filter, (struct sqlite_bloom_key){type, {bytes}, length}, problem);
    bloom_murmur3_bytes(bytes, length, words);
    filter->plain->add_one(&filter->shape, writable_payload(filter), words[0]);
    return SQLITE_BLOOM_OK;
}

int sqlite_bloom_filter_add_text(struct sqlite_bloom_filter *filter, const char *text,
                                 size_t length, char *problem) {
    return add_bytes(filter, SQLITE_BLOOM_TEXT, text, length, problem);
}

int sqlite_bloom_filter_add_bytes(struct sqlite_bloom_filter *filter, const void *bytes,
                                  size_t length, char *problem) {
    return add_bytes(filter, SQLITE_BLOOM_BYTES, bytes, length, problem);
}

int sqlite_bloom_filter_add_integer(struct sqlite_bloom_filter *filter, int64_t integer,
                                    char *problem) {
    uint64_t words[2];
    if (filter->plain == NULL || filter->writable == NULL)
        return add_any(filter, sqlite_bloom_integer_key(integer), problem);
    bloom_murmur3_integer(integer, words);
    filter->plain->add_one(&filter->shape, writable_payload(filter), words[0]);
    return SQLITE_BLOOM_OK;
}

int sqlite_bloom_filter_add_real(struct sqlite_bloom_filter *filter, double real, char *problem) {
    return add_any(filter, sqlite_bloom_real_key(real), problem);
}

int sqlite_bloom_filter_remove(struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                               char *problem) {
    const struct report report = {problem, __func__};
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    int status = may_change(filter, filter->shape.layout->repeats, "remove keys from a",
                            "Make it with layout counting", &report);
    if (status == SQLITE_BLOOM_OK)
        status = words_of_any(&filter->shape, &key, &filter->memory, words, &report);
    if (status == SQLITE_BLOOM_OK)
        bloom_counting_remove(&filter->shape, writable_payload(filter), words);
    return status;
}

int sqlite_bloom_filter_count(const struct sqlite_bloom_filter *filter, struct sqlite_bloom_key key,
                              char *problem) {
    const struct report report = {problem, __func__};
    const struct bloom_layout *layout = filter->shape.layout;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (!layout->repeats)
        return report_not_offered(&report, layout, "count keys in a",
                                  "Make it with layout counting");
    int status = words_of_any(&filter->shape, &key, &filter->memory, words, &report);
    return status == SQLITE_BLOOM_OK
               ? (int)bloom_counting_times(&filter->shape, filter->payload, words)
               : status;
}

static int merge_filters(struct sqlite_bloom_filter **made, enum bloom_merge_kind kind,
                         const struct sqlite_bloom_filter *const *filters, size_t count,
                         const struct sqlite_bloom_memory *allocator, const struct report *report) {
    const struct bloom_memory memory = memory_of(allocator);
    struct bloom_merge merge = {.kind = kind, .memory = &memory};
    enum bloom_built merged = BLOOM_BUILT;
    bloom_problem reason;
    *made = NULL;
    if (count == 0)
        return report_fail(report, SQLITE_BLOOM_REFUSED, "there is no filter. Pass at least one");
    for (size_t i = 0; i < count; i++)
        if (!bloom_merge_function(kind, filters[i]->shape.layout))
            return report_not_offered(report, filters[i]->shape.layout,
                                      kind == BLOOM_UNION ? "unite a" : "intersect a",
                                      filters[i]->shape.layout->advice);
    const struct bloom_shape *shape = &filters[0]->shape;
    if (count == 2 && bloom_shape_same(shape, &filters[1]->shape, reason)) { /* without a copy */
        const size_t length = (size_t)bloom_filter_bytes(shape), header = bloom_header_bytes(shape);
        uint8_t *bytes = bloom_allocate(&memory, length);
        if (bytes != NULL) {
            memcpy(bytes, filters[0]->bytes, header);
            bloom_merge_function(kind, shape->layout)(bytes + header, filters[0]->payload,
                                                      filters[1]->payload, length - header);
        }
        return filter_own(made, &memory, shape, bytes, report);
    }
    size_t taken = 0;
    for (; taken < count && merged == BLOOM_BUILT; taken++)
        merged = bloom_merge_take(&merge, &filters[taken]->shape, filters[taken]->bytes, reason);
    if (merged == BLOOM_BUILT)
        return filter_own(made, &memory, &merge.shape, merge.filter, report);
    bloom_merge_release(&merge);
    return merged == BLOOM_BUILD_NO_MEMORY
               ? report_no_memory(report)
               : report_fail(report, SQLITE_BLOOM_DIFFERENT,
                             "filter %" PRIu64 " differs from the first filter (first and "
                             "filter %" PRIu64 ": %s). Make them with the same parameters",
                             (uint64_t)taken, (uint64_t)taken, reason);
}

int sqlite_bloom_filter_union(struct sqlite_bloom_filter **filter,
                              const struct sqlite_bloom_filter *const *filters, size_t count,
                              const struct sqlite_bloom_memory *memory, char *problem) {
    return merge_filters(filter, BLOOM_UNION, filters, count, memory,
                         &(struct report){problem, __func__});
}

int sqlite_bloom_filter_intersect(struct sqlite_bloom_filter **filter,
                                  const struct sqlite_bloom_filter *const *filters, size_t count,
                                  const struct sqlite_bloom_memory *memory, char *problem) {
    return merge_filters(filter, BLOOM_INTERSECTION, filters, count, memory,
                         &(struct report){problem, __func__});
}

/* --- Building --- */

struct sqlite_bloom_builder {
    struct bloom_builder builder;
    struct bloom_memory memory;
};

/* Chooses a seed for a key set, from an address and the clock. */
static void choose_seed(const void *address, uint64_t seed[2]) {
    const uint64_t place = (uint64_t)(uintptr_t)address, moment = (uint64_t)time(NULL);
    seed[0] = bloom_mix(place ^ bloom_mix(moment));
    seed[1] = bloom_mix(bloom_mix(place) + (uint64_t)clock());
}

int sqlite_bloom_builder_open(struct sqlite_bloom_builder **builder, double p, const char *options,
                              const struct sqlite_bloom_memory *memory, char *problem) {
    const struct report report = {problem, __func__};
    const struct bloom_memory own = memory_of(memory);
    struct bloom_shape shape;
    *builder = NULL;
    int status = read_parameters(&shape, p, 0, options, &report);
    if (status != SQLITE_BLOOM_OK)
        return status;
    struct sqlite_bloom_builder *made = bloom_allocate(&own, sizeof *made);
    if (made == NULL)
        return report_no_memory(&report);
    made->memory = own;
    uint64_t seed[2];
    choose_seed(made, seed);
    bloom_builder_begin(&made->builder, &shape, UINT64_MAX, seed, &made->memory);
    *builder = made;
    return SQLITE_BLOOM_OK;
}

void sqlite_bloom_builder_seed(struct sqlite_bloom_builder *builder, const void *seed) {
    memcpy(builder->builder.keys.seed, seed, sizeof builder->builder.keys.seed);
}

/* Converts the result of building to a status and a message. */
static int status_of_building(enum bloom_built built, const char *reason,
                              const struct report *report) {
    switch (built) {
    case BLOOM_BUILT:
        return SQLITE_BLOOM_OK;
    case BLOOM_BUILD_REFUSED:
        return report_fail(report, SQLITE_BLOOM_REFUSED, "%s", reason);
    case BLOOM_BUILD_NO_SEED:
        return report_fail(report, SQLITE_BLOOM_CHOSEN_KEYS, "%s", reason);
    default: /* nothing interrupts it, and its length has no limit */
        return report_no_memory(report);
    }
}

int sqlite_bloom_builder_add(struct sqlite_bloom_builder *builder, struct sqlite_bloom_key key,
                             char *problem) {
    const struct report report = {problem, __func__};
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    bloom_problem reason;
    struct bloom_builder *building = &builder->builder;
    int status = words_to_add(&building->shape, &key, &builder->memory, words, &report,
                              is_plain(&building->shape));
    if (status != SQLITE_BLOOM_OK)
        return status;
    return status_of_building(bloom_builder_add(building, words, reason), reason, &report);
}

int sqlite_bloom_builder_finish(struct sqlite_bloom_builder *builder,
                                struct sqlite_bloom_filter **filter, char *problem) {
    const struct report report = {problem, __func__};
    bloom_problem reason;
    struct bloom_shape shape;
    uint8_t *bytes;
    *filter = NULL;
    if (!builder->builder.has_key)
        return report_fail(&report, SQLITE_BLOOM_REFUSED,
                           "no key was added. Add one, or make an empty filter with "
                           "sqlite_bloom_filter_new");
    /* Allocated first, because a builder that fails must keep its keys. */
    struct sqlite_bloom_filter *made = bloom_allocate(&builder->memory, sizeof *made);
    if (made == NULL)
        return report_no_memory(&report);
    enum bloom_built built =
        bloom_builder_finish(&builder->builder, NULL, NULL, &shape, &bytes, reason);
    if (built != BLOOM_BUILT) {
        bloom_release(&builder->memory, made);
        return status_of_building(built, reason, &report);
    }
    filter_begin(made, &builder->memory, &shape, bytes, bytes, true);
    *filter = made;
    return SQLITE_BLOOM_OK;
}

void sqlite_bloom_builder_close(struct sqlite_bloom_builder *builder) {
    if (builder == NULL)
        return;
    const struct bloom_memory memory = builder->memory;
    bloom_builder_release(&builder->builder);
    bloom_release(&memory, builder);
}

int sqlite_bloom_filter_from_list(struct sqlite_bloom_filter **filter, const void *text,
                                  size_t length, double p, const char *options,
                                  const struct sqlite_bloom_memory *memory, char *problem) {
    const struct report report = {problem, __func__};
    const struct bloom_memory own = memory_of(memory);
    const uint8_t *bytes = length > 0 ? text : (const uint8_t *)"";
    struct bloom_blocklist blocklist;
    bloom_problem reason;
    struct bloom_shape shape;
    uint8_t *made = NULL;
    uint64_t seed[2];
    *filter = NULL;
    int status = read_parameters(&shape, p, BLOOM_BLOCKLIST_RATE, options, &report);
    if (status != SQLITE_BLOOM_OK)
        return status;
    if (!bloom_given_text(bytes, length, true, false, reason))
        return report_fail(&report, SQLITE_BLOOM_REFUSED, "%s", reason);
    choose_seed(filter, seed);
    enum bloom_built built =
        bloom_blocklist_begin(&blocklist, &shape, UINT64_MAX, seed, &own, reason);
    if (built != BLOOM_BUILT)
        return status_of_building(built, reason, &report);
    built = bloom_blocklist_add(&blocklist, bytes, length, NULL, NULL, reason);
    if (built == BLOOM_BUILT)
        built = bloom_blocklist_finish(&blocklist, NULL, NULL, &shape, &made, reason);
    bloom_blocklist_release(&blocklist);
    status = status_of_building(built, reason, &report);
    return status != SQLITE_BLOOM_OK ? status : filter_own(filter, &own, &shape, made, &report);
}

/* --- Other systems --- */

/* Returns NULL after failing. */
static const struct bloom_exchange *read_format_name(const char *name,
                                                     const struct report *report) {
    bloom_problem names;
    char quoted[BLOOM_QUOTE_SIZE];
    const struct bloom_exchange *format = bloom_exchange_by_name(name, strlen(name));
    if (format == NULL) {
        bloom_exchange_list(names, sizeof names);
        report_fail(report, SQLITE_BLOOM_REFUSED, "format is %s. Pass one of %s",
                    bloom_quote(quoted, name, strlen(name)), names);
    }
    return format;
}

int sqlite_bloom_filter_import(struct sqlite_bloom_filter **filter, const void *bytes,
                               size_t length, const char *format,
                               const struct sqlite_bloom_memory *memory, char *problem) {
    const struct report report = {problem, __func__};
    const struct bloom_memory own = memory_of(memory);
    bloom_problem reason;
    struct bloom_shape shape;
    struct bloom_foreign foreign;
    const uint8_t *from = length > 0 ? bytes : (const uint8_t *)"";
    *filter = NULL;
    const struct bloom_exchange *exchange = read_format_name(format, &report);
    if (exchange == NULL)
        return SQLITE_BLOOM_REFUSED;
    /* Check this first, because bytes without a header could be anything, including a filter of
     * ours. */
    if (bloom_filter_read(&shape, from, length, reason))
        return report_fail(
            &report, SQLITE_BLOOM_REFUSED,
            "the bytes are a filter of this library already. Open them without an import");
    if (!bloom_exchange_read(exchange, from, length, &foreign, reason))
        return report_fail(&report, SQLITE_BLOOM_NOT_A_FILTER, "the bytes %s", reason);
    uint8_t *made = bloom_allocate(&own, bloom_filter_bytes(&foreign.shape));
    if (made != NULL)
        bloom_exchange_import(&foreign, made);
    return filter_own(filter, &own, &foreign.shape, made, &report);
}

int sqlite_bloom_filter_export(const struct sqlite_bloom_filter *filter, const char *format,
                               void *bytes, size_t *length, char *problem) {
    const struct report report = {problem, __func__};
    bloom_problem reason;
    uint64_t needed = 0;
    const size_t room = *length;
    const struct bloom_exchange *exchange = read_format_name(format, &report);
    if (exchange == NULL)
        return SQLITE_BLOOM_REFUSED;
    if (!bloom_exchange_measure(exchange, &filter->shape, &needed, reason))
        return report_fail(&report, SQLITE_BLOOM_REFUSED, "the filter %s", reason);
    *length = (size_t)needed;
    if (bytes == NULL)
        return SQLITE_BLOOM_OK;
    if (needed > room)
        return report_fail(&report, SQLITE_BLOOM_REFUSED,
                           "there is room for %" PRIu64 " bytes, but %" PRIu64
                           " are needed. Pass a larger buffer",
                           (uint64_t)room, needed);
    bloom_exchange_export(exchange, &filter->shape, filter->payload, bytes);
    return SQLITE_BLOOM_OK;
}

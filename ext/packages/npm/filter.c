/* The addon filter.node: filters in memory for JavaScript, on the filter library. The class Filter
 * of filter.cjs derives from the class here, and checks options before it calls it.
 *
 * The memory of a filter is in ArrayBuffers, which filter.cjs keeps in private fields. So the
 * collector knows how large a filter is, and frees it without help. A finalizer of Node-API would
 * run only when the program waits, and a loop that makes a million filters never waits. One of the
 * buffers has C's structure, and is the first argument of each method, which trusts it: filter.cjs
 * alone may call them. C finds it at once, while what napi_wrap ties to an object takes longer to
 * find than to add a key.
 *
 * Keys are copied to the stack before they are used, because reading the next one may run functions
 * of the user, for example a getter, which may use the same filter. */
#include <node_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite-bloom-filter.h"

/* Keys that are read before the filter is used, and room for their text, or for that of one key. */
enum { BATCH_KEYS = 256, BATCH_TEXT = 16384, KEY_TEXT = 2048 };

/* What a filter is made of. filter.cjs has the same numbers. */
enum making { OF_CAPACITY, OF_BYTES, OF_KEYS, OF_LIST, OF_UNION, OF_INTERSECTION };

/* What each environment has, because each worker of a program loads the addon. */
struct addon {
    napi_env env;
    napi_ref explain;    /* explain(method, value, number) throws if the value is not a key */
    napi_value allocate; /* allocate(bytes) makes an ArrayBuffer; NULL: malloc does */
    struct sqlite_bloom_memory memory;
};

/* A call of a method, the first argument of which is the filter. */
struct call {
    napi_env env;
    const char *name; /* of the method, for messages */
    struct sqlite_bloom_filter *filter;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE]; /* at first OUT_OF_MEMORY */
};
#define OUT_OF_MEMORY ": out of memory"
#define IS_A_FILTER ": the key is a filter. Merge filters with union"

/* Throws what a function of the library reports, unless an exception is pending. Returns NULL. */
static napi_value fail(const struct call *call) {
    char words[SQLITE_BLOOM_PROBLEM_SIZE + 64];
    const char *problem = strstr(call->problem, ": ") + 2; /* after the function of the library */
    const bool is_rate = strncmp(problem, "p is ", 5) == 0;
    bool is_pending = false;
    snprintf(words, sizeof words, "sqlite-bloom: %s(): %s%s", call->name, is_rate ? "fpr" : "",
             problem + is_rate);
    for (char *at; (at = strstr(words, "sqlite_bloom_filter_")) != NULL;)
        memmove(at, at + 20, strlen(at + 20) + 1);
    if (napi_is_exception_pending(call->env, &is_pending) == napi_ok && !is_pending)
        napi_throw_error(call->env, NULL, words);
    return NULL;
}

/* Reads how a method was called, with `count` arguments. Returns false after throwing. */
static bool read_call(struct call *call, napi_env env, napi_callback_info info, size_t count,
                      napi_value *given) {
    void *filter, *name;
    size_t size;
    if (napi_get_cb_info(env, info, &count, given, NULL, &name) != napi_ok ||
        napi_get_arraybuffer_info(env, given[0], &filter, &size) != napi_ok) {
        napi_throw_error(env, NULL, "sqlite-bloom: this is not a Filter. Call a method of one");
        return false;
    }
    call->env = env;
    call->name = name;
    call->filter = filter;
    strcpy(call->problem, OUT_OF_MEMORY);
    return true;
}

/* --- Keys --- */

enum reading { IS_KEY, NO_KEY, THROWN }; /* THROWN: fail is to be called */

/* Lets filter.cjs look at a value. Returns false if that throws, because it is not a key. number:
 * of the key among others, from 1, or 0. */
static bool is_key_after_all(const struct call *call, napi_value value, double number) {
    void *addon;
    napi_value given[] = {NULL, value, NULL}, explain, result;
    return napi_get_instance_data(call->env, &addon) == napi_ok &&
           napi_get_reference_value(call->env, ((struct addon *)addon)->explain, &explain) ==
               napi_ok &&
           napi_create_string_utf8(call->env, call->name, NAPI_AUTO_LENGTH, &given[0]) == napi_ok &&
           napi_create_double(call->env, number, &given[2]) == napi_ok &&
           napi_call_function(call->env, explain, explain, 3, given, &result) == napi_ok;
}

/* U+FFFD also takes the place of a lone surrogate. */
static bool has_replacement(const char *text, size_t length) {
    for (const char *at = text, *end = text + length;
         (at = memchr(at, 0xef, (size_t)(end - at))) != NULL; at++)
        if (end - at >= 3 && memcmp(at, "\xef\xbf\xbd", 3) == 0)
            return true;
    return false;
}

static bool read_bytes(napi_env env, napi_value value, void **bytes, size_t *length) {
    napi_typedarray_type type;
    return napi_get_typedarray_info(env, value, &type, length, bytes, NULL, NULL) == napi_ok &&
           type == napi_uint8_array;
}

/* Reads a key into a buffer of `room` bytes. Text that may be longer goes into *longer, which the
 * caller frees, and longer bytes stay where they are. */
static enum reading read_key(struct call *call, napi_value value, double number, char *to,
                             size_t room, char **longer, struct sqlite_bloom_key *key) {
    const double limit = 9007199254740992; /* 2^53 */
    const napi_env env = call->env;
    double real;
    int64_t integer;
    void *bytes;
    size_t length;
    bool is_whole;
    *key = (struct sqlite_bloom_key){.length = 0}; /* not a key */
    if (napi_get_value_string_utf8(env, value, to, room, &length) == napi_ok) {
        if (length + 4 >= room) { /* a letter that did not fit has 4 bytes at most */
            napi_get_value_string_utf8(env, value, NULL, 0, &length);
            to = *longer = malloc(length + 1);
            if (to == NULL)
                return THROWN;
            napi_get_value_string_utf8(env, value, to, length + 1, &length);
        }
        *key = sqlite_bloom_text_key(to, length);
        if (!has_replacement(to, length))
            return IS_KEY;
    } else if (napi_get_value_double(env, value, &real) == napi_ok && real == real) {
        *key = sqlite_bloom_real_key(real);
        if (real > -limit && real < limit) {
            if (real == (double)(int64_t)real)
                *key = sqlite_bloom_integer_key((int64_t)real);
            return IS_KEY;
        }
    } else if (napi_get_value_bigint_int64(env, value, &integer, &is_whole) == napi_ok &&
               is_whole) {
        *key = sqlite_bloom_integer_key(integer);
        return IS_KEY;
    } else if (read_bytes(env, value, &bytes, &length)) {
        if (length > 0 && length < room)
            bytes = memcpy(to, bytes, length);
        *key = sqlite_bloom_bytes_key(bytes, length);
        if (length > 0) /* or else they may be gone */
            return IS_KEY;
    }
    if (!is_key_after_all(call, value, number))
        return THROWN;
    return key->type != 0 ? IS_KEY : NO_KEY;
}

/* --- One key --- */

/* Checks a key, or calls a function of the library that changes the filter. */
static inline napi_value use_key(napi_env env, napi_callback_info info,
                                 int change(struct sqlite_bloom_filter *, struct sqlite_bloom_key,
                                            char *)) {
    struct call call;
    struct sqlite_bloom_key key;
    napi_value given[2], answer = NULL;
    char text[KEY_TEXT], *longer = NULL;
    int result = 0;
    if (!read_call(&call, env, info, 2, given))
        return NULL;
    enum reading reading = read_key(&call, given[1], 0, text, sizeof text, &longer, &key);
    if (reading == IS_KEY)
        result = change != NULL ? change(call.filter, key, call.problem)
                                : sqlite_bloom_filter_check(call.filter, key);
    free(longer);
    if (change == NULL && result == SQLITE_BLOOM_NO_KEY)
        result = 0;
    if (change == NULL && result == SQLITE_BLOOM_REFUSED)
        strcpy(call.problem, IS_A_FILTER);
    if (reading == THROWN || result < 0)
        return fail(&call);
    if (change == NULL)
        napi_get_boolean(env, result == 1, &answer);
    return answer;
}

static napi_value filter_has(napi_env env, napi_callback_info info) {
    return use_key(env, info, NULL);
}

static napi_value filter_add(napi_env env, napi_callback_info info) {
    return use_key(env, info, sqlite_bloom_filter_add);
}

static napi_value filter_remove(napi_env env, napi_callback_info info) {
    return use_key(env, info, sqlite_bloom_filter_remove);
}

/* --- Arrays of keys --- */

/* What is done with the keys of arrays. */
struct work {
    struct sqlite_bloom_builder *builder; /* gets the keys, or NULL */
    unsigned char *answers;               /* of a check, one for each value, or NULL */
    double number;                        /* of values before this array, for messages */
    struct sqlite_bloom_key keys[BATCH_KEYS];
};

static int use_batch(struct call *call, struct work *work, size_t count) {
    int status = SQLITE_BLOOM_OK;
    if (work->answers != NULL) {
        int64_t in = sqlite_bloom_filter_check_many(call->filter, work->keys, count, work->answers);
        work->answers += count;
        if (in == SQLITE_BLOOM_REFUSED)
            strcpy(call->problem, IS_A_FILTER);
        return in < 0 ? (int)in : SQLITE_BLOOM_OK;
    }
    if (work->builder == NULL)
        return sqlite_bloom_filter_add_many(call->filter, work->keys, count, NULL, call->problem);
    for (size_t i = 0; i < count && status == SQLITE_BLOOM_OK; i++)
        status = sqlite_bloom_builder_add(work->builder, work->keys[i], call->problem);
    return status;
}

/* Reads the next keys of an array, and uses them, also if the next one is wrong. A key that is
 * outside of the buffer is the last one, because a getter of the next one may transfer its bytes.
 * Returns false after throwing. */
static bool read_batch(struct call *call, struct work *work, napi_value array, uint32_t *at,
                       uint32_t end) {
    char text[BATCH_TEXT], *longer = NULL;
    size_t count = 0, used = 0;
    bool is_outside = false;
    enum reading reading = IS_KEY;
    napi_handle_scope scope;
    if (napi_open_handle_scope(call->env, &scope) != napi_ok)
        return false;
    for (; *at < end && count < BATCH_KEYS && !is_outside; ++*at) {
        struct sqlite_bloom_key *key = &work->keys[count];
        napi_value value;
        reading = napi_get_element(call->env, array, *at, &value) == napi_ok
                      ? read_key(call, value, work->number + *at + 1, text + used,
                                 sizeof text - used, &longer, key)
                      : THROWN;
        if (reading == THROWN)
            break;
        is_outside = key->length > 0 && key->value.bytes != text + used;
        used += is_outside ? 0 : key->length;
        count += reading == IS_KEY || work->answers != NULL;
    }
    int status = use_batch(call, work, count);
    free(longer);
    napi_close_handle_scope(call->env, scope);
    if (status != SQLITE_BLOOM_OK || reading == THROWN)
        fail(call);
    return status == SQLITE_BLOOM_OK && reading != THROWN;
}

/* Returns false after throwing. */
static bool read_array(struct call *call, struct work *work, napi_value array, uint32_t length) {
    uint32_t at = 0;
    while (at < length)
        if (!read_batch(call, work, array, &at, length))
            return false;
    work->number += length;
    return true;
}

/* addAll(filter, array, number of keys before it), and check(filter, array, 0, answers): the
 * answers, a Uint8Array of that length, become 1 (in), 0 (certainly not in) and 2 (not a key). */
static napi_value filter_read(napi_env env, napi_callback_info info) {
    struct call call;
    struct work work = {.answers = NULL};
    napi_value given[4];
    void *answers = NULL;
    uint32_t length;
    size_t room;
    if (!read_call(&call, env, info, 4, given))
        return NULL;
    napi_get_value_double(env, given[2], &work.number);
    read_bytes(env, given[3], &answers, &room);
    work.answers = answers;
    return napi_get_array_length(env, given[1], &length) == napi_ok &&
                   (answers == NULL || room >= length) && read_array(&call, &work, given[1], length)
               ? NULL
               : fail(&call);
}

/* --- Making a filter --- */

static void *allocate(void *context, size_t bytes) {
    const struct addon *addon = context;
    napi_value size, buffer;
    void *memory;
    size_t room = 0;
    if (addon->allocate == NULL)
        return malloc(bytes);
    return napi_create_double(addon->env, (double)bytes, &size) == napi_ok &&
                   napi_call_function(addon->env, addon->allocate, addon->allocate, 1, &size,
                                      &buffer) == napi_ok &&
                   napi_get_arraybuffer_info(addon->env, buffer, &memory, &room) == napi_ok &&
                   room >= bytes
               ? memory
               : NULL;
}

/* What filter.cjs has allocated is the collector's. */
static void release(void *context, void *memory) {
    if (((struct addon *)context)->allocate == NULL)
        free(memory);
}

/* more() returns arrays of keys, and at the end an empty one. */
static int build(struct call *call, napi_value more, double fpr, const char *options,
                 struct sqlite_bloom_filter **made) {
    struct work work = {.answers = NULL};
    napi_value array;
    uint32_t length = 1;
    int status = sqlite_bloom_builder_open(&work.builder, fpr, options, NULL, call->problem);
    while (status == SQLITE_BLOOM_OK && length > 0)
        if (napi_call_function(call->env, more, more, 0, NULL, &array) != napi_ok ||
            napi_get_array_length(call->env, array, &length) != napi_ok ||
            !read_array(call, &work, array, length))
            status = SQLITE_BLOOM_REFUSED; /* and it has thrown */
    if (status == SQLITE_BLOOM_OK)
        status = sqlite_bloom_builder_finish(work.builder, made, call->problem);
    sqlite_bloom_builder_close(work.builder);
    return status;
}

static int make(struct call *call, enum making making, const napi_value given[3],
                struct sqlite_bloom_filter **made) {
    double capacity = 0, fpr = 0;
    char text[512] = "";
    void *bytes = NULL, *left, *right;
    size_t length = 0;
    napi_get_value_double(call->env, given[1], &fpr);
    napi_get_value_string_utf8(call->env, given[2], text, sizeof text, &length);
    read_bytes(call->env, given[0], &bytes, &length);
    switch (making) {
    case OF_CAPACITY:
        napi_get_value_double(call->env, given[0], &capacity);
        return sqlite_bloom_filter_new(made, (uint64_t)capacity, fpr, text, NULL, call->problem);
    case OF_BYTES:
        return sqlite_bloom_filter_open(made, bytes, length, NULL, call->problem);
    case OF_LIST:
        return sqlite_bloom_filter_from_list(made, bytes, length, fpr, text, NULL, call->problem);
    case OF_KEYS:
        return build(call, given[0], fpr, text, made);
    default:
        if (napi_get_arraybuffer_info(call->env, given[0], &left, &length) != napi_ok ||
            napi_get_arraybuffer_info(call->env, given[1], &right, &length) != napi_ok)
            return SQLITE_BLOOM_REFUSED;
        return (making == OF_UNION ? sqlite_bloom_filter_union : sqlite_bloom_filter_intersect)(
            made, (const struct sqlite_bloom_filter *[]){left, right}, 2, NULL, call->problem);
    }
}

/* new Filter(allocate, making, what it is made of, a second filter or a rate, options). The
 * structure is what is allocated last. */
static napi_value filter_construct(napi_env env, napi_callback_info info) {
    static const char *const names[] = {"new Filter",           "new Filter", "Filter.build",
                                        "Filter.fromBlocklist", "union",      "intersection"};
    struct call call = {.env = env, .problem = OUT_OF_MEMORY};
    void *data;
    struct sqlite_bloom_filter *made;
    napi_value given[5];
    uint32_t making = OF_UNION;
    size_t count = 5;
    if (napi_get_cb_info(env, info, &count, given, NULL, NULL) != napi_ok ||
        napi_get_value_uint32(env, given[1], &making) != napi_ok || making > OF_INTERSECTION ||
        napi_get_instance_data(env, &data) != napi_ok)
        return NULL;
    struct addon *addon = data;
    call.name = names[making];
    int status = make(&call, (enum making)making, given + 2, &made);
    if (status == SQLITE_BLOOM_OK) {
        addon->allocate = given[0];
        status = sqlite_bloom_filter_copy(&call.filter, made, &addon->memory, call.problem);
        addon->allocate = NULL;
        sqlite_bloom_filter_close(made);
    }
    return status == SQLITE_BLOOM_OK ? NULL : fail(&call);
}

/* _get(filter, what): 0 the layout, 1 the key rule, 2 the bytes, 3 the capacity, 4 its rate; and as
 * the bits say, 5 the number of keys, 6 the rate. What the filter has not got is "" or 0. */
static napi_value filter_get(napi_env env, napi_callback_info info) {
    struct call call;
    struct sqlite_bloom_description is;
    struct sqlite_bloom_estimate now = {.count = 0};
    napi_value given[2], result = NULL;
    uint32_t what = 0;
    size_t length;
    if (!read_call(&call, env, info, 2, given))
        return NULL;
    napi_get_value_uint32(env, given[1], &what);
    const void *bytes = sqlite_bloom_filter_bytes(call.filter, &length);
    sqlite_bloom_filter_describe(call.filter, &is);
    if (what > 4)
        sqlite_bloom_filter_estimate(call.filter, &now);
    const char *texts[] = {is.layout, is.key_rule != NULL ? is.key_rule : ""};
    const double numbers[] = {(double)is.capacity, is.fpr, now.count, now.fpr_now};
    if (what < 2)
        napi_create_string_utf8(env, texts[what], NAPI_AUTO_LENGTH, &result);
    else if (what == 2)
        napi_create_buffer_copy(env, length, bytes, NULL, &result);
    else
        napi_create_double(env, numbers[(what - 3) % 4], &result);
    return result != NULL ? result : fail(&call);
}

/* --- The module --- */

static void release_addon(napi_env env, void *addon, void *hint) {
    (void)env;
    (void)hint;
    free(addon);
}

/* The module is this function: define(explain) returns the class. */
static napi_value define(napi_env env, napi_callback_info info) {
#define METHOD(name, function)                                                                     \
    { name, NULL, function, NULL, NULL, NULL, napi_default_method, name }
    const napi_property_descriptor methods[] = {
        METHOD("has", filter_has),       METHOD("add", filter_add),
        METHOD("delete", filter_remove), METHOD("addAll", filter_read),
        METHOD("check", filter_read),    METHOD("_get", filter_get)};
    napi_value explain, result;
    size_t count = 1;
    struct addon *addon = malloc(sizeof *addon);
    if (addon == NULL || napi_get_cb_info(env, info, &count, &explain, NULL, NULL) != napi_ok ||
        napi_create_reference(env, explain, 1, &addon->explain) != napi_ok ||
        napi_set_instance_data(env, addon, release_addon, NULL) != napi_ok) {
        free(addon);
        return NULL;
    }
    addon->env = env;
    addon->allocate = NULL;
    addon->memory = (struct sqlite_bloom_memory){allocate, release, NULL, addon};
    return napi_define_class(env, "Filter", NAPI_AUTO_LENGTH, filter_construct, NULL,
                             sizeof methods / sizeof *methods, methods, &result) == napi_ok
               ? result
               : NULL;
}

NAPI_MODULE_EXPORT int32_t node_api_module_get_api_version_v1(void) {
    return 8;
}

NAPI_MODULE_EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports) {
    if (SQLITE_BLOOM_FIND_NODE())
        napi_create_function(env, "define", NAPI_AUTO_LENGTH, define, NULL, &exports);
    return exports;
}

/* From a key to the words that decide about it in filters of a shape: by its type and the hashing
 * of the filter, or by the key rule. Only layout, keying and extra of the shape matter.
 *
 * The functions are inline, because a check takes little longer than a call. */
#ifndef BLOOM_FILTER_KEY_H
#define BLOOM_FILTER_KEY_H

#include "base/limits.h"
#include "base/memory.h"
#include "filter/header.h"
#include "hash/murmur3.h"

/* BLOOM_KEY_FOREIGN: the hashing does not hash keys of this type, or the key rule has no key for
 * the value. So the key cannot be in the filter. BLOOM_KEY_FILTER: the key is a filter. That is an
 * error, because somebody meant its keys. BLOOM_KEY_OF_LIST: the key is one of bloom_list, but the
 * filter has no key rule. So no URL would find it. */
enum bloom_key_kind {
    BLOOM_KEY,
    BLOOM_KEY_NULL,
    BLOOM_KEY_FOREIGN,
    BLOOM_KEY_FILTER,
    BLOOM_KEY_OF_LIST,
    BLOOM_KEY_NO_MEMORY
};

/* Returns true when keys are hashed by murmur3, as those of most filters are. They need no call
 * through a pointer, which would slow down a check. */
static inline bool bloom_is_murmur3(const struct bloom_shape *shape) {
    return shape->layout->hashing == &bloom_hashing_murmur3 && !shape->keying.salted;
}

/* Hash a text in UTF-8, a BLOB, an integer and a real, without a key rule. */
static inline enum bloom_key_kind bloom_text_key(const struct bloom_shape *shape, const void *text,
                                                 size_t length, uint64_t *words) {
    if (bloom_is_murmur3(shape)) {
        bloom_murmur3_bytes(text, length, words);
        return BLOOM_KEY;
    }
    const struct bloom_hashing *hashing = bloom_shape_hashing(shape);
    if (hashing->bytes == NULL)
        return BLOOM_KEY_FOREIGN;
    hashing->bytes(bloom_shape_seed(shape), text, length, words);
    return BLOOM_KEY;
}

static inline enum bloom_key_kind bloom_bytes_key(const struct bloom_shape *shape,
                                                  const void *bytes, size_t length,
                                                  uint64_t *words) {
    return bloom_is_filter(bytes, length)          ? BLOOM_KEY_FILTER
           : bloom_shape_hashing(shape)->text_only ? BLOOM_KEY_FOREIGN
                                                   : bloom_text_key(shape, bytes, length, words);
}

static inline enum bloom_key_kind bloom_integer_key(const struct bloom_shape *shape,
                                                    int64_t integer, uint64_t *words) {
    if (bloom_is_murmur3(shape)) {
        bloom_murmur3_integer(integer, words);
        return BLOOM_KEY;
    }
    const struct bloom_hashing *hashing = bloom_shape_hashing(shape);
    return hashing->integer != NULL && hashing->integer(bloom_shape_seed(shape), integer, words)
               ? BLOOM_KEY
               : BLOOM_KEY_FOREIGN;
}

static inline enum bloom_key_kind bloom_real_key(const struct bloom_shape *shape, double real,
                                                 uint64_t *words) {
    int64_t integer;
    return bloom_real_as_integer(bloom_shape_hashing(shape)->reals, real, &integer)
               ? bloom_integer_key(shape, integer, words)
               : BLOOM_KEY_FOREIGN;
}

/* A buffer for the keys of a text by a key rule. Short texts need no allocation. bytes is NULL when
 * there is no memory. */
struct bloom_key_room {
    uint8_t *bytes;
    uint8_t inside[BLOOM_MOST(key_room_inside)];
};

static inline bool bloom_key_room_take(struct bloom_key_room *room, uint64_t size,
                                       const struct bloom_memory *memory) {
    room->bytes =
        size <= bloom_limits.key_room_inside ? room->inside : bloom_allocate(memory, size);
    return room->bytes != NULL;
}

static inline void bloom_key_room_release(struct bloom_key_room *room,
                                          const struct bloom_memory *memory) {
    if (room->bytes != room->inside)
        bloom_release(memory, room->bytes);
    room->bytes = NULL;
}

/* Writes the words of the key under which the key rule of a shape adds a text. The shape must have
 * a key rule. */
enum bloom_key_kind bloom_ruled_key(const struct bloom_shape *shape, const uint8_t *text,
                                    size_t length, const struct bloom_memory *memory,
                                    uint64_t *words);

/* Writes the words of all keys that may cover a text; those of key i begin at i * hash_words.
 * Returns BLOOM_KEY_NULL when the text has no key. */
enum { BLOOM_ASKED_WORDS = BLOOM_RULE_KEYS_MAXIMUM * BLOOM_HASH_WORDS_MAXIMUM };
enum bloom_key_kind bloom_ruled_keys(const struct bloom_shape *shape, const uint8_t *text,
                                     size_t length, const struct bloom_memory *memory,
                                     uint64_t words[BLOOM_ASKED_WORDS], unsigned *count);

#endif

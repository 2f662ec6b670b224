/* The keys of a text by the key rule of a filter. The rule writes them into a buffer; then the
 * hashing of the filter hashes each. */
#include "filter/key.h"

enum bloom_key_kind bloom_ruled_key(const struct bloom_shape *shape, const uint8_t *text,
                                    size_t length, const struct bloom_memory *memory,
                                    uint64_t *words) {
    const struct bloom_key_rule *rule = shape->keying.rule;
    struct bloom_key_room room;
    struct bloom_rule_key key;
    if (!bloom_key_room_take(&room, rule->room(length), memory))
        return BLOOM_KEY_NO_MEMORY;
    enum bloom_key_kind kind = rule->add(text, length, room.bytes, &key)
                                   ? bloom_text_key(shape, key.bytes, key.length, words)
                                   : BLOOM_KEY_FOREIGN;
    bloom_key_room_release(&room, memory);
    return kind;
}

enum bloom_key_kind bloom_ruled_keys(const struct bloom_shape *shape, const uint8_t *text,
                                     size_t length, const struct bloom_memory *memory,
                                     uint64_t words[BLOOM_ASKED_WORDS], unsigned *count) {
    const struct bloom_key_rule *rule = shape->keying.rule;
    struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM];
    struct bloom_key_room room;
    if (!bloom_key_room_take(&room, rule->room(length), memory))
        return BLOOM_KEY_NO_MEMORY;
    *count = rule->check(text, length, room.bytes, keys);
    /* A hashing may write more words than the layout uses: those of the next key overwrite them. */
    for (unsigned i = 0; i < *count; i++)
        bloom_text_key(shape, keys[i].bytes, keys[i].length, words + i * shape->layout->hash_words);
    bloom_key_room_release(&room, memory);
    return *count > 0 ? BLOOM_KEY : BLOOM_KEY_NULL;
}

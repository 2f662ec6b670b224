/* The key rules url, url_nocase and host, and the keys of a text by them. The keys are written into
 * a buffer, and then the hashing of the filter hashes each.
 *
 * url_nocase is for lists that do not keep the case of paths, such as some block lists for
 * browsers. (The letters of the host are lower case in every key.) host is for lists of hosts: a
 * check asks for the host and those above it only, which is a third of the keys.
 *
 * A checked text may be anything that somebody typed. An added text must be a URL or an entry of a
 * list: a line such as "0.0.0.0 evil.example" would become a key that nothing ever matches. */
#include "filter/key.h"
#include "list/list.h"

#include <assert.h>
#include <stdio.h>

static_assert((int)BLOOM_RULE_KEYS_MAXIMUM >= BLOOM_URL_KEYS_MOST, "a URL has more keys");

static const struct bloom_key_rule RULES[] = {
    {"url", 1, false, false, "a URL"},
    {"url_nocase", 2, true, false, "a URL"},
    {"host", 3, false, true, "a host without a path"},
};

enum { RULE_COUNT = sizeof RULES / sizeof *RULES };

bool bloom_key_rule_by_number(unsigned number, const struct bloom_key_rule **rule) {
    *rule = NULL;
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (RULES[i].number == number)
            *rule = &RULES[i];
    return number == 0 || *rule != NULL;
}

const struct bloom_key_rule *bloom_key_rule_by_name(const char *name, size_t length) {
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (bloom_name_is(RULES[i].name, name, length))
            return &RULES[i];
    return NULL;
}

void bloom_key_rule_list(char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; i < RULE_COUNT; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", RULES[i].name);
    }
}

/* Returns true when a text is its own key, as most entries of a list are. */
static bool rule_is_key(const uint8_t *text, size_t length) {
    struct bloom_url_plain plain;
    return length > 0 && bloom_url_read_plain(&plain, text, length) && plain.host == 0 &&
           plain.path == plain.host_end && plain.path < plain.end && plain.end == length;
}

enum bloom_key_kind bloom_ruled_key(const struct bloom_shape *shape, const uint8_t *text,
                                    size_t length, const struct bloom_memory *memory,
                                    uint64_t *words) {
    const struct bloom_key_rule *rule = shape->keying.rule;
    const bool is_key = rule_is_key(text, length) && !rule->hosts;
    enum bloom_key_kind kind = BLOOM_KEY_FOREIGN;
    struct bloom_key_room room;
    struct bloom_url url = {.length = length};
    if (is_key && !rule->nocase)
        return bloom_text_key(shape, text, length, words);
    if (!bloom_key_room_take(&room, BLOOM_URL_ROOM(length), memory))
        return BLOOM_KEY_NO_MEMORY;
    if (is_key)
        memcpy(room.bytes, text, length);
    if (is_key || (bloom_url_parse(&url, text, length, room.bytes) &&
                   bloom_list_takes(text, length, &url, room.bytes) &&
                   !(rule->hosts && url.length > url.host + 1))) {
        if (rule->nocase)
            bloom_url_lower(room.bytes, url.length);
        kind = bloom_text_key(shape, room.bytes, url.length, words);
    }
    bloom_key_room_release(&room, memory);
    return kind;
}

enum bloom_key_kind bloom_ruled_keys(const struct bloom_shape *shape, const uint8_t *text,
                                     size_t length, const struct bloom_memory *memory,
                                     uint64_t words[BLOOM_ASKED_WORDS], unsigned *count) {
    struct bloom_key_room room;
    struct bloom_url url;
    struct bloom_url_key keys[BLOOM_URL_KEYS_MOST];
    if (!bloom_key_room_take(&room, BLOOM_URL_ROOM(length), memory))
        return BLOOM_KEY_NO_MEMORY;
    *count = 0;
    if (bloom_url_parse(&url, text, length, room.bytes)) {
        if (shape->keying.rule->nocase)
            bloom_url_lower(room.bytes, url.length);
        if (shape->keying.rule->hosts)
            url.length = url.path = url.host + 1;
        *count = bloom_url_keys(&url, room.bytes, keys);
    }
    /* A hashing may write more words than the layout uses: those of the next key overwrite them. */
    for (unsigned i = 0; i < *count; i++)
        bloom_text_key(shape, room.bytes + keys[i].start, keys[i].length,
                       words + i * shape->layout->hash_words);
    bloom_key_room_release(&room, memory);
    return *count > 0 ? BLOOM_KEY : BLOOM_KEY_NULL;
}

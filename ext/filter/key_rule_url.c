/* The key rules url and url_nocase: a text is a URL, and its keys are those of ext/URLS.md.
 *
 * url_nocase is for lists that do not keep the case of paths, such as some block lists for
 * browsers. It makes the ASCII letters of path and query lower case. (Those of the host are lower
 * case in every key.)
 *
 * A checked text may be anything that somebody typed. An added text must be a URL or an entry of a
 * list: a line such as "0.0.0.0 evil.example" would become a key that nothing ever matches. */
#include "filter/key_rule.h"

#include "list/list.h"

#include <assert.h>
#include <string.h>

static_assert((int)BLOOM_RULE_KEYS_MAXIMUM >= BLOOM_URL_KEYS_MOST, "a URL has more keys");

static bool rule_url_add(const uint8_t *text, size_t length, uint8_t *room,
                         struct bloom_rule_key *key) {
    struct bloom_url url;
    struct bloom_url_plain plain;
    /* Most entries of a list are keys already. */
    if (length > 0 && bloom_url_read_plain(&plain, text, length) && plain.host == 0 &&
        plain.path == plain.host_end && plain.path < plain.end && plain.end == length) {
        *key = (struct bloom_rule_key){text, length};
        return true;
    }
    bool has_key =
        bloom_url_parse(&url, text, length, room) && bloom_list_takes(text, length, &url, room);
    if (has_key)
        *key = (struct bloom_rule_key){room, url.length};
    return has_key;
}

static unsigned rule_url_all(const struct bloom_url *url, const uint8_t *room,
                             struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM]) {
    struct bloom_url_key parts[BLOOM_URL_KEYS_MOST];
    unsigned count = bloom_url_keys(url, room, parts);
    for (unsigned i = 0; i < count; i++)
        keys[i] = (struct bloom_rule_key){room + parts[i].start, parts[i].length};
    return count;
}

static unsigned rule_url_check(const uint8_t *text, size_t length, uint8_t *room,
                               struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM]) {
    struct bloom_url url;
    return bloom_url_parse(&url, text, length, room) ? rule_url_all(&url, room, keys) : 0;
}

static bool rule_url_nocase_add(const uint8_t *text, size_t length, uint8_t *room,
                                struct bloom_rule_key *key) {
    if (!rule_url_add(text, length, room, key))
        return false;
    if (key->bytes != room)
        memcpy(room, key->bytes, key->length);
    key->bytes = room;
    bloom_url_lower(room, key->length);
    return true;
}

static unsigned rule_url_nocase_check(const uint8_t *text, size_t length, uint8_t *room,
                                      struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM]) {
    struct bloom_url url;
    if (!bloom_url_parse(&url, text, length, room))
        return 0;
    bloom_url_lower(room, url.length);
    return rule_url_all(&url, room, keys);
}

/* A line of a list may have a key as a URL, so a condition on the key would not leave it out. The
 * beginning of a long text decides, because there may be no memory for all of it. */
static const char *rule_url_advice(const uint8_t *text, size_t length) {
    enum { BEGINNING = 400 };
    struct bloom_url url;
    uint8_t room[BLOOM_URL_ROOM(BEGINNING)];
    return bloom_url_parse(&url, text, length < BEGINNING ? length : BEGINNING, room) ||
                   bloom_list_is_line(text, length)
               ? "If it is a line of a block list, read the list with bloom_list, as in "
                 "SELECT key FROM bloom_list((SELECT group_concat(line, char(10)) FROM lines))"
               : "Leave it out with WHERE bloom_url(key) IS NOT NULL";
}

const struct bloom_key_rule bloom_key_rule_url = {
    .name = "url",
    .number = 1,
    .room = bloom_url_room,
    .add = rule_url_add,
    .advice = rule_url_advice,
    .check = rule_url_check,
};

const struct bloom_key_rule bloom_key_rule_url_nocase = {
    .name = "url_nocase",
    .number = 2,
    .room = bloom_url_room,
    .add = rule_url_nocase_add,
    .advice = rule_url_advice,
    .check = rule_url_nocase_check,
};

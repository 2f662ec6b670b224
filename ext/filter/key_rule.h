/* Key rules: how a value becomes the key that is added, and the keys that are asked for.
 *
 * A filter knows its rule (byte 12 of its header), so that what is added and what is asked cannot
 * be spelled differently. Rule 0 is none: a value is its own key, by the hashing alone. Every other
 * rule works on the text of a value and is one row of the table in key_rule.c; what a number
 * stands for is never changed, only joined by further numbers. From 128 on they are private.
 *
 * A rule allocates nothing. The caller gives it room for the keys of a text, and gets the keys as
 * stretches of that room.
 */
#ifndef BLOOM_FILTER_KEY_RULE_H
#define BLOOM_FILTER_KEY_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most keys that a value has. */
enum { BLOOM_RULE_KEYS_MAXIMUM = 30 };

struct bloom_rule_key {
    const uint8_t *bytes;
    size_t length;
};

struct bloom_key_rule {
    const char *name; /* in lower case, as the option key=NAME has it */
    uint8_t number;   /* as stored in the header; not 0 */

    /* Bytes of room that the two functions below need for a text of length bytes. */
    uint64_t (*room)(size_t length);

    /* The key under which a text is added, or an entry asked for. text, which may be NULL when
     * length is 0, and room do not overlap. False: the text has none. */
    bool (*add)(const uint8_t *text, size_t length, uint8_t *room, struct bloom_rule_key *key);

    /* What to do, as an imperative, about a text that has none. */
    const char *(*advice)(const uint8_t *text, size_t length);

    /* The keys that may cover a text, the most exact first. Returns their number; 0: the text has
     * none. */
    unsigned (*ask)(const uint8_t *text, size_t length, uint8_t *room,
                    struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM]);
};

/* Finds the rule of a number, NULL for rule 0. False: there is none. */
bool bloom_key_rule_by_number(unsigned number, const struct bloom_key_rule **rule);

/* The rule of that name (length bytes, any case); NULL when there is none. */
const struct bloom_key_rule *bloom_key_rule_by_name(const char *name, size_t length);

/* Writes the names of all rules into text of size bytes (at least 1), as in: url, url_nocase. */
void bloom_key_rule_list(char *text, size_t size);

#endif

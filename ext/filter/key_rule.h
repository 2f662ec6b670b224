/* Key rules: how a value becomes the key that is added, and the keys that are checked.
 *
 * A filter stores its rule (byte 12 of its header), so that added and checked keys cannot be
 * spelled differently. Rule 0 means no rule: a value is its own key, which the hashing hashes.
 * Every other rule works on the text of a value and is one row of the table in key_rule.c. The
 * meaning of a number never changes; new rules get new numbers. Numbers from 128 on are private.
 *
 * A rule allocates nothing. The caller provides a buffer for the keys of a text, and gets the keys
 * as pieces of that buffer. */
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

    /* Returns the size of the buffer that the two functions below need for a text of length bytes.
     */
    uint64_t (*room)(size_t length);

    /* Finds the key under which a text is added. text may be NULL when length is 0, and must not
     * overlap room. Returns false when the text has no key. */
    bool (*add)(const uint8_t *text, size_t length, uint8_t *room, struct bloom_rule_key *key);

    /* Returns what to do about a text that has no key, as an imperative. */
    const char *(*advice)(const uint8_t *text, size_t length);

    /* Finds the keys that may cover a text, the most exact first. Returns their number, 0 when the
     * text has no key. */
    unsigned (*check)(const uint8_t *text, size_t length, uint8_t *room,
                      struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM]);
};

/* Finds the rule of a number, NULL for rule 0. Returns false when the number is unknown. */
bool bloom_key_rule_by_number(unsigned number, const struct bloom_key_rule **rule);

/* Returns the rule of that name (length bytes, any case), or NULL. */
const struct bloom_key_rule *bloom_key_rule_by_name(const char *name, size_t length);

/* Writes the names of all rules into text of size bytes (at least 1), as in: url, url_nocase. */
void bloom_key_rule_list(char *text, size_t size);

#endif

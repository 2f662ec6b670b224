/* Key rules: how a value becomes the key that is added, and the keys that are checked.
 *
 * A filter stores its rule (byte 12 of its header), so that added and checked keys cannot be
 * spelled differently. Rule 0 means no rule: a value is its own key, which the hashing hashes. By
 * the other rules the text of a value is a URL, and its keys are those of ext/URLS.md. The meaning
 * of a number never changes; new rules get new numbers. Numbers from 128 on are private. */
#ifndef BLOOM_FILTER_KEY_RULE_H
#define BLOOM_FILTER_KEY_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most keys that a value has. */
enum { BLOOM_RULE_KEYS_MAXIMUM = 30 };

struct bloom_key_rule {
    const char *name;  /* in lower case, as the option key=NAME has it */
    uint8_t number;    /* as stored in the header; not 0 */
    bool nocase;       /* the ASCII letters of path and query become lower case */
    bool hosts;        /* only hosts are added and asked */
    const char *wants; /* what an added key must be */
};

/* Finds the rule of a number, NULL for rule 0. Returns false when the number is unknown. */
bool bloom_key_rule_by_number(unsigned number, const struct bloom_key_rule **rule);

/* Returns the rule of that name (length bytes, any case), or NULL. */
const struct bloom_key_rule *bloom_key_rule_by_name(const char *name, size_t length);

/* Writes the names of all rules into text of size bytes (at least 1), as in: url, url_nocase. */
void bloom_key_rule_list(char *text, size_t size);

#endif

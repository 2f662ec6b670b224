/* The table of key rules. A new rule is one file and one row. */
#include "filter/key_rule.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* key_rule_url.c */
extern const struct bloom_key_rule bloom_key_rule_url, bloom_key_rule_url_nocase;

/* Ends with NULL. */
static const struct bloom_key_rule *const RULES[] = {
    &bloom_key_rule_url,
    &bloom_key_rule_url_nocase,
    NULL,
};

bool bloom_key_rule_by_number(unsigned number, const struct bloom_key_rule **rule) {
    size_t i = 0;
    *rule = NULL;
    if (number == 0)
        return true;
    while (RULES[i] != NULL && RULES[i]->number != number)
        i++;
    *rule = RULES[i];
    return *rule != NULL;
}

const struct bloom_key_rule *bloom_key_rule_by_name(const char *name, size_t length) {
    size_t i = 0;
    while (RULES[i] != NULL && !bloom_name_is(RULES[i]->name, name, length))
        i++;
    return RULES[i];
}

void bloom_key_rule_list(char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; RULES[i] != NULL; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", RULES[i]->name);
    }
}

/* Comparing and listing names. See names.h. */
#include "base/names.h"

#include <stdio.h>
#include <string.h>

static char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

bool bloom_name_is(const char *known, const char *name, size_t length) {
    size_t same = 0;
    while (same < length && known[same] != '\0' && lower(name[same]) == lower(known[same]))
        same++;
    return same == length && known[same] == '\0';
}

void bloom_name_append(char *text, size_t size, const char *name) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s'%s'", used > 0 ? ", " : "", name);
}

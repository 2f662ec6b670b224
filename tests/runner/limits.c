/* The limits of the builds that tests use (ext/base/limits.h), by BLOOM_LIMITS in the environment:
 * smallest, odd, or single ones, as in cache_bytes=6000,row_slots=2. Without it they are those that
 * users get. */
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST(name, users, smallest, odd) .name = (smallest),
#define ODD(name, users, smallest, odd) .name = (odd),
#define PLACE(name, users, smallest, odd) {#name, &bloom_limits.name},

struct bloom_limits bloom_limits = {BLOOM_LIMITS(BLOOM_LIMIT_USERS)};

static void set_limit(const char *entry) {
    static const struct {
        const char *name;
        unsigned *value;
    } PLACES[] = {BLOOM_LIMITS(PLACE)};
    const size_t length = strcspn(entry, "=");
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
        if (strlen(PLACES[i].name) == length && memcmp(PLACES[i].name, entry, length) == 0) {
            *PLACES[i].value = (unsigned)strtoul(entry + length + 1, NULL, 10);
            return;
        }
    fprintf(stderr, "BLOOM_LIMITS: there is no limit %s\n", entry);
    abort();
}

void read_limits(void);

__attribute__((constructor)) void read_limits(void) {
    const char *text = getenv("BLOOM_LIMITS");
    if (text != NULL && strcmp(text, "smallest") == 0)
        bloom_limits = (struct bloom_limits){BLOOM_LIMITS(SMALLEST)};
    else if (text != NULL && strcmp(text, "odd") == 0)
        bloom_limits = (struct bloom_limits){BLOOM_LIMITS(ODD)};
    else
        while (text != NULL && *text != '\0') {
            set_limit(text);
            text += strcspn(text, ",");
            text += *text == ',';
        }
}

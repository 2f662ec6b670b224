/* The table of foreign formats. See exchange.h. */
#include "exchange/exchange.h"

#include "filter/names.h"

static const struct bloom_exchange *const FORMATS[] = {
    &bloom_exchange_guava,
};

#define FORMAT_COUNT (sizeof FORMATS / sizeof *FORMATS)

const struct bloom_exchange *bloom_exchange_by_name(const char *name, size_t length) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (bloom_name_is(FORMATS[i]->name, name, length))
            return FORMATS[i];
    return NULL;
}

void bloom_exchange_list(char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        bloom_name_append(text, size, FORMATS[i]->name);
}

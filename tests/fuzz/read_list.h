/* Reads a list, for the fuzz target and list_test.c. Each entry lies in its bytes and lines ascend,
 * an entry has a key or a note, and a key is canonical and may be added to a filter as it is. */
#ifndef READ_LIST_H
#define READ_LIST_H

#include "fuzz.h"

#include "filter/given_text.h"
#include "list/list.h"

/* Reads a list. Returns how many rows it has. *keys becomes how many of them have a key. */
static inline unsigned read_list(struct bloom_list *list, const uint8_t *bytes, size_t size,
                                 unsigned *keys) {
    struct bloom_list_entry entry;
    enum bloom_list_step step;
    uint64_t line = 1;
    unsigned count = 0;
    *keys = 0;
    bloom_problem problem;
    bloom_given_text(bytes, size, true, false, problem); /* what it refuses is read all the same */
    bloom_list_begin(list, bytes, size);
    for (; (step = bloom_list_next(list, &entry)) != BLOOM_LIST_END; count++) {
        if (step == BLOOM_LIST_PAUSE)
            continue;
        if (entry.line < line || entry.written < bytes ||
            entry.written_bytes > BLOOM_LIST_LINE_MOST ||
            entry.written + entry.written_bytes > bytes + size ||
            (entry.key == NULL && entry.note == NULL))
            abort();
        line = entry.line;
        if (entry.key == NULL)
            continue;
        struct bloom_url url;
        uint8_t *key = fuzz_copy(entry.key, entry.key_bytes);
        uint8_t *room = fuzz_allocate(BLOOM_URL_ROOM(entry.key_bytes));
        if (entry.key[entry.key_bytes] != '\0' ||
            !bloom_url_parse(&url, key, entry.key_bytes, room) || url.length != entry.key_bytes ||
            memcmp(room, key, url.length) != 0 ||
            !bloom_list_takes(key, entry.key_bytes, &url, room))
            abort();
        free(room);
        free(key);
        ++*keys;
    }
    return count;
}

#endif

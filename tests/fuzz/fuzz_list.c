/* Arbitrary bytes as a list, on the library floor: entries lie in it, lines ascend, and each key is
 * that of a URL, canonical, and one that a filter with key=url takes by itself. */
#include "fuzz.h"

#include "list/list.h"

static void must_be_taken(const struct bloom_list_entry *entry) {
    struct bloom_url url;
    uint8_t *key = fuzz_copy(entry->key, entry->key_bytes);
    uint8_t *room = malloc((size_t)BLOOM_URL_ROOM(entry->key_bytes));
    if (room == NULL || !bloom_url_parse(&url, key, entry->key_bytes, room) ||
        url.length != entry->key_bytes || memcmp(room, key, url.length) != 0 ||
        !bloom_list_takes(key, entry->key_bytes, &url, room))
        abort();
    free(room);
    free(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct bloom_list list;
    struct bloom_list_entry entry;
    enum bloom_list_step step;
    uint8_t *bytes = fuzz_copy(data, size);
    uint64_t line = 1;
    bloom_list_begin(&list, bytes, size); /* what it refuses is read all the same */
    while ((step = bloom_list_next(&list, &entry)) != BLOOM_LIST_END) {
        if (step == BLOOM_LIST_PAUSE)
            continue;
        if (entry.line < line || entry.written < bytes ||
            entry.written + entry.written_bytes > bytes + size ||
            (entry.key == NULL && entry.note == NULL))
            abort();
        line = entry.line;
        if (entry.key != NULL)
            must_be_taken(&entry);
    }
    free(bytes);
    return 0;
}

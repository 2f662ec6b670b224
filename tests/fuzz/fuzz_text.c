/* Arbitrary bytes as a URL and as a list, on the library floor. A URL's canonical text is
 * printable, not longer than promised, and canonical itself; so is each of its keys. A list's
 * entries lie in it, and each key is that of a URL, canonical, and one that a filter with key=url
 * takes by itself.
 */
#include "fuzz.h"

#include "list/list.h"
#include "url/url.h"

/* Parses a copy, so that reads beyond are seen. What comes back is to be freed; NULL: no host. */
static uint8_t *parsed(struct bloom_url *url, const uint8_t *data, size_t size) {
    uint8_t *bytes = fuzz_copy(data, size), *text = fuzz_allocate(BLOOM_URL_ROOM(size));
    const bool has_host = bloom_url_parse(url, bytes, size, text);
    free(bytes);
    if (!has_host)
        free(text);
    return has_host ? text : NULL;
}

static void must_be_canonical(const uint8_t *key, size_t length, bool is_of_list) {
    struct bloom_url url;
    uint8_t *text = parsed(&url, key, length);
    if (text == NULL || url.length != length || memcmp(text, key, length) != 0 ||
        (is_of_list && !bloom_list_takes(key, length, &url, text)))
        abort();
    free(text);
}

static void try_url(const uint8_t *data, size_t size) {
    struct bloom_url url;
    struct bloom_url_key keys[BLOOM_URL_KEYS_MOST];
    uint8_t *text = parsed(&url, data, size);
    if (text == NULL)
        return;
    if (url.host == 0 || url.host >= url.path || url.path > url.length ||
        url.length > 3 * size + 256)
        abort();
    for (size_t i = 0; i < url.length; i++)
        if (text[i] <= ' ' || text[i] >= 127 || text[i] == '#')
            abort();
    uint8_t *exact = fuzz_copy(text, url.length);
    const unsigned count = bloom_url_keys(&url, exact, keys);
    if (count == 0 || count > BLOOM_URL_KEYS_MOST)
        abort();
    for (unsigned i = 0; i < count; i++)
        must_be_canonical(exact + keys[i].start, keys[i].length, false);
    free(exact);
    free(text);
}

static void try_list(const uint8_t *data, size_t size) {
    static struct bloom_list list;
    struct bloom_list_entry entry;
    enum bloom_list_step step;
    uint8_t *bytes = fuzz_copy(data, size);
    bloom_list_begin(&list, bytes, size); /* what it refuses is read all the same */
    while ((step = bloom_list_next(&list, &entry)) != BLOOM_LIST_END) {
        if (step == BLOOM_LIST_PAUSE)
            continue;
        if (entry.written < bytes || entry.written + entry.written_bytes > bytes + size ||
            (entry.key == NULL && entry.note == NULL))
            abort();
        if (entry.key != NULL)
            must_be_canonical(entry.key, entry.key_bytes, true);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_url(data, size);
    try_list(data, size);
    return 0;
}

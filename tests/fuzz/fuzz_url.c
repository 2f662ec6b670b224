/* Arbitrary bytes as a URL, on the library floor: the canonical text is printable, not longer than
 * promised, and canonical itself; so is each of its keys, none of which comes twice. */
#include "fuzz.h"

#include "url/url.h"

static uint8_t *room_for(size_t size) {
    uint8_t *room = malloc((size_t)BLOOM_URL_ROOM(size));
    if (room == NULL)
        abort();
    return room;
}

static void must_be_canonical(const uint8_t *key, size_t length) {
    struct bloom_url url;
    uint8_t *bytes = fuzz_copy(key, length), *room = room_for(length);
    if (!bloom_url_parse(&url, bytes, length, room) || url.length != length ||
        memcmp(room, key, length) != 0)
        abort();
    free(room);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct bloom_url url;
    struct bloom_url_key keys[BLOOM_URL_KEYS_MOST];
    uint8_t *bytes = fuzz_copy(data, size), *room = room_for(size);
    bool has_host = bloom_url_parse(&url, bytes, size, room);
    if (has_host) {
        if (url.host == 0 || url.host >= url.path || url.path > url.length ||
            url.length > 3 * size + 256)
            abort();
        for (size_t i = 0; i < url.length; i++)
            if (room[i] <= ' ' || room[i] >= 127 || room[i] == '#')
                abort();
        uint8_t *text = fuzz_copy(room, url.length);
        unsigned count = bloom_url_keys(&url, text, keys);
        if (count == 0 || count > BLOOM_URL_KEYS_MOST)
            abort();
        for (unsigned i = 0; i < count; i++) {
            must_be_canonical(text + keys[i].start, keys[i].length);
            for (unsigned j = 0; j < i; j++)
                if (keys[i].length == keys[j].length &&
                    memcmp(text + keys[i].start, text + keys[j].start, keys[i].length) == 0)
                    abort();
        }
        free(text);
    }
    free(room);
    free(bytes);
    return 0;
}

/* XXH3 of <xxhash.h> (Debian: libxxhash-dev) behind floor.h, in a file of its own as the library's
 * hash is in hash.c, so that both are called and neither is inlined into the loop. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "floor.h"

uint64_t floor_xxh3(const void *bytes, size_t length) {
    return XXH3_128bits(bytes, length).low64;
}

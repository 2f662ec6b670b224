/* Text of others in messages.
 *
 * A message must be valid UTF-8, since a host that decodes it strictly would show an error of its
 * own in its place, and must hold no control characters, since it goes to terminals and logs. Text
 * from users and databases may break both rules. So everything quoted passes through here:
 *
 *   - well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong, nothing above U+10FFFF) stays;
 *     any other byte is written as \xNN;
 *   - control characters (U+0000 to U+001F, U+007F to U+009F), the line separators U+2028 and
 *     U+2029, characters that change the direction of writing (U+200E, U+200F, U+202A to U+202E,
 *     U+2066 to U+2069), and those that nobody sees (U+00A0, U+00AD, U+200B to U+200D, U+2060 to
 *     U+2065, U+FEFF), which copying and pasting brings, are written as \uNNNN;
 *   - long text is cut off behind a whole character, and three dots follow.
 */
#include "base/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the well-formed character at text, of length bytes, and which it is; 0 when there
 * is none. */
static size_t read_character(const uint8_t *text, size_t length, uint32_t *character) {
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = text[0] < 0x80   ? 1
                   : text[0] < 0xc0 ? 0
                   : text[0] < 0xe0 ? 2
                   : text[0] < 0xf0 ? 3
                   : text[0] < 0xf8 ? 4
                                    : 0;
    if (bytes == 0 || bytes > length)
        return 0;
    *character = bytes == 1 ? text[0] : text[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (text[i] & 0x3fu);
    }
    bool surrogate = *character >= 0xd800 && *character < 0xe000;
    return *character >= LEAST[bytes] && *character <= 0x10ffff && !surrogate ? bytes : 0;
}

static bool is_hidden(uint32_t character) {
    static const uint32_t RANGES[][2] = {{0, 0x1f},        {0x7f, 0xa0},     {0xad, 0xad},
                                         {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2069},
                                         {0xfeff, 0xfeff}};
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++)
        if (character >= RANGES[i][0] && character <= RANGES[i][1])
            return true;
    return false;
}

char *bloom_quote(char quoted[BLOOM_QUOTE_SIZE], const void *text, size_t length) {
    enum { CHARACTERS_MOST = 60, ESCAPE_BYTES = 6, ENDING_BYTES = 5 /* quote, dots, NUL */ };
    const uint8_t *from = text, *end = from + length;
    char *to = quoted, *full = quoted + BLOOM_QUOTE_SIZE - ESCAPE_BYTES - ENDING_BYTES;
    *to++ = '\'';
    for (int i = 0; i < CHARACTERS_MOST && from < end && to <= full; i++) {
        uint32_t character;
        size_t bytes = read_character(from, (size_t)(end - from), &character);
        if (bytes == 0) {
            snprintf(to, ESCAPE_BYTES + 1, "\\x%02x", *from++);
            to += strlen(to);
        } else if (is_hidden(character)) {
            snprintf(to, ESCAPE_BYTES + 1, "\\u%04x", (unsigned)(character & 0xffff));
            to += strlen(to);
            from += bytes;
        } else {
            memcpy(to, from, bytes);
            to += bytes;
            from += bytes;
        }
    }
    strcpy(to, from < end ? "'..." : "'");
    return quoted;
}

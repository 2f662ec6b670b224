/* Text for messages.
 *
 * A message must be valid UTF-8, because a host that decodes it strictly would otherwise show an
 * error of its own. It must hold no control characters, because it goes to terminals and logs. Text
 * from users and databases may break both rules, so bloom_quote writes
 *
 *   - well-formed UTF-8 as it is, and any other byte as \xNN;
 *   - as \uNNNN: control characters (U+0000 to U+001F, U+007F to U+009F), the line separators
 *     U+2028 and U+2029, characters that change the direction of writing (U+200E, U+200F, U+202A to
 *     U+202E, U+2066 to U+2069), and those that nobody sees (U+00A0, U+00AD, U+200B to U+200D,
 *     U+2060 to U+2065, U+FEFF), which copying and pasting brings.
 *
 * The C library writes numbers with the decimal point of the program's locale (LC_NUMERIC): a comma
 * in de_DE, the two bytes of U+066B in ps_AF. So whatever is between two digits of the mantissa
 * becomes a point. localeconv() would return it, but another thread may change it meanwhile.
 */
#include "base/text.h"

#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A problem that is too long is cut off. */
bool bloom_fail(bloom_problem problem, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(problem, BLOOM_PROBLEM_SIZE, format, list);
    va_end(list);
    return false;
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
        size_t bytes;
        uint32_t character = bloom_utf8_read(from, (size_t)(end - from), &bytes);
        if (character == BLOOM_NOT_UTF8) {
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

char *bloom_number_text(char text[BLOOM_NUMBER_SIZE], double number, int digits) {
    snprintf(text, BLOOM_NUMBER_SIZE, "%.*g", digits, number);
    char *point = text + strspn(text, "-0123456789");
    /* Otherwise the number ends here, or continues with an exponent, or is "inf" or "nan". */
    if (*point != '\0' && strchr("ein", *point) == NULL) {
        const char *after = point + strcspn(point, "0123456789");
        *point = '.';
        memmove(point + 1, after, strlen(after) + 1);
    }
    return text;
}

char *bloom_number_sql_text(char text[BLOOM_NUMBER_SIZE], double number) {
    if (isinf(number))
        return strcpy(text, number > 0 ? "Inf" : "-Inf");
    bloom_number_text(text, number == 0 ? 0 : number, 15); /* -0.0 is 0.0 */
    if (strchr(text, '.') == NULL) {
        char *after = text + strcspn(text, "e");
        memmove(after + 2, after, strlen(after) + 1);
        memcpy(after, ".0", 2);
    }
    return text;
}

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

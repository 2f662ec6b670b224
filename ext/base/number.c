/* Numbers as text. See number.h.
 *
 * The C library writes the decimal point of the program's locale (LC_NUMERIC): a comma in de_DE,
 * the two bytes of U+066B in ps_AF. So whatever stands between two digits of the mantissa becomes a
 * point. localeconv() would tell what it is, but another thread may change it meanwhile.
 */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

char *bloom_number_text(char text[BLOOM_NUMBER_SIZE], double number, int digits) {
    snprintf(text, BLOOM_NUMBER_SIZE, "%.*g", digits, number);
    char *point = text + strspn(text, "-0123456789");
    /* Else the number ends here, or goes on with an exponent, or is "inf" or "nan". */
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

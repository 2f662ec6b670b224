/* Numbers in messages have a point in every locale of the program.
 *
 * The locales are built by localedef into build/locale, for this test alone: one has a comma, as in
 * German, and one the two bytes of U+066B, as in Pashto. Without localedef they are skipped. */
#define _XOPEN_SOURCE 700 /* setenv */
#include "library_test.h"
#include "shapes.h"

#include "base/text.h"

#include <locale.h>
#include <math.h>

static void assert_texts(void) {
    static const struct {
        double number;
        int digits; /* 0: as SQL writes it */
        const char *text;
    } TEXTS[] = {
        {-0.0, 6, "-0"},
        {1, 6, "1"},
        {-0.5, 6, "-0.5"},
        {1.5e-5, 6, "1.5e-05"},
        {-1.25e300, 6, "-1.25e+300"},
        {1e15, 6, "1e+15"},
        {0.1, 17, "0.10000000000000001"},
        {-0x1.fffffffffffffp+1023, 17, "-1.7976931348623157e+308"},
        {0x1p-1074, 17, "4.9406564584124654e-324"},
        {123456.75, 3, "1.23e+05"},
        {INFINITY, 6, "inf"},
        {-INFINITY, 6, "-inf"},
        {-1.5, 0, "-1.5"},
        {-0.0, 0, "0.0"},
        {INFINITY, 0, "Inf"},
        {-INFINITY, 0, "-Inf"},
        {-3, 0, "-3.0"},
        {1e300, 0, "1.0e+300"},
        {-0x1.fffffffffffffp+1023, 0, "-1.79769313486232e+308"},
    };
    char text[BLOOM_NUMBER_SIZE];
    for (size_t i = 0; i < COUNT_OF(TEXTS); i++) {
        const int digits = TEXTS[i].digits;
        const char *found = digits == 0 ? bloom_number_sql_text(text, TEXTS[i].number)
                                        : bloom_number_text(text, TEXTS[i].number, digits);
        assert_string_equal(found, TEXTS[i].text);
    }
    assert_non_null(strstr(bloom_number_text(text, NAN, 6), "nan"));
}

static void assert_messages(void) {
    char problem[BLOOM_PROBLEM_SIZE];
    assert_no_shape(&bloom_layout_blocked, 1, 1.5, "p is 1.5. ");
    assert_no_shape(&bloom_layout_blocked, 1, 1e-10,
                    "a rate of 1e-10 is less than layout blocked can keep for 1 keys. Ask for "
                    "9.36e-10 or more");
    assert_no_shape(&bloom_layout_classic, 1, 0.9, "n = 1 and p = 0.9: ");
    struct bloom_shape shape = sized_shape(&bloom_layout_blocked, 100, 0.01), other = shape;
    other.rate = nextafter(shape.rate, 1); /* which 15 digits do not tell apart */
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "p = 0.01 and 0.010000000000000002");
}

/* The locale of a program that chose none, and two that are built first. The test is skipped when
 * they cannot be built. */
static void in_every_locale(void) {
    static const struct {
        const char *name, *point;
    } LOCALES[] = {{"C", "."}, {"comma", ","}, {"two_bytes", "\u066b"}};
    setenv("LOCPATH", "build/locale", 1);
    for (size_t i = 0; i < COUNT_OF(LOCALES); i++) {
        const char *name = LOCALES[i].name, *point = LOCALES[i].point;
        char command[300], found[16];
        snprintf(command, sizeof command,
                 "mkdir -p build/locale; test -d build/locale/%s || printf 'LC_NUMERIC\n"
                 "decimal_point \"%s\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n' | "
                 "localedef -c -i /dev/stdin -f UTF-8 ./build/locale/%s >/dev/null 2>&1",
                 name, point, name);
        if ((i > 0 && system(command) == -1) || setlocale(LC_NUMERIC, name) == NULL) {
            print_message("skipped: localedef cannot make a locale (Debian: locales)\n");
            skip();
        }
        snprintf(found, sizeof found, "%.1f", 1.5);
        assert_int_equal(strlen(found), 2 + strlen(point)); /* else this shows nothing */
        assert_memory_equal(found + 1, point, strlen(point));
        assert_texts();
        assert_messages();
    }
}

RUN_GROUP("number", TEST("Numbers have a point, whatever the locale has", in_every_locale))

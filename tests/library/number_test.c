/* Numbers in messages have a point in every locale of the program.
 *
 * The locales are built by localedef into build/locale, for this test alone: de_DE has a comma,
 * ps_AF the two bytes of U+066B. Without localedef the tests in them are skipped. */
#define _XOPEN_SOURCE 700 /* setenv, mkdir */
#include "library_test.h"
#include "shorthand.h"

#include "base/text.h"
#include "filter/key_set.h"

#include <locale.h>
#include <math.h>
#include <sys/stat.h>

static void assert_text(double number, int digits, const char *expected) {
    char text[BLOOM_NUMBER_SIZE];
    assert_ptr_equal(bloom_number_text(text, number, digits), text);
    assert_string_equal(text, expected);
}

static void assert_texts(void) {
    assert_text(0, 6, "0");
    assert_text(-0.0, 6, "-0");
    assert_text(1, 6, "1");
    assert_text(0.01, 6, "0.01");
    assert_text(-0.5, 6, "-0.5");
    assert_text(1e-5, 6, "1e-05");
    assert_text(1.5e-5, 6, "1.5e-05");
    assert_text(-1.25e300, 6, "-1.25e+300");
    assert_text(1e15, 6, "1e+15");
    assert_text(0.1, 17, "0.10000000000000001");
    assert_text(-0x1.fffffffffffffp+1023, 17, "-1.7976931348623157e+308");
    assert_text(0x1p-1074, 17, "4.9406564584124654e-324");
    assert_text(123456.75, 3, "1.23e+05");
    assert_text(INFINITY, 6, "inf");
    assert_text(-INFINITY, 6, "-inf");
    char text[BLOOM_NUMBER_SIZE];
    assert_non_null(strstr(bloom_number_text(text, NAN, 6), "nan"));
    assert_string_equal(bloom_number_sql_text(text, -1.5), "-1.5");
    assert_string_equal(bloom_number_sql_text(text, -3), "-3.0");
    assert_string_equal(bloom_number_sql_text(text, 1e300), "1.0e+300");
    assert_string_equal(bloom_number_sql_text(text, -0x1.fffffffffffffp+1023),
                        "-1.79769313486232e+308");
}

static void assert_messages(void) {
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_false(bloom_shape_for(&shape, &bloom_layout_blocked, 1, 1.5, problem));
    assert_string_equal(problem, "p is 1.5. Pass a number between 0 and 1");
    assert_false(bloom_shape_for(&shape, &bloom_layout_blocked, 1, 1e-10, problem));
    assert_string_equal(problem,
                        "a rate of 1e-10 is less than layout blocked can keep for 1 keys. Ask "
                        "for 9.36e-10 or more");
    assert_false(bloom_shape_for(&shape, &bloom_layout_classic, 1, 0.9, problem));
    assert_string_equal(
        problem, "n = 1 and p = 0.9: layout classic, with the size that its own library gives it, "
                 "would have no bits. Ask for a smaller p");
    struct bloom_shape other;
    assert_true(bloom_shape_for(&shape, &bloom_layout_blocked, 100, 0.01, problem));
    assert_true(bloom_shape_for(&other, &bloom_layout_blocked, 100, 0.0101, problem));
    other.bits = shape.bits;
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "p = 0.01 and 0.0101");
    other.rate = nextafter(shape.rate, 1);
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "p = 0.01 and 0.010000000000000002");
}

static void as_the_program_begins(void) {
    assert_texts();
    assert_messages();
}

/* Goes over to a locale that is built first; skips the test when that cannot be done. */
static void enter(const char *name, const char *source, const char *point) {
    char command[300], found[16];
    mkdir("build", 0777);
    mkdir("build/locale", 0777);
    snprintf(
        command, sizeof command,
        "test -d build/locale/%s || localedef -i %s -f UTF-8 ./build/locale/%s >/dev/null 2>&1",
        name, source, name);
    setenv("LOCPATH", "build/locale", 1);
    if (system(command) == -1 || setlocale(LC_ALL, name) == NULL) {
        print_message("skipped: locale %s is not there (Debian: locales)\n", source);
        skip();
    }
    snprintf(found, sizeof found, "%.1f", 1.5);
    assert_string_equal(found, point); /* else this shows nothing */
}

static void leave(void) {
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

static void with_a_comma(void) {
    enter("de_DE.UTF-8", "de_DE", "1,5");
    assert_texts();
    assert_messages();
    leave();
}

static void with_two_bytes(void) {
    enter("ps_AF.UTF-8", "ps_AF",
          "1\xd9\xab"
          "5");
    assert_texts();
    assert_messages();
    leave();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Numbers have a point", as_the_program_begins),
        TEST("Numbers have a point where the locale has a comma", with_a_comma),
        TEST("Numbers have a point where the locale has two bytes for it", with_two_bytes),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}

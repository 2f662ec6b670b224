/* As much of cmocka as the kernels' unit test uses, for platforms that run under an emulator and
 * have no cmocka: the first assertion that fails ends the program. */
#ifndef HOSTS_CMOCKA_H
#define HOSTS_CMOCKA_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*function)(void **state);
    int (*set_up)(void **state);
    int (*tear_down)(void **state);
    void *initial_state;
};

#define print_message printf
#define fail_msg(...) (printf("failed: " __VA_ARGS__), printf("\n"), exit(EXIT_FAILURE))
#define assert_true(condition)                                                                     \
    ((condition) ? (void)0 : fail_msg("%s, line %d: %s", __FILE__, __LINE__, #condition))
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_string_equal(a, b) assert_true(strcmp(a, b) == 0)
#define assert_memory_equal(a, b, bytes) assert_true(memcmp(a, b, bytes) == 0)

#define cmocka_run_group_tests_name(name, tests, set_up, tear_down)                                \
    run_tests(name, tests, sizeof(tests) / sizeof *(tests))

static int run_tests(const char *group, const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        void *state = tests[i].initial_state;
        tests[i].function(&state);
        printf("%s: %s\n", group, tests[i].name);
    }
    printf("%s: %u passed\n", group, (unsigned)count);
    return 0;
}

#endif

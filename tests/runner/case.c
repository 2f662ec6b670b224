/* Linked into every program of cmocka: of its tests only the one runs that CASE names. */
#include <stdlib.h>

void cmocka_set_test_filter(const char *pattern);
void choose_case(void);

__attribute__((constructor)) void choose_case(void) {
    const char *name = getenv("CASE");
    if (name != NULL && *name != '\0')
        cmocka_set_test_filter(name);
}

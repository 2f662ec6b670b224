/* A DNS blocker: keeps the filter of a block list in memory, and asks it for each name.
 *
 *     blocker LIST        prints "blocked" or "passed" for each name on its input
 *
 * LIST is a file in any form that bloom_list reads. SIGHUP makes the filter again from the file, as
 * cron can send it every night when the new list has come. A list that has no entry, for example an
 * error page, leaves the old filter in place. A resolver with threads waits until none of them uses
 * the old filter before it closes that. */
#include "sqlite-bloom-filter.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t is_asked_to_reload = 0;

static void ask_to_reload(int number) {
    signal(number, ask_to_reload);
    is_asked_to_reload = 1;
}

/* Returns the text of a file, or NULL. */
static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0 && (text = malloc((size_t)size + 1)) != NULL) {
        *length = fread(text, 1, (size_t)size, file);
        if (ferror(file)) {
            free(text);
            text = NULL;
        }
    }
    if (text == NULL)
        perror(path);
    if (file != NULL)
        fclose(file);
    return text;
}

/* Makes the filter of the list, and puts it in the place of the present one. */
static void reload(struct sqlite_bloom_filter **filter, const char *path) {
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    struct sqlite_bloom_filter *fresh;
    size_t length;
    char *text = read_file(path, &length);
    if (text == NULL)
        return;
    if (sqlite_bloom_filter_from_list(&fresh, text, length, 0.0001, NULL, NULL, problem) ==
        SQLITE_BLOOM_OK) {
        sqlite_bloom_filter_close(*filter);
        *filter = fresh;
    } else {
        fprintf(stderr, "blocker: %s\n", problem);
    }
    free(text);
}

int main(int count, char **arguments) {
    struct sqlite_bloom_filter *filter = NULL;
    char name[1024];
    if (count != 2) {
        fprintf(stderr, "usage: blocker LIST\n");
        return 2;
    }
    reload(&filter, arguments[1]);
    if (filter == NULL)
        return 2;
#ifdef SIGHUP
    signal(SIGHUP, ask_to_reload);
#endif
    while (fgets(name, sizeof name, stdin) != NULL || (is_asked_to_reload && !feof(stdin))) {
        if (is_asked_to_reload) {
            is_asked_to_reload = 0;
            reload(&filter, arguments[1]);
        }
        if (ferror(stdin)) { /* the signal came while it waited for a name */
            clearerr(stdin);
            continue;
        }
        name[strcspn(name, "\r\n")] = '\0';
        int is_blocked = sqlite_bloom_filter_check_text(filter, name, strlen(name)) == 1;
        printf("%s %s\n", is_blocked ? "blocked" : "passed", name);
        fflush(stdout);
    }
    sqlite_bloom_filter_close(filter);
    return 0;
}

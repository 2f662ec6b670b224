/* What the programs with threads share: threads that all begin at once, and what they count. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8 };

static pthread_barrier_t start;
static int passed, failed;

/* Counts a test, which found nothing wrong if problem is NULL or empty. */
static void report(const char *title, const char *problem) {
    const int is_well = problem == NULL || problem[0] == '\0';
    passed += is_well;
    failed += !is_well;
    if (!is_well)
        printf("%s: %s\n", title, problem);
}

/* Runs work with each of THREADS arguments of that size, at the same time. */
static void run_threads(void *(*work)(void *), void *arguments, size_t size) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (char *)arguments + (size_t)i * size) != 0) {
            fputs("no thread to be had\n", stderr);
            exit(1);
        }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
}

/* The last line of each program, and how it ends. */
static int summary(void) {
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

#endif

/* Many threads at once on one filter through sqlite-bloom-filter.h: what its header allows, all
 * that takes a const filter. Each layout is asked, and key rules and salts. run.sh builds this
 * program and the library with ThreadSanitizer, which reports two threads at one place in memory
 * even when nothing came of it; the program itself compares answers, exactly.
 */
#include "sqlite-bloom-filter.h"

#include "filter/layout.h"
#include "threads.h"

#include <string.h>

enum { KEYS = 600, ADDED = 300, TEXT_SIZE = 700, LONG_URLS = 10 };

#define SALT "salt=000102030405060708090a0b0c0d0e0f"

static struct sqlite_bloom_key keys[KEYS]; /* of all types; the first ADDED are added */
static struct sqlite_bloom_key numbers[KEYS];
static char texts[KEYS][TEXT_SIZE];

/* What the threads share, all of it unchanged while they run. */
static const struct sqlite_bloom_filter *shared;
static const struct sqlite_bloom_key *asked;

/* What a thread found out: written by itself, read after it has been joined. */
struct reader {
    int number;
    int answers[KEYS];
    unsigned char found[KEYS];
    const char *problem;
};

static void die(const char *what, const char *problem) {
    fprintf(stderr, "readers_test: %s: %s\n", what, problem);
    exit(1);
}

static void make_keys(void) {
    for (int i = 0; i < KEYS; i++) {
        int used = snprintf(texts[i], TEXT_SIZE, "http://host%d.example/%d", i % 40, i);
        if (i < LONG_URLS || i >= KEYS - LONG_URLS) /* a key rule needs memory for these */
            used += snprintf(texts[i] + used, TEXT_SIZE - (size_t)used, "/%0600d", i);
        const struct sqlite_bloom_key kinds[] = {
            sqlite_bloom_text_key(texts[i], (size_t)used),
            sqlite_bloom_bytes_key(texts[i], (size_t)used),
            sqlite_bloom_integer_key(i),
            sqlite_bloom_real_key(i + 0.5),
        };
        keys[i] = kinds[i % 4];
        numbers[i] = sqlite_bloom_integer_key(7 * i);
    }
}

/* All else that leaves a filter as it is. */
static const char *use_otherwise(void) {
    struct sqlite_bloom_description description;
    struct sqlite_bloom_estimate estimate;
    struct sqlite_bloom_filter *made = NULL;
    const struct sqlite_bloom_filter *const twice[] = {shared, shared};
    size_t length, exported = 0, other;
    const void *bytes = sqlite_bloom_filter_bytes(shared, &length);
    sqlite_bloom_filter_describe(shared, &description);
    sqlite_bloom_filter_estimate(shared, &estimate);
    sqlite_bloom_filter_export(shared, "dcso", NULL, &exported, NULL);
    if (sqlite_bloom_filter_copy(&made, shared, NULL, NULL) != SQLITE_BLOOM_OK ||
        memcmp(sqlite_bloom_filter_bytes(made, &other), bytes, length) != 0)
        return "the copy is another filter";
    sqlite_bloom_filter_close(made);
    int status = sqlite_bloom_filter_union(&made, twice, 2, NULL, NULL);
    if (status == SQLITE_BLOOM_OK)
        sqlite_bloom_filter_close(made);
    return status == SQLITE_BLOOM_OK || status == SQLITE_BLOOM_REFUSED ? NULL : "no union of it";
}

/* Each thread begins at another key, so that they ask different ones at the same time. */
static void *read_filter(void *argument) {
    struct reader *reader = argument;
    pthread_barrier_wait(&start);
    for (int i = 0; i < KEYS; i++) {
        int at = (i + reader->number * KEYS / THREADS) % KEYS;
        reader->answers[at] = sqlite_bloom_filter_check(shared, asked[at]);
    }
    sqlite_bloom_filter_check_many(shared, asked, KEYS, reader->found);
    reader->problem = use_otherwise();
    return NULL;
}

/* Threads must find what one thread alone finds. */
static void read_together(const char *title, const struct sqlite_bloom_filter *filter,
                          const struct sqlite_bloom_key *of) {
    static struct reader readers[THREADS];
    const char *problem = NULL;
    int in = 0;
    shared = filter;
    asked = of;
    for (int i = 0; i < THREADS; i++)
        readers[i] = (struct reader){.number = i};
    run_threads(read_filter, readers, sizeof *readers);
    for (int key = 0; key < KEYS; key++) {
        const int answer = sqlite_bloom_filter_check(filter, of[key]);
        in += answer == 1;
        for (int i = 0; i < THREADS; i++)
            if (readers[i].answers[key] != answer || readers[i].found[key] != (answer == 1))
                problem = "other answers than in a single thread";
    }
    for (int i = 0; i < THREADS && problem == NULL; i++)
        problem = readers[i].problem;
    report(title, in < ADDED / 4 ? "too few keys are in" : problem);
}

/* A view on a filter that a builder makes of the keys that it takes. Threads share the view, not
 * what made it. */
static void read_built(const char *name, double p, const char *options,
                       const struct sqlite_bloom_key *of) {
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    struct sqlite_bloom_builder *builder;
    struct sqlite_bloom_filter *filter, *view;
    size_t length;
    if (sqlite_bloom_builder_open(&builder, p, options, NULL, problem) != SQLITE_BLOOM_OK)
        die(options, problem);
    for (int i = 0; i < ADDED; i++) {
        int status = sqlite_bloom_builder_add(builder, of[i], problem);
        if (status != SQLITE_BLOOM_OK && status != SQLITE_BLOOM_NO_KEY)
            die(options, problem);
    }
    if (sqlite_bloom_builder_finish(builder, &filter, problem) != SQLITE_BLOOM_OK)
        die(options, problem);
    const void *bytes = sqlite_bloom_filter_bytes(filter, &length);
    if (sqlite_bloom_filter_open(&view, bytes, length, NULL, problem) != SQLITE_BLOOM_OK)
        die(options, problem);
    read_together(name, view, of);
    sqlite_bloom_filter_close(view);
    sqlite_bloom_filter_close(filter);
    sqlite_bloom_builder_close(builder);
}

/* A layout that is imported only: Guava's older strategy, with most of its bits set. */
static void read_older_guava(void) {
    enum { WORDS = 16 };
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    unsigned char bytes[6 + 8 * WORDS] = {0, 2, 0, 0, 0, WORDS};
    struct sqlite_bloom_filter *filter;
    memset(bytes + 6, 0xfd, sizeof bytes - 6);
    if (sqlite_bloom_filter_import(&filter, bytes, sizeof bytes, "guava", NULL, problem) != 0)
        die("classic32", problem);
    read_together("classic32", filter, keys);
    sqlite_bloom_filter_close(filter);
}

int main(void) {
    static const char *const KEYINGS[] = {SALT, "key=url", "key=url_nocase, " SALT,
                                          "layout=counting, key=url, " SALT,
                                          "layout=fuse, key=url, " SALT};
    char names[BLOOM_PROBLEM_SIZE], *rest = names;
    int layouts = 0;
    make_keys();
    bloom_layout_list(names, sizeof names, false); /* 'blocked', 'classic', ... */
    for (const char *name; (name = strtok(rest, "', ")) != NULL; rest = NULL, layouts++) {
        const struct bloom_layout *layout = bloom_layout_by_name(name, strlen(name));
        const int of_numbers = layout->exact || layout == &bloom_layout_parquet_int32;
        read_built(name, layout->exact ? 0 : 0.01, name, of_numbers ? numbers : keys);
    }
    if (layouts < 13)
        die("layouts", "too few of them");
    for (size_t i = 0; i < sizeof KEYINGS / sizeof *KEYINGS; i++)
        read_built(KEYINGS[i], 0.01, KEYINGS[i], keys);
    read_older_guava();
    return summary();
}

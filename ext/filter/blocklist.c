/* A block list is read row by row, and each key goes to a builder. A host is the same key by every
 * key rule for URLs, so the rule can be chosen when all entries are known: the bytes of the filter
 * depend on nothing but the entries. */
#include "filter/blocklist.h"

#include "base/limits.h"
#include "filter/key.h"
#include "filter/options.h"

#include <stdio.h>

enum bloom_built bloom_blocklist_begin(struct bloom_blocklist *blocklist,
                                       const struct bloom_shape *shape, uint64_t limit,
                                       const uint64_t seed[2], const struct bloom_memory *memory,
                                       bloom_problem problem) {
    static const char RULE[] = "url_nocase";
    struct bloom_shape ruled = *shape;
    *blocklist = (struct bloom_blocklist){.chooses = shape->keying.rule == NULL};
    if (blocklist->chooses)
        ruled.keying.rule = bloom_key_rule_by_name(RULE, strlen(RULE));
    if (bloom_options_fit(ruled.layout, &ruled.keying, problem) != BLOOM_OPTION_READ)
        return BLOOM_BUILD_REFUSED;
    blocklist->list = bloom_allocate(memory, sizeof *blocklist->list);
    if (blocklist->list == NULL)
        return BLOOM_BUILD_NO_MEMORY;
    bloom_builder_begin(&blocklist->builder, &ruled, limit, seed, memory);
    return BLOOM_BUILT;
}

/* Adds an entry. */
static enum bloom_built add_entry(struct bloom_blocklist *blocklist,
                                  const struct bloom_list_entry *entry, bloom_problem problem) {
    struct bloom_builder *builder = &blocklist->builder;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    char quoted[BLOOM_QUOTE_SIZE];
    switch (bloom_ruled_key(&builder->shape, entry->key, entry->key_bytes, builder->keys.memory,
                            words)) {
    case BLOOM_KEY:
        blocklist->has_entry = true;
        blocklist->has_path |= entry->key_bytes > entry->host_bytes + 1;
        return bloom_builder_add(builder, words, problem);
    case BLOOM_KEY_NO_MEMORY:
        return BLOOM_BUILD_NO_MEMORY;
    default:
        bloom_fail(problem,
                   "line %" PRIu64 ", %s, has a path, but key=host is for hosts alone. Leave the "
                   "option out, or write key=url",
                   entry->line, bloom_quote(quoted, entry->written, entry->written_bytes));
        return BLOOM_BUILD_REFUSED;
    }
}

enum bloom_built bloom_blocklist_add(struct bloom_blocklist *blocklist, const uint8_t *text,
                                     size_t length, bool (*interrupted)(void *argument),
                                     void *argument, bloom_problem problem) {
    struct bloom_list *list = blocklist->list;
    struct bloom_list_entry entry;
    enum bloom_list_step step;
    size_t asked = 0;
    bloom_list_begin(list, text, length);
    while ((step = bloom_list_next(list, &entry)) != BLOOM_LIST_END) {
        if (step == BLOOM_LIST_PAUSE || list->at - asked > bloom_limits.list_stretch) {
            asked = list->at;
            if (interrupted != NULL && interrupted(argument))
                return BLOOM_BUILD_INTERRUPTED;
        }
        if (step == BLOOM_LIST_PAUSE)
            continue;
        blocklist->read[entry.form]++;
        enum bloom_built built =
            entry.key != NULL ? add_entry(blocklist, &entry, problem) : BLOOM_BUILT;
        if (built != BLOOM_BUILT)
            return built;
    }
    return BLOOM_BUILT;
}

/* Says what the lists have instead of entries: the notes of their rows, the most frequent first. */
static void describe_rows(const struct bloom_blocklist *blocklist, bloom_problem problem) {
    enum { SHOWN = 4 };
    static const char NO_ENTRY[] = "no entry: ";
    uint64_t left[LIST_FORM_COUNT];
    size_t used = 0;
    memcpy(left, blocklist->read, sizeof left);
    bloom_fail(problem, "no line has an entry that stops a page");
    for (unsigned shown = 0; shown < SHOWN; shown++) {
        unsigned most = 0;
        for (unsigned form = 1; form < LIST_FORM_COUNT; form++)
            most = left[form] > left[most] ? form : most;
        if (left[most] == 0)
            break;
        used = strlen(problem);
        snprintf(problem + used, BLOOM_PROBLEM_SIZE - used, "%s %" PRIu64 " x %s",
                 shown == 0 ? ":" : ",", left[most], list_note(most) + strlen(NO_ENTRY));
        left[most] = 0;
    }
    used = strlen(problem);
    snprintf(problem + used, BLOOM_PROBLEM_SIZE - used,
             ". Check what was downloaded, for example with SELECT * FROM bloom_list(text)");
}

enum bloom_built bloom_blocklist_finish(struct bloom_blocklist *blocklist,
                                        bool (*interrupted)(void *argument), void *argument,
                                        struct bloom_shape *shape, uint8_t **filter,
                                        bloom_problem problem) {
    static const char HOST[] = "host";
    *filter = NULL;
    if (!blocklist->has_entry) {
        describe_rows(blocklist, problem);
        return BLOOM_BUILD_REFUSED;
    }
    if (blocklist->chooses && !blocklist->has_path)
        blocklist->builder.shape.keying.rule = bloom_key_rule_by_name(HOST, strlen(HOST));
    return bloom_builder_finish(&blocklist->builder, interrupted, argument, shape, filter, problem);
}

void bloom_blocklist_release(struct bloom_blocklist *blocklist) {
    bloom_release(blocklist->builder.keys.memory, blocklist->list);
    bloom_builder_release(&blocklist->builder);
}

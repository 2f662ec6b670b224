/* From the text of a block list, or of several, to a filter of their entries. */
#ifndef BLOOM_FILTER_BLOCKLIST_H
#define BLOOM_FILTER_BLOCKLIST_H

#include "filter/builder.h"
#include "list/list.h"

/* The default of p: a visit asks for many keys. */
#define BLOOM_BLOCKLIST_RATE 0.0001

struct bloom_blocklist {
    struct bloom_builder builder;
    struct bloom_list *list;
    bool chooses; /* the entries decide about the key rule */
    bool has_path;
    bool has_entry;
    uint64_t read[LIST_FORM_COUNT]; /* rows, by how they were read */
};

/* Begins a filter of layout, rate and keying of a shape. If the shape has no key rule, it will be
 * key=host if no entry has a path, and otherwise key=url_nocase. Seed and limit are those of a
 * builder. problem is set after BLOOM_BUILD_REFUSED. Release it after BLOOM_BUILT. */
enum bloom_built bloom_blocklist_begin(struct bloom_blocklist *blocklist,
                                       const struct bloom_shape *shape, uint64_t limit,
                                       const uint64_t seed[2], const struct bloom_memory *memory,
                                       bloom_problem problem);

/* Adds the entries of a list that bloom_given_text takes. interrupted may be NULL; it ends the work
 * by returning true, and then the result does not matter. problem is a sentence after
 * BLOOM_BUILD_REFUSED. */
enum bloom_built bloom_blocklist_add(struct bloom_blocklist *blocklist, const uint8_t *text,
                                     size_t length, bool (*interrupted)(void *argument),
                                     void *argument, bloom_problem problem);

/* Builds the filter, as bloom_builder_finish. No entry at all is refused. */
enum bloom_built bloom_blocklist_finish(struct bloom_blocklist *blocklist,
                                        bool (*interrupted)(void *argument), void *argument,
                                        struct bloom_shape *shape, uint8_t **filter,
                                        bloom_problem problem);

void bloom_blocklist_release(struct bloom_blocklist *blocklist);

#endif

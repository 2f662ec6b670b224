/* See store.h. */
#include "table/store.h"

#include <string.h>

struct bloom_store {
    struct bloom_registry *registry;
    struct bloom_store *next; /* in the registry */
    struct bloom_database database;
    struct bloom_chunks chunks;
    struct bloom_layers layers;
    bool expects_new; /* the last key added was new, so the next one may be */
    bool at_work;     /* for another object of its table, which SQLite does not know of */
    bool closed;      /* meanwhile */
};

/* The registry */

struct bloom_registry *bloom_registry_new(void) {
    struct bloom_registry *registry = sqlite3_malloc(sizeof *registry);
    if (registry != NULL)
        *registry = (struct bloom_registry){.references = 1};
    return registry;
}

void bloom_registry_release(struct bloom_registry *registry) {
    if (--registry->references == 0)
        sqlite3_free(registry);
}

static bool is_same_table(const struct bloom_store *a, const struct bloom_store *b) {
    return sqlite3_stricmp(a->database.schema, b->database.schema) == 0 &&
           sqlite3_stricmp(a->database.name, b->database.name) == 0;
}

static void free_store(struct bloom_store *store) {
    bloom_layers_close(&store->layers);
    bloom_chunks_close(&store->chunks);
    bloom_database_close(&store->database);
    bloom_registry_release(store->registry);
    sqlite3_free(store);
}

/* Writes the counts of an object that SQLite may keep for the transaction alone. An error (no
 * memory, I/O, an interrupt) may roll that back amid the statement, and SQLite then lets go of the
 * object: it is freed when the statement has ended. */
static int write_counts_of(struct bloom_store *store) {
    store->at_work = true;
    int code = bloom_layers_write_counts(&store->layers);
    store->at_work = false;
    if (store->closed)
        free_store(store);
    return code;
}

/* Writes the counts of the other objects of this table. The next one is known before: the object
 * may be gone afterwards, and with it others, but only when there was an error. */
static int write_counts_of_others(struct bloom_store *store) {
    for (struct bloom_store *other = store->registry->first, *next; other != NULL; other = next) {
        next = other->next;
        if (other == store || !is_same_table(other, store))
            continue;
        int code = write_counts_of(other);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

/* Life */

struct bloom_store *bloom_store_open(struct bloom_registry *registry, sqlite3 *connection,
                                     const char *schema, const char *name,
                                     const struct bloom_growth *growth) {
    struct bloom_store *store = sqlite3_malloc(sizeof *store);
    if (store == NULL)
        return NULL;
    memset(store, 0, sizeof *store);
    registry->references++;
    store->registry = registry;
    store->next = registry->first;
    registry->first = store;
    bool opened =
        bloom_database_open(&store->database, connection, schema, name, &registry->running);
    opened = bloom_chunks_open(&store->chunks, &store->database) && opened;
    bloom_layers_open(&store->layers, &store->database, &store->chunks, growth);
    if (opened)
        return store;
    bloom_store_close(store);
    return NULL;
}

void bloom_store_close(struct bloom_store *store) {
    if (store == NULL)
        return;
    struct bloom_store **link = &store->registry->first;
    while (*link != store)
        link = &(*link)->next;
    *link = store->next;
    store->closed = true;
    if (!store->at_work)
        free_store(store);
}

int bloom_store_fail(struct bloom_store *store, const char *text) {
    return bloom_database_fail(&store->database, SQLITE_ERROR, "%s", text);
}

const struct bloom_layout *bloom_store_layout(const struct bloom_store *store) {
    return store->layers.growth.layout;
}

char *bloom_store_message(struct bloom_store *store) {
    return bloom_database_message(&store->database);
}

/* Deeds: what is done to the layers of a store, between coming to know them and settling. When the
 * schema turns out to be another one all is forgotten, and the deed begins again. */

struct deed {
    int (*run)(struct bloom_store *store, struct deed *deed);
    bool changes; /* SQLite counts a row for it */
    enum bloom_chunk_sizes sizes;
    const uint64_t *words;
    bool again, found;
    int64_t length_limit;
    struct bloom_shape *shape;
    uint8_t **bytes;
    char **text;
    const struct bloom_stored *filter;
};

static int try_deed(struct bloom_store *store, struct deed *deed) {
    int code = write_counts_of_others(store);
    if (code == SQLITE_OK)
        code = bloom_layers_know(&store->layers, deed->sizes);
    return code == SQLITE_OK ? deed->run(store, deed) : code;
}

static int do_deed(struct bloom_store *store, struct deed *deed) {
    enum { TRIES = 5 };
    int code = bloom_database_enter(&store->database);
    if (code != SQLITE_OK)
        return code;
    code = try_deed(store, deed);
    for (int i = 1; code == SQLITE_SCHEMA && i < TRIES; i++) {
        bloom_chunks_rest(&store->chunks);
        bloom_layers_forget(&store->layers);
        bloom_database_forget(&store->database);
        sqlite3_free(bloom_store_message(store));
        code = try_deed(store, deed);
    }
    if (store->layers.cursors == 0)
        bloom_chunks_rest(&store->chunks);
    if (code == SQLITE_OK)
        bloom_layers_settle(&store->layers, deed->changes);
    else
        bloom_layers_forget(&store->layers);
    return code;
}

/* The shadow tables */

int bloom_store_create(struct bloom_store *store) {
    int code = bloom_database_enter(&store->database);
    if (code == SQLITE_OK)
        code = bloom_database_create_tables(&store->database);
    if (code == SQLITE_OK)
        code = bloom_layers_grow(&store->layers);
    bloom_layers_forget(&store->layers);
    if (code == SQLITE_OK) {
        /* SQLite takes the creation for the begin of the table's transaction. */
        bloom_layers_begin(&store->layers);
        store->layers.at_once = true;
    }
    return code;
}

int bloom_store_drop(struct bloom_store *store) {
    int code = bloom_database_enter(&store->database);
    bloom_chunks_rest(&store->chunks);
    bloom_layers_forget(&store->layers);
    return code == SQLITE_OK ? bloom_database_drop_tables(&store->database) : code;
}

int bloom_store_rename(struct bloom_store *store, const char *name) {
    int code = bloom_database_enter(&store->database);
    if (code == SQLITE_OK)
        code = write_counts_of_others(store);
    if (code == SQLITE_OK)
        code = bloom_layers_write_counts(&store->layers);
    bloom_chunks_rest(&store->chunks);
    bloom_layers_forget(&store->layers);
    return code == SQLITE_OK ? bloom_database_rename_tables(&store->database, name) : code;
}

/* Keys */

/* Whether a key is in one layer. */
static int check_layer(struct bloom_store *store, unsigned index, const uint64_t *words,
                       bool *found) {
    const struct bloom_geometry *geometry = &store->layers.layers[index].geometry;
    const struct bloom_blocks *blocks = geometry->shape.layout->blocks;
    uint8_t bytes[BLOOM_BLOCK_BYTES_MAXIMUM];
    int code =
        bloom_block_read(&store->chunks, geometry, blocks->of(&geometry->shape, words), bytes);
    *found = code == SQLITE_OK && blocks->check(&geometry->shape, bytes, words);
    return code;
}

static int run_check(struct bloom_store *store, struct deed *deed) {
    int code = SQLITE_OK;
    deed->found = false;
    /* The last layer is the largest. */
    for (unsigned i = store->layers.count; code == SQLITE_OK && i > 0 && !deed->found; i--)
        code = check_layer(store, i - 1, deed->words, &deed->found);
    return code;
}

int bloom_store_check(struct bloom_store *store, const uint64_t *words, bool *found) {
    struct deed deed = {.run = run_check, .sizes = BLOOM_SIZES_LATER, .words = words};
    int code = do_deed(store, &deed);
    *found = deed.found;
    return code;
}

static bool has_room(const struct bloom_layer *layer) {
    return layer->keys < layer->limits.keys && layer->ones < layer->limits.ones;
}

/* Opens the block of a key in a layer, and tells whether it is in. */
static int open_block(struct bloom_store *store, unsigned index, const uint64_t *words,
                      struct bloom_block_edit *edit, bool *found) {
    const struct bloom_geometry *geometry = &store->layers.layers[index].geometry;
    const struct bloom_blocks *blocks = geometry->shape.layout->blocks;
    int code =
        bloom_block_open(&store->chunks, geometry, blocks->of(&geometry->shape, words), edit);
    *found = code == SQLITE_OK && blocks->check(&geometry->shape, edit->bytes, words);
    return code;
}

/* Adds a key to a layer, unless it is found there, which counts it once more if it is to be; or
 * unless the layer is full, which leaves *found and *added false. The edit, which may be open, is
 * closed. */
static int add_to_layer_if_new(struct bloom_store *store, unsigned index, const uint64_t *words,
                               bool again, struct bloom_block_edit *edit, bool *found,
                               bool *added) {
    struct bloom_layer *layer = &store->layers.layers[index];
    const struct bloom_shape *shape = &layer->geometry.shape;
    *found = *added = false;
    int code = bloom_layers_expect_counts(&store->layers, index);
    if (code == SQLITE_OK)
        code = open_block(store, index, words, edit, found);
    if (code != SQLITE_OK)
        return code;
    *added = !*found && has_room(layer);
    if (!*added && !(*found && again)) {
        bloom_block_close(edit);
        return SQLITE_OK;
    }
    unsigned ones = shape->layout->blocks->add(shape, edit->bytes, words);
    code = bloom_block_save(&store->chunks, edit);
    if (code != SQLITE_OK || *found)
        return code;
    return bloom_layers_add_counts(&store->layers, index, 1, !edit->has_row, ones);
}

/* Adds a key to the last layer, or to a further one when it is full. */
static int add_to_last_layer(struct bloom_store *store, const uint64_t *words, bool again,
                             struct bloom_block_edit *edit, bool *found, bool *added) {
    struct bloom_layers *layers = &store->layers;
    for (;;) {
        int code = add_to_layer_if_new(store, layers->count - 1, words, again, edit, found, added);
        if (code != SQLITE_OK || *found || *added)
            return code;
        if (layers->growth.mode == BLOOM_GROWTH_ERROR)
            return bloom_database_fail(
                &store->database, SQLITE_ERROR,
                "the table is full: it was made for %llu keys, and growth=error refuses more; make "
                "one with a larger capacity",
                (sqlite3_uint64)layers->growth.capacity);
        code = bloom_layers_grow(layers);
        if (code != SQLITE_OK)
            return code;
    }
}

/* Whether a key is in one of the layers, and in which. Where a block will be changed, as the key is
 * new or is to be counted, the key is not looked for in the last one, and the block in the last one
 * looked at is left open: a handle for change is opened anyway, and takes less time to move than a
 * statement takes. Otherwise the last layer comes first, which is the largest. */
static int find_key(struct bloom_store *store, const uint64_t *words, bool expects_change,
                    struct bloom_block_edit *edit, bool *found, unsigned *at) {
    unsigned count = store->layers.count;
    int code = SQLITE_OK;
    *found = false;
    for (unsigned i = 0; code == SQLITE_OK && i + expects_change < count && !*found; i++) {
        *at = expects_change ? i : count - 1 - i;
        code = expects_change ? open_block(store, *at, words, edit, found)
                              : check_layer(store, *at, words, found);
    }
    return code;
}

static int run_add(struct bloom_store *store, struct deed *deed) {
    struct bloom_block_edit edit;
    bool added = false, counts = deed->again && bloom_store_layout(store)->blocks->remove != NULL;
    unsigned at = 0; /* the layer it was found in */
    edit.handle = NULL;
    /* Keys that are in and keys that are new come in runs. */
    int code = find_key(store, deed->words, counts || store->expects_new, &edit, &deed->found, &at);
    if (code == SQLITE_OK && !deed->found)
        code = add_to_last_layer(store, deed->words, counts, &edit, &deed->found, &added);
    else if (code == SQLITE_OK && counts)
        code = add_to_layer_if_new(store, at, deed->words, true, &edit, &deed->found, &added);
    bloom_block_close(&edit);
    store->expects_new = added;
    deed->changes = !deed->found || deed->again;
    return code;
}

int bloom_store_add(struct bloom_store *store, const uint64_t *words, bool again, bool *found) {
    struct deed deed = {.run = run_add, .words = words, .again = again};
    int code = do_deed(store, &deed);
    *found = deed.found;
    return code;
}

/* Takes a key out of the block that is open, in which it is. */
static int remove_from_block(struct bloom_store *store, unsigned index, const uint64_t *words,
                             struct bloom_block_edit *edit) {
    const struct bloom_shape *shape = &store->layers.layers[index].geometry.shape;
    /* It is gone when one of its counters is zero now. */
    unsigned zeros = shape->layout->blocks->remove(shape, edit->bytes, words);
    int code = bloom_block_save(&store->chunks, edit);
    if (code != SQLITE_OK)
        return code;
    return bloom_layers_add_counts(&store->layers, index, zeros > 0 ? -1 : 0, 0, -(int64_t)zeros);
}

/* A key that is in several layers stays. */
static int run_remove(struct bloom_store *store, struct deed *deed) {
    struct bloom_block_edit edit;
    unsigned layers_with = 0, count = store->layers.count, at = 0;
    bool found;
    int code = SQLITE_OK;
    edit.handle = NULL;
    if (count == 1)
        code = bloom_layers_expect_counts(&store->layers, 0);
    for (unsigned i = 0; code == SQLITE_OK && i < count; i++) {
        code = open_block(store, i, deed->words, &edit, &found);
        layers_with += found;
        at = found ? i : at;
    }
    if (code == SQLITE_OK && layers_with == 1 && count > 1) {
        code = bloom_layers_expect_counts(&store->layers, at);
        if (code == SQLITE_OK)
            code = open_block(store, at, deed->words, &edit, &found);
    }
    if (code == SQLITE_OK && layers_with == 1)
        return remove_from_block(store, at, deed->words, &edit);
    bloom_block_close(&edit);
    return code;
}

int bloom_store_remove(struct bloom_store *store, const uint64_t *words) {
    struct deed deed = {.run = run_remove, .words = words, .changes = true};
    return do_deed(store, &deed);
}

/* The whole */

static int run_filter(struct bloom_store *store, struct deed *deed) {
    return bloom_whole_filter(&store->layers, deed->length_limit, deed->shape, deed->bytes);
}

int bloom_store_filter(struct bloom_store *store, int64_t length_limit, struct bloom_shape *shape,
                       uint8_t **bytes) {
    struct deed deed = {
        .run = run_filter, .length_limit = length_limit, .shape = shape, .bytes = bytes};
    *bytes = NULL;
    return do_deed(store, &deed);
}

static int run_info(struct bloom_store *store, struct deed *deed) {
    return bloom_whole_info(&store->layers, deed->text);
}

int bloom_store_info(struct bloom_store *store, char **json) {
    struct deed deed = {.run = run_info, .text = json};
    *json = NULL;
    return do_deed(store, &deed);
}

static int run_merge(struct bloom_store *store, struct deed *deed) {
    return bloom_whole_merge(&store->layers, deed->filter);
}

int bloom_store_merge(struct bloom_store *store, const struct bloom_stored *filter) {
    struct deed deed = {.run = run_merge, .filter = filter, .changes = true};
    return do_deed(store, &deed);
}

static int run_clear(struct bloom_store *store, struct deed *deed) {
    (void)deed;
    bloom_chunks_rest(&store->chunks);
    return bloom_layers_clear(&store->layers);
}

int bloom_store_clear(struct bloom_store *store) {
    struct deed deed = {.run = run_clear, .changes = true, .sizes = BLOOM_SIZES_ANY};
    return do_deed(store, &deed);
}

static int run_repair(struct bloom_store *store, struct deed *deed) {
    (void)deed;
    return bloom_whole_repair(&store->layers);
}

int bloom_store_repair(struct bloom_store *store) {
    struct deed deed = {.run = run_repair, .changes = true};
    return do_deed(store, &deed);
}

static int run_verify(struct bloom_store *store, struct deed *deed) {
    return bloom_whole_verify(&store->layers, deed->text);
}

int bloom_store_verify(struct bloom_store *store, char **problem) {
    struct deed deed = {.run = run_verify, .text = problem};
    *problem = NULL;
    int code = do_deed(store, &deed);
    /* Damage is what is to be found; of any other error nothing is known. */
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_ERROR) {
        *problem = bloom_store_message(store);
        code = SQLITE_OK;
    }
    return code;
}

/* Cursors and transactions. Savepoints that a statement of our own makes are its own business: it
 * goes well or it fails, which who runs it deals with. */

void bloom_store_enter(struct bloom_store *store) {
    bloom_layers_enter(&store->layers);
}

void bloom_store_leave(struct bloom_store *store) {
    bloom_layers_leave(&store->layers);
}

void bloom_store_begin(struct bloom_store *store) {
    bloom_layers_begin(&store->layers);
}

int bloom_store_sync(struct bloom_store *store) {
    bloom_chunks_rest(&store->chunks);
    return bloom_layers_write_counts(&store->layers);
}

void bloom_store_end(struct bloom_store *store, bool rolled_back) {
    bloom_layers_end(&store->layers, rolled_back);
}

/* A savepoint that one table refuses does not begin, and those that were told of it already are not
 * told so. With the error SQLite may have let go of this object. */
int bloom_store_savepoint(struct bloom_store *store, int depth) {
    struct bloom_registry *registry = store->registry;
    if (registry->running > 0)
        return SQLITE_OK;
    registry->references++;
    int code = bloom_layers_savepoint(&store->layers, depth);
    for (store = registry->first; code != SQLITE_OK && store != NULL; store = store->next)
        bloom_layers_release(&store->layers, depth);
    bloom_registry_release(registry);
    return code;
}

void bloom_store_release(struct bloom_store *store, int depth) {
    if (store->registry->running == 0)
        bloom_layers_release(&store->layers, depth);
}

void bloom_store_rollback_to(struct bloom_store *store, int depth) {
    if (store->registry->running == 0)
        bloom_layers_rollback_to(&store->layers, depth);
}

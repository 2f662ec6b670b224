/* Every function walks over the rows that exist, and not over all chunks that there could be. Only
 * the value of SELECT filter has the size of the whole first layer, which SQLITE_LIMIT_LENGTH
 * bounds. */
#include "table/maintain.h"

#include "sqlite/message.h"

#include <math.h>
#include <string.h>

char *bloom_hashes_call(char text[BLOOM_HASHES_CALL_SIZE], const struct bloom_keying *keying,
                        const char *type) {
    const char *key = keying->rule != NULL ? keying->rule->name : type;
    sqlite3_snprintf(BLOOM_HASHES_CALL_SIZE, text, "bloom_hashes(key%s%s%s%s%s%s)",
                     *key != '\0' || keying->salted ? ", '" : "", *key != '\0' ? "key=" : "", key,
                     *key != '\0' && keying->salted ? ", " : "", keying->salted ? "salt=..." : "",
                     *key != '\0' || keying->salted ? "'" : "");
    return text;
}

int bloom_maintain_clear(struct bloom_chunks *chunks) {
    int code = bloom_database_run(chunks->database, BLOOM_DELETE_ROWS, 0, 0);
    return code == SQLITE_OK && chunks->growth.generations > 1
               ? bloom_chunks_write_newest(chunks, 0)
               : code;
}

int bloom_maintain_rotate(struct bloom_chunks *chunks) {
    if (chunks->growth.generations == 1)
        return bloom_database_fail(chunks->database, SQLITE_ERROR,
                                   "the table has no generations to rotate. Make one with "
                                   "generations=G, from 2 to 64");
    int code = bloom_chunks_start_reading(chunks);
    if (code == SQLITE_OK && chunks->newest == UINT32_MAX)
        code = bloom_database_fail(chunks->database, SQLITE_ERROR,
                                   "the table has rotated 4294967295 times, and there are no more "
                                   "numbers. The command clear begins again");
    return code == SQLITE_OK ? bloom_chunks_write_newest(chunks, chunks->newest + 1) : code;
}

/* Filter */

struct copying {
    struct bloom_chunks *chunks;
    uint8_t *payload;
    bool any;
    uint32_t generation; /* of the chunks copied so far, if any */
};

/* Copies a chunk into the payload of its layer. */
static int copy_chunk(void *argument, const struct bloom_place *place,
                      const struct bloom_head *head, const uint8_t *blocks) {
    struct copying *copying = argument;
    if (place->index > 0 || (copying->any && head->generation != copying->generation))
        return bloom_database_fail(
            copying->chunks->database, SQLITE_ERROR,
            copying->chunks->growth.generations > 1
                ? "keys are in several layers or generations, which no single filter can hold. "
                  "Query the table, or make one without generations"
                : "the table has grown to further layers, which no single filter can hold. Make a "
                  "table or a filter with a larger capacity");
    copying->any = true;
    copying->generation = head->generation;
    memcpy(copying->payload + bloom_layer_chunk_start(place->layer, place->chunk) *
                                  place->layer->shape.layout->blocks->bytes,
           blocks, place->bytes);
    return SQLITE_OK;
}

int bloom_maintain_filter(struct bloom_chunks *chunks, struct bloom_shape *shape, uint8_t **bytes) {
    const int length_limit = sqlite3_limit(chunks->database->connection, SQLITE_LIMIT_LENGTH, -1);
    struct copying copying = {.chunks = chunks};
    int code = bloom_chunks_start_reading(chunks);
    if (code != SQLITE_OK)
        return code;
    *shape = bloom_chunks_layer(chunks, 0)->shape;
    if (bloom_filter_bytes(shape) > (uint64_t)length_limit)
        return bloom_database_fail(
            chunks->database, SQLITE_TOOBIG,
            "the filter needs %llu bytes, but values of this connection are limited to %d bytes. "
            "Query the table itself",
            (sqlite3_uint64)bloom_filter_bytes(shape), length_limit);
    *bytes = bloom_sql_new_filter(shape);
    if (*bytes == NULL)
        return SQLITE_NOMEM;
    copying.payload = *bytes + bloom_header_bytes(shape);
    code = bloom_chunks_each(chunks, copy_chunk, &copying);
    if (code != SQLITE_OK)
        sqlite3_free(*bytes);
    return code;
}

/* Description */

/* What is known of a layer, of a generation, or of all. */
struct total {
    struct bloom_tally tally; /* of a layer only */
    double count, log_pass;   /* of the probability that a key that is not in is not found */
    double ones, bits;
    uint64_t keys, chunks;
};

static void add_tally(struct bloom_tally *sum, const struct bloom_tally *tally) {
    for (unsigned i = 0; i <= BLOOM_BLOCK_ONES_MAXIMUM; i++)
        sum->blocks_with[i] += tally->blocks_with[i];
}

static void add_total(struct total *sum, const struct total *part) {
    sum->count += part->count;
    sum->log_pass += part->log_pass;
    sum->ones += part->ones;
    sum->bits += part->bits;
    sum->keys += part->keys;
    sum->chunks += part->chunks;
}

/* Tiny rates keep their digits. */
static double rate_of(const struct total *total) {
    return 0 - expm1(total->log_pass);
}

/* The description of one generation, which comes layer by layer. */
struct describing {
    struct bloom_chunks *chunks;
    sqlite3_str *list;
    unsigned index; /* of the layer */
    struct total layer, generation;
};

/* Describes the layer whose chunks were counted last, and adds it to its generation. */
static void append_layer(struct describing *describing) {
    const struct bloom_shape *shape =
        &bloom_chunks_layer(describing->chunks, describing->index)->shape;
    struct total *layer = &describing->layer;
    const struct bloom_estimate estimate = shape->layout->blocks->estimate(shape, &layer->tally);
    char fill[BLOOM_NUMBER_SIZE], rate[BLOOM_NUMBER_SIZE];
    layer->count = estimate.count;
    layer->log_pass = log1p(-estimate.rate);
    layer->bits = (double)shape->bits;
    layer->ones = estimate.fill * layer->bits;
    sqlite3_str_appendf(
        describing->list,
        "%s{\"n\":%llu,\"p\":%!.15g,\"bits\":%llu,\"hashes\":%u,\"keys\":%llu,\"fill\":%s,"
        "\"fpr\":%s}",
        sqlite3_str_length(describing->list) > 0 ? "," : "", (sqlite3_uint64)shape->capacity,
        shape->rate, (sqlite3_uint64)shape->bits, shape->probes, (sqlite3_uint64)layer->keys,
        bloom_sql_estimate(fill, estimate.fill), bloom_sql_estimate(rate, estimate.rate));
    add_total(&describing->generation, layer);
    *layer = (struct total){.count = 0};
}

static int count_chunk(void *argument, const struct bloom_place *place,
                       const struct bloom_head *head, const uint8_t *blocks) {
    struct describing *describing = argument;
    if (place->index != describing->index)
        append_layer(describing);
    describing->index = place->index;
    place->layer->shape.layout->blocks->tally(&describing->layer.tally, blocks, place->blocks);
    describing->layer.keys += head->keys;
    describing->layer.chunks++;
    return SQLITE_OK;
}

static void append_table(sqlite3_str *json, const struct bloom_growth *growth,
                         const struct total *all, const struct total *newest) {
    static const char *const MODES[] = {[BLOOM_GROWTH_ON] = "true",
                                        [BLOOM_GROWTH_OFF] = "false",
                                        [BLOOM_GROWTH_ERROR] = "\"error\""};
    char used[BLOOM_NUMBER_SIZE], rate[BLOOM_NUMBER_SIZE];
    sqlite3_str_appendf(json, "{\"version\":%d,\"layout\":\"%s\"", BLOOM_FORMAT_VERSION,
                        growth->layout->name);
    bloom_sql_append_keying(json, &growth->keying);
    sqlite3_str_appendf(
        json,
        ",\"capacity\":%llu,\"p\":%!.15g,\"growth\":%s,\"chunks\":%llu,\"used\":%s,\"count\":",
        (sqlite3_uint64)growth->capacity, growth->rate, MODES[growth->mode],
        (sqlite3_uint64)all->chunks,
        bloom_sql_estimate(used, (double)newest->keys / (double)growth->capacity));
    sqlite3_str_appendf(json, isfinite(all->count) ? "%lld" : "null",
                        isfinite(all->count) ? (sqlite3_int64)floor(all->count + 0.5) : 0);
    sqlite3_str_appendf(json, ",\"fpr\":%s", bloom_sql_estimate(rate, rate_of(all)));
}

/* Describes the layers that have rows, and the first one of each generation in any case. */
int bloom_maintain_info(struct bloom_chunks *chunks, char **json) {
    char fill[BLOOM_NUMBER_SIZE], rate[BLOOM_NUMBER_SIZE];
    struct total all = {.count = 0}, one = {.count = 0};
    /* Not those of the connection: a text that is too long for it is no lack of memory, and SQLite
     * says so of the result. */
    sqlite3_str *text = sqlite3_str_new(NULL), *list = sqlite3_str_new(NULL);
    sqlite3_str *generations = sqlite3_str_new(NULL);
    int code = bloom_chunks_start_reading(chunks);
    unsigned ages = 0;
    while (bloom_chunks_has_age(chunks, ages))
        ages++;
    for (unsigned age = ages; age > 0 && code == SQLITE_OK; age--) {
        struct describing describing = {.chunks = chunks, .list = list};
        const uint32_t number = chunks->newest - (age - 1);
        code = bloom_chunks_each_of(chunks, number, 0, count_chunk, &describing);
        append_layer(&describing);
        one = describing.generation;
        add_total(&all, &one);
        sqlite3_str_appendf(
            generations, "%s{\"generation\":%u,\"keys\":%llu,\"fill\":%s,\"fpr\":%s}",
            sqlite3_str_length(generations) > 0 ? "," : "", number, (sqlite3_uint64)one.keys,
            bloom_sql_estimate(fill, one.ones / one.bits), bloom_sql_estimate(rate, rate_of(&one)));
    }
    append_table(text, &chunks->growth, &all, &one);
    if (chunks->growth.generations > 1)
        sqlite3_str_appendf(text, ",\"generations\":[%s]", sqlite3_str_value(generations));
    sqlite3_str_appendf(text, ",\"layers\":[%s]}", sqlite3_str_value(list));
    if (code == SQLITE_OK)
        code = sqlite3_str_errcode(list);
    if (code == SQLITE_OK)
        code = sqlite3_str_errcode(generations);
    sqlite3_free(sqlite3_str_finish(list));
    sqlite3_free(sqlite3_str_finish(generations));
    *json = sqlite3_str_finish(text);
    if (code == SQLITE_OK && *json != NULL)
        return code;
    sqlite3_free(*json);
    return code == SQLITE_OK ? SQLITE_NOMEM : code;
}

/* Merging */

static bool any_bit(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return true;
    return false;
}

/* Counts the ones of a chunk's blocks, and estimates its keys, by the shape of the chunk alone. */
static struct bloom_estimate estimate_chunk(const struct bloom_place *chunk, const uint8_t *blocks,
                                            struct bloom_tally *tally) {
    const struct bloom_blocks *kernel = chunk->layer->shape.layout->blocks;
    struct bloom_shape shape = chunk->layer->shape;
    shape.bits = shape.bits / chunk->layer->blocks * chunk->blocks;
    *tally = (struct bloom_tally){0};
    kernel->tally(tally, blocks, chunk->blocks);
    return kernel->estimate(&shape, tally);
}

/* What a merge makes of the first layer. */
struct merged {
    struct bloom_tally tally;
    bool adds; /* bits */
};

/* Unites a chunk with the blocks of a filter, and writes it unless it is a dry run. Keys are
 * estimated, where ones are more, but are more then, too. */
static int merge_chunk(struct bloom_chunks *chunks, const struct bloom_place *chunk,
                       const uint8_t *from, bool dry_run, struct merged *merged) {
    const struct bloom_shape *shape = &chunk->layer->shape;
    const bool has_new = any_bit(from, chunk->bytes);
    struct bloom_change change = {.handle = NULL};
    struct bloom_head *head = &change.head;
    struct bloom_tally tally;
    int code = bloom_change_open(chunks, chunk, &change);
    if (code != SQLITE_OK)
        return code;
    if (has_new)
        shape->layout->unite(change.blocks, from, chunk->bytes);
    const struct bloom_estimate estimate = estimate_chunk(chunk, change.blocks, &tally);
    add_tally(&merged->tally, &tally);
    if (estimate.ones > head->ones && has_new) {
        const uint64_t least = head->keys + bloom_keys_fewest(shape, estimate.ones - head->ones);
        const uint64_t keys = bloom_keys_of(shape, &estimate);
        head->keys = (uint32_t)(keys > least ? keys : least);
        head->ones = (uint32_t)estimate.ones;
        if (bloom_layer_is_full(chunk->layer, chunk->blocks, head->keys, head->ones))
            head->closed = 1;
        merged->adds = true;
    }
    return dry_run || !has_new ? bloom_change_close(&change, code)
                               : bloom_change_save(chunks, &change);
}

static int merge_layer(struct bloom_chunks *chunks, const struct bloom_stored *filter, bool dry_run,
                       struct merged *merged) {
    const struct bloom_layer *layer = bloom_chunks_layer(chunks, 0);
    const uint8_t *from = bloom_stored_payload(filter);
    int code = SQLITE_OK;
    *merged = (struct merged){.adds = false};
    for (uint64_t number = 0; number < layer->chunks && code == SQLITE_OK; number++) {
        const struct bloom_place chunk = bloom_place_of_chunk(chunks, 0, chunks->newest, number);
        code = merge_chunk(chunks, &chunk, from, dry_run, merged);
        from += chunk.bytes;
    }
    return code;
}

/* A key of a further layer may be in the filter, too. It would then be found in the first layer,
 * and a DELETE would take it away there. */
static int refuse_merge(void *argument, const struct bloom_place *place,
                        const struct bloom_head *head, const uint8_t *blocks) {
    struct bloom_chunks *chunks = argument;
    (void)place;
    (void)head;
    (void)blocks;
    return bloom_database_fail(chunks->database, SQLITE_ERROR,
                               "keys are in a further layer, so no filter can be merged. Add its "
                               "keys with the command add_all");
}

int bloom_maintain_merge(struct bloom_chunks *chunks, const struct bloom_stored *filter) {
    const struct bloom_layer *layer = bloom_chunks_layer(chunks, 0);
    const struct bloom_shape *shape = &layer->shape;
    struct merged merged;
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_shape_same(shape, &filter->shape, problem))
        return bloom_database_fail(chunks->database, SQLITE_ERROR,
                                   "the filter differs from the table's first layer (table and "
                                   "filter: %s). Add its keys with the command add_all, which "
                                   "takes any number",
                                   problem);
    int code = bloom_chunks_start_reading(chunks);
    if (code == SQLITE_OK)
        code = bloom_chunks_each_of(chunks, chunks->newest, 1, refuse_merge, chunks);
    if (code == SQLITE_OK)
        code = merge_layer(chunks, filter, true, &merged);
    if (code != SQLITE_OK)
        return code;
    struct bloom_estimate estimate = shape->layout->blocks->estimate(shape, &merged.tally);
    if (merged.adds && estimate.rate > shape->rate &&
        estimate.ones > bloom_growth_merge_limit(&chunks->growth, layer))
        return bloom_database_fail(
            chunks->database, SQLITE_ERROR,
            "with these keys the first layer would have a false-positive rate of %!.3g, but it is "
            "made for %!.3g. Merge into a table with a larger capacity, or with growth=off%s",
            estimate.rate, shape->rate,
            chunks->growth.mode == BLOOM_GROWTH_ON ? ", or use the command add_all, which grows"
                                                   : "");
    return merge_layer(chunks, filter, false, &merged);
}

/* Checking */

/* A chunk of a further layer is reached only through a closed chunk of the layer before it. */
static int check_path(struct bloom_chunks *chunks, const struct bloom_place *chunk) {
    if (chunk->index == 0)
        return SQLITE_OK;
    const struct bloom_layer *before = bloom_chunks_layer(chunks, chunk->index - 1);
    const double scale = (double)before->blocks / (double)chunk->layer->blocks;
    const double start = (double)bloom_layer_chunk_start(chunk->layer, chunk->chunk) * scale;
    const double end = start + (double)chunk->blocks * scale;
    uint64_t block = (uint64_t)start;
    while (block < before->blocks && (double)block <= end) {
        struct bloom_place parent = bloom_place_of_chunk(
            chunks, chunk->index - 1, chunk->generation, bloom_layer_chunk_of(before, block));
        const uint8_t *first;
        bool closed;
        parent.bytes = chunks->growth.layout->blocks->bytes; /* its first block */
        int code = bloom_chunks_read(chunks, &parent, &first, &closed);
        if (code != SQLITE_OK || closed)
            return code;
        block = bloom_layer_chunk_start(before, parent.chunk + 1);
    }
    return bloom_database_damaged(chunks->database,
                                  "layer %u has a chunk, but none of layer %u that leads to it is "
                                  "closed",
                                  chunk->index, chunk->index - 1);
}

static int check_chunk(void *argument, const struct bloom_place *place,
                       const struct bloom_head *head, const uint8_t *blocks) {
    struct bloom_chunks *chunks = argument;
    struct bloom_tally tally;
    const struct bloom_estimate estimate = estimate_chunk(place, blocks, &tally);
    if (head->ones != estimate.ones || head->keys > BLOOM_COUNT_MAXIMUM ||
        !bloom_keys_are_possible(&place->layer->shape, head->keys, estimate.ones))
        return bloom_database_damaged(
            chunks->database,
            "chunk %llu of layer %u counts %u bits and %u keys, but %llu bits are set",
            (sqlite3_uint64)place->chunk, place->index, head->ones, head->keys,
            (sqlite3_uint64)estimate.ones);
    return check_path(chunks, place);
}

int bloom_maintain_verify(struct bloom_chunks *chunks) {
    int code = bloom_chunks_start_reading(chunks);
    return code == SQLITE_OK ? bloom_chunks_each(chunks, check_chunk, chunks) : code;
}

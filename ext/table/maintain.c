/* Time and memory are bounded by the rows that exist, because every function visits only those.
 * SELECT filter and merge need as much memory as the first layer has bytes, which
 * SQLITE_LIMIT_LENGTH bounds. */
#include "table/maintain.h"

#include "filter/builder.h"
#include "sqlite/message.h"

#include <math.h>
#include <string.h>

/* Only the first statement may not be permitted, so nothing is half done. */
int bloom_maintain_clear(struct bloom_chunks *chunks) {
    const struct bloom_rotation rotation = {.newest = 0};
    int code = bloom_span_write(&chunks->span); /* which a trigger could write later otherwise */
    if (code == SQLITE_OK)
        code = bloom_database_delete_rows(&chunks->span.database);
    if (code != SQLITE_OK)
        return code;
    bloom_span_end(&chunks->span);
    return bloom_chunks_growth(chunks)->generations > 1
               ? bloom_chunks_write_rotation(chunks, &rotation)
               : code;
}

/* Rotates that many times. Drafts are written first, because one of a forgotten generation would
 * later overwrite the chunk that has its slot then. */
static int rotate(struct bloom_chunks *chunks, uint32_t times, struct bloom_rotation rotation) {
    if (rotation.newest > UINT32_MAX - times)
        return bloom_database_fail(&chunks->span.database, SQLITE_ERROR,
                                   "the table has rotated 4294967295 times, and there are no more "
                                   "numbers. The command clear begins again");
    rotation.newest += times;
    int code = bloom_span_write(&chunks->span);
    return code == SQLITE_OK ? bloom_chunks_write_rotation(chunks, &rotation) : code;
}

static int require_generations(struct bloom_chunks *chunks) {
    return bloom_chunks_growth(chunks)->generations > 1
               ? SQLITE_OK
               : bloom_database_fail(&chunks->span.database, SQLITE_ERROR,
                                     "the table has no generations to rotate. Make one with "
                                     "generations=G, from 2 to 64");
}

int bloom_maintain_rotate(struct bloom_chunks *chunks) {
    int code = require_generations(chunks);
    if (code == SQLITE_OK && chunks->rotation.has_period)
        code = bloom_database_fail(&chunks->span.database, SQLITE_ERROR,
                                   "the table rotates by the command period, whose number was "
                                   "%lld last. Give that command the present number",
                                   chunks->rotation.period);
    return code == SQLITE_OK ? rotate(chunks, 1, chunks->rotation) : code;
}

int bloom_maintain_period(struct bloom_chunks *chunks, sqlite3_int64 period) {
    const uint64_t generations = bloom_chunks_growth(chunks)->generations;
    struct bloom_rotation rotation = chunks->rotation;
    const uint64_t passed = rotation.has_period ? (uint64_t)period - (uint64_t)rotation.period : 0;
    const int code = require_generations(chunks);
    if (code == SQLITE_OK && rotation.has_period && period < rotation.period &&
        0 - passed > generations)
        return bloom_database_fail(&chunks->span.database, SQLITE_ERROR,
                                   "the period %lld is more than %llu below the newest, %lld. Take "
                                   "all numbers from one clock. If the newest one is wrong, begin "
                                   "again with the command clear",
                                   period, (sqlite3_uint64)generations, rotation.period);
    if (code != SQLITE_OK || (rotation.has_period && period <= rotation.period))
        return code;
    rotation.has_period = true;
    rotation.period = period;
    return rotate(chunks, (uint32_t)(passed < generations ? passed : generations), rotation);
}

/* Filter */

/* The blocks of the first layer, as they are collected. */
struct collection {
    struct bloom_chunks *chunks;
    const char *refusal; /* what to say of keys elsewhere */
    uint8_t *payload;
    bool any;
    uint32_t generation; /* of the chunks collected so far, if any */
};

static int collect_chunk(void *argument, const struct bloom_place *place,
                         const struct bloom_head *head, const uint8_t *blocks) {
    struct collection *collection = argument;
    if (place->index > 0 || (collection->any && head->generation != collection->generation))
        return bloom_database_fail(&collection->chunks->span.database, SQLITE_ERROR, "%s",
                                   collection->refusal);
    collection->any = true;
    collection->generation = head->generation;
    memcpy(collection->payload + bloom_layer_chunk_start(place->layer, place->chunk) *
                                     place->layer->shape.layout->blocks->bytes,
           blocks, place->bytes);
    return SQLITE_OK;
}

/* Makes a filter of the first layer, of one generation or of all. *bytes is from sqlite3_malloc64
 * and the caller's. */
static int collect(struct bloom_chunks *chunks, const uint32_t *generation, const char *refusal,
                   struct bloom_shape *shape, uint8_t **bytes) {
    const int length_limit =
        sqlite3_limit(chunks->span.database.connection, SQLITE_LIMIT_LENGTH, -1);
    struct collection collection = {.chunks = chunks, .refusal = refusal};
    *shape = bloom_chunks_layer(chunks, 0)->shape;
    if (bloom_filter_bytes(shape) > (uint64_t)length_limit)
        return bloom_database_fail(
            &chunks->span.database, SQLITE_TOOBIG,
            "the filter needs %llu bytes, but values of this connection are limited to %d bytes. "
            "Query the table itself",
            (sqlite3_uint64)bloom_filter_bytes(shape), length_limit);
    *bytes = bloom_filter_new(shape, &bloom_sql_memory);
    if (*bytes == NULL)
        return SQLITE_NOMEM;
    collection.payload = *bytes + bloom_header_bytes(shape);
    const int code = bloom_chunks_each(chunks, generation, collect_chunk, &collection);
    if (code != SQLITE_OK)
        sqlite3_free(*bytes);
    return code;
}

int bloom_maintain_filter(struct bloom_chunks *chunks, struct bloom_shape *shape, uint8_t **bytes) {
    return collect(chunks, NULL,
                   bloom_chunks_growth(chunks)->generations > 1
                       ? "keys are in several layers or generations, which no single filter can "
                         "hold. Query the table, or make one without generations"
                       : "the table has grown to further layers, which no single filter can hold. "
                         "Make a table or a filter with a larger capacity",
                   shape, bytes);
}

/* Description */

/* What is known of a layer, of a generation, or of all. */
struct total {
    struct bloom_tally tally; /* of a layer only */
    double count, log_pass;   /* of the probability that a key that is not in is not found */
    double ones, bits;
    uint64_t keys, chunks;
};

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
    const struct bloom_estimate estimate = bloom_estimate_tally(shape, &layer->tally);
    char fill[BLOOM_NUMBER_SIZE], rate[BLOOM_NUMBER_SIZE];
    layer->count = estimate.count;
    layer->log_pass = log1p(-estimate.rate);
    layer->bits = (double)shape->bits;
    layer->ones = estimate.fill * layer->bits;
    sqlite3_str_appendf(
        describing->list,
        "%s{\"capacity\":%llu,\"fpr\":%!.15g,\"bits\":%llu,\"hashes\":%u,\"keys\":%llu,\"fill\":%s,"
        "\"fpr_now\":%s}",
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
    char used[BLOOM_NUMBER_SIZE], rate[BLOOM_NUMBER_SIZE];
    sqlite3_str_appendf(json, "{\"format\":%d,\"layout\":\"%s\"", BLOOM_FORMAT_VERSION,
                        growth->layout->name);
    bloom_sql_append_keying(json, &growth->keying);
    sqlite3_str_appendf(json,
                        ",\"capacity\":%llu,\"fpr\":%!.15g,\"growth\":\"%s\",\"chunks\":%llu,"
                        "\"used\":%s,\"count\":",
                        (sqlite3_uint64)growth->capacity, growth->rate,
                        bloom_growth_words[growth->mode], (sqlite3_uint64)all->chunks,
                        bloom_sql_estimate(used, (double)newest->keys / (double)growth->capacity));
    sqlite3_str_appendf(json, isfinite(all->count) ? "%lld" : "null",
                        isfinite(all->count) ? (sqlite3_int64)floor(all->count + 0.5) : 0);
    sqlite3_str_appendf(json, ",\"fpr_now\":%s", bloom_sql_estimate(rate, rate_of(all)));
}

/* Describes the layers that have rows, and the first one of each generation in any case. */
int bloom_maintain_info(struct bloom_chunks *chunks, char **json) {
    char fill[BLOOM_NUMBER_SIZE], rate[BLOOM_NUMBER_SIZE];
    struct total all = {.count = 0}, one = {.count = 0};
    /* Not those of the connection: a text that is too long for it is no lack of memory, and SQLite
     * says so of the result. */
    sqlite3_str *text = sqlite3_str_new(NULL), *list = sqlite3_str_new(NULL);
    sqlite3_str *generations = sqlite3_str_new(NULL);
    int code = SQLITE_OK;
    unsigned ages = 0;
    while (bloom_chunks_has_age(chunks, ages))
        ages++;
    for (unsigned age = ages; age > 0 && code == SQLITE_OK; age--) {
        struct describing describing = {.chunks = chunks, .list = list};
        const uint32_t number = chunks->rotation.newest - (age - 1);
        code = bloom_chunks_each(chunks, &number, count_chunk, &describing);
        append_layer(&describing);
        one = describing.generation;
        add_total(&all, &one);
        sqlite3_str_appendf(
            generations, "%s{\"generation\":%u,\"keys\":%llu,\"fill\":%s,\"fpr_now\":%s}",
            sqlite3_str_length(generations) > 0 ? "," : "", number, (sqlite3_uint64)one.keys,
            bloom_sql_estimate(fill, one.ones / one.bits), bloom_sql_estimate(rate, rate_of(&one)));
    }
    append_table(text, bloom_chunks_growth(chunks), &all, &one);
    if (bloom_chunks_growth(chunks)->generations > 1)
        sqlite3_str_appendf(text, ",\"generations\":[%s]", sqlite3_str_value(generations));
    if (chunks->rotation.has_period)
        sqlite3_str_appendf(text, ",\"period\":%lld", chunks->rotation.period);
    sqlite3_str_appendf(text, ",\"layers\":[%s]}", sqlite3_str_value(list));
    const bool is_whole =
        sqlite3_str_errcode(list) == SQLITE_OK && sqlite3_str_errcode(generations) == SQLITE_OK;
    sqlite3_free(sqlite3_str_finish(list));
    sqlite3_free(sqlite3_str_finish(generations));
    *json = sqlite3_str_finish(text);
    if (code == SQLITE_OK && is_whole && *json != NULL)
        return code;
    sqlite3_free(*json);
    return code == SQLITE_OK ? SQLITE_NOMEM : code;
}

/* Merging */

/* Counts the ones of a chunk's blocks, and estimates its keys as if the chunk were a filter. */
static struct bloom_estimate estimate_chunk(const struct bloom_place *chunk,
                                            const uint8_t *blocks) {
    struct bloom_shape shape = chunk->layer->shape;
    shape.bits = shape.bits / chunk->layer->blocks * chunk->blocks;
    return shape.layout->estimate(&shape, blocks);
}

/* Unites a chunk with blocks of a filter. The number of its keys is estimated, and is larger than
 * before if there are more ones. */
static int unite_chunk(struct bloom_chunks *chunks, const struct bloom_place *chunk,
                       const uint8_t *blocks) {
    const struct bloom_shape *shape = &chunk->layer->shape;
    struct bloom_change change;
    struct bloom_head *head = &change.head;
    int code = bloom_change_open(chunks, chunk, &change);
    if (code != SQLITE_OK)
        return code;
    shape->layout->unite(change.blocks, change.blocks, blocks, chunk->bytes);
    const struct bloom_estimate estimate = estimate_chunk(chunk, change.blocks);
    if (estimate.ones > head->ones) {
        const uint64_t least = head->keys + bloom_keys_fewest(shape, estimate.ones - head->ones);
        const uint64_t keys = bloom_keys_of(shape, &estimate);
        head->keys = (uint32_t)(keys > least ? keys : least);
        head->ones = (uint32_t)estimate.ones;
        if (bloom_layer_is_full(chunk->layer, chunk->blocks, head->keys, head->ones))
            head->is_closed = true;
    }
    return bloom_change_save(chunks, &change);
}

/* Unites the first layer, which `payload` is a copy of, with the blocks of a filter. */
static int merge_blocks(struct bloom_chunks *chunks, uint8_t *payload, const uint8_t *blocks) {
    const struct bloom_layer *layer = bloom_chunks_layer(chunks, 0);
    const struct bloom_shape *shape = &layer->shape;
    const struct bloom_estimate before = shape->layout->estimate(shape, payload);
    shape->layout->unite(payload, payload, blocks, (size_t)bloom_payload_bytes(shape));
    const struct bloom_estimate after = shape->layout->estimate(shape, payload);
    int code = SQLITE_OK;
    if (after.ones > before.ones && after.rate > shape->rate &&
        after.ones > bloom_growth_merge_limit(bloom_chunks_growth(chunks), layer))
        code = bloom_database_fail(
            &chunks->span.database, SQLITE_ERROR,
            "with these keys the first layer would have a false-positive rate of %!.3g, but it is "
            "made for %!.3g. Merge into a table with a larger capacity, or with growth=off%s",
            after.rate, shape->rate,
            bloom_chunks_growth(chunks)->mode == BLOOM_GROWTH_ON
                ? ", or add its keys with INSERT ... SELECT"
                : "");
    uint64_t at = 0;
    for (uint64_t number = 0; number < layer->chunks && code == SQLITE_OK; number++) {
        const struct bloom_place chunk =
            bloom_place_of_chunk(chunks, 0, chunks->rotation.newest, number);
        const bool empty =
            blocks[at] == 0 && memcmp(blocks + at, blocks + at + 1, chunk.bytes - 1) == 0;
        if (!empty)
            code = unite_chunk(chunks, &chunk, blocks + at);
        at += chunk.bytes;
    }
    return code;
}

/* A key of a further layer may be in the filter, too. It would then be found in the first layer,
 * and a DELETE would remove it there. */
int bloom_maintain_merge(struct bloom_chunks *chunks, const struct bloom_stored *filter) {
    struct bloom_shape shape;
    uint8_t *bytes;
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_shape_same(&bloom_chunks_layer(chunks, 0)->shape, &filter->shape, problem))
        return bloom_database_fail(&chunks->span.database, SQLITE_ERROR,
                                   "the filter differs from the table's first layer (table and "
                                   "filter: %s). Add its keys with INSERT ... SELECT",
                                   problem);
    int code = collect(chunks, &chunks->rotation.newest,
                       "keys are in a further layer, so no filter can be merged. Add its keys with "
                       "INSERT ... SELECT",
                       &shape, &bytes);
    if (code != SQLITE_OK)
        return code;
    /* After this, no chunk can be refused: all were read and judged, and new rows are permitted. */
    code = bloom_database_prepare_writing(&chunks->span.database);
    if (code == SQLITE_OK)
        code =
            merge_blocks(chunks, bytes + bloom_header_bytes(&shape), bloom_stored_payload(filter));
    sqlite3_free(bytes);
    return code;
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
        parent.bytes = bloom_chunks_growth(chunks)->layout->blocks->bytes; /* its first block */
        int code = bloom_chunks_read(chunks, &parent, &first, &closed);
        if (code != SQLITE_OK || closed)
            return code;
        block = bloom_layer_chunk_start(before, parent.chunk + 1);
    }
    return bloom_database_damaged(&chunks->span.database,
                                  "layer %u has a chunk, but none of layer %u that leads to it is "
                                  "closed",
                                  chunk->index, chunk->index - 1);
}

static int check_chunk(void *argument, const struct bloom_place *place,
                       const struct bloom_head *head, const uint8_t *blocks) {
    struct bloom_chunks *chunks = argument;
    const struct bloom_estimate estimate = estimate_chunk(place, blocks);
    if (head->ones != estimate.ones || head->keys > BLOOM_COUNT_MAXIMUM ||
        !bloom_keys_are_possible(&place->layer->shape, head->keys, estimate.ones))
        return bloom_database_damaged(
            &chunks->span.database,
            "chunk %llu of layer %u counts %u bits and %u keys, but %llu bits are set",
            (sqlite3_uint64)place->chunk, place->index, head->ones, head->keys,
            (sqlite3_uint64)estimate.ones);
    return check_path(chunks, place);
}

int bloom_maintain_verify(struct bloom_chunks *chunks) {
    return bloom_chunks_each(chunks, NULL, check_chunk, chunks);
}

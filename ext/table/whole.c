/* See whole.h. */
#include "table/whole.h"

#include <math.h>
#include <string.h>

static bool any_bit(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return true;
    return false;
}

/* What the chunks of a layer that have a row tell. */
struct survey {
    struct bloom_tally tally;
    uint64_t rows;
    uint64_t keys;              /* that the chunks count */
    struct bloom_sums reported; /* that they say they reported */
    bool bits_beyond;           /* set beyond the last block of the layer */
    bool damaged;               /* the counts of a chunk are not those of its bits */
    uint64_t chunk;             /* the first of these */
};

static struct bloom_estimate estimate_of(const struct bloom_shape *shape,
                                         const struct bloom_tally *tally) {
    return shape->layout->blocks->estimate(shape, tally);
}

/* The shape of one chunk alone, for estimates. */
static struct bloom_shape shape_of_chunk(const struct bloom_geometry *geometry, uint64_t chunk) {
    struct bloom_shape shape = geometry->shape;
    shape.bits =
        shape.bits / shape.layout->blocks->count(&shape) * bloom_blocks_of_chunk(geometry, chunk);
    return shape;
}

/* The counts that a chunk should have by its bits: its own, where these are possible. */
static struct bloom_counts right_counts(const struct bloom_geometry *geometry, uint64_t chunk,
                                        const struct bloom_counts *counts,
                                        const struct bloom_tally *tally) {
    const struct bloom_shape shape = shape_of_chunk(geometry, chunk);
    const int64_t lag = (int64_t)counts->keys - counts->reported_keys;
    struct bloom_estimate estimate = estimate_of(&shape, tally);
    struct bloom_counts right = *counts;
    if (bloom_counts_are_sound(geometry, counts) && counts->ones == estimate.ones &&
        bloom_keys_are_possible(&shape, counts->keys, estimate.ones) && lag > -BLOOM_REPORT_KEYS &&
        lag < BLOOM_REPORT_KEYS)
        return right;
    if (!bloom_keys_are_possible(&shape, counts->keys, estimate.ones) ||
        counts->keys > estimate.ones)
        right.keys = (uint32_t)bloom_keys_of(&shape, &estimate);
    right.ones = (uint32_t)estimate.ones;
    right.reported_keys = right.keys;
    right.reported_ones = right.ones;
    right.generation = geometry->generation;
    right.zero = 0;
    return right;
}

static void add_reported(struct bloom_sums *sums, const struct bloom_counts *counts) {
    sums->keys += counts->reported_keys;
    sums->chunks += counts->reported_keys > 0;
    sums->ones += counts->reported_ones;
}

static bool survey_chunk(void *argument, const struct bloom_geometry *geometry, uint64_t chunk,
                         const struct bloom_counts *counts, const uint8_t *blocks) {
    struct survey *survey = argument;
    struct bloom_tally tally = {0};
    if (blocks == NULL)
        return true;
    survey->rows++;
    uint32_t count = bloom_blocks_of_chunk(geometry, chunk);
    size_t used = (size_t)count * geometry->shape.layout->blocks->bytes;
    geometry->shape.layout->blocks->tally(&tally, blocks, count);
    for (unsigned i = 0; i <= BLOOM_BLOCK_ONES_MAXIMUM; i++)
        survey->tally.blocks_with[i] += tally.blocks_with[i];
    survey->keys += counts->keys;
    add_reported(&survey->reported, counts);
    survey->bits_beyond |= any_bit(blocks + used, bloom_chunk_block_bytes(geometry) - used);
    struct bloom_counts right = right_counts(geometry, chunk, counts, &tally);
    if (!survey->damaged && memcmp(&right, counts, sizeof right) != 0) {
        survey->damaged = true;
        survey->chunk = chunk;
    }
    return true;
}

/* Where every chunk has a row, all must have been visited. Elsewhere one that is gone cannot be
 * told from one that was never written. */
static int check_rows(struct bloom_layers *layers, const struct bloom_geometry *geometry,
                      uint64_t rows) {
    if (!geometry->complete || rows == bloom_chunks_of_layer(geometry))
        return SQLITE_OK;
    return bloom_database_damaged(
        layers->database, BLOOM_SHADOW_CHUNKS, "of the %llu chunks of layer %u only %llu are there",
        (sqlite3_uint64)bloom_chunks_of_layer(geometry), geometry->number, (sqlite3_uint64)rows);
}

static int survey_layer(struct bloom_layers *layers, const struct bloom_geometry *geometry,
                        struct survey *survey, struct bloom_estimate *estimate) {
    *survey = (struct survey){.rows = 0};
    int code = bloom_chunks_for_each(layers->chunks, geometry, 0, survey_chunk, survey);
    if (code == SQLITE_OK)
        *estimate = estimate_of(&geometry->shape, &survey->tally);
    return code;
}

struct copy {
    uint8_t *payload;
    uint64_t rows;
};

static bool copy_chunk(void *argument, const struct bloom_geometry *geometry, uint64_t chunk,
                       const struct bloom_counts *counts, const uint8_t *blocks) {
    struct copy *copy = argument;
    (void)counts;
    copy->rows += blocks != NULL;
    if (blocks != NULL)
        memcpy(copy->payload + chunk * bloom_chunk_block_bytes(geometry), blocks,
               (size_t)bloom_blocks_of_chunk(geometry, chunk) *
                   geometry->shape.layout->blocks->bytes);
    return true;
}

/* Whether a row is not stale. */
static bool find_row(void *argument, const struct bloom_geometry *geometry, uint64_t chunk,
                     const struct bloom_counts *counts, const uint8_t *blocks) {
    bool *any = argument;
    (void)geometry, (void)chunk, (void)counts;
    *any = blocks != NULL;
    return !*any;
}

/* The layer that holds all keys; the first one of the newest generation when there are none. */
static int find_holder(struct bloom_layers *layers, const struct bloom_layer **holder) {
    const bool ages = layers->growth.generations > 1;
    bool found = false, any;
    int code = SQLITE_OK;
    *holder = bloom_layers_at(layers, bloom_layers_older(layers));
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        any = !ages;
        if (ages)
            code = bloom_chunks_for_each(layers->chunks, &layers->layers[i].geometry, 0, find_row,
                                         &any);
        if (code == SQLITE_OK && any && found)
            return bloom_database_fail(
                layers->database, SQLITE_ERROR,
                ages ? "keys are in several of %u layers, which no single filter can hold"
                     : "the table has grown to %u layers, which no single filter can hold; make a "
                       "table or a filter with a larger capacity",
                layers->count);
        if (any)
            *holder = &layers->layers[i];
        found |= any;
    }
    return code;
}

int bloom_whole_filter(struct bloom_layers *layers, struct bloom_shape *shape, uint8_t **bytes) {
    const struct bloom_layer *layer;
    const int length_limit = sqlite3_limit(layers->database->connection, SQLITE_LIMIT_LENGTH, -1);
    int code = find_holder(layers, &layer);
    *bytes = NULL;
    if (code != SQLITE_OK)
        return code;
    const struct bloom_geometry *geometry = &layer->geometry;
    *shape = geometry->shape;
    if (bloom_filter_bytes(shape) > (uint64_t)length_limit)
        return bloom_database_fail(
            layers->database, SQLITE_TOOBIG,
            "its filter needs %llu bytes, but a value of this connection is limited to %d bytes",
            (sqlite3_uint64)bloom_filter_bytes(shape), length_limit);
    *bytes = bloom_sql_new_filter(shape);
    if (*bytes == NULL)
        return SQLITE_NOMEM;
    struct copy copy = {*bytes + bloom_header_bytes(shape), 0};
    code = bloom_chunks_for_each(layers->chunks, geometry, 0, copy_chunk, &copy);
    if (code == SQLITE_OK)
        code = check_rows(layers, geometry, copy.rows);
    if (code != SQLITE_OK) {
        sqlite3_free(*bytes);
        *bytes = NULL;
    }
    return code;
}

static const char *mode_as_json(enum bloom_growth_mode mode) {
    static const char *const MODES[] = {[BLOOM_GROWTH_ON] = "true",
                                        [BLOOM_GROWTH_OFF] = "false",
                                        [BLOOM_GROWTH_ERROR] = "\"error\""};
    return MODES[mode];
}

/* What is known of a generation, or of all. */
struct total {
    double count, pass; /* pass: probability that a key that is not in is found in no layer */
    double ones, bits;
    uint64_t keys, chunks;
};

static void add_to_total(struct total *total, const struct bloom_shape *shape,
                         const struct survey *survey, const struct bloom_estimate *estimate) {
    total->count += estimate->count;
    total->pass *= 1 - estimate->rate;
    total->ones += estimate->fill * (double)shape->bits;
    total->bits += (double)shape->bits;
    total->keys += survey->keys;
    total->chunks += survey->rows;
}

/* Texts from sqlite3_malloc, joined to the JSON of the whole; NULL: no memory. */
static char *join_info(const struct bloom_growth *growth, const struct total *all,
                       const struct total *newest, const char *generations, const char *list) {
    char *count_text = isfinite(all->count)
                           ? sqlite3_mprintf("%lld", (sqlite3_int64)floor(all->count + 0.5))
                           : sqlite3_mprintf("null");
    char *json = NULL;
    if (count_text != NULL && generations != NULL && list != NULL)
        json = sqlite3_mprintf(
            "{\"version\":%d,\"layout\":\"%s\",\"capacity\":%llu,\"p\":%!.15g,\"growth\":%s,"
            "\"chunks\":%llu,\"used\":%!.15g,\"count\":%s,\"fpr\":%!.15g,%s\"layers\":[%s]}",
            BLOOM_FORMAT_VERSION, growth->layout->name, (sqlite3_uint64)growth->capacity,
            growth->rate, mode_as_json(growth->mode), (sqlite3_uint64)all->chunks,
            (double)newest->keys / (double)growth->capacity, count_text, 1 - all->pass, generations,
            list);
    sqlite3_free(count_text);
    return json;
}

int bloom_whole_info(struct bloom_layers *layers, char **json) {
    const bool ages = layers->growth.generations > 1;
    struct total all = {.pass = 1}, one = {.pass = 1};
    int code = SQLITE_OK;
    /* Not those of the connection: what is too long for it is no lack of memory, and SQLite says so
     * of the result. */
    sqlite3_str *list = sqlite3_str_new(NULL), *generations = sqlite3_str_new(NULL);
    sqlite3_str_appendall(generations, ages ? "\"generations\":[" : "");
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        const struct bloom_geometry *geometry = &bloom_layers_at(layers, i)->geometry;
        const struct bloom_shape *shape = &geometry->shape;
        struct survey survey;
        struct bloom_estimate estimate = {0};
        code = survey_layer(layers, geometry, &survey, &estimate);
        if (code == SQLITE_OK)
            code = check_rows(layers, geometry, survey.rows);
        if (i > 0 && bloom_layers_at(layers, i - 1)->geometry.generation != geometry->generation)
            one = (struct total){.pass = 1};
        add_to_total(&all, shape, &survey, &estimate);
        add_to_total(&one, shape, &survey, &estimate);
        sqlite3_str_appendf(
            list,
            "%s{\"n\":%llu,\"p\":%!.15g,\"bits\":%llu,\"hashes\":%u,\"keys\":%llu,\"fill\":%!"
            ".15g,\"fpr\":%!.15g}",
            i > 0 ? "," : "", (sqlite3_uint64)shape->capacity, shape->rate,
            (sqlite3_uint64)shape->bits, shape->probes, (sqlite3_uint64)survey.keys, estimate.fill,
            estimate.rate);
        if (ages && (i + 1 == layers->count ||
                     bloom_layers_at(layers, i + 1)->geometry.generation != geometry->generation))
            sqlite3_str_appendf(
                generations, "{\"generation\":%u,\"keys\":%llu,\"fill\":%!.15g,\"fpr\":%!.15g}%s",
                geometry->generation, (sqlite3_uint64)one.keys, one.ones / one.bits, 1 - one.pass,
                i + 1 < layers->count ? "," : "],");
    }
    char *list_text = sqlite3_str_finish(list), *generations_text = sqlite3_str_finish(generations);
    *json = NULL;
    if (code == SQLITE_OK)
        *json = join_info(&layers->growth, &all, &one, ages ? generations_text : "", list_text);
    sqlite3_free(generations_text);
    sqlite3_free(list_text);
    return code == SQLITE_OK && *json == NULL ? SQLITE_NOMEM : code;
}

/* A chunk of a layer as it will be when a filter is merged: read into the buffer, and
 * united there with the filter's part. */
struct merged_chunk {
    bool has_new;
    uint64_t ones_before;
    struct bloom_counts counts;
    struct bloom_tally tally;
};

/* Keys of a chunk are estimated, where its ones are more, but are more then, too. */
static int merge_chunk(struct bloom_layers *layers, const struct bloom_geometry *geometry,
                       const struct bloom_stored *filter, uint64_t chunk,
                       struct merged_chunk *merged) {
    const struct bloom_shape shape = shape_of_chunk(geometry, chunk);
    const uint8_t *from = bloom_stored_payload(filter) + chunk * bloom_chunk_block_bytes(geometry);
    size_t length = (size_t)bloom_payload_bytes(&shape);
    uint8_t *blocks;
    struct bloom_counts *counts = &merged->counts;
    int code = bloom_chunk_read(layers->chunks, geometry, chunk, counts, &blocks);
    if (code == SQLITE_OK)
        code = bloom_counts_check(layers->chunks, geometry, chunk, counts);
    if (code != SQLITE_OK)
        return code;
    merged->has_new = any_bit(from, length);
    merged->ones_before = counts->ones;
    merged->tally = (struct bloom_tally){0};
    if (merged->has_new)
        geometry->shape.layout->unite(blocks, from, length);
    shape.layout->blocks->tally(&merged->tally, blocks, bloom_blocks_of_chunk(geometry, chunk));
    if (!merged->has_new)
        return SQLITE_OK;
    struct bloom_estimate estimate = estimate_of(&shape, &merged->tally);
    if (estimate.ones > counts->ones) {
        uint64_t least = counts->keys + bloom_keys_fewest(&shape, estimate.ones - counts->ones);
        uint64_t keys = bloom_keys_of(&shape, &estimate);
        counts->keys = (uint32_t)(keys > least ? keys : least);
        counts->ones = (uint32_t)estimate.ones;
    }
    return SQLITE_OK;
}

static int beyond_rate(struct bloom_layers *layers, double rate, double limit) {
    return bloom_database_fail(
        layers->database, SQLITE_ERROR,
        "with these keys the first layer would have a false-positive rate of %!.3g, but it is made "
        "for %!.3g; merge into a table with a larger capacity, or with growth=off",
        rate, limit);
}

/* Everything that may be refused comes before the first change, and the layer's row before the
 * chunks. What is merged is reported. */
int bloom_whole_merge(struct bloom_layers *layers, const struct bloom_stored *filter) {
    struct bloom_layer *layer = bloom_layers_at(layers, bloom_layers_older(layers));
    const struct bloom_geometry *geometry = &layer->geometry;
    uint64_t chunk_count = bloom_chunks_of_layer(geometry), ones_before = 0;
    struct bloom_tally tally = {0};
    struct bloom_sums sums = layer->sums;
    struct merged_chunk merged;
    char problem[BLOOM_PROBLEM_SIZE];
    int code = SQLITE_OK;
    if (!bloom_shape_same(&geometry->shape, &filter->shape, problem))
        return bloom_database_fail(layers->database, SQLITE_ERROR,
                                   "the filter differs from the table's first layer (%s); add its "
                                   "keys with SELECT 'add_all', bloom_hashes(key) instead, which "
                                   "takes any number",
                                   problem);
    for (uint64_t chunk = 0; chunk < chunk_count && code == SQLITE_OK; chunk++) {
        code = merge_chunk(layers, geometry, filter, chunk, &merged);
        if (code != SQLITE_OK)
            return code;
        ones_before += merged.ones_before;
        for (unsigned i = 0; i <= BLOOM_BLOCK_ONES_MAXIMUM; i++)
            tally.blocks_with[i] += merged.tally.blocks_with[i];
        if (!merged.has_new)
            continue;
        sums.keys += merged.counts.keys - (uint64_t)merged.counts.reported_keys;
        sums.ones += merged.counts.ones - (uint64_t)merged.counts.reported_ones;
        sums.chunks += merged.counts.reported_keys == 0;
    }
    struct bloom_estimate estimate = estimate_of(&geometry->shape, &tally);
    if (estimate.ones > ones_before && estimate.rate > geometry->shape.rate &&
        estimate.ones > bloom_growth_merge_limit(&layers->growth, &geometry->shape))
        return beyond_rate(layers, estimate.rate, geometry->shape.rate);
    code = bloom_database_prepare(layers->database, BLOOM_NEW_CHUNK);
    if (code == SQLITE_OK)
        code = bloom_database_prepare(layers->database, BLOOM_WRITE_CHUNK);
    if (code == SQLITE_OK)
        code = bloom_layers_write(layers, layer, &sums);
    layer->geometry.complete = false; /* rows that the sums count are made from here on */
    for (uint64_t chunk = 0; chunk < chunk_count && code == SQLITE_OK; chunk++) {
        code = merge_chunk(layers, geometry, filter, chunk, &merged);
        if (code != SQLITE_OK || !merged.has_new)
            continue;
        merged.counts.reported_keys = merged.counts.keys;
        merged.counts.reported_ones = merged.counts.ones;
        code = bloom_chunk_write(layers->chunks, geometry, chunk, &merged.counts);
    }
    bloom_layers_forget(layers);
    return code;
}

static char *problem_of_layer(const char *name, const struct bloom_layer *layer,
                              const struct survey *survey) {
    const struct bloom_sums *sums = &layer->sums;
    const unsigned number = layer->geometry.number;
    if (survey->bits_beyond)
        return sqlite3_mprintf("%s: bits are set beyond the last block of layer %u", name, number);
    if (survey->damaged)
        return sqlite3_mprintf("%s: the counts of chunk %llu of layer %u are not those of its "
                               "bits; the command repair counts anew",
                               name, (sqlite3_uint64)survey->chunk, number);
    if (survey->reported.keys != sums->keys || survey->reported.chunks != sums->chunks ||
        survey->reported.ones != sums->ones)
        return sqlite3_mprintf(
            "%s: the row of layer %u says %llu chunks, %llu keys and %llu bits, but %llu chunks "
            "reported %llu keys and %llu bits; the command repair counts anew",
            name, number, (sqlite3_uint64)sums->chunks, (sqlite3_uint64)sums->keys,
            (sqlite3_uint64)sums->ones, (sqlite3_uint64)survey->reported.chunks,
            (sqlite3_uint64)survey->reported.keys, (sqlite3_uint64)survey->reported.ones);
    return NULL;
}

int bloom_whole_verify(struct bloom_layers *layers, char **problem) {
    sqlite3_int64 id;
    bool any;
    int code = SQLITE_OK;
    for (unsigned i = 0; code == SQLITE_OK && i < layers->count && *problem == NULL; i++) {
        const struct bloom_layer *layer = &layers->layers[i];
        struct survey survey;
        struct bloom_estimate estimate;
        code = bloom_chunks_check(layers->chunks, &layer->geometry, &any);
        if (code == SQLITE_OK)
            code = survey_layer(layers, &layer->geometry, &survey, &estimate);
        if (code == SQLITE_OK)
            *problem = problem_of_layer(layers->database->name, layer, &survey);
    }
    if (code == SQLITE_OK && *problem == NULL)
        code = bloom_chunks_last(layers->chunks, bloom_layers_end_id(layers), INT64_MAX, &any, &id);
    if (code == SQLITE_OK && *problem == NULL && !any)
        code = bloom_chunks_last(layers->chunks, INT64_MIN, -1, &any, &id);
    if (code == SQLITE_OK && *problem == NULL && any)
        *problem = sqlite3_mprintf("%s: chunk %lld is of no layer", layers->database->name, id);
    return code;
}

/* One pass of a repair over a layer: sums up what its chunks will have reported, and stops at the
 * first that must be written, where it is to. */
struct repair {
    struct bloom_sums sums;
    uint64_t ones;
    bool stops, stopped;
    uint64_t chunk;
    struct bloom_counts counts;
};

static bool repair_chunk(void *argument, const struct bloom_geometry *geometry, uint64_t chunk,
                         const struct bloom_counts *counts, const uint8_t *blocks) {
    struct repair *repair = argument;
    struct bloom_tally tally = {0};
    if (blocks == NULL)
        return true;
    geometry->shape.layout->blocks->tally(&tally, blocks, bloom_blocks_of_chunk(geometry, chunk));
    repair->counts = right_counts(geometry, chunk, counts, &tally);
    repair->chunk = chunk;
    repair->stopped = repair->stops && memcmp(&repair->counts, counts, sizeof *counts) != 0;
    repair->ones += repair->counts.ones;
    add_reported(&repair->sums, &repair->counts);
    return !repair->stopped;
}

static int repair_layer(struct bloom_layers *layers, struct bloom_layer *layer, uint64_t *ones) {
    const struct bloom_geometry *geometry = &layer->geometry;
    struct repair repair = {.stops = false};
    struct bloom_counts counts;
    uint8_t *blocks;
    int code = bloom_chunks_for_each(layers->chunks, geometry, 0, repair_chunk, &repair);
    *ones = repair.ones;
    if (code == SQLITE_OK)
        code = bloom_layers_write(layers, layer, &repair.sums);
    for (uint64_t from = 0; code == SQLITE_OK; from = repair.chunk + 1) {
        repair = (struct repair){.stops = true};
        code = bloom_chunks_for_each(layers->chunks, geometry, from, repair_chunk, &repair);
        if (code != SQLITE_OK || !repair.stopped)
            return code;
        code = bloom_chunk_read(layers->chunks, geometry, repair.chunk, &counts, &blocks);
        if (code == SQLITE_OK)
            code = bloom_chunk_write(layers->chunks, geometry, repair.chunk, &repair.counts);
    }
    return code;
}

int bloom_whole_repair(struct bloom_layers *layers) {
    unsigned with_keys = 1;
    int code = SQLITE_OK;
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        uint64_t ones;
        code = repair_layer(layers, &layers->layers[i], &ones);
        if (ones > 0)
            with_keys = i + 1;
    }
    return code == SQLITE_OK && with_keys < layers->count && layers->growth.generations == 1
               ? bloom_layers_truncate(layers, with_keys)
               : code;
}

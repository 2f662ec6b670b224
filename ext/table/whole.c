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
    bool bits_beyond; /* set beyond the last block of the layer */
};

static void survey_chunk(void *argument, const struct bloom_geometry *geometry, uint64_t chunk,
                         const uint8_t *bits) {
    struct survey *survey = argument;
    const struct bloom_blocks *blocks = geometry->shape.layout->blocks;
    uint32_t count = bloom_blocks_of_chunk(geometry, chunk);
    size_t used = (size_t)count * blocks->bytes;
    blocks->tally(&survey->tally, bits, count);
    survey->rows++;
    if (any_bit(bits + used, bloom_chunk_bytes(geometry) - used))
        survey->bits_beyond = true;
}

static struct bloom_estimate estimate_of(const struct bloom_shape *shape,
                                         const struct bloom_tally *tally) {
    return shape->layout->blocks->estimate(shape, tally);
}

static int survey_layer(struct bloom_layers *layers, unsigned index, struct survey *survey,
                        struct bloom_estimate *estimate) {
    const struct bloom_geometry *geometry = &layers->layers[index].geometry;
    *survey = (struct survey){.rows = 0};
    int code = bloom_chunks_for_each(layers->chunks, geometry, survey_chunk, survey);
    if (code == SQLITE_OK)
        *estimate = estimate_of(&geometry->shape, &survey->tally);
    return code;
}

/* A key that was counted set one bit that was not set, and at most one for each probe. */
static uint64_t fewest_keys(const struct bloom_shape *shape, uint64_t ones) {
    return (ones + shape->probes - 1) / shape->probes;
}

static bool keys_are_possible(const struct bloom_shape *shape, uint64_t keys, uint64_t ones) {
    if (shape->layout->blocks->remove != NULL)
        return true; /* what is taken out may have set fewer, or more */
    return keys >= fewest_keys(shape, ones) && keys <= ones;
}

/* The number of keys that so many ones tell of. */
static uint64_t keys_of(const struct bloom_shape *shape, const struct bloom_estimate *estimate) {
    uint64_t fewest = fewest_keys(shape, estimate->ones);
    uint64_t keys = estimate->count < (double)estimate->ones /* infinite when all are set */
                        ? (uint64_t)floor(estimate->count + 0.5)
                        : estimate->ones;
    return keys < fewest ? fewest : keys;
}

/* Where every chunk has a row, all must have been visited. (Elsewhere one that is gone cannot be
 * told from one that was never written: the counts may be on their way, in a transaction whose
 * changes are seen.) */
static int check_rows(struct bloom_layers *layers, unsigned index, uint64_t rows) {
    const struct bloom_geometry *geometry = &layers->layers[index].geometry;
    if (!geometry->complete || rows == bloom_chunks_of_layer(geometry))
        return SQLITE_OK;
    return bloom_database_fail(layers->database, SQLITE_CORRUPT_VTAB,
                               "%s is damaged: of the %llu chunks of layer %u only %llu are there",
                               layers->database->shadow_names[BLOOM_SHADOW_CHUNKS],
                               (sqlite3_uint64)bloom_chunks_of_layer(geometry), index,
                               (sqlite3_uint64)rows);
}

struct copy {
    uint8_t *payload;
    uint64_t rows;
};

static void copy_chunk(void *argument, const struct bloom_geometry *geometry, uint64_t chunk,
                       const uint8_t *bits) {
    struct copy *copy = argument;
    copy->rows++;
    memcpy(copy->payload + chunk * bloom_chunk_bytes(geometry), bits,
           (size_t)bloom_blocks_of_chunk(geometry, chunk) * geometry->shape.layout->blocks->bytes);
}

int bloom_whole_filter(struct bloom_layers *layers, int64_t length_limit, struct bloom_shape *shape,
                       uint8_t **bytes) {
    const struct bloom_geometry *geometry = &layers->layers[0].geometry;
    *bytes = NULL;
    *shape = geometry->shape;
    if (layers->count > 1)
        return bloom_database_fail(
            layers->database, SQLITE_ERROR,
            "the table has grown to %u layers, which no single filter can hold; make a table or a "
            "filter with a larger capacity",
            layers->count);
    if (bloom_filter_bytes(shape) > (uint64_t)length_limit)
        return bloom_database_fail(
            layers->database, SQLITE_TOOBIG,
            "its filter needs %llu bytes, but a value of this connection is limited to %lld bytes",
            (sqlite3_uint64)bloom_filter_bytes(shape), (sqlite3_int64)length_limit);
    *bytes = bloom_sql_new_filter(shape);
    if (*bytes == NULL)
        return SQLITE_NOMEM;
    struct copy copy = {*bytes + bloom_header_bytes(shape), 0};
    int code = bloom_chunks_for_each(layers->chunks, geometry, copy_chunk, &copy);
    if (code == SQLITE_OK)
        code = check_rows(layers, 0, copy.rows);
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

int bloom_whole_info(struct bloom_layers *layers, char **json) {
    const struct bloom_growth *growth = &layers->growth;
    double count = 0;
    double pass = 1; /* probability that a key that is not in is found in no layer */
    uint64_t chunks = 0;
    int code = SQLITE_OK;
    *json = NULL;
    /* Not that of the connection: what is too long for it is no lack of memory, and SQLite says so
     * of the result. */
    sqlite3_str *list = sqlite3_str_new(NULL);
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        const struct bloom_layer *layer = &layers->layers[i];
        const struct bloom_shape *shape = &layer->geometry.shape;
        struct survey survey;
        struct bloom_estimate estimate = {0};
        code = survey_layer(layers, i, &survey, &estimate);
        if (code == SQLITE_OK)
            code = check_rows(layers, i, survey.rows);
        count += estimate.count;
        pass *= 1 - estimate.rate;
        chunks += layer->chunks;
        sqlite3_str_appendf(
            list,
            "%s{\"n\":%llu,\"p\":%!.15g,\"bits\":%llu,\"hashes\":%u,\"keys\":%llu,\"fill\":%!"
            ".15g,\"fpr\":%!.15g}",
            i > 0 ? "," : "", (sqlite3_uint64)shape->capacity, shape->rate,
            (sqlite3_uint64)shape->bits, shape->probes, (sqlite3_uint64)layer->keys, estimate.fill,
            estimate.rate);
    }
    char *list_text = sqlite3_str_finish(list);
    if (code == SQLITE_OK && list_text != NULL) {
        char *count_text = isfinite(count)
                               ? sqlite3_mprintf("%lld", (sqlite3_int64)floor(count + 0.5))
                               : sqlite3_mprintf("null");
        if (count_text != NULL)
            *json = sqlite3_mprintf(
                "{\"version\":%d,\"layout\":\"%s\",\"capacity\":%llu,\"p\":%!.15g,\"growth\":%s,"
                "\"chunks\":%llu,\"count\":%s,\"fpr\":%!.15g,\"layers\":[%s]}",
                BLOOM_FORMAT_VERSION, growth->layout->name, (sqlite3_uint64)growth->capacity,
                growth->rate, mode_as_json(growth->mode), (sqlite3_uint64)chunks, count_text,
                1 - pass, list_text);
        sqlite3_free(count_text);
    }
    sqlite3_free(list_text);
    return code == SQLITE_OK && *json == NULL ? SQLITE_NOMEM : code;
}

/* Chunk after chunk of the first layer, as it will be when a filter is merged: read into the
 * buffer, and united there with the filter's part. */
static int unite_chunk(struct bloom_layers *layers, const struct bloom_stored *filter,
                       uint64_t chunk, bool *has_row, bool *has_new) {
    const struct bloom_geometry *geometry = &layers->layers[0].geometry;
    const uint8_t *from = bloom_stored_payload(filter) + chunk * bloom_chunk_bytes(geometry);
    size_t length =
        (size_t)bloom_blocks_of_chunk(geometry, chunk) * geometry->shape.layout->blocks->bytes;
    int code = bloom_chunk_read(layers->chunks, geometry, chunk, has_row);
    *has_new = any_bit(from, length);
    if (code == SQLITE_OK && *has_new)
        geometry->shape.layout->unite(layers->chunks->chunk, from, length);
    return code;
}

static int beyond_rate(struct bloom_layers *layers, double rate) {
    return bloom_database_fail(
        layers->database, SQLITE_ERROR,
        "with these keys the first layer would have a false-positive rate of %!.3g, but it is made "
        "for %!.3g; merge into a table with a larger capacity, or with growth=off",
        rate, layers->layers[0].geometry.shape.rate);
}

/* Everything that may be refused comes before the first change, and the counts before the bits:
 * should a change fail, the layer counts too many rather than too few. */
int bloom_whole_merge(struct bloom_layers *layers, const struct bloom_stored *filter) {
    const struct bloom_layer *layer = &layers->layers[0];
    const struct bloom_geometry *geometry = &layer->geometry;
    uint64_t chunk_count = bloom_chunks_of_layer(geometry), rows = 0;
    struct bloom_tally tally = {0};
    char problem[BLOOM_PROBLEM_SIZE];
    bool has_row, has_new, allowed;
    int code = SQLITE_OK;
    if (!bloom_shape_same(&geometry->shape, &filter->shape, problem))
        return bloom_database_fail(layers->database, SQLITE_ERROR,
                                   "the filter differs from the table's first layer (%s); make it "
                                   "with bloom_agg(key, (SELECT filter FROM %s))",
                                   problem, layers->database->name);
    for (uint64_t chunk = 0; chunk < chunk_count && code == SQLITE_OK; chunk++) {
        code = unite_chunk(layers, filter, chunk, &has_row, &has_new);
        geometry->shape.layout->blocks->tally(&tally, layers->chunks->chunk,
                                              bloom_blocks_of_chunk(geometry, chunk));
        rows += has_row || has_new;
    }
    if (code != SQLITE_OK)
        return code;
    struct bloom_estimate estimate = estimate_of(&geometry->shape, &tally);
    if (estimate.ones > layer->ones && estimate.rate > geometry->shape.rate &&
        estimate.ones > bloom_growth_merge_limit(&layers->growth, &geometry->shape))
        return beyond_rate(layers, estimate.rate);
    code = bloom_database_allow(layers->database, BLOOM_WRITE_CHUNK, &allowed);
    if (code == SQLITE_OK)
        code = bloom_layers_set_counts(
            layers, 0,
            estimate.ones == layer->ones ? layer->keys : keys_of(&geometry->shape, &estimate), rows,
            estimate.ones);
    for (uint64_t chunk = 0; chunk < chunk_count && code == SQLITE_OK; chunk++) {
        code = unite_chunk(layers, filter, chunk, &has_row, &has_new);
        if (code == SQLITE_OK && has_new)
            code = bloom_chunk_write(layers->chunks, geometry, chunk);
    }
    return code;
}

static char *problem_of_layer(const struct bloom_layers *layers, unsigned index,
                              const struct survey *survey, const struct bloom_estimate *estimate) {
    const struct bloom_layer *layer = &layers->layers[index];
    const char *name = layers->database->name;
    if (survey->rows != layer->chunks)
        return sqlite3_mprintf("%s: layer %u has %llu chunks, but %llu were written; the command "
                               "repair counts anew",
                               name, index, (sqlite3_uint64)survey->rows,
                               (sqlite3_uint64)layer->chunks);
    if (survey->bits_beyond)
        return sqlite3_mprintf("%s: bits are set beyond the last block of layer %u", name, index);
    if (estimate->ones != layer->ones)
        return sqlite3_mprintf("%s: layer %u has %llu bits set, but %llu are counted; the command "
                               "repair counts anew",
                               name, index, (sqlite3_uint64)estimate->ones,
                               (sqlite3_uint64)layer->ones);
    if (!keys_are_possible(&layer->geometry.shape, layer->keys, layer->ones))
        return sqlite3_mprintf(
            "%s: layer %u counts %llu keys, which cannot have set its %llu bits; "
            "the command repair counts anew",
            name, index, (sqlite3_uint64)layer->keys, (sqlite3_uint64)layer->ones);
    return NULL;
}

int bloom_whole_verify(struct bloom_layers *layers, char **problem) {
    uint64_t rows_in_layers = 0, rows = 0;
    int code = SQLITE_OK;
    *problem = NULL;
    for (unsigned i = 0; code == SQLITE_OK && i < layers->count && *problem == NULL; i++) {
        struct survey survey;
        struct bloom_estimate estimate = {0};
        code = survey_layer(layers, i, &survey, &estimate);
        rows_in_layers += survey.rows;
        if (code == SQLITE_OK)
            *problem = problem_of_layer(layers, i, &survey, &estimate);
    }
    if (code == SQLITE_OK && *problem == NULL)
        code = bloom_chunks_count(layers->chunks, &rows);
    if (code == SQLITE_OK && *problem == NULL && rows != rows_in_layers)
        *problem = sqlite3_mprintf("%s: %llu chunks are of no layer", layers->database->name,
                                   (sqlite3_uint64)(rows - rows_in_layers));
    return code;
}

/* Whether a repair leaves the number of keys alone. Where keys are taken out it can come to be
 * above that of the ones without any damage, but then the ones tell more. */
static bool keys_may_stay(const struct bloom_shape *shape, uint64_t keys, uint64_t ones) {
    return keys <= ones && keys_are_possible(shape, keys, ones);
}

int bloom_whole_repair(struct bloom_layers *layers) {
    int code = SQLITE_OK;
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        const struct bloom_layer *layer = &layers->layers[i];
        const struct bloom_shape *shape = &layer->geometry.shape;
        struct survey survey;
        struct bloom_estimate estimate = {0};
        code = survey_layer(layers, i, &survey, &estimate);
        if (code == SQLITE_OK)
            code = bloom_layers_set_counts(layers, i,
                                           keys_may_stay(shape, layer->keys, estimate.ones)
                                               ? layer->keys
                                               : keys_of(shape, &estimate),
                                           survey.rows, estimate.ones);
    }
    return code;
}

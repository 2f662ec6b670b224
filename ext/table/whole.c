/* See whole.h. */
#include "table/whole.h"

#include "filter/hashes.h"

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
    struct bloom_estimate estimate;
    uint64_t rows;
    uint64_t keys;              /* that the chunks count */
    struct bloom_sums reported; /* that they say they reported */
    struct bloom_sums right;    /* that they should have */
    struct bloom_sums most;     /* ones and chunks that they can have reported, by their bits */
    bool bits_beyond;           /* set beyond the last block of the layer */
    bool damaged;               /* the counts of a chunk are not those of its bits */
    uint64_t chunk;             /* the first of these */
    uint32_t counted, found;    /* ones of the first chunk that has fewer than it counts; or 0 */
    uint64_t poorer;            /* that chunk */
};

static void add_tally(struct bloom_tally *sum, const struct bloom_tally *tally) {
    for (unsigned i = 0; i <= BLOOM_BLOCK_ONES_MAXIMUM; i++)
        sum->blocks_with[i] += tally->blocks_with[i];
}

static void add_reported(struct bloom_sums *sums, const struct bloom_counts *counts) {
    sums->keys += counts->reported_keys;
    sums->chunks += counts->reported_keys > 0;
    sums->ones += counts->reported_ones;
}

/* Counts the ones of a chunk's blocks, and estimates its keys, by the shape of the chunk alone. */
static struct bloom_estimate estimate_chunk(const struct bloom_geometry *geometry, uint64_t chunk,
                                            const uint8_t *blocks, struct bloom_tally *tally) {
    const struct bloom_blocks *kernel = geometry->shape.layout->blocks;
    const uint32_t count = bloom_blocks_of_chunk(geometry, chunk);
    struct bloom_shape shape = geometry->shape;
    shape.bits = shape.bits / kernel->count(&shape) * count;
    *tally = (struct bloom_tally){0};
    kernel->tally(tally, blocks, count);
    return kernel->estimate(&shape, tally);
}

/* The counts that a chunk should have by its bits: its own, where these are possible. */
static struct bloom_counts right_counts(const struct bloom_geometry *geometry, uint64_t chunk,
                                        const struct bloom_counts *counts, const uint8_t *blocks,
                                        struct bloom_tally *tally) {
    const struct bloom_shape *shape = &geometry->shape;
    const struct bloom_estimate estimate = estimate_chunk(geometry, chunk, blocks, tally);
    const bool possible = bloom_keys_are_possible(shape, counts->keys, estimate.ones);
    const int64_t lag = (int64_t)counts->keys - counts->reported_keys;
    struct bloom_counts right = {
        .keys = counts->keys, .ones = (uint32_t)estimate.ones, .generation = geometry->generation};
    if (bloom_counts_are_sound(geometry, counts) && counts->ones == estimate.ones && possible &&
        lag > -BLOOM_REPORT_KEYS && lag < BLOOM_REPORT_KEYS)
        return *counts;
    if (!possible || counts->keys > estimate.ones)
        right.keys = (uint32_t)bloom_keys_of(shape, &estimate);
    right.reported_keys = right.keys;
    right.reported_ones = right.ones;
    return right;
}

/* Whether bits of a chunk are gone: it counts more than there are. A number that no chunk can have
 * tells nothing of its bits. */
static bool has_lost_bits(const struct bloom_geometry *geometry, uint64_t chunk,
                          const struct bloom_counts *counts, uint64_t ones) {
    return counts->ones > ones && counts->ones <= (uint64_t)bloom_blocks_of_chunk(geometry, chunk) *
                                                      BLOOM_BLOCK_ONES_MAXIMUM;
}

/* Adds what a chunk with these right counts can have reported, before its counts were damaged. Keys
 * that were taken out may have had bits that it did not report as gone. */
static void add_most(struct bloom_sums *sums, const struct bloom_shape *shape,
                     const struct bloom_counts *right) {
    const uint64_t ones = right->ones + (shape->layout->blocks->remove != NULL
                                             ? (uint64_t)BLOOM_REPORT_KEYS * shape->probes - 1
                                             : 0);
    sums->ones += ones;
    sums->chunks += ones > 0;
}

static int survey_layer(struct bloom_layers *layers, const struct bloom_geometry *geometry,
                        struct survey *survey) {
    const struct bloom_blocks *kernel = geometry->shape.layout->blocks;
    struct bloom_counts counts;
    struct bloom_tally tally;
    uint8_t *blocks;
    *survey = (struct survey){.rows = 0};
    for (uint64_t chunk = 0;; chunk++) {
        int code = bloom_chunk_next(layers->chunks, geometry, &chunk, &counts, &blocks);
        if (code != SQLITE_OK || blocks == NULL) {
            survey->estimate = kernel->estimate(&geometry->shape, &survey->tally);
            return code;
        }
        const size_t used = (size_t)bloom_blocks_of_chunk(geometry, chunk) * kernel->bytes;
        struct bloom_counts right = right_counts(geometry, chunk, &counts, blocks, &tally);
        survey->rows++;
        survey->keys += counts.keys;
        add_tally(&survey->tally, &tally);
        add_reported(&survey->reported, &counts);
        add_reported(&survey->right, &right);
        survey->bits_beyond |= any_bit(blocks + used, bloom_chunk_block_bytes(geometry) - used);
        if (memcmp(&right, &counts, sizeof right) == 0) {
            add_reported(&survey->most, &counts);
            continue;
        }
        add_most(&survey->most, &geometry->shape, &right);
        if (!survey->damaged)
            survey->chunk = chunk;
        survey->damaged = true;
        if (survey->counted == 0 && has_lost_bits(geometry, chunk, &counts, right.ones)) {
            survey->counted = counts.ones;
            survey->found = right.ones;
            survey->poorer = chunk;
        }
    }
}

/* Fails where bits that were counted are gone, and keys with them: of a chunk, or with its row.
 * Counts that are too low, and keys alone that are too many, are only wrong. */
static int check_loss(struct bloom_layers *layers, const struct bloom_layer *layer,
                      const struct survey *survey) {
    const struct bloom_sums *sums = &layer->sums;
    const unsigned number = layer->geometry.number;
    const uint64_t chunks = bloom_chunks_of_layer(&layer->geometry);
    if (survey->counted > 0)
        return bloom_database_damaged(
            layers->database, BLOOM_SHADOW_CHUNKS,
            "of the %u bits of chunk %llu of layer %u only %u are set, so that keys were lost",
            survey->counted, (sqlite3_uint64)survey->poorer, number, survey->found);
    if (survey->most.ones >= sums->ones &&
        survey->most.chunks >= (sums->chunks < chunks ? sums->chunks : chunks))
        return SQLITE_OK;
    return bloom_database_damaged(
        layers->database, BLOOM_SHADOW_CHUNKS,
        "the row of layer %u says %llu chunks and %llu bits, but %llu chunks with %llu bits are "
        "there, so that keys were lost",
        number, (sqlite3_uint64)sums->chunks, (sqlite3_uint64)sums->ones,
        (sqlite3_uint64)survey->most.chunks, (sqlite3_uint64)survey->most.ones);
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

char *bloom_hashes_call(char text[BLOOM_HASHES_CALL_SIZE], const struct bloom_keying *keying) {
    const bool ruled = keying->rule != NULL;
    sqlite3_snprintf(BLOOM_HASHES_CALL_SIZE, text, "bloom_hashes(key%s%s%s%s%s%s)",
                     ruled || keying->salted ? ", '" : "", ruled ? "key=" : "",
                     ruled ? keying->rule->name : "", ruled && keying->salted ? ", " : "",
                     keying->salted ? "salt=..." : "", ruled || keying->salted ? "'" : "");
    return text;
}

/* The layer that holds all keys; the first one of the newest generation when there are none. */
static int find_holder(struct bloom_layers *layers, const struct bloom_layer **holder) {
    const bool ages = layers->growth.generations > 1;
    struct bloom_counts counts;
    uint8_t *blocks;
    unsigned holders = 0;
    char call[BLOOM_HASHES_CALL_SIZE];
    *holder = bloom_layers_at(layers, bloom_layers_older(layers));
    for (unsigned i = 0; i < layers->count; i++) {
        uint64_t chunk = 0;
        int code =
            bloom_chunk_next(layers->chunks, &layers->layers[i].geometry, &chunk, &counts, &blocks);
        if (code != SQLITE_OK)
            return code;
        if (ages && blocks == NULL)
            continue;
        *holder = &layers->layers[i];
        holders++;
    }
    if (holders < 2)
        return SQLITE_OK;
    return bloom_database_fail(
        layers->database, SQLITE_ERROR,
        ages ? "keys are in several of %u layers, which no single filter can hold; ask the table, "
               "or make one without generations; for add_all write %s"
             : "the table has grown to %u layers, which no single filter can hold; make a table or "
               "a filter with a larger capacity; for add_all write %s",
        layers->count, bloom_hashes_call(call, &layers->growth.keying));
}

static int copy_layer(struct bloom_layers *layers, const struct bloom_geometry *geometry,
                      uint8_t *payload) {
    struct bloom_counts counts;
    uint8_t *blocks;
    uint64_t rows = 0;
    for (uint64_t chunk = 0;; chunk++, rows++) {
        int code = bloom_chunk_next(layers->chunks, geometry, &chunk, &counts, &blocks);
        if (code != SQLITE_OK)
            return code;
        if (blocks == NULL)
            return check_rows(layers, geometry, rows);
        memcpy(payload + chunk * bloom_chunk_block_bytes(geometry), blocks,
               (size_t)bloom_blocks_of_chunk(geometry, chunk) *
                   geometry->shape.layout->blocks->bytes);
    }
}

int bloom_whole_filter(struct bloom_layers *layers, struct bloom_shape *shape, uint8_t **bytes) {
    const struct bloom_layer *layer;
    const int length_limit = sqlite3_limit(layers->database->connection, SQLITE_LIMIT_LENGTH, -1);
    int code = find_holder(layers, &layer);
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
    code = copy_layer(layers, geometry, *bytes + bloom_header_bytes(shape));
    if (code != SQLITE_OK)
        sqlite3_free(*bytes);
    return code;
}

/* What is known of a generation, or of all. */
struct total {
    double count, log_pass; /* of the probability that a key not in is found in no layer */
    double ones, bits;
    uint64_t keys, chunks;
};

static void add_to_total(struct total *total, const struct bloom_shape *shape,
                         const struct survey *survey) {
    total->count += survey->estimate.count;
    total->log_pass += log1p(-survey->estimate.rate);
    total->ones += survey->estimate.fill * (double)shape->bits;
    total->bits += (double)shape->bits;
    total->keys += survey->keys;
    total->chunks += survey->rows;
}

/* Tiny rates keep their digits. */
static double rate_of(const struct total *total) {
    return 0 - expm1(total->log_pass);
}

int bloom_whole_info(struct bloom_layers *layers, char **json) {
    static const char *const MODES[] = {[BLOOM_GROWTH_ON] = "true",
                                        [BLOOM_GROWTH_OFF] = "false",
                                        [BLOOM_GROWTH_ERROR] = "\"error\""};
    const struct bloom_growth *growth = &layers->growth;
    struct total all = {0}, one = {0};
    char fill[BLOOM_NUMBER_SIZE], rate[BLOOM_NUMBER_SIZE];
    int code = SQLITE_OK;
    /* Not those of the connection: what is too long for it is no lack of memory, and SQLite says so
     * of the result. */
    sqlite3_str *whole = sqlite3_str_new(NULL), *generations = sqlite3_str_new(NULL);
    sqlite3_str *list = sqlite3_str_new(NULL);
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        const struct bloom_geometry *geometry = &bloom_layers_at(layers, i)->geometry;
        const struct bloom_shape *shape = &geometry->shape;
        struct survey survey;
        code = survey_layer(layers, geometry, &survey);
        if (code == SQLITE_OK)
            code = check_rows(layers, geometry, survey.rows);
        if (i > 0 && bloom_layers_at(layers, i - 1)->geometry.generation != geometry->generation)
            one = (struct total){0};
        add_to_total(&all, shape, &survey);
        add_to_total(&one, shape, &survey);
        sqlite3_str_appendf(
            list,
            "%s{\"n\":%llu,\"p\":%!.15g,\"bits\":%llu,\"hashes\":%u,\"keys\":%llu,\"fill\":%s,"
            "\"fpr\":%s}",
            i > 0 ? "," : "", (sqlite3_uint64)shape->capacity, shape->rate,
            (sqlite3_uint64)shape->bits, shape->probes, (sqlite3_uint64)survey.keys,
            bloom_sql_estimate(fill, survey.estimate.fill),
            bloom_sql_estimate(rate, survey.estimate.rate));
        if (i + 1 == layers->count ||
            bloom_layers_at(layers, i + 1)->geometry.generation != geometry->generation)
            sqlite3_str_appendf(
                generations, "%s{\"generation\":%u,\"keys\":%llu,\"fill\":%s,\"fpr\":%s}",
                sqlite3_str_length(generations) > 0 ? "," : "", geometry->generation,
                (sqlite3_uint64)one.keys, bloom_sql_estimate(fill, one.ones / one.bits),
                bloom_sql_estimate(rate, rate_of(&one)));
    }
    sqlite3_str_appendf(whole, "{\"version\":%d,\"layout\":\"%s\"", BLOOM_FORMAT_VERSION,
                        growth->layout->name);
    bloom_sql_append_keying(whole, &growth->keying);
    sqlite3_str_appendf(
        whole,
        ",\"capacity\":%llu,\"p\":%!.15g,\"growth\":%s,\"chunks\":%llu,\"used\":%s,\"count\":",
        (sqlite3_uint64)growth->capacity, growth->rate, MODES[growth->mode],
        (sqlite3_uint64)all.chunks,
        bloom_sql_estimate(fill, (double)one.keys / (double)growth->capacity));
    sqlite3_str_appendf(whole, isfinite(all.count) ? "%lld" : "null",
                        isfinite(all.count) ? (sqlite3_int64)floor(all.count + 0.5) : 0);
    sqlite3_str_appendf(whole, ",\"fpr\":%s", bloom_sql_estimate(rate, rate_of(&all)));
    if (growth->generations > 1)
        sqlite3_str_appendf(whole, ",\"generations\":[%s]", sqlite3_str_value(generations));
    sqlite3_str_appendf(whole, ",\"layers\":[%s]}", sqlite3_str_value(list));
    if (code == SQLITE_OK)
        code = sqlite3_str_errcode(list) | sqlite3_str_errcode(generations);
    sqlite3_free(sqlite3_str_finish(list));
    sqlite3_free(sqlite3_str_finish(generations));
    *json = sqlite3_str_finish(whole);
    if (code == SQLITE_OK && *json != NULL)
        return code;
    sqlite3_free(*json);
    return code == SQLITE_OK ? SQLITE_NOMEM : code;
}

/* What a merge makes of a layer. */
struct merged {
    struct bloom_tally tally;
    struct bloom_sums sums; /* as the row will have them: what is merged is reported */
    bool adds;              /* bits */
};

/* One pass over a layer: what it will be with the filter; or writes that. Keys of a chunk are
 * estimated, where its ones are more, but are more then, too. */
static int merge_chunks(struct bloom_layers *layers, const struct bloom_layer *layer,
                        const struct bloom_stored *filter, bool writes, struct merged *merged) {
    const struct bloom_geometry *geometry = &layer->geometry;
    const struct bloom_shape *shape = &geometry->shape;
    const uint8_t *from = bloom_stored_payload(filter);
    const uint64_t chunk_count = bloom_chunks_of_layer(geometry);
    struct bloom_counts counts;
    struct bloom_tally tally;
    uint8_t *blocks;
    *merged = (struct merged){.sums = layer->sums};
    for (uint64_t chunk = 0; chunk < chunk_count; chunk++) {
        const size_t length =
            (size_t)bloom_blocks_of_chunk(geometry, chunk) * shape->layout->blocks->bytes;
        const bool has_new = any_bit(from, length);
        int code = bloom_chunk_read(layers->chunks, geometry, chunk, &counts, &blocks);
        if (code != SQLITE_OK)
            return code;
        if (has_new)
            shape->layout->unite(blocks, from, length);
        from += length;
        struct bloom_estimate estimate = estimate_chunk(geometry, chunk, blocks, &tally);
        add_tally(&merged->tally, &tally);
        if (!has_new)
            continue;
        if (estimate.ones > counts.ones) {
            uint64_t least = counts.keys + bloom_keys_fewest(shape, estimate.ones - counts.ones);
            uint64_t keys = bloom_keys_of(shape, &estimate);
            counts.keys = (uint32_t)(keys > least ? keys : least);
            counts.ones = (uint32_t)estimate.ones;
            merged->adds = true;
        }
        bloom_sums_report(&merged->sums, &counts);
        if (writes)
            code = bloom_chunk_write(layers->chunks, geometry, chunk, &counts);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

/* Everything that may be refused comes before the first change, and the layer's row before the
 * chunks. */
int bloom_whole_merge(struct bloom_layers *layers, const struct bloom_stored *filter) {
    struct bloom_layer *layer = bloom_layers_at(layers, bloom_layers_older(layers));
    const struct bloom_shape *shape = &layer->geometry.shape;
    struct merged merged;
    char problem[BLOOM_PROBLEM_SIZE], call[BLOOM_HASHES_CALL_SIZE];
    if (filter->shape.layout == &bloom_layout_hashes)
        return bloom_database_fail(layers->database, SQLITE_ERROR,
                                   "this is a set of bloom_hashes; use the command add_all");
    if (!bloom_shape_same(shape, &filter->shape, problem))
        return bloom_database_fail(layers->database, SQLITE_ERROR,
                                   "the filter differs from the table's first layer (table and "
                                   "filter: %s); add its keys with SELECT 'add_all', %s instead, "
                                   "which takes any number",
                                   problem, bloom_hashes_call(call, &shape->keying));
    int code = merge_chunks(layers, layer, filter, false, &merged);
    if (code != SQLITE_OK)
        return code;
    struct bloom_estimate estimate = shape->layout->blocks->estimate(shape, &merged.tally);
    if (merged.adds && estimate.rate > shape->rate &&
        estimate.ones > bloom_growth_merge_limit(&layers->growth, shape))
        return bloom_database_fail(
            layers->database, SQLITE_ERROR,
            "with these keys the first layer would have a false-positive rate of %!.3g, but it is "
            "made for %!.3g; %smerge into a table with a larger capacity, or with growth=off",
            estimate.rate, shape->rate,
            layers->growth.mode == BLOOM_GROWTH_ON
                ? "add its keys with SELECT 'add_all', bloom_hashes(key), which grows, or "
                : "");
    code = bloom_layers_prepare(layers, false);
    if (code == SQLITE_OK)
        code = bloom_layers_write(layers, layer, &merged.sums);
    layer->geometry.complete = false; /* rows that the sums count are made from here on */
    if (code == SQLITE_OK)
        code = merge_chunks(layers, layer, filter, true, &merged);
    bloom_layers_forget(layers);
    return code;
}

static char *problem_of_layer(const char *name, const struct bloom_layer *layer,
                              const struct survey *survey) {
    const struct bloom_sums *sums = &layer->sums;
    const unsigned number = layer->geometry.number;
    if (survey->bits_beyond)
        return sqlite3_mprintf(
            "%s: bits are set beyond the last block of layer %u" BLOOM_RESTORE_DATABASE, name,
            number, name);
    if (survey->damaged)
        return sqlite3_mprintf("%s: the counts of chunk %llu of layer %u are not those of its "
                               "bits; count anew with INSERT INTO %s(%s) VALUES ('repair')",
                               name, (sqlite3_uint64)survey->chunk, number, name, name);
    if (survey->reported.keys != sums->keys || survey->reported.chunks != sums->chunks ||
        survey->reported.ones != sums->ones)
        return sqlite3_mprintf(
            "%s: the row of layer %u says %llu chunks, %llu keys and %llu bits, but %llu chunks "
            "reported %llu keys and %llu bits; count anew with INSERT INTO %s(%s) VALUES "
            "('repair')",
            name, number, (sqlite3_uint64)sums->chunks, (sqlite3_uint64)sums->keys,
            (sqlite3_uint64)sums->ones, (sqlite3_uint64)survey->reported.chunks,
            (sqlite3_uint64)survey->reported.keys, (sqlite3_uint64)survey->reported.ones, name,
            name);
    return NULL;
}

/* The first problem, but for what is lost: that is told as an error, whatever else is wrong. */
static int verify_layers(struct bloom_layers *layers, char **problem) {
    bool any;
    int code = SQLITE_OK;
    for (unsigned i = 0; code == SQLITE_OK && i < layers->count; i++) {
        const struct bloom_layer *layer = &layers->layers[i];
        struct survey survey;
        code = bloom_chunks_check(layers->chunks, &layer->geometry, &any);
        if (code == SQLITE_OK)
            code = survey_layer(layers, &layer->geometry, &survey);
        if (code == SQLITE_OK)
            code = check_loss(layers, layer, &survey);
        if (code == SQLITE_OK && *problem == NULL)
            *problem = problem_of_layer(layers->database->name, layer, &survey);
    }
    return code;
}

int bloom_whole_verify(struct bloom_layers *layers, char **problem) {
    sqlite3_stmt *statement;
    bool any;
    int code = verify_layers(layers, problem);
    if (code != SQLITE_OK) {
        sqlite3_free(*problem);
        *problem = NULL;
    }
    if (code != SQLITE_OK || *problem != NULL)
        return code;
    code = bloom_database_read(layers->database, BLOOM_STRAY_CHUNK, 0, 0, &statement, &any);
    if (code != SQLITE_OK)
        return code;
    if (any)
        *problem = sqlite3_mprintf("%s: chunk %lld is of no layer" BLOOM_RESTORE_DATABASE,
                                   layers->database->name, sqlite3_column_int64(statement, 0),
                                   layers->database->name);
    return bloom_database_end(layers->database, BLOOM_STRAY_CHUNK, code);
}

/* The layer's row comes first, since it may be refused. */
static int repair_layer(struct bloom_layers *layers, struct bloom_layer *layer, bool *has_bits) {
    const struct bloom_geometry *geometry = &layer->geometry;
    struct survey survey;
    struct bloom_counts counts;
    struct bloom_tally tally;
    uint8_t *blocks;
    int code = survey_layer(layers, geometry, &survey);
    *has_bits = survey.estimate.ones > 0;
    if (code == SQLITE_OK)
        code = bloom_layers_write(layers, layer, &survey.right);
    for (uint64_t chunk = survey.chunk; code == SQLITE_OK && survey.damaged; chunk++) {
        code = bloom_chunk_next(layers->chunks, geometry, &chunk, &counts, &blocks);
        if (code != SQLITE_OK || blocks == NULL)
            return code;
        struct bloom_counts right = right_counts(geometry, chunk, &counts, blocks, &tally);
        if (memcmp(&right, &counts, sizeof right) != 0)
            code = bloom_chunk_write(layers->chunks, geometry, chunk, &right);
    }
    return code;
}

/* Counted anew, a layer would not show any more that keys were lost. */
static int check_all_for_loss(struct bloom_layers *layers) {
    int code = SQLITE_OK;
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        struct survey survey;
        code = survey_layer(layers, &layers->layers[i].geometry, &survey);
        if (code == SQLITE_OK)
            code = check_loss(layers, &layers->layers[i], &survey);
    }
    return code;
}

int bloom_whole_repair(struct bloom_layers *layers) {
    const bool truncates = layers->count > 1 && layers->growth.generations == 1;
    unsigned with_keys = 1;
    int code = check_all_for_loss(layers);
    if (code != SQLITE_OK)
        return code;
    code = bloom_database_prepare(
        layers->database,
        1u << BLOOM_READ_CHUNK | 1u << BLOOM_WRITE_LAYER | 1u << BLOOM_WRITE_CHUNK |
            (truncates
                 ? 1u << BLOOM_LAST_CHUNK | 1u << BLOOM_DELETE_LAYERS | 1u << BLOOM_DELETE_CHUNKS
                 : 0));
    for (unsigned i = 0; i < layers->count && code == SQLITE_OK; i++) {
        bool has_bits;
        code = repair_layer(layers, &layers->layers[i], &has_bits);
        if (has_bits)
            with_keys = i + 1;
    }
    return code == SQLITE_OK && truncates && with_keys < layers->count
               ? bloom_layers_truncate(layers, with_keys)
               : code;
}

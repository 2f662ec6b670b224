/* Reads a filter table by plain SQL, as ext/FORMAT-tables.md has it, and changes what was read
 * as a statement must change the table. All numbers of layers, chunks and limits come from that
 * page; the filter library gives the size of a filter and works on its blocks. */
#include "simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool is_busy(int code) {
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

/* After memory or the disk has failed in a rollback, a cache that is shared answers so to
 * everything, until no connection reads any more. Whoever reads then plays the journal back. */
static void end_all(void) {
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i].in_transaction) {
            model_rollback(&connections[i]);
            sqlite3_exec(connections[i].database, "ROLLBACK", NULL, NULL, NULL);
            note("%s: ROLLBACK, since the cache that is shared has failed", connections[i].name);
        }
}

static bool fails_of_itself(int code) {
    return code == SQLITE_NOMEM || (code & 0xff) == SQLITE_IOERR || code == SQLITE_FULL;
}

int really(struct connection *connection, int code) {
    char sql[80];
    if (code == SQLITE_OK || is_busy(code))
        return code;
    char *message = sqlite3_mprintf("%s", sqlite3_errmsg(connection->database));
    int locked = SQLITE_OK;
    for (unsigned schema = 0; schema < SCHEMAS && locked == SQLITE_OK; schema++) {
        sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
        if (connection->links[schema].file != NULL)
            locked = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    }
    note("%s: -- result %d (%s)", connection->name, code, message);
    sqlite3_free(message);
    if (shared_cache && (fails_of_itself(code) || fails_of_itself(locked))) {
        end_all();
        locked = sqlite3_exec(connection->database, "SELECT count(*) FROM main.sqlite_master", NULL,
                              NULL, NULL);
        return locked == SQLITE_OK ? SQLITE_BUSY : locked;
    }
    return is_busy(locked) ? locked : code;
}

void refused(struct connection *connection, unsigned schema) {
    refusals++;
    if (!connection->in_transaction || connection->links[schema].sure || shared_cache)
        return;
    sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
    note("%s: ROLLBACK, since its first look was refused", connection->name);
    model_rollback(connection);
}

/* ---- Layers ---- */

enum { CHUNK_BITS = 40, SLOT_LAYERS = 64, HEAD_BYTES = 16, ROW_BYTES_MOST = 65520 };
enum { LAST_LAYER = 40, CAPACITY_BITS = 40 };

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t whole_root(uint64_t number) {
    uint64_t root = (uint64_t)sqrt((double)number);
    while (root * root > number)
        root--;
    while ((root + 1) * (root + 1) <= number)
        root++;
    return root;
}

/* For n keys at rate p. */
static void size_layer(const struct raw *raw, uint64_t n, double p, struct raw_layer *layer) {
    char problem[BLOOM_PROBLEM_SIZE];
    const struct bloom_layout *layout =
        raw->options.counts ? &bloom_layout_counting : &bloom_layout_blocked;
    expect(bloom_shape_for(&layer->shape, layout, n, p, problem), "no layer: %s", problem);
    layer->shape.keying = keying_of(raw->options.key);
    layer->block_count = bloom_block_count(&layer->shape);
    layer->chunk_count = (layer->block_count + raw->chunk_blocks - 1) / raw->chunk_blocks;
}

static uint64_t with_slack(uint64_t capacity, uint64_t chunks) {
    const uint64_t keys = capacity > chunks ? capacity / chunks : 1;
    const uint64_t slack = whole_root((UINT64_C(49) << 30) / keys);
    return smaller(capacity + (capacity * slack >> 16), UINT64_C(1) << CAPACITY_BITS);
}

static void set_limits(const struct options *options, bool one_chunk, uint64_t n,
                       struct raw_layer *layer) {
    const double ones = bloom_expected_ones(&layer->shape, (double)layer->shape.capacity);
    layer->keys_limit = layer->ones_limit = UINT64_MAX;
    if ((!options->grows && !options->refuses) || layer->index == LAST_LAYER)
        return;
    layer->ones_limit =
        one_chunk && layer->index == 0 ? (uint64_t)(ones + 2.5 * sqrt(ones)) + 1 : (uint64_t)ones;
    layer->keys_limit = one_chunk ? n : UINT64_MAX;
}

static void compute_layer(const struct raw *raw, unsigned index, struct raw_layer *layer) {
    const struct options *options = &raw->options;
    const double shares = 10.0 * options->ages;
    uint64_t n = options->capacity;
    double p = options->rate * (options->grows ? 9 : 10) / shares;
    layer->index = index;
    if (index == 0 && options->ages == 1 && !options->grows)
        p = options->rate;
    if (index > 0) {
        n = smaller(n << index, UINT64_C(1) << CAPACITY_BITS);
        p = options->rate / shares / (double)(UINT64_C(1) << index);
        p = fmax(p, 1e-9 + (double)n / 9223372036854775808.0);
    }
    size_layer(raw, n, p, layer);
    const bool one_chunk = layer->chunk_count == 1;
    if (index == 0 && !one_chunk && (options->grows || options->refuses))
        size_layer(raw, with_slack(n, layer->chunk_count), p, layer);
    set_limits(options, one_chunk, n, layer);
    layer->payload = calloc(1, (size_t)bloom_payload_bytes(&layer->shape));
    layer->chunks = calloc((size_t)layer->chunk_count, sizeof *layer->chunks);
    expect(layer->payload != NULL && layer->chunks != NULL, "no memory");
}

/* The layer of a generation; those before it come to be, too, of zeros. */
static struct raw_layer *layer_at(struct raw *raw, unsigned age, unsigned index) {
    struct raw_generation *generation = &raw->generations[age];
    expect(index < LAYERS_MOST, "layer %u", index);
    for (; generation->layer_count <= index; generation->layer_count++)
        compute_layer(raw, generation->layer_count, &generation->layers[generation->layer_count]);
    return &generation->layers[index];
}

/* The first chunks are one block longer. */
static uint64_t chunk_blocks(const struct raw_layer *layer, uint64_t chunk) {
    return layer->block_count / layer->chunk_count +
           (chunk < layer->block_count % layer->chunk_count);
}

uint64_t chunk_start(const struct raw_layer *layer, uint64_t chunk) {
    return layer->block_count / layer->chunk_count * chunk +
           smaller(chunk, layer->block_count % layer->chunk_count);
}

static struct raw_chunk *chunk_of(const struct raw_layer *layer, const uint64_t *words) {
    const uint64_t block = bloom_block_of(&layer->shape, words);
    uint64_t chunk = layer->chunk_count - 1;
    while (chunk_start(layer, chunk) > block)
        chunk--;
    return &layer->chunks[chunk];
}

static uint8_t *block_of(const struct raw_layer *layer, const uint64_t *words) {
    const struct bloom_blocks *blocks = layer->shape.layout->blocks;
    return layer->payload + bloom_block_of(&layer->shape, words) * blocks->bytes;
}

bool is_full(const struct raw_layer *layer, const struct raw_chunk *chunk) {
    const uint64_t blocks = chunk_blocks(layer, (uint64_t)(chunk - layer->chunks));
    return chunk->keys >= layer->keys_limit ||
           (layer->ones_limit != UINT64_MAX &&
            chunk->ones * layer->block_count >= layer->ones_limit * blocks);
}

/* ---- Reading ---- */

void raw_clear(struct raw *raw) {
    for (unsigned age = 0; age < AGES_MOST; age++) {
        struct raw_generation *generation = &raw->generations[age];
        for (unsigned i = 0; i < generation->layer_count; i++) {
            free(generation->layers[i].payload);
            free(generation->layers[i].chunks);
        }
        generation->layer_count = 0;
    }
}

static void digest(struct raw *raw, const void *bytes, size_t length) {
    raw->digest = raw->digest * 31 + bloom_hash_bytes(bytes, length).words[0];
}

static uint64_t read_number(const uint8_t *bytes, unsigned length) {
    uint64_t number = 0;
    while (length-- > 0)
        number = number << 8 | bytes[length];
    return number;
}

/* Row 0, which must be what the options say. */
static bool read_configuration(struct raw *raw, sqlite3_stmt *row) {
    static const uint8_t MAGIC[] = {0x89, 'B', 'L', 'T', 1}, ZEROS[16];
    const struct options *options = &raw->options;
    const struct key_type_properties *key = &TYPES[options->key];
    const struct bloom_keying keying = keying_of(options->key);
    const uint8_t *bytes = sqlite3_column_blob(row, 0);
    double rate;
    if (sqlite3_column_type(row, 0) != SQLITE_BLOB || sqlite3_column_bytes(row, 0) != 64)
        return false;
    raw->chunk_blocks = read_number(bytes + 12, 4);
    raw->newest = read_number(bytes + 48, 4);
    memcpy(&rate, bytes + 24, sizeof rate);
    const uint8_t salt_bytes = key->salted ? 16 : 0;
    bool salt = memcmp(bytes + 32 + salt_bytes, ZEROS, (size_t)16 - salt_bytes) == 0 &&
                (!key->salted || (read_number(bytes + 32, 8) == keying.salt[0] &&
                                  read_number(bytes + 40, 8) == keying.salt[1]));
    return memcmp(bytes, MAGIC, sizeof MAGIC) == 0 && bytes[5] == (options->counts ? 4 : 1) &&
           bytes[6] == (key->salted ? 10 : 1) && bytes[7] == key->rule && bytes[8] == key->column &&
           bytes[9] == (options->grows     ? 0
                        : options->refuses ? 2
                                           : 1) &&
           bytes[10] == options->ages && bytes[11] == 0 && raw->chunk_blocks >= 1 &&
           raw->chunk_blocks <= ROW_BYTES_MOST / (options->counts ? 256 : 64) &&
           read_number(bytes + 16, 8) == options->capacity && rate == options->rate && salt &&
           memcmp(bytes + 52, ZEROS, 12) == 0 && (options->ages > 1 || raw->newest == 0);
}

static unsigned count_set(const struct bloom_shape *shape, const uint8_t *bytes, uint64_t length) {
    const bool counters = shape->layout->blocks->remove != NULL; /* of 4 bits */
    unsigned count = 0;
    for (uint64_t i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word); /* blocks are of whole words */
        if (counters)
            word = (word | word >> 1 | word >> 2 | word >> 3) & UINT64_C(0x1111111111111111);
        count += (unsigned)__builtin_popcountll(word);
    }
    return count;
}

/* The layer that an id names, or NULL. */
static struct raw_layer *layer_of_id(struct raw *raw, sqlite3_int64 id, uint64_t *generation) {
    const uint64_t number = (uint64_t)(id >> CHUNK_BITS);
    const uint64_t slot = number / SLOT_LAYERS, index = number % SLOT_LAYERS;
    if (id < 0 || slot >= raw->ages || index >= LAYERS_MOST || (index > 0 && !raw->options.grows))
        return NULL;
    const uint64_t age = (raw->newest % raw->ages + raw->ages - slot) % raw->ages;
    if (age > raw->newest)
        return NULL;
    *generation = raw->newest - age;
    return layer_at(raw, (unsigned)age, (unsigned)index);
}

static void read_chunk(struct raw *raw, sqlite3_stmt *row) {
    const sqlite3_int64 id = sqlite3_column_int64(row, 0);
    const bool is_blob = sqlite3_column_type(row, 1) == SQLITE_BLOB;
    const uint8_t *bytes = sqlite3_column_blob(row, 1);
    const uint64_t length = (uint64_t)sqlite3_column_bytes(row, 1);
    const uint64_t number = ((uint64_t)id & ((UINT64_C(1) << CHUNK_BITS) - 1)) - 1;
    uint64_t live;
    digest(raw, &id, sizeof id);
    digest(raw, bytes, (size_t)length);
    if (id == 0)
        return;
    struct raw_layer *layer = layer_of_id(raw, id, &live);
    if (layer == NULL || number >= layer->chunk_count) {
        raw->strays++;
        return;
    }
    struct raw_chunk *chunk = &layer->chunks[number];
    const size_t block_bytes = layer->shape.layout->blocks->bytes;
    const uint64_t used = chunk_blocks(layer, number) * block_bytes;
    const bool may_close = raw->options.grows || raw->options.refuses;
    chunk->damaged = !is_blob || length != HEAD_BYTES + used || read_number(bytes + 8, 4) > live ||
                     read_number(bytes + 12, 4) > may_close;
    raw->damaged += chunk->damaged;
    if (chunk->damaged || read_number(bytes + 8, 4) < live)
        return;
    uint8_t *blocks = layer->payload + chunk_start(layer, number) * block_bytes;
    memcpy(blocks, bytes + HEAD_BYTES, (size_t)used);
    chunk->exists = true;
    chunk->ones = read_number(bytes, 4);
    chunk->keys = read_number(bytes + 4, 4);
    chunk->closed = read_number(bytes + 12, 4) != 0;
    chunk->bits = count_set(&layer->shape, blocks, used);
    layer->rows++;
    layer->keys += chunk->keys;
    layer->bits += chunk->bits;
}

static int read_rows(struct raw *raw, enum statement which, sqlite3_stmt *statement) {
    while (sqlite3_step(statement) == SQLITE_ROW) {
        if (which == CONFIGURATION)
            raw->sane = read_configuration(raw, statement);
        else if (raw->sane)
            read_chunk(raw, statement);
    }
    for (unsigned age = 0; which == CHUNKS && raw->sane && age < raw->ages; age++)
        if (age <= raw->newest)
            layer_at(raw, age, 0);
    return sqlite3_reset(statement);
}

static void raw_begin(struct raw *raw, const struct options *options) {
    memset(raw, 0, sizeof *raw);
    raw->options = *options;
    raw->ages = options->ages;
}

bool look_raw(struct connection *connection, unsigned schema, unsigned name, struct raw *raw) {
    int code;
    const struct content *content = view(connection, schema);
    const bool tampered = content->tampered;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (content->tables[slot].exists && content->tables[slot].name == name)
            raw_begin(raw, &content->tables[slot].options);
    for (enum statement which = CONFIGURATION; which <= CHUNKS; which++) {
        sqlite3_stmt *statement = statement_of(connection, schema, name, which, &code);
        if (code == SQLITE_OK)
            code = read_rows(raw, which, statement);
        code = really(connection, code);
        if (is_busy(code)) {
            raw_clear(raw);
            refused(connection, schema);
            return false;
        }
        expect(code == SQLITE_OK, "%s: the shadow table of %s.%s cannot be read: %s",
               connection->name, SCHEMA[schema], NAME[name], sqlite3_errmsg(connection->database));
    }
    connection->links[schema].sure = connection->in_transaction;
    expect((raw->sane && raw->strays == 0 && raw->damaged == 0) || tampered,
           "%s: the shadow table of %s.%s is damaged", connection->name, SCHEMA[schema],
           NAME[name]);
    return true;
}

/* ---- The path of a key ---- */

/* Follows the path in one generation. *index is the layer where the key is found, or the first one
 * whose chunk is not closed. */
static enum raw_answer follow(const struct raw *raw, unsigned age, const uint64_t *words,
                              unsigned *index) {
    const struct raw_generation *generation = &raw->generations[age];
    for (*index = 0; *index < generation->layer_count; ++*index) {
        const struct raw_layer *layer = &generation->layers[*index];
        const struct raw_chunk *chunk = chunk_of(layer, words);
        if (chunk->damaged)
            return RAW_DAMAGED;
        if (!chunk->exists)
            return RAW_ABSENT;
        if (layer->shape.layout->blocks->check(&layer->shape, block_of(layer, words), words))
            return RAW_FOUND;
        if (!chunk->closed)
            return RAW_ABSENT;
        if (!raw->options.grows && !raw->options.refuses)
            return RAW_EITHER; /* nobody closes such a chunk, and a further layer has no form */
    }
    return RAW_ABSENT;
}

enum raw_answer raw_find(const struct raw *raw, const uint64_t *words) {
    enum raw_answer all = RAW_ABSENT;
    for (unsigned age = 0, index; words != NULL && age < raw->ages; age++) {
        enum raw_answer one = follow(raw, age, words, &index);
        if (one != RAW_ABSENT)
            all = all == RAW_ABSENT || all == one ? one : RAW_EITHER;
    }
    return all;
}

bool raw_has_at(const struct raw *raw, const uint64_t *words, unsigned age) {
    unsigned index;
    return words != NULL && follow(raw, age, words, &index) == RAW_FOUND;
}

unsigned raw_age(const struct raw *raw, const uint64_t *words) {
    unsigned age = 0;
    while (age < raw->ages && !raw_has_at(raw, words, age))
        age++;
    return age < raw->ages ? age : AGES_MOST;
}

unsigned raw_copies(const struct raw *raw, const uint64_t *words) {
    enum { BLOCK_BYTES_MOST = 256 };
    uint8_t block[BLOCK_BYTES_MOST];
    unsigned copies = 0, index;
    if (follow(raw, 0, words, &index) != RAW_FOUND)
        return 0;
    const struct raw_layer *layer = &raw->generations[0].layers[index];
    const struct bloom_blocks *blocks = layer->shape.layout->blocks;
    memcpy(block, block_of(layer, words), blocks->bytes);
    for (; copies < COPIES_MOST && blocks->check(&layer->shape, block, words); copies++)
        blocks->remove(&layer->shape, block, words);
    return copies;
}

/* ---- What a change makes of the bits ---- */

enum raw_added raw_add(struct raw *raw, const uint64_t *words, bool again) {
    unsigned index;
    if (!again && raw_age(raw, words) < AGES_MOST)
        return RAW_KNOWN;
    const bool found = follow(raw, 0, words, &index) == RAW_FOUND;
    if (!found && index > 0 && !raw->options.grows)
        return RAW_FULL;
    if (found && !raw->options.counts)
        return RAW_KNOWN;
    struct raw_layer *layer = layer_at(raw, 0, index);
    struct raw_chunk *chunk = chunk_of(layer, words);
    chunk->ones += layer->shape.layout->blocks->add(&layer->shape, block_of(layer, words), words);
    if (found)
        return RAW_KNOWN;
    chunk->keys++;
    chunk->exists = true;
    if (!chunk->closed && is_full(layer, chunk)) {
        chunk->closed = true;
        raw->closings++;
    }
    return RAW_NEW;
}

bool raw_may_close(const struct raw *raw, const uint64_t *words, unsigned more) {
    unsigned index;
    follow(raw, 0, words, &index);
    if (index >= raw->generations[0].layer_count)
        return true;
    const struct raw_layer *layer = &raw->generations[0].layers[index];
    return layer->keys_limit != UINT64_MAX &&
           chunk_of(layer, words)->keys + more >= layer->keys_limit;
}

bool raw_remove(struct raw *raw, const uint64_t *words) {
    unsigned index;
    if (words == NULL || follow(raw, 0, words, &index) != RAW_FOUND)
        return false;
    const struct raw_layer *layer = &raw->generations[0].layers[index];
    struct raw_chunk *chunk = chunk_of(layer, words);
    const unsigned zeros =
        layer->shape.layout->blocks->remove(&layer->shape, block_of(layer, words), words);
    chunk->ones -= smaller(zeros, chunk->ones);
    chunk->keys -= zeros > 0 && chunk->keys > 0;
    return true;
}

void raw_rotate(struct raw *raw) {
    struct raw_generation oldest = raw->generations[raw->ages - 1];
    for (unsigned i = 0; i < oldest.layer_count; i++) {
        free(oldest.layers[i].payload);
        free(oldest.layers[i].chunks);
    }
    memmove(raw->generations + 1, raw->generations, (raw->ages - 1) * sizeof *raw->generations);
    raw->generations[0].layer_count = 0;
    raw->newest++;
}

static bool has_rows(const struct raw_layer *layer) {
    for (uint64_t c = 0; c < layer->chunk_count; c++)
        if (layer->chunks[c].exists)
            return true;
    return false;
}

static bool same_layer(const struct raw_layer *a, const struct raw_layer *b, bool estimated) {
    for (uint64_t c = 0; c < a->chunk_count; c++) {
        const struct raw_chunk *x = &a->chunks[c], *y = &b->chunks[c];
        if (x->exists != y->exists || (x->ones != y->ones && !estimated) ||
            (!estimated && (x->keys != y->keys || x->closed != y->closed)))
            return false;
    }
    return memcmp(a->payload, b->payload, (size_t)bloom_payload_bytes(&a->shape)) == 0;
}

bool raw_same(const struct raw *raw, const struct raw *other, bool estimated) {
    if (raw->newest != other->newest)
        return false;
    for (unsigned age = 0; age < raw->ages; age++) {
        const struct raw_generation *a = &raw->generations[age], *b = &other->generations[age];
        for (unsigned i = 0; i < a->layer_count || i < b->layer_count; i++) {
            const struct raw_layer *one = i < a->layer_count ? &a->layers[i] : NULL;
            const struct raw_layer *two = i < b->layer_count ? &b->layers[i] : NULL;
            if (one != NULL && two != NULL ? !same_layer(one, two, estimated)
                                           : has_rows(one != NULL ? one : two))
                return false;
        }
    }
    return true;
}

/* ---- Counts ---- */

uint64_t raw_keys(const struct raw *raw) {
    uint64_t sum = 0;
    for (unsigned age = 0; age < raw->ages; age++)
        for (unsigned i = 0; i < raw->generations[age].layer_count; i++)
            sum += raw->generations[age].layers[i].keys;
    return sum;
}

/* A key that is counted has set one bit at least, and at most as many as there are probes. Where
 * keys are removed that is not so: some were not counted, because they seemed to be in. A chunk is
 * closed when it is full, and where no key can be removed only then. */
static void compare_chunk(const struct raw_layer *layer, const struct raw_chunk *chunk,
                          const char *where) {
    const bool counting = layer->shape.layout->blocks->remove != NULL;
    const bool full = is_full(layer, chunk);
    expect(chunk->ones == chunk->bits, "%s: a chunk counts %llu ones, and has %llu", where,
           (unsigned long long)chunk->ones, (unsigned long long)chunk->bits);
    expect(counting ||
               (chunk->keys <= chunk->bits && chunk->keys * layer->shape.probes >= chunk->bits),
           "%s: a chunk has %llu keys, and %llu bits are set", where,
           (unsigned long long)chunk->keys, (unsigned long long)chunk->bits);
    expect(chunk->closed == full || (counting && chunk->closed),
           "%s: a chunk with %llu keys and %llu ones is %s", where, (unsigned long long)chunk->keys,
           (unsigned long long)chunk->ones, chunk->closed ? "closed" : "not closed");
}

/* Whether a chunk of the layer before, where keys of this chunk have a block, is closed. Block b of
 * N has the hashes from b / N of all on. */
static bool is_reached(const struct raw_layer *layer, uint64_t chunk) {
    const struct raw_layer *before = layer - 1;
    const uint64_t start = chunk_start(layer, chunk), end = chunk_start(layer, chunk + 1);
    for (uint64_t c = 0; c < before->chunk_count; c++)
        if (before->chunks[c].closed &&
            chunk_start(before, c) * layer->block_count < end * before->block_count &&
            start * before->block_count < chunk_start(before, c + 1) * layer->block_count)
            return true;
    return false;
}

void compare_counts(const struct raw *raw, const char *where) {
    for (unsigned age = 0; age < raw->ages; age++)
        for (unsigned i = 0; i < raw->generations[age].layer_count; i++) {
            const struct raw_layer *layer = &raw->generations[age].layers[i];
            for (uint64_t c = 0; c < layer->chunk_count; c++)
                if (layer->chunks[c].exists) {
                    compare_chunk(layer, &layer->chunks[c], where);
                    expect(i == 0 || is_reached(layer, c),
                           "%s: no path leads to chunk %llu of layer %u", where,
                           (unsigned long long)c, i);
                }
        }
}

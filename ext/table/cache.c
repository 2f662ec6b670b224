/* What is known of a chunk belongs to an epoch. When the database has changed, a new epoch begins,
 * which makes everything void at once; the memory of a row is used again for the same chunk.
 *
 * The rows of all tables of a connection are in one ring. Time is counted in look-ups. When memory
 * is short, a hand goes round the ring and removes rows that are void, or that were not used during
 * AGE times as many look-ups as there are rows. Two tables that do not fit together and are both in
 * use keep what they have, so they do not drive each other out at every key, and a table that is no
 * longer used makes room for others soon. */
#include "table/cache.h"

#include <stdlib.h>
#include <string.h>

/* Steps of the hand for each row that wants room. */
#ifndef BLOOM_CACHE_STEPS
#define BLOOM_CACHE_STEPS 4
#endif

/* Look-ups for each row in memory after which a row that they did not use is old. */
#ifndef BLOOM_CACHE_AGE
#define BLOOM_CACHE_AGE 8
#endif

/* Look-ups, beside those, before SQLite is asked again for its cache_size. */
#ifndef BLOOM_CACHE_LOOKUPS
#define BLOOM_CACHE_LOOKUPS 4096
#endif

/* The indexes of all tables may take a share of the limit. An index of this size is made in any
 * case. */
#ifndef BLOOM_CACHE_INDEX_BYTES
#define BLOOM_CACHE_INDEX_BYTES 4096
#endif
enum { INDEX_SHARE = 8 };

/* Drafts for which there is room at first. */
#ifndef BLOOM_CACHE_DRAFTS
#define BLOOM_CACHE_DRAFTS 64
#endif

struct bloom_cache_entry {
    struct bloom_cache_row *row; /* memory for the row; NULL: none yet */
    uint64_t state;              /* the epoch, then two bits: enum bloom_known in that epoch */
};

struct bloom_cache_array {
    struct bloom_cache_entry *entries; /* NULL: not used yet, or too large */
    uint64_t count;
};

/* The largest limit of a cache counts for all caches. */
static void set_limit(struct bloom_caches *caches) {
    caches->limit = 0;
    for (const struct bloom_cache *cache = caches->first; cache != NULL; cache = cache->next)
        if (cache->limit > caches->limit)
            caches->limit = cache->limit;
}

/* Life */

struct bloom_cache *bloom_cache_open(struct bloom_connection *connection, const char *schema,
                                     const char *name) {
    struct bloom_caches *caches = &connection->caches;
    struct bloom_cache *cache = caches->first;
    while (cache != NULL && (sqlite3_stricmp(cache->database.schema, schema) != 0 ||
                             sqlite3_stricmp(cache->database.name, name) != 0))
        cache = cache->next;
    if (cache != NULL) {
        cache->references++;
        return cache;
    }
    cache = sqlite3_malloc(sizeof *cache);
    if (cache == NULL)
        return NULL;
    *cache = (struct bloom_cache){.shared = caches,
                                  .next = caches->first,
                                  .references = 1,
                                  .incarnation = 1,
                                  .epoch = 1,
                                  .knows_transactions = SQLITE_VERSION_NUMBER >= 3034000 &&
                                                        sqlite3_libversion_number() >= 3034000,
                                  .limit = BLOOM_CACHE_BYTES};
    caches->first = cache;
    set_limit(caches);
    if (bloom_database_open(&cache->database, connection, schema, name))
        return cache;
    bloom_cache_close(cache);
    return NULL;
}

static void free_row(struct bloom_caches *caches, struct bloom_cache_row *row) {
    row->entry->row = NULL;
    row->entry->state = 0;
    row->next->previous = row->previous;
    row->previous->next = row->next;
    if (caches->hand == row)
        caches->hand = row->next == row ? NULL : row->next;
    caches->rows--;
    caches->bytes -= sizeof *row + row->length;
    sqlite3_free(row);
}

static void free_array(struct bloom_caches *caches, struct bloom_cache_array *array) {
    for (uint64_t chunk = 0; chunk < array->count; chunk++)
        if (array->entries[chunk].row != NULL)
            free_row(caches, array->entries[chunk].row);
    caches->bytes -= array->count * sizeof *array->entries;
    caches->index_bytes -= array->count * sizeof *array->entries;
    sqlite3_free(array->entries);
    *array = (struct bloom_cache_array){NULL, 0};
}

void bloom_cache_close(struct bloom_cache *cache) {
    struct bloom_caches *caches = cache->shared;
    if (--cache->references > 0)
        return;
    for (unsigned i = 0; i < cache->array_count; i++)
        free_array(caches, &cache->arrays[i]);
    struct bloom_cache **link = &caches->first;
    while (*link != cache)
        link = &(*link)->next;
    *link = cache->next;
    sqlite3_free(cache->arrays);
    sqlite3_free(cache->drafts);
    bloom_database_close(&cache->database);
    sqlite3_free(cache);
    set_limit(caches);
}

/* Whether memory may be used */

bool bloom_cache_may_keep(const struct bloom_cache *cache) {
    int total = 0, share = 0, highest;
    if (!cache->usable || cache->writes)
        return cache->usable;
    sqlite3 *connection = cache->database.connection;
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED, &total, &highest, 0);
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED_SHARED, &share, &highest, 0);
    /* If another connection uses one of the caches, too, the total exceeds this one's share. */
    return total == share;
}

bool bloom_cache_is_memory_file(struct bloom_cache *cache) {
    sqlite3_vfs *vfs = NULL;
    sqlite3_file_control(cache->database.connection, cache->database.file_schema,
                         SQLITE_FCNTL_VFS_POINTER, &vfs);
    cache->is_memory_file = vfs != NULL && strcmp(vfs->zName, "memdb") == 0;
    return cache->is_memory_file;
}

/* Returns true if a write transaction on the table's database is under way, or if SQLite does not
 * report that none is. */
static bool is_writing(const struct bloom_cache *cache) {
    sqlite3 *connection = cache->database.connection;
#if SQLITE_VERSION_NUMBER >= 3034000
    /* Asking about all schemas first is faster, because SQLite then compares no names. */
    if (cache->knows_transactions)
        return sqlite3_txn_state(connection, NULL) == SQLITE_TXN_WRITE &&
               sqlite3_txn_state(connection, cache->database.schema) == SQLITE_TXN_WRITE;
#endif
    return !sqlite3_get_autocommit(connection);
}

unsigned bloom_cache_version(const struct bloom_cache *cache) {
    unsigned version = 0;
    sqlite3_file_control(cache->database.connection, cache->database.file_schema,
                         SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

void bloom_cache_start(struct bloom_cache *cache) {
    cache->usable =
        BLOOM_CACHE_BYTES > 0 && !cache->is_memory_file && (cache->writes || !is_writing(cache));
    if (!cache->usable || cache->writes)
        return;
    const unsigned version = bloom_cache_version(cache);
    if (version != cache->version)
        bloom_cache_forget(cache);
    cache->version = version;
}

/* Memory */

/* Asks for the limit again, unless that was done a short time ago. */
static void ask_limit(struct bloom_cache *cache) {
    struct bloom_caches *caches = cache->shared;
    if (caches->time < caches->ask_at)
        return;
    caches->ask_at = caches->time + BLOOM_CACHE_AGE * caches->rows + BLOOM_CACHE_LOOKUPS;
    const uint64_t size = bloom_database_cache_bytes(&cache->database);
    cache->limit = size > BLOOM_CACHE_BYTES ? size : BLOOM_CACHE_BYTES;
    set_limit(caches);
}

static bool is_void(const struct bloom_cache_row *row) {
    return row->entry->state >> 2 != row->cache->epoch;
}

static bool fits(const struct bloom_caches *caches, uint64_t bytes) {
    return caches->bytes + bytes <= caches->limit;
}

/* Removes rows that were not used for `age` look-ups, until there is room for that many bytes more,
 * or the hand has gone that many steps. Drafts are written first, if that is allowed, and otherwise
 * stay. */
static int make_room(struct bloom_cache *cache, uint64_t bytes, uint64_t steps, uint64_t age,
                     bool changes) {
    struct bloom_caches *caches = cache->shared;
    int code = SQLITE_OK;
    if (!fits(caches, bytes))
        ask_limit(cache);
    for (; steps > 0 && caches->hand != NULL && !fits(caches, bytes); steps--) {
        struct bloom_cache_row *row = caches->hand;
        caches->hand = row->next;
        if (!is_void(row) && caches->time - row->used <= age)
            continue;
        if (row->is_draft && changes)
            code = bloom_cache_write(row->cache);
        if (code != SQLITE_OK)
            return code;
        if (!row->is_draft)
            free_row(caches, row);
    }
    return code;
}

static bool index_fits(const struct bloom_caches *caches, uint64_t bytes) {
    return bytes <= BLOOM_CACHE_INDEX_BYTES ||
           INDEX_SHARE * (caches->index_bytes + bytes) <= caches->limit;
}

/* Makes the array that has that number, unless it is too large for the limit or there is no memory:
 * what is not kept is read again. */
static void make_array(struct bloom_cache *cache, unsigned array, uint64_t chunks) {
    struct bloom_caches *caches = cache->shared;
    const uint64_t bytes = chunks * sizeof(struct bloom_cache_entry);
    if (array >= cache->array_count) {
        struct bloom_cache_array *larger =
            sqlite3_realloc64(cache->arrays, (array + 1) * (sqlite3_uint64)sizeof *larger);
        if (larger == NULL)
            return;
        memset(larger + cache->array_count, 0, (array + 1 - cache->array_count) * sizeof *larger);
        cache->arrays = larger;
        cache->array_count = array + 1;
    }
    if (cache->draft_count == 0) /* it may be of an earlier table of this name */
        free_array(caches, &cache->arrays[array]);
    if (!index_fits(caches, bytes))
        ask_limit(cache);
    if (!index_fits(caches, bytes) || cache->arrays[array].entries != NULL)
        return;
    make_room(cache, bytes, caches->rows, 0, false);
    struct bloom_cache_entry *entries = sqlite3_malloc64(bytes);
    if (entries == NULL)
        return;
    caches->bytes += bytes;
    caches->index_bytes += bytes;
    memset(entries, 0, (size_t)bytes);
    cache->arrays[array] = (struct bloom_cache_array){entries, chunks};
}

static bool has_array(const struct bloom_cache *cache, const struct bloom_cache_key *key) {
    return key->array < cache->array_count && cache->arrays[key->array].count == key->chunks;
}

/* What is known of a chunk; NULL when there is no place for it. */
static struct bloom_cache_entry *find_entry(struct bloom_cache *cache,
                                            const struct bloom_cache_key *key) {
    if (cache->usable && !has_array(cache, key))
        make_array(cache, key->array, key->chunks);
    return cache->usable && has_array(cache, key) ? &cache->arrays[key->array].entries[key->chunk]
                                                  : NULL;
}

/* Rows */

enum bloom_known bloom_cache_find(struct bloom_cache *cache, unsigned array, uint64_t chunk,
                                  uint32_t length, uint8_t **row) {
    if (!cache->usable || array >= cache->array_count || chunk >= cache->arrays[array].count)
        return BLOOM_UNKNOWN;
    const struct bloom_cache_entry *entry = &cache->arrays[array].entries[chunk];
    if (entry->state >> 2 != cache->epoch)
        return BLOOM_UNKNOWN;
    if ((entry->state & 3) == BLOOM_KEPT) {
        if (entry->row->length != length)
            return BLOOM_UNKNOWN;
        entry->row->used = ++cache->shared->time;
        *row = entry->row->bytes;
    }
    return (enum bloom_known)(entry->state & 3);
}

void bloom_cache_note(struct bloom_cache *cache, const struct bloom_cache_key *key, bool exists) {
    struct bloom_cache_entry *entry = find_entry(cache, key);
    if (entry != NULL && (exists || bloom_cache_may_keep(cache)))
        entry->state = cache->epoch << 2 | (exists ? BLOOM_SEEN : BLOOM_ABSENT);
}

int bloom_cache_room(struct bloom_cache *cache, const struct bloom_cache_key *key, bool changes,
                     uint8_t **row) {
    struct bloom_caches *caches = cache->shared;
    struct bloom_cache_entry *entry = find_entry(cache, key);
    int code = SQLITE_OK;
    *row = NULL;
    if (entry == NULL || !bloom_cache_may_keep(cache))
        return code;
    caches->time++; /* also a table that is never kept ages the others */
    const uint64_t bytes = sizeof *entry->row + key->length;
    if (entry->row != NULL && entry->row->length != key->length) {
        if (entry->row->is_draft) /* of another shape of the table: somebody has changed row 0 */
            return code;
        free_row(caches, entry->row);
    }
    if (entry->row == NULL) {
        code = make_room(cache, bytes, BLOOM_CACHE_STEPS, BLOOM_CACHE_AGE * caches->rows, changes);
        struct bloom_cache_row *made_row =
            code == SQLITE_OK && fits(caches, bytes) ? sqlite3_malloc64(bytes) : NULL;
        if (made_row == NULL)
            return code;
        struct bloom_cache_row *hand = caches->hand != NULL ? caches->hand : made_row;
        *made_row = (struct bloom_cache_row){
            .next = hand, .cache = cache, .entry = entry, .id = key->id, .length = key->length};
        made_row->previous = caches->hand != NULL ? hand->previous : made_row;
        made_row->previous->next = hand->previous = made_row;
        caches->hand = hand;
        caches->rows++;
        caches->bytes += bytes;
        entry->row = made_row;
    }
    entry->state = 0;
    entry->row->used = caches->time;
    *row = entry->row->bytes;
    return code;
}

void bloom_cache_keep(struct bloom_cache *cache, const struct bloom_cache_key *key) {
    cache->arrays[key->array].entries[key->chunk].state = cache->epoch << 2 | BLOOM_KEPT;
}

void bloom_cache_drop(struct bloom_cache *cache, const struct bloom_cache_key *key) {
    cache->arrays[key->array].entries[key->chunk].state = 0;
}

/* Drafts */

/* Returns true if only one statement that writes is under way. A further one begins a savepoint,
 * which SQLite reports, or is not rolled back on its own. */
static bool is_outside_of_statements(struct bloom_cache *cache) {
    sqlite3_stmt *statement = NULL;
    unsigned writing = 0;
    while (!cache->is_outside && writing < 2 &&
           (statement = sqlite3_next_stmt(cache->database.connection, statement)) != NULL)
        writing += sqlite3_stmt_busy(statement) && !sqlite3_stmt_readonly(statement);
    cache->is_outside = writing < 2;
    return cache->is_outside;
}

bool bloom_cache_may_draft(struct bloom_cache *cache) {
    if (!cache->writes || !cache->has_written || !cache->knows_transactions ||
        !is_outside_of_statements(cache))
        return false;
    if (cache->draft_count < cache->draft_room)
        return true;
    const size_t room = cache->draft_room > 0 ? 2 * cache->draft_room : BLOOM_CACHE_DRAFTS;
    struct bloom_cache_row **larger =
        sqlite3_realloc64(cache->drafts, room * (sqlite3_uint64)sizeof *larger);
    if (larger == NULL)
        return false;
    cache->drafts = larger;
    cache->draft_room = room;
    return true;
}

void bloom_cache_draft(struct bloom_cache *cache, const struct bloom_cache_key *key) {
    struct bloom_cache_row *row = cache->arrays[key->array].entries[key->chunk].row;
    if (row->is_draft)
        return;
    row->is_draft = true;
    cache->drafts[cache->draft_count++] = row;
}

static int compare_ids(const void *one, const void *other) {
    const struct bloom_cache_row *const *a = one, *const *b = other;
    return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

/* A row that somebody has deleted meanwhile is written again. */
static int write_draft(struct bloom_cache *cache, const struct bloom_cache_row *row,
                       sqlite3_blob **handle) {
    struct bloom_database *database = &cache->database;
    int code = bloom_database_open_row(database, row->id, true, handle);
    if (code != SQLITE_OK)
        return code;
    if (*handle == NULL)
        return bloom_database_write_row(database, row->id, row->bytes, row->length);
    if ((uint32_t)sqlite3_blob_bytes(*handle) != row->length)
        return bloom_database_damaged(database, "row %lld was changed in the meantime", row->id);
    code = sqlite3_blob_write(*handle, row->bytes, (int)row->length, 0);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

static void clear_drafts(struct bloom_cache *cache) {
    for (size_t i = 0; i < cache->draft_count; i++)
        cache->drafts[i]->is_draft = false;
    cache->draft_count = 0;
}

static int write_drafts(struct bloom_cache *cache) {
    sqlite3_blob *handle = NULL;
    int code = SQLITE_OK;
    for (size_t i = 0; i < cache->draft_count && code == SQLITE_OK; i++)
        code = write_draft(cache, cache->drafts[i], &handle);
    return bloom_database_close_row(&handle, code);
}

/* Drafts were made while the database could be written. If PRAGMA query_only is on since, it is
 * switched off meanwhile. After an error SQLite may roll everything back and disconnect the table:
 * it may be another one than that whose method it has called. */
int bloom_cache_write(struct bloom_cache *cache) {
    if (cache->draft_count == 0)
        return SQLITE_OK;
    if (bloom_cache_is_memory_file(cache)) /* where there may be no drafts */
        return bloom_database_fail(&cache->database, SQLITE_ERROR,
                                   "another database was deserialized amid the transaction. Roll "
                                   "it back");
    qsort(cache->drafts, cache->draft_count, sizeof *cache->drafts, compare_ids);
    cache->references++;
    int code = write_drafts(cache);
    if ((code & 0xff) == SQLITE_READONLY && bloom_database_end_query_only(&cache->database)) {
        sqlite3_free(bloom_database_message(&cache->database));
        code = write_drafts(cache);
        bloom_database_begin_query_only(&cache->database);
    }
    if (code == SQLITE_OK)
        clear_drafts(cache);
    bloom_cache_close(cache);
    return code;
}

/* Transactions */

static void begin_epoch(struct bloom_cache *cache) {
    if (cache->changes_made > 0)
        cache->changes_before = cache->changes_made;
    cache->changes_made = 0;
    cache->epoch++;
}

void bloom_cache_forget(struct bloom_cache *cache) {
    clear_drafts(cache);
    cache->has_written = false;
    begin_epoch(cache);
}

/* Returns the number of rows that the connection has changed, except those of filter tables. */
static int foreign_changes(const struct bloom_cache *cache) {
    return sqlite3_total_changes(cache->database.connection) - cache->database.owner->table_changes;
}

int bloom_cache_begin(struct bloom_cache *cache) {
    cache->is_outside = false;
    int code = bloom_cache_write(cache); /* another object of the table may have begun before */
    if (code != SQLITE_OK)
        return code;
    bloom_cache_forget(cache);
    bloom_cache_is_memory_file(cache); /* a table just made has no xBegin that asks */
    cache->writes = true;
    cache->depth = -1; /* xSavepoint comes next if a savepoint is open */
    cache->changes = foreign_changes(cache);
    return code;
}

void bloom_cache_end(struct bloom_cache *cache) {
    bloom_cache_forget(cache);
    cache->writes = false;
}

/* Nobody would hear of an error when a connection that is busy is closed. So the transaction is
 * rolled back, lest it be committed without what could not be written. */
bool bloom_cache_rollback(struct bloom_cache *cache) {
    if (cache->knows_transactions && is_writing(cache) && bloom_cache_write(cache) != SQLITE_OK)
        sqlite3_exec(cache->database.connection, "ROLLBACK", NULL, NULL, NULL);
    bloom_cache_end(cache);
    return cache->knows_transactions && !is_writing(cache);
}

/* A trigger on the shadow table may begin one while a row is written. Drafts wait then, as after an
 * error. */
int bloom_cache_savepoint(struct bloom_cache *cache, int depth) {
    cache->is_outside = false;
    const bool waits = bloom_database_is_writing(&cache->database);
    int code = SQLITE_OK;
    if (!waits)
        code = cache->writes ? bloom_cache_write(cache) : bloom_cache_begin(cache);
    if (code == SQLITE_OK && !waits)
        cache->depth = depth;
    else /* the other tables have no such savepoint, either */
        for (struct bloom_cache *each = cache->shared->first; each != NULL; each = each->next)
            if (each->depth >= depth)
                each->depth = depth - 1;
    cache->changes = foreign_changes(cache);
    return code;
}

static void forget_all_but_drafts(struct bloom_cache *cache) {
    begin_epoch(cache);
    for (size_t i = 0; i < cache->draft_count; i++)
        cache->drafts[i]->entry->state = cache->epoch << 2 | BLOOM_KEPT;
}

/* sqlite3changeset_apply, for example, changes rows by statements between a savepoint and its
 * release. A statement that SQLite itself protects by a savepoint counts its changes when it has
 * ended. */
void bloom_cache_release(struct bloom_cache *cache, int depth) {
    cache->is_outside = false;
    if (foreign_changes(cache) != cache->changes)
        forget_all_but_drafts(cache);
    cache->changes = foreign_changes(cache);
    if (cache->depth >= depth)
        cache->depth = depth - 1;
}

void bloom_cache_rollback_to(struct bloom_cache *cache, int depth) {
    if (depth > cache->depth) { /* it failed to begin, and drafts are from before it */
        forget_all_but_drafts(cache);
        return;
    }
    bloom_cache_forget(cache);
    cache->depth = depth;
}

/* When SQLite rolls back to a savepoint that was open before the table was made, it does not call
 * its xRollbackTo; from the next savepoint on it does. Until then nothing is kept. */
void bloom_cache_rename(struct bloom_cache *cache) {
    bloom_cache_forget(cache);
    cache->writes = false;
    cache->incarnation++;
}

/* After DETACH and ATTACH another file has the name of the schema, and SQLite disconnects the
 * object of the first one only later. */
void bloom_cache_connect(struct bloom_cache *cache) {
    if (!cache->writes)
        bloom_cache_forget(cache);
}

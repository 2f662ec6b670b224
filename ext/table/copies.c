/* An entry belongs to an epoch. When the database has changed, a new epoch begins, which makes all
 * entries void at once; their memory is used again for the next copies of the same chunks. */
#include "table/copies.h"

#include <string.h>

struct entry {
    uint8_t *row;   /* memory for a copy; NULL: none yet */
    uint64_t state; /* the epoch, then two bits: enum bloom_copy in that epoch */
};

struct bloom_copy_array {
    struct entry *entries; /* NULL: not used yet, or too large */
    uint64_t count;
};

void bloom_copies_close(struct bloom_copies *copies) {
    for (unsigned i = 0; i < copies->count; i++) {
        for (uint64_t chunk = 0; chunk < copies->arrays[i].count; chunk++)
            sqlite3_free(copies->arrays[i].entries[chunk].row);
        sqlite3_free(copies->arrays[i].entries);
    }
    sqlite3_free(copies->arrays);
}

/* If another connection uses one of the caches, too, the total exceeds the share of this one. */
bool bloom_copies_may_keep(const struct bloom_copies *copies) {
    sqlite3 *connection = copies->database->connection;
    int total = 0, share = 0, highest;
    if (!copies->usable)
        return false;
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED, &total, &highest, 0);
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED_SHARED, &share, &highest, 0);
    return total == share;
}

/* A pointer to the file says nothing, because SQLite may use the memory of a closed one again. But
 * files of one kind have the same methods. */
bool bloom_copies_is_memory_file(struct bloom_copies *copies) {
    const struct bloom_database *database = copies->database;
    sqlite3_file *file = NULL;
    char *name = NULL;
    sqlite3_file_control(database->connection, database->file_schema, SQLITE_FCNTL_FILE_POINTER,
                         &file);
    const void *methods = file != NULL ? file->pMethods : NULL; /* NULL for :memory: */
    if (methods == copies->methods)
        return copies->is_memory_file;
    const bool has_name = sqlite3_file_control(database->connection, database->file_schema,
                                               SQLITE_FCNTL_VFSNAME, &name) == SQLITE_OK;
    /* Without memory for the name nothing is known, so the next call asks SQLite again. */
    copies->methods = has_name && name == NULL ? NULL : methods;
    copies->is_memory_file = has_name && (name == NULL || strstr(name, "memdb") != NULL);
    sqlite3_free(name);
    return copies->is_memory_file;
}

/* Whether this connection has changed, or may have changed, what it has not committed. */
static bool is_writing(const struct bloom_copies *copies) {
    sqlite3 *connection = copies->database->connection;
    if (copies->writes)
        return true;
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() >= 3034000)
        /* The first question, about any schema, compares no names. */
        return sqlite3_txn_state(connection, NULL) == SQLITE_TXN_WRITE &&
               sqlite3_txn_state(connection, copies->database->schema) == SQLITE_TXN_WRITE;
#endif
    return !sqlite3_get_autocommit(connection);
}

/* Changes with every commit, whoever makes it. */
static unsigned version_of(const struct bloom_copies *copies) {
    unsigned version = 0;
    sqlite3_file_control(copies->database->connection, copies->database->file_schema,
                         SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

void bloom_copies_start(struct bloom_copies *copies) {
    copies->usable = BLOOM_COPIES_BYTES > 0 && !copies->is_memory_file && !is_writing(copies);
    if (!copies->usable)
        return;
    const unsigned version = version_of(copies);
    if (version == copies->version && copies->epoch > 0)
        return;
    copies->version = version;
    copies->epoch++;
}

enum bloom_copy bloom_copies_find(const struct bloom_copies *copies, unsigned array, uint64_t chunk,
                                  uint32_t length, const uint8_t **row) {
    if (!copies->usable || array >= copies->count || chunk >= copies->arrays[array].count)
        return BLOOM_COPY_UNKNOWN;
    const struct entry *entry = &copies->arrays[array].entries[chunk];
    *row = entry->row;
    if (entry->state >> 2 != copies->epoch)
        return BLOOM_COPY_UNKNOWN;
    const enum bloom_copy copy = (enum bloom_copy)(entry->state & 3);
    const bool fits = entry->row != NULL || copies->bytes + length <= BLOOM_COPIES_BYTES;
    return copy == BLOOM_COPY_WANTED && !fits ? BLOOM_COPY_UNKNOWN : copy;
}

/* Makes the array that has that number. Returns SQLITE_NOMEM, or SQLITE_OK although it is too large
 * for the limit and has no entries. */
static int make_array(struct bloom_copies *copies, unsigned array, uint64_t chunks) {
    enum { SHARE = 8 }; /* rows need the rest of what is left of the limit */
    if (array >= copies->count) {
        struct bloom_copy_array *larger =
            sqlite3_realloc64(copies->arrays, (array + 1) * (sqlite3_uint64)sizeof *larger);
        if (larger == NULL)
            return SQLITE_NOMEM;
        memset(larger + copies->count, 0, (array + 1 - copies->count) * sizeof *larger);
        copies->arrays = larger;
        copies->count = array + 1;
    }
    const uint64_t bytes = chunks * sizeof(struct entry);
    if (copies->bytes + SHARE * bytes > BLOOM_COPIES_BYTES)
        return SQLITE_OK;
    struct entry *entries = sqlite3_malloc64(bytes);
    if (entries == NULL)
        return SQLITE_NOMEM;
    copies->bytes += bytes;
    memset(entries, 0, (size_t)bytes);
    copies->arrays[array] = (struct bloom_copy_array){entries, chunks};
    return SQLITE_OK;
}

int bloom_copies_note(struct bloom_copies *copies, unsigned array, uint64_t chunks, uint64_t chunk,
                      bool exists) {
    if (!copies->usable)
        return SQLITE_OK;
    if (array >= copies->count || copies->arrays[array].entries == NULL) {
        int code = make_array(copies, array, chunks);
        if (code != SQLITE_OK || copies->arrays[array].entries == NULL)
            return code;
    }
    if (exists || bloom_copies_may_keep(copies))
        copies->arrays[array].entries[chunk].state =
            copies->epoch << 2 | (exists ? BLOOM_COPY_WANTED : BLOOM_COPY_ABSENT);
    return SQLITE_OK;
}

int bloom_copies_make(struct bloom_copies *copies, unsigned array, uint64_t chunk,
                      const uint8_t *row, uint32_t length) {
    struct entry *entry = &copies->arrays[array].entries[chunk];
    if (!bloom_copies_may_keep(copies))
        return SQLITE_OK;
    if (entry->row == NULL) {
        entry->row = sqlite3_malloc64(length);
        if (entry->row == NULL)
            return SQLITE_NOMEM;
        copies->bytes += length;
    }
    memcpy(entry->row, row, length);
    entry->state = copies->epoch << 2 | BLOOM_COPY_FOUND;
    return SQLITE_OK;
}

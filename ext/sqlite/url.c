/* URLs in SQL: what the filter library knows of them (filter/url.h), as functions.
 *
 *   bloom_url(url)                the canonical key of a list entry or URL, without a scheme
 *   bloom_check_url(filter, url)  whether any key of a URL is probably in
 *   bloom_url_keys(url)           a table of the keys of a URL: key, rank; rank 0 is the most exact
 *
 * A URL is TEXT; the bytes of a BLOB count as they are; a number counts as its text, so that the
 * IPv4 address 3279880203 is one. NULL and what has no host have no key: NULL, and no rows.
 */
#include "sqlite/functions.h"

#include "filter/url.h"

#include <string.h>

/* A URL that has been read. Canonical texts that fit need no allocation: the room is for 496 bytes
 * of URL, which but one in a thousand of real ones exceeds. */
struct url_text {
    struct bloom_url url;
    uint8_t *text;
    uint8_t inside[2048];
};

enum url_outcome { URL_READ, URL_NONE, URL_NO_MEMORY };

static void url_text_release(struct url_text *parsed) {
    if (parsed->text != parsed->inside)
        sqlite3_free(parsed->text);
}

/* Reads and parses a URL. After URL_READ the caller releases it. */
static enum url_outcome url_text_read(struct url_text *parsed, sqlite3_value *value) {
    const uint8_t *bytes;
    uint64_t size;
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return URL_NONE;
    case SQLITE_BLOB:
        if (!bloom_sql_blob(value, &bytes, &size))
            return URL_NO_MEMORY;
        break;
    default:
        bytes = sqlite3_value_text(value); /* first: it may convert from UTF-16 */
        if (bytes == NULL)
            return URL_NO_MEMORY;
        size = (uint64_t)sqlite3_value_bytes(value);
    }
    size_t length = (size_t)size;
    uint64_t room = bloom_url_room(length);
    parsed->text = room <= sizeof parsed->inside ? parsed->inside : sqlite3_malloc64(room);
    if (parsed->text == NULL)
        return URL_NO_MEMORY;
    if (bloom_url_parse(&parsed->url, bytes, length, parsed->text))
        return URL_READ;
    url_text_release(parsed);
    return URL_NONE;
}

/* The same in a function: true after URL_READ; otherwise the function has its result. */
static bool url_argument(sqlite3_context *context, sqlite3_value *value, struct url_text *parsed) {
    enum url_outcome outcome = url_text_read(parsed, value);
    if (outcome == URL_NO_MEMORY)
        sqlite3_result_error_nomem(context);
    return outcome == URL_READ;
}

/* bloom_url(url): the canonical key. */
void bloom_sql_url(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct url_text parsed;
    (void)count;
    if (!url_argument(context, arguments[0], &parsed))
        return;
    sqlite3_result_text64(context, (const char *)parsed.text, parsed.url.length, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    url_text_release(&parsed);
}

/* Whether any key of a URL is probably in a filter of a hashing that has text. Keys that the
 * hashing does not have are certainly not. A hashing may write more words than decide; the next
 * key's go over them. */
static bool url_any_key_in(const struct bloom_stored *filter, const struct url_text *parsed) {
    const struct bloom_shape *shape = &filter->shape;
    const struct bloom_layout *layout = shape->layout;
    struct bloom_url_key keys[BLOOM_URL_KEYS_MOST];
    uint64_t words[BLOOM_URL_KEYS_MOST * BLOOM_HASH_WORDS_MAXIMUM];
    uint8_t found[BLOOM_URL_KEYS_MOST];
    size_t hashed = 0;
    uint8_t any = 0;
    unsigned count = bloom_url_keys(&parsed->url, parsed->text, keys);
    for (unsigned i = 0; i < count; i++)
        hashed +=
            bloom_shape_hashing(shape)->text(bloom_shape_seed(shape), parsed->text + keys[i].start,
                                             keys[i].length, words + hashed * layout->hash_words);
    layout->check_many(shape, bloom_stored_payload(filter), words, hashed, found);
    for (size_t i = 0; i < hashed; i++)
        any |= found[i];
    return any;
}

/* bloom_check_url(filter, url): 1 any key probably in, 0 certainly none. */
void bloom_sql_check_url(sqlite3_context *context, int count, sqlite3_value **arguments) {
    struct bloom_stored filter;
    struct url_text parsed;
    (void)count;
    if (!bloom_sql_filter(context, 1, arguments[0], &filter))
        return;
    /* Nothing in such a filter could be a URL: to say so for ever would let each one through. */
    const struct bloom_layout *layout = filter.shape.layout;
    if (layout->hashing->text == NULL) {
        bloom_sql_error(context,
                        "the filter (argument 1) has layout %s, which takes %s: a URL is text",
                        layout->name, layout->hashing->keys);
        return;
    }
    if (!url_argument(context, arguments[1], &parsed))
        return;
    sqlite3_result_int(context, url_any_key_in(&filter, &parsed));
    url_text_release(&parsed);
}

/* --- The table bloom_url_keys --- */

/* The hidden column is not called url: in bloom_url_keys(url) that would be this very column, where
 * a column of the query is meant. */
enum url_keys_column { URL_KEYS_KEY, URL_KEYS_RANK, URL_KEYS_ARGUMENT };

/* idxNum of a plan. */
enum url_keys_plan { URL_KEYS_ALL, URL_KEYS_OF_URL };

struct url_keys_cursor {
    sqlite3_vtab_cursor base; /* first: SQLite sees only this */
    sqlite3_value *argument;  /* NULL before the first url */
    struct bloom_url_key keys[BLOOM_URL_KEYS_MOST];
    unsigned count;
    unsigned rank; /* of the row; count after the last */
    struct url_text parsed;
};

static int url_keys_connect(sqlite3 *database, void *data, int count, const char *const *arguments,
                            sqlite3_vtab **result, char **error) {
    (void)data;
    (void)count;
    (void)arguments;
    (void)error;
    int code =
        sqlite3_declare_vtab(database, "CREATE TABLE x(key TEXT, rank INTEGER, argument HIDDEN)");
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK)
        return code;
    *result = sqlite3_malloc(sizeof **result);
    if (*result == NULL)
        return SQLITE_NOMEM;
    memset(*result, 0, sizeof **result);
    return SQLITE_OK;
}

static int url_keys_disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

/* There must be a URL. A plan in which it is not known yet is refused, so that SQLite takes another
 * one; one without any fails when it is run, with words. */
static int url_keys_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    bool waits = false;
    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->iColumn != URL_KEYS_ARGUMENT ||
            (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ &&
             constraint->op != SQLITE_INDEX_CONSTRAINT_IS))
            continue;
        if (!constraint->usable) {
            waits = true;
            continue;
        }
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->idxNum = URL_KEYS_OF_URL;
        /* Some ten keys, about as dear as ten look-ups in a small table. */
        info->estimatedCost = 10;
        info->estimatedRows = 10;
        info->orderByConsumed = info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
                                info->aOrderBy[0].iColumn == URL_KEYS_RANK;
        return SQLITE_OK;
    }
    if (waits)
        return SQLITE_CONSTRAINT;
    info->idxNum = URL_KEYS_ALL;
    info->estimatedCost = 1e12;
    return SQLITE_OK;
}

static int url_keys_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result) {
    struct url_keys_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    (void)table;
    if (cursor == NULL)
        return SQLITE_NOMEM;
    cursor->argument = NULL;
    cursor->parsed.text = NULL;
    cursor->count = cursor->rank = 0;
    *result = &cursor->base;
    return SQLITE_OK;
}

/* Back to no URL. */
static void url_keys_reset(struct url_keys_cursor *cursor) {
    url_text_release(&cursor->parsed);
    sqlite3_value_free(cursor->argument);
    cursor->argument = NULL;
    cursor->parsed.text = NULL;
    cursor->count = cursor->rank = 0;
}

static int url_keys_close(sqlite3_vtab_cursor *base) {
    url_keys_reset((struct url_keys_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int url_keys_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                           sqlite3_value **arguments) {
    struct url_keys_cursor *cursor = (struct url_keys_cursor *)base;
    (void)text;
    (void)count;
    url_keys_reset(cursor);
    if (plan == URL_KEYS_ALL) {
        sqlite3_free(base->pVtab->zErrMsg);
        base->pVtab->zErrMsg = sqlite3_mprintf(
            "bloom_url_keys: there is no URL; give it one, as in bloom_url_keys('evil.example/a')");
        return base->pVtab->zErrMsg != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
    }
    enum url_outcome outcome = url_text_read(&cursor->parsed, arguments[0]);
    if (outcome != URL_READ) {
        cursor->parsed.text = NULL;
        return outcome == URL_NONE ? SQLITE_OK : SQLITE_NOMEM;
    }
    cursor->argument = sqlite3_value_dup(arguments[0]);
    if (cursor->argument == NULL)
        return SQLITE_NOMEM;
    cursor->count = bloom_url_keys(&cursor->parsed.url, cursor->parsed.text, cursor->keys);
    return SQLITE_OK;
}

static int url_keys_next(sqlite3_vtab_cursor *base) {
    ((struct url_keys_cursor *)base)->rank++;
    return SQLITE_OK;
}

static int url_keys_eof(sqlite3_vtab_cursor *base) {
    const struct url_keys_cursor *cursor = (const struct url_keys_cursor *)base;
    return cursor->rank >= cursor->count;
}

static int url_keys_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    const struct url_keys_cursor *cursor = (const struct url_keys_cursor *)base;
    const struct bloom_url_key *key = &cursor->keys[cursor->rank];
    if (column == URL_KEYS_KEY)
        sqlite3_result_text64(context, (const char *)cursor->parsed.text + key->start, key->length,
                              SQLITE_TRANSIENT, SQLITE_UTF8);
    else if (column == URL_KEYS_RANK)
        sqlite3_result_int64(context, cursor->rank);
    else
        sqlite3_result_value(context, cursor->argument);
    return SQLITE_OK;
}

/* Rows of different URLs have different numbers, by which SQLite tells them apart in
 * argument = ?1 OR argument = ?2 AND rank = 0. */
static int url_keys_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    static const struct bloom_shape SHAPE = {.layout = &bloom_layout_blocked};
    const struct url_keys_cursor *cursor = (const struct url_keys_cursor *)base;
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM] = {0};
    /* The argument was converted before it was copied, so that this cannot fail. */
    bloom_sql_key(cursor->argument, &SHAPE, words);
    words[0] += (uint64_t)sqlite3_value_type(cursor->argument);
    *rowid = (sqlite3_int64)(words[0] * (BLOOM_URL_KEYS_MOST + 2) + cursor->rank);
    return SQLITE_OK;
}

int bloom_sql_url_keys_register(sqlite3 *database) {
    /* Without xCreate the table is there under its name, and no other can be made. */
    static const sqlite3_module MODULE = {
        .xConnect = url_keys_connect,
        .xBestIndex = url_keys_best_index,
        .xDisconnect = url_keys_disconnect,
        .xOpen = url_keys_open,
        .xClose = url_keys_close,
        .xFilter = url_keys_filter,
        .xNext = url_keys_next,
        .xEof = url_keys_eof,
        .xColumn = url_keys_column,
        .xRowid = url_keys_rowid,
    };
    return sqlite3_create_module_v2(database, "bloom_url_keys", &MODULE, NULL, NULL);
}

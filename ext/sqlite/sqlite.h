/* What functions, table-valued functions and filter tables share: filters and keys from values, and
 * text for messages. The storeys below (filter, exchange) know nothing of SQLite; everything here
 * gets at bits only through them. What functions alone need is in functions.h.
 */
#ifndef BLOOM_SQLITE_SQLITE_H
#define BLOOM_SQLITE_SQLITE_H

#include "sqlite3ext.h"
SQLITE_EXTENSION_INIT3 /* SQLite's functions through the pointer that extension.c defines */

#include "base/text.h"
#include "filter/hashes.h"
#include "filter/header.h"
#include "filter/key.h"

/* A valid filter somewhere in memory. bytes stays its owner's: of the sqlite3_value it was read
 * from. */
struct bloom_stored {
    struct bloom_shape shape;
    const uint8_t *bytes;
    uint64_t length;
};

static inline const uint8_t *bloom_stored_payload(const struct bloom_stored *filter) {
    return filter->bytes + bloom_header_bytes(&filter->shape);
}

/* Reads a filter from a value, as a BLOB or pinned. problem completes "the filter ..." for
 * BLOOM_STORED_NOT. */
enum bloom_stored_kind { BLOOM_STORED, BLOOM_STORED_NOT, BLOOM_STORED_NO_MEMORY };
enum bloom_stored_kind bloom_sql_stored(sqlite3 *database, sqlite3_value *value,
                                        struct bloom_stored *filter,
                                        char problem[BLOOM_PROBLEM_SIZE]);

/* The bytes of a BLOB; NULL for an empty one. Returns false when there is no memory: the length is
 * asked first, since a zeroblob that finds no memory turns into NULL. */
static inline bool bloom_sql_blob(sqlite3_value *value, const uint8_t **bytes, uint64_t *length) {
    *length = (uint64_t)sqlite3_value_bytes(value);
    *bytes = sqlite3_value_blob(value);
    return *bytes != NULL || *length == 0;
}

/* The same of a value that counts as text, in UTF-8, unless it is a BLOB. */
static inline bool bloom_sql_bytes(sqlite3_value *value, const uint8_t **bytes, uint64_t *length) {
    if (sqlite3_value_type(value) == SQLITE_BLOB)
        return bloom_sql_blob(value, bytes, length);
    *bytes = sqlite3_value_text(value); /* first: it may convert from UTF-16 */
    *length = (uint64_t)sqlite3_value_bytes(value);
    return *bytes != NULL;
}

/* SQLite's memory. */
extern const struct bloom_memory bloom_sql_memory;

/* The words that decide about a key in filters of that shape, of which layout, keying and extra
 * count: the key under which the value is added. NULL is no key. */
enum bloom_key_kind bloom_sql_key(sqlite3_value *value, const struct bloom_shape *shape,
                                  uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]);

/* The words of all keys that may cover a value; those of key i begin at i * hash_words. Without a
 * key rule there is one key. With one, a value that has no key gives BLOOM_KEY_NULL. */
enum bloom_key_kind bloom_sql_asked_keys(sqlite3_value *value, const struct bloom_shape *shape,
                                         uint64_t words[BLOOM_ASKED_WORDS], unsigned *count);

/* What to do about a value that the shape's key rule has no key to add for, as an imperative. */
const char *bloom_sql_no_key_advice(sqlite3_value *value, const struct bloom_key_rule *rule);

/* Appends to a JSON object what a keying has: ,"key":"url","salted":true, or nothing. */
void bloom_sql_append_keying(sqlite3_str *json, const struct bloom_keying *keying);

/* As bloom_sql_key, of the text of a value, whatever type it has, without a key rule. */
enum bloom_key_kind bloom_sql_text_key(sqlite3_value *value, const struct bloom_shape *shape,
                                       uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]);

/* An empty filter of that shape in memory of sqlite3_malloc64; NULL when there is none. */
uint8_t *bloom_sql_new_filter(const struct bloom_shape *shape);

/* A copy of a filter, likewise. */
uint8_t *bloom_sql_copy_filter(const struct bloom_stored *filter);

/* Makes filter, whose memory goes over to SQLite, the function's result; NULL is out of memory. */
void bloom_sql_result_filter(sqlite3_context *context, const struct bloom_shape *shape,
                             uint8_t *filter);

/* Whether the caller wants the statement to end: SQLITE_INTERRUPT or SQLITE_NOMEM when so,
 * otherwise SQLITE_OK. Takes 10 to 20 us. *statement is NULL at the first call and the caller's to
 * finalize. */
int bloom_sql_ask(sqlite3 *database, sqlite3_stmt **statement);

/* The same for one question. */
int bloom_sql_ask_once(sqlite3 *database);

/* As memset with zeros, memcpy and memcmp, for bytes that may be many: they ask as bloom_sql_ask
 * after every few megabytes and return its answer. Unless that is SQLITE_OK, the work is not done.
 * */
int bloom_sql_clear(sqlite3 *database, uint8_t *bytes, uint64_t length);
int bloom_sql_copy(sqlite3 *database, uint8_t *target, const uint8_t *source, uint64_t length);
int bloom_sql_equal(sqlite3 *database, const uint8_t *bytes, const uint8_t *others, uint64_t length,
                    bool *equal);

/* literal.c: the number that a text of length bytes is in SQL, perhaps with a sign; 0 when it is
 * none. Returns SQLITE_OK, or the error of SQLite that kept it from being worked out. */
int bloom_sql_literal(sqlite3 *database, const char *text, size_t length, double *number);

/* Long work is done in stretches of so many bytes, a whole number of blocks of any layout. */
enum { BLOOM_SQL_STRETCH = 4 << 20 };

/* The filter of a pin that is alive, until the running function or method returns; else NULL. */
const struct bloom_stored *bloom_sql_pinned(sqlite3 *database, sqlite3_value *value);

/* The set of hashes that a value points to, likewise. */
const struct bloom_hashes *bloom_sql_pinned_hashes(sqlite3 *database, sqlite3_value *value);

/* A pin that a cursor keeps alive; zeros for a value that is no living pin of this connection. The
 * reference that keep takes is given back by release. */
struct bloom_kept_pin {
    uintptr_t number;
    const struct bloom_stored *filter;
};
struct bloom_kept_pin bloom_pin_keep(sqlite3 *database, sqlite3_value *value);
void bloom_pin_release(const struct bloom_kept_pin *kept);

/* Whether a value is NULL, and not a pin, alive or gone, which looks like NULL. */
bool bloom_sql_is_null(sqlite3_value *value);

/* The type of pins as pointer values. */
extern char bloom_pin_type[40];

/* Whether a value is the pin that is kept, or neither is one. */
static inline bool bloom_pin_is(const struct bloom_kept_pin *kept, sqlite3_value *value) {
    return (uintptr_t)sqlite3_value_pointer(value, bloom_pin_type) == kept->number;
}

/* message.c: text for messages. Every message quotes others' text by these and by bloom_quote. */
enum { BLOOM_WORDS_SIZE = BLOOM_QUOTE_SIZE + 16 };

/* Cuts a message to the length that values of the connection may have, at a character: SQLite drops
 * the text of a longer one, and the error is without words. */
void bloom_sql_cut(sqlite3 *database, char *message);

/* Writes what a value is: NULL, a number, the text '...', a BLOB of 3 bytes. Returns words, or NULL
 * when there is no memory. */
char *bloom_sql_describe(char words[BLOOM_WORDS_SIZE], sqlite3_value *value);

/* Writes an estimate as a JSON number that reads back as a REAL: rounded to 6 digits, further ones
 * would pretend to be known; with a point or an exponent, the same in every release of SQLite.
 * Returns text. */
char *bloom_sql_estimate(char text[BLOOM_NUMBER_SIZE], double estimate);

/* A whole message as valid UTF-8 without control characters, whatever it quotes, from
 * sqlite3_malloc; NULL: no memory. It is not bound by the connection's limit of lengths: a message
 * that is too long for it is no lack of memory. */
char *bloom_sql_legible(const char *text);

#endif

/* What a filter table was made for: how it grows, and the type of its keys.
 *
 * CREATE VIRTUAL TABLE says it as text. From then on row 0 of the shadow table says it as numbers;
 * FORMAT-tables.md has the offsets. Only the declared type of the column key is read from the text
 * again.
 */
#ifndef BLOOM_TABLE_CONFIGURATION_H
#define BLOOM_TABLE_CONFIGURATION_H

#include "filter/growth.h"
#include "sqlite/affinity.h"

struct bloom_configuration {
    struct bloom_growth growth;
    enum bloom_key_type key;      /* the type of the column key */
    struct bloom_shape key_shape; /* how keys are hashed: as the layout does it */
};

/* What the command rotate changes in row 0. Everything else stays as it was written. */
struct bloom_rotation {
    uint32_t newest; /* generation */
    bool has_period;
    sqlite3_int64 period; /* the last number that was given to rotate */
};

/* Reads `count` arguments of CREATE. page_bytes is the largest row that fits into a page, which
 * decides how many blocks a chunk has. Returns SQLITE_OK; SQLITE_ERROR with a message from
 * sqlite3_malloc in *error, which is the caller's; or SQLITE_NOMEM or SQLITE_INTERRUPT. */
int bloom_configuration_of_text(sqlite3 *connection, int count, const char *const *arguments,
                                uint32_t page_bytes, struct bloom_configuration *configuration,
                                char **error);

/* Reads only the type of the column key, which must be declared before row 0 can be read. The
 * arguments may be wrong, or those of a newer release. */
enum bloom_key_type bloom_configuration_key_type(int count, const char *const *arguments);

enum { BLOOM_CONFIGURATION_BYTES = 64 };

/* Writes row 0 of a new table. */
void bloom_configuration_write(const struct bloom_configuration *configuration,
                               uint8_t row[BLOOM_CONFIGURATION_BYTES]);

/* Returns true when a newer release has written row 0. */
bool bloom_configuration_is_newer(const uint8_t row[BLOOM_CONFIGURATION_BYTES]);

/* Reads row 0, of which nothing is known. Returns false when it breaks FORMAT-tables.md; problem
 * then completes "row 0 of SHADOW ...". */
bool bloom_configuration_read(struct bloom_configuration *configuration,
                              const uint8_t row[BLOOM_CONFIGURATION_BYTES],
                              char problem[BLOOM_PROBLEM_SIZE]);

/* Returns true if both may be row 0 of one table, because they differ in the rotation only. */
bool bloom_configuration_same(const uint8_t one[BLOOM_CONFIGURATION_BYTES],
                              const uint8_t other[BLOOM_CONFIGURATION_BYTES]);

/* Load the rotation from row 0, and store it there. */
struct bloom_rotation bloom_rotation_load(const uint8_t row[BLOOM_CONFIGURATION_BYTES]);
void bloom_rotation_store(const struct bloom_rotation *rotation,
                          uint8_t row[BLOOM_CONFIGURATION_BYTES]);

#endif

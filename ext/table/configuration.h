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
    sqlite3_int64 period; /* the newest number that was given to period */
};

enum { BLOOM_CONFIGURATION_BYTES = 72 };

/* Makes row 0 of `count` arguments of CREATE. page_bytes is the largest row that fits into a page,
 * which decides how many blocks a chunk has. Returns SQLITE_OK; SQLITE_ERROR with a message from
 * sqlite3_malloc in *error, which is the caller's; or SQLITE_NOMEM or SQLITE_INTERRUPT. */
int bloom_configuration_of_text(sqlite3 *connection, int count, const char *const *arguments,
                                uint32_t page_bytes, uint8_t row[BLOOM_CONFIGURATION_BYTES],
                                char **error);

/* Reads only the type of the column key, which must be declared before row 0 can be read. The
 * arguments may be wrong, or those of a newer release. */
enum bloom_key_type bloom_configuration_key_type(int count, const char *const *arguments);

/* The words of CREATE and `info` for enum bloom_growth_mode. */
extern const char *const bloom_growth_words[];

enum bloom_row_0 { BLOOM_ROW_0_READ, BLOOM_ROW_0_DAMAGED, BLOOM_ROW_0_NEWER };

/* Reads a row 0 of `length` bytes, of which nothing is known. Only the first
 * BLOOM_CONFIGURATION_BYTES are looked at. If it is intact and has a number that FORMAT-tables.md
 * does not know, only a newer release can have written it. Unless it is read, problem completes
 * "row 0 ...". */
enum bloom_row_0 bloom_configuration_read(struct bloom_configuration *configuration,
                                          const uint8_t row[BLOOM_CONFIGURATION_BYTES], int length,
                                          char problem[BLOOM_PROBLEM_SIZE]);

/* Returns true if both may be row 0 of one table, because row is what rotations make of the known
 * one. Without generations nothing may differ. */
bool bloom_configuration_same(const uint8_t row[BLOOM_CONFIGURATION_BYTES],
                              const uint8_t known[BLOOM_CONFIGURATION_BYTES]);

/* Load the rotation from row 0, and store it there. */
struct bloom_rotation bloom_rotation_load(const uint8_t row[BLOOM_CONFIGURATION_BYTES]);
void bloom_rotation_store(const struct bloom_rotation *rotation,
                          uint8_t row[BLOOM_CONFIGURATION_BYTES]);

#endif

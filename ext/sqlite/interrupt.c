/* Whether the caller of a long operation wants it to end. */
#include "sqlite/functions.h"

#include <string.h>

/* SQLite tells functions of an interrupt only from 3.41 on; but a nested statement notices
 * interrupts and progress handlers on every version. This one runs some 1000 operations, so that
 * handlers with long intervals get their turn, too. */
int bloom_sql_ask(sqlite3 *database, sqlite3_stmt **statement) {
    static const char SQL[] = "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c "
                              "LIMIT 60) SELECT i FROM c";
    int code = SQLITE_OK;
    if (*statement == NULL)
        code = sqlite3_prepare_v2(database, SQL, -1, statement, NULL);
    if (code == SQLITE_OK) {
        while (sqlite3_step(*statement) == SQLITE_ROW)
            continue;
        code = sqlite3_reset(*statement);
    }
    /* An authorizer or a limit may forbid the question itself, which is no reason to stop. */
    return code == SQLITE_INTERRUPT || code == SQLITE_NOMEM ? code : SQLITE_OK;
}

bool bloom_sql_question(void *argument) {
    struct bloom_question *question = argument;
    question->code = bloom_sql_ask(question->database, &question->statement);
    return question->code != SQLITE_OK;
}

int bloom_sql_ask_once(sqlite3 *database) {
    sqlite3_stmt *statement = NULL;
    int code = bloom_sql_ask(database, &statement);
    sqlite3_finalize(statement);
    return code;
}

/* Chooses the next stretch of a pass that has done some of its bytes, and asks between two
 * stretches as bloom_sql_ask does. */
static int next_stretch(sqlite3 *database, uint64_t done, uint64_t length, size_t *stretch) {
    *stretch = length - done < BLOOM_SQL_STRETCH ? (size_t)(length - done) : BLOOM_SQL_STRETCH;
    return done > 0 ? bloom_sql_ask_once(database) : SQLITE_OK;
}

int bloom_sql_copy(sqlite3 *database, uint8_t *target, const uint8_t *source, uint64_t length) {
    size_t stretch;
    for (uint64_t done = 0; done < length; done += stretch) {
        int code = next_stretch(database, done, length, &stretch);
        if (code != SQLITE_OK)
            return code;
        memcpy(target + done, source + done, stretch);
    }
    return SQLITE_OK;
}

int bloom_sql_clear(sqlite3 *database, uint8_t *bytes, uint64_t length) {
    size_t stretch;
    for (uint64_t done = 0; done < length; done += stretch) {
        int code = next_stretch(database, done, length, &stretch);
        if (code != SQLITE_OK)
            return code;
        memset(bytes + done, 0, stretch);
    }
    return SQLITE_OK;
}

int bloom_sql_equal(sqlite3 *database, const uint8_t *bytes, const uint8_t *others, uint64_t length,
                    bool *equal) {
    size_t stretch;
    *equal = true;
    for (uint64_t done = 0; done < length && *equal; done += stretch) {
        int code = next_stretch(database, done, length, &stretch);
        if (code != SQLITE_OK)
            return code;
        *equal = memcmp(bytes + done, others + done, stretch) == 0;
    }
    return SQLITE_OK;
}

bool bloom_sql_interrupted(sqlite3_context *context, uint64_t bytes, uint64_t *unasked) {
    *unasked += bytes;
    if (*unasked < BLOOM_SQL_STRETCH) /* a millisecond's work or so */
        return false;
    *unasked = 0;
    int code = bloom_sql_ask_once(sqlite3_context_db_handle(context));
    if (code == SQLITE_OK)
        return false;
    sqlite3_result_error_code(context, code);
    return true;
}

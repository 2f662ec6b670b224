/* Polling for an interrupt, by running a statement.
 *
 * SQLite reports an interrupt to functions only from 3.41 on. But a nested statement notices
 * interrupts and progress handlers on every version. Ours runs about 1000 operations, so that
 * handlers with long intervals are called, too.
 */
#include "sqlite/poll.h"

#include "base/limits.h"

#include <string.h>

int bloom_poll(sqlite3 *database) {
    static const char SQL[] = "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c "
                              "LIMIT 60) SELECT i FROM c";
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(database, SQL, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        while (sqlite3_step(statement) == SQLITE_ROW)
            continue;
        code = sqlite3_finalize(statement);
    }
    /* An authorizer or a limit may forbid this statement, which is no reason to end. */
    return code == SQLITE_INTERRUPT || code == SQLITE_NOMEM ? code : SQLITE_OK;
}

bool bloom_poller_ends(void *argument) {
    struct bloom_poller *poller = argument;
    poller->code = bloom_poll(poller->database);
    return poller->code != SQLITE_OK;
}

int bloom_polled_copy(sqlite3 *database, uint8_t *target, const uint8_t *source, uint64_t length) {
    size_t stretch;
    for (uint64_t done = 0; done < length; done += stretch) {
        int code = bloom_poll_stretch(database, done, length, &stretch);
        if (code != SQLITE_OK)
            return code;
        memcpy(target + done, source + done, stretch);
    }
    return SQLITE_OK;
}

bool bloom_sql_interrupted(sqlite3_context *context, uint64_t bytes, uint64_t *unpolled) {
    *unpolled += bytes;
    if (*unpolled < bloom_limits.sql_stretch) /* a millisecond's work or so */
        return false;
    *unpolled = 0;
    int code = bloom_poll(sqlite3_context_db_handle(context));
    if (code == SQLITE_OK)
        return false;
    sqlite3_result_error_code(context, code);
    return true;
}

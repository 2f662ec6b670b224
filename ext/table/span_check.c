/* The two tables of span.h as assertions, for the builds of tests. */
#include "table/span.h"

#ifdef BLOOM_ASSERTS

#include <assert.h>

/* What may be in memory: nothing, only drafts, rows without drafts, or both. */
enum memory { NOTHING, DRAFTS = 1, CLEAN = 2, BOTH = 3 };

/* What each method leaves. */
static const struct {
    bool outside, making, begun; /* whether the transaction may be that */
    enum memory memory;
} LEAVES[] = {
    [BLOOM_X_CREATE] = {false, true, false, NOTHING},
    [BLOOM_X_BEGIN] = {false, false, true, NOTHING},
    [BLOOM_X_SAVEPOINT] = {false, false, true, CLEAN},
    [BLOOM_X_RELEASE] = {false, true, true, BOTH},
    [BLOOM_X_ROLLBACK_TO] = {false, true, true, DRAFTS},
    [BLOOM_X_SYNC] = {false, true, true, CLEAN},
    [BLOOM_X_COMMIT] = {true, false, false, NOTHING},
    [BLOOM_X_ROLLBACK] = {true, false, false, NOTHING},
    [BLOOM_OPERATION] = {true, true, true, BOTH},
};

static bool has_rows(const struct bloom_span *span) {
    return span->rows.slots != NULL || span->knows_row_0 || span->counted > 0;
}

/* Only after a savepoint that failed are there drafts at its end: they are older. */
static void check_savepoint(const struct bloom_span *span, enum bloom_method method, int depth) {
    const struct bloom_writing *writing = &span->writing;
    assert(!writing->has_changed && !writing->is_alone);
    assert(span->rows.drafts == NULL || writing->depth < depth);
    assert(method != BLOOM_X_SAVEPOINT || writing->depth == depth);
    assert(method != BLOOM_X_RELEASE || writing->depth < depth);
}

void bloom_span_check(const struct bloom_span *span, enum bloom_method method, int depth) {
    const enum bloom_transaction transaction = span->writing.transaction;
    const enum memory memory = LEAVES[method].memory;
    uint64_t bytes = 0;
    size_t drafts = 0;
    for (const struct bloom_span *each = span->database.owner->tables; each; each = each->next)
        bytes += each->rows.bytes;
    for (const struct bloom_row *row = span->rows.drafts; row != NULL; row = row->next)
        drafts++;
    bloom_rows_check(&span->rows);
    assert(bytes == span->database.owner->table_bytes);
    assert(transaction == BLOOM_OUTSIDE  ? LEAVES[method].outside
           : transaction == BLOOM_MAKING ? LEAVES[method].making
                                         : LEAVES[method].begun);
    assert(memory != NOTHING || !has_rows(span));
    assert((memory & DRAFTS) != 0 || drafts == 0);
    assert((memory & CLEAN) != 0 || (span->rows.used == drafts && !span->knows_row_0));
    assert(transaction != BLOOM_MAKING || !has_rows(span));
    assert(transaction == BLOOM_BEGUN || drafts == 0);
    if (method == BLOOM_X_SAVEPOINT || method == BLOOM_X_RELEASE || method == BLOOM_X_ROLLBACK_TO)
        check_savepoint(span, method, depth);
}

#endif

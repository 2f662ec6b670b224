/* Open addressing with linear probing. A slot is never freed alone, only all together, so a search
 * ends at the first free slot. Slots without bytes point to one of two markers. */
#include "table/rows.h"

#include "base/limits.h"

#include <assert.h>
#include <string.h>

enum { SLOT_SHARE = 8 }; /* slots may take one part in that many of the limit */

struct bloom_slot {
    sqlite3_int64 id; /* 0: free, because row 0 is not a chunk */
    struct bloom_row *row;
};

static struct bloom_row seen_marker, absent_marker;

static struct bloom_slot *find_slot(struct bloom_slot *slots, size_t count, sqlite3_int64 id) {
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 divided by the golden ratio */
    size_t at = (size_t)(((uint64_t)id * golden >> 32) * count >> 32);
    while (slots[at].id != 0 && slots[at].id != id)
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool has_bytes(const struct bloom_slot *slot) {
    return slot->id != 0 && slot->row != &seen_marker && slot->row != &absent_marker;
}

enum bloom_known bloom_rows_find(const struct bloom_row_memory *rows, sqlite3_int64 id,
                                 struct bloom_row **row) {
    if (rows->used == 0)
        return BLOOM_UNKNOWN;
    const struct bloom_slot *slot = find_slot(rows->slots, rows->slot_count, id);
    if (slot->id == 0)
        return BLOOM_UNKNOWN;
    if (slot->row == &seen_marker)
        return BLOOM_SEEN;
    if (slot->row == &absent_marker)
        return BLOOM_ABSENT;
    *row = slot->row;
    return BLOOM_KEPT;
}

/* Memory */

static bool has_room(struct bloom_row_memory *rows, uint64_t bytes) {
    if (*rows->total + bytes > rows->limit)
        rows->is_full = true;
    return !rows->is_full;
}

static void count_memory(struct bloom_row_memory *rows, uint64_t added, uint64_t removed) {
    *rows->total += added - removed;
    rows->bytes += added - removed;
}

static void free_row(struct bloom_row_memory *rows, struct bloom_row *row) {
    count_memory(rows, 0, sizeof *row + row->length);
    sqlite3_free(row);
}

/* Returns true if there is a slot for one more id. */
static bool has_slot(struct bloom_row_memory *rows) {
    if (2 * (rows->used + 1) <= rows->slot_count)
        return true;
    const size_t count = rows->slot_count > 0 ? 2 * rows->slot_count : bloom_limits.row_slots;
    const uint64_t bytes = count * sizeof(struct bloom_slot);
    if (rows->slot_count > 0 && bytes > rows->limit / SLOT_SHARE)
        rows->is_full = true;
    struct bloom_slot *slots = has_room(rows, bytes) ? sqlite3_malloc64(bytes) : NULL;
    if (slots == NULL)
        return false;
    memset(slots, 0, (size_t)bytes);
    for (size_t i = 0; i < rows->slot_count; i++)
        if (rows->slots[i].id != 0)
            *find_slot(slots, count, rows->slots[i].id) = rows->slots[i];
    count_memory(rows, bytes, rows->slot_count * sizeof *slots);
    sqlite3_free(rows->slots);
    rows->slots = slots;
    rows->slot_count = count;
    return true;
}

/* What is known */

/* A draft whose generation somebody else has ended in the meantime is replaced by a new row. */
static void forget_draft(struct bloom_row_memory *rows, const struct bloom_row *row) {
    struct bloom_row **link = &rows->drafts;
    while (*link != row)
        link = &(*link)->next;
    *link = row->next;
}

static void set_slot(struct bloom_row_memory *rows, sqlite3_int64 id, struct bloom_row *row) {
    struct bloom_slot *slot = find_slot(rows->slots, rows->slot_count, id);
    if (has_bytes(slot)) {
        if (slot->row->is_draft)
            forget_draft(rows, slot->row);
        free_row(rows, slot->row);
    }
    rows->used += slot->id == 0;
    *slot = (struct bloom_slot){id, row};
}

/* What is known of a row must stay right when the memory is full, too. */
void bloom_rows_note(struct bloom_row_memory *rows, sqlite3_int64 id, bool exists) {
    struct bloom_row *row;
    if (bloom_rows_find(rows, id, &row) != BLOOM_UNKNOWN || (!rows->is_full && has_slot(rows)))
        set_slot(rows, id, exists ? &seen_marker : &absent_marker);
}

struct bloom_row *bloom_rows_keep(struct bloom_row_memory *rows, sqlite3_int64 id,
                                  const uint8_t *bytes, uint32_t length) {
    const uint64_t size = sizeof(struct bloom_row) + length;
    struct bloom_row *row = has_slot(rows) && has_room(rows, size) ? sqlite3_malloc64(size) : NULL;
    if (row == NULL)
        return NULL;
    *row = (struct bloom_row){.id = id, .length = length};
    memcpy(row->bytes, bytes, length);
    count_memory(rows, size, 0);
    set_slot(rows, id, row);
    return row;
}

/* Drafts */

void bloom_rows_draft(struct bloom_row_memory *rows, struct bloom_row *row) {
    if (row->is_draft)
        return;
    row->is_draft = true;
    row->next = rows->drafts;
    rows->drafts = row;
}

/* Returns a list sorted: deals it out to two, sorts them, and merges them. */
static struct bloom_row *sort_list(struct bloom_row *list) {
    struct bloom_row *halves[2] = {NULL, NULL}, *first = list, **end = &first;
    if (list == NULL || list->next == NULL)
        return list;
    for (struct bloom_row *next; list != NULL; list = next) {
        next = list->next;
        list->next = halves[0];
        halves[0] = halves[1];
        halves[1] = list;
    }
    halves[0] = sort_list(halves[0]);
    halves[1] = sort_list(halves[1]);
    while (halves[0] != NULL && halves[1] != NULL) {
        struct bloom_row **smaller = &halves[halves[0]->id > halves[1]->id];
        *end = *smaller;
        end = &(*smaller)->next;
        *smaller = *end;
    }
    *end = halves[halves[0] == NULL];
    return first;
}

void bloom_rows_sort_drafts(struct bloom_row_memory *rows) {
    rows->drafts = sort_list(rows->drafts);
}

void bloom_rows_clean_first(struct bloom_row_memory *rows) {
    rows->drafts->is_draft = false;
    rows->drafts = rows->drafts->next;
}

/* Dropping */

void bloom_rows_drop_clean(struct bloom_row_memory *rows) {
    for (size_t i = 0; i < rows->slot_count; i++)
        if (has_bytes(&rows->slots[i]) && !rows->slots[i].row->is_draft)
            free_row(rows, rows->slots[i].row);
    if (rows->slot_count > 0)
        memset(rows->slots, 0, rows->slot_count * sizeof *rows->slots);
    rows->used = 0;
    rows->is_full = false;
    for (struct bloom_row *row = rows->drafts; row != NULL; row = row->next)
        set_slot(rows, row->id, row);
}

void bloom_rows_drop(struct bloom_row_memory *rows) {
    while (rows->drafts != NULL)
        bloom_rows_clean_first(rows);
    bloom_rows_drop_clean(rows);
    count_memory(rows, 0, rows->slot_count * sizeof *rows->slots);
    sqlite3_free(rows->slots);
    rows->slots = NULL;
    rows->slot_count = 0;
}

#ifdef BLOOM_ASSERTS
void bloom_rows_check(const struct bloom_row_memory *rows) {
    uint64_t bytes = rows->slot_count * sizeof *rows->slots;
    size_t used = 0, drafts = 0;
    for (size_t i = 0; i < rows->slot_count; i++) {
        const struct bloom_slot *slot = &rows->slots[i];
        used += slot->id != 0;
        assert(slot->id == 0 || find_slot(rows->slots, rows->slot_count, slot->id) == slot);
        if (!has_bytes(slot))
            continue;
        assert(slot->row->id == slot->id);
        bytes += sizeof *slot->row + slot->row->length;
        drafts += slot->row->is_draft;
    }
    for (const struct bloom_row *row = rows->drafts; row != NULL; row = row->next, drafts--)
        assert(drafts > 0 && row->is_draft &&
               find_slot(rows->slots, rows->slot_count, row->id)->row == row);
    assert(drafts == 0 && used == rows->used && bytes == rows->bytes && bytes <= *rows->total);
}
#endif

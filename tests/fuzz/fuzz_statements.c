/* Random SQL made of our functions: each byte of the input chooses how an expression goes on. */
#include "fuzz.h"

#include <stdio.h>

struct source {
    const uint8_t *data;
    size_t left;
    char sql[4000];
    size_t length;
};

static unsigned choose(struct source *source, unsigned choices) {
    if (source->left == 0)
        return 0;
    source->left--;
    return *source->data++ % choices;
}

static void append(struct source *source, const char *text) {
    size_t length = strlen(text);
    if (source->length + length < sizeof source->sql) {
        memcpy(source->sql + source->length, text, length + 1);
        source->length += length;
    }
}

static const char *const LEAVES[] = {"NULL",
                                     "0",
                                     "1",
                                     "-1",
                                     "2.5",
                                     "0.01",
                                     "1e300",
                                     "9223372036854775807",
                                     "''",
                                     "'abc'",
                                     "'classic'",
                                     "'blocked'",
                                     "x''",
                                     "x'89424c4d01010100'",
                                     "zeroblob(64)",
                                     "i",
                                     "v",
                                     "b",
                                     "1000",
                                     "1e-9",
                                     "json_array(i, v)"};
static const char *const CALLS[] = {
    "bloom_new(",         "bloom_new_bits(", "bloom_add(",     "bloom_check(", "bloom_union(",
    "bloom_intersect(",   "bloom_count(",    "bloom_fpr(",     "bloom_info(",  "bloom_size(",
    "bloom_hash(",        "bloom_pin(",      "bloom_version(", "bloom_agg(",   "bloom_union_agg(",
    "(SELECT bloom_pin(", "coalesce(NULL, ", "length(",        "hex("};

static void expression(struct source *source, int depth) {
    if (depth == 0 || choose(source, 3) == 0) {
        append(source, LEAVES[choose(source, sizeof LEAVES / sizeof *LEAVES)]);
        return;
    }
    const char *call = CALLS[choose(source, sizeof CALLS / sizeof *CALLS)];
    append(source, call);
    unsigned arguments = choose(source, 5);
    for (unsigned i = 0; i < arguments; i++) {
        if (i > 0)
            append(source, ", ");
        expression(source, depth - 1);
    }
    append(source, call[0] == '(' ? "))" : ")");
}

static const char *const FORMS[][2] = {{"SELECT ", " FROM t"},
                                       {"SELECT ", " FROM t GROUP BY i % 2"},
                                       {"SELECT ", ""},
                                       {"SELECT i FROM t WHERE ", ""},
                                       {"UPDATE t SET b = ", ""},
                                       {"INSERT INTO seen(key) SELECT ", " FROM t"},
                                       {"INSERT OR IGNORE INTO seen(seen, key) SELECT 'merge', ", " FROM t"},
                                       {"SELECT count(*) FROM seen WHERE key = ", ""},
                                       {"SELECT count(*) FROM t, seen WHERE key = ", ""},
                                       {"CREATE INDEX IF NOT EXISTS x ON t(", ")"}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct source source;
    sqlite3 *database = fuzz_open();
    if (sqlite3_exec(
            database,
            "CREATE TABLE t(i, v, b); INSERT INTO t VALUES (1, 'a', bloom_new(10)), (2, 2.5, "
            "bloom_add(bloom_new(10), 1)), (3, NULL, "
            "bloom_new(10, 0.01, 'classic')); CREATE VIRTUAL TABLE seen USING bloom(capacity=10, fpr=0.01)",
            NULL, NULL, NULL) != SQLITE_OK)
        abort();
    source.data = data;
    source.left = size;
    for (int statements = 0; statements < 6 && source.left > 0; statements++) {
        unsigned form = choose(&source, sizeof FORMS / sizeof *FORMS);
        source.length = 0;
        append(&source, FORMS[form][0]);
        expression(&source, 4);
        append(&source, FORMS[form][1]);
        fuzz_run(database, source.sql, NULL, 0);
    }
    if (sqlite3_close(database) != SQLITE_OK)
        abort();
    return 0;
}

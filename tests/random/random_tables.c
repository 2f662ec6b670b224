/* Filter tables: two connections to one file, each with transactions and savepoints of its own,
 * insert, ask, merge, clear, grow, roll back, create anew, close and open again. The oracle is a
 * set of keys for each table with the same transactions: what was committed, and for each
 * connection what it sees now and what it saw at each savepoint.
 *
 * A statement that the other connection's lock refuses (SQLITE_BUSY) has changed nothing. */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 8, STEPS = 14000, UNIVERSE = UNIVERSE_MOST, TABLES = 4, DEPTH_MOST = 5 };

/* capacity and fpr are those of each CREATE; a table that does not grow is compared by bytes at any
 * number of keys, one that grows until it has done so. */
static const struct {
    const char *name, *shape, *growth;
    double rate;
} OPTIONS[TABLES] = {
    {"never", "1500, 0.01", "off", 0.01},
    {"often", "40, 0.02", "on", 0.02},
    {"seldom", "1200, 0.001", "on", 0.001},
    {"overfull", "50, 0.1", "off", 0.1},
};

static const char *const CREATE =
    "CREATE VIRTUAL TABLE \"%w\" USING bloom(capacity=%.*s, fpr=%s, growth=%s)";

enum statement {
    ADD,
    ADD_NEW,
    ADD_SET,
    CHECK,
    FRESH,
    COUNT_IN_SET,
    INFO,
    FILTER,
    SAME,
    MERGE,
    CLEAR,
    STATEMENTS
};

/* %1$ is the table, %2$ its capacity and rate. */
static const char *const SQL[STATEMENTS] = {
    [ADD] = "INSERT INTO \"%w\"(key) VALUES (?1)",
    [ADD_NEW] = "INSERT OR IGNORE INTO \"%w\"(key) VALUES (?1)",
    [ADD_SET] = "INSERT OR IGNORE INTO \"%w\"(key) SELECT k FROM universe WHERE in_set(i)",
    [CHECK] = "SELECT 1 FROM \"%w\" WHERE key = ?1",
    [FRESH] = "SELECT count(*) FROM universe AS u CROSS JOIN \"%w\" AS t ON t.key = u.i + ?1 WHERE "
              "u.i < 256",
    [COUNT_IN_SET] = "SELECT count(*) FROM universe AS u CROSS JOIN \"%w\" AS t ON t.key = u.k "
                     "WHERE in_set(u.i)",
    [INFO] = "SELECT json_array_length(info, '$.layers'), json_extract(info, '$.fpr'), (SELECT "
             "sum(json_extract(value, '$.keys')) FROM json_each(info, '$.layers')) FROM \"%w\"",
    [FILTER] = "SELECT filter FROM \"%w\"",
    [SAME] = "SELECT filter = (SELECT coalesce(bloom_agg(k, %s), bloom_new(%s)) FROM universe "
             "WHERE in_set(i)) "
             "FROM \"%w\"",
    [MERGE] = "INSERT INTO \"%w\"(\"%w\", key) SELECT 'merge', coalesce(bloom_agg(k, %s), "
              "bloom_new(%s)) FROM "
              "universe WHERE in_set(i)",
    [CLEAR] = "INSERT INTO \"%w\"(\"%w\") VALUES ('clear')",
};

/* What the tables hold. */
struct model {
    struct set keys[TABLES];
    unsigned added[TABLES]; /* keys that were new when they were added, since the last clear */
    bool merged[TABLES]; /* since then; the table's own count of its keys is an estimate after it */
};

struct side {
    const char *name;
    sqlite3 *database;
    sqlite3_stmt *statements[TABLES][STATEMENTS];
    struct set asked;    /* what in_set() tells */
    bool in_transaction; /* begun and not ended */
    bool by_savepoint;   /* with SAVEPOINT instead of BEGIN */
    bool sees; /* its transaction has tried to read: from here on it sees what was there then */
    bool sure; /* a statement in it has not been refused, so that this is certain */
    bool wrote;
    unsigned depth; /* of savepoints within the transaction */
    struct model now;
    struct model
        before[DEPTH_MOST + 1]; /* at the begin of the transaction, and at each savepoint */
};

static char file[200];
static struct model committed;
static struct side sides[2];
static struct false_positives rates;
static uint64_t refused;

static void forget_transaction(struct side *side) {
    side->in_transaction = side->sees = side->sure = side->wrote = false;
    side->depth = 0;
}

static void open_side(struct side *side) {
    side->database = open_connection(file, UNIVERSE, &side->asked);
    sqlite3_exec(side->database, "PRAGMA synchronous = off", NULL, NULL, NULL);
}

static void close_side(struct side *side) {
    for (unsigned table = 0; table < TABLES; table++)
        for (unsigned i = 0; i < STATEMENTS; i++) {
            sqlite3_finalize(side->statements[table][i]);
            side->statements[table][i] = NULL;
        }
    expect(sqlite3_close(side->database) == SQLITE_OK, "%s: cannot be closed", side->name);
    forget_transaction(side);
}

static sqlite3_stmt *statement_of(struct side *side, unsigned table, enum statement which) {
    sqlite3_stmt **statement = &side->statements[table][which];
    const char *name = OPTIONS[table].name, *shape = OPTIONS[table].shape;
    if (*statement == NULL) {
        if (which == SAME)
            *statement = prepare(side->database, SQL[which], shape, shape, name);
        else
            *statement = prepare(side->database, SQL[which], name, name, shape, shape);
    }
    return *statement;
}

/* From the first statement of a transaction on the connection sees one state; without a transaction
 * it sees the last one committed. */
static void look(struct side *side) {
    if (side->in_transaction && side->sees)
        return;
    side->now = committed;
    for (unsigned i = 0; i <= side->depth; i++)
        side->before[i] = committed;
    side->sees = side->in_transaction;
}

/* What to do about a result: false when the other connection was in the way. When that met the
 * first statement of a transaction, nobody knows whether it sees already; so it ends. */
static bool succeeded(struct side *side, int code, bool good, const char *sql) {
    operations++;
    if ((code & 0xff) == SQLITE_BUSY) {
        refused++;
        if (side->in_transaction && !side->sure) {
            code = sqlite3_exec(side->database, "ROLLBACK", NULL, NULL, NULL);
            expect(code == SQLITE_OK, "%s: ROLLBACK: result %d", side->name, code);
            forget_transaction(side);
        }
        return false;
    }
    expect(good, "%s: %s: result %d (%s)", side->name, sql, code, sqlite3_errmsg(side->database));
    side->sure = side->in_transaction && side->sees;
    return true;
}

/* The side has changed its model: at once for all when it is in no transaction. */
static void written(struct side *side) {
    if (side->in_transaction)
        side->wrote = true;
    else
        committed = side->now;
}

/* Steps a statement that should give a row or be done; false when the other connection is in the
 * way. */
static bool step(struct side *side, sqlite3_stmt *statement, int expected) {
    int code = sqlite3_step(statement);
    if ((code & 0xff) == SQLITE_BUSY)
        sqlite3_reset(statement);
    return succeeded(side, code, code == expected, sqlite3_sql(statement));
}

static bool execute(struct side *side, const char *sql) {
    int code = sqlite3_exec(side->database, sql, NULL, NULL, NULL);
    return succeeded(side, code, code == SQLITE_OK, sql);
}

/* Whether the table has the key; *known is false when the other connection does not let us know. */
static bool check(struct side *side, unsigned table, unsigned key, bool *known) {
    sqlite3_stmt *statement = statement_of(side, table, CHECK);
    look(side);
    bind_key(statement, 1, key);
    int code = sqlite3_step(statement);
    bool found = code == SQLITE_ROW;
    sqlite3_reset(statement);
    *known = succeeded(side, code, found || code == SQLITE_DONE, sqlite3_sql(statement));
    if (!*known)
        return false;
    expect(found || !set_has(&side->now.keys[table], key), "%s: %s: key %u is a false negative",
           side->name, OPTIONS[table].name, key);
    return found;
}

static void add(struct side *side, unsigned table) {
    unsigned key = random_below(UNIVERSE);
    bool only_new = random_once_in(2), known;
    bool found = check(side, table, key, &known);
    if (!known)
        return;
    sqlite3_stmt *statement = statement_of(side, table, only_new ? ADD_NEW : ADD);
    bind_key(statement, 1, key);
    if (!step(side, statement, SQLITE_DONE))
        return;
    int changes = sqlite3_changes(side->database);
    sqlite3_reset(statement);
    if (only_new)
        expect(changes == !found, "%s: %s: changes() is %d for a key that was %s", side->name,
               OPTIONS[table].name, changes, found ? "in" : "not in");
    set_add(&side->now.keys[table], key);
    side->now.added[table] += !found;
    written(side);
    /* What has just been added is there. */
    check(side, table, key, &known);
}

static void add_set(struct side *side, unsigned table, bool merge) {
    sqlite3_stmt *statement = statement_of(side, table, merge ? MERGE : ADD_SET);
    side->asked = random_set(UNIVERSE / 4);
    if (random_once_in(2)) /* keys of all ranges */
        for (unsigned i = 0; i < 20; i++)
            set_add(&side->asked, random_below(UNIVERSE));
    look(side);
    if (!step(side, statement, SQLITE_DONE))
        return;
    int changes = sqlite3_changes(side->database);
    sqlite3_reset(statement);
    struct set already = side->now.keys[table];
    set_intersect(&already, &side->asked);
    unsigned most = set_count(&side->asked) - set_count(&already);
    operations += set_count(&side->asked);
    if (merge)
        side->now.merged[table] = true;
    else
        expect(changes >= 0 && (unsigned)changes <= most,
               "%s: %s: %d keys were new, at most %u can be", side->name, OPTIONS[table].name,
               changes, most);
    side->now.added[table] += (unsigned)changes;
    set_unite(&side->now.keys[table], &side->asked);
    written(side);
}

static void empty_model(struct side *side, unsigned table) {
    side->now.keys[table] = (struct set){{0}};
    side->now.added[table] = 0;
    side->now.merged[table] = false;
}

static void clear(struct side *side, unsigned table) {
    sqlite3_stmt *statement = statement_of(side, table, CLEAR);
    look(side);
    if (!step(side, statement, SQLITE_DONE))
        return;
    sqlite3_reset(statement);
    empty_model(side, table);
    written(side);
}

static char *create_sql(unsigned table) {
    const char *shape = OPTIONS[table].shape, *comma = strchr(shape, ',');
    return sqlite3_mprintf(CREATE, OPTIONS[table].name, (int)(comma - shape), shape, comma + 2,
                           OPTIONS[table].growth);
}

/* Drops a table and creates it again, in a savepoint, since the other connection may come in
 * between. */
static void create_anew(struct side *side, unsigned table) {
    /* A savepoint succeeds without a look at the file, and must not be what makes it sure. */
    if (side->in_transaction && !side->sure)
        return;
    char *create = create_sql(table);
    char *drop = sqlite3_mprintf("DROP TABLE \"%w\"", OPTIONS[table].name);
    look(side);
    if (execute(side, "SAVEPOINT anew")) {
        bool done = execute(side, drop) && execute(side, create) && execute(side, "RELEASE anew");
        if (done) {
            empty_model(side, table);
            written(side);
        } else if (!sqlite3_get_autocommit(side->database)) {
            execute(side, side->in_transaction ? "ROLLBACK TO anew; RELEASE anew" : "ROLLBACK");
        }
    }
    sqlite3_free(create);
    sqlite3_free(drop);
}

/* All that can be known of a table. */
static void audit(struct side *side, unsigned table) {
    const struct set *keys = &side->now.keys[table];
    const char *name = OPTIONS[table].name;
    look(side);
    side->asked = *keys;
    unsigned count = set_count(keys);

    sqlite3_stmt *statement = statement_of(side, table, COUNT_IN_SET);
    if (!step(side, statement, SQLITE_ROW))
        return;
    unsigned found = (unsigned)sqlite3_column_int(statement, 0);
    sqlite3_reset(statement);
    operations += count;
    expect(found == count, "%s: %s: %u of %u keys are false negatives", side->name, name,
           count - found, count);

    statement = statement_of(side, table, INFO);
    if (!step(side, statement, SQLITE_ROW))
        return;
    int layers = sqlite3_column_int(statement, 0);
    double rate = sqlite3_column_double(statement, 1);
    unsigned added = (unsigned)sqlite3_column_int(statement, 2);
    sqlite3_reset(statement);
    expect(layers >= 1, "%s: %s: %d layers", side->name, name, layers);
    if (!side->now.merged[table])
        expect(added == side->now.added[table], "%s: %s: info counts %u keys, %u were new",
               side->name, name, added, side->now.added[table]);
    if (layers == 1) {
        statement = statement_of(side, table, SAME);
        if (!step(side, statement, SQLITE_ROW))
            return;
        expect(sqlite3_column_int(statement, 0) == 1, "%s: %s: %u keys, not the bytes of bloom_agg",
               side->name, name, count);
        sqlite3_reset(statement);
        operations += count;
    } else {
        statement = statement_of(side, table, FILTER);
        int code = sqlite3_step(statement);
        sqlite3_reset(statement);
        expect(strcmp(OPTIONS[table].growth, "on") == 0 && (code & 0xff) != SQLITE_ROW,
               "%s: %s: %d layers give one filter", side->name, name, layers);
        /* Merges fill the first layer whatever it holds. */
        expect(side->now.merged[table] || rate <= OPTIONS[table].rate, "%s: %s: %d layers, fpr %g",
               side->name, name, layers, rate);
    }

    statement = statement_of(side, table, FRESH);
    sqlite3_bind_int64(statement, 1, fresh_keys());
    if (!step(side, statement, SQLITE_ROW))
        return;
    false_positives_count(&rates, 256, (unsigned)sqlite3_column_int(statement, 0), rate);
    sqlite3_reset(statement);
    operations += 256;
}

static void begin(struct side *side) {
    static const char *const BEGIN[] = {"BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s0"};
    unsigned how = random_below(3);
    if (!execute(side, BEGIN[how]))
        return;
    side->in_transaction = true;
    side->by_savepoint = how == 2;
    if (how == 1) {
        look(side);
        side->sure = true;
    }
}

static void end(struct side *side, bool commit) {
    if (commit) {
        if (!execute(side, side->by_savepoint ? "RELEASE s0" : "COMMIT"))
            return;
        if (side->wrote)
            committed = side->now;
    } else {
        expect(execute(side, "ROLLBACK"), "%s: rollback refused", side->name);
    }
    forget_transaction(side);
}

/* Savepoints within a transaction: a further one, one released, or one rolled back to, which stays.
 */
static void savepoint(struct side *side) {
    char sql[60];
    unsigned level;
    switch (random_below(3)) {
    case 0:
        if (side->depth == DEPTH_MOST)
            return;
        snprintf(sql, sizeof sql, "SAVEPOINT s%u", side->depth + 1);
        if (!execute(side, sql))
            return;
        side->depth++;
        side->before[side->depth] = side->now;
        return;
    case 1:
        if (side->depth == 0)
            return;
        level = 1 + random_below(side->depth);
        snprintf(sql, sizeof sql, "RELEASE s%u", level);
        if (execute(side, sql))
            side->depth = level - 1;
        return;
    default:
        if (side->depth == 0 && !side->by_savepoint)
            return;
        level = side->by_savepoint ? random_below(side->depth + 1) : 1 + random_below(side->depth);
        snprintf(sql, sizeof sql, "ROLLBACK TO s%u", level);
        if (execute(side, sql)) {
            side->depth = level;
            side->now = side->before[level];
        }
    }
}

static void any_step(struct side *side) {
    unsigned table = random_below(TABLES);
    bool known;
    switch (random_below(100)) {
    case 0:
        if (random_once_in(6))
            clear(side, table);
        return;
    case 1:
        if (random_once_in(6))
            create_anew(side, table);
        return;
    case 2:
        /* Not while the other one may hold a lock that lets nobody read the schema. */
        if (random_once_in(40) && !sides[side == &sides[0]].wrote) {
            close_side(side);
            open_side(side);
        }
        return;
    case 3:
        add_set(side, table, random_once_in(4));
        return;
    case 4:
        audit(side, table);
        return;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
        if (side->in_transaction)
            end(side, !random_once_in(4));
        else
            begin(side);
        return;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
        if (side->in_transaction)
            savepoint(side);
        return;
    default:
        if (random_once_in(3))
            add(side, table);
        else
            for (unsigned i = 0; i < 8; i++)
                check(side, table, random_below(UNIVERSE), &known);
    }
}

static void one_file(void) {
    static const char *const JOURNALS[] = {"delete", "truncate", "persist", "memory", "wal"};
    struct set unused;
    char sql[200];
    memset(&committed, 0, sizeof committed);
    sqlite3 *database = open_connection(file, 0, &unused);
    snprintf(sql, sizeof sql,
             "PRAGMA synchronous = off; PRAGMA page_size = %u; PRAGMA journal_mode = %s",
             512U << random_below(5), JOURNALS[random_below(5)]);
    expect(sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
           sqlite3_errmsg(database));
    for (unsigned table = 0; table < TABLES; table++) {
        char *create = create_sql(table);
        int code = sqlite3_exec(database, create, NULL, NULL, NULL);
        expect(code == SQLITE_OK, "%s: %s", create, sqlite3_errmsg(database));
        sqlite3_free(create);
    }
    sqlite3_close(database);

    for (unsigned i = 0; i < 2; i++) {
        sides[i].name = i == 0 ? "first connection" : "second connection";
        open_side(&sides[i]);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        struct side *side = &sides[random_below(2)];
        any_step(side);
        /* One that holds a lock for long keeps the other from all it does. */
        if (side->in_transaction && random_once_in(60))
            end(side, random_once_in(2));
    }
    for (unsigned i = 0; i < 2; i++)
        if (sides[i].in_transaction)
            end(&sides[i], false);
    for (unsigned table = 0; table < TABLES; table++)
        audit(&sides[table % 2], table);
    for (unsigned i = 0; i < 2; i++)
        close_side(&sides[i]);
}

void random_tables(void) {
    const char *directory = getenv("TMPDIR");
    static const char *const SUFFIXES[] = {"", "-journal", "-wal", "-shm"};
    memset(&rates, 0, sizeof rates);
    refused = 0;
    snprintf(file, sizeof file, "%s/bloom-random-%ld.db", directory ? directory : "/tmp",
             (long)getpid());
    for (unsigned round = 0; round < ROUNDS; round++) {
        one_file();
        for (unsigned i = 0; i < 4; i++) {
            char path[220];
            snprintf(path, sizeof path, "%s%s", file, SUFFIXES[i]);
            remove(path);
        }
    }
    printf("%llu statements refused because of the other connection\n",
           (unsigned long long)refused);
    false_positives_expect(&rates, 0.01, "filter tables");
}

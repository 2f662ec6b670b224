/* Every sequence of a few statements on a filter table, on each kind of database, beside an
 * ordinary table in the same transactions and connections. So SQLite itself is the oracle: what the
 * ordinary table has must be found in the filter table, and nothing else.
 *
 *     sequences_test                              every combination; the environment bounds it:
 *         STATEMENTS=3    the longest sequence
 *         RARE=1          how many of its statements may be rare ones (see the table STATEMENTS)
 *         KINDS="wal temp" SORTS="plain" STARTS="made"    only these; the start "open", with a
 *                         query under way, comes only if it is named
 *     sequences_test memdb plain empty BEGIN CREATE MANY    one sequence; TRACE=1 prints its SQL
 *
 * Each sequence gets a fresh database. After its last statement everything is checked, committed,
 * checked again, and checked once more in another connection, which sees only what was written. A
 * sequence whose last statement fails in the ordinary table, too, goes no further. One that shows a
 * fault is shortened, and printed so that it can be run again.
 *
 * It uses nothing of the extension but SQL. sequences_world.h has the databases. */
#include "sequences_statements.h"

#include <signal.h>

struct sequence {
    int length;
    unsigned char statements[LONGEST];
};
static struct sequence current; /* for whom a signal interrupts */
static long passed, failed;

static int find_statement(const char *name) {
    for (size_t i = 0; i < COUNT_OF(STATEMENTS); i++)
        if (strcmp(STATEMENTS[i].name, name) == 0)
            return (int)i;
    fatal(name, NULL);
    return -1;
}

static void print_sequence(const struct sequence *sequence) {
    printf("%s %s %s", KIND_NAMES[kind], SORT[sort].name, STARTS[start].name);
    for (int i = 0; i < sequence->length; i++)
        printf(" %s", STATEMENTS[sequence->statements[i]].name);
}

static void on_death(void) {
    print_sequence(&current);
    printf("  => ends the program\n");
    fflush(stdout);
}

static void on_signal(int number) {
    signal(number, SIG_DFL);
    on_death();
    raise(number);
}

/* Returns whether more can come after it. */
static bool run_statement(const struct statement *statement) {
    if ((statement->needs & NEEDS & ~state()) != 0)
        return false;
    if (tracing)
        printf("  %s\n", statement->name);
    const bool goes_on = statement->run(statement);
    if ((statement->needs & DISTURBS) != 0)
        run.cursor_disturbed = true;
    if ((statement->needs & (DISTURBS | DEFINES)) != 0)
        look();
    return goes_on;
}

static void run_names(const char *names) {
    char name[30];
    for (int length; sscanf(names, "%29s%n", name, &length) == 1; names += length)
        run_statement(&STATEMENTS[find_statement(name)]);
}

static void end_run(void) {
    check(run.database, "at the end");
    if (run.cursor != NULL)
        read_cursor();
    if (run.other != NULL)
        close_other();
    if (!sqlite3_get_autocommit(run.database)) {
        if (execute(run.database, "COMMIT") != SQLITE_OK)
            violate("COMMIT: %s", sqlite3_errmsg(run.database));
        look();
        check(run.database, "after COMMIT");
    }
    if (run.violation == NULL)
        check_written();
}

/* Returns what holds after the sequence, 0 if nothing more comes after it. *violation is what is
 * wrong, from sqlite3_malloc. */
static unsigned run_sequence(const struct sequence *sequence, char **violation) {
    bool goes_on = true;
    current = *sequence;
    alarm(SECONDS);
    begin_run();
    if (!STARTS[start].is_image)
        run_names(STARTS[start].statements);
    for (int i = 0; i < sequence->length && goes_on && run.violation == NULL; i++)
        goes_on = run_statement(&STATEMENTS[sequence->statements[i]]);
    const unsigned holds = goes_on ? state() : 0;
    if (goes_on && run.violation == NULL)
        end_run();
    sqlite3_finalize(run.cursor);
    run.cursor = NULL;
    if (run.other != NULL)
        close_other();
    if (run.database != NULL)
        close_run();
    *violation = run.violation;
    return holds;
}

static bool is_faulty(const struct sequence *sequence) {
    char *violation;
    run_sequence(sequence, &violation);
    sqlite3_free(violation);
    return violation != NULL;
}

/* Leaves statements out as long as the sequence shows a fault, and prints it if it is a new one. */
static void report(struct sequence sequence) {
    static struct {
        enum kind kind;
        size_t start;
        struct sequence sequence;
    } reported[REPORTED];
    static int count;
    char *violation;
    for (int i = sequence.length - 1; i >= 0 && !tracing; i--) {
        struct sequence shorter = sequence;
        shorter.length--;
        memmove(shorter.statements + i, shorter.statements + i + 1, (size_t)(shorter.length - i));
        if (is_faulty(&shorter)) {
            sequence = shorter;
            i = sequence.length;
        }
    }
    failed++;
    for (int i = 0; i < count; i++)
        if (reported[i].kind == kind && reported[i].start == start &&
            reported[i].sequence.length == sequence.length &&
            memcmp(reported[i].sequence.statements, sequence.statements, (size_t)sequence.length) ==
                0)
            return;
    if (count == REPORTED)
        return;
    reported[count].kind = kind;
    reported[count].start = start;
    reported[count++].sequence = sequence;
    run_sequence(&sequence, &violation);
    print_sequence(&sequence);
    printf("  => %s\n", violation);
    fflush(stdout);
    sqlite3_free(violation);
}

/* Runs all sequences that begin with one after which that holds. */
static void walk(const struct sequence *sequence, unsigned holds, int longest, int rare) {
    struct sequence longer = *sequence;
    char *violation;
    longer.length++;
    for (size_t i = 0; i < COUNT_OF(STATEMENTS); i++) {
        const struct statement *statement = &STATEMENTS[i];
        const bool is_rare = (statement->needs & RARE) != 0;
        if ((statement->needs & NEEDS & ~holds) != 0 || (is_rare && rare == 0))
            continue;
        longer.statements[longer.length - 1] = (unsigned char)i;
        const unsigned after = run_sequence(&longer, &violation);
        sqlite3_free(violation);
        if (violation != NULL)
            report(longer);
        else
            passed++;
        if (violation == NULL && after != 0 && longer.length < longest)
            walk(&longer, after, longest, rare - is_rare);
    }
}

/* Combinations */

static void make_image(int which) {
    sqlite3_close(images[which].database);
    sqlite3_free(images[which].bytes);
    memset(&run, 0, sizeof run);
    run.database = images[which].database = open_connection(":memory:");
    run.next = 3;
    /* NOT NULL: before 3.33 or so SQLite left rows of an INSERT that failed in a function. */
    if (execute(run.database,
                "CREATE TABLE made(name PRIMARY KEY, options); CREATE TABLE oracle(name, key NOT "
                "NULL, age DEFAULT 0); CREATE INDEX keys ON oracle(name, key); CREATE TABLE "
                "source(key NOT NULL)") != SQLITE_OK)
        fatal("the oracle", run.database);
    look();
    if (STARTS[start].is_image)
        run_names(STARTS[start].statements);
    if (which == 1)
        run_names("ONE");
    finalize_all();
    images[which].next = run.next;
    images[which].made = run.made;
    images[which].bytes = sqlite3_serialize(run.database, "main", &images[which].size, 0);
}

static void make_images(void) {
    const enum kind before = kind;
    kind = MEMORY;
    schema = "main";
    for (int which = 0; which < 2; which++)
        make_image(which);
    kind = before;
    schema = kind == TEMP ? "temp" : kind == ATTACHED ? "aux1" : "main";
}

static void make_lists(void) {
    char *end = key_list;
    for (int key = 1; key <= KEYS; key++) {
        end += sprintf(end, key == 1 ? "(%d)" : ",(%d)", key);
        key_ends[key] = (int)(end - key_list);
    }
    end = hog_list;
    for (int key = 1; key <= HOG_KEYS; key++)
        end += sprintf(end, key == 1 ? "(-%d)" : ",(-%d)", key);
}

/* The list of words has it, or there is none. */
static bool is_chosen(const char *list, const char *word) {
    const size_t length = strlen(word);
    if (list == NULL || *list == '\0')
        return true;
    for (const char *found = list; (found = strstr(found, word)) != NULL; found += length)
        if ((found == list || found[-1] == ' ') && (found[length] == ' ' || found[length] == '\0'))
            return true;
    return false;
}

static int number_of(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text == NULL ? otherwise : atoi(text);
}

static void run_combination(int count, char **names) {
    struct sequence sequence = {0, {0}};
    char *violation;
    make_images();
    for (int i = 0; i < count; i++)
        sequence.statements[sequence.length++] = (unsigned char)find_statement(names[i]);
    const unsigned holds = run_sequence(&sequence, &violation);
    sqlite3_free(violation);
    if (violation != NULL)
        report(sequence);
    else if (count > 0)
        passed++;
    else
        walk(&sequence, holds, number_of("STATEMENTS", 2), number_of("RARE", LONGEST));
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

int main(int count, char **arguments) {
    const bool one = count > 3;
    const char *starts = getenv("STARTS") != NULL ? getenv("STARTS") : "empty made begun";
    tracing = getenv("TRACE") != NULL;
    sqlite3_snprintf(sizeof folder, folder, "%s/bloom-sequences-XXXXXX",
                     access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL || count - 4 > LONGEST)
        fatal(folder, NULL);
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(on_death);
    make_lists();
    copy = open_connection(":memory:");
    for (kind = 0; kind < KINDS; kind++)
        for (sort = 0; sort < SORTS; sort++)
            for (start = 0; start < COUNT_OF(STARTS); start++)
                if (is_chosen(one ? arguments[1] : getenv("KINDS"), KIND_NAMES[kind]) &&
                    is_chosen(one ? arguments[2] : getenv("SORTS"), SORT[sort].name) &&
                    is_chosen(one ? arguments[3] : starts, STARTS[start].name))
                    run_combination(one ? count - 4 : 0, arguments + 4);
    sqlite3_close(copy);
    for (int which = 0; which < 2; which++) {
        sqlite3_close(images[which].database);
        sqlite3_free(images[which].bytes);
    }
    remove_files();
    rmdir(folder);
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed > 0;
}

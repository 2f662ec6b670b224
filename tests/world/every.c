/* Every sequence of a few statements on a filter table, on each kind of database.
 *
 *     world                     every combination; the environment bounds it:
 *         STATEMENTS=2    the longest sequence
 *         RARE=1          how many of its statements may be rare ones (see statements.c)
 *         FAULTS=16       each fault at the last statement: the larger, the more of its occasions
 *         KINDS="wal temp" SORTS="plain" STARTS="made"    only these; some come only if named
 *         CACHE_SIZE=2    pages that each connection keeps
 *     world memdb plain empty BEGIN CREATE MANY    one sequence; TRACE=1 prints its SQL
 *     SEED=1 ROUNDS=100 world random               long ones that are drawn: see random.c
 *
 * Each sequence gets a fresh database. After its last statement everything is checked, committed,
 * checked again, and checked once more in another connection, which sees only what was written. A
 * sequence whose last statement fails in the ordinary table, too, goes no further. One that shows a
 * fault is shortened, and printed so that it can be run again. MANY/read:-3 is MANY, in which the
 * third read fails and all that follow. */
#include "world.h"

#include <signal.h>
#include <unistd.h>

enum { SECONDS = 60, REPORTED = 30 };

static struct sequence current; /* for whom a signal interrupts */
static bool is_lenient;         /* what makes no sense is left out, and all goes on */
long passed, failed;

const char *from_environment(const char *name, const char *otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? text : otherwise;
}

/* ---- Names ---- */

static size_t find_statement(const char *name, size_t length) {
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        if (strlen(STATEMENT[i].name) == length && strncmp(STATEMENT[i].name, name, length) == 0)
            return i;
    fatal(name, NULL);
}

/* Reads STATEMENT or STATEMENT/FAULT:COUNT. */
static struct step read_step(const char *word) {
    const char *slash = strchr(word, '/');
    struct step step = {0, 0, 0};
    step.statement =
        (unsigned char)find_statement(word, slash == NULL ? strlen(word) : (size_t)(slash - word));
    if (slash == NULL)
        return step;
    const char *colon = strchr(slash, ':');
    while (colon != NULL && step.fault < FAULT_COUNT &&
           (strlen(FAULT[step.fault].name) != (size_t)(colon - slash - 1) ||
            strncmp(FAULT[step.fault].name, slash + 1, (size_t)(colon - slash - 1)) != 0))
        step.fault++;
    if (colon == NULL || step.fault == FAULT_COUNT)
        fatal(word, NULL);
    step.count = (short)atoi(colon + 1);
    return step;
}

static void print_sequence(const struct sequence *sequence) {
    printf("%s%s %s %s", has_small_cache ? "CACHE_SIZE=2 " : "", kind->name, sort->name,
           start->name);
    for (int i = 0; i < sequence->length; i++) {
        const struct step *step = &sequence->steps[i];
        printf(" %s", STATEMENT[step->statement].name);
        if (step->fault != 0)
            printf("/%s:%d", FAULT[step->fault].name, step->count);
    }
}

static void on_death(void) {
    print_sequence(&current);
    printf("  => ends the program\n0 passed, 1 failed\n");
    fflush(stdout);
}

static void on_signal(int number) {
    signal(number, SIG_DFL);
    on_death();
    raise(number);
}

/* ---- A sequence ---- */

/* The disk has what it had at the n-th change, and all connections are new. */
static void crash(void) {
    run_end();
    disk_crash();
    open_mine();
    look();
    check(run.mine.database, "after a crash");
}

/* Returns whether more can come after it. */
static bool run_step(const struct step *step) {
    const struct statement *statement = &STATEMENT[step->statement];
    const struct fault *fault = &FAULT[step->fault];
    if (run.has_swapped)
        look(); /* the other connection may have made tables */
    if ((statement->needs & NEEDS & ~state()) != 0)
        return false;
    if (run.next > KEYS - KEYS_OF_STATEMENT) {
        run.next = 3;
        run.repeats = true;
    }
    if (tracing)
        printf("  %s\n", statement->name);
    fault_was_met = false;
    fault_choose(fault, step->count);
    const bool goes_on = statement->run(statement);
    fault_choose(FAULT, 0);
    if ((statement->needs & DISTURBS) != 0)
        cursors_disturb();
    if ((statement->needs & UNHEARD) != 0)
        run.mine.is_unheard = !sqlite3_get_autocommit(run.mine.database);
    if (fault->is_crash && fault_was_met)
        crash();
    else if ((statement->needs & (DISTURBS | DEFINES)) != 0)
        look();
    return goes_on;
}

static void run_names(const char *names) {
    char name[30];
    for (int length; sscanf(names, "%29s%n", name, &length) == 1; names += length) {
        const struct step step = read_step(name);
        run_step(&step);
    }
}

static void end_sequence(void) {
    check(run.mine.database, "at the end");
    if (run.mine.cursor.statement != NULL)
        cursor_read(&run.mine);
    if (run.other.cursor.statement != NULL)
        cursor_read(&run.other);
    close_connection(&run.other);
    look();
    if (!sqlite3_get_autocommit(run.mine.database)) {
        if (execute(run.mine.database, "COMMIT") != SQLITE_OK)
            violate("COMMIT: %s", sqlite3_errmsg(run.mine.database));
        look();
        check(run.mine.database, "after COMMIT");
    }
    if (run.violation == NULL)
        check_written();
}

/* Returns what holds after the sequence, 0 if nothing more comes after it. *violation is what is
 * wrong, from sqlite3_malloc; *met whether its last fault came to pass. */
static unsigned run_sequence(const struct sequence *sequence, char **violation, bool *met) {
    bool goes_on = true;
    current = *sequence;
    alarm(SECONDS);
    run_begin();
    fault_was_met = false;
    if (!start->is_image)
        run_names(start->statements);
    for (int i = 0; i < sequence->length && goes_on && run.violation == NULL; i++)
        goes_on = run_step(&sequence->steps[i]) || (is_lenient && !run.is_over);
    if (met != NULL)
        *met = fault_was_met;
    const unsigned holds = goes_on ? state() : 0;
    if (goes_on && run.violation == NULL)
        end_sequence();
    run_end();
    *violation = run.violation;
    return holds;
}

static bool is_faulty(const struct sequence *sequence) {
    char *violation;
    run_sequence(sequence, &violation, NULL);
    sqlite3_free(violation);
    return violation != NULL;
}

/* Leaves statements and faults out as long as the sequence shows a fault, and prints it if it is a
 * new one. */
static void report(struct sequence sequence) {
    static char reported[REPORTED][200];
    static int count;
    char *violation;
    for (int i = sequence.length - 1; i >= 0 && !tracing; i--) {
        struct sequence shorter = sequence;
        shorter.length--;
        memmove(shorter.steps + i, shorter.steps + i + 1,
                (size_t)(shorter.length - i) * sizeof *shorter.steps);
        if (is_faulty(&shorter)) {
            sequence = shorter;
            i = sequence.length;
            continue;
        }
        shorter = sequence;
        shorter.steps[i].fault = 0;
        if (sequence.steps[i].fault != 0 && is_faulty(&shorter))
            sequence = shorter;
    }
    failed++;
    run_sequence(&sequence, &violation, NULL);
    const char *text = violation == NULL ? "nothing, the second time" : violation;
    char line[200];
    sqlite3_snprintf(sizeof line, line, "%s %d %s", kind->name, sequence.length, text);
    for (int i = 0; i < count; i++)
        if (strcmp(reported[i], line) == 0)
            count = -count - 1; /* it is known */
    if (count >= 0 && count < REPORTED) {
        strcpy(reported[count++], line);
        print_sequence(&sequence);
        printf("  => %s\n", text);
        fflush(stdout);
    } else if (count < 0) {
        count = -count - 1;
    }
    sqlite3_free(violation);
}

bool run_drawn(const struct sequence *sequence) {
    is_lenient = true;
    const bool faulty = is_faulty(sequence);
    if (faulty)
        report(*sequence);
    else
        passed++;
    return !faulty;
}

/* ---- Every sequence ---- */

static int longest, faults;

/* Returns what holds after it. */
static unsigned try(const struct sequence *sequence, bool *met) {
    char *violation;
    const unsigned after = run_sequence(sequence, &violation, met);
    sqlite3_free(violation);
    if (violation == NULL) {
        passed++;
        return after;
    }
    report(*sequence);
    return 0;
}

/* Each fault at the last statement, at one occasion after the other until there is none, with gaps
 * that grow. A disk may fail from then on, too. */
static void try_faults(struct sequence sequence) {
    struct step *last = &sequence.steps[sequence.length - 1];
    const bool has_disk = (kind->holds & (IN_FILE | IN_ATTACHED)) != 0;
    for (last->fault = 1; faults > 0 && last->fault < FAULT_COUNT; last->fault++) {
        const struct fault *fault = &FAULT[last->fault];
        bool met = !fault->is_disk || has_disk;
        for (int count = 1; met; count += 1 + count / faults) {
            last->count = (short)count;
            try(&sequence, &met);
            last->count = (short)-count;
            if (met && fault->is_disk && !fault->is_crash)
                try(&sequence, NULL);
        }
    }
}

/* Runs all sequences that begin with one after which that holds. */
static void enumerate(const struct sequence *sequence, unsigned holds, int rare) {
    struct sequence longer = *sequence;
    longer.length++;
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        const struct statement *statement = &STATEMENT[i];
        const bool is_rare = (statement->needs & RARE) != 0;
        if ((statement->needs & NEEDS & ~holds) != 0 || (is_rare && rare == 0))
            continue;
        longer.steps[longer.length - 1] = (struct step){(unsigned char)i, 0, 0};
        const unsigned after = try(&longer, NULL);
        if (after != 0)
            try_faults(longer);
        if (after != 0 && longer.length < longest)
            enumerate(&longer, after, rare - is_rare);
    }
}

static void run_combination(int count, char **words) {
    struct sequence sequence = {0, {{0, 0, 0}}};
    world_make(run_names);
    for (int i = 0; i < count; i++)
        sequence.steps[sequence.length++] = read_step(words[i]);
    if (count > 0)
        run_drawn(&sequence);
    else
        enumerate(&sequence, try(&sequence, NULL), atoi(from_environment("RARE", "100")));
}

/* The list of words has it. */
bool is_chosen(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *found = list; (found = strstr(found, word)) != NULL; found += length)
        if ((found == list || found[-1] == ' ') && (found[length] == ' ' || found[length] == '\0'))
            return true;
    return false;
}

static bool is_wanted(const char *list, const char *name, bool only_named) {
    return list == NULL ? !only_named : is_chosen(list, name);
}

static void run_every(int count, char **words) {
    const bool one = count >= 3;
    const char *kinds = one ? words[0] : getenv("KINDS"), *sorts = one ? words[1] : getenv("SORTS"),
               *starts = one ? words[2] : getenv("STARTS");
    longest = atoi(from_environment("STATEMENTS", "2"));
    faults = atoi(from_environment("FAULTS", "0"));
    for (kind = KIND; kind < KIND + KIND_COUNT; kind++)
        for (sort = SORT; sort < SORT + SORT_COUNT; sort++)
            for (start = START; start < START + START_COUNT; start++)
                if (is_wanted(kinds, kind->name, kind->only_named) &&
                    is_wanted(sorts, sort->name, false) &&
                    is_wanted(starts, start->name, start->only_named))
                    run_combination(one ? count - 3 : 0, words + 3);
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

int main(int count, char **arguments) {
    tracing = getenv("TRACE") != NULL;
    has_small_cache = getenv("CACHE_SIZE") != NULL;
    if (count - 4 > LONGEST)
        fatal("so long a sequence", NULL);
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(on_death);
    faults_install();
    world_begin();
    disk_install();
    if (count == 2 && strcmp(arguments[1], "random") == 0)
        run_random(strtoull(from_environment("SEED", "1"), NULL, 10),
                   atoi(from_environment("ROUNDS", "100")));
    else
        run_every(count - 1, arguments + 1);
    world_end();
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed > 0;
}

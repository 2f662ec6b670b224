/* What it costs to forget by age.
 *
 *     generations EXTENSION FOLDER EVENTS CSV
 *
 * Databases are made in FOLDER and removed.
 *
 * EVENTS a day, evenly, for two days; is each seen for the first time within 24 hours? Of five
 * events one repeats one of the last 20 hours. A filter table with generations=6, rotated every
 * four hours, beside an ordinary table of keys and times with an index on the times, from which
 * every hour all older than 24 hours is deleted. Both take the events of an hour in turn, 1000 to a
 * transaction; WAL, synchronous=NORMAL, a page cache of 64 MB each, keys of 17 characters. A new
 * event that the filter takes for an old one is not written. So it is taken for new when it is
 * repeated after the generation that seemed to have it is gone: the last column, of both days. CSV
 * gets a line for each hour; all else that is printed sums up the second day, when both tables have
 * their size.
 */
#include "connection.h"

enum { BATCH = 1000, HOURS = 48 };

static sqlite3 *open_database(char path[600], const char *folder, const char *name,
                              const char *extension) {
    snprintf(path, 600, "%s/generations_%s.db", folder, name);
    sqlite3 *database = open_connection(path, extension);
    run(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-64000");
    return database;
}

struct subject {
    sqlite3 *database;
    sqlite3_stmt *insert;
    char path[600];
    double time, size;             /* of the hour, in s and bytes; at its end */
    uint64_t wrong_old, wrong_new; /* new events taken for old ones, and the other way round */
};

enum { FILTER, ORDINARY, TABLES };

static bool is_repeated(uint64_t at) {
    return at > 1 && bench_mixed(at * BENCH_STEP) % 5 == 0;
}

/* The number of the event that comes as so many: its own when it is new, otherwise that of a new
 * one of the last 20 hours; its own when there was none. */
static uint64_t event_at(uint64_t at, uint64_t hourly) {
    if (!is_repeated(at))
        return at;
    uint64_t window = 20 * hourly - 100;
    uint64_t event = at - 1 - bench_mixed(at) % (at - 1 < window ? at - 1 : window);
    while (is_repeated(event))
        event++;
    return event < at ? event : at;
}

static void make_subjects(struct subject subjects[TABLES], const char *extension,
                          const char *folder, uint64_t hourly) {
    char sql[200];
    subjects[FILTER].database = open_database(subjects[FILTER].path, folder, "filter", extension);
    snprintf(sql, sizeof sql,
             "CREATE VIRTUAL TABLE t USING bloom(capacity=%llu, fpr=0.01, "
             "generations=6)",
             (unsigned long long)(4 * hourly));
    run(subjects[FILTER].database, sql);
    subjects[FILTER].insert =
        prepare(subjects[FILTER].database, "INSERT OR IGNORE INTO t(key) VALUES (?)");
    subjects[ORDINARY].database =
        open_database(subjects[ORDINARY].path, folder, "ordinary", extension);
    run(subjects[ORDINARY].database, "CREATE TABLE t(key TEXT PRIMARY KEY, at INTEGER) WITHOUT "
                                     "ROWID; CREATE INDEX t_at ON t(at)");
    subjects[ORDINARY].insert =
        prepare(subjects[ORDINARY].database, "INSERT OR IGNORE INTO t(key, at) VALUES (?1, ?2)");
}

/* The events of an hour, and what makes the table forget. */
static void pass_hour(struct subject *subject, int which, unsigned hour, uint64_t hourly) {
    char sql[200];
    double start = now();
    if (which == FILTER && hour % 4 == 0 && hour > 0)
        run(subject->database, "INSERT INTO t(t) VALUES ('rotate')");
    if (which == ORDINARY && hour >= 24) {
        snprintf(sql, sizeof sql, "DELETE FROM t WHERE at <= %u", hour - 24);
        run(subject->database, sql);
    }
    for (uint64_t i = 1; i <= hourly; i++) {
        uint64_t at = hour * hourly + i, event = event_at(at, hourly);
        if (i % BATCH == 1)
            run(subject->database, "BEGIN");
        if (which == ORDINARY)
            sqlite3_bind_int64(subject->insert, 2, hour);
        bool is_new = step_with_key(subject->insert, bench_mixed(event));
        subject->wrong_old += event == at && !is_new;
        subject->wrong_new += event != at && is_new;
        if (i % BATCH == 0 || i == hourly)
            run(subject->database, "COMMIT");
    }
    subject->time += (now() - start) / 1e9;
    subject->size =
        number(subject->database,
               "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
}

static void day(const char *extension, const char *folder, uint64_t events, const char *csv) {
    static const char *const NAMES[TABLES] = {"filter table", "ordinary table"};
    struct subject subjects[TABLES] = {{.time = 0}};
    double second_day[TABLES] = {0}, wrong = 0, new_events = 0;
    uint64_t hourly = events / 24;
    FILE *file = fopen(csv, "w");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be written\n", csv);
        exit(1);
    }
    make_subjects(subjects, extension, folder, hourly);
    fprintf(file, "hour,filter_bytes,ordinary_bytes,filter_seconds,ordinary_seconds,filter_rate\n");
    for (unsigned hour = 0; hour < HOURS; hour++) {
        uint64_t fresh = 0;
        for (uint64_t i = 1; i <= hourly; i++)
            fresh += event_at(hour * hourly + i, hourly) == hour * hourly + i;
        for (int i = 0; i < TABLES; i++) {
            subjects[i].time = 0;
            subjects[i].wrong_old = 0;
            pass_hour(&subjects[i], i, hour, hourly);
            second_day[i] += hour >= 24 ? subjects[i].time : 0;
        }
        fprintf(file, "%u,%.0f,%.0f,%.3f,%.3f,%.6f\n", hour + 1, subjects[FILTER].size,
                subjects[ORDINARY].size, subjects[FILTER].time, subjects[ORDINARY].time,
                (double)subjects[FILTER].wrong_old / (double)fresh);
        wrong += hour >= 24 ? (double)subjects[FILTER].wrong_old : 0;
        new_events += hour >= 24 ? (double)fresh : 0;
    }
    fclose(file);
    printf("## A day of %llu events\n\n| | MB | s | us an event | new events taken for old | old "
           "events taken for new |\n|---|---:|---:|---:|---:|---:|\n",
           (unsigned long long)(24 * hourly));
    for (int i = 0; i < TABLES; i++)
        printf("| %s | %.1f | %.1f | %.2f | %.3f %% | %llu |\n", NAMES[i], subjects[i].size / 1e6,
               second_day[i], 1e6 * second_day[i] / (24 * (double)hourly),
               i == FILTER ? 100 * wrong / new_events : 0.0,
               (unsigned long long)subjects[i].wrong_new);
    printf("\nAn old event is taken for new when it was taken for old by mistake at first, and so\n"
           "not written, and the generation that seemed to have it is gone.\n");
    printf("\nRatio of the ordinary table's to the filter table's: %.1f of size, %.1f of time.\n",
           subjects[ORDINARY].size / subjects[FILTER].size,
           second_day[ORDINARY] / second_day[FILTER]);
    for (int i = 0; i < TABLES; i++)
        remove_database(subjects[i].database, subjects[i].path);
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "generations EXTENSION FOLDER EVENTS CSV\n");
        return 2;
    }
    day(arguments[1], arguments[2], (uint64_t)strtod(arguments[3], NULL), arguments[4]);
    return 0;
}

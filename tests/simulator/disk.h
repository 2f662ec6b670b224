/* The disk of the simulated world: files in memory behind a VFS of SQLite, so that all that a file
 * system does follows from the seed, and is fast.
 *
 * Failures. The call of a kind that a countdown reaches fails once, or from then on, as a row of
 * the table FAILURES in disk.c says.
 *
 * Crashes. At the call that a countdown reaches, the disk keeps an image of what a crash at that
 * moment leaves, and the world goes on. disk_crash makes the image the content of the disk. When
 * the process is killed, all that was written is there. When the power goes, a file has what was
 * synced, and any of the sectors that were written since. Files are created and deleted for good at
 * once. What else hardware does is left out: the extension calls no file system, and SQLite has
 * tests of its own for that.
 */
#ifndef SIMULATOR_DISK_H
#define SIMULATOR_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum crash { CRASH_KILL, CRASH_POWER };

/* Makes the disk the VFS that SQLite takes; once. */
void disk_install(void);

/* An empty disk, and a seed for the numbers that SQLite takes for random. No file may be open. */
void disk_format(uint64_t seed);

/* A file that SQLite has not written. */
void disk_put(const char *path, const void *bytes, size_t size);

/* The call number n of the kind of a failure fails, and all after it when it is lasting. Returns
 * the name of the failure. */
const char *disk_fail(unsigned failure, unsigned n, bool lasting);
unsigned disk_failures(void); /* kinds that there are */
bool disk_forgive(void);      /* nothing fails any more; whether something did */

/* Takes all that is there for synced, and an image at the n-th call that changes something. */
void disk_watch(enum crash crash, unsigned n);

/* What the image holds is on the disk, and else nothing. Taken now when none was. No file may be
 * open. */
void disk_crash(void);

unsigned disk_open_files(void);

#endif

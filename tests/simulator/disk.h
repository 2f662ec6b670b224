/* The disk of the simulated world: files in memory behind a VFS of SQLite, so that all that a file
 * system does follows from the seed, and is fast.
 *
 *   Failures. The call of a kind that a countdown reaches fails once, or from then on, as a row of
 *   the table FAILURES in disk.c says.
 *
 *   Crashes. From disk_watch on the disk knows what was synced. At the call that the countdown
 *   reaches it keeps an image of what a crash at that moment leaves; the world goes on. disk_crash
 *   makes the image the content of the disk. When the process is killed, all that was written is
 *   there. When the power goes, a file has what was synced and any of the sectors that were written
 *   since, some of them torn, or whole sectors of garbage where writing damages what is beside; a
 *   file that was created or deleted since the last sync may be as before.
 */
#ifndef SIMULATOR_DISK_H
#define SIMULATOR_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum crash { CRASH_KILL, CRASH_POWER, CRASH_POWER_AND_LIES /* nothing was synced */ };

/* Makes the disk the VFS that SQLite takes; once. */
void disk_install(void);

/* An empty disk, and the numbers that SQLite takes for random. No file may be open. */
void disk_format(uint64_t seed, int sector_size, bool powersafe_overwrite);

/* A file that SQLite has not written. */
void disk_put(const char *path, const void *bytes, size_t size);

/* The call number n of the kind of a failure fails, and all after it when it is lasting. Returns
 * the name of the failure. */
const char *disk_fail(unsigned failure, unsigned n, bool lasting);
unsigned disk_failures(void); /* kinds that there are */
bool disk_forgive(void);      /* nothing fails any more; whether something did */
bool disk_has_failed(void);   /* since it was formatted */

/* Takes all that is there for synced, and an image at the n-th call that changes something. */
void disk_watch(enum crash crash, unsigned n);
bool disk_has_image(void);
void disk_unwatch(void);

/* What the image holds is on the disk, and else nothing. Taken now when none was. No file may be
 * open. */
void disk_crash(void);

unsigned disk_open_files(void);

#endif

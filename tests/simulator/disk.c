/* The disk: see disk.h. A file is an array of bytes that never moves. */
#include "disk.h"

#include "simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INODES = 48,
    PATH_SIZE = 200,
    SIZE_MOST = 1 << 24,
    SECTOR = 512, /* what is written whole or not, or torn */
    SECTORS = SIZE_MOST / SECTOR,
    REGIONS = 64, /* of shared memory */
    TEAR = 16     /* bytes that are never torn */
};

struct handle;

struct inode {
    char path[PATH_SIZE]; /* empty: a temporary file */
    bool used, linked;    /* linked: it has its name */
    unsigned char *bytes, *durable;
    sqlite3_int64 size, durable_size, highest; /* highest: beyond it all bytes are zeros */
    bool name_durable;    /* while the disk is watched: its name, or that it has none */
    uint8_t *dirty;       /* a byte for each sector that was written since it was synced */
    unsigned char *image; /* that a crash leaves; NULL: no file */
    sqlite3_int64 image_size;
    unsigned handles;
    unsigned shared; /* locks of handles */
    struct handle *reserved, *pending, *exclusive;
    void *regions[REGIONS];
    unsigned mapped; /* handles with shared memory */
    unsigned shm_shared[SQLITE_SHM_NLOCK];
    struct handle *shm_exclusive[SQLITE_SHM_NLOCK];
};

struct handle {
    sqlite3_file base; /* first: SQLite sees only this */
    struct inode *inode;
    int level; /* of its lock */
    bool deletes, maps;
    unsigned shm_shared, shm_exclusive; /* bits */
};

static struct inode inodes[INODES];
static int sector_size;
static bool powersafe;
static uint64_t random_state;
static bool watching, has_image;
static enum crash crash_kind;
static unsigned until_image;

static uint64_t disk_random(void) { /* SplitMix64 */
    uint64_t word = random_state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static unsigned disk_below(unsigned range) {
    return (unsigned)((disk_random() >> 32) * range >> 32);
}

/* ---- Failures ---- */

enum call { READ, WRITE, SYNC, TRUNCATE, OPEN, DELETE, ACCESS, FILE_SIZE, LOCK, SHM_MAP, SHM_LOCK };

static const struct failure {
    const char *name;
    enum call call;
    int code;
    bool half; /* is read or written nevertheless */
} FAILURES[] = {
    {"xRead: IOERR_READ", READ, SQLITE_IOERR_READ, false},
    {"xRead: IOERR_READ after half", READ, SQLITE_IOERR_READ, true},
    {"xWrite: IOERR_WRITE", WRITE, SQLITE_IOERR_WRITE, false},
    {"xWrite: IOERR_WRITE after half", WRITE, SQLITE_IOERR_WRITE, true},
    {"xWrite: FULL", WRITE, SQLITE_FULL, false},
    {"xWrite: FULL after half", WRITE, SQLITE_FULL, true},
    {"xSync: IOERR_FSYNC", SYNC, SQLITE_IOERR_FSYNC, false},
    {"xTruncate: IOERR_TRUNCATE", TRUNCATE, SQLITE_IOERR_TRUNCATE, false},
    {"xOpen: CANTOPEN", OPEN, SQLITE_CANTOPEN, false},
    {"xDelete: IOERR_DELETE", DELETE, SQLITE_IOERR_DELETE, false},
    {"xAccess: IOERR_ACCESS", ACCESS, SQLITE_IOERR_ACCESS, false},
    {"xFileSize: IOERR_FSTAT", FILE_SIZE, SQLITE_IOERR_FSTAT, false},
    {"xLock: IOERR_LOCK", LOCK, SQLITE_IOERR_LOCK, false},
    {"xLock: BUSY", LOCK, SQLITE_BUSY, false},
    {"xShmMap: IOERR_SHMMAP", SHM_MAP, SQLITE_IOERR_SHMMAP, false},
    {"xShmLock: IOERR_SHMLOCK", SHM_LOCK, SQLITE_IOERR_SHMLOCK, false},
    {"xShmLock: BUSY", SHM_LOCK, SQLITE_BUSY, false},
};

static const struct failure *failing; /* NULL when nothing is to fail */
static unsigned until_failure;
static bool fails_from_then_on, failed, has_failed;

unsigned disk_failures(void) {
    return sizeof FAILURES / sizeof *FAILURES;
}

const char *disk_fail(unsigned failure, unsigned n, bool lasting) {
    failing = &FAILURES[failure];
    until_failure = n;
    fails_from_then_on = lasting;
    failed = false;
    return failing->name;
}

bool disk_forgive(void) {
    failing = NULL;
    return failed;
}

bool disk_has_failed(void) {
    return has_failed;
}

static bool fails(enum call call) {
    if (failing == NULL || failing->call != call || until_failure == 0)
        return false;
    if (until_failure > 1) {
        until_failure--;
        return false;
    }
    failed = has_failed = true;
    if (!fails_from_then_on)
        until_failure = 0;
    return true;
}

/* ---- Files ---- */

static struct inode *inode_at(const char *path) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used && inode->linked && strcmp(inode->path, path) == 0)
            return inode;
    return NULL;
}

/* Its memory is kept for the next one. */
static void inode_free(struct inode *inode) {
    const struct inode place = {
        .bytes = inode->bytes, .durable = inode->durable, .dirty = inode->dirty};
    memset(inode->bytes, 0, (size_t)inode->highest);
    memset(inode->durable, 0, (size_t)inode->highest);
    memset(inode->dirty, 0, (size_t)(inode->highest / SECTOR + 1));
    free(inode->image);
    *inode = place;
}

/* One without a name is kept only while it may come back. */
static void inode_let_go(struct inode *inode) {
    if (inode->linked || inode->handles > 0)
        return;
    if (watching && inode->path[0] != '\0' && (!inode->name_durable || inode->image != NULL))
        return;
    inode_free(inode);
}

static struct inode *inode_create(const char *path) {
    struct inode *inode = inodes;
    for (struct inode *old = inodes; old < inodes + INODES; old++)
        if (old->used && !old->linked && strcmp(old->path, path) == 0) {
            old->name_durable = true; /* the name is of another file now */
            inode_let_go(old);
        }
    while (inode < inodes + INODES && inode->used)
        inode++;
    expect(inode < inodes + INODES, "the disk has no room for %s", path);
    if (inode->bytes == NULL) {
        inode->bytes = calloc(1, SIZE_MOST); /* what is not written takes no memory */
        inode->durable = calloc(1, SIZE_MOST);
        inode->dirty = calloc(1, SECTORS);
        expect(inode->bytes != NULL && inode->durable != NULL && inode->dirty != NULL, "no memory");
    }
    snprintf(inode->path, sizeof inode->path, "%s", path);
    inode->used = true;
    inode->linked = path[0] != '\0';
    return inode;
}

static void inode_write(struct inode *inode, const void *bytes, sqlite3_int64 count,
                        sqlite3_int64 offset) {
    if (count == 0)
        return;
    memcpy(inode->bytes + offset, bytes, (size_t)count);
    if (watching)
        for (sqlite3_int64 i = offset / SECTOR; i <= (offset + count - 1) / SECTOR; i++)
            inode->dirty[i] = 1;
    if (offset + count > inode->size)
        inode->size = offset + count;
    if (inode->size > inode->highest)
        inode->highest = inode->size;
}

/* What is behind the end is zeros. */
static void inode_truncate(struct inode *inode, sqlite3_int64 size) {
    if (size < inode->size)
        memset(inode->bytes + size, 0, (size_t)(inode->size - size));
    if (watching)
        for (sqlite3_int64 i = size / SECTOR; i <= inode->size / SECTOR; i++)
            inode->dirty[i] = 1;
    inode->size = size;
}

static void inode_sync(struct inode *inode) {
    for (sqlite3_int64 i = 0; i <= inode->highest / SECTOR; i++)
        if (inode->dirty[i]) {
            memcpy(inode->durable + i * SECTOR, inode->bytes + i * SECTOR, SECTOR);
            inode->dirty[i] = 0;
        }
    inode->durable_size = inode->size;
}

/* ---- Crashes ---- */

/* A sector that was written and not synced: as it is, as it was, torn, or garbage. */
static void sector_crash(const struct inode *inode, sqlite3_int64 i) {
    const unsigned char *now = inode->bytes + i * SECTOR, *was = inode->durable + i * SECTOR;
    unsigned char *left = inode->image + i * SECTOR;
    const unsigned how = disk_below(powersafe ? 10 : 12);
    memcpy(left, how < 5 ? now : was, SECTOR);
    if (how == 9)
        memcpy(left, now, TEAR * (size_t)disk_below(SECTOR / TEAR));
    /* What is written damages the sectors of the device that it touches. */
    const sqlite3_int64 first = i - i % (sector_size / SECTOR);
    for (int j = 0; how > 9 && j < sector_size / SECTOR; j++)
        for (int byte = 0; byte < SECTOR; byte += 8)
            memcpy(inode->image + (first + j) * SECTOR + byte, &(uint64_t){disk_random()}, 8);
}

static void inode_crash(struct inode *inode) {
    bool there = inode->linked;
    if (crash_kind != CRASH_KILL && !inode->name_durable && disk_below(2) == 0)
        there = !there;
    if (!there)
        return;
    const bool power = crash_kind != CRASH_KILL;
    inode->image_size =
        power && disk_below(2) == 0 && inode->name_durable ? inode->durable_size : inode->size;
    const sqlite3_int64 sectors = inode->image_size / SECTOR + 1;
    inode->image = calloc((size_t)(sectors + sector_size / SECTOR), SECTOR);
    expect(inode->image != NULL, "no memory");
    if (!power) {
        memcpy(inode->image, inode->bytes, (size_t)inode->image_size);
        return;
    }
    memcpy(inode->image, inode->durable, (size_t)sectors * SECTOR);
    for (sqlite3_int64 i = 0; i < sectors; i++)
        if (inode->dirty[i])
            sector_crash(inode, i);
    for (sqlite3_int64 i = inode->image_size; i < sectors * SECTOR; i++)
        inode->image[i] = 0;
}

static void take_image(void) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used && inode->path[0] != '\0')
            inode_crash(inode);
    has_image = true;
}

/* A call that changes something is about to be made. */
static bool reaches_image(void) {
    return watching && !has_image && until_image > 0 && --until_image == 0;
}

void disk_watch(enum crash crash, unsigned n) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used) {
            memcpy(inode->durable, inode->bytes, (size_t)inode->highest);
            memset(inode->dirty, 0, (size_t)(inode->highest / SECTOR + 1));
            inode->durable_size = inode->size;
            inode->name_durable = true;
        }
    watching = true;
    has_image = false;
    crash_kind = crash;
    until_image = n;
}

bool disk_has_image(void) {
    return has_image;
}

void disk_unwatch(void) {
    watching = has_image = false;
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used) {
            memset(inode->dirty, 0, (size_t)(inode->highest / SECTOR + 1));
            free(inode->image);
            inode->image = NULL;
            inode_let_go(inode);
        }
}

void disk_crash(void) {
    struct inode *inode;
    if (!has_image)
        take_image();
    for (inode = inodes; inode < inodes + INODES; inode++) {
        if (!inode->used)
            continue;
        expect(inode->handles == 0, "%s is open at a crash", inode->path);
        inode->linked = inode->image != NULL;
        if (inode->linked) {
            inode_truncate(inode, 0);
            inode_write(inode, inode->image, inode->image_size, 0);
        }
    }
    disk_unwatch();
}

/* ---- Calls of SQLite ---- */

static struct handle *handle_of(sqlite3_file *file) {
    return (struct handle *)file;
}

static int file_unlock(sqlite3_file *file, int level);
static int file_shm_unmap(sqlite3_file *file, int remove);

static int file_close(sqlite3_file *file) {
    struct handle *handle = handle_of(file);
    struct inode *inode = handle->inode;
    file_unlock(file, SQLITE_LOCK_NONE);
    file_shm_unmap(file, 0);
    inode->handles--;
    if (handle->deletes)
        inode->linked = false;
    inode_let_go(inode);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    const struct inode *inode = handle_of(file)->inode;
    const sqlite3_int64 there = inode->size > offset ? inode->size - offset : 0;
    const size_t got = there < count ? (size_t)there : (size_t)count;
    if (fails(READ)) {
        memcpy(bytes, inode->bytes + offset, failing->half ? got / 2 : 0);
        return failing->code;
    }
    memcpy(bytes, inode->bytes + offset, got);
    memset((char *)bytes + got, 0, (size_t)count - got);
    return got < (size_t)count ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct inode *inode = handle_of(file)->inode;
    const bool image = reaches_image();
    if (offset + count > SIZE_MOST)
        return SQLITE_FULL;
    if (image) {
        inode_write(inode, bytes, count / 2, offset);
        take_image();
    }
    if (fails(WRITE)) {
        if (failing->half)
            inode_write(inode, bytes, count / 2, offset);
        return failing->code;
    }
    inode_write(inode, bytes, count, offset);
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    if (reaches_image())
        take_image();
    if (fails(TRUNCATE))
        return failing->code;
    if (size < handle_of(file)->inode->size)
        inode_truncate(handle_of(file)->inode, size);
    return SQLITE_OK;
}

/* What was created and deleted before is so for good. */
static void sync_names(void) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used && inode->path[0] != '\0') {
            inode->name_durable = true;
            inode_let_go(inode);
        }
}

static int file_sync(sqlite3_file *file, int flags) {
    (void)flags;
    if (reaches_image())
        take_image();
    if (fails(SYNC))
        return failing->code;
    if (!watching || crash_kind == CRASH_POWER_AND_LIES)
        return SQLITE_OK;
    inode_sync(handle_of(file)->inode);
    sync_names();
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    if (fails(FILE_SIZE))
        return failing->code;
    *size = handle_of(file)->inode->size;
    return SQLITE_OK;
}

/* Of others than the handle. */
static bool is_others(const struct handle *holder, const struct handle *handle) {
    return holder != NULL && holder != handle;
}

static int file_lock(sqlite3_file *file, int level) {
    struct handle *handle = handle_of(file);
    struct inode *inode = handle->inode;
    if (handle->level >= level)
        return SQLITE_OK;
    if (fails(LOCK))
        return failing->code;
    if (is_others(inode->exclusive, handle))
        return SQLITE_BUSY;
    if (handle->level == SQLITE_LOCK_NONE) {
        if (is_others(inode->pending, handle))
            return SQLITE_BUSY;
        inode->shared++;
        handle->level = SQLITE_LOCK_SHARED;
    }
    if (level == SQLITE_LOCK_SHARED)
        return SQLITE_OK;
    if (is_others(inode->reserved, handle) || is_others(inode->pending, handle))
        return SQLITE_BUSY;
    inode->reserved = handle;
    handle->level = handle->level < SQLITE_LOCK_RESERVED ? SQLITE_LOCK_RESERVED : handle->level;
    if (level == SQLITE_LOCK_RESERVED)
        return SQLITE_OK;
    inode->pending = handle;
    handle->level = SQLITE_LOCK_PENDING;
    if (inode->shared > 1)
        return SQLITE_BUSY;
    inode->exclusive = handle;
    handle->level = SQLITE_LOCK_EXCLUSIVE;
    return SQLITE_OK;
}

static int file_unlock(sqlite3_file *file, int level) {
    struct handle *handle = handle_of(file);
    struct inode *inode = handle->inode;
    if (handle->level <= level)
        return SQLITE_OK;
    if (inode->reserved == handle)
        inode->reserved = NULL;
    if (inode->pending == handle)
        inode->pending = NULL;
    if (inode->exclusive == handle)
        inode->exclusive = NULL;
    if (level == SQLITE_LOCK_NONE)
        inode->shared--;
    handle->level = level;
    return SQLITE_OK;
}

static int file_reserved_lock(sqlite3_file *file, int *locked) {
    const struct inode *inode = handle_of(file)->inode;
    *locked = inode->reserved != NULL;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    (void)file, (void)operation, (void)argument;
    return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *file) {
    (void)file;
    return sector_size;
}

static int file_characteristics(sqlite3_file *file) {
    (void)file;
    return powersafe ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **memory) {
    struct handle *handle = handle_of(file);
    struct inode *inode = handle->inode;
    *memory = NULL;
    if (fails(SHM_MAP))
        return failing->code;
    expect(region < REGIONS, "shared memory of %d regions", region);
    if (!handle->maps) {
        handle->maps = true;
        inode->mapped++;
    }
    if (inode->regions[region] == NULL && extend) {
        inode->regions[region] = calloc(1, (size_t)size);
        expect(inode->regions[region] != NULL, "no memory");
    }
    *memory = inode->regions[region];
    return SQLITE_OK;
}

/* Giving a lock back does not fail: SQLite could do nothing about it. */
static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    struct handle *handle = handle_of(file);
    struct inode *inode = handle->inode;
    const bool shared = (flags & SQLITE_SHM_SHARED) != 0;
    if (flags & SQLITE_SHM_LOCK && fails(SHM_LOCK))
        return failing->code;
    for (int i = offset; i < offset + count && flags & SQLITE_SHM_LOCK; i++) {
        const unsigned own = handle->shm_shared >> i & 1;
        if (is_others(inode->shm_exclusive[i], handle) || (!shared && inode->shm_shared[i] > own))
            return SQLITE_BUSY;
    }
    for (int i = offset; i < offset + count; i++) {
        const unsigned bit = 1U << i, was = handle->shm_shared & bit;
        if (flags & SQLITE_SHM_LOCK) {
            if (shared) {
                inode->shm_shared[i] += was == 0;
                handle->shm_shared |= bit;
            } else {
                inode->shm_exclusive[i] = handle;
                handle->shm_exclusive |= bit;
            }
        } else if (shared) {
            inode->shm_shared[i] -= was != 0;
            handle->shm_shared &= ~bit;
        } else {
            if (inode->shm_exclusive[i] == handle)
                inode->shm_exclusive[i] = NULL;
            handle->shm_exclusive &= ~bit;
        }
    }
    return SQLITE_OK;
}

static void file_shm_barrier(sqlite3_file *file) {
    (void)file;
}

static int file_shm_unmap(sqlite3_file *file, int remove) {
    struct handle *handle = handle_of(file);
    struct inode *inode = handle->inode;
    (void)remove;
    if (!handle->maps)
        return SQLITE_OK;
    for (int i = 0; i < SQLITE_SHM_NLOCK; i++) {
        inode->shm_shared[i] -= handle->shm_shared >> i & 1;
        if (inode->shm_exclusive[i] == handle)
            inode->shm_exclusive[i] = NULL;
    }
    handle->shm_shared = handle->shm_exclusive = 0;
    handle->maps = false;
    if (--inode->mapped == 0)
        for (int i = 0; i < REGIONS; i++) {
            free(inode->regions[i]);
            inode->regions[i] = NULL;
        }
    return SQLITE_OK;
}

static const sqlite3_io_methods METHODS = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int disk_open(sqlite3_vfs *disk, const char *path, sqlite3_file *base, int flags,
                     int *flags_given) {
    struct handle *handle = handle_of(base);
    (void)disk;
    memset(handle, 0, sizeof *handle);
    if (fails(OPEN))
        return failing->code;
    struct inode *inode = path != NULL ? inode_at(path) : NULL;
    if (inode == NULL && path != NULL && !(flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    if (inode == NULL)
        inode = inode_create(path != NULL ? path : "");
    inode->handles++;
    handle->inode = inode;
    handle->deletes = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    base->pMethods = &METHODS;
    if (flags_given != NULL)
        *flags_given = flags;
    return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *disk, const char *path, int with_names) {
    (void)disk;
    if (reaches_image())
        take_image();
    if (fails(DELETE))
        return failing->code;
    struct inode *inode = inode_at(path);
    if (inode == NULL)
        return SQLITE_IOERR_DELETE_NOENT;
    /* One whose creation was not for good is never heard of again. */
    inode->name_durable = !inode->name_durable;
    inode->linked = false;
    if (with_names && crash_kind != CRASH_POWER_AND_LIES)
        sync_names();
    else
        inode_let_go(inode);
    return SQLITE_OK;
}

static int disk_access(sqlite3_vfs *disk, const char *path, int flags, int *result) {
    (void)disk, (void)flags;
    if (fails(ACCESS))
        return failing->code;
    *result = inode_at(path) != NULL;
    return SQLITE_OK;
}

static int disk_full_path(sqlite3_vfs *disk, const char *path, int size, char *full) {
    (void)disk;
    sqlite3_snprintf(size, full, "%s%s", path[0] == '/' ? "" : "/", path);
    return SQLITE_OK;
}

static int disk_randomness(sqlite3_vfs *disk, int count, char *bytes) {
    (void)disk;
    for (int i = 0; i < count; i++)
        bytes[i] = (char)disk_random();
    return count;
}

static int disk_sleep(sqlite3_vfs *disk, int microseconds) {
    (void)disk;
    return microseconds;
}

static int disk_time(sqlite3_vfs *disk, sqlite3_int64 *milliseconds) {
    (void)disk;
    *milliseconds = INT64_C(212660000000000); /* always the same moment of 2026 */
    return SQLITE_OK;
}

static int disk_time_of_day(sqlite3_vfs *disk, double *day) {
    sqlite3_int64 milliseconds;
    disk_time(disk, &milliseconds);
    *day = (double)milliseconds / 86400000.0;
    return SQLITE_OK;
}

static int disk_last_error(sqlite3_vfs *disk, int size, char *text) {
    (void)disk, (void)size, (void)text;
    return 0;
}

void disk_install(void) {
    static sqlite3_vfs disk = {
        .iVersion = 2,
        .szOsFile = sizeof(struct handle),
        .mxPathname = PATH_SIZE,
        .zName = "disk",
        .xOpen = disk_open,
        .xDelete = disk_delete,
        .xAccess = disk_access,
        .xFullPathname = disk_full_path,
        .xRandomness = disk_randomness,
        .xSleep = disk_sleep,
        .xCurrentTime = disk_time_of_day,
        .xGetLastError = disk_last_error,
        .xCurrentTimeInt64 = disk_time,
    };
    expect(sqlite3_vfs_register(&disk, 1) == SQLITE_OK, "no disk");
}

unsigned disk_open_files(void) {
    unsigned count = 0;
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        count += inode->handles;
    return count;
}

void disk_format(uint64_t seed, int sector, bool powersafe_overwrite) {
    expect(disk_open_files() == 0, "%u files are open", disk_open_files());
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used)
            inode_free(inode);
    watching = has_image = has_failed = false;
    random_state = seed;
    sector_size = sector;
    powersafe = powersafe_overwrite;
    sqlite3_randomness(0, NULL); /* asks the disk for a seed anew */
}

void disk_put(const char *path, const void *bytes, size_t size) {
    inode_write(inode_create(path), bytes, (sqlite3_int64)size, 0);
}

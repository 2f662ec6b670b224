/* The disk: files in memory behind a VFS of SQLite, so that all that a file system does is known,
 * and is fast.
 *
 * Failures. The call of a kind that a countdown reaches fails once, or from then on, as a row of
 * the table DISK_FAILURE says.
 *
 * Crashes. At the call that a countdown reaches, the disk keeps an image of what a crash at that
 * moment leaves, and the world goes on. disk_crash makes the image the content of the disk. When
 * the process is killed, all that was written is there. When the power goes, a file has what was
 * synced, and any of the sectors that were written since. Files are created and deleted for good at
 * once. What else hardware does is left out: the extension calls no file system, and SQLite has
 * tests of its own for that.
 */
#include "world.h"

#include "../runner/random.h"

enum {
    INODES = 48,
    PATH_SIZE = 200,
    SIZE_MOST = 1 << 26,
    SECTOR = 512, /* what a loss of power leaves whole or not at all */
    REGIONS = 64  /* of shared memory */
};

struct bytes {
    unsigned char *at; /* NULL until something is written */
    sqlite3_int64 size;
};

struct inode {
    char path[PATH_SIZE]; /* empty: a temporary file */
    bool used, linked;    /* linked: it has its name */
    struct bytes now, synced;
    struct bytes image; /* that a crash leaves */
    struct handle *handles;
    void *regions[REGIONS];
};

struct handle {
    sqlite3_file base; /* first: SQLite sees only this */
    struct inode *inode;
    struct handle *next; /* of the file */
    int level;           /* of its lock */
    bool deletes, maps;
    unsigned shm_shared, shm_exclusive; /* locks on shared memory, as bits */
};

static struct inode inodes[INODES];
static bool watching, has_image;
static bool loses_power; /* in the crash, or else the process is killed */
static int until_image;
static uint64_t random_state;

/* ---- Failures ---- */

static void expect(bool holds, const char *what) {
    if (!holds)
        fatal(what, NULL);
}

enum call { READ, WRITE, SYNC, TRUNCATE, OPEN, DELETE, ACCESS, FILE_SIZE, LOCK, SHM_MAP, SHM_LOCK };

const struct disk_failure DISK_FAILURE[] = {
    {"read", READ, SQLITE_IOERR_READ},
    {"write", WRITE, SQLITE_IOERR_WRITE}, /* after half of it, as the next one */
    {"write_full", WRITE, SQLITE_FULL},
    {"sync", SYNC, SQLITE_IOERR_FSYNC},
    {"truncate", TRUNCATE, SQLITE_IOERR_TRUNCATE},
    {"open", OPEN, SQLITE_CANTOPEN},
    {"delete", DELETE, SQLITE_IOERR_DELETE},
    {"access", ACCESS, SQLITE_IOERR_ACCESS},
    {"file_size", FILE_SIZE, SQLITE_IOERR_FSTAT},
    {"lock", LOCK, SQLITE_IOERR_LOCK},
    {"lock_busy", LOCK, SQLITE_BUSY},
    {"shm_map", SHM_MAP, SQLITE_IOERR_SHMMAP},
    {"shm_lock", SHM_LOCK, SQLITE_IOERR_SHMLOCK},
    {"shm_busy", SHM_LOCK, SQLITE_BUSY},
};
const size_t DISK_FAILURE_COUNT = COUNT_OF(DISK_FAILURE);

static const struct disk_failure *failing; /* NULL when nothing is to fail */
static int until_failure;
static bool fails_from_then_on, has_failed;

void disk_fail(const struct disk_failure *failure, int n, bool lasting) {
    failing = failure;
    until_failure = n;
    fails_from_then_on = lasting;
    has_failed = false;
}

bool disk_forgive(void) {
    failing = NULL;
    return has_failed;
}

static bool fails(enum call call) {
    if (failing == NULL || failing->call != (int)call || until_failure == 0)
        return false;
    if (--until_failure > 0)
        return false;
    until_failure = fails_from_then_on;
    return has_failed = true;
}

/* ---- Files ---- */

static struct inode *inode_at(const char *path) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used && inode->linked && strcmp(inode->path, path) == 0)
            return inode;
    return NULL;
}

static void clear(struct bytes *bytes) {
    free(bytes->at);
    *bytes = (struct bytes){NULL, 0};
}

/* What comes to be is zeros. */
static void resize(struct bytes *bytes, sqlite3_int64 size) {
    bytes->at = realloc(bytes->at, (size_t)size + 1);
    expect(bytes->at != NULL, "memory of the disk");
    if (size > bytes->size)
        memset(bytes->at + bytes->size, 0, (size_t)(size - bytes->size));
    bytes->size = size;
}

/* A file without a name goes, unless a crash may bring it back. */
static void inode_let_go(struct inode *inode) {
    if (inode->linked || inode->handles != NULL || inode->image.at != NULL)
        return;
    clear(&inode->now);
    clear(&inode->synced);
    inode->used = false;
}

static struct inode *inode_create(const char *path) {
    struct inode *inode = inodes;
    while (inode < inodes + INODES && inode->used)
        inode++;
    expect(inode < inodes + INODES, path);
    snprintf(inode->path, sizeof inode->path, "%s", path);
    inode->used = true;
    inode->linked = path[0] != '\0';
    resize(&inode->now, 0);
    return inode;
}

static void inode_write(struct inode *inode, const void *bytes, sqlite3_int64 count,
                        sqlite3_int64 offset) {
    if (offset + count > inode->now.size)
        resize(&inode->now, offset + count);
    memcpy(inode->now.at + offset, bytes, (size_t)count);
}

static void inode_sync(struct inode *inode) {
    resize(&inode->synced, inode->now.size);
    memcpy(inode->synced.at, inode->now.at, (size_t)inode->now.size);
}

/* ---- Crashes ---- */

static bool disk_flips_coin(void) {
    return random_next(&random_state) & 1;
}

static void inode_crash(struct inode *inode) {
    resize(&inode->image, loses_power && disk_flips_coin() ? inode->synced.size : inode->now.size);
    for (sqlite3_int64 at = 0; at < inode->image.size; at += SECTOR) {
        const struct bytes *from = loses_power && disk_flips_coin() ? &inode->synced : &inode->now;
        const sqlite3_int64 end = from->size < inode->image.size ? from->size : inode->image.size;
        if (at < end)
            memcpy(inode->image.at + at, from->at + at,
                   (size_t)(end - at < SECTOR ? end - at : SECTOR));
    }
}

static void take_image(void) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used && inode->linked)
            inode_crash(inode);
    has_image = true;
}

/* Counts down before each call that changes the disk. True when the crash comes at this call. */
static bool is_crash(void) {
    return watching && !has_image && --until_image == 0;
}

void disk_watch(bool power, int n) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used)
            inode_sync(inode);
    watching = true;
    has_image = false;
    loses_power = power;
    until_image = n;
}

bool disk_watched(void) {
    const bool taken = has_image;
    if (!taken)
        watching = false;
    return taken;
}

void disk_crash(void) {
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++) {
        if (!inode->used)
            continue;
        expect(inode->handles == NULL, inode->path);
        inode->linked = inode->image.at != NULL;
        clear(&inode->now);
        inode->now = inode->image;
        inode->image = (struct bytes){NULL, 0};
        inode_let_go(inode);
    }
    watching = has_image = false;
}

/* ---- Calls of SQLite ---- */

static struct handle *handle_of(sqlite3_file *file) {
    return (struct handle *)file;
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    const struct inode *inode = handle_of(file)->inode;
    if (fails(READ))
        return failing->code;
    const sqlite3_int64 there = inode->now.size > offset ? inode->now.size - offset : 0;
    const size_t got = there < count ? (size_t)there : (size_t)count;
    if (got > 0)
        memcpy(bytes, inode->now.at + offset, got);
    memset((char *)bytes + got, 0, (size_t)count - got);
    return got < (size_t)count ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct inode *inode = handle_of(file)->inode;
    const bool crashes_now = is_crash(), fails_now = fails(WRITE);
    if (offset + count > SIZE_MOST)
        return SQLITE_FULL;
    if (crashes_now || fails_now)
        inode_write(inode, bytes, count / 2, offset);
    if (crashes_now)
        take_image();
    if (fails_now)
        return failing->code;
    inode_write(inode, bytes, count, offset);
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    if (is_crash())
        take_image();
    if (fails(TRUNCATE))
        return failing->code;
    if (size < handle_of(file)->inode->now.size)
        resize(&handle_of(file)->inode->now, size);
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags) {
    (void)flags;
    if (is_crash())
        take_image();
    if (fails(SYNC))
        return failing->code;
    if (watching)
        inode_sync(handle_of(file)->inode);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    if (fails(FILE_SIZE))
        return failing->code;
    *size = handle_of(file)->inode->now.size;
    return SQLITE_OK;
}

/* The highest lock that others have on the file. */
static int level_of_others(const struct handle *handle) {
    int level = SQLITE_LOCK_NONE;
    for (const struct handle *other = handle->inode->handles; other != NULL; other = other->next)
        if (other != handle && other->level > level)
            level = other->level;
    return level;
}

static int file_lock(sqlite3_file *file, int level) {
    struct handle *handle = handle_of(file);
    const int others = level_of_others(handle);
    if (handle->level >= level)
        return SQLITE_OK;
    if (fails(LOCK))
        return failing->code;
    if (others >= (level == SQLITE_LOCK_SHARED ? SQLITE_LOCK_PENDING : SQLITE_LOCK_RESERVED))
        return SQLITE_BUSY;
    if (level == SQLITE_LOCK_EXCLUSIVE && others > SQLITE_LOCK_NONE) {
        handle->level = SQLITE_LOCK_PENDING; /* no further reader comes */
        return SQLITE_BUSY;
    }
    handle->level = level;
    return SQLITE_OK;
}

static int file_unlock(sqlite3_file *file, int level) {
    struct handle *handle = handle_of(file);
    if (handle->level > level)
        handle->level = level;
    return SQLITE_OK;
}

static int file_reserved_lock(sqlite3_file *file, int *locked) {
    const struct handle *handle = handle_of(file);
    *locked =
        handle->level >= SQLITE_LOCK_RESERVED || level_of_others(handle) >= SQLITE_LOCK_RESERVED;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    (void)file, (void)operation, (void)argument;
    return SQLITE_NOTFOUND;
}

static int file_characteristics(sqlite3_file *file) {
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **memory) {
    struct handle *handle = handle_of(file);
    void **place = &handle->inode->regions[region];
    *memory = NULL;
    if (fails(SHM_MAP))
        return failing->code;
    expect(region < REGIONS, "shared memory");
    handle->maps = true;
    if (*place == NULL && extend) {
        *place = calloc(1, (size_t)size);
        expect(*place != NULL, "shared memory");
    }
    *memory = *place;
    return SQLITE_OK;
}

/* Giving a lock back does not fail: SQLite could do nothing about it. */
static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    struct handle *handle = handle_of(file);
    const bool shared = (flags & SQLITE_SHM_SHARED) != 0;
    const unsigned bits = ((1U << count) - 1) << offset;
    unsigned *own = shared ? &handle->shm_shared : &handle->shm_exclusive;
    if (flags & SQLITE_SHM_UNLOCK) {
        *own &= ~bits;
        return SQLITE_OK;
    }
    if (fails(SHM_LOCK))
        return failing->code;
    for (const struct handle *other = handle->inode->handles; other != NULL; other = other->next)
        if (other != handle &&
            ((other->shm_exclusive | (shared ? 0 : other->shm_shared)) & bits) != 0)
            return SQLITE_BUSY;
    *own |= bits;
    return SQLITE_OK;
}

static void file_shm_barrier(sqlite3_file *file) {
    (void)file;
}

static int file_shm_unmap(sqlite3_file *file, int remove) {
    struct handle *handle = handle_of(file);
    struct inode *inode = handle->inode;
    (void)remove;
    handle->shm_shared = handle->shm_exclusive = 0;
    handle->maps = false;
    for (const struct handle *other = inode->handles; other != NULL; other = other->next)
        if (other->maps)
            return SQLITE_OK;
    for (int i = 0; i < REGIONS; i++) {
        free(inode->regions[i]);
        inode->regions[i] = NULL;
    }
    return SQLITE_OK;
}

static int file_close(sqlite3_file *file) {
    struct handle *handle = handle_of(file), **at = &handle->inode->handles;
    file_shm_unmap(file, 0);
    while (*at != handle)
        at = &(*at)->next;
    *at = handle->next;
    if (handle->deletes)
        handle->inode->linked = false;
    inode_let_go(handle->inode);
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
    if (inode == NULL && path != NULL &&
        (!(flags & SQLITE_OPEN_CREATE) || strcmp(path, "/missing") == 0))
        return SQLITE_CANTOPEN;
    if (inode == NULL)
        inode = inode_create(path != NULL ? path : "");
    *handle = (struct handle){.base = {&METHODS},
                              .inode = inode,
                              .next = inode->handles,
                              .deletes = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
    inode->handles = handle;
    if (flags_given != NULL)
        *flags_given = flags;
    return SQLITE_OK;
}

/* The journal of a commit of several files ends in the name of another one. If it is left and that
 * is deleted, SQLite 3.31 to 3.53 do not roll back the next change of the file, which is written
 * over its beginning. So it never fails to be deleted here, and no journal is truncated instead. */
static bool names_super_journal(const struct inode *inode) {
    static const unsigned char END[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    const sqlite3_int64 before = inode->now.size - (sqlite3_int64)sizeof END;
    return before > 0 && memcmp(inode->now.at + before, END, sizeof END) == 0;
}

static int disk_delete(sqlite3_vfs *disk, const char *path, int with_names) {
    (void)disk, (void)with_names;
    struct inode *inode = inode_at(path);
    if (is_crash())
        take_image();
    if ((inode == NULL || !names_super_journal(inode)) && fails(DELETE))
        return failing->code;
    if (inode == NULL)
        return SQLITE_IOERR_DELETE_NOENT;
    inode->linked = false;
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
        bytes[i] = (char)random_next(&random_state);
    return count;
}

static int disk_sleep(sqlite3_vfs *disk, int microseconds) {
    (void)disk;
    return microseconds;
}

static int disk_time(sqlite3_vfs *disk, double *day) {
    (void)disk;
    *day = 2461300.5; /* always the same moment of 2026 */
    return SQLITE_OK;
}

void disk_install(void) {
    static sqlite3_vfs disk = {
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = PATH_SIZE,
        .zName = "disk",
        .xOpen = disk_open,
        .xDelete = disk_delete,
        .xAccess = disk_access,
        .xFullPathname = disk_full_path,
        .xRandomness = disk_randomness,
        .xSleep = disk_sleep,
        .xCurrentTime = disk_time,
    };
    expect(sqlite3_vfs_register(&disk, 1) == SQLITE_OK, "no disk");
}

void disk_format(void) {
    watching = has_image = false;
    for (struct inode *inode = inodes; inode < inodes + INODES; inode++)
        if (inode->used) {
            expect(inode->handles == NULL, inode->path);
            clear(&inode->image);
            inode->linked = false;
            inode_let_go(inode);
        }
    random_state = 1;
    sqlite3_randomness(0, NULL); /* asks the disk for a seed again */
}

void disk_put(const char *path, const void *bytes, size_t size) {
    inode_write(inode_create(path), bytes, (sqlite3_int64)size, 0);
}

/*
 * file_vfs.c - see file_vfs.h; https://www.sqlite.org/c3ref/io_methods.html.
 *
 * SQLite finds a VFS by its name, in a list of the process; but once a database is
 * open, it keeps a pointer. So each database has a VFS of its own, which is in the list
 * only while it is being opened, under a name made of its address: there is no global
 * state, nothing is left when this code is unloaded, and no other copy of it in the
 * process is in the way.
 */
#include "db/file_vfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECTOR       4096              /* bytes */
#define JULIAN_EPOCH 210866760000000LL /* milliseconds from the Julian epoch to 1970 */

struct file {
	sqlite3_file base; /* first: SQLite knows no more of it */
	struct file_vfs *vfs;
};

static struct file_vfs *vfs_of(sqlite3_file *base)
{
	return ((struct file *)base)->vfs;
}

/* A call has failed: @code tells SQLite, which may make something else of it. */
static int failed(sqlite3_file *base, int code)
{
	vfs_of(base)->errnum = errno;
	return errno == ENOMEM ? SQLITE_IOERR_NOMEM : code;
}

/* --- the file --- */

static int file_close(sqlite3_file *base)
{
	(void)base;
	return SQLITE_OK;
}

/* What lies beyond the end is zero, says SQLite, and is to be told. */
static int file_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 at)
{
	char *to = bytes;
	int left = count;

	while (left > 0) {
		ssize_t got = pread(vfs_of(base)->fd, to, (size_t)left, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return failed(base, SQLITE_IOERR_READ);
		if (got == 0)
			break;
		to += got;
		at += got;
		left -= (int)got;
	}
	memset(to, 0, (size_t)left);
	return left ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 at)
{
	const char *from = bytes;
	int left = count;

	while (left > 0) {
		ssize_t put = pwrite(vfs_of(base)->fd, from, (size_t)left, at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return failed(base, errno == ENOSPC || errno == EDQUOT
			                            ? SQLITE_FULL
			                            : SQLITE_IOERR_WRITE);
		from += put;
		at += put;
		left -= (int)put;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	int code;

	do {
		code = ftruncate(vfs_of(base)->fd, size);
	} while (code != 0 && errno == EINTR);
	return code == 0 ? SQLITE_OK : failed(base, SQLITE_IOERR_TRUNCATE);
}

/* Who publishes the file syncs it, once. */
static int file_sync(sqlite3_file *base, int flags)
{
	(void)base;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
	struct stat status;

	if (fstat(vfs_of(base)->fd, &status) != 0)
		return failed(base, SQLITE_IOERR_FSTAT);
	*size = status.st_size;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level)
{
	(void)base;
	(void)level;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *reserved)
{
	(void)base;
	*reserved = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int what, void *payload)
{
	(void)base;
	(void)what;
	(void)payload;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
	(void)base;
	return SECTOR;
}

static int file_characteristics(sqlite3_file *base)
{
	return vfs_of(base)->use == FILE_READ ? SQLITE_IOCAP_IMMUTABLE
	                                      : SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
        .iVersion = 1,
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_lock,
        .xCheckReservedLock = file_is_reserved,
        .xFileControl = file_control,
        .xSectorSize = file_sector,
        .xDeviceCharacteristics = file_characteristics,
};

/* --- the VFS --- */

static int vfs_open(sqlite3_vfs *base, const char *name, sqlite3_file *out, int flags, int *given)
{
	struct file_vfs *vfs = base->pAppData;

	out->pMethods = NULL;
	if (!name || !(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	((struct file *)out)->vfs = vfs;
	out->pMethods = &methods;
	if (given)
		*given = vfs->use == FILE_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_OK;
}

/* There is no other file, such as a journal. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *found)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*found = 0;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
	(void)vfs;
	return snprintf(out, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_random(sqlite3_vfs *vfs, int count, char *out)
{
	(void)vfs;
	return getrandom(out, (size_t)count, GRND_NONBLOCK) == count ? count : 0;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	return microseconds; /* nobody is ever waited for */
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
	struct timespec now;

	(void)vfs;
	clock_gettime(CLOCK_REALTIME, &now);
	*out = JULIAN_EPOCH + (sqlite3_int64)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	return SQLITE_OK;
}

/* What sqlite3_system_errno() will tell. */
static int vfs_last_error(sqlite3_vfs *vfs, int room, char *out)
{
	(void)vfs;
	(void)room;
	(void)out;
	return errno;
}

static const sqlite3_vfs all_of_them = {
        .iVersion = 2,
        .szOsFile = sizeof(struct file),
        .mxPathname = 32,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_name,
        .xRandomness = vfs_random,
        .xSleep = vfs_sleep,
        .xGetLastError = vfs_last_error,
        .xCurrentTimeInt64 = vfs_time,
};

int file_vfs_open(struct file_vfs *vfs, int fd, enum file_use use, sqlite3 **db)
{
	/* In a cache that is shared, databases are told apart by name: ours have none. */
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE |
	            (use == FILE_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
	int code;

	*db = NULL;
	*vfs = (struct file_vfs){.base = all_of_them, .fd = fd, .use = use};
	snprintf(vfs->name, sizeof(vfs->name), "entrydb-%p", (void *)vfs);
	vfs->base.zName = vfs->name;
	vfs->base.pAppData = vfs;
	code = sqlite3_vfs_register(&vfs->base, 0);
	if (code != SQLITE_OK)
		return code;
	code = sqlite3_open_v2("file", db, flags, vfs->name);
	sqlite3_vfs_unregister(&vfs->base);
	return code;
}

/*
 * file_vfs.c - an SQLite VFS on one open descriptor; https://www.sqlite.org/c3ref/io_methods.html.
 *
 * SQLite opens files by name, and a name can lead to another file than the one checked a moment
 * before. This VFS lets SQLite read or write the one file behind a descriptor and nothing else: no
 * second file (journal, WAL, temporary file) is opened, no lock taken, nothing removed.
 *
 * The caller owns the descriptor and closes it after the database. It should be above 2 and not in
 * append mode.
 *
 * SQLite looks up a VFS by name in a process-wide list, but an open database keeps a pointer to it.
 * So each database has its own VFS, which is registered only while the database is being opened,
 * under a name made from its address: there is no global state, nothing remains when this code is
 * unloaded, and several copies of it in a process do not collide. Methods unrelated to files, such
 * as the clock, are those of SQLite's "unix" VFS.
 */
#include "db/sql.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/libc.h"

struct file {
	sqlite3_file base; /* must be first: the part that SQLite knows */
	struct file_vfs *vfs;
};

static struct file_vfs *vfs_of(sqlite3_file *base)
{
	return ((struct file *)base)->vfs;
}

/* Report a failed call to SQLite, and keep errno, since SQLite may turn @code into another. */
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

/* SQLite requires zeros beyond the end, and SQLITE_IOERR_SHORT_READ. */
static int file_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 at)
{
	size_t done = 0, size = (size_t)count;
	ssize_t got = 1;

	for (; done < size && got > 0; done += (size_t)got) {
		got = TEMP_FAILURE_RETRY(pread(vfs_of(base)->fd, (char *)bytes + done, size - done,
		                               at + (sqlite3_int64)done));
		if (got < 0)
			return failed(base, SQLITE_IOERR_READ);
	}
	memset((char *)bytes + done, 0, size - done);
	return done < size ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 at)
{
	size_t size = (size_t)count;
	ssize_t put;

	for (size_t done = 0; done < size; done += (size_t)put) {
		put = TEMP_FAILURE_RETRY(pwrite(vfs_of(base)->fd, (const char *)bytes + done,
		                                size - done, at + (sqlite3_int64)done));
		if (put < 0)
			return failed(base, errno == ENOSPC || errno == EDQUOT
			                            ? SQLITE_FULL
			                            : SQLITE_IOERR_WRITE);
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	return TEMP_FAILURE_RETRY(ftruncate(vfs_of(base)->fd, size)) == 0
	               ? SQLITE_OK
	               : failed(base, SQLITE_IOERR_TRUNCATE);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
	struct stat status;

	if (fstat(vfs_of(base)->fd, &status) != 0)
		return failed(base, SQLITE_IOERR_FSTAT);
	*size = status.st_size;
	return SQLITE_OK;
}

/* No locks: the file is either private or immutable. No sync: the publisher syncs it once. */
static int do_nothing(sqlite3_file *base, int how)
{
	(void)base;
	(void)how;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *reserved)
{
	*reserved = 0;
	return do_nothing(base, 0);
}

static int file_control(sqlite3_file *base, int what, void *payload)
{
	(void)base;
	(void)what;
	(void)payload;
	return SQLITE_NOTFOUND;
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
        .xSync = do_nothing,
        .xFileSize = file_size,
        .xLock = do_nothing,
        .xUnlock = do_nothing,
        .xCheckReservedLock = file_is_reserved,
        .xFileControl = file_control,
        .xDeviceCharacteristics = file_characteristics,
};

/* --- the VFS --- */

static int vfs_open(sqlite3_vfs *base, const char *name, sqlite3_file *out, int flags, int *given)
{
	struct file_vfs *vfs = (struct file_vfs *)base;

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

/* No other file, such as a journal, ever exists. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *found)
{
	*found = 0;
	return vfs_delete(vfs, name, flags);
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
	(void)vfs;
	return snprintf(out, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

int file_vfs_open(struct file_vfs *vfs, int fd, enum file_use use, sqlite3 **db)
{
	/* A shared cache distinguishes databases by name: ours have none. */
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE |
	            (use == FILE_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
	const sqlite3_vfs *unix_vfs = sqlite3_vfs_find("unix");
	int code;

	*db = NULL;
	if (!unix_vfs)
		return SQLITE_ERROR;
	*vfs = (struct file_vfs){.base = *unix_vfs, .fd = fd, .use = use};
	snprintf(vfs->name, sizeof(vfs->name), "entrydb-%p", (void *)vfs);
	vfs->base.pNext = NULL;
	vfs->base.zName = vfs->name;
	vfs->base.szOsFile = sizeof(struct file);
	vfs->base.mxPathname = sizeof(vfs->name);
	vfs->base.xOpen = vfs_open;
	vfs->base.xDelete = vfs_delete;
	vfs->base.xAccess = vfs_access;
	vfs->base.xFullPathname = vfs_full_name;
	code = sqlite3_vfs_register(&vfs->base, 0);
	if (code != SQLITE_OK)
		return code;
	code = sqlite3_open_v2("file", db, flags, vfs->name);
	sqlite3_vfs_unregister(&vfs->base);
	return code;
}

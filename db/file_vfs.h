/*
 * file_vfs.h - SQLite on a descriptor that is open already.
 *
 * SQLite opens files by name. A name can lead to another file than the one that was
 * checked a moment before; a descriptor cannot. So this VFS gives SQLite what it
 * needs to read or write the one file, and nothing else: no second file (journals,
 * WAL, temporary files) is ever opened, no lock taken, nothing removed.
 *
 * The descriptor stays the caller's, who closes it after the database. It should be
 * above 2, and must not be appended to.
 */
#ifndef DB_FILE_VFS_H
#define DB_FILE_VFS_H

#include <sqlite3.h>

enum file_use {
	FILE_READ,  /* a file that never changes: SQLite looks at it once */
	FILE_WRITE, /* one that nobody else sees: for journal_mode OFF, temp_store MEMORY */
};

/* Must stay where it is for as long as the database is open. */
struct file_vfs {
	sqlite3_vfs base; /* first: SQLite knows no more of it */
	char name[32];
	int fd;
	enum file_use use;
	int errnum; /* of a system call that failed; what SQLite says since may follow from it */
};

/*
 * Open a database on @fd; an SQLite code. As with sqlite3_open_v2(), *@db may have to
 * be closed after a failure, too. For one thread at a time.
 */
int file_vfs_open(struct file_vfs *vfs, int fd, enum file_use use, sqlite3 **db);

#endif

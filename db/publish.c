/*
 * publish.c - replaces one database file by another. Every step that can fail is checked before the
 * rename, which cannot be undone.
 */
#include "db/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/libc.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"

#define LOCK_RETRY  10 /* milliseconds between two tries */
#define TICK_MAX    2  /* seconds: the longest tick of a file system's clock */
#define COPY_CHUNK  ((size_t)1 << 30)
#define COPY_BUFFER ((size_t)1 << 16)

/* --- names in the directory --- */

/* A name that is too long is truncated, and then still too long for the file system. */
struct sibling {
	char name[NAME_MAX + 16];
};

static struct sibling sibling(const struct publication *publication, const char *suffix)
{
	struct sibling it;

	snprintf(it.name, sizeof(it.name), "%s%s", publication->name, suffix);
	return it;
}

/* Is @fd the file @name? */
static bool is_named(const struct publication *publication, const char *name, int fd)
{
	struct stat named, open;

	return fstatat(publication->directory_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &open) == 0 && safe_same_file(&named, &open);
}

/* Remove the file or empty directory @name. */
static int clear_name(const struct publication *publication, const char *name)
{
	int directory = publication->directory_fd;

	if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR ? unlinkat(directory, name, AT_REMOVEDIR) : -1;
}

static int open_directory(struct publication *publication, const char *path, const char *sysroot,
                          enum safe_create create, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = path_parent(path);

	*publication = PUBLICATION_INIT;
	publication->path = strdup(path);
	if (!directory || !publication->path)
		return error_nomem(error);
	publication->name = path_base(slice_of(publication->path)).ptr;
	return safe_directory_open(directory, sysroot, create, &publication->directory_fd, error);
}

/* --- the lock --- */

enum turn {
	TURN_NONE, /* no waiting writer is known: keep trying */
	TURN_OURS,
	TURN_TAKEN, /* another writer waits to do the same work */
};

/* The byte of the lock file that identifies @work; files are far shorter than 2^62. */
static struct flock byte_of(uint64_t work, short type)
{
	return (struct flock){
	        .l_type = type,
	        .l_whence = SEEK_SET,
	        .l_start = (off_t)(work >> 2),
	        .l_len = 1,
	};
}

/*
 * Only a conflicting lock on exactly this byte counts: where flock() locks all bytes, as on NFS,
 * the first writer's lock conflicts too, and that writer has already begun.
 */
static enum turn take_turn(int fd, uint64_t work)
{
	struct flock wanted = byte_of(work, F_WRLCK), found = wanted;

	if (work == 0)
		return TURN_NONE;
	if (fcntl(fd, F_OFD_SETLK, &wanted) == 0)
		return TURN_OURS;
	if ((errno != EAGAIN && errno != EACCES) || fcntl(fd, F_OFD_GETLK, &found) != 0)
		return TURN_NONE;
	return found.l_type != F_UNLCK && found.l_start == wanted.l_start && found.l_len == 1
	               ? TURN_TAKEN
	               : TURN_NONE;
}

/*
 * Mode 0600: any process that can open a lock file can hold the lock. So could the owner of another
 * user's file, forever, or who moved one there; and two writers that removed such a file at once
 * could remove each other's. Some file systems know no modes.
 */
static int open_lock(struct publication *publication, struct error *error)
{
	CLEANUP(cleanup_close)
	int fd = safe_open_file(publication->directory_fd, sibling(publication, ".lock").name,
	                        O_RDWR | O_CREAT | O_NONBLOCK, 0600);
	struct stat status, above;

	if (fd < 0 || fstat(fd, &status) != 0 || fstat(publication->directory_fd, &above) != 0)
		return error_errno(error, errno, "cannot open %s.lock", publication->path);
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    (status.st_mode & 077 && trust_is_writable(publication->directory_fd, &above)))
		return error_set(error, ERROR_PERMISSION,
		                 "%s.lock is not a regular file that only you can open; delete it",
		                 publication->path);
	publication->lock_fd = take_fd(&fd);
	return 0;
}

static int give_up(const struct publication_wait *wait, const char *path, struct error *error)
{
	return error_set(error, ERROR_BUSY,
	                 "%s: another writer has held the lock for %d ms; try again when it has "
	                 "finished",
	                 path, wait->timeout);
}

static int pause_for_lock(const struct publication_wait *wait, const char *path, int *waited,
                          struct error *error)
{
	struct timespec pause = {.tv_nsec = LOCK_RETRY * 1000000L};

	if (*waited >= wait->timeout)
		return give_up(wait, path, error);
	nanosleep(&pause, NULL);
	*waited += LOCK_RETRY;
	if (wait->stopped && wait->stopped())
		return error_set(error, ERROR_BUSY,
		                 "%s: interrupted while another writer held the lock", path);
	return 0;
}

/* Returns 1 if another waiting writer will do the work. */
static int wait_for_lock(int fd, const struct publication_wait *wait, const char *path, int *waited,
                         struct error *error)
{
	struct flock end_of_turn = byte_of(wait->work, F_UNLCK);
	enum turn turn = TURN_NONE;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		int code;

		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_errno(error, errno, "cannot lock %s", path);
		if (turn == TURN_NONE)
			turn = take_turn(fd, wait->work);
		if (turn == TURN_TAKEN)
			return 1;
		code = pause_for_lock(wait, path, waited, error);
		if (code < 0)
			return code;
	}
	if (turn == TURN_OURS)
		fcntl(fd, F_OFD_SETLK, &end_of_turn);
	return 0;
}

/* Retry if the locked file was removed: other writers would lock a new one. */
static int take_lock(struct publication *publication, const struct publication_wait *wait,
                     struct error *error)
{
	struct sibling lock = sibling(publication, ".lock");
	const char *path = publication->path;
	int waited = 0, code = open_lock(publication, error);

	while (code == 0) {
		code = wait_for_lock(publication->lock_fd, wait, path, &waited, error);
		errno = 0;
		if (code != 0 || is_named(publication, lock.name, publication->lock_fd))
			break;
		if (errno && errno_is_failure(errno))
			code = error_errno(error, errno, "cannot lock %s", path);
		else if (waited > wait->timeout)
			code = give_up(wait, path, error);
		waited += LOCK_RETRY;
		close(take_fd(&publication->lock_fd));
		if (code == 0)
			code = open_lock(publication, error);
	}
	if (code != 0 && publication->lock_fd >= 0)
		close(take_fd(&publication->lock_fd)); /* NAME.new is another writer's */
	return code;
}

/* --- the new file --- */

/* The new file, and files that SQLite may have left beside one opened by name. */
static int remove_leftovers(const struct publication *publication)
{
	static const char *const suffixes[] = {".new", ".new-journal", ".new-wal", ".new-shm"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (clear_name(publication, sibling(publication, suffixes[i]).name) != 0)
			return -1;
	return 0;
}

static int make_new_file(struct publication *publication, struct error *error)
{
	struct sibling new = sibling(publication, ".new");
	struct stat now, above;

	if (remove_leftovers(publication) == 0)
		publication->new_fd = safe_openat(publication->directory_fd, new.name,
		                                  O_RDWR | O_CREAT | O_EXCL, 0600);
	if (publication->new_fd < 0 || fstat(publication->new_fd, &now) != 0 ||
	    fstat(publication->directory_fd, &above) != 0)
		return error_errno(error, errno, "cannot create %s.new", publication->path);
	publication->began = now.st_ctim;
	publication->dates_changes = above.st_mtim.tv_sec >= now.st_ctim.tv_sec - TICK_MAX;
	return 0;
}

int publication_begin(struct publication *publication, const char *path,
                      const struct publication_wait *wait, struct error *error)
{
	int code = open_directory(publication, path, wait->sysroot, SAFE_CREATE, error);

	if (code == 0)
		code = take_lock(publication, wait, error);
	if (code == 0)
		code = make_new_file(publication, error);
	return code;
}

/* --- the copy --- */

/*
 * With copy_file_range(), which shares blocks where the file system can; else with read and write.
 */
static int copy_file(int from, int to)
{
	char buffer[COPY_BUFFER];
	ssize_t n;

	do {
		n = TEMP_FAILURE_RETRY(copy_file_range(from, NULL, to, NULL, COPY_CHUNK, 0));
	} while (n > 0);
	if (n == 0 && lseek(from, 0, SEEK_CUR) > 0)
		return 0;
	if (n < 0 && errno == ENOSPC)
		return -1;
	if (lseek(from, 0, SEEK_SET) < 0 || ftruncate(to, 0) != 0 || lseek(to, 0, SEEK_SET) < 0)
		return -1;
	do {
		n = file_read(from, buffer, sizeof(buffer));
	} while (n > 0 && file_write(to, buffer, (size_t)n) == 0);
	return n == 0 ? 0 : -1;
}

/* Open the published file and check that it is trusted; a special file may fail to open. */
static int open_published(struct publication *publication, int *fd, struct stat *status,
                          struct error *error)
{
	*fd = safe_open_file(publication->directory_fd, publication->name, O_RDONLY | O_NONBLOCK,
	                     0);
	if (*fd >= 0 ? fstat(*fd, status) != 0 : error_code(errno) != ERROR_FORMAT)
		return error_errno(error, errno, "cannot read %s", publication->path);
	if (*fd < 0)
		*status = (struct stat){0};
	if (trust_check(publication->path, *fd, status, TRUST_NO_OTHER, error) == 0)
		return 0;
	if (error)
		error->code = ERROR_FORMAT;
	return ERROR_FORMAT;
}

int publication_copy(struct publication *publication, struct error *error)
{
	struct stat *published = &publication->published, copy;
	CLEANUP(cleanup_close) int fd = -1;
	int code = open_published(publication, &fd, published, error);

	if (code < 0)
		return code;
	cleanup_close(&publication->published_fd);
	publication->published_fd = take_fd(&fd);
	if (copy_file(publication->published_fd, publication->new_fd) != 0 ||
	    fstat(publication->new_fd, &copy) != 0)
		return error_errno(error, errno, "cannot copy %s to %s.new", publication->path,
		                   publication->path);
	if (copy.st_size != published->st_size)
		return error_set(error, ERROR_IO, "%s: it changed while it was copied",
		                 publication->path);
	publication->is_marked = publish_is_marked(published);
	return 0;
}

/* The time of access is used by the refresh of the Python package. */
void publication_touch(struct publication *publication)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	struct stat now;

	if (futimens(publication->lock_fd, times) == 0 && fstat(publication->lock_fd, &now) == 0)
		publication->began = now.st_mtim;
}

int publication_restart(struct publication *publication, struct error *error)
{
	if (ftruncate(publication->new_fd, 0) != 0 || lseek(publication->new_fd, 0, SEEK_SET) != 0)
		return error_errno(error, errno, "cannot empty %s.new", publication->path);
	publication->is_marked = false;
	return 0;
}

/*
 * Only its owner reads a file that was set aside: what it describes may have been closed since, and
 * no update narrows it. A file of another user, or one with a third name, stays as it is.
 */
static int keep_private(const struct publication *publication, const char *name)
{
	CLEANUP(cleanup_close)
	int fd = safe_open_file(publication->directory_fd, name, O_RDONLY | O_NONBLOCK, 0);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return fd < 0 && !errno_is_failure(errno) ? 0 : -1;
	return S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink <= 2
	               ? fchmod(fd, status.st_mode & (S_IRUSR | S_IWUSR))
	               : 0;
}

int publication_set_aside(struct publication *publication, const char *suffix, struct error *error)
{
	CLEANUP(cleanup_free) char *aside = text_format("%s.%s", publication->name, suffix);
	const char *name = publication->name;
	int directory = publication->directory_fd;

	if (!aside)
		return error_nomem(error);
	if (clear_name(publication, aside) != 0 ||
	    (linkat(directory, name, directory, aside, 0) != 0 && errno != ENOENT &&
	     renameat(directory, name, directory, aside) != 0))
		return error_errno(error, errno, "cannot rename %s to %s", publication->path,
		                   aside);
	return keep_private(publication, aside) == 0
	               ? 0
	               : error_errno(error, errno, "cannot change the permissions of %s",
	                             publication->path);
}

/* --- the publication --- */

static int set_mark(int fd)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = PUBLISH_STALE_MARK}};

	return futimens(fd, times);
}

static int make_ready(struct publication *publication, mode_t mode, struct error *error)
{
	const int fd = publication->new_fd, old = publication->published_fd;

	if (old >= 0) /* its text may be private; others may have put it there */
		mode &= S_IRUSR | S_IWUSR | trust_everybody(old, &publication->published);
	if (fchmod(fd, mode) != 0 || (publication->is_marked && set_mark(fd) != 0) ||
	    TEMP_FAILURE_RETRY(fsync(fd)) != 0)
		return error_errno(error, errno, "cannot write %s.new", publication->path);
	if (!is_named(publication, sibling(publication, ".new").name, fd))
		return error_set(error, ERROR_IO,
		                 "%s.new was replaced by another process; nothing was changed",
		                 publication->path);
	return 0;
}

/*
 * Was the old file marked stale after it was copied? Another writer may have timed out waiting for
 * us and know of a change that we missed. Renaming changes its ctime, too: afterwards, only a file
 * that had no mark before can show it.
 */
static bool was_marked_meanwhile(const struct publication *publication)
{
	const struct stat *copied = &publication->published;
	struct stat now;

	return publication->published_fd >= 0 && fstat(publication->published_fd, &now) == 0 &&
	       publish_is_marked(&now) &&
	       !(publish_is_marked(copied) &&
	         nanoseconds_of(now.st_ctim) == nanoseconds_of(copied->st_ctim));
}

int publication_finish(struct publication *publication, mode_t mode, struct error *error)
{
	int directory = publication->directory_fd;
	int code = make_ready(publication, mode, error);
	bool marked = was_marked_meanwhile(publication);

	if (code < 0)
		return code;
	if (renameat(directory, sibling(publication, ".new").name, directory, publication->name) !=
	    0)
		return error_errno(error, errno, "cannot replace %s", publication->path);
	if (!publish_is_marked(&publication->published))
		marked = was_marked_meanwhile(publication);
	if (marked && set_mark(publication->new_fd) != 0)
		return error_errno(error, errno, "cannot mark %s", publication->path);
	if (TEMP_FAILURE_RETRY(fsync(directory)) != 0)
		return error_errno(error, errno, "cannot sync the directory of %s",
		                   publication->path);
	return 0;
}

void publication_end(struct publication *publication)
{
	if (publication->lock_fd >= 0)
		remove_leftovers(publication);
	cleanup_close(&publication->new_fd);
	cleanup_close(&publication->published_fd);
	cleanup_close(&publication->lock_fd);
	cleanup_close(&publication->directory_fd);
	free(publication->path);
	*publication = PUBLICATION_INIT;
}

/* --- the mark --- */

int publish_mark_stale(const char *path, const char *sysroot, struct error *error)
{
	CLEANUP(publication_end) struct publication publication = PUBLICATION_INIT;
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;
	int code = open_directory(&publication, path, sysroot, SAFE_EXISTING, error);

	do { /* a writer checks for the mark after its rename; we check the name after marking */
		cleanup_close(&fd);
		fd = -1;
		if (code == 0)
			code = open_published(&publication, &fd, &status, error);
		if (code == 0 && set_mark(fd) != 0)
			code = error_errno(error, errno, "cannot mark %s", path);
	} while (code == 0 && !is_named(&publication, publication.name, fd));
	return code;
}

int publication_unmark(struct publication *publication, struct error *error)
{
	if (publication->is_marked && futimens(publication->published_fd, NULL) != 0)
		return error_errno(error, errno, "cannot remove the mark from %s",
		                   publication->path);
	publication->is_marked = false;
	return 0;
}

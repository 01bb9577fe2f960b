/*
 * publish.c - see publish.h. Every step that can fail is checked before the
 * rename, because after it there is no way back.
 */
#include "publish.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

#define LOCK_RETRY     10   /* milliseconds between two tries */
#define DIRECTORY_MODE 0755 /* less the umask */
#define COPY_CHUNK     ((size_t)1 << 30)
#define COPY_BUFFER    ((size_t)1 << 16)

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Make @path and what is missing above it. */
static int make_directories(char *path, struct error *error)
{
	for (char *slash = path; slash; *slash = '/') {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, DIRECTORY_MODE) != 0 && errno != EEXIST) {
			int errnum = errno;

			/* A read-only file system says so even of a directory that is there. */
			if (access(path, F_OK) != 0)
				return error_errno(error, errnum, "cannot make %s", path);
		}
		if (!slash)
			break;
	}
	return 0;
}

static int open_directory(struct publication *publication, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = strdup(publication->path);
	char *slash = directory ? strrchr(directory, '/') : NULL;
	int code;

	if (!directory)
		return error_nomem(error);
	if (!slash) {
		directory[0] = '.';
		directory[1] = '\0';
	} else {
		slash[slash == directory] = '\0';
		code = make_directories(directory, error);
		if (code < 0)
			return code;
	}
	publication->directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (publication->directory_fd < 0)
		return error_errno(error, errno, "cannot open %s", directory);
	return 0;
}

/* --- the lock --- */

enum turn {
	TURN_NONE, /* nobody is known to wait: go on trying */
	TURN_OURS,
	TURN_TAKEN, /* by another who waits to do the same work */
};

/* The byte of the lock file that stands for @work; files are far shorter than 2^62. */
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
 * What is in the way must be a lock on this very byte: where flock() is a lock on all
 * bytes, as on NFS, the first writer's is in the way, too, and that one has begun.
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

static void end_turn(int fd, uint64_t work)
{
	struct flock byte = byte_of(work, F_UNLCK);

	fcntl(fd, F_OFD_SETLK, &byte);
}

/* 1: the work will be done by another who waits. */
static int wait_for_lock(int fd, const struct publication_wait *wait, const char *path,
                         struct error *error)
{
	struct timespec pause = {.tv_nsec = LOCK_RETRY * 1000000L};
	enum turn turn = TURN_NONE;

	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += LOCK_RETRY) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_errno(error, errno, "cannot lock %s", path);
		if (turn == TURN_NONE)
			turn = take_turn(fd, wait->work);
		if (turn == TURN_TAKEN)
			return 1;
		if (waited >= wait->timeout)
			return error_set(
			        error, ERROR_BUSY,
			        "%s: another writer has held the lock for %d ms; try again "
			        "when it has finished",
			        path, wait->timeout);
		if (nanosleep(&pause, NULL) != 0 || (wait->stopped && wait->stopped()))
			return error_set(error, ERROR_BUSY,
			                 "%s: interrupted while another writer held the lock",
			                 path);
	}
	if (turn == TURN_OURS)
		end_turn(fd, wait->work);
	return 0;
}

/* Mode 0600: whoever can open a lock file can hold the lock. */
static int take_lock(struct publication *publication, const struct publication_wait *wait,
                     struct error *error)
{
	CLEANUP(cleanup_free) char *name = NULL;
	int code;

	if (asprintf(&name, "%s.lock", base_name(publication->path)) < 0) {
		name = NULL;
		return error_nomem(error);
	}
	publication->lock_fd = openat(publication->directory_fd, name,
	                              O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (publication->lock_fd < 0)
		return error_errno(error, errno, "cannot open %s.lock", publication->path);
	code = wait_for_lock(publication->lock_fd, wait, publication->path, error);
	if (code != 0)
		close(take_fd(&publication->lock_fd)); /* what lies there is another writer's */
	return code;
}

/* SQLite may leave a journal beside a file whose writer was killed. */
static void remove_leftovers(const struct publication *publication)
{
	static const char *const suffixes[] = {"-journal", "-wal", "-shm"};

	unlink(publication->new_path);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		char *path;

		if (asprintf(&path, "%s%s", publication->new_path, suffixes[i]) < 0)
			return;
		unlink(path);
		free(path);
	}
}

static int make_new_file(struct publication *publication, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct stat now;

	remove_leftovers(publication);
	fd = open(publication->new_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &now) != 0)
		return error_errno(error, errno, "cannot create %s", publication->new_path);
	publication->began = now.st_ctim;
	return 0;
}

int publication_begin(struct publication *publication, const char *path, int timeout,
                      struct error *error)
{
	struct publication_wait wait = {.timeout = timeout};

	return publication_begin_once(publication, path, &wait, error);
}

int publication_begin_once(struct publication *publication, const char *path,
                           const struct publication_wait *wait, struct error *error)
{
	int code;

	*publication = PUBLICATION_INIT;
	publication->path = strdup(path);
	if (asprintf(&publication->new_path, "%s.new", path) < 0)
		publication->new_path = NULL;
	if (!publication->path || !publication->new_path)
		return error_nomem(error);
	code = open_directory(publication, error);
	if (code == 0)
		code = take_lock(publication, wait, error);
	if (code == 0)
		code = make_new_file(publication, error);
	return code;
}

static int copy_by_hand(int from, int to)
{
	CLEANUP(cleanup_free) char *buffer = malloc(COPY_BUFFER);
	ssize_t got;

	if (!buffer) {
		errno = ENOMEM;
		return -1;
	}
	while ((got = read(from, buffer, COPY_BUFFER)) != 0) {
		if (got < 0)
			return -1;
		for (ssize_t put = 0, n; put < got; put += n) {
			n = write(to, buffer + put, (size_t)(got - put));
			if (n < 0)
				return -1;
		}
	}
	return 0;
}

/* A reflink where the file system can, else a copy within the kernel, else by hand. */
static int copy_file(int from, int to)
{
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	do {
		n = copy_file_range(from, NULL, to, NULL, COPY_CHUNK, 0);
	} while (n > 0);
	if (n == 0 && lseek(from, 0, SEEK_CUR) > 0)
		return 0;
	if (n < 0 && errno == ENOSPC)
		return -1;
	if (lseek(from, 0, SEEK_SET) < 0 || ftruncate(to, 0) != 0 || lseek(to, 0, SEEK_SET) < 0)
		return -1;
	return copy_by_hand(from, to);
}

int publication_copy(struct publication *publication, struct error *error)
{
	CLEANUP(cleanup_close)
	int from = open(publication->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	CLEANUP(cleanup_close) int to = -1;
	struct stat status;

	if (from < 0 || fstat(from, &status) != 0)
		return error_errno(error, errno, "cannot read %s", publication->path);
	if (!S_ISREG(status.st_mode)) /* a FIFO would be waited for */
		return error_set(error, ERROR_INVALID, "%s: not a regular file", publication->path);
	to = open(publication->new_path, O_WRONLY | O_CLOEXEC);
	if (to < 0 || copy_file(from, to) != 0)
		return error_errno(error, errno, "cannot copy %s to %s", publication->path,
		                   publication->new_path);
	return 0;
}

void publication_touch(struct publication *publication)
{
	struct stat now;

	if (futimens(publication->lock_fd, NULL) == 0 && fstat(publication->lock_fd, &now) == 0)
		publication->began = now.st_mtim;
}

int publication_restart(struct publication *publication, struct error *error)
{
	return make_new_file(publication, error);
}

int publication_set_aside(struct publication *publication, const char *suffix, struct error *error)
{
	CLEANUP(cleanup_free) char *aside = NULL;

	if (asprintf(&aside, "%s.%s", publication->path, suffix) < 0) {
		aside = NULL;
		return error_nomem(error);
	}
	unlink(aside);
	if (link(publication->path, aside) != 0 && errno != ENOENT &&
	    rename(publication->path, aside) != 0)
		return error_errno(error, errno, "cannot rename %s to %s", publication->path,
		                   aside);
	return 0;
}

int publication_finish(struct publication *publication, mode_t mode, struct error *error)
{
	CLEANUP(cleanup_close) int fd = open(publication->new_path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fchmod(fd, mode) != 0 || fsync(fd) != 0)
		return error_errno(error, errno, "cannot write %s", publication->new_path);
	if (rename(publication->new_path, publication->path) != 0)
		return error_errno(error, errno, "cannot replace %s", publication->path);
	free(take(publication->new_path));
	if (fsync(publication->directory_fd) != 0)
		return error_errno(error, errno, "cannot sync the directory of %s",
		                   publication->path);
	return 0;
}

void publication_end(struct publication *publication)
{
	if (publication->new_path && publication->lock_fd >= 0)
		remove_leftovers(publication);
	cleanup_close(&publication->lock_fd);
	cleanup_close(&publication->directory_fd);
	free(publication->path);
	free(publication->new_path);
	*publication = PUBLICATION_INIT;
}

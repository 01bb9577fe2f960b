/*
 * file.c - system calls that are not interrupted by signals, blocked by FIFOs or misled by links.
 */
#include "db/base/file.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/libc.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"

/* --- below a sysroot --- */

static _Thread_local const struct file_sysroot *file_sysroot_of_thread;

const struct file_sysroot *file_sysroot(void)
{
	return file_sysroot_of_thread;
}

void file_set_sysroot(const struct file_sysroot *sysroot)
{
	file_sysroot_of_thread = sysroot;
}

int file_sysroot_open(const char *path, struct file_sysroot *out)
{
	int fd = -1;
	char *real = safe_real_path(path, &fd);

	*out = (struct file_sysroot){fd, path, real};
	return real ? 0 : -1;
}

void file_sysroot_close(struct file_sysroot *sysroot)
{
	cleanup_close(&sysroot->fd);
	free((char *)sysroot->real);
	*sysroot = (struct file_sysroot){.fd = -1};
}

/* The rest of @path below @top; NULL if it lies elsewhere. */
static const char *below(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len > 1 && top[len - 1] == '/')
		len--;
	return strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

/* The name of the sysroot with which @path (or NULL) begins; NULL if it lies elsewhere. */
static const char *sysroot_of(const char *path)
{
	const struct file_sysroot *sysroot = file_sysroot();

	if (!sysroot || !path)
		return NULL;
	if (sysroot->real && below(path, sysroot->real))
		return sysroot->real;
	return below(path, sysroot->given) ? sysroot->given : NULL;
}

const char *file_in_sysroot(const char *path)
{
	const char *sysroot = sysroot_of(path);

	return sysroot ? below(path, sysroot) : NULL;
}

/* The path of @name in @directory, malloc'd; NULL and ENOSYS if unknown, as without /proc. */
static char *path_of(int directory, const char *name)
{
	CLEANUP(cleanup_free) char *above = NULL;

	if (directory == AT_FDCWD || name[0] == '/')
		return strdup(name);
	above = file_real_path(directory);
	errno = ENOSYS;
	return above ? text_format("%s/%s", above, name) : NULL;
}

/*
 * Does @name in @directory lie below the sysroot? Then *inside is its path from *top, malloc'd, or
 * NULL if out of memory. If the path of @directory is unknown, or elsewhere since another user has
 * renamed it, no link leads out of @directory.
 */
static bool is_below(int directory, const char *name, int *top, char **inside)
{
	const bool is_path = directory == AT_FDCWD || name[0] == '/';
	CLEANUP(cleanup_free)
	char *whole = is_path || !file_sysroot() ? NULL : path_of(directory, name);
	const char *path = is_path ? name : whole, *above = sysroot_of(path);

	if (!file_sysroot())
		return false;
	*top = above ? file_sysroot()->fd : directory;
	*inside = above ? text_format(".%s", below(path, above)) : strdup(name);
	return above || !is_path;
}

static int open_how(int directory, const char *name, int flags, uint64_t resolve)
{
	struct open_how how = {
	        .flags = (unsigned)flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY),
	        .resolve = resolve,
	};

	return (int)TEMP_FAILURE_RETRY(syscall(SYS_openat2, directory, name, &how, sizeof(how)));
}

/*
 * Kernels before 5.6 lack openat2(), and some sandboxes forbid it: the path is then walked
 * component by component.
 */
static bool is_unknown(int errnum)
{
	return errnum == ENOSYS || errnum == EPERM;
}

/* @top, @inside: from is_below(). */
static int resolve_below(int top, const char *inside, int flags)
{
	const struct file_sysroot *sysroot = file_sysroot();
	const bool is_sysroot = top == sysroot->fd;
	int fd;

	errno = inside ? ENOENT : ENOMEM;
	if (!inside || top < 0)
		return -1;
	fd = open_how(top, inside, flags, is_sysroot ? RESOLVE_IN_ROOT : RESOLVE_BENEATH);
	/* EAGAIN: a rename raced with the walk, or the file's owner holds a lease on it. */
	if (fd >= 0 || !is_sysroot || (!is_unknown(errno) && errno != EAGAIN)) {
		errno = errno == EXDEV ? ELOOP : errno;
		return fd;
	}
	return safe_look_open(top, inside, flags);
}

/*
 * Who made the tree may have been able to make devices: an image that is mounted, for instance. So
 * the path is resolved first, and only without /proc once more.
 */
static int open_below(int top, const char *inside, int flags)
{
	CLEANUP(cleanup_close)
	int fd = resolve_below(top, inside, O_PATH | (flags & (O_DIRECTORY | O_NOFOLLOW)));
	int opened = fd < 0 ? -1 : safe_reopen(fd, flags);

	return fd >= 0 && opened < 0 && errno == ENOSYS ? resolve_below(top, inside, flags)
	                                                : opened;
}

/* openat() with O_PATH; root follows no magic link of another process: see walk.c. */
static int open_path(int directory, const char *name, int flags)
{
	CLEANUP(cleanup_free) char *path = NULL;
	int fd;

	if (geteuid() != 0)
		return (int)TEMP_FAILURE_RETRY(openat(directory, name, flags));
	fd = open_how(directory, name, flags, RESOLVE_NO_MAGICLINKS);
	if (fd >= 0 || (errno != ELOOP && !is_unknown(errno)))
		return fd;
	path = path_of(directory, name);
	/* Without /proc, there are no such links. */
	return path ? safe_look_open(-1, path, flags)
	            : (int)TEMP_FAILURE_RETRY(openat(directory, name, flags));
}

/* fstatat(), likewise; or, if @is_plain, in one request that follows every link. */
static int look_at(bool is_plain, int directory, const char *name, struct stat *status)
{
	CLEANUP(cleanup_close) int fd = -1;

	if (is_plain || geteuid() != 0)
		return fstatat(directory, name, status, 0);
	fd = open_path(directory, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -1 : fstat(fd, status);
}

static bool is_device(int directory, const char *name)
{
	struct stat status;

	return (directory == AT_FDCWD || name[0] == '/') &&
	       look_at(false, directory, name, &status) == 0 && safe_is_device(&status);
}

/* @fd, unless it is of procfs; takes ownership of it. */
static int no_process(int fd)
{
	CLEANUP(cleanup_close) int opened = fd;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0 || !safe_is_of_process(fd, &status))
		return take_fd(&opened);
	errno = ENXIO;
	return -1;
}

int file_open(int directory, const char *name, int flags)
{
	CLEANUP(cleanup_free) char *inside = NULL;
	CLEANUP(cleanup_free) char *path = NULL;
	const bool is_own_name = flags & FILE_OWN_NAME;
	const bool may_be_device =
	        !is_own_name && !(flags & O_DIRECTORY); /* else the kernel refuses one */
	int top, fd;

	flags |= O_RDONLY | O_CLOEXEC;
	if (!(flags & O_PATH))
		flags |= O_NONBLOCK | O_NOCTTY;
	if (is_below(directory, name, &top, &inside))
		return open_below(top, inside, flags);
	if (flags & O_PATH || geteuid() != 0)
		return open_path(directory, name, flags);
	/* With "..", the path could lead elsewhere a moment after it was judged. */
	errno = may_be_device && is_device(directory, name) ? ENXIO : ELOOP;
	fd = errno == ENXIO || strstr(name, "..")
	             ? -1
	             : open_how(directory, name, flags, RESOLVE_NO_SYMLINKS);
	if (fd >= 0 || (errno != ELOOP && !is_unknown(errno)))
		return is_own_name ? fd : no_process(fd);
	path = path_of(directory, name);
	return path ? safe_look_open(-1, path, flags) : -1;
}

int file_open_for(struct readers readers, int directory, const char *name)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;
	mode_t search = 0;

	if (!readers.mode)
		return file_open(directory, name, 0);
	errno = ELOOP;
	if (directory != AT_FDCWD)
		fd = safe_publish_open_in(directory, name, file_sysroot() != NULL, &search);
	if (fd < 0 && errno == ELOOP) {
		CLEANUP(cleanup_free) char *path = path_of(directory, name);

		fd = path ? safe_publish_open(path, readers.beside, sysroot_of(path), &search) : -1;
	}
	/* Who can read it is unknown; or some readers cannot tell whether it exists. */
	if (fd < 0 && (errno == ENOSYS || (errno == ENOENT && readers.mode & ~search)))
		errno = EACCES;
	if (fd < 0 || fstat(fd, &status) != 0)
		return -1;
	if ((readers.mode & ~(search & trust_everybody(fd, &status))) == 0)
		return take_fd(&fd);
	errno = EACCES;
	return -1;
}

static int find_status(bool is_plain, int directory, const char *path, struct stat *status,
                       struct error *error)
{
	CLEANUP(cleanup_free) char *inside = NULL;
	CLEANUP(cleanup_close) int fd = -1;
	int top;
	bool is_inside = is_below(directory, path, &top, &inside);

	if (is_inside)
		fd = resolve_below(top, inside, O_PATH);
	if (is_inside ? fd >= 0 && fstat(fd, status) == 0
	              : look_at(is_plain, directory, path, status) == 0)
		return 1;
	return errno_is_failure(errno) ? error_errno(error, errno, "%s", path) : 0;
}

int file_status(int directory, const char *path, struct stat *status, struct error *error)
{
	return find_status(false, directory, path, status, error);
}

int file_status_again(const char *path, enum trust_way *way, struct stat *status,
                      struct error *error)
{
	if (*way == TRUST_WAY_UNKNOWN) {
		int code = geteuid() != 0 ? 0
		                          : safe_believe(path, sysroot_of(path), TRUST_NO_OTHER,
		                                         NULL, NULL);

		if (!error_is_failure(code)) /* else it is judged the next time */
			*way = code == 0 ? TRUST_WAY_OWN : TRUST_WAY_OTHERS;
	}
	return find_status(*way == TRUST_WAY_OWN, AT_FDCWD, path, status, error);
}

bool file_can_list(const char *path)
{
	CLEANUP(cleanup_free) char *inside = text_format("%s/.", path);
	CLEANUP(cleanup_close)
	int fd = inside ? file_open(AT_FDCWD, inside, O_DIRECTORY) : -1;

	return fd >= 0;
}

ssize_t file_read(int fd, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = TEMP_FAILURE_RETRY(read(fd, (char *)to + done, size - done));

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int file_write(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size > 0) {
		ssize_t n = TEMP_FAILURE_RETRY(write(fd, from, size));

		if (n < 0)
			return -1;
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

char *file_real_path(int fd)
{
	char link[FILE_FD_PATH_ROOM], path[PATH_MAX];
	ssize_t len;

	file_fd_path(link, fd);
	len = readlink(link, path, sizeof(path));
	return len > 0 && (size_t)len < sizeof(path) && path[0] == '/' ? strndup(path, (size_t)len)
	                                                               : NULL;
}

DIR *file_open_directory(int directory, const char *name)
{
	return file_open_directory_for(READERS_NONE, directory, name);
}

DIR *file_open_directory_for(struct readers readers, int directory, const char *name)
{
	CLEANUP(cleanup_close)
	int fd = readers.mode ? file_open_for(readers, directory, name)
	                      : file_open(directory, name, O_DIRECTORY);
	DIR *opened = fd < 0 ? NULL : fdopendir(fd);

	if (opened)
		take_fd(&fd);
	return opened;
}

int file_next(DIR *directory, const char **name)
{
	const struct dirent *entry;

	errno = 0;
	entry = readdir(directory);
	if (!entry)
		return errno ? -1 : 0;
	*name = entry->d_name;
	return 1;
}

/* --- small files --- */

int small_file_read_fd(int fd, const char *path, size_t limit, char **text, size_t *len,
                       struct error *error)
{
	CLEANUP(cleanup_free) char *bytes = NULL;
	struct stat status;
	ssize_t got;

	if (fd < 0 && !errno_is_failure(errno))
		return 0;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot open %s", path);
	if (!S_ISREG(status.st_mode))
		return 0;
	bytes = malloc(limit + 1);
	if (!bytes)
		return error_nomem(error);
	got = file_read(fd, bytes, limit);
	if (got < 0)
		return error_errno(error, errno, "cannot read %s", path);
	bytes[got] = '\0';
	*len = (size_t)got;
	*text = take(bytes);
	return 1;
}

int small_file_read(const char *path, size_t limit, char **text, size_t *len, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, FILE_OWN_NAME);

	return small_file_read_fd(fd, path, limit, text, len, error);
}

int small_file_read_trusted(const char *path, size_t limit, uid_t owner, char **text, size_t *len,
                            struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, path, FILE_OWN_NAME);
	CLEANUP(error_clear) struct error own = {0};
	struct stat status;
	int code;

	if (fd < 0 && error_code(errno) == ERROR_NOTFOUND)
		return 0;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read %s", path);
	code = trust_check(path, fd, &status, owner, error);
	if (code == 0 && safe_believe(path, sysroot_of(path), owner, &status, &own) < 0)
		code = error_set(error, own.code, "%s: %s", path, error_text(&own));
	return code < 0 ? code : small_file_read_fd(fd, path, limit, text, len, error);
}

int small_file_write(int directory, const char *name, struct slice text, mode_t mode)
{
	CLEANUP(cleanup_free) char *part = text_format("%s.entrydb-part", name);
	CLEANUP(cleanup_close) int fd = -1;
	int why;

	if (!part)
		return -1;
	unlinkat(directory, part, 0); /* left by a process that was killed */
	fd = safe_openat(directory, part, O_WRONLY | O_CREAT | O_EXCL, mode);
	if (fd >= 0 && file_write(fd, text.ptr, text.len) == 0 && fsync(fd) == 0 &&
	    fchmod(fd, mode) == 0 && renameat(directory, part, directory, name) == 0)
		return 0;
	why = errno;
	unlinkat(directory, part, 0);
	errno = why;
	return -1;
}

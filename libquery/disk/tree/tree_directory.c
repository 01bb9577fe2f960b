/*
 * tree_directory.c - opens path entries, and reads distributions in a directory.
 *
 * The order of readdir is kept, since the answers of importlib.metadata depend on it. Files are
 * opened relative to the directory's descriptor: this saves the kernel path look-ups and avoids
 * races with renames above.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/libc.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "libquery/disk/tree/ahead.h"
#include "libquery/disk/tree/archive.h"

#define ENTRIES_SIZE ((size_t)64 * 1024) /* bytes for one call of getdents64 */
#define FIRST_BYTES  ((size_t)8 * 1024)  /* the start of a file */
#define NAME_ROOM    ((size_t)4096)      /* bytes; PATH_MAX of the kernel */

#define EXPECTED "entry_points.txt"

struct directory {
	struct tree tree; /* must be first */
	bool is_own;      /* only this user, or root, can put links there, as far as modes show */
	int child;        /* the last child read for publishing, or -1 */
	char child_name[NAME_MAX + 1];
	const struct distribution_record *expected;
	size_t expected_count, next;
	struct ahead_pace pace;
	struct ahead *ahead;
};

/* --- listing --- */

/* If listing fails half-way, it fails as a whole: os.listdir() raises, too. */
static int children(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	CLEANUP(cleanup_free) char *buffer = malloc(ENTRIES_SIZE);
	ssize_t len = -1;
	int answer = 0;

	if (!buffer)
		return error_nomem(error);
	if (lseek(tree->fd, 0, SEEK_SET) < 0)
		return error_errno(error, errno, "cannot list");
	while (answer == 0 && len != 0) {
		len = getdents64(tree->fd, buffer, ENTRIES_SIZE);
		if (len < 0 && errno != EINTR)
			return error_errno(error, errno, "cannot list");
		for (ssize_t at = 0; answer == 0 && at < len;) {
			const struct dirent64 *entry = (const void *)(buffer + at);

			at += entry->d_reclen;
			answer = each(payload, slice_of(entry->d_name));
		}
	}
	return answer;
}

/* --- reading --- */

/*
 * The errors that importlib.metadata suppresses: FileNotFoundError, NotADirectoryError,
 * IsADirectoryError, PermissionError.
 */
static bool is_absent(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == EISDIR || errnum == EACCES ||
	       errnum == EPERM;
}

/*
 * Write the file's path relative to the directory to @room, NAME_ROOM bytes; false if it is too
 * long.
 */
static bool name_of(char *room, struct slice child, const char *file)
{
	if (path_room(child, slice_of(file)) > NAME_ROOM)
		return false;
	path_join(room, child, slice_of(file));
	return true;
}

static void forget_child(struct directory *directory)
{
	cleanup_close(&directory->child);
	directory->child = -1;
}

/*
 * Open a file to publish it. The child's directory, which must be judged first, is kept for its
 * next file. What this does not cover, such as links, is left to file_open_for().
 */
static int open_to_publish(struct directory *directory, const struct tree_request *request,
                           const char *name)
{
	const struct tree *tree = &directory->tree;
	struct slice child = request->child;
	mode_t search = 0444;

	if (child.len == 0 || child.len > NAME_MAX || !request->file[0] ||
	    memchr(child.ptr, '/', child.len))
		return file_open_for(tree->readers, tree->fd, name);
	if (directory->child < 0 || !slice_equal(child, slice_of(directory->child_name))) {
		CLEANUP(cleanup_close) int fd = -1;

		forget_child(directory);
		memcpy(directory->child_name, child.ptr, child.len);
		directory->child_name[child.len] = '\0';
		fd = safe_publish_enter(tree->fd, directory->child_name, &search);
		directory->child = tree->readers.mode & ~search ? -1 : take_fd(&fd);
	}
	return directory->child < 0 ? file_open_for(tree->readers, tree->fd, name)
	                            : file_open_for(tree->readers, directory->child, request->file);
}

static int read_now(struct tree *tree, const struct tree_request *request, struct arena *arena,
                    struct slice *out, struct error *error)
{
	char name[NAME_ROOM], *bytes;
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;
	uint64_t size;
	ssize_t len;

	if (!name_of(name, request->child, request->file))
		return error_errno(error, ENAMETOOLONG, "cannot open");
	fd = tree->readers.mode ? open_to_publish((struct directory *)tree, request, name)
	                        : file_open(tree->fd, name, 0);
	if (fd < 0 && errno == EACCES && tree->readers.mode)
		tree->withheld = true;
	if (fd < 0 || fstat(fd, &status) != 0)
		return is_absent(errno) ? 0 : error_errno(error, errno, "cannot open");
	if (S_ISDIR(status.st_mode))
		return 0;
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_FORMAT, "not a regular file");
	size = (uint64_t)status.st_size;
	if (request->first && size > FIRST_BYTES)
		size = FIRST_BYTES;
	if (size > request->limit)
		return error_set(error, ERROR_LIMIT, "%llu bytes; the limit is %zu",
		                 (unsigned long long)size, request->limit);
	bytes = arena_alloc(arena, (size_t)size + 1);
	if (!bytes)
		return error_nomem(error);
	len = file_read(fd, bytes, (size_t)size);
	if (len < 0)
		return error_errno(error, errno, "cannot read");
	bytes[len] = '\0';
	*out = (struct slice){bytes, (size_t)len};
	return 1;
}

/* --- reading ahead --- */

/* Transient failures, such as too many open files, are left to the caller. */
static void read_one_ahead(const void *payload, size_t index, struct ahead_file *out)
{
	const struct directory *directory = payload;
	const struct distribution_record *one = &directory->expected[index];
	const struct tree_request request = {one->directory, EXPECTED, AHEAD_BYTES, false};

	out->left = one->unread || one->reused;
	if (!out->left)
		out->answer = read_now((struct tree *)&directory->tree, &request, &out->arena,
		                       &out->text, &out->error);
	out->left |= out->answer == ERROR_LIMIT || error_is_failure(out->answer);
}

/* Take the file from the read-ahead, if it is the next expected one, skipping others. */
static int read_file(struct tree *tree, const struct tree_request *request, struct arena *arena,
                     struct slice *out, struct error *error)
{
	struct directory *directory = (struct directory *)tree;
	size_t next = directory->next, count = directory->expected_count;
	bool is_expected = strcmp(request->file, EXPECTED) == 0;
	CLEANUP(ahead_file_free) struct ahead_file file = {.left = true};
	bool failed = false;
	int64_t began;
	int code;

	while (is_expected && next < count &&
	       directory->expected[next].directory.ptr != request->child.ptr)
		next++;
	if (!is_expected || next == count)
		return read_now(tree, request, arena, out, error);
	directory->next = next + 1;
	if (directory->ahead)
		ahead_take(directory->ahead, next, &file);
	if (!file.left && file.text.len <= request->limit) {
		*out = arena_copy(arena, file.text, &failed);
		return failed            ? error_nomem(error)
		       : file.answer < 0 ? error_move(error, &file.error)
		                         : file.answer;
	}
	began = nanoseconds_now(CLOCK_MONOTONIC);
	code = read_now(tree, request, arena, out, error);
	if (code > 0 && out->len > AHEAD_BYTES)
		return code; /* it was slow because it is large */
	if (!directory->ahead && ahead_pays(&directory->pace, began, count - next - 1))
		directory->ahead = ahead_begin(read_one_ahead, directory, next + 1, count);
	return code;
}

/* Reading for publishing checks the owners of links, which is not done in threads. */
static void expect(struct tree *tree, const struct distribution_record *distributions, size_t count)
{
	struct directory *directory = (struct directory *)tree;

	ahead_end(take(directory->ahead));
	directory->expected = distributions;
	directory->expected_count = tree->readers.mode ? 0 : count;
	directory->next = 0;
	directory->pace = (struct ahead_pace){0};
}

/* --- status --- */

static int status_of(struct tree *tree, struct slice child, const char *file, struct stat *status,
                     struct error *error)
{
	struct directory *directory = (struct directory *)tree;
	char name[NAME_ROOM];

	if (!file[0]) /* what is read after its stamp is as new as that */
		forget_child(directory);
	if (!name_of(name, child, file))
		return 0;
	if (!directory->is_own)
		return file_status(tree->fd, name, status, error);
	/* In one request; a distribution's directory may be another user's nevertheless. */
	if (fstatat(tree->fd, name, status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno_is_failure(errno) ? error_errno(error, errno, "%s", name) : 0;
	return S_ISLNK(status->st_mode) ? file_status(tree->fd, name, status, error) : 1;
}

/* --- opening --- */

static void close_directory(struct tree *tree)
{
	struct directory *directory = (struct directory *)tree;

	ahead_end(directory->ahead);
	forget_child(directory);
	close(tree->fd);
	free(directory);
}

int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error)
{
	static const struct tree_operations operations = {
	        .children = children,
	        .read = read_file,
	        .status = status_of,
	        .expect = expect,
	        .close = close_directory,
	};
	struct directory *directory = calloc(1, sizeof(*directory));
	struct stat status;

	if (!directory) {
		close(fd);
		return error_nomem(error);
	}
	directory->child = -1;
	directory->is_own = !file_sysroot() &&
	                    (geteuid() != 0 || (fstat(fd, &status) == 0 && status.st_uid == 0 &&
	                                        !(status.st_mode & (S_IWGRP | S_IWOTH))));
	directory->tree = (struct tree){
	        .operations = &operations,
	        .kind = ROOT_DIRECTORY,
	        .stamp = stamp,
	        .fd = fd,
	};
	*out = &directory->tree;
	return 0;
}

int tree_open_for(struct readers readers, const char *path, struct tree **out, struct error *error)
{
	const char *name = path[0] ? path : ".";
	CLEANUP(cleanup_close)
	int fd = readers.mode ? file_open_for(readers, AT_FDCWD, name)
	                      : file_open(AT_FDCWD, name, O_DIRECTORY);
	struct stat status;

	if (fd < 0 && !readers.mode && errno == ENOTDIR)
		fd = file_open(AT_FDCWD, name, 0);
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "%s", path);
	if (S_ISDIR(status.st_mode))
		return tree_open_directory(take_fd(&fd), stamp_of(&status), out, error);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_NOTFOUND, "%s: neither a directory nor a file", path);
	return tree_open_zip(take_fd(&fd), path, stamp_of(&status), out, error);
}

int tree_open(const char *path, struct tree **out, struct error *error)
{
	return tree_open_for(READERS_NONE, path, out, error);
}

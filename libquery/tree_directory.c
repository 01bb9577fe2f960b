/*
 * tree_directory.c - distributions in a directory: see tree.h.
 *
 * The order of readdir is kept, since stock's answers depend on it. Files are
 * opened relative to the directory's descriptor: shorter walks for the kernel,
 * and no race with a rename above.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "name_map.h"
#include "tree.h"

#define ENTRIES_SIZE ((size_t)64 * 1024) /* bytes for one call of getdents64 */
#define FIRST_BYTES  ((size_t)8 * 1024)  /* what "the beginning" of a file means */
#define NAME_ROOM    ((size_t)4096)      /* bytes; PATH_MAX, as the kernel counts */

/* The file's name relative to the directory, in @room bytes; false when it is too long. */
static bool join(char *room, struct slice child, const char *file)
{
	size_t len = strlen(file);

	if (child.len + len + 2 > NAME_ROOM)
		return false;
	memcpy(room, child.ptr, child.len);
	room[child.len] = len ? '/' : '\0';
	memcpy(room + child.len + 1, file, len + 1);
	return true;
}

static enum child_type type_of(unsigned char d_type)
{
	if (d_type == DT_DIR)
		return CHILD_DIRECTORY;
	return d_type == DT_REG ? CHILD_FILE : CHILD_UNKNOWN;
}

static int give_children(const char *buffer, ssize_t len, tree_each each, void *payload)
{
	int answer = 0;

	for (ssize_t at = 0; answer == 0 && at < len;) {
		const struct dirent64 *entry = (const void *)(buffer + at);

		at += entry->d_reclen;
		answer = each(payload, slice_of(entry->d_name), type_of(entry->d_type));
	}
	return answer;
}

/* A directory that fails half-way is, to stock, one that cannot be listed: os.listdir raises. */
static int children(struct tree *tree, tree_each each, void *payload, struct error *error)
{
	CLEANUP(cleanup_free) char *buffer = malloc(ENTRIES_SIZE);
	ssize_t len;
	int answer;

	if (!buffer)
		return error_nomem(error);
	if (lseek(tree->fd, 0, SEEK_SET) < 0)
		return error_errno(error, errno, "cannot list");
	while ((len = getdents64(tree->fd, buffer, ENTRIES_SIZE)) > 0) {
		answer = give_children(buffer, len, each, payload);
		if (answer != 0)
			return answer;
	}
	return len == 0 ? 0 : error_errno(error, errno, "cannot list");
}

/* What stock suppresses: FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError.
 */
static bool is_absent(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == EISDIR || errnum == EACCES ||
	       errnum == EPERM;
}

static int read_all(int fd, size_t room, struct arena *arena, struct slice *out,
                    struct error *error)
{
	char *bytes = arena_alloc(arena, room + 1);
	size_t len = 0;
	ssize_t n = 1;

	if (!bytes)
		return error_nomem(error);
	while (len < room && (n = read(fd, bytes + len, room - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		return error_errno(error, errno, "cannot read");
	bytes[len] = '\0';
	*out = (struct slice){bytes, len};
	return 1;
}

static int read_open_file(int fd, size_t limit, bool first, struct arena *arena, struct slice *out,
                          struct error *error)
{
	struct stat status;
	size_t size;

	if (fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read");
	if (S_ISDIR(status.st_mode))
		return 0;
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_IO, "not a regular file");
	size = (size_t)status.st_size;
	if (first)
		return read_all(fd, size < FIRST_BYTES ? size : FIRST_BYTES, arena, out, error);
	if (size > limit)
		return error_set(error, ERROR_LIMIT, "%zu bytes; the limit is %zu", size, limit);
	return read_all(fd, size, arena, out, error);
}

static int read_file(struct tree *tree, struct slice child, const char *file, size_t limit,
                     bool first, struct arena *arena, struct slice *out, struct error *error)
{
	char name[NAME_ROOM];
	CLEANUP(cleanup_close) int fd = -1;

	if (!join(name, child, file))
		return error_errno(error, ENAMETOOLONG, "cannot open");
	fd = openat(tree->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return is_absent(errno) ? 0 : error_errno(error, errno, "cannot open");
	return read_open_file(fd, limit, first, arena, out, error);
}

static bool status_of(struct tree *tree, struct slice child, const char *file, struct stat *status)
{
	char name[NAME_ROOM];

	return join(name, child, file) && fstatat(tree->fd, name, status, 0) == 0;
}

static bool exists(struct tree *tree, struct slice child, const char *file)
{
	struct stat status;

	return status_of(tree, child, file, &status);
}

static bool is_file(struct tree *tree, struct slice child)
{
	struct stat status;

	return status_of(tree, child, "", &status) && S_ISREG(status.st_mode);
}

static bool has_stem(struct tree *tree, struct slice child)
{
	(void)tree;
	(void)child;
	return true;
}

/* Times and size of one file, folded into @words; the newest time is kept. */
static size_t add_words(int64_t *words, const struct stat *status, int64_t *newest)
{
	struct stamp stamp = stamp_of(status);

	words[0] = stamp.mtime;
	words[1] = stamp.ctime;
	words[2] = S_ISDIR(status->st_mode) ? 0 : (int64_t)status->st_size;
	words[3] = stamp.dev;
	if (stamp.mtime > *newest)
		*newest = stamp.mtime;
	if (stamp.ctime > *newest)
		*newest = stamp.ctime;
	return 4;
}

static void stamps(struct tree *tree, struct slice child, struct distribution_record *out,
                   int64_t *newest)
{
	int64_t words[8];
	struct stat status;
	size_t count = 0;

	if (status_of(tree, child, "", &status))
		count = add_words(words, &status, newest);
	out->directory_stamp = (int64_t)name_map_hash(words, count * sizeof(*words));
	count = 0;
	if (status_of(tree, child, "entry_points.txt", &status))
		count = add_words(words, &status, newest);
	if (status_of(tree, child, "METADATA", &status) ||
	    status_of(tree, child, "PKG-INFO", &status))
		count += add_words(words + count, &status, newest);
	out->files_stamp = (int64_t)name_map_hash(words, count * sizeof(*words));
}

static void close_directory(struct tree *tree)
{
	close(tree->fd);
	free(tree);
}

int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error)
{
	static const struct tree_operations operations = {
	        .children = children,
	        .read = read_file,
	        .exists = exists,
	        .is_file = is_file,
	        .has_stem = has_stem,
	        .stamps = stamps,
	        .close = close_directory,
	};
	struct tree *tree = malloc(sizeof(*tree));

	if (!tree) {
		close(fd);
		return error_nomem(error);
	}
	*tree = (struct tree){&operations, ROOT_DIRECTORY, stamp, fd};
	*out = tree;
	return 0;
}

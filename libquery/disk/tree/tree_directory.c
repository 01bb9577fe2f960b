/*
 * tree_directory.c - reads distributions that lie in a directory.
 *
 * The order of readdir is kept, since the answers of importlib.metadata depend on it. Files are
 * opened relative to the directory's descriptor: shorter walks for the kernel, and no race with a
 * rename above.
 */
#include "libquery/disk/tree/tree_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/hash.h"
#include "db/base/libc.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "libquery/disk/tree/ahead.h"

#define ENTRIES_SIZE ((size_t)64 * 1024) /* bytes for one call of getdents64 */
#define FIRST_BYTES  ((size_t)8 * 1024)  /* what "the beginning" of a file means */
#define NAME_ROOM    ((size_t)4096)      /* bytes; PATH_MAX, as the kernel counts */

#define EXPECTED "entry_points.txt"

struct directory {
	struct tree tree; /* first: it is known as this */
	const struct distribution_record *expected;
	size_t expected_count, next;
	struct ahead_pace pace;
	struct ahead *ahead;
};

/* --- listing --- */

static int give_children(const char *buffer, ssize_t len, tree_each *each, void *payload)
{
	int answer = 0;

	for (ssize_t at = 0; answer == 0 && at < len;) {
		const struct dirent64 *entry = (const void *)(buffer + at);

		at += entry->d_reclen;
		answer = each(payload, slice_of(entry->d_name));
	}
	return answer;
}

static ssize_t list_some(int fd, char *buffer)
{
	ssize_t len;

	do {
		len = getdents64(fd, buffer, ENTRIES_SIZE);
	} while (len < 0 && errno == EINTR);
	return len;
}

/* A directory that fails half-way cannot be listed: os.listdir() raises, too. */
static int children(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	CLEANUP(cleanup_free) char *buffer = malloc(ENTRIES_SIZE);
	ssize_t len;
	int answer;

	if (!buffer)
		return error_nomem(error);
	if (lseek(tree->fd, 0, SEEK_SET) < 0)
		return error_errno(error, errno, "cannot list");
	while ((len = list_some(tree->fd, buffer)) > 0) {
		answer = give_children(buffer, len, each, payload);
		if (answer != 0)
			return answer;
	}
	return len == 0 ? 0 : error_errno(error, errno, "cannot list");
}

/* --- reading --- */

/*
 * What importlib.metadata suppresses: FileNotFoundError, NotADirectoryError,
 * IsADirectoryError, PermissionError.
 */
static bool is_absent(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == EISDIR || errnum == EACCES ||
	       errnum == EPERM;
}

/* The file's name relative to the directory, in NAME_ROOM bytes; false when it is too long. */
static bool name_of(char *room, struct slice child, const char *file)
{
	if (path_room(child, slice_of(file)) > NAME_ROOM)
		return false;
	path_join(room, child, slice_of(file));
	return true;
}

static void withhold_unless(struct tree *tree, mode_t mode)
{
	if ((mode & tree->readers) != tree->readers) /* threads may look, but for no readers */
		tree->withheld = true;
}

/* openat() that follows no link; ELOOP: there is one, or it cannot be told. */
static int open_without_links(int directory, const char *name)
{
	struct open_how how = {
	        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
	        .resolve = RESOLVE_NO_SYMLINKS,
	};
	long fd;

	do {
		fd = syscall(SYS_openat2, directory, name, &how, sizeof(how));
	} while (fd < 0 && errno == EINTR);
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* an old kernel, or a sandbox */
		errno = ELOOP;
	return (int)fd;
}

/* What others could have led elsewhere, or could not reach themselves, is not told them. */
static int open_by_links(struct tree *tree, const char *name)
{
	CLEANUP(cleanup_free) char *directory = file_real_path(tree->fd);
	CLEANUP(cleanup_free) char *path = directory ? text_format("%s/%s", directory, name) : NULL;
	mode_t search;
	int fd = -1;

	if (path && safe_publish_open(path, &fd, &search) == 0 &&
	    (search & tree->readers) == tree->readers)
		return fd;
	cleanup_close(&fd);
	tree->withheld = true;
	errno = EACCES;
	return -1;
}

/* Where root reads in order to publish, links could lead to what only root may read. */
static int open_file(struct tree *tree, const char *name)
{
	int fd;

	if (tree->readers == 0 || geteuid() != 0 || file_sysroot())
		return file_open(tree->fd, name, 0);
	fd = open_without_links(tree->fd, name);
	return fd >= 0 || errno != ELOOP ? fd : open_by_links(tree, name);
}

static int read_all(int fd, size_t room, struct arena *arena, struct slice *out,
                    struct error *error)
{
	char *bytes = arena_alloc(arena, room + 1);
	ssize_t len;

	if (!bytes)
		return error_nomem(error);
	len = file_read(fd, bytes, room);
	if (len < 0)
		return error_errno(error, errno, "cannot read");
	bytes[len] = '\0';
	*out = (struct slice){bytes, (size_t)len};
	return 1;
}

/* 1: *@size bytes of it are to be read; 0: it is no file; or an error. */
static int judge(struct tree *tree, const struct tree_request *request, const struct stat *status,
                 size_t *size, struct error *error)
{
	uint64_t bytes = (uint64_t)status->st_size;

	if (S_ISDIR(status->st_mode))
		return 0;
	if (!S_ISREG(status->st_mode))
		return error_set(error, ERROR_FORMAT, "not a regular file");
	withhold_unless(tree, status->st_mode);
	if (request->first && bytes > FIRST_BYTES)
		bytes = FIRST_BYTES;
	if (bytes > request->limit)
		return error_set(error, ERROR_LIMIT, "%llu bytes; the limit is %zu",
		                 (unsigned long long)bytes, request->limit);
	*size = (size_t)bytes;
	return 1;
}

static int read_open_file(struct tree *tree, int fd, const struct tree_request *request,
                          struct arena *arena, struct slice *out, struct error *error)
{
	struct stat status;
	size_t size;
	int code;

	if (fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read");
	code = judge(tree, request, &status, &size, error);
	return code > 0 ? read_all(fd, size, arena, out, error) : code;
}

static int read_now(struct tree *tree, const struct tree_request *request, struct arena *arena,
                    struct slice *out, struct error *error)
{
	char name[NAME_ROOM];
	CLEANUP(cleanup_close) int fd = -1;

	if (!name_of(name, request->child, request->file))
		return error_errno(error, ENAMETOOLONG, "cannot open");
	fd = open_file(tree, name);
	if (fd < 0)
		return is_absent(errno) ? 0 : error_errno(error, errno, "cannot open");
	return read_open_file(tree, fd, request, arena, out, error);
}

/* --- reading ahead --- */

static void read_one_ahead(const void *payload, size_t index, struct ahead_file *out)
{
	const struct directory *directory = payload;
	CLEANUP(cleanup_close) int fd = -1;
	char name[NAME_ROOM];
	ssize_t len = -1;

	out->left = true;
	if (directory->expected[index].unread || directory->expected[index].reused ||
	    !name_of(name, directory->expected[index].directory, EXPECTED))
		return;
	fd = file_open(directory->tree.fd, name, 0);
	if (fd < 0) {
		out->errnum = errno;
		out->left = errno_is_failure(errno); /* such as too many open files */
		return;
	}
	if (fstat(fd, &out->status) != 0 ||
	    (S_ISREG(out->status.st_mode) && (uint64_t)out->status.st_size > AHEAD_BYTES))
		return;
	if (S_ISREG(out->status.st_mode))
		out->bytes = malloc((size_t)out->status.st_size + 1);
	if (out->bytes)
		len = file_read(fd, out->bytes, (size_t)out->status.st_size);
	out->len = len < 0 ? 0 : (size_t)len;
	out->left = S_ISREG(out->status.st_mode) && len < 0;
}

/* What was read ahead, as if it were read now. */
static int use_file(struct tree *tree, const struct ahead_file *file,
                    const struct tree_request *request, struct arena *arena, struct slice *out,
                    struct error *error)
{
	bool failed = false;
	size_t size;
	int code;

	if (file->errnum)
		return is_absent(file->errnum) ? 0
		                               : error_errno(error, file->errnum, "cannot open");
	code = judge(tree, request, &file->status, &size, error);
	if (code <= 0)
		return code;
	*out = arena_copy(arena, (struct slice){file->bytes, file->len}, &failed);
	return failed ? error_nomem(error) : 1;
}

/* Is this the next file that is expected, some being left out? Then directory->next is its number.
 */
static bool is_expected(struct directory *directory, const struct tree_request *request)
{
	size_t next = directory->next;

	if (strcmp(request->file, EXPECTED) != 0)
		return false;
	while (next < directory->expected_count &&
	       directory->expected[next].directory.ptr != request->child.ptr)
		next++;
	if (next == directory->expected_count)
		return false;
	directory->next = next;
	return true;
}

static int read_file(struct tree *tree, const struct tree_request *request, struct arena *arena,
                     struct slice *out, struct error *error)
{
	struct directory *directory = (struct directory *)tree;
	struct ahead_file file;
	int64_t began;
	size_t left;
	int code;

	if (!is_expected(directory, request))
		return read_now(tree, request, arena, out, error);
	if (!directory->ahead) {
		began = nanoseconds_now(CLOCK_MONOTONIC);
		code = read_now(tree, request, arena, out, error);
		left = directory->expected_count - directory->next - 1;
		if (ahead_pays(&directory->pace, began, left))
			directory->ahead =
			        ahead_begin(read_one_ahead, directory, directory->next + 1,
			                    directory->expected_count);
	} else {
		ahead_take(directory->ahead, directory->next, &file);
		code = file.left ? read_now(tree, request, arena, out, error)
		                 : use_file(tree, &file, request, arena, out, error);
		free(file.bytes);
	}
	directory->next++;
	return code;
}

/* Whoever reads in order to publish asks who has made a link, and that not in threads. */
static void expect(struct tree *tree, const struct distribution_record *distributions, size_t count)
{
	struct directory *directory = (struct directory *)tree;

	ahead_end(take(directory->ahead));
	directory->expected = distributions;
	directory->expected_count = tree->readers ? 0 : count;
	directory->next = 0;
	directory->pace = (struct ahead_pace){0};
}

/* --- looking --- */

/* 1: it is there; 0: it is not; or a failure. */
static int status_of(struct tree *tree, struct slice child, const char *file, struct stat *status,
                     struct error *error)
{
	char name[NAME_ROOM];

	if (!name_of(name, child, file))
		return 0;
	return file_status(tree->fd, name, status, error);
}

static int exists(struct tree *tree, struct slice child, const char *file, struct error *error)
{
	struct stat status;

	return status_of(tree, child, file, &status, error);
}

static int is_file(struct tree *tree, struct slice child, struct error *error)
{
	struct stat status;
	int code = status_of(tree, child, "", &status, error);

	return code > 0 ? S_ISREG(status.st_mode) : code;
}

/* Times and size of one file, folded into @words; the newest time is kept. */
static size_t add_words(uint64_t *words, const struct stat *status, int64_t *newest)
{
	struct stamp stamp = stamp_of(status);

	words[0] = (uint64_t)stamp.mtime;
	words[1] = (uint64_t)stamp.ctime;
	words[2] = S_ISDIR(status->st_mode) ? 0 : (uint64_t)status->st_size;
	words[3] = (uint64_t)stamp.inode;
	if (stamp.mtime > *newest)
		*newest = stamp.mtime;
	if (stamp.ctime > *newest)
		*newest = stamp.ctime;
	return 4;
}

static struct outline outline_of(struct tree *tree, const struct stat *status)
{
	withhold_unless(tree, status->st_mode);
	return (struct outline){
	        .exists = true,
	        .size = (int64_t)status->st_size,
	        .mtime = stamp_of(status).mtime,
	};
}

/* The status of the file that has the metadata. */
static int metadata_status(struct tree *tree, struct slice child, struct stat *status,
                           struct error *error)
{
	int found = status_of(tree, child, "METADATA", status, error);

	return found == 0 ? status_of(tree, child, "PKG-INFO", status, error) : found;
}

/* What was not in a directory that has not changed is not in it now. */
static bool is_still_without(const struct distribution_record *known, int64_t directory_stamp)
{
	return known && known->settled && known->directory_stamp == directory_stamp &&
	       !known->entry_points_txt.exists;
}

static int stamps(struct tree *tree, const struct distribution_record *known,
                  struct distribution_record *out, int64_t *newest, struct error *error)
{
	struct slice child = out->directory;
	uint64_t words[8];
	struct stat status;
	size_t count = 0;
	int code = status_of(tree, child, "", &status, error);

	if (code > 0) {
		count = add_words(words, &status, newest);
		if (S_ISDIR(status.st_mode)) /* to be searched by all who may read */
			withhold_unless(tree, (status.st_mode & 0111) << 2);
		else
			out->metadata = outline_of(tree, &status);
	}
	out->directory_stamp = (int64_t)hash_numbers(words, count);
	count = 0;
	if (code >= 0)
		code = is_still_without(known, out->directory_stamp)
		               ? 0
		               : status_of(tree, child, "entry_points.txt", &status, error);
	if (code > 0) {
		count = add_words(words, &status, newest);
		out->entry_points_txt = outline_of(tree, &status);
	}
	if (code >= 0)
		code = metadata_status(tree, child, &status, error);
	if (code > 0) {
		count += add_words(words + count, &status, newest);
		out->metadata = outline_of(tree, &status);
	}
	out->files_stamp = (int64_t)hash_numbers(words, count);
	return code < 0 ? code : 0;
}

static int directory_stamp(struct tree *tree, struct slice child, int64_t *out, struct error *error)
{
	uint64_t words[4];
	int64_t unused = 0;
	struct stat status;
	int code = status_of(tree, child, "", &status, error);

	if (code >= 0)
		*out = (int64_t)hash_numbers(words,
		                             code > 0 ? add_words(words, &status, &unused) : 0);
	return code < 0 ? code : 0;
}

static int outline(struct tree *tree, struct slice child, enum tree_part part, struct outline *out,
                   struct error *error)
{
	struct stat status;
	int code = part == TREE_ENTRY_POINTS
	                   ? status_of(tree, child, "entry_points.txt", &status, error)
	                   : metadata_status(tree, child, &status, error);

	if (code == 0 && part == TREE_METADATA) {
		code = status_of(tree, child, "", &status, error);
		if (code > 0)
			code = !S_ISDIR(status.st_mode);
	}
	if (code > 0)
		*out = outline_of(tree, &status);
	return code < 0 ? code : 0;
}

/* --- opening --- */

static void close_directory(struct tree *tree)
{
	struct directory *directory = (struct directory *)tree;

	ahead_end(directory->ahead);
	close(tree->fd);
	free(directory);
}

int tree_open_directory(int fd, struct stamp stamp, struct tree **out, struct error *error)
{
	static const struct tree_operations operations = {
	        .children = children,
	        .read = read_file,
	        .exists = exists,
	        .is_file = is_file,
	        .stamps = stamps,
	        .directory_stamp = directory_stamp,
	        .outline = outline,
	        .expect = expect,
	        .close = close_directory,
	};
	struct directory *directory = calloc(1, sizeof(*directory));

	if (!directory) {
		close(fd);
		return error_nomem(error);
	}
	directory->tree = (struct tree){
	        .operations = &operations,
	        .kind = ROOT_DIRECTORY,
	        .stamp = stamp,
	        .fd = fd,
	};
	*out = &directory->tree;
	return 0;
}

/*
 * unpack.c - applies the layers of an image in order; see unpack.h.
 */
#include "indexer/image/unpack.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/arena.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "indexer/archive/archive_module.h"
#include "indexer/message.h"

#define STEPS_MAX (UNPACK_DEPTH_MAX + 40) /* nested calls; the kernel follows 40 links */

#define WHITEOUT SLICE(".wh.")
#define OPAQUE   SLICE(".wh..wh..opq")

struct unpack {
	const struct image *image;
	const char *directory;
	struct name_map placed;  /* inodes created by this layer: its whiteouts keep them */
	struct arena arena;      /* of placed */
	uint64_t members, bytes; /* totals of all layers */
	struct sha256 sha;
	uint64_t input;
	int fd;                       /* the file being written */
	struct archive_member member; /* its attributes */
};

/* --- whiteouts --- */

static struct slice key_of(const struct stat *status)
{
	return (struct slice){(const char *)&status->st_ino, sizeof(status->st_ino)};
}

static int note_placed(struct unpack *unpack, int directory, const char *name)
{
	struct stat status;
	bool failed = fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0;

	if (!failed)
		name_map_put(&unpack->placed, arena_copy(&unpack->arena, key_of(&status), &failed),
		             0, &failed);
	return failed ? -1 : 0;
}

/*
 * Remove @name recursively, except the members in @kept (or NULL) and the directories above them;
 * "." itself stays. Layers create no directories deeper than UNPACK_DEPTH_MAX.
 */
static int remove_within(int directory, const char *name, const struct name_map *kept)
{
	CLEANUP(cleanup_closedir) DIR *opened = NULL;
	bool is_self = strcmp(name, ".") == 0;
	struct stat status;
	const char *child;
	int left = 0;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -1;
	if (S_ISDIR(status.st_mode)) {
		CLEANUP(cleanup_close)
		int fd = safe_openat(directory, name, O_RDONLY | O_DIRECTORY, 0);

		opened = fd < 0 ? NULL : fdopendir(fd);
		if (!opened)
			return -1;
		take_fd(&fd);
	}
	while (opened && (left = file_next(opened, &child)) > 0)
		if (strcmp(child, ".") != 0 && strcmp(child, "..") != 0 &&
		    remove_within(dirfd(opened), child, kept) != 0)
			return -1;
	if (left < 0 || is_self)
		return left;
	if (kept && name_map_get(kept, key_of(&status)) != NAME_MAP_NONE)
		return 0;
	return unlinkat(directory, name, opened ? AT_REMOVEDIR : 0) == 0 || errno == ENOTEMPTY ? 0
	                                                                                       : -1;
}

int unpack_remove(int directory, const char *name)
{
	return remove_within(directory, name, NULL);
}

static int apply_whiteout(struct unpack *unpack, int directory, const char *name,
                          struct error *error)
{
	const char *gone = name + WHITEOUT.len;

	if (slice_equal(slice_of(name), OPAQUE))
		gone = ".";
	else if (slice_starts(slice_of(gone), WHITEOUT)) /* a special file of AUFS */
		return 0;
	else if (!*gone || strcmp(gone, ".") == 0 || strcmp(gone, "..") == 0)
		return error_set(error, ERROR_FORMAT, "a whiteout of nothing that can be removed");
	return remove_within(directory, gone, &unpack->placed) == 0
	               ? 0
	               : error_errno(error, errno, "cannot be removed");
}

/* --- directories --- */

static int open_directory(const struct unpack *unpack, struct slice path)
{
	CLEANUP(cleanup_free)
	char *name = text_format("%s/%.*s", unpack->directory, (int)path.len, path.ptr);

	return name ? file_open(AT_FDCWD, name, O_PATH | O_DIRECTORY) : -1;
}

/* Limit the depth, also through links: deeper directories could not be removed again. */
static int make_directory(const struct unpack *unpack, int above, const char *name)
{
	CLEANUP(cleanup_free) char *real = file_real_path(above);
	size_t depth = 0;

	for (const char *at = real ? real + strlen(unpack->directory) : NULL; at && *at; at++)
		depth += *at == '/';
	if (real && depth < UNPACK_DEPTH_MAX)
		return mkdirat(above, name, 0755);
	errno = ENAMETOOLONG;
	return -1;
}

/*
 * Open the directory @path; create it and those above it if they are missing, also the target of a
 * link. Fails after @steps nested calls. -1 and errno.
 */
static int reach_directory(const struct unpack *unpack, struct slice path, int steps)
{
	struct slice name = path_base(path);
	CLEANUP(cleanup_free) char *copy = NULL;
	CLEANUP(cleanup_free) char *real = NULL;
	CLEANUP(cleanup_free) char *leads = NULL;
	CLEANUP(cleanup_close) int parent = -1;
	CLEANUP(cleanup_close) int target = open_directory(unpack, path);
	char link[PATH_MAX];
	ssize_t len;

	if (target >= 0 || errno != ENOENT || path.len == 0)
		return take_fd(&target);
	errno = ENAMETOOLONG;
	parent = steps > 0 ? reach_directory(unpack, path_directory(path), steps - 1) : -1;
	copy = parent < 0 ? NULL : strndup(name.ptr, name.len);
	if (!copy)
		return -1;
	if (make_directory(unpack, parent, copy) == 0)
		return open_directory(unpack, path);
	len = errno == EEXIST ? readlinkat(parent, copy, link, sizeof(link)) : -1;
	real = len < 0 ? NULL : file_real_path(parent);
	if (real && strlen(real) >= strlen(unpack->directory))
		leads = text_format("%s/%.*s",
		                    link[0] == '/' ? "" : real + strlen(unpack->directory),
		                    (int)len, link);
	if (leads)
		target = reach_directory(unpack, slice_of(leads), steps - 1);
	return target < 0 ? -1 : open_directory(unpack, path);
}

/*
 * Open the parent directory of @path; *@name, malloc'd, is the last component, NULL for the root.
 * @make: create it, for a member; false for the target of a hard link.
 */
static int find_place(const struct unpack *unpack, struct slice path, bool make, int *directory,
                      char **name, struct error *error)
{
	CLEANUP(cleanup_free) char *tidy = text_format("/%.*s", (int)path.len, path.ptr);
	struct slice all, above;

	if (!tidy)
		return error_nomem(error);
	if (!path_tidy(tidy, false) || (make && path.ptr[0] == '/' && tidy[1]))
		return error_set(error, ERROR_FORMAT, "a path that leads out of the image");
	all = slice_from(slice_of(tidy), 1);
	if (all.len == 0)
		return 0;
	above = path_directory(all);
	*name = strdup(path_base(all).ptr);
	*directory =
	        make ? reach_directory(unpack, above, STEPS_MAX) : open_directory(unpack, above);
	return *name && *directory >= 0 ? 0 : error_errno(error, errno, "its directory");
}

/* --- members --- */

/* Permissions of others are kept, for audits. */
static int finish(int fd, const struct archive_member *member)
{
	bool is_directory = member->kind == ARCHIVE_DIRECTORY;
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, member->mtime};

	if (geteuid() == 0 && fchown(fd, member->uid, member->gid) != 0)
		return -1;
	if (fchmod(fd, (member->mode & (0777 | S_ISVTX)) |
	                       (is_directory ? S_IRWXU : S_IRUSR | S_IWUSR)) != 0)
		return -1;
	return is_directory ? 0 : futimens(fd, times);
}

static int place_directory(const struct unpack *unpack, int directory, const char *name,
                           const struct archive_member *member)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode))
		if (unpack_remove(directory, name) != 0 ||
		    make_directory(unpack, directory, name) != 0)
			return -1;
	fd = safe_openat(directory, name, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? -1 : finish(fd, member);
}

static int place_hard_link(struct unpack *unpack, int directory, const char *name, const char *link,
                           struct error *error)
{
	CLEANUP(cleanup_free) char *target = NULL;
	CLEANUP(cleanup_close) int of_target = -1;
	int code = find_place(unpack, slice_of(link), false, &of_target, &target, error);

	if (code == 0 && !target)
		return error_set(error, ERROR_FORMAT, "a hard link to a directory");
	if (code == 0 && linkat(of_target, target, directory, name, 0) != 0)
		return error_errno(error, errno, "a hard link to %s", link);
	return code;
}

/* 1: the content of the file must follow; 0: done; or an error, without the path. */
static int place_member(struct unpack *unpack, const struct archive_member *member,
                        struct error *error)
{
	CLEANUP(cleanup_free) char *name = NULL;
	CLEANUP(cleanup_close) int directory = -1;
	int code, done = 0;

	unpack->bytes += member->kind == ARCHIVE_FILE ? member->size : 0;
	if (++unpack->members > ARCHIVE_MEMBERS_MAX || unpack->bytes > ARCHIVE_UNPACKED_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "the layers have more than 4,194,304 members or 64 GiB");
	code = find_place(unpack, member->path, true, &directory, &name, error);
	if (code < 0 || !name)
		return code;
	if (slice_starts(slice_of(name), WHITEOUT))
		return apply_whiteout(unpack, directory, name, error);
	if (member->kind == ARCHIVE_DIRECTORY)
		done = place_directory(unpack, directory, name, member);
	else
		done = unpack_remove(directory, name);
	if (done == 0 && member->kind == ARCHIVE_SYMLINK)
		done = symlinkat(member->link ? member->link : "", directory, name);
	if (done == 0 && member->kind == ARCHIVE_HARD_LINK)
		code = place_hard_link(unpack, directory, name, member->link, error);
	if (done == 0 && member->kind == ARCHIVE_FILE)
		unpack->fd = done = safe_openat(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (code < 0)
		return code;
	if (done >= 0 && member->kind != ARCHIVE_OTHER)
		done = note_placed(unpack, directory, name);
	unpack->member = *member;
	return done < 0 ? error_errno(error, errno, "cannot be unpacked")
	                : member->kind == ARCHIVE_FILE;
}

/* --- layers --- */

static int take_member(void *payload, const struct archive_member *member, struct error *error)
{
	struct unpack *unpack = payload;
	struct error own = {0};
	int code = unpack->directory ? place_member(unpack, member, &own) : 0;

	if (code < 0)
		error_set(error, code, "%s: %.*s: %s", unpack->image->path, (int)member->path.len,
		          member->path.ptr, error_text(&own));
	error_clear(&own);
	return code;
}

static int could_not_write(const struct unpack *unpack, struct error *error)
{
	struct slice path = unpack->member.path;

	return error_errno(error, errno, "%s: %.*s: cannot be unpacked", unpack->image->path,
	                   (int)path.len, path.ptr);
}

static int take_data(void *payload, struct slice bytes, struct error *error)
{
	struct unpack *unpack = payload;

	return file_write(unpack->fd, bytes.ptr, bytes.len) == 0 ? 0
	                                                         : could_not_write(unpack, error);
}

static int end_file(void *payload, struct slice path, struct slice bytes, struct error *error)
{
	struct unpack *unpack = payload;
	CLEANUP(cleanup_close) int fd = take_fd(&unpack->fd);

	(void)path;
	(void)bytes;
	return finish(fd, &unpack->member) == 0 ? 0 : could_not_write(unpack, error);
}

static void take_input(void *payload, struct slice bytes)
{
	struct unpack *unpack = payload;

	sha256_add(&unpack->sha, bytes.ptr, bytes.len);
	unpack->input += bytes.len;
}

/*
 * @name, from the manifest, contains the digest of the layer; for docker's names without one,
 * @unpacked is the digest of the uncompressed layer. @size: from the manifest, or null.
 */
static int check_layer(struct unpack *unpack, struct slice name, struct slice unpacked,
                       struct slice size, struct error *error)
{
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE + 1], length[32];

	sha256_end(&unpack->sha, digest);
	sha256_hex(digest, hex);
	snprintf(length, sizeof(length), "%llu", (unsigned long long)unpack->input);
	if ((slice_is_null(size) || slice_equal(size, slice_of(length))) &&
	    (slice_equal(image_digest(name), slice_of(hex)) ||
	     (!slice_starts(name, SLICE("sha256:")) &&
	      slice_equal(image_digest(unpacked), slice_of(hex)))))
		return 0;
	return error_set(error, ERROR_CHANGED,
	                 "%s: layer %.*s: has %s bytes with the digest sha256:%s, which are not "
	                 "those that the image names",
	                 unpack->image->path, (int)name.len, name.ptr, length, hex);
}

/* @row: a row of the view "layer". */
static int apply_layer(struct unpack *unpack, struct image *image, struct worksheet_rows *row,
                       struct error *error)
{
	struct slice name = worksheet_text(row, 1), unpacked = worksheet_text(row, 2);
	const struct archive_sink sink = {unpack,
	                                  .file = end_file,
	                                  .stop = interrupted,
	                                  .member = take_member,
	                                  .data = take_data,
	                                  .input = take_input};
	const struct archive_module *module = archive_module_open(error);
	CLEANUP(error_clear) struct error why = {0};
	CLEANUP(cleanup_close) int fd = -1;
	struct image_blob blob;
	int code = module ? 0 : ERROR_LOAD, checked = 0;

	if (code == 0 && slice_is_null(name))
		code = error_set(error, ERROR_FORMAT, "%s: a layer without a digest", image->path);
	if (code == 0)
		code = image_find(image, name, &blob, error);
	if (code < 0)
		return code;
	fd = blob.fd;
	sha256_begin(&unpack->sha);
	unpack->input = 0;
	code = module->walk(&(struct archive_source){.path = image->path,
	                                             .fd = fd,
	                                             .is_tarball = true,
	                                             .offset = blob.offset,
	                                             .size = blob.size},
	                    &sink, &why);
	cleanup_close(&unpack->fd);
	unpack->fd = -1;
	name_map_free(&unpack->placed);
	arena_free(&unpack->arena);
	/* A different digest explains a damaged archive: report it instead. */
	if (code == 0 || code == ERROR_FORMAT)
		checked = check_layer(unpack, name, unpacked, worksheet_text(row, 3), error);
	return checked < 0 ? checked : error_move(error, &why);
}

int image_unpack(struct image *image, const char *directory, bool quiet, struct error *error)
{
	struct unpack unpack = {.image = image, .directory = directory, .fd = -1};
	struct progress progress = progress_begin(directory ? "unpacking" : "reading", quiet);
	const struct fact *key = FACTS(fact(image->manifest));
	struct worksheet_rows *row = worksheet_walk(image->sheet, "layers", key);
	size_t count = worksheet_next(row) ? (size_t)worksheet_number(row, 1) : 0;
	int code = worksheet_failure(image->sheet, error);

	if (code == 0 && count > IMAGE_LAYERS_MAX)
		code = error_set(error, ERROR_LIMIT, "%s: more than 1,000 layers", image->path);
	row = worksheet_walk(image->sheet, "layer", key);
	for (size_t i = 0; code == 0 && worksheet_next(row); i++) {
		progress_show(&progress, worksheet_text(row, 1).ptr, i, count);
		code = apply_layer(&unpack, image, row, error);
	}
	progress_erase(&progress);
	return code < 0 ? code : worksheet_failure(image->sheet, error);
}

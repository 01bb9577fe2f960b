/*
 * unpack.c - applies the layers of an image in order; see unpack.h.
 */
#include "indexer/image/unpack.h"

#include <errno.h>
#include <ftw.h>
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

#define STEPS_MAX        (256 + 40) /* nested calls: directories, and links as the kernel follows */
#define WALK_DESCRIPTORS 32
#define FILE_BY_FD       "/proc/self/fd/%d/%s" /* a directory, and a name in it */

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
	int parent;         /* the directory of the current member; -1 */
	char *name, *place; /* its name there, and its path by the descriptor; malloc'd */
};

/* --- whiteouts --- */

static struct slice key_of(const struct stat *status)
{
	return (struct slice){(const char *)&status->st_ino, sizeof(status->st_ino)};
}

static int note_placed(struct unpack *unpack, struct error *error)
{
	struct stat status;
	bool failed = false;

	if (fstatat(unpack->parent, unpack->name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return error_errno(error, errno, "cannot be unpacked");
	name_map_put(&unpack->placed, arena_copy(&unpack->arena, key_of(&status), &failed), 0,
	             &failed);
	return failed ? error_nomem(error) : 0;
}

static int check_totals(const struct unpack *unpack, struct error *error)
{
	if (unpack->members <= ARCHIVE_MEMBERS_MAX && unpack->bytes <= ARCHIVE_UNPACKED_MAX)
		return 0;
	return error_set(error, ERROR_LIMIT,
	                 "the layers have more than 4,194,304 members or 64 GiB");
}

static struct unpack *whiteout_of; /* for nftw(), which passes no payload */

/* What remains counts as a member: each of many whiteouts may meet it. */
static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	bool is_kept = strcmp(path + walk->base, ".") == 0 ||
	               (whiteout_of &&
	                name_map_get(&whiteout_of->placed, key_of(status)) != NAME_MAP_NONE);

	(void)type;
	if (!is_kept && remove(path) == 0)
		return 0;
	if (!is_kept && errno != ENOTEMPTY && errno != EEXIST)
		return -1;
	return whiteout_of && ++whiteout_of->members > ARCHIVE_MEMBERS_MAX ? -1 : 0;
}

/*
 * Remove @name recursively; for a whiteout of @unpack (or NULL), except the members that its layer
 * has placed, and the directories above them. "." itself stays. Nobody else can write in the tree,
 * and its paths are short: open_directory().
 */
static int remove_within(int directory, const char *name, struct unpack *unpack)
{
	CLEANUP(cleanup_free) char *path = text_format(FILE_BY_FD, directory, name);

	whiteout_of = unpack;
	if (!path)
		return -1;
	if (nftw(path, remove_one, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0)
		return 0;
	return errno == ENOENT ? 0 : -1;
}

int unpack_remove(int directory, const char *name)
{
	return remove_within(directory, name, NULL);
}

static int apply_whiteout(struct unpack *unpack, struct error *error)
{
	const char *gone = unpack->name + WHITEOUT.len;

	if (slice_equal(slice_of(unpack->name), OPAQUE))
		gone = ".";
	else if (slice_starts(slice_of(gone), WHITEOUT)) /* a special file of AUFS */
		return 0;
	else if (!*gone || strcmp(gone, ".") == 0 || strcmp(gone, "..") == 0)
		return error_set(error, ERROR_FORMAT, "a whiteout of nothing that can be removed");
	if (remove_within(unpack->parent, gone, unpack) == 0)
		return 0;
	return check_totals(unpack, error) < 0 ? ERROR_LIMIT
	                                       : error_errno(error, errno, "cannot be removed");
}

/* --- directories --- */

/* Longer paths, also through links, could not be removed again. */
static int open_directory(const struct unpack *unpack, struct slice path)
{
	CLEANUP(cleanup_free)
	char *name = text_format("%s/%.*s", unpack->directory, (int)path.len, path.ptr);
	CLEANUP(cleanup_close)
	int fd = name ? file_open(AT_FDCWD, name, O_PATH | O_DIRECTORY) : -1;
	CLEANUP(cleanup_free) char *real = fd < 0 ? NULL : file_real_path(fd);

	if (fd < 0 || (real && strlen(real) < strlen(unpack->directory) + UNPACK_PATH_MAX))
		return take_fd(&fd);
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
	if (mkdirat(parent, copy, 0755) == 0)
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

static void end_member(struct unpack *unpack)
{
	cleanup_close(&unpack->parent);
	unpack->parent = -1;
	free(take(unpack->name));
	free(take(unpack->place));
}

/* Remove what is in the way; an existing directory stays one. */
static int make_room(const struct unpack *unpack, const struct archive_member *member)
{
	struct stat status;

	if (S_ISDIR(member->mode) &&
	    fstatat(unpack->parent, unpack->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(status.st_mode))
		return 0;
	return unpack_remove(unpack->parent, unpack->name);
}

static int place_hard_link(struct unpack *unpack, const char *link, struct error *error)
{
	CLEANUP(cleanup_free) char *target = NULL;
	CLEANUP(cleanup_close) int of_target = -1;
	int code = find_place(unpack, slice_of(link), false, &of_target, &target, error);

	if (code == 0 && !target)
		return error_set(error, ERROR_FORMAT, "a hard link to a directory");
	if (code == 0 && linkat(of_target, target, unpack->parent, unpack->name, 0) != 0)
		return error_errno(error, errno, "a hard link to %s", link);
	return code < 0 ? code : note_placed(unpack, error);
}

/* 1: it must be created as unpack->place; 0: done; or an error, without the path. */
static int place_member(struct unpack *unpack, struct archive_member *member, struct error *error)
{
	mode_t type = member->mode & S_IFMT;
	int code;

	unpack->bytes += type == S_IFREG ? member->size : 0;
	unpack->members++;
	code = check_totals(unpack, error);
	if (code < 0)
		return code;
	code = find_place(unpack, member->path, true, &unpack->parent, &unpack->name, error);
	if (code < 0 || !unpack->name)
		return code;
	if (slice_starts(slice_of(unpack->name), WHITEOUT))
		return apply_whiteout(unpack, error);
	if (make_room(unpack, member) != 0)
		return error_errno(error, errno, "cannot be unpacked");
	if (member->is_hard_link)
		return place_hard_link(unpack, member->link, error);
	/* Permissions of others are kept, for audits. */
	member->mode &= S_IFMT | 0777 | S_ISVTX;
	member->mode |= type == S_IFDIR ? S_IRWXU : S_IRUSR | S_IWUSR;
	unpack->place = text_format(FILE_BY_FD, unpack->parent, unpack->name);
	return unpack->place ? type == S_IFREG || type == S_IFDIR || type == S_IFLNK
	                     : error_nomem(error);
}

/* --- layers --- */

static int take_member(void *payload, struct archive_member *member, const char **place,
                       struct error *error)
{
	struct unpack *unpack = payload;
	struct error own = {0};
	int code = unpack->directory ? place_member(unpack, member, &own) : 0;

	if (code < 0)
		error_set(error, code, "%s: %.*s: %s", unpack->image->path, (int)member->path.len,
		          member->path.ptr, error_text(&own));
	error_clear(&own);
	*place = unpack->place;
	if (code <= 0)
		end_member(unpack);
	return code;
}

static int member_placed(void *payload, struct slice path, struct slice bytes, struct error *error)
{
	struct unpack *unpack = payload;
	int code = note_placed(unpack, error);

	(void)path;
	(void)bytes;
	end_member(unpack);
	return code;
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
	const struct archive_sink sink = {unpack, .file = member_placed, .stop = interrupted,
	                                  .member = take_member, .input = take_input};
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
	end_member(unpack);
	name_map_free(&unpack->placed);
	arena_free(&unpack->arena);
	/* A different digest explains a damaged archive: report it instead. */
	if (code == 0 || code == ERROR_FORMAT)
		checked = check_layer(unpack, name, unpacked, worksheet_text(row, 3), error);
	return checked < 0 ? checked : error_move(error, &why);
}

int image_unpack(struct image *image, const char *directory, bool quiet, struct error *error)
{
	struct unpack unpack = {.image = image, .directory = directory, .parent = -1};
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

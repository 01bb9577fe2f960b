/*
 * unpack.c - applies the layers of an image, one after the other; see unpack.h.
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
#include "libquery/layout.h"

#define LINKS_MAX 40 /* as in the kernel */

#define WHITEOUT SLICE(".wh.")
#define OPAQUE   SLICE(".wh..wh..opq")

/* What this layer has put where: by the directory's inode and the name. */
struct placed {
	struct name_map map;
	struct arena keys;
	bool failed;
};

struct unpack {
	const struct image *image;
	const char *directory;
	const struct unpack_options *options;
	struct placed placed;
	uint64_t members, bytes; /* of all layers */
	struct sha256 sha;
	uint64_t input;
	int fd;                       /* of the file that is being written, */
	struct archive_member member; /* and what it will be */
};

static void unpack_end(struct unpack *unpack)
{
	cleanup_close(&unpack->fd);
	name_map_free(&unpack->placed.map);
	arena_free(&unpack->placed.keys);
}

/* --- removing --- */

#define KEY_ROOM (24 + 1 + 256) /* bytes: of a number, a slash, a name */

static struct slice key_of(char room[KEY_ROOM], int directory, const char *name)
{
	struct stat status;

	if (fstat(directory, &status) != 0)
		return SLICE("");
	snprintf(room, KEY_ROOM, "%llu/%s", (unsigned long long)status.st_ino, name);
	return slice_of(room);
}

static bool is_placed(const struct placed *placed, int directory, const char *name)
{
	char room[KEY_ROOM];

	return placed && placed->map.count > 0 &&
	       name_map_get(&placed->map, key_of(room, directory, name)) != NAME_MAP_NONE;
}

static void note_placed(struct placed *placed, int directory, const char *name)
{
	char room[KEY_ROOM];
	struct slice key =
	        arena_copy(&placed->keys, key_of(room, directory, name), &placed->failed);

	if (!placed->failed)
		name_map_put(&placed->map, key, 0, &placed->failed);
}

static int remove_within(int directory, const char *name, const struct placed *kept);

/* All in the directory, but what is @kept. */
static int empty(int directory, const char *within, const struct placed *kept)
{
	CLEANUP(cleanup_close) int fd = safe_openat(directory, within, O_RDONLY | O_DIRECTORY, 0);
	CLEANUP(cleanup_closedir) DIR *opened = fd < 0 ? NULL : fdopendir(fd);
	const char *name;
	int code = 0, left = opened ? 1 : -1;

	if (opened)
		take_fd(&fd);
	while (code == 0 && opened && (left = file_next(opened, &name)) > 0)
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			code = remove_within(dirfd(opened), name, kept);
	return left < 0 ? -1 : code;
}

/* A directory stays that holds what is @kept. Layers make none deeper than UNPACK_DEPTH_MAX. */
static int remove_within(int directory, const char *name, const struct placed *kept)
{
	struct stat status;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(status.st_mode))
		return is_placed(kept, directory, name) ? 0 : unlinkat(directory, name, 0);
	if (empty(directory, name, kept) != 0)
		return -1;
	if (is_placed(kept, directory, name))
		return 0;
	return unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOTEMPTY ? 0 : -1;
}

int unpack_remove(int directory, const char *name)
{
	return remove_within(directory, name, NULL);
}

/* --- the directory of a member --- */

static int open_directory(const struct unpack *unpack, struct slice path)
{
	CLEANUP(cleanup_free)
	char *name = text_format("%s/%.*s", unpack->directory, (int)path.len, path.ptr);

	return name ? file_open(AT_FDCWD, name, O_PATH | O_DIRECTORY) : -1;
}

/* However links led there. */
static bool is_too_deep(const struct unpack *unpack, int directory)
{
	CLEANUP(cleanup_free) char *real = file_real_path(directory);
	size_t depth = 0;

	for (const char *at = real ? real + strlen(unpack->directory) : NULL; at && *at; at++)
		depth += *at == '/';
	return !real || depth >= UNPACK_DEPTH_MAX;
}

static int make_directory(const struct unpack *unpack, int above, const char *name)
{
	if (is_too_deep(unpack, above)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return mkdirat(above, name, 0755);
}

/*
 * Opened, and made with those above it where a layer leaves that out; also what a link leads to
 * that no layer has made. -1 and errno.
 */
static int reach_directory(const struct unpack *unpack, struct slice path, int links)
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
	parent = reach_directory(unpack, path_directory(path), links);
	copy = parent < 0 ? NULL : strndup(name.ptr, name.len);
	if (!copy)
		return -1;
	if (make_directory(unpack, parent, copy) == 0)
		return open_directory(unpack, path);
	len = errno == EEXIST && links > 0 ? readlinkat(parent, copy, link, sizeof(link)) : -1;
	real = len < 0 ? NULL : file_real_path(parent);
	if (real && strlen(real) >= strlen(unpack->directory))
		leads = text_format("%s/%.*s",
		                    link[0] == '/' ? "" : real + strlen(unpack->directory),
		                    (int)len, link);
	if (leads)
		target = reach_directory(unpack, slice_of(leads), links - 1);
	return target < 0 ? -1 : open_directory(unpack, path);
}

/* --- one member --- */

/*
 * Where a member goes: @directory is opened, *@name its last name, which is malloc'd; NULL: it is
 * the root itself.
 */
struct place {
	int directory;
	char *name;
};

#define PLACE_INIT ((struct place){.directory = -1})

static void place_end(struct place *place)
{
	cleanup_close(&place->directory);
	free(place->name);
}

static int find_place(const struct unpack *unpack, struct slice path, bool make, struct place *out,
                      struct error *error)
{
	CLEANUP(cleanup_free) char *tidy = text_format("/%.*s", (int)path.len, path.ptr);
	struct slice all, above;

	if (!tidy)
		return error_nomem(error);
	if (!path_tidy(tidy, false) || (make && path.ptr[0] == '/' && tidy[1]))
		return error_set(error, ERROR_FORMAT, "a path that leads out of the image");
	all = slice_from(slice_of(tidy), 1);
	above = path_directory(all);
	if (all.len == 0)
		return 0;
	out->name = strdup(path_base(all).ptr);
	if (!out->name)
		return error_nomem(error);
	out->directory =
	        make ? reach_directory(unpack, above, LINKS_MAX) : open_directory(unpack, above);
	return out->directory >= 0 ? 0 : error_errno(error, errno, "its directory");
}

/* Directories stay what they are; anything else makes room. */
static int make_room(const struct place *place, bool for_directory)
{
	struct stat status;

	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -1;
	if (for_directory && S_ISDIR(status.st_mode))
		return 1;
	return remove_within(place->directory, place->name, NULL);
}

/* The permissions of others are the image's, for audits to judge. */
static int finish(int fd, const struct archive_member *member)
{
	mode_t own = member->kind == ARCHIVE_DIRECTORY ? S_IRWXU : S_IRUSR | S_IWUSR;
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, member->mtime};

	if (geteuid() == 0 && fchown(fd, member->uid, member->gid) != 0)
		return -1;
	if (fchmod(fd, (member->mode & (0777 | S_ISVTX)) | own) != 0)
		return -1;
	return member->kind == ARCHIVE_DIRECTORY ? 0 : futimens(fd, times);
}

static int place_directory(const struct unpack *unpack, const struct place *place,
                           const struct archive_member *member)
{
	CLEANUP(cleanup_close) int fd = -1;
	int there = make_room(place, true);

	if (there == 0)
		there = make_directory(unpack, place->directory, place->name);
	if (there < 0)
		return -1;
	fd = safe_openat(place->directory, place->name, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? -1 : finish(fd, member);
}

static int place_hard_link(struct unpack *unpack, const struct place *place, const char *link,
                           struct error *error)
{
	CLEANUP(place_end) struct place target = PLACE_INIT;
	int code = find_place(unpack, slice_of(link), false, &target, error);

	if (code == 0 && !target.name)
		return error_set(error, ERROR_FORMAT, "a hard link to a directory");
	if (code == 0 &&
	    linkat(target.directory, target.name, place->directory, place->name, 0) != 0)
		return error_errno(error, errno, "a hard link to %s", link);
	return code;
}

/* Of the layers below: this one's own stays. */
static int apply_whiteout(struct unpack *unpack, const struct place *place, struct error *error)
{
	struct slice name = slice_of(place->name);
	const char *gone = place->name + WHITEOUT.len;
	int done = 0;

	if (slice_equal(name, OPAQUE))
		done = empty(place->directory, ".", &unpack->placed);
	else if (!*gone || strcmp(gone, ".") == 0 || strcmp(gone, "..") == 0)
		return error_set(error, ERROR_FORMAT, "a whiteout of nothing that can be removed");
	else if (!slice_starts(slice_of(gone), WHITEOUT)) /* AUFS has some of its own */
		done = remove_within(place->directory, gone, &unpack->placed);
	return done == 0 ? 0 : error_errno(error, errno, "cannot be removed");
}

static void note_site(const struct unpack *unpack, struct slice path)
{
	const char *at = path.ptr, *end;

	while ((at = memmem(at, path.len - (size_t)(at - path.ptr), "-packages", 9))) {
		CLEANUP(cleanup_free) char *site = NULL;

		at += 9;
		end = path.ptr + path.len;
		if (at != end && *at != '/')
			continue;
		site = text_format("/%.*s", (int)(at - path.ptr), path.ptr);
		if (site && layout_is_known(path_normalize(site)))
			sites_add(unpack->options->sites, site);
	}
}

/* 1: the bytes of the file are wanted; 0: all is done; or an error, which lacks the path. */
static int place_member(struct unpack *unpack, const struct archive_member *member,
                        struct error *error)
{
	CLEANUP(place_end) struct place place = PLACE_INIT;
	int code, done = 0;

	unpack->bytes += member->kind == ARCHIVE_FILE ? member->size : 0;
	if (++unpack->members > ARCHIVE_MEMBERS_MAX || unpack->bytes > ARCHIVE_UNPACKED_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "the layers have more than 4,194,304 members or 64 GiB");
	code = find_place(unpack, member->path, true, &place, error);
	if (code < 0 || !place.name)
		return code;
	if (slice_starts(slice_of(place.name), WHITEOUT))
		return apply_whiteout(unpack, &place, error);
	if (member->kind != ARCHIVE_DIRECTORY)
		done = make_room(&place, false);
	if (done == 0 && member->kind == ARCHIVE_DIRECTORY)
		done = place_directory(unpack, &place, member);
	else if (done == 0 && member->kind == ARCHIVE_SYMLINK)
		done = symlinkat(member->link ? member->link : "", place.directory, place.name);
	else if (done == 0 && member->kind == ARCHIVE_HARD_LINK)
		code = place_hard_link(unpack, &place, member->link, error);
	else if (done == 0 && member->kind == ARCHIVE_FILE)
		unpack->fd = done =
		        safe_openat(place.directory, place.name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (done < 0 || code < 0)
		return code < 0 ? code : error_errno(error, errno, "cannot be unpacked");
	note_placed(&unpack->placed, place.directory, place.name);
	if (unpack->options->sites)
		note_site(unpack, member->path);
	unpack->member = *member;
	return unpack->placed.failed ? error_nomem(error) : member->kind == ARCHIVE_FILE;
}

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

static int take_data(void *payload, struct slice bytes, struct error *error)
{
	struct unpack *unpack = payload;
	struct slice path = unpack->member.path;

	return file_write(unpack->fd, bytes.ptr, bytes.len) == 0
	               ? 0
	               : error_errno(error, errno, "%s: %.*s: cannot be unpacked",
	                             unpack->image->path, (int)path.len, path.ptr);
}

static int end_file(void *payload, struct slice path, struct slice bytes, struct error *error)
{
	struct unpack *unpack = payload;
	CLEANUP(cleanup_close) int fd = take_fd(&unpack->fd);

	(void)bytes;
	if (finish(fd, &unpack->member) == 0)
		return 0;
	return error_errno(error, errno, "%s: %.*s: cannot be unpacked", unpack->image->path,
	                   (int)path.len, path.ptr);
}

static void take_input(void *payload, struct slice bytes)
{
	struct unpack *unpack = payload;

	sha256_add(&unpack->sha, bytes.ptr, bytes.len);
	unpack->input += bytes.len;
}

/* --- layers --- */

struct layer {
	struct slice name,
	        unpacked; /* as the manifest calls it; the digest of the tarball that it is */
	bool sized;
	uint64_t size;
};

/* docker's names say less: then the digest in the configuration is that of a layer not packed. */
static int check_layer(struct unpack *unpack, const struct layer *layer, struct error *error)
{
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE + 1];

	sha256_end(&unpack->sha, digest);
	sha256_hex(digest, hex);
	if ((!layer->sized || layer->size == unpack->input) &&
	    (slice_equal(image_digest(layer->name), slice_of(hex)) ||
	     (!slice_starts(layer->name, SLICE("sha256:")) &&
	      slice_equal(image_digest(layer->unpacked), slice_of(hex)))))
		return 0;
	return error_set(error, ERROR_CHANGED,
	                 "%s: layer %.*s: has %llu bytes with the digest sha256:%s, which are not "
	                 "those that the image names",
	                 unpack->image->path, (int)layer->name.len, layer->name.ptr,
	                 (unsigned long long)unpack->input, hex);
}

static int apply_layer(struct unpack *unpack, struct image *image, const struct layer *layer,
                       struct error *error)
{
	CLEANUP(cleanup_close) int own = -1;
	const struct archive_sink sink = {unpack,
	                                  .file = end_file,
	                                  .stop = interrupted,
	                                  .member = take_member,
	                                  .data = take_data,
	                                  .input = take_input};
	const struct archive_module *module = archive_module_open(error);
	struct archive_source source = {image->path, .is_tarball = true};
	struct error why = {0};
	struct image_blob blob;
	int code = module ? image_find(image, layer->name, &blob, error) : ERROR_LOAD, checked;

	if (code < 0)
		return code;
	own = image->is_directory ? blob.fd : -1;
	source.fd = blob.fd;
	source.offset = blob.offset;
	source.size = blob.size;
	sha256_begin(&unpack->sha);
	unpack->input = 0;
	code = module->walk(&source, &sink, &why);
	cleanup_close(&unpack->fd);
	unpack->fd = -1;
	name_map_free(&unpack->placed.map);
	arena_free(&unpack->placed.keys);
	unpack->placed = (struct placed){0};
	/* Where the digest is another one, damage is its consequence. */
	checked = code == 0 || code == ERROR_FORMAT ? check_layer(unpack, layer, error) : 0;
	if (checked == 0)
		return error_move(error, &why);
	error_clear(&why);
	return checked;
}

int image_unpack(struct image *image, const char *directory, const struct unpack_options *options,
                 struct error *error)
{
	CLEANUP(unpack_end)
	struct unpack unpack = {
	        .image = image, .directory = directory, .options = options, .fd = -1};
	struct progress progress =
	        progress_begin(directory ? "unpacking" : "reading", options->quiet);
	struct worksheet_rows *row =
	        worksheet_walk(image->sheet, "layers", FACTS(fact(image->manifest)));
	size_t count = worksheet_next(row) ? (size_t)worksheet_number(row, 1) : 0;
	int code = worksheet_failure(image->sheet, error);

	if (code == 0 && count > IMAGE_LAYERS_MAX)
		code = error_set(error, ERROR_LIMIT, "%s: more than 1,000 layers", image->path);
	row = worksheet_walk(image->sheet, "layer", FACTS(fact(image->manifest)));
	for (size_t i = 0; code == 0 && worksheet_next(row); i++) {
		const struct layer layer = {worksheet_text(row, 1), worksheet_text(row, 2),
		                            !slice_is_null(worksheet_text(row, 3)),
		                            (uint64_t)worksheet_number(row, 3)};

		progress_show(&progress, layer.name.ptr, i, count);
		code = layer.name.ptr ? apply_layer(&unpack, image, &layer, error)
		                      : error_set(error, ERROR_FORMAT,
		                                  "%s: a layer without a digest", image->path);
	}
	progress_erase(&progress);
	return code < 0 ? code : worksheet_failure(image->sheet, error);
}

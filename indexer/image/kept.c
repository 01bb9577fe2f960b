/*
 * kept.c - adds images, and maps --root IMAGE to their trees.
 *
 * A tree is made under a temporary name and then renamed, so that a failed or interrupted `add`
 * keeps the previous tree.
 */
#include "indexer/image/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/hash.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "indexer/image/unpack.h"
#include "indexer/sysroot.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/layout.h"
#include "libquery/sites.h"

#define RECORD           "image"
#define RECORD_MAX       ((size_t)64 << 10)
#define RECORD_OTHER     2
#define NEW              "new" /* an unfinished tree */
#define WALK_DESCRIPTORS 32

/* The place of an image's tree, existing or not. */
struct kept {
	char *absolute, *directory, *place; /* the image; its trees; the tree for the platform */
	char *record;                       /* the image's stamp and path, to detect changes */
	char name[64];                      /* the name of @place in @directory */
};

static void kept_end(struct kept *kept)
{
	free(kept->absolute);
	free(kept->directory);
	free(kept->place);
	free(kept->record);
}

static char *record_of(const char *image)
{
	CLEANUP(cleanup_free) char *index = text_format("%s/index.json", image);
	struct stat status = {0};
	struct stamp stamp;

	if (index && file_status(AT_FDCWD, index, &status, NULL) <= 0)
		file_status(AT_FDCWD, image, &status, NULL);
	stamp = stamp_of(&status);
	return text_format("entrydb-image 2 %lld %lld %lld\n%s\n", (long long)stamp.mtime,
	                   (long long)stamp.ctime, (long long)stamp.inode, image);
}

static int kept_find(const char *path, const char *platform, struct kept *out, struct error *error)
{
	CLEANUP(cleanup_free) char *images = NULL;
	int code = image_platform(platform, out->name, error);

	if (code < 0)
		return code;
	for (char *at = out->name; *at; at++)
		*at = *at == '/' ? '-' : *at;
	out->absolute = layout_absolute(path);
	if (!out->absolute)
		return error_errno(error, errno, "%s", path);
	if (layout_user_state(LAYOUT_IMAGES, &images) < 0)
		return error_nomem(error);
	if (!images)
		return error_set(error, ERROR_NOTFOUND, "there is no $HOME to keep images in");
	out->directory =
	        text_format("%s/%016llx", images,
	                    (unsigned long long)hash_stable(out->absolute, strlen(out->absolute)));
	out->place = out->directory ? text_format("%s/%s", out->directory, out->name) : NULL;
	out->record = record_of(out->absolute);
	return out->place && out->record ? 0 : error_nomem(error);
}

/* Compare the record with the stored one: 1: equal; 0: none stored; RECORD_OTHER; or an error. */
static int find_record(const struct kept *kept, struct error *error)
{
	CLEANUP(cleanup_free) char *file = text_format("%s/" RECORD, kept->place);
	CLEANUP(cleanup_free) char *then = NULL;
	size_t len;
	int code = !file ? error_nomem(error)
	                 : small_file_read_trusted(file, RECORD_MAX, TRUST_NO_OTHER, &then, &len,
	                                           error);

	return code > 0 && strcmp(then, kept->record) != 0 ? RECORD_OTHER : code;
}

/* Open the directory for trees: nobody else can lead the way to it elsewhere. */
static int open_trees(const char *path, enum safe_create create, int *fd, struct error *error)
{
	int code = safe_directory_open(path, NULL, create, fd, error);

	return code < 0 ? code : safe_believe(path, NULL, TRUST_NO_OTHER, NULL, error);
}

/* --- add --- */

static struct sites *walked; /* by nftw(), which passes no payload */

static int add_site(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	const char *in_image = path + strlen(file_sysroot()->real);

	(void)status;
	(void)walk;
	return type == FTW_D && slice_ends(slice_of(path), SLICE("-packages")) &&
	       layout_is_known(in_image) && !sites_add(walked, in_image);
}

/* Unpack the image; make the databases of the system and of each site directory. */
static int make_tree(const struct options *options, struct image *image, const char *root,
                     struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	struct options own = *options;
	int code = image_choose(image, error), failed;

	own.sysroot = root;
	own.sealed = own.quiet = true;
	own.database = NULL;
	own.argument_count = 0;
	if (code == 0)
		code = sysroot_enter(&own.sysroot, error);
	if (code == 0)
		code = image_unpack(image, file_sysroot()->real, options->quiet, error);
	walked = &sites;
	failed = code == 0 ? nftw(file_sysroot()->real, add_site, WALK_DESCRIPTORS, FTW_PHYS) : 0;
	if (failed)
		code = failed > 0 ? error_nomem(error) : error_errno(error, errno, "%s", root);
	if (code == 0)
		code = command_update(&own, error);
	own.arguments = (const char **)sites.paths;
	own.argument_count = sites.count;
	if (code >= 0 && sites.count > 0)
		code = command_update(&own, error);
	if (code >= 0 && interrupted())
		code = error_set(error, ERROR_IO, "interrupted");
	return code < 0 ? code : 0;
}

/* Exchange the new tree with the old one, if the file system supports it. */
static int put_in_place(int directory, const char *name)
{
	if (syscall(SYS_renameat2, directory, NEW, directory, name, RENAME_EXCHANGE) == 0)
		return 0;
	return unpack_remove(directory, name) == 0 ? renameat(directory, NEW, directory, name) : -1;
}

static int keep_tree(const struct options *options, const struct kept *kept, struct image *image,
                     int directory, struct error *error)
{
	CLEANUP(cleanup_free) char *root = text_format("%s/" NEW "/root", kept->directory);
	int code;

	if (!root)
		return error_nomem(error);
	if (unpack_remove(directory, NEW) != 0 || /* left by a killed run */
	    mkdirat(directory, NEW, 0700) != 0 || mkdirat(directory, NEW "/root", 0755) != 0)
		return error_errno(error, errno, "cannot make %s", root);
	code = make_tree(options, image, root, error);
	if (code < 0)
		return code;
	if (small_file_write(directory, NEW "/" RECORD, slice_of(kept->record), 0600) != 0 ||
	    put_in_place(directory, kept->name) != 0)
		return error_errno(error, errno, "cannot make %s", kept->place);
	return 1;
}

int image_add(const struct options *options, const char *path, struct error *error)
{
	CLEANUP(image_close) struct image image = IMAGE_INIT;
	CLEANUP(kept_end) struct kept kept = {0};
	CLEANUP(cleanup_close) int directory = -1;
	CLEANUP(error_clear) struct error why = {0};
	/* Before opening the image, so that later changes are detected. */
	int found = kept_find(path, options->platform, &kept, &why);
	int code = image_open(path, options->platform, &image, error);

	if (code <= 0)
		return code;
	if (options->database)
		return error_set(error, ERROR_INVALID, "%s: an image goes to no --db", path);
	if (found < 0)
		return error_move(error, &why);
	code = open_trees(kept.directory, SAFE_PRIVATE, &directory, error);
	/* Anyone who can open it can hold the lock. */
	if (code == 0 && fchmod(directory, S_IRWXU) != 0)
		code = error_errno(error, errno, "%s", kept.directory);
	if (code == 0 && flock(directory, LOCK_EX | LOCK_NB) != 0)
		code = error_set(error, ERROR_BUSY, "%s: another process is adding it", path);
	if (code < 0)
		return code;
	code = find_record(&kept, NULL) == 1 ? 2
	                                     : keep_tree(options, &kept, &image, directory, error);
	unpack_remove(directory, NEW);
	rmdir(kept.directory); /* if it is empty */
	return code;
}

/* --- forget --- */

int image_forget(const struct options *options, const char *path, struct error *error)
{
	CLEANUP(kept_end) struct kept kept = {0};
	CLEANUP(cleanup_free) char *parent = NULL;
	CLEANUP(cleanup_close) int fd = -1;
	struct slice gone;
	struct stat status;
	int code = kept_find(path, options->platform, &kept, error);

	if (code < 0)
		return code == ERROR_NOTFOUND ? 0 : code;
	gone = slice_of(options->platform ? kept.place : kept.directory);
	if (file_status(AT_FDCWD, gone.ptr, &status, NULL) <= 0)
		return 0;
	parent = strndup(gone.ptr, path_directory(gone).len);
	code = parent ? open_trees(parent, SAFE_EXISTING, &fd, error) : error_nomem(error);
	if (code < 0)
		return code;
	if (unpack_remove(fd, path_base(gone).ptr) != 0)
		return error_errno(error, errno, "cannot remove %s", gone.ptr);
	rmdir(kept.directory);
	return 1;
}

/* --- --root --- */

bool image_is_named(const char *path)
{
	CLEANUP(cleanup_free) char *layout = text_format("%s/oci-layout", path);
	struct stat status;

	return file_status(AT_FDCWD, path, &status, NULL) > 0 &&
	       (S_ISREG(status.st_mode) || (S_ISDIR(status.st_mode) && layout &&
	                                    file_status(AT_FDCWD, layout, &status, NULL) > 0));
}

/* An error with the command that adds the image for this platform. */
static int refuse(const struct options *options, const struct kept *kept, const char *why,
                  struct error *error)
{
	CLEANUP(cleanup_free) char *word = text_shell_word(kept->absolute);
	const char *platform = options->platform ? options->platform : ""; /* plain */

	if (!word)
		return error_nomem(error);
	return error_set(error, ERROR_NOTFOUND, "%s: %s; run: entrydb add %s%s%s%s", kept->absolute,
	                 why, *platform ? "--platform " : "", platform, *platform ? " " : "", word);
}

/* Check the digests of all layers. */
static int check_layers(const struct options *options, const char *path, struct error *error)
{
	CLEANUP(image_close) struct image image = IMAGE_INIT;
	int code = image_open(path, options->platform, &image, error);

	if (code == 0) /* replaced since it was looked at */
		code = error_set(error, ERROR_CHANGED, "%s: no longer an image", path);
	if (code > 0)
		code = image_choose(&image, error);
	return code < 0 ? code : image_unpack(&image, NULL, options->quiet, error);
}

int image_enter(struct options *options, bool with_layers, struct error *error)
{
	CLEANUP(kept_end) struct kept kept = {0};
	CLEANUP(cleanup_free) char *root = NULL;
	const char *image = options->sysroot;
	int code = kept_find(image, options->platform, &kept, error);

	if (code < 0)
		return code;
	if (options->database)
		return error_set(error, ERROR_INVALID, "--db: an image has databases of its own");
	code = find_record(&kept, error);
	if (code == 0)
		return refuse(options, &kept, "it was not added for this platform", error);
	if (code == RECORD_OTHER)
		return refuse(options, &kept, "it has changed since it was added", error);
	if (code > 0 && with_layers)
		code = check_layers(options, image, error);
	if (code < 0)
		return code;
	root = text_format("%s/root", kept.place);
	if (!root)
		return error_nomem(error);
	options->sysroot = root;
	if (options->fresh != ENTRYDB_FRESH_EXACT)
		options->fresh = ENTRYDB_FRESH_TRUST;
	return sysroot_enter(&options->sysroot, error);
}

/*
 * kept.c - adds images, and leads --root to what was kept of them, or to where they are unpacked.
 *
 * What is kept is built beside its place and renamed into it, so that a failed or interrupted
 * `add` leaves what was there before.
 */
#include "indexer/image/kept.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/reader.h"
#include "indexer/databases.h"
#include "indexer/image/unpack.h"
#include "indexer/sysroot.h"
#include "libquery/disk/metadata/pth.h"
#include "libquery/disk/target/plugin_kinds.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/layout.h"

#define RECORD           "image"
#define RECORD_FORM      "entrydb-image 1 %lld %lld %lld %d\n"
#define RECORD_MAX       ((size_t)64 << 10)
#define KEY_DIGITS       32
#define LINKS_MAX        40
#define ENVIRONMENTS_MAX 1000

/* Where that of one image is kept, whether it is there or not. */
struct kept {
	char *absolute, *images, *directory; /* of the image; of all that is kept; of this */
	char platform[64], key[SHA256_HEX_SIZE + 1];
	struct stamp stamp; /* what it was when it was added, where it was */
	bool is_complete;   /* the default path is all in the databases */
};

static void kept_end(struct kept *kept)
{
	free(kept->absolute);
	free(kept->images);
	free(kept->directory);
}

static int find_images(char **out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage user = {0};

	if (layout_of_user("/", &user) < 0)
		return error_nomem(error);
	if (!user.database)
		return error_set(error, ERROR_NOTFOUND, "there is no $HOME to keep images in");
	*out = text_format("%.*s/images", (int)path_directory(slice_of(user.database)).len,
	                   user.database);
	return *out ? 0 : error_nomem(error);
}

static int kept_find(const char *path, const char *platform, struct kept *out, struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	uint8_t digest[SHA256_SIZE];
	int code = find_images(&out->images, error);

	if (code < 0)
		return code;
	if (!image_platform(platform, out->platform))
		return error_set(error, ERROR_INVALID, "--platform %s: expected OS/ARCH[/VARIANT]",
		                 platform);
	out->absolute = layout_absolute(path);
	if (!out->absolute)
		return error_errno(error, errno, "%s", path);
	text = text_format("%s\n%s", out->absolute, out->platform);
	if (!text)
		return error_nomem(error);
	sha256_of(text, strlen(text), digest);
	sha256_hex(digest, out->key);
	out->key[KEY_DIGITS] = '\0';
	out->directory = text_format("%s/%s", out->images, out->key);
	return out->directory ? 0 : error_nomem(error);
}

/* What the file RECORD says: 1; 0: there is none; *@name: platform and path, malloc'd. */
static int read_record(const char *directory, struct kept *kept, char **name, struct error *error)
{
	CLEANUP(cleanup_free) char *file = text_format("%s/" RECORD, directory);
	CLEANUP(cleanup_free) char *text = NULL;
	long long mtime, ctime, inode;
	int complete, code;
	size_t len;

	if (!file)
		return error_nomem(error);
	code = small_file_read_trusted(file, RECORD_MAX, TRUST_NO_OTHER, &text, &len, error);
	if (code <= 0 || sscanf(text, RECORD_FORM, &mtime, &ctime, &inode, &complete) != 4)
		return code < 0 ? code : 0;
	if (kept) {
		kept->stamp = (struct stamp){mtime, ctime, inode};
		kept->is_complete = complete;
	}
	if (name && !(*name = strdup(strchrnul(text, '\n'))))
		return error_nomem(error);
	return 1;
}

/* "; run: entrydb add IMAGE", as for this platform. */
static int refuse(const struct options *options, const struct kept *kept, const char *why,
                  struct error *error)
{
	CLEANUP(cleanup_free) char *word = text_shell_word(kept->absolute);
	CLEANUP(cleanup_free)
	char *platform = options->platform ? text_shell_word(options->platform) : strdup("");

	if (!word || !platform)
		return error_nomem(error);
	return error_set(error, ERROR_NOTFOUND, "%s: %s; run: entrydb add %s%s%s%s", kept->absolute,
	                 why, options->platform ? "--platform " : "", platform,
	                 *platform ? " " : "", word);
}

/* --- the tree --- */

/* A tree of an image that is unpacked, and what is in it. */
struct tree_of_image {
	char *directory;           /* NULL: there is none */
	struct sites environments; /* prefixes of Pythons other than the system's */
	struct databases databases;
};

static void tree_end(struct tree_of_image *tree)
{
	if (tree->directory && unpack_remove(AT_FDCWD, tree->directory) != 0)
		message("cannot remove %s: %s", tree->directory, strerror(errno));
	free(tree->directory);
	sites_free(&tree->environments);
	databases_free(&tree->databases);
	*tree = (struct tree_of_image){0};
	message_show_as(NULL, NULL);
}

static int make_scratch(struct tree_of_image *tree, struct error *error)
{
	const char *top = trust_environment("TMPDIR");

	tree->directory =
	        text_format("%s/entrydb-image-XXXXXX", top && *top == '/' ? top : "/var/tmp");
	if (!tree->directory)
		return error_nomem(error);
	if (mkdtemp(tree->directory))
		return 0;
	error_errno(error, errno, "cannot make %s", tree->directory);
	free(take(tree->directory));
	return error ? error->code : ERROR_IO;
}

/* The prefix of a site directory that some layer had, if it is (still) there. */
static int add_environment(struct tree_of_image *tree, const char *site, struct error *error)
{
	CLEANUP(cleanup_free) char *path = text_format("%s%s", tree->directory, site);
	CLEANUP(cleanup_close) int fd = path ? file_open(AT_FDCWD, path, O_PATH | O_DIRECTORY) : -1;
	CLEANUP(cleanup_free) char *top = NULL;
	CLEANUP(cleanup_free) char *real = fd < 0 ? NULL : file_real_path(fd);
	CLEANUP(cleanup_close) int root = file_open(AT_FDCWD, tree->directory, O_PATH);
	long len;

	top = root < 0 ? NULL : file_real_path(root);
	if (!real || !top || strncmp(real, top, strlen(top)) != 0)
		return path ? 0 : error_nomem(error);
	memmove(real, real + strlen(top), strlen(real) - strlen(top) + 1);
	len = layout_environment(real);
	if (len <= 0)
		return 0;
	real[len] = '\0';
	if (tree->environments.count == ENVIRONMENTS_MAX)
		return error_set(error, ERROR_LIMIT, "more than 1,000 environments");
	return sites_add(&tree->environments, real) ? 0 : error_nomem(error);
}

/* Unpack it; from then on it is the sysroot of the process. */
static int unpack(const struct options *options, struct image *image, const char *shown,
                  bool owners, struct tree_of_image *tree, struct options *inside,
                  struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	const struct unpack_options how = {owners, options->quiet, &sites};
	int code = image_choose(image, error);

	*inside = *options;
	if (code == 0)
		code = make_scratch(tree, error);
	inside->sysroot = tree->directory;
	if (code == 0)
		code = sysroot_enter(&inside->sysroot, error);
	if (code == 0)
		message_show_as(tree->directory, shown);
	if (code == 0)
		code = image_unpack(image, tree->directory, &how, error);
	for (size_t i = 0; code == 0 && i < sites.count; i++)
		code = add_environment(tree, sites.paths[i], error);
	return code;
}

/* Of the system and of each environment: have @each work on them, and find their databases. */
static int with_databases(struct tree_of_image *tree, const struct options *inside,
                          command_function *each, bool *complete, struct error *error)
{
	struct options own = *inside;
	int code = 0;

	own.sealed = own.quiet = true;
	own.database = NULL;
	own.path_count = 0;
	for (int environments = 0; code >= 0 && environments < 2; environments++) {
		own.arguments = (const char **)tree->environments.paths;
		own.argument_count = environments ? tree->environments.count : 0;
		if (environments && own.argument_count == 0)
			break;
		code = each ? each(&own, error) : STATUS_DONE;
		*complete &= code == STATUS_DONE;
		if (code >= 0 && interrupted())
			code = error_set(error, ERROR_IO, "interrupted");
		if (code >= 0)
			code = databases_of_arguments(&own, false, &tree->databases, error);
	}
	return code < 0 ? code : 0;
}

/* --- what is kept of it --- */

static int copy_file(const char *from, const char *to, struct error *error)
{
	CLEANUP(cleanup_close) int in = safe_openat(AT_FDCWD, from, O_RDONLY, 0);
	CLEANUP(cleanup_close) int out = -1;
	char bytes[16384];
	ssize_t n = 1;

	unlink(to);
	out = safe_openat(AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL, 0644);
	while (in >= 0 && out >= 0 && n > 0)
		if ((n = file_read(in, bytes, sizeof(bytes))) > 0 &&
		    file_write(out, bytes, (size_t)n) != 0)
			n = -1;
	if (in < 0 || out < 0 || n < 0 || fchmod(out, 0644) != 0 || fsync(out) != 0)
		return error_errno(error, errno, "cannot keep %s", from);
	return 0;
}

/*
 * Make below @to what is below @from on the way to @path: directories, links and, at its end, a
 * file, if that @is_wanted. A path that is not there ends where it does.
 */
static int carry(const char *from, const char *to, const char *path, bool is_wanted, int links,
                 struct error *error)
{
	char target[PATH_MAX];
	struct stat status;

	for (size_t at = 0, end; path[at]; at = end) {
		CLEANUP(cleanup_free) char *source = NULL;
		CLEANUP(cleanup_free) char *copy = NULL;
		CLEANUP(cleanup_free) char *next = NULL;
		ssize_t len = -1;

		end = at + 1 + strcspn(path + at + 1, "/");
		source = text_format("%s%.*s", from, (int)end, path);
		copy = text_format("%s%.*s", to, (int)end, path);
		if (!source || !copy)
			return error_nomem(error);
		if (lstat(source, &status) != 0)
			return errno_is_failure(errno) ? error_errno(error, errno, "%s", source)
			                               : 0;
		if (S_ISDIR(status.st_mode) && mkdir(copy, 0755) != 0 && errno != EEXIST)
			return error_errno(error, errno, "cannot make %s", copy);
		if (S_ISREG(status.st_mode))
			return is_wanted ? copy_file(source, copy, error) : 0;
		if (!S_ISLNK(status.st_mode))
			continue;
		len = readlink(source, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (symlink(target, copy) != 0 && errno != EEXIST)
			return error_errno(error, errno, "cannot make %s", copy);
		next = target[0] == '/'
		               ? text_format("%s%s", target, path + end)
		               : text_format("%.*s/%s%s", (int)at, path, target, path + end);
		if (!next || links == 0)
			return next ? 0 : error_nomem(error);
		return carry(from, to, path_normalize(next), is_wanted, links - 1, error);
	}
	return 0;
}

/* What is read of a tree whose databases are believed. */
struct keeping {
	const struct tree_of_image *tree;
	const char *to;
	struct sites roots; /* those in the databases */
	bool complete;
	struct image_counts *counts;
	struct error *error;
};

static int keep(const struct keeping *keeping, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static int keep(const struct keeping *keeping, const char *format, ...)
{
	CLEANUP(cleanup_free) char *path = NULL;
	va_list arguments;

	va_start(arguments, format);
	path = text_format_list(format, arguments);
	va_end(arguments);
	return path ? carry(keeping->tree->directory, keeping->to, path, true, LINKS_MAX,
	                    keeping->error)
	            : error_nomem(keeping->error);
}

/* Somewhere else on the default path: its answers are not in the databases. */
static int check_pth(void *payload, const char *path)
{
	struct keeping *keeping = payload;
	CLEANUP(cleanup_free) char *real = text_format("%s%s", keeping->tree->directory, path);
	struct stat status;

	if (!real)
		return error_nomem(keeping->error);
	if (name_map_get(&keeping->roots.seen, slice_of(path)) == NAME_MAP_NONE &&
	    file_status(AT_FDCWD, real, &status, NULL) != 0)
		keeping->complete = false;
	return 0;
}

/* What Python, and `status`, read in a site directory: links to it and files for its start. */
static int keep_site(struct keeping *keeping, const char *site, struct error *error)
{
	CLEANUP(cleanup_free) char *path = text_format("%s%s", keeping->tree->directory, site);
	CLEANUP(cleanup_closedir) DIR *opened = path ? file_open_directory(AT_FDCWD, path) : NULL;
	int code = keep(keeping, "%s", site), left = 1;
	const char *name;

	while (code == 0 && opened && (left = file_next(opened, &name)) > 0)
		if (slice_ends(slice_of(name), SLICE(".pth")) ||
		    strcmp(name, "sitecustomize.py") == 0)
			code = keep(keeping, "%s/%s", site, name);
	if (code == 0 && (!opened || left < 0))
		return error_errno(error, errno, "%s", path ? path : site);
	return code == 0 ? pth_walk(path, site, check_pth, keeping, error) : code;
}

static int count_root(struct keeping *keeping, struct reader *reader,
                      const struct database_root *root, struct error *error)
{
	CLEANUP(root_record_free) struct root_record rows = {0};
	int code = reader_root(reader, slice_of(root->root_path), &rows, error);

	if (code <= 0)
		return code;
	code = reader_distributions(reader, &rows, true, error);
	for (size_t i = 0; i < rows.distribution_count; i++)
		keeping->counts->entry_points += rows.distributions[i].entry_point_count;
	keeping->counts->distributions += rows.distribution_count;
	keeping->counts->sites++;
	if (code == 0 && !sites_add(&keeping->roots, root->inside))
		code = error_nomem(error);
	return code;
}

/* A database that is not in the tree is none of the image's. */
static int keep_database(struct keeping *keeping, const struct database *database,
                         struct error *error)
{
	struct slice top = slice_of(keeping->tree->directory);
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	CLEANUP(cleanup_free) char *base = layout_base(database->file);
	int code = base ? 0 : error_nomem(error);

	if (code < 0 || !slice_starts(slice_of(database->file), top))
		return code;
	code = reader_open(database->file, geteuid(), &reader, error);
	for (size_t i = 0; code == 0 && i < database->root_count; i++)
		code = count_root(keeping, reader, &database->roots[i], error);
	if (code == 0)
		code = keep(keeping, "%s", database->file + top.len);
	for (size_t i = 0; code == 0 && i < database->root_count; i++)
		code = keep_site(keeping, database->roots[i].inside, error);
	if (code == 0)
		code = keep(keeping, "%s/etc/entrydb/policy.conf", base + top.len);
	return code == 0 ? keep(keeping, "%s/lib64", base + top.len) : code;
}

static int keep_tree(struct keeping *keeping, struct error *error)
{
	static const char *const others[] = {PLUGIN_KINDS_FILE, "/etc/entrydb/policy.conf",
	                                     "/lib64", "/usr/lib64", "/usr/local/lib64"};
	const struct databases *databases = &keeping->tree->databases;
	int code =
	        carry(keeping->tree->directory, keeping->to, "/usr/bin/python3", false, 1, error);

	for (size_t i = 0; code == 0 && i < sizeof(others) / sizeof(*others); i++)
		code = keep(keeping, "%s", others[i]);
	for (size_t i = 0; code == 0 && i < databases->count; i++)
		if (access(databases->items[i].file, F_OK) == 0)
			code = keep_database(keeping, &databases->items[i], error);
		else
			keeping->complete = false;
	return code;
}

/* In one step; then what was there before is removed. */
static int put_in_place(int images, const char *made, const char *key)
{
	if (renameat(images, made, images, key) == 0)
		return 0;
	if (errno != EEXIST && errno != ENOTEMPTY)
		return -1;
	if (syscall(SYS_renameat2, images, made, images, key, RENAME_EXCHANGE) == 0)
		return unpack_remove(images, made);
	return unpack_remove(images, key) == 0 ? renameat(images, made, images, key) : -1;
}

static int write_record(const struct kept *kept, const struct image *image, const char *made,
                        bool complete, struct error *error)
{
	CLEANUP(cleanup_close) int fd = safe_openat(AT_FDCWD, made, O_RDONLY | O_DIRECTORY, 0);
	CLEANUP(cleanup_free)
	char *text = text_format(RECORD_FORM "%s\n%s", (long long)image->stamp.mtime,
	                         (long long)image->stamp.ctime, (long long)image->stamp.inode,
	                         complete, kept->platform, kept->absolute);

	if (!text)
		return error_nomem(error);
	if (fd < 0 || small_file_write(fd, RECORD, slice_of(text), 0600) != 0)
		return error_errno(error, errno, "cannot write %s", made);
	return 0;
}

static int keep_image(const struct kept *kept, const struct image *image,
                      const struct tree_of_image *tree, bool complete, struct image_counts *counts,
                      struct error *error)
{
	CLEANUP(cleanup_close) int images = -1;
	CLEANUP(cleanup_free) char *made = text_format("%s.XXXXXX", kept->directory);
	CLEANUP(cleanup_free) char *root = NULL;
	struct keeping keeping = {tree, NULL, {0}, complete, counts, error};
	int code = safe_directory_open(kept->images, NULL, SAFE_CREATE, &images, error);

	if (code < 0)
		return code;
	if (!made || !mkdtemp(made))
		return error_errno(error, errno, "cannot make %s", kept->directory);
	root = text_format("%s/root", made);
	if (!root || mkdir(root, 0755) != 0)
		code = error_errno(error, errno, "cannot make %s", made);
	keeping.to = root;
	if (code == 0)
		code = keep_tree(&keeping, error);
	if (code == 0)
		code = write_record(kept, image, made, keeping.complete, error);
	if (code == 0 && interrupted())
		code = error_set(error, ERROR_IO, "interrupted");
	if (code == 0 && put_in_place(images, strrchr(made, '/') + 1, kept->key) != 0)
		code = error_errno(error, errno, "cannot make %s", kept->directory);
	if (code < 0)
		unpack_remove(AT_FDCWD, made);
	sites_free(&keeping.roots);
	return code;
}

/* --- verbs --- */

int image_add(const struct options *options, const char *path, struct image_counts *counts,
              struct error *error)
{
	CLEANUP(image_close) struct image image = IMAGE_INIT;
	CLEANUP(kept_end) struct kept kept = {0};
	CLEANUP(tree_end) struct tree_of_image tree = {0};
	struct options inside;
	bool complete = true;
	int code = image_open(path, options->platform, &image, error);

	*counts = (struct image_counts){0};
	if (code <= 0)
		return code;
	code = options->database
	               ? error_set(error, ERROR_INVALID, "%s: an image goes to no --db", path)
	               : kept_find(path, options->platform, &kept, error);
	if (code < 0)
		return code;
	code = read_record(kept.directory, &kept, NULL, NULL);
	counts->is_unchanged = code > 0 && stamp_equal(kept.stamp, image.stamp);
	if (counts->is_unchanged)
		return 1;
	code = unpack(options, &image, kept.absolute, false, &tree, &inside, error);
	if (code == 0)
		code = with_databases(&tree, &inside, command_update, &complete, error);
	if (code == 0)
		code = keep_image(&kept, &image, &tree, complete, counts, error);
	return code < 0 ? code : 1;
}

int image_forget(const struct options *options, const char *path, struct error *error)
{
	CLEANUP(kept_end) struct kept kept = {0};
	CLEANUP(cleanup_free) char *wanted = NULL;
	CLEANUP(cleanup_closedir) DIR *opened = NULL;
	const char *name;
	int code = kept_find(path, options->platform, &kept, error), removed = 0;

	if (code < 0)
		return code == ERROR_NOTFOUND ? 0 : code;
	wanted = text_format("\n%s\n%s", kept.platform, kept.absolute);
	opened = opendir(kept.images);
	while (wanted && opened && file_next(opened, &name) > 0) {
		CLEANUP(cleanup_free) char *directory = text_format("%s/%s", kept.images, name);
		CLEANUP(cleanup_free) char *found = NULL;
		const char *rest;

		if (name[0] == '.' || !directory || read_record(directory, NULL, &found, NULL) <= 0)
			continue;
		rest = strchrnul(found + 1, '\n');
		if (strcmp(options->platform ? found : rest,
		           options->platform ? wanted : strchr(wanted + 1, '\n')) != 0)
			continue;
		if (unpack_remove(dirfd(opened), name) != 0)
			return error_errno(error, errno, "cannot remove %s", directory);
		removed = 1;
	}
	return removed;
}

/* --- --root --- */

bool image_is_named(const char *path)
{
	CLEANUP(cleanup_free) char *layout = text_format("%s/oci-layout", path);
	struct stat status;

	return stat(path, &status) == 0 &&
	       (S_ISREG(status.st_mode) ||
	        (S_ISDIR(status.st_mode) && layout && access(layout, F_OK) == 0));
}

/* For as long as a verb runs: where --root led. */
static struct {
	struct tree_of_image tree;
	char *root, *shown;
	struct sites paths; /* of verify */
} entered;

void image_leave(void)
{
	tree_end(&entered.tree);
	sites_free(&entered.paths);
	free(take(entered.root));
	free(take(entered.shown));
}

/* Is every path that is named in what was kept? */
static bool has_paths(const struct options *options, const char *root)
{
	for (size_t i = 0; i < options->path_count; i++) {
		CLEANUP(cleanup_free) char *absolute = layout_absolute(options->path[i]);
		CLEANUP(cleanup_free)
		char *path = absolute ? text_format("%s%s", root, absolute) : NULL;

		if (!path || access(path, F_OK) != 0)
			return false;
	}
	return true;
}

static int enter_kept(struct options *options, struct error *error)
{
	int code;

	options->sysroot = entered.root;
	options->fresh = ENTRYDB_FRESH_TRUST;
	code = sysroot_enter(&options->sysroot, error);
	message_show_as(entered.root, entered.shown);
	return code;
}

/* The databases of `add` stand in the tree then, to be compared with it. */
static int bring_databases(struct options *options, struct error *error)
{
	struct tree_of_image *tree = &entered.tree;
	size_t outside = strlen(tree->directory);
	bool complete = true;
	int code = with_databases(tree, options, NULL, &complete, error);

	for (size_t i = 0; code == 0 && i < tree->databases.count; i++) {
		const struct database *database = &tree->databases.items[i];

		if (strncmp(database->file, tree->directory, outside) != 0)
			continue;
		unlink(database->file);
		code = carry(entered.root, tree->directory, database->file + outside, true,
		             LINKS_MAX, error);
		for (size_t j = 0; code == 0 && j < database->root_count; j++)
			if (!sites_add(&entered.paths, database->roots[j].inside))
				code = error_nomem(error);
	}
	if (options->argument_count == 0) {
		options->arguments = (const char **)entered.paths.paths;
		options->argument_count = entered.paths.count;
	}
	return code;
}

static int enter_unpacked(struct options *options, const char *verb, struct error *error)
{
	CLEANUP(image_close) struct image image = IMAGE_INIT;
	bool is_audit = strcmp(verb, "audit") == 0, complete = true;
	int code = image_open(options->sysroot, options->platform, &image, error);

	if (code == 0)
		return error_set(error, ERROR_FORMAT, "%s: neither a directory nor an image",
		                 options->sysroot);
	if (code > 0)
		code = unpack(options, &image, entered.shown, is_audit, &entered.tree, options,
		              error);
	if (code == 0 && strcmp(verb, "verify") == 0)
		return bring_databases(options, error);
	return code < 0 || is_audit
	               ? code
	               : with_databases(&entered.tree, options, command_update, &complete, error);
}

int image_enter(struct options *options, const char *verb, bool looks, struct error *error)
{
	CLEANUP(kept_end) struct kept kept = {0};
	struct stamp stamp = {0};
	int code = kept_find(options->sysroot, options->platform, &kept, error), known;

	if (code == 0 && options->database)
		code = error_set(error, ERROR_INVALID, "--db: an image has databases of its own");
	if (code < 0)
		return code;
	entered.shown = strdup(kept.absolute);
	entered.root = text_format("%s/root", kept.directory);
	if (!entered.shown || !entered.root)
		return error_nomem(error);
	known = read_record(kept.directory, &kept, NULL, error);
	if (known < 0)
		return known;
	if (!known && (!looks || strcmp(verb, "verify") == 0))
		return refuse(options, &kept, "it was not added for this platform", error);
	code = image_stamp(options->sysroot, &stamp, error);
	if (code == 0 && !looks && !stamp_equal(stamp, kept.stamp))
		code = refuse(options, &kept, "it has changed since it was added", error);
	if (code < 0)
		return code;
	if (looks || !kept.is_complete || options->fresh == ENTRYDB_FRESH_EXACT ||
	    !has_paths(options, entered.root))
		return enter_unpacked(options, verb, error);
	return enter_kept(options, error);
}

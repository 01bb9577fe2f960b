/*
 * package.c - recognizes the kind of an archive, by its content, and by its name only where that is
 * ambiguous.
 */
#include "indexer/archive/package.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/libc.h"
#include "db/base/path.h"
#include "db/base/unicode.h"
#include "indexer/archive/archive_module.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/archive.h"
#include "libquery/disk/tree/distname.h"

/* The names under which a source distribution's files are scanned. */
#define SOURCE_METADATA     "source.egg-info/PKG-INFO"
#define SOURCE_ENTRY_POINTS "source.egg-info/entry_points.txt"

static bool has_ending(const char *name, const char *const *endings)
{
	for (; *endings; endings++)
		if (ascii_ends_ignoring_case(slice_of(name), slice_of(*endings)))
			return true;
	return false;
}

bool package_is_archive(const char *name)
{
	static const char *const endings[] = {
	        ".whl", ".egg",  ".zip",     ".conda", ".deb",  ".rpm",    ".tar",     ".tar.gz",
	        ".tgz", ".tbz2", ".tar.bz2", ".txz",   ".tzst", ".tar.xz", ".tar.zst", NULL,
	};

	return has_ending(name, endings);
}

/* --- source distributions --- */

/* Scan stand-ins for the files that a build would create. */
static int open_source(struct package *package, const struct archive_module *module,
                       struct slice top, struct error *error)
{
	struct sdist *source = &package->source;
	int code = sdist_read(&package->members, top, path_base(slice_of(package->path)),
	                      module->read_pyproject, &package->arena, source, error);

	package->kind = PACKAGE_SOURCE;
	package->source_files[0] = (struct tree_file){SLICE(SOURCE_METADATA), source->metadata};
	package->source_files[1] =
	        (struct tree_file){SLICE(SOURCE_ENTRY_POINTS), source->entry_points};
	if (slice_is_null(source->metadata))
		package->source_files[0].bytes = SLICE("");
	return code < 0 ? code : tree_open_memory(package->source_files, 2, &package->tree, error);
}

/* --- all other archives --- */

static bool is_site(struct slice directory)
{
	struct slice name = path_base(directory);

	return slice_equal(name, SLICE("site-packages")) ||
	       slice_equal(name, SLICE("dist-packages"));
}

/* The directory of the distribution that contains @path; null if there is none. */
static struct slice site_of(struct slice path)
{
	struct slice info = distname_first_info(path);

	return slice_is_null(info) ? info : path_directory(info);
}

/*
 * If an archive has site directories, metadata elsewhere is a vendored copy or a test sample, not
 * an installed distribution.
 */
static void drop_strays(struct members *members)
{
	size_t kept = 0;
	bool has_sites = false;

	for (size_t i = 0; i < members->count && !has_sites; i++)
		has_sites = is_site(site_of(members->files[i].path));
	for (size_t i = 0; has_sites && i < members->count; i++) {
		struct slice site = site_of(members->files[i].path);

		if (slice_is_null(site) || is_site(site))
			members->files[kept++] = members->files[i];
	}
	if (has_sites)
		members->count = kept;
}

/* --- zips --- */

static int find_info(void *payload, struct slice name)
{
	bool *found = payload;

	*found |= distname_is_info(name) || distname_is_egg_info(name);
	return *found;
}

/* Open as a zip: 1: it has distributions for sys.path; 0: none; or an error. */
static int open_zip(struct package *package, struct error *error)
{
	int fd = fcntl(package->fd, F_DUPFD_CLOEXEC, 0), code;
	bool found = false;

	if (fd < 0)
		return error_errno(error, errno, "%s", package->path);
	package->kind = PACKAGE_ZIP;
	code = tree_open_zip(fd, package->path, package->stamp, &package->tree, error);
	if (code == 0)
		code = tree_children(package->tree, find_info, &found, error);
	return code < 0 ? code : found;
}

/* --- opening --- */

static int open_file(struct package *package, struct readers readers, struct error *error)
{
	struct stat status;
	bool is_other =
	        file_status(AT_FDCWD, package->path, &status, NULL) > 0 && !S_ISREG(status.st_mode);

	if (!is_other)
		package->fd = file_open_for(readers, AT_FDCWD, package->path);
	if (!is_other && (package->fd < 0 || fstat(package->fd, &status) != 0))
		return error_errno(error, errno, "%s", package->path);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_FORMAT, "%s: not a file", package->path);
	package->stamp = stamp_of(&status);
	package->device = status.st_dev;
	return 0;
}

/* Is it a zip by its name, or by its first bytes? 1, 0 or a failure. */
static int looks_like_zip(const struct package *package, struct error *error)
{
	static const char *const endings[] = {".whl", ".egg", ".zip", NULL};
	char magic[4];
	ssize_t got;

	if (has_ending(package->path, endings))
		return 1;
	got = TEMP_FAILURE_RETRY(pread(package->fd, magic, sizeof(magic), 0));
	if (got < 0)
		return error_errno(error, errno, "%s", package->path);
	return got == sizeof(magic) &&
	       (memcmp(magic, "PK\3\4", 4) == 0 || memcmp(magic, "PK\5\6", 4) == 0);
}

static int open_by_content(struct package *package, bool (*stop)(void), struct error *error)
{
	static const char *const conda[] = {".conda", NULL};
	const struct archive_sink sink = {.payload = &package->members,
	                                  .wanted = members_wanted,
	                                  .file = members_add,
	                                  .link = members_link,
	                                  .stop = stop};
	struct archive_source source = {package->path, package->fd,
	                                .is_conda = has_ending(package->path, conda)};
	int is_zip = source.is_conda ? 1 : looks_like_zip(package, error), code = is_zip;
	const struct archive_module *module;
	struct slice top;

	if (is_zip > 0 && !source.is_conda)
		code = open_zip(package, error);
	if (code < 0 || (package->tree && code > 0))
		return code < 0 ? code : 0;
	module = archive_module_open(error);
	source.is_zip = is_zip;
	code = module ? module->walk(&source, &sink, error) : ERROR_LOAD;
	if (code < 0)
		return code;
	if (!source.is_conda && sdist_find_top(&package->members, &top)) {
		tree_close(take(package->tree));
		return open_source(package, module, top, error);
	}
	if (package->tree)
		return 0;
	package->kind = PACKAGE_ARCHIVE;
	drop_strays(&package->members);
	return tree_open_memory(package->members.files, package->members.count, &package->tree,
	                        error);
}

int package_open(const char *path, struct readers readers, bool (*stop)(void), struct package *out,
                 struct error *error)
{
	int code;

	*out = PACKAGE_INIT;
	out->path = out->members.path = path;
	code = open_file(out, readers, error);
	if (code < 0)
		return code;
	code = open_by_content(out, stop, error);
	if (code == 0)
		out->tree->stamp = out->stamp; /* files in memory have none */
	return code;
}

void package_close(struct package *package)
{
	tree_close(package->tree);
	members_free(&package->members);
	arena_free(&package->arena);
	if (package->fd >= 0)
		close(package->fd);
	*package = PACKAGE_INIT;
}

/* --- scanning --- */

/* Correct the record of the scanned stand-ins: the directory, the name, and what is unknown. */
static int finish_source(const struct sdist *source, struct root_record *root, struct error *error)
{
	struct distribution_record *distribution = &root->distributions[0];
	bool failed = false;

	if (slice_is_null(distribution->name))
		distribution->name = arena_copy(&root->arena, source->name, &failed);
	if (slice_is_null(distribution->version))
		distribution->version = arena_copy(&root->arena, source->version, &failed);
	distribution->directory = arena_copy(&root->arena, source->directory, &failed);
	distribution->normalized_name =
	        distname_normalize_in(&root->arena, distribution->name, &failed);
	if (!slice_is_null(source->error)) {
		distribution->error = arena_copy(&root->arena, source->error, &failed);
		distribution->entry_point_count = 0;
		root->broken = 1;
	}
	return failed ? error_nomem(error) : 0;
}

int package_scan(struct package *package, const struct scan_options *how, struct root_record *out,
                 struct error *error)
{
	CLEANUP(cleanup_linkage) struct linkage *linkage = linkage_create(NULL, how->readers);
	struct scan_options options = *how;
	struct stat status;
	int code;

	if (!linkage)
		return error_nomem(error);
	options.linkage = linkage;
	options.depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA;
	options.egg_base = slice_of(package->path);
	if (package->kind != PACKAGE_SOURCE)
		options.targets = target_records;
	code = scan_tree(package->tree, &options, out, error);
	if (code < 0)
		return code;
	/* Unchanged since it was opened? */
	out->settled &=
	        fstat(package->fd, &status) == 0 && stamp_equal(stamp_of(&status), package->stamp);
	if (package->kind == PACKAGE_SOURCE)
		code = finish_source(&package->source, out, error);
	if (code < 0)
		root_record_free(out);
	return code;
}

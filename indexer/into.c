/*
 * into.c - archives as distributions of a site directory: add --into.
 *
 * Whoever builds an image knows what will be installed before it is, and wants the
 * database to be ready with it. The rows are made as if the files were in place:
 *
 *     the directory as it is now, if it is there (a scan, as for update)
 *       and what was recorded before and is not installed yet
 *       less what the archives replace, by name
 *       and the archives' own distributions
 *
 * Nothing is claimed by this: the root is not settled, so that readers look for
 * themselves until an update has seen the files. A distribution that is in the
 * directory already is taken from there, and the root then vouched for as usual.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "add.h"
#include "cleanup.h"
#include "distname.h"
#include "layout.h"
#include "scan.h"
#include "target_record.h"

/* --- a tree as it will be installed --- */

/* The distributions of an archive, each by the name of its directory. */
struct placed {
	struct tree tree;
	struct tree *archive;
	struct slice *children; /* as the archive names them, in @arena */
	size_t count;
	struct arena arena;
	bool failed; /* no memory */
};

static struct slice base_of(struct slice path)
{
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

	return slash ? slice_between(slash + 1, path.ptr + path.len) : path;
}

/* How the archive calls @child; null if it has none. */
static struct slice in_archive(struct placed *placed, struct slice child)
{
	for (size_t i = 0; i < placed->count; i++)
		if (slice_equal(base_of(placed->children[i]), child))
			return placed->children[i];
	return (struct slice){0};
}

static int keep_child(void *payload, struct slice name, enum child_type type)
{
	struct placed *placed = payload;
	struct slice *children;

	(void)type;
	if (!distname_is_info(base_of(name)) || !slice_is_null(in_archive(placed, base_of(name))))
		return 0;
	children = reallocarray(placed->children, placed->count + 1, sizeof(*children));
	if (!children)
		return ERROR_NOMEM;
	placed->children = children;
	children[placed->count++] = arena_copy(&placed->arena, name, &placed->failed);
	return placed->failed ? ERROR_NOMEM : 0;
}

static struct placed *placed_of(struct tree *tree)
{
	return (struct placed *)tree;
}

static int placed_children(struct tree *tree, tree_each each, void *payload, struct error *error)
{
	struct placed *placed = placed_of(tree);
	int answer = 0;

	(void)error;
	for (size_t i = 0; answer == 0 && i < placed->count; i++)
		answer = each(payload, base_of(placed->children[i]), CHILD_UNKNOWN);
	return answer;
}

static int placed_read(struct tree *tree, struct slice child, const char *file, size_t limit,
                       bool first, struct arena *arena, struct slice *out, struct error *error)
{
	struct tree *archive = placed_of(tree)->archive;

	return archive->operations->read(archive, in_archive(placed_of(tree), child), file, limit,
	                                 first, arena, out, error);
}

static bool placed_exists(struct tree *tree, struct slice child, const char *file)
{
	struct tree *archive = placed_of(tree)->archive;

	return archive->operations->exists(archive, in_archive(placed_of(tree), child), file);
}

static bool placed_is_file(struct tree *tree, struct slice child)
{
	struct tree *archive = placed_of(tree)->archive;

	return archive->operations->is_file(archive, in_archive(placed_of(tree), child));
}

/* In a directory the name of the child counts, whatever it is. */
static bool placed_has_stem(struct tree *tree, struct slice child)
{
	(void)tree;
	(void)child;
	return true;
}

static void placed_stamps(struct tree *tree, struct slice child, struct distribution_record *out,
                          int64_t *newest)
{
	(void)tree;
	(void)child;
	(void)newest;
	out->directory_stamp = out->files_stamp = 0;
}

static int placed_listing(struct tree *tree, struct slice child, struct slice *out,
                          struct error *error)
{
	struct tree *archive = placed_of(tree)->archive;

	return archive->operations->listing(archive, in_archive(placed_of(tree), child), out,
	                                    error);
}

static int placed_fetch(void *tree, struct slice path, struct slice *bytes, struct error *error)
{
	struct tree *archive = placed_of(tree)->archive;

	return archive->operations->fetch(archive, path, bytes, error);
}

static void cleanup_placed(struct placed *placed)
{
	free(placed->children);
	arena_free(&placed->arena);
}

/* For reading all of the archive's distributions, the objects in it included. */
static const struct tree_operations placed_operations = {
        .children = placed_children,
        .read = placed_read,
        .exists = placed_exists,
        .is_file = placed_is_file,
        .has_stem = placed_has_stem,
        .stamps = placed_stamps,
        .listing = placed_listing,
        .fetch = placed_fetch,
};

/* For looking into the site directory, where modules of other distributions are. */
static const struct tree_operations beside_operations = {.read = placed_read};

/* --- the root in the making --- */

struct site {
	struct add *add;
	const struct database_root *wanted;
	int fd;                    /* of the directory; -1: it is not there yet */
	struct root_record known;  /* the rows */
	struct root_record now;    /* the directory as it is */
	struct root_record *added; /* of each archive */
	size_t added_count;
	struct distribution_record *merged;
	size_t merged_count, room;
	bool has_rows, is_pending;
};

static void cleanup_site(struct site *site)
{
	root_record_free(&site->known);
	root_record_free(&site->now);
	for (size_t i = 0; i < site->added_count; i++)
		root_record_free(&site->added[i]);
	free(site->added);
	free(site->merged);
	if (site->fd >= 0)
		close(site->fd);
}

/* A row that no scan of a directory makes: of what was recorded before it is installed. */
static bool is_pending(const struct distribution_record *row)
{
	return row->files_stamp == 0;
}

static int find_rows(struct site *site, struct error *error)
{
	struct slice path = slice_of(site->wanted->root_path);
	int found;

	root_record_free(&site->known);
	found = writer_find_root(site->add->writer, path, &site->known, error);
	site->has_rows = found > 0;
	site->known.path = path;
	return found < 0 ? found : 0;
}

static int ask(void *payload, size_t done, size_t total)
{
	(void)payload;
	(void)done;
	(void)total;
	return interrupted();
}

/* The directory as update would read it. */
static int scan_directory(struct site *site, struct error *error)
{
	struct stat status;
	struct scan_options how = {
	        .depth = SCAN_STAMPS | SCAN_METADATA | SCAN_HAS_METADATA | SCAN_TARGETS,
	        .in_place = !layout_is_known(site->wanted->inside),
	        .egg_base = slice_of(site->wanted->root_path),
	        .known = site->has_rows ? &site->known : NULL,
	        .progress = ask,
	};

	site->now.kind = ROOT_DIRECTORY;
	site->fd = open(site->wanted->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (site->fd < 0)
		return errno == ENOENT ? 0 : error_errno(error, errno, "%s", site->wanted->path);
	if (fstat(site->fd, &status) == 0)
		how.now = add_time(site->add, (int64_t)status.st_dev);
	return scan_path(site->wanted->path, &how, &site->now, error);
}

/* A directory that the database has not seen is first recorded as what it is. */
static int record_directory(struct site *site, struct error *error)
{
	int code;

	site->now.path = slice_of(site->wanted->root_path);
	if (site->has_rows || site->now.distribution_count == 0)
		return 0;
	code = store_root(site->add->writer, &site->now, NULL, &site->add->stored, error);
	for (size_t i = 0; i < site->now.distribution_count; i++)
		site->now.distributions[i].reused = true;
	return code < 0 ? code : find_rows(site, error);
}

/* --- one archive --- */

/* Changes with the archive; see is_pending() for the other stamp. */
static int64_t digest_of(struct stamp stamp)
{
	return (int64_t)(name_map_hash(&stamp, sizeof(stamp)) | 1);
}

/* Once more for those that lead to no file of the archive: others may be installed already. */
static int resolve_beside(struct site *site, struct placed *placed, struct distribution_record *row,
                          struct arena *arena, struct error *error)
{
	struct distribution_record part = *row;
	size_t *places;
	int code;

	places = arena_calloc(&placed->arena, row->entry_point_count + 1, sizeof(*places));
	part.entry_points = arena_calloc(&placed->arena, row->entry_point_count + 1,
	                                 sizeof(*part.entry_points));
	part.entry_point_count = 0;
	if (!places || !part.entry_points)
		return error_nomem(error);
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct target_record *target = row->entry_points[i].target;

		if (!target || !slice_equal(target->state, SLICE("missing")))
			continue;
		places[part.entry_point_count] = i;
		part.entry_points[part.entry_point_count] = row->entry_points[i];
		part.entry_points[part.entry_point_count++].target = NULL;
	}
	placed->tree = (struct tree){&beside_operations, ROOT_DIRECTORY, {0}, site->fd};
	code = target_records(&placed->tree, (struct slice){0}, &part, arena, error);
	for (size_t i = 0; code == 0 && i < part.entry_point_count; i++)
		row->entry_points[places[i]].target = part.entry_points[i].target;
	return code;
}

static int finish_rows(struct site *site, struct placed *placed, struct stamp stamp,
                       struct root_record *root, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < root->distribution_count; i++) {
		struct distribution_record *row = &root->distributions[i];

		row->directory_stamp = digest_of(stamp);
		row->files_stamp = 0;
		if (site->fd >= 0)
			code = resolve_beside(site, placed, row, &root->arena, error);
	}
	return code;
}

/* Can it be installed into a site directory, as it is? */
static int check_kind(const struct package *package, const struct placed *placed,
                      struct error *error)
{
	if (package->kind == PACKAGE_SOURCE)
		return error_set(error, ERROR_INVALID,
		                 "a source distribution must be built before it is installed");
	if (placed->count == 0)
		return error_set(error, ERROR_INVALID,
		                 "no distribution in it that could be installed there");
	return 0;
}

static int scan_package(struct site *site, struct package *package, struct root_record *root,
                        struct error *error)
{
	CLEANUP(cleanup_placed) struct placed placed = {.archive = package->tree};
	struct scan_options how = {
	        .depth = SCAN_METADATA | SCAN_HAS_METADATA | SCAN_TARGETS,
	        .progress = ask,
	};
	int code = package->tree->operations->children(package->tree, keep_child, &placed, error);

	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (code == 0)
		code = check_kind(package, &placed, error);
	if (code < 0)
		return code;
	placed.tree = (struct tree){&placed_operations, ROOT_ARCHIVE, {0}, -1};
	code = scan_tree(&placed.tree, &how, root, error);
	return code < 0 ? code : finish_rows(site, &placed, package->stamp, root, error);
}

static int read_archive(struct site *site, const char *path, struct root_record *root,
                        struct error *error)
{
	CLEANUP(package_close) struct package package = PACKAGE_INIT;
	int code = package_open(path, interrupted, &package, error);

	if (code < 0)
		return code;
	add_note_ignored(site->add, &package);
	return scan_package(site, &package, root, error);
}

static int read_archives(struct site *site, struct error *error)
{
	struct add *add = site->add;
	int code = 0;

	site->added = calloc(add->count + 1, sizeof(*site->added));
	if (!site->added)
		return error_nomem(error);
	for (size_t i = 0; code == 0 && i < add->count; i++) {
		struct root_record *root = &site->added[site->added_count];
		struct error why = {0};

		if (interrupted())
			return error_set(error, ERROR_IO, "interrupted; nothing was changed");
		progress_show(&add->progress, add->paths[i], i, add->count);
		code = read_archive(site, add->paths[i], root, &why);
		site->added_count++;
		if (code == 0)
			code = add_report(add, add->paths[i], root, ADD_ADDED, error);
		else
			code = add_failed(add, add->paths[i], &why, error);
	}
	return code;
}

/* --- all together --- */

static int merge_row(struct site *site, const struct distribution_record *row, struct error *error)
{
	size_t room = site->room ? 2 * site->room : 256;
	struct distribution_record *merged;

	if (site->merged_count == site->room) {
		merged = reallocarray(site->merged, room, sizeof(*merged));
		if (!merged)
			return error_nomem(error);
		site->merged = merged;
		site->room = room;
	}
	site->merged[site->merged_count++] = *row;
	return 0;
}

static struct distribution_record *find_directory(struct site *site, struct slice directory)
{
	for (size_t i = 0; i < site->merged_count; i++)
		if (slice_equal(site->merged[i].directory, directory))
			return &site->merged[i];
	return NULL;
}

/* What is there, and what was recorded before and is still to come. */
static int merge_known(struct site *site, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < site->now.distribution_count; i++)
		code = merge_row(site, &site->now.distributions[i], error);
	for (size_t i = 0; code == 0 && i < site->known.distribution_count; i++) {
		struct distribution_record row = site->known.distributions[i];

		if (!is_pending(&row) || find_directory(site, row.directory))
			continue;
		row.reused = true;
		code = merge_row(site, &row, error);
	}
	return code;
}

/* The name by which an installer replaces: METADATA's, else the directory's; malloc'd. */
static char *installed_name(const struct distribution_record *row)
{
	struct slice name = slice_is_null(row->name) ? row->normalized_name : row->name;
	size_t room = DISTNAME_ROOM(name.len) + 1;
	char *text = malloc(room);

	if (text)
		text[distname_normalize(name, text, room - 1)] = '\0';
	return text;
}

/* Drop the rows that installing @row would uninstall. */
static int drop_replaced(struct site *site, const struct distribution_record *row,
                         struct error *error)
{
	CLEANUP(cleanup_free) char *name = installed_name(row);
	size_t kept = 0;

	if (!name)
		return error_nomem(error);
	for (size_t i = 0; i < site->merged_count; i++) {
		CLEANUP(cleanup_free) char *other = installed_name(&site->merged[i]);

		if (!other)
			return error_nomem(error);
		if (strcmp(name, other) != 0)
			site->merged[kept++] = site->merged[i];
	}
	site->merged_count = kept;
	return 0;
}

/* Unless it is installed, or recorded from the very same archive, already. */
static int merge_added(struct site *site, const struct distribution_record *row,
                       struct error *error)
{
	struct distribution_record *there = find_directory(site, row->directory);
	struct distribution_record added = *row;
	int code;

	if (there && (!is_pending(there) || there->directory_stamp == row->directory_stamp))
		return 0;
	if (there)
		added.id = there->id;
	code = drop_replaced(site, row, error);
	return code < 0 ? code : merge_row(site, &added, error);
}

static int merge_all(struct site *site, struct error *error)
{
	int code = merge_known(site, error);

	for (size_t i = 0; i < site->added_count; i++)
		for (size_t j = 0; code == 0 && j < site->added[i].distribution_count; j++)
			code = merge_added(site, &site->added[i].distributions[j], error);
	return code;
}

/* Positions of what is not there yet follow those of what is. */
static void number_rows(struct site *site, struct root_record *root)
{
	uint32_t next = (uint32_t)site->now.distribution_count;

	root->broken = root->watched = 0;
	site->is_pending = false;
	for (size_t i = 0; i < site->merged_count; i++) {
		struct distribution_record *row = &site->merged[i];

		root->broken += !slice_is_null(row->error);
		root->watched += row->watched;
		if (!is_pending(row))
			continue;
		row->position = next++;
		site->is_pending = true;
	}
}

static int store(struct site *site, struct error *error)
{
	struct root_record root = site->now;

	if (!site->has_rows && site->merged_count == 0)
		return 0;
	root.distributions = site->merged;
	root.distribution_count = site->merged_count;
	number_rows(site, &root);
	root.settled = site->now.settled && !site->is_pending;
	return store_root(site->add->writer, &root, &site->known, &site->add->stored, error);
}

int add_to_site(struct add *add, struct error *error)
{
	CLEANUP(cleanup_site)
	struct site site = {
	        .add = add,
	        .wanted = &add->database->roots[0],
	        .fd = -1,
	};
	int code = find_rows(&site, error);

	if (code == 0)
		code = scan_directory(&site, error);
	if (code == 0)
		code = record_directory(&site, error);
	if (code == 0)
		code = read_archives(&site, error);
	if (code == 0)
		code = merge_all(&site, error);
	return code < 0 ? code : store(&site, error);
}

/*
 * placed.c - see placed.h.
 */
#include "indexer/verbs/placed.h"

#include <errno.h>
#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/digest.h"
#include "db/base/name_map.h"
#include "db/base/path.h"
#include "indexer/progress.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/metadata/scan.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/distname.h"

/* --- a tree as it will be installed --- */

/* The distributions of an archive, each by the name of its directory. */
struct placed {
	struct tree tree;
	struct tree *archive;
	struct slice *children; /* as the archive names them, in @arena */
	size_t count, room;
	struct name_map by_base;    /* the name of the directory -> index in children */
	struct import_cache beside; /* of the site directory */
	struct arena arena;
	bool failed; /* no memory */
};

/* How the archive calls @child; null if it has none. */
static struct slice in_archive(struct placed *placed, struct slice child)
{
	uint32_t at = name_map_get(&placed->by_base, child);

	return at == NAME_MAP_NONE ? (struct slice){0} : placed->children[at];
}

static int keep_child(void *payload, struct slice name)
{
	struct placed *placed = payload;
	struct slice base = path_base(name);

	if (!distname_is_info(base) || !slice_is_null(in_archive(placed, base)))
		return 0;
	if (!array_grow(&placed->children, placed->count, sizeof(*placed->children), &placed->room))
		return ERROR_NOMEM;
	name = arena_copy(&placed->arena, name, &placed->failed);
	if (!placed->failed)
		name_map_put(&placed->by_base, path_base(name), (uint32_t)placed->count,
		             &placed->failed);
	if (placed->failed)
		return ERROR_NOMEM;
	placed->children[placed->count++] = name;
	return 0;
}

static struct placed *placed_of(struct tree *tree)
{
	return (struct placed *)tree;
}

static int placed_children(struct tree *tree, tree_each *each, void *payload, struct error *error)
{
	struct placed *placed = placed_of(tree);
	int answer = 0;

	(void)error;
	for (size_t i = 0; answer == 0 && i < placed->count; i++)
		answer = each(payload, path_base(placed->children[i]));
	return answer;
}

static int placed_read(struct tree *tree, const struct tree_request *request, struct arena *arena,
                       struct slice *out, struct error *error)
{
	struct tree_request inside = *request;

	inside.child = in_archive(placed_of(tree), request->child);
	return tree_read(placed_of(tree)->archive, &inside, arena, out, error);
}

static int placed_exists(struct tree *tree, struct slice child, const char *file,
                         struct error *error)
{
	struct placed *placed = placed_of(tree);

	return tree_exists(placed->archive, in_archive(placed, child), file, error);
}

static int placed_is_file(struct tree *tree, struct slice child, struct error *error)
{
	struct placed *placed = placed_of(tree);

	return tree_is_file(placed->archive, in_archive(placed, child), error);
}

static int placed_listing(struct tree *tree, struct slice child, struct wheel_record *out,
                          struct error *error)
{
	struct placed *placed = placed_of(tree);

	return tree_listing(placed->archive, in_archive(placed, child), out, error);
}

static int placed_fetch(struct tree *tree, struct slice child, struct slice path,
                        struct elf_image *image, struct error *error)
{
	struct placed *placed = placed_of(tree);

	return tree_fetch(placed->archive, in_archive(placed, child), path, image, error);
}

static void cleanup_placed(struct placed *placed)
{
	free(placed->children);
	name_map_free(&placed->by_base);
	import_cache_free(&placed->beside);
	arena_free(&placed->arena);
}

/* For reading all of the archive's distributions, the objects in it included. */
static const struct tree_operations placed_operations = {
        .children = placed_children,
        .read = placed_read,
        .exists = placed_exists,
        .is_file = placed_is_file,
        .listing = placed_listing,
        .fetch = placed_fetch,
};

/* For looking into the site directory, where modules of other distributions are. */
static const struct tree_operations beside_operations = {.read = placed_read};

/* --- one archive --- */

/* Changes with the archive; see placed_is_pending() for the other stamp. */
static int64_t digest_of(struct stamp stamp)
{
	const uint64_t numbers[] = {(uint64_t)stamp.mtime, (uint64_t)stamp.ctime,
	                            (uint64_t)stamp.inode};

	return (int64_t)(digest_numbers(numbers, 3) | 1);
}

/* Look in the site directory for modules that the archive lacks: they may be installed there. */
static int resolve_beside(int site_fd, struct placed *placed, struct distribution_record *row,
                          struct arena *arena, struct error *error)
{
	const struct target_context context = {.cache = &placed->beside};
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

		if (!target || target->state != TARGET_MISSING)
			continue;
		places[part.entry_point_count] = i;
		part.entry_points[part.entry_point_count] = row->entry_points[i];
		part.entry_points[part.entry_point_count++].target = NULL;
	}
	placed->tree = (struct tree){
	        .operations = &beside_operations, .kind = ROOT_DIRECTORY, .fd = site_fd};
	code = target_records(&placed->tree, &context, &part, arena, error);
	for (size_t i = 0; code == 0 && i < part.entry_point_count; i++)
		row->entry_points[places[i]].target = part.entry_points[i].target;
	return code;
}

static int finish_rows(int site_fd, struct placed *placed, struct stamp stamp,
                       struct root_record *root, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < root->distribution_count; i++) {
		struct distribution_record *row = &root->distributions[i];

		row->directory_stamp = digest_of(stamp);
		row->files_stamp = 0;
		if (site_fd >= 0)
			code = resolve_beside(site_fd, placed, row, &root->arena, error);
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

int placed_scan(struct package *package, int site_fd, const struct plugin_kinds *kinds,
                struct root_record *root, struct error *error)
{
	CLEANUP(cleanup_placed) struct placed placed = {.archive = package->tree};
	CLEANUP(cleanup_linkage) struct linkage *linkage = linkage_create(NULL);
	struct scan_options how = {
	        .depth = SCAN_METADATA | SCAN_HAS_METADATA,
	        .targets = target_records,
	        .linkage = linkage,
	        .kinds = kinds,
	        .on_progress = progress_ask,
	};
	int code = linkage ? tree_children(package->tree, keep_child, &placed, error)
	                   : error_nomem(error);

	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (code == 0)
		code = check_kind(package, &placed, error);
	if (code < 0)
		return code;
	placed.tree =
	        (struct tree){.operations = &placed_operations, .kind = ROOT_ARCHIVE, .fd = -1};
	code = scan_tree(&placed.tree, &how, root, error);
	return code < 0 ? code : finish_rows(site_fd, &placed, package->stamp, root, error);
}

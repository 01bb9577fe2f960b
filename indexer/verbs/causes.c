/*
 * Finds why an entry point would not load, without running anything: its module is gone, an
 * extension in its package needs what is not there (extensions.h), or nothing in the text of the
 * module can define the attribute.
 */
#include "indexer/verbs/causes.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "indexer/verbs/extensions.h"
#include "libquery/disk/target/import_path.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/layout.h"

#define MODULE_TEXT_MAX ((size_t)4 << 20) /* bytes of a module that are searched */

/* One entry point, and where its distribution lies. */
struct search {
	const char *path; /* of the path entry */
	const char *sysroot;
	struct tree *tree; /* the path entry, opened */
	struct slice module, attr;
	struct wheel_record record; /* null where there is none */
	struct arena arena;
	char **out;
	struct error *error;
};

static void cleanup_search(struct search *search)
{
	tree_close(search->tree);
	arena_free(&search->arena);
}

static int found(struct search *search, char *cause)
{
	*search->out = cause;
	return cause ? 0 : error_nomem(search->error);
}

/* The file of the module, by RECORD alone (@fd is -1) or also by the disk; null: there is none. */
static int find_module(struct search *search, int fd, struct slice *path)
{
	CLEANUP(import_cache_free) struct import_cache cache = {0};
	const struct import_site site = {search->record, &cache, fd};
	struct import_file file = {0};
	int code = 0;
	bool failed = false;

	if (fd >= 0 || !wheel_record_is_null(&search->record))
		code = import_find(&site, search->module, &search->arena, &file, search->error);
	*path = arena_copy(&search->arena, file.file.path, &failed);
	return failed ? error_nomem(search->error) : code;
}

/* Is @attr in the text, or anything by which names can be in a module that are not in its text? */
static bool may_define(struct slice text, struct slice attr)
{
	const struct slice words[] = {
	        attr,         SLICE("*"), SLICE("__getattr__"), SLICE("globals"), SLICE("setattr"),
	        SLICE("exec")};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (memmem(text.ptr, text.len, words[i].ptr, words[i].len))
			return true;
	return false;
}

static int judge_text(struct search *search, struct slice path)
{
	CLEANUP(cleanup_free) char *file = text_format("%s/%s", search->path, path.ptr);
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length = 0;
	int code = file ? small_file_read(file, MODULE_TEXT_MAX, &text, &length, search->error)
	                : error_nomem(search->error);

	if (code <= 0 || length >= MODULE_TEXT_MAX ||
	    may_define((struct slice){text, length}, search->attr))
		return code < 0 ? code : 0;
	return found(search, text_format("%s has no %.*s in it", path.ptr, (int)search->attr.len,
	                                 search->attr.ptr));
}

static int judge_extensions(struct search *search)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(search->path);
	struct slice site = slice_of(path), sysroot = slice_of(search->sysroot);

	if (!path)
		return error_nomem(search->error);
	if (sysroot.len && slice_starts(site, sysroot))
		site = slice_from(site, sysroot.len);
	return extensions_find_cause(search->tree, site, search->sysroot, &search->record,
	                             search->module, search->out, search->error);
}

static int judge_module(struct search *search, bool is_missing)
{
	struct stat status;
	struct slice path;
	int code = find_module(search, -1, &path);

	if (code == 0 && !slice_is_null(path)) {
		code = file_status(search->tree->fd, path.ptr, &status, search->error);
		if (code == 0)
			return found(search,
			             text_format("%s is listed in RECORD and not there: "
			                         "the package is gone, its metadata was left",
			                         path.ptr));
	} else if (code == 0 && is_missing) {
		return found(search, text_format("nothing in %s is the module %.*s", search->path,
		                                 (int)search->module.len, search->module.ptr));
	} else if (code == 0) {
		code = find_module(search, search->tree->fd, &path);
	}
	if (code >= 0 && !wheel_record_is_null(&search->record))
		code = judge_extensions(search);
	if (code < 0 || *search->out || search->attr.len == 0 || !slice_ends(path, SLICE(".py")))
		return code < 0 ? code : 0;
	return judge_text(search, path);
}

static int judge(struct search *search, struct slice directory, bool is_missing)
{
	struct tree_request request = {directory, "RECORD", RECORD_MAX, false};
	struct error own = {0};
	int code = tree_open(search->path, &search->tree, &own);

	if (code == 0 && search->tree && search->tree->kind == ROOT_DIRECTORY) {
		code = tree_is_editable(search->tree, directory, search->error);
		if (code != 0) /* its module lies elsewhere */
			return code < 0 ? code : 0;
		code = tree_read(search->tree, &request, &search->arena, &search->record.text,
		                 &own);
		code = code < 0 ? error_move_failure(search->error, &own) : 0;
		return code < 0 ? code : judge_module(search, is_missing);
	}
	return code < 0 ? error_move_failure(search->error, &own) : 0;
}

int causes_find(const char *sysroot, const entrydb_entry_point *entry_point,
                const entrydb_target *target, char **out, struct error *error)
{
	const char *attr = entrydb_entry_point_attr(entry_point);
	const char *file = entrydb_entry_point_file(entry_point), *slash = strrchr(file, '/');
	CLEANUP(cleanup_search)
	struct search search = {
	        .path = entrydb_entry_point_path(entry_point),
	        .module = slice_of(entrydb_entry_point_module(entry_point)),
	        .sysroot = sysroot,
	        .attr = slice_first(slice_of(attr), attr ? strcspn(attr, ".") : 0),
	        .out = out,
	        .error = error,
	};

	*out = NULL;
	if (search.module.len == 0 ||
	    (target && entrydb_target_kind(target) == ENTRYDB_KIND_NATIVE))
		return 0;
	return judge(&search, slice_of(slash ? slash + 1 : file),
	             target && entrydb_target_state(target) == ENTRYDB_STATE_MISSING);
}

/*
 * Predicts why an entry point would not load: its module is missing, an extension in its package
 * needs a missing library or symbol (where the dynamic linker's message seldom reaches the user),
 * or the module's source does not define the attribute.
 */
#include "indexer/verbs/causes.h"

#include <errno.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/target/import_path.h"
#include "libquery/disk/target/object.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree.h"
#include "libquery/layout.h"

#define MODULE_TEXT_MAX ((size_t)4 << 20) /* bytes of a module that are searched */
#define EXTENSIONS_MAX  64                /* examined in one distribution */
#define SOUGHT_MAX      32                /* libraries searched in all other packages */

/* The state of examining one entry point. */
struct search {
	const char *path; /* of the path entry */
	const char *sysroot;
	struct tree *tree; /* the path entry, opened */
	struct slice site; /* its absolute path, without sysroot */
	struct linkage *linkage;
	size_t sought; /* libraries searched for so far, up to SOUGHT_MAX */
	struct slice module, attr;
	struct wheel_record record; /* null if there is none */
	struct arena arena;
	char **out;
	struct error *error;
};

static void cleanup_search(struct search *search)
{
	tree_close(search->tree);
	linkage_free(search->linkage);
	arena_free(&search->arena);
}

static int found(struct search *search, char *cause)
{
	*search->out = cause;
	return cause ? 0 : error_nomem(search->error);
}

/* Find the module's file in RECORD and, unless @fd is -1, on disk; null if there is none. */
static int find_module(struct search *search, int fd, struct slice *path)
{
	CLEANUP(import_cache_free) struct import_cache cache = {0};
	const struct import_site site = {.record = search->record, .cache = &cache, .fd = fd};
	struct import_file file = {0};
	int code = 0;
	bool failed = false;

	if (fd >= 0 || !wheel_record_is_null(&search->record))
		code = import_find(&site, search->module, &search->arena, &file, search->error);
	*path = arena_copy(&search->arena, file.file.path, &failed);
	return failed ? error_nomem(search->error) : code;
}

/* Whether the text contains @attr, or a construct that can define names dynamically. */
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
	return found(search, text_format("%s does not contain %.*s", path.ptr,
	                                 (int)search->attr.len, search->attr.ptr));
}

/* --- extension modules loaded by the import --- */

/*
 * Add the directory of @child and @below to the search path if it contains the library @name.
 * Returns 1 if it does.
 */
static int try_host(struct search *search, const char *child, const char *below, struct slice name)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s%s/%.*s", child, below, (int)name.len, name.ptr);
	CLEANUP(cleanup_free)
	char *place =
	        text_format("%.*s/%s%s", (int)search->site.len, search->site.ptr, child, below);
	struct stat status;
	int code = path && place ? file_status(search->tree->fd, path, &status, search->error)
	                         : error_nomem(search->error);

	if (code > 0 && !linkage_add_host(search->linkage, slice_of(place)))
		return error_nomem(search->error);
	return code;
}

static int find_host(struct search *search, struct slice name)
{
	CLEANUP(cleanup_closedir) DIR *directory = file_open_directory(search->tree->fd, ".");
	const char *child;
	int code = 0, more = directory ? 1 : -1;

	while (code == 0 && more > 0 && (more = file_next(directory, &child)) > 0) {
		if (strchr(child, '.'))
			continue;
		code = try_host(search, child, "", name);
		if (code == 0)
			code = try_host(search, child, "/lib", name);
	}
	if (more < 0 && errno_is_failure(errno))
		return error_errno(search->error, errno, "the site directory");
	return code;
}

/* Returns 1 if another package contains one of the libraries @words. */
static int find_hosts(struct search *search, struct slice words)
{
	int found = 0;

	while (words.len > 0 && search->sought++ < SOUGHT_MAX) {
		int code = find_host(search, slice_take(&words, ' '));

		if (code < 0)
			return code;
		found |= code;
	}
	return found;
}

/* Retry with the libraries of other packages if any of the missing ones is among them. */
static int judge_linkage(struct search *search, const struct object *object, struct slice place,
                         struct linkage_report *report)
{
	int code = linkage_judge(search->linkage, object->file, place, NULL, &search->arena, report,
	                         search->error);

	if (code == 0)
		code = find_hosts(search, report->missing);
	return code <= 0 ? code
	                 : linkage_judge(search->linkage, object->file, place, NULL, &search->arena,
	                                 report, search->error);
}

static int judge_object(struct search *search, const struct object *object, struct slice path)
{
	CLEANUP(cleanup_free)
	char *place = text_format("%.*s/%.*s", (int)search->site.len, search->site.ptr,
	                          (int)path.len, path.ptr);
	struct linkage_report report = {0};
	struct slice words, word;
	int code = place ? judge_linkage(search, object, slice_of(place), &report)
	                 : error_nomem(search->error);

	words = report.missing.len ? report.missing : report.undefined;
	if (code < 0 || words.len == 0)
		return code;
	word = slice_take(&words, ' ');
	return found(
	        search,
	        text_format("%.*s needs %s%.*s, which %s", (int)path.len, path.ptr,
	                    report.missing.len ? "" : "the symbol ", (int)word.len, word.ptr,
	                    report.missing.len ? "is not found" : "none of its libraries defines"));
}

/* Is the object in the module's package, or in one that is imported before it? */
static bool is_on_the_way(struct slice object, struct slice module)
{
	size_t length = path_directory(object).len;

	if (length > module.len)
		return false;
	for (size_t i = 0; i < length; i++)
		if (object.ptr[i] != (module.ptr[i] == '.' ? '/' : module.ptr[i]))
			return false;
	return length == 0 || length == module.len || module.ptr[length] == '.';
}

/*
 * Examine the distribution's extensions in packages imported for the module, up to the first
 * problem. Libraries in other packages of the site count as found, as torch's libc10.so is once a
 * program has imported torch.
 */
static int judge_extensions(struct search *search)
{
	CLEANUP(cleanup_free) char *path = layout_absolute(search->path);
	const struct object_site where = {.fd = search->tree->fd};
	struct slice sysroot = slice_of(search->sysroot);
	struct wheel_file file;
	size_t at = 0;
	int code = 0;

	search->linkage = linkage_create(search->sysroot, READERS_NONE);
	if (!path || !search->linkage)
		return error_nomem(search->error);
	search->site = slice_of(path);
	if (sysroot.len && slice_starts(search->site, sysroot))
		search->site = slice_from(search->site, sysroot.len);
	for (size_t judged = 0; code == 0 && !*search->out && judged < EXTENSIONS_MAX &&
	                        wheel_record_find_object(&search->record, &at, &file);) {
		struct object object = {.fd = -1};
		struct error own = {0};

		if (!is_on_the_way(file.path, search->module))
			continue;
		judged++;
		code = object_open(&where, &file, &object, &own);
		code = code == 0 ? judge_object(search, &object, file.path)
		                 : error_move_failure(search->error, &own);
		error_clear(&own);
		object_close(&object);
	}
	return code;
}

/* --- all causes --- */

static int judge_module(struct search *search, bool is_missing)
{
	struct stat status;
	struct slice path;
	int code = find_module(search, -1, &path);

	if (code == 0 && !slice_is_null(path)) {
		code = file_status(search->tree->fd, path.ptr, &status, search->error);
		if (code == 0)
			return found(search,
			             text_format("%s is listed in RECORD, but missing: "
			                         "the package was removed, but not its metadata",
			                         path.ptr));
	} else if (code == 0 && is_missing) {
		return found(search,
		             text_format("there is no module %.*s in %s", (int)search->module.len,
		                         search->module.ptr, search->path));
	} else if (code == 0) {
		code = find_module(search, search->tree->fd, &path);
	}
	if (code >= 0 && !wheel_record_is_null(&search->record))
		code = judge_extensions(search);
	if (code < 0 || *search->out || search->attr.len == 0 || !slice_ends(path, SLICE(".py")))
		return code < 0 ? code : 0;
	return judge_text(search, path);
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
	struct tree_request request = {slice_of(slash ? slash + 1 : file), "RECORD", RECORD_MAX,
	                               false};
	struct error own = {0};
	int code;

	*out = NULL;
	if (search.module.len == 0 ||
	    (target && entrydb_target_kind(target) == ENTRYDB_KIND_NATIVE))
		return 0;
	code = tree_open(search.path, &search.tree, &own);
	if (code < 0 || !search.tree || search.tree->kind != ROOT_DIRECTORY)
		return error_move_failure(error, &own);
	code = tree_is_editable(search.tree, request.child, error);
	if (code != 0) /* its module is elsewhere */
		return code < 0 ? code : 0;
	tree_read(search.tree, &request, &search.arena, &search.record.text, &own);
	code = error_move_failure(error, &own);
	return code < 0 ? code
	                : judge_module(&search, target && entrydb_target_state(target) ==
	                                                          ENTRYDB_STATE_MISSING);
}

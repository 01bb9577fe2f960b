/*
 * Finds why an entry point would not load, without running anything:
 *
 *     is the module there?         metadata may be left of a package that was removed
 *     would its extensions load?   the libraries and symbols that they need
 *     does it name the attribute?  if nothing else in the text can define it
 */
#include "indexer/verbs/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/small_file.h"
#include "db/base/text.h"
#include "libquery/disk/target/import_path.h"
#include "libquery/disk/target/object.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/tree_open.h"
#include "libquery/layout.h"

#define MODULE_TEXT_MAX ((size_t)4 << 20) /* bytes of a module that are searched */
#define EXTENSIONS_MAX  64                /* that are judged, of one distribution */
#define SOUGHT_MAX      32                /* libraries that are looked for in all other packages */

/* One entry point, and where its distribution lies. */
struct search {
	const char *path;  /* of the path entry */
	char *absolute;    /* the same */
	struct slice site; /* the same without the sysroot */
	struct tree *tree; /* the path entry, opened */
	struct slice module, attr;
	struct wheel_record record; /* null where there is none */
	struct linkage *linkage;
	size_t sought; /* libraries so far; see SOUGHT_MAX */
	struct arena arena;
	struct sites *causes;
	struct error *error;
};

static void cleanup_search(struct search *search)
{
	tree_close(search->tree);
	linkage_free(search->linkage);
	arena_free(&search->arena);
	free(search->absolute);
}

/* A sentence, which is freed; NULL: there was no memory for it. */
static int add(struct search *search, char *sentence)
{
	bool added = sentence && sites_add(search->causes, sentence);

	free(sentence);
	return added ? 0 : error_nomem(search->error);
}

/* --- the module --- */

/* The file of the module, by RECORD alone or also by what is on the disk; null: there is none. */
static int find_module(struct search *search, int fd, struct slice *path)
{
	CLEANUP(import_cache_free) struct import_cache cache = {0};
	const struct import_site site = {search->record, &cache, fd};
	struct import_file found = {0};
	int code = 0;
	bool failed = false;

	if (fd >= 0 || !wheel_record_is_null(&search->record))
		code = import_find(&site, search->module, &search->arena, &found, search->error);
	*path = arena_copy(&search->arena, found.file.path, &failed);
	return failed ? error_nomem(search->error) : code;
}

/* 1: it is there, or may be elsewhere; 0: it is not, which is a cause; or a failure. */
static int check_module(struct search *search, const entrydb_target *target)
{
	struct slice path;
	struct stat status;
	int code = find_module(search, -1, &path);

	if (code < 0)
		return code;
	if (!slice_is_null(path)) {
		code = file_status(search->tree->fd, path.ptr, &status, search->error);
		return code != 0 ? code
		                 : add(search,
		                       text_format("%s is listed in RECORD and not there: the "
		                                   "package is gone, its metadata was left",
		                                   path.ptr));
	}
	if (target && entrydb_target_state(target) == ENTRYDB_STATE_MISSING)
		return add(search, text_format("nothing in %s is the module %.*s", search->path,
		                               (int)search->module.len, search->module.ptr));
	return 1;
}

/* --- its extensions --- */

/* Is there a library called @name in @directory, relative to the path entry? */
static int add_host(struct search *search, const char *directory, struct slice name)
{
	CLEANUP(cleanup_free)
	char *path = text_format("%s/%.*s", directory, (int)name.len, name.ptr);
	CLEANUP(cleanup_free)
	char *place = text_format("%.*s/%s", (int)search->site.len, search->site.ptr, directory);
	struct stat status;
	int code = path && place ? file_status(search->tree->fd, path, &status, search->error)
	                         : error_nomem(search->error);

	if (code > 0 && !linkage_add_host(search->linkage, slice_of(place)))
		return error_nomem(search->error);
	return code;
}

/* Another package, which is imported before, may bring that library: libc10.so is torch's. */
static int find_host(struct search *search, struct slice name)
{
	CLEANUP(cleanup_closedir) DIR *directory = file_open_directory(search->tree->fd, ".");
	const char *child;
	int code = 0, more = directory ? 1 : -1;

	while (code == 0 && more > 0 && (more = file_next(directory, &child)) > 0) {
		CLEANUP(cleanup_free) char *lib = text_format("%s/lib", child);

		if (strchr(child, '.'))
			continue;
		code = lib ? add_host(search, child, name) : error_nomem(search->error);
		if (code == 0)
			code = add_host(search, lib, name);
	}
	if (more < 0 && errno_is_failure(errno))
		return error_errno(search->error, errno, "%s", search->path);
	return code;
}

/* The first of the words, which is taken off. */
static struct slice take_word(struct slice *words)
{
	const char *space = words->len ? memchr(words->ptr, ' ', words->len) : NULL;
	struct slice word = space ? slice_between(words->ptr, space) : *words;

	*words = slice_from(*words, word.len + (space != NULL));
	return word;
}

/* 1: at least one of these libraries is some other package's. */
static int find_hosts(struct search *search, struct slice libraries)
{
	int found = 0;

	while (libraries.len > 0 && search->sought++ < SOUGHT_MAX) {
		int code = find_host(search, take_word(&libraries));

		if (code < 0)
			return code;
		found |= code;
	}
	return found;
}

/* @what: "" or what each of the words is; @why: what is wrong with it. */
static int add_each(struct search *search, struct slice object, const char *what,
                    struct slice words, const char *why)
{
	int code = 0;

	while (code == 0 && words.len > 0) {
		struct slice word = take_word(&words);

		code = add(search, text_format("%.*s needs %s%.*s, which %s", (int)object.len,
		                               object.ptr, what, (int)word.len, word.ptr, why));
	}
	return code;
}

static int judge_open(struct search *search, const struct object *object, struct slice path)
{
	CLEANUP(cleanup_free)
	char *place = text_format("%.*s/%.*s", (int)search->site.len, search->site.ptr,
	                          (int)path.len, path.ptr);
	struct linkage_report report = {0};
	int code = place ? 1 : error_nomem(search->error);

	for (int round = 0; code > 0 && round < 2;
	     round++) { /* the second with the hosts' libraries */
		code = linkage_judge(search->linkage, object->file, slice_of(place), NULL,
		                     &search->arena, &report, search->error);
		if (code == 0)
			code = find_hosts(search, report.missing);
	}
	if (code >= 0)
		code = add_each(search, path, "", report.missing, "is not found");
	if (code == 0)
		code = add_each(search, path, "the symbol ", report.undefined,
		                "no library that it needs has");
	return code;
}

static int judge_extension(struct search *search, const struct wheel_file *file)
{
	const struct object_site site = {.fd = search->tree->fd};
	struct object object = OBJECT_INIT;
	struct error own = {0};
	int code = object_open(&site, file, &object, &own);

	if (code == 0)
		code = judge_open(search, &object, file->path);
	else
		code = error_move_failure(search->error, &own);
	error_clear(&own);
	object_close(&object);
	return code;
}

/* Is it in a package that is imported on the way to the module, or in that which it is? */
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

static int judge_extensions(struct search *search)
{
	struct wheel_file file;
	size_t at = 0;
	int code = 0;

	if (wheel_record_is_null(&search->record))
		return 0;
	for (size_t judged = 0; code == 0 && judged < EXTENSIONS_MAX &&
	                        wheel_record_find_object(&search->record, &at, &file);)
		if (is_on_the_way(file.path, search->module)) {
			code = judge_extension(search, &file);
			judged++;
		}
	return code;
}

/* --- its text --- */

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

static int judge_text(struct search *search)
{
	CLEANUP(cleanup_free) char *file = NULL;
	CLEANUP(cleanup_free) char *text = NULL;
	struct slice path;
	size_t length = 0;
	int code = find_module(search, search->tree->fd, &path);

	if (code < 0 || search->attr.len == 0 || !slice_ends(path, SLICE(".py")))
		return code;
	file = text_format("%s/%s", search->absolute, path.ptr);
	code = file ? small_file_read(file, MODULE_TEXT_MAX, &text, &length, search->error)
	            : error_nomem(search->error);
	if (code <= 0 || length >= MODULE_TEXT_MAX)
		return code < 0 ? code : 0;
	if (may_define((struct slice){text, length}, search->attr))
		return 0;
	return add(search, text_format("%s has no %.*s in it", path.ptr, (int)search->attr.len,
	                               search->attr.ptr));
}

/* --- the whole --- */

static int read_record(struct search *search, struct slice directory)
{
	struct tree_request request = {directory, "RECORD", RECORD_MAX, false};
	struct error own = {0};
	int code = tree_read(search->tree, &request, &search->arena, &search->record.text, &own);

	code = code < 0 ? error_move_failure(search->error, &own) : 0;
	error_clear(&own);
	return code;
}

/* 1: it is a directory, and opened; 0: there is nothing to be looked at. */
static int open_place(struct search *search, const char *sysroot)
{
	struct error own = {0};
	int code = tree_open(search->path, &search->tree, &own);

	if (code < 0)
		code = error_move_failure(search->error, &own);
	error_clear(&own);
	if (code < 0 || !search->tree || search->tree->kind != ROOT_DIRECTORY)
		return code;
	search->linkage = linkage_create(sysroot);
	search->absolute = layout_absolute(search->path);
	if (!search->linkage || !search->absolute)
		return error_nomem(search->error);
	search->site = slice_of(search->absolute);
	if (sysroot && slice_starts(search->site, slice_of(sysroot)))
		search->site = slice_from(search->site, strlen(sysroot));
	return 1;
}

static int find_all(struct search *search, struct slice directory, const entrydb_target *target)
{
	int code = tree_is_editable(search->tree, directory, search->error);

	if (code != 0) /* it lies elsewhere */
		return code < 0 ? code : 0;
	code = read_record(search, directory);
	if (code == 0)
		code = check_module(search, target);
	if (code > 0)
		code = judge_extensions(search);
	else
		return code;
	return code == 0 ? judge_text(search) : code;
}

int causes_find(const char *sysroot, const entrydb_entry_point *entry_point,
                const entrydb_target *target, struct sites *out, struct error *error)
{
	const char *attr = entrydb_entry_point_attr(entry_point);
	CLEANUP(cleanup_search)
	struct search search = {
	        .path = entrydb_entry_point_path(entry_point),
	        .module = slice_of(entrydb_entry_point_module(entry_point)),
	        .attr = slice_first(slice_of(attr), attr ? strcspn(attr, ".") : 0),
	        .causes = out,
	        .error = error,
	};
	const char *file = entrydb_entry_point_file(entry_point), *slash = strrchr(file, '/');
	int code;

	if (search.module.len == 0 ||
	    (target && entrydb_target_kind(target) == ENTRYDB_KIND_NATIVE))
		return 0;
	code = open_place(&search, sysroot);
	return code <= 0 ? code : find_all(&search, slice_of(slash ? slash + 1 : file), target);
}

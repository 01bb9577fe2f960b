/*
 * Finds the library or symbol for want of which an import would fail: the message that the
 * dynamic linker gives for it is seldom the one that a program's user sees.
 */
#include "indexer/verbs/extensions.h"

#include <errno.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/target/object.h"

#define EXTENSIONS_MAX 64 /* that are judged, of one distribution */
#define SOUGHT_MAX     32 /* libraries that are looked for in all other packages */

struct search {
	const struct tree *tree;
	struct slice site;
	struct linkage *linkage;
	size_t sought; /* libraries so far; see SOUGHT_MAX */
	struct arena arena;
	struct error *error;
};

static void cleanup_search(struct search *search)
{
	linkage_free(search->linkage);
	arena_free(&search->arena);
}

/* 1: the library @name is in the directory of @child and @below, which is one to search from now
 * on. */
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

/* 1: some of the libraries @words are other packages'. */
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

/* Once more with the libraries of other packages, if that makes a difference. */
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

static int judge(struct search *search, const struct object *object, struct slice path, char **out)
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
	*out = text_format("%.*s needs %s%.*s, which %s", (int)path.len, path.ptr,
	                   report.missing.len ? "" : "the symbol ", (int)word.len, word.ptr,
	                   report.missing.len ? "is not found" : "no library that it needs has");
	return *out ? 0 : error_nomem(search->error);
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

int extensions_find_cause(const struct tree *tree, struct slice site, const char *sysroot,
                          const struct wheel_record *record, struct slice module, char **out,
                          struct error *error)
{
	CLEANUP(cleanup_search) struct search search = {.tree = tree, .site = site, .error = error};
	const struct object_site where = {.fd = tree->fd};
	struct wheel_file file;
	size_t at = 0;
	int code = 0;

	*out = NULL;
	search.linkage = linkage_create(sysroot);
	if (!search.linkage)
		return error_nomem(error);
	for (size_t judged = 0; code == 0 && !*out && judged < EXTENSIONS_MAX &&
	                        wheel_record_find_object(record, &at, &file);) {
		struct object object = {.fd = -1};
		struct error own = {0};

		if (!is_on_the_way(file.path, module))
			continue;
		judged++;
		code = object_open(&where, &file, &object, &own);
		code = code == 0 ? judge(&search, &object, file.path, out)
		                 : error_move_failure(error, &own);
		error_clear(&own);
		object_close(&object);
	}
	return code;
}

/*
 * archive_list.c - see archive_list.h.
 */
#include "indexer/verbs/archive_list.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/arena.h"
#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "indexer/archive/package.h"
#include "libquery/layout.h"

struct search {
	struct archive_list *list;
	struct add_report *report;
	struct name_map seen; /* absolute paths, which are in the arena */
	struct arena arena;
	bool failed; /* no memory */
};

static void search_free(struct search *search)
{
	name_map_free(&search->seen);
	arena_free(&search->arena);
}

static bool is_new(struct search *search, const char *path)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
	struct slice key = slice_of(absolute ? absolute : path);
	size_t before = search->seen.count;

	key = arena_copy(&search->arena, key, &search->failed);
	if (!search->failed)
		name_map_put(&search->seen, key, 0, &search->failed);
	return search->seen.count > before;
}

static bool append(struct archive_list *list, const char *path)
{
	if (!array_grow(&list->paths, list->count, sizeof(*list->paths), &list->room))
		return false;
	list->paths[list->count] = strdup(path);
	return list->paths[list->count] && ++list->count;
}

static void add_path(struct search *search, const char *path)
{
	if (is_new(search, path))
		search->failed |= !append(search->list, path);
}

/* What cannot be looked at is reported, and the others are added all the same. */
static void complain(struct search *search, const char *path, int errnum)
{
	struct error error = {0};

	error_errno(&error, errnum, "%s", path);
	add_report_failed(search->report, path, &error);
}

/* --- directories --- */

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* In the order of names, so that the same directory gives the same rows. */
static void list_names(struct search *search, const char *path, struct archive_list *names)
{
	CLEANUP(cleanup_closedir) DIR *directory = file_open_directory(AT_FDCWD, path);
	int left = directory ? 1 : -1;
	const char *name;

	while (directory && !search->failed && (left = file_next(directory, &name)) > 0)
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			search->failed |= !append(names, name);
	if (left < 0)
		complain(search, path, errno);
	if (names->count > 0)
		qsort(names->paths, names->count, sizeof(*names->paths), compare_names);
}

static void search_directory(struct search *search, const char *path);

/* A link may lead to a file: opening it will tell. To directories, links are not followed. */
static void visit(struct search *search, const char *directory, const char *name)
{
	size_t len = strlen(directory);
	CLEANUP(cleanup_free)
	char *path = text_format("%s%s%s", directory,
	                         len > 0 && directory[len - 1] == '/' ? "" : "/", name);
	struct stat status;

	if (!path)
		search->failed = true;
	else if (lstat(path, &status) != 0)
		complain(search, path, errno);
	else if (S_ISDIR(status.st_mode))
		search_directory(search, path);
	else if ((S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) && package_is_archive(name))
		add_path(search, path);
}

static void search_directory(struct search *search, const char *path)
{
	CLEANUP(archive_list_free) struct archive_list names = {0};

	list_names(search, path, &names);
	for (size_t i = 0; i < names.count && !search->failed && !interrupted(); i++)
		visit(search, path, names.paths[i]);
}

/* What is not there is left to whoever opens it. */
static void search_argument(struct search *search, const char *path)
{
	struct stat status;
	bool found = stat(path, &status) == 0;

	if (!found && errno_is_failure(errno))
		complain(search, path, errno);
	else if (found && S_ISDIR(status.st_mode))
		search_directory(search, path);
	else
		add_path(search, path);
}

int archive_list_find(struct archive_list *list, struct add_report *report, struct error *error)
{
	CLEANUP(search_free) struct search search = {.list = list, .report = report};
	const struct options *options = report->options;

	for (size_t i = 0; i < options->argument_count; i++)
		search_argument(&search, options->arguments[i]);
	return search.failed ? error_nomem(error) : 0;
}

void archive_list_free(struct archive_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
}

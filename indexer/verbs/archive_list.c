/*
 * Finds archives by the names of files, in the order of names, so that the same directory gives
 * the same rows.
 */
#include "indexer/verbs/archive_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/archive/package.h"
#include "libquery/layout.h"

struct search {
	struct sites *found, seen; /* as they are spelled, and as absolute paths */
	archive_list_problem *problem;
	void *payload;
	bool failed; /* no memory */
};

static void add_path(struct search *search, const char *path)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
	size_t before = search->seen.count;

	search->failed |= !sites_add(&search->seen, absolute ? absolute : path);
	if (search->seen.count > before)
		search->failed |= !sites_add(search->found, path);
}

static void complain(struct search *search, const char *path, int errnum)
{
	struct error error = {0};

	error_errno(&error, errnum, "%s", path);
	search->problem(search->payload, path, &error);
}

static void search_directory(struct search *search, const char *path);

/* A link may lead to a file: opening it will tell. To directories, links are not followed. */
static void visit(struct search *search, const char *directory, const char *name)
{
	const char *slash = slice_ends(slice_of(directory), SLICE("/")) ? "" : "/";
	CLEANUP(cleanup_free) char *path = text_format("%s%s%s", directory, slash, name);
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

static int is_child(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void search_directory(struct search *search, const char *path)
{
	struct dirent **names = NULL;
	int count = scandir(path, &names, is_child, alphasort);

	if (count < 0)
		complain(search, path, errno);
	for (int i = 0; i < count; i++) {
		if (!search->failed && !interrupted())
			visit(search, path, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* What does not exist is reported when it is opened. */
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

int archive_list_find(const struct options *options, struct sites *out,
                      archive_list_problem *problem, void *payload, struct error *error)
{
	struct search search = {.found = out, .problem = problem, .payload = payload};

	for (size_t i = 0; i < options->argument_count; i++)
		search_argument(&search, options->arguments[i]);
	sites_free(&search.seen);
	return search.failed ? error_nomem(error) : 0;
}

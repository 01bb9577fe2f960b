/*
 * Says what may have been meant, or what to do next, where nothing was found.
 */
#include "indexer/suggest.h"

#include <stdio.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"

char *suggest_near(const char *prefix, const struct nearest *nearest)
{
	if (slice_is_null(nearest->found))
		return strdup("");
	return text_format("; did you mean '%s%.*s'?", prefix, (int)nearest->found.len,
	                   nearest->found.ptr);
}

/* --- groups and names --- */

/* The group nearest to @group, or, unless @name is NULL, the name nearest to that in the group. */
static struct nearest find_near(const entrydb_set *set, const char *group, const char *name)
{
	struct nearest nearest = nearest_to(slice_of(name ? name : group));

	for (size_t i = 0; i < entrydb_set_count(set); i++) {
		const entrydb_entry_point *e = entrydb_set_get(set, i);

		if (!name)
			nearest_offer(&nearest, slice_of(entrydb_entry_point_group(e)));
		else if (strcmp(entrydb_entry_point_group(e), group) == 0)
			nearest_offer(&nearest, slice_of(entrydb_entry_point_name(e)));
	}
	return nearest;
}

/* A name of a group that there is, or another group. */
static bool suggest(const struct options *options, const entrydb_set *set, const char *group,
                    const char *name)
{
	struct nearest nearest = find_near(set, group, NULL);
	bool has_group = slice_equal(nearest.found, nearest.wanted);
	CLEANUP(cleanup_free) char *suggestion = NULL;

	if (has_group && !name)
		return false;
	if (has_group)
		nearest = find_near(set, group, name);
	suggestion = suggest_near("", &nearest);
	if (slice_is_null(nearest.found) || !suggestion)
		return false;
	if (has_group)
		note(options, "there is no '%s' in group '%s'%s", name, group, suggestion);
	else
		note(options, "there is no group '%s'%s", group, suggestion);
	return true;
}

/* --- nothing at all --- */

/* What the handle knows of its path entries. */
struct searched {
	size_t present;
	const char *without; /* the first that is there and has no database */
	const char *absent;  /* the first that is not there */
};

static void count_entry(struct searched *searched, const entrydb_path_entry *entry)
{
	bool is_absent = entrydb_path_entry_state(entry) == ENTRYDB_PATH_ABSENT;
	const char *path = entrydb_path_entry_path(entry);

	searched->present += !is_absent;
	if (is_absent && !searched->absent)
		searched->absent = path;
	if (!is_absent && !entrydb_path_entry_database(entry) && !searched->without)
		searched->without = path;
}

static void advise_on_searched(const struct options *options, const struct searched *searched)
{
	if (searched->without)
		note(options,
		     "no entry points were found, and no database has %s; install packages there "
		     "and run 'entrydb update %s', or look elsewhere with --path",
		     searched->without, searched->without);
	else if (searched->present)
		note(options, "the databases have no entry points for what is searched; 'entrydb "
		              "update' records what is installed, --path looks elsewhere");
	else if (searched->absent)
		note(options,
		     "none of what is to be searched exists, such as %s; look elsewhere "
		     "with --path or ENTRYDB_PATH",
		     searched->absent);
	else
		note(options, "there is nothing to search; name a path entry with --path, or "
		              "record what is installed there with 'entrydb update PATH'");
}

static void advise_on_path(const struct options *options, entrydb *db)
{
	struct searched searched = {0};
	entrydb_path *path;

	if (entrydb_describe_path(db, &path, NULL) < 0)
		return;
	for (size_t i = 0; i < entrydb_path_count(path); i++)
		count_entry(&searched, entrydb_path_get(path, i));
	advise_on_searched(options, &searched);
	entrydb_path_free(path);
}

/* Everything; NULL with --quiet, or if it cannot be had. */
static entrydb_set *select_all(const struct options *options, entrydb *db)
{
	entrydb_set *all;

	if (options->quiet || entrydb_select(db, NULL, NULL, &all, NULL) < 0)
		return NULL;
	return all;
}

bool suggest_entry_point(const struct options *options, entrydb *db, const char *group,
                         const char *name)
{
	entrydb_set *all = select_all(options, db);
	bool said = all && suggest(options, all, group, name);

	entrydb_set_free(all);
	return said;
}

enum status say_not_found(const struct options *options, entrydb *db, const char *group,
                          const char *name)
{
	if (!suggest_entry_point(options, db, group, name))
		message("there is no '%s' in group '%s'", name, group);
	return STATUS_NOT_FOUND;
}

bool advise_on_nothing(const struct options *options, entrydb *db)
{
	entrydb_set *all = select_all(options, db);
	bool is_empty = all && entrydb_set_count(all) == 0;

	entrydb_set_free(all);
	if (is_empty && options->database && options->path_count == 0)
		note(options,
		     "%s has no entry points; fill it with 'entrydb update --db %s PATH', or with "
		     "'entrydb add --db %s ARCHIVE'",
		     options->database, options->database, options->database);
	else if (is_empty)
		advise_on_path(options, db);
	return is_empty;
}

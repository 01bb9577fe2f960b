/*
 * Says what may have been meant, or what to do next, where nothing was found.
 */
#include "indexer/suggest.h"

#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"

char *suggest_near(const char *prefix, const struct nearest *nearest)
{
	if (slice_is_null(nearest->found))
		return strdup("");
	return text_format("; did you mean '%s%.*s'?", prefix, (int)nearest->found.len,
	                   nearest->found.ptr);
}

bool suggest_entry_point(const struct options *options, entrydb *db, const char *group,
                         const char *name)
{
	struct nearest groups = nearest_to(slice_of(group)), names = nearest_to(slice_of(name));
	CLEANUP(cleanup_free) char *suggestion = NULL;
	entrydb_set *all;
	bool has_group;

	if (options->quiet || entrydb_select(db, NULL, NULL, &all, NULL) < 0)
		return false;
	for (size_t i = 0; i < entrydb_set_count(all); i++) {
		const entrydb_entry_point *e = entrydb_set_get(all, i);

		nearest_offer(&groups, slice_of(entrydb_entry_point_group(e)));
		if (name && strcmp(entrydb_entry_point_group(e), group) == 0)
			nearest_offer(&names, slice_of(entrydb_entry_point_name(e)));
	}
	has_group = slice_equal(groups.found, groups.wanted);
	if (!slice_is_null(has_group ? names.found : groups.found))
		suggestion = suggest_near("", has_group ? &names : &groups);
	entrydb_set_free(all); /* which the suggestion came from */
	if (suggestion && has_group)
		note(options, "there is no '%s' in group '%s'%s", name, group, suggestion);
	else if (suggestion)
		note(options, "there is no group '%s'%s", group, suggestion);
	return suggestion != NULL;
}

int say_not_found(const struct options *options, entrydb *db, const char *group, const char *name)
{
	if (!suggest_entry_point(options, db, group, name))
		message("there is no '%s' in group '%s'", name, group);
	return STATUS_NOT_FOUND;
}

/* By the first path entries that are there and have no database, that have one, or are not there.
 */
static void advise_on_path(const struct options *options, const entrydb_path *path)
{
	const char *without = NULL, *with = NULL, *absent = NULL;

	for (size_t i = entrydb_path_count(path); i-- > 0;) {
		const entrydb_path_entry *entry = entrydb_path_get(path, i);
		bool is_absent = entrydb_path_entry_state(entry) == ENTRYDB_PATH_ABSENT;
		bool has_database = entrydb_path_entry_database(entry) != NULL;

		*(is_absent      ? &absent
		  : has_database ? &with
		                 : &without) = entrydb_path_entry_path(entry);
	}
	if (without)
		note(options,
		     "no entry points were found, and no database has %s; install packages there "
		     "and run 'entrydb update %s', or look elsewhere with --path",
		     without, without);
	else if (with)
		note(options, "the databases have no entry points for what is searched; 'entrydb "
		              "update' records what is installed, --path looks elsewhere");
	else if (absent)
		note(options,
		     "none of what is to be searched exists, such as %s; look elsewhere "
		     "with --path or ENTRYDB_PATH",
		     absent);
	else
		note(options, "no Python is installed here yet; --path looks elsewhere, 'entrydb "
		              "update PATH' records what is installed there");
}

bool advise_on_nothing(const struct options *options, entrydb *db)
{
	entrydb_set *all;
	entrydb_path *path;
	bool is_empty;

	if (options->quiet || entrydb_select(db, NULL, NULL, &all, NULL) < 0)
		return false;
	is_empty = entrydb_set_count(all) == 0;
	entrydb_set_free(all);
	if (is_empty && options->database && options->path_count == 0) {
		note(options,
		     "%s has no entry points; fill it with 'entrydb update --db %s PATH', or with "
		     "'entrydb add --db %s ARCHIVE'",
		     options->database, options->database, options->database);
	} else if (is_empty && entrydb_describe_path(db, &path, NULL) == 0) {
		advise_on_path(options, path);
		entrydb_path_free(path);
	}
	return is_empty;
}

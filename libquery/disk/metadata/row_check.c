/*
 * row_check.c - the rule that decides whether a row is reused or its distribution read again.
 */
#include "libquery/disk/metadata/row_check.h"

#include "db/base/hash.h"
#include "libquery/disk/tree/distname.h"

#define WORDS 4 /* of a file in a digest */

/* --- stamps and outlines --- */

/* The data collected from a distribution's files. */
struct file_data {
	uint64_t words[HASH_NUMBERS_MAX]; /* for a digest */
	size_t count;
	int64_t newest; /* of their times */
};

/*
 * Stat @file in @child; "": @child itself; NULL: its metadata file. *outline is empty if it does
 * not exist or is the directory @child. 1, 0 or a failure.
 */
static int stat_file(struct tree *tree, struct slice child, const char *file,
                     struct file_data *file_data, struct outline *outline, struct error *error)
{
	uint64_t *words = file_data->words + file_data->count;
	bool is_directory;
	struct stat status;
	struct stamp stamp;
	int code = file ? tree_status(tree, child, file, &status, error)
	                : tree_metadata_status(tree, child, &status, error);

	*outline = (struct outline){0};
	if (code <= 0)
		return code;
	stamp = stamp_of(&status);
	is_directory = S_ISDIR(status.st_mode);
	words[0] = (uint64_t)stamp.mtime;
	words[1] = (uint64_t)stamp.ctime;
	words[2] = is_directory ? 0 : (uint64_t)status.st_size;
	words[3] = (uint64_t)stamp.inode;
	file_data->count += WORDS;
	file_data->newest = stamp.mtime > file_data->newest ? stamp.mtime : file_data->newest;
	file_data->newest = stamp.ctime > file_data->newest ? stamp.ctime : file_data->newest;
	if (is_directory && file && !*file) { /* readers need search permission */
		tree_withhold_unless(tree, (status.st_mode & 0111) << 2);
		return 1;
	}
	tree_withhold_unless(tree, status.st_mode);
	*outline = (struct outline){true, (int64_t)status.st_size, stamp.mtime};
	return 1;
}

static int64_t digest_of(const struct file_data *file_data)
{
	return (int64_t)hash_numbers(file_data->words, file_data->count);
}

/* A file that was missing from an unchanged directory is still missing. */
static bool is_still_without(const struct distribution_record *known, int64_t directory_stamp)
{
	return known && known->settled && known->directory_stamp == directory_stamp &&
	       !known->entry_points_txt.exists;
}

int row_stamps(struct tree *tree, const struct distribution_record *known,
               struct distribution_record *out, int64_t *newest, struct error *error)
{
	struct file_data file_data = {.newest = *newest};
	struct outline metadata;
	int code;

	out->directory_stamp = out->files_stamp = 0;
	if (tree->kind != ROOT_DIRECTORY)
		return 0;
	code = stat_file(tree, out->directory, "", &file_data, &out->metadata, error);
	out->directory_stamp = digest_of(&file_data);
	out->modified = (int64_t)file_data.words[0];
	file_data.count = 0;
	if (code >= 0 && !is_still_without(known, out->directory_stamp))
		code = stat_file(tree, out->directory, "entry_points.txt", &file_data,
		                 &out->entry_points_txt, error);
	if (code >= 0)
		code = stat_file(tree, out->directory, NULL, &file_data, &metadata, error);
	if (code > 0)
		out->metadata = metadata;
	out->files_stamp = digest_of(&file_data);
	*newest = file_data.newest;
	return code < 0 ? code : 0;
}

/* --- the rule --- */

static bool may_be_valid(const struct carried *carried, const struct distribution_record *row)
{
	return row->settled && (!carried || row->metadata.exists);
}

bool row_matches(const struct carried *carried, const struct distribution_record *row,
                 const struct distribution_record *now)
{
	if (!may_be_valid(carried, row))
		return false;
	if (!carried)
		return now->directory_stamp == row->directory_stamp &&
		       now->files_stamp == row->files_stamp;
	return carried_same(carried, &row->entry_points_txt, &now->entry_points_txt,
	                    now->modified) &&
	       carried_same(carried, &row->metadata, &now->metadata, now->modified);
}

static int matches_by_files(struct tree *tree, const struct carried *carried,
                            const struct distribution_record *row, int64_t *newest,
                            struct error *error)
{
	struct distribution_record now = {.directory = row->directory};
	int64_t unused = 0;
	int code = row_stamps(tree, row, &now, newest ? newest : &unused, error);

	return code < 0 ? code : row_matches(carried, row, &now);
}

/*
 * METADATA has the name and version of distributions with entry points, and names some directories.
 */
static bool metadata_shows(const struct distribution_record *row, enum row_check by)
{
	struct slice stem;

	return (by != ROW_CHECK_NO_NAMES && row->entry_points_txt.exists) ||
	       !distname_stem(row->directory, &stem);
}

static int matches_carried(struct tree *tree, const struct carried *carried, enum row_check by,
                           const struct distribution_record *row, struct error *error)
{
	struct file_data file_data = {.count = 0};
	int64_t modified = tree->stamp.mtime; /* if nothing was replaced, no directory was */
	struct outline now;
	int code = 1;

	if (carried_names_suffice(carried, tree->stamp))
		return 1;
	if (carried_may_have_changed(carried, modified)) {
		code = stat_file(tree, row->directory, "", &file_data, &now, error);
		modified = (int64_t)file_data.words[0];
		file_data.count = 0;
	}
	if (code > 0)
		code = stat_file(tree, row->directory, "entry_points.txt", &file_data, &now, error);
	if (code < 0 || !carried_same(carried, &row->entry_points_txt, &now, modified))
		return code < 0 ? code : 0;
	if (!metadata_shows(row, by))
		return 1;
	file_data.count = 0;
	code = stat_file(tree, row->directory, NULL, &file_data, &now, error);
	if (code == 0) /* @row may be a file itself */
		code = stat_file(tree, row->directory, "", &file_data, &now, error);
	return code < 0 ? code : carried_same(carried, &row->metadata, &now, modified);
}

int row_is_valid(struct tree *tree, const struct carried *carried, enum row_check by,
                 const struct distribution_record *row, int64_t *newest, struct error *error)
{
	struct file_data file_data = {.count = 0};
	struct outline unused;
	int code;

	if (tree->kind != ROOT_DIRECTORY || !may_be_valid(carried, row))
		return 0;
	if (by == ROW_CHECK_FILES || row->watched)
		return matches_by_files(tree, carried, row, newest, error);
	if (carried)
		return matches_carried(tree, carried, by, row, error);
	code = stat_file(tree, row->directory, "", &file_data, &unused, error);
	return code <= 0 ? code : digest_of(&file_data) == row->directory_stamp;
}

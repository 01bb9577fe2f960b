/*
 * holds.c - the one rule by which a row is believed or a distribution read again.
 */
#include "libquery/disk/metadata/holds.h"

#include "db/base/hash.h"
#include "libquery/disk/tree/distname.h"

#define WORDS 4 /* of a file, in a digest */

/* --- stamps and outlines --- */

/* Times and size of one file, added to @words; the newest time is kept. */
static size_t add_words(uint64_t *words, const struct stat *status, int64_t *newest)
{
	struct stamp stamp = stamp_of(status);

	words[0] = (uint64_t)stamp.mtime;
	words[1] = (uint64_t)stamp.ctime;
	words[2] = S_ISDIR(status->st_mode) ? 0 : (uint64_t)status->st_size;
	words[3] = (uint64_t)stamp.inode;
	*newest = stamp.mtime > *newest ? stamp.mtime : *newest;
	*newest = stamp.ctime > *newest ? stamp.ctime : *newest;
	return WORDS;
}

static struct outline outline_of(struct tree *tree, const struct stat *status)
{
	tree_withhold_unless(tree, status->st_mode);
	return (struct outline){
	        .exists = true,
	        .size = (int64_t)status->st_size,
	        .mtime = stamp_of(status).mtime,
	};
}

/* What was not in a directory that has not changed is not in it now. */
static bool is_still_without(const struct distribution_record *known, int64_t directory_stamp)
{
	return known && known->settled && known->directory_stamp == directory_stamp &&
	       !known->entry_points_txt.exists;
}

int row_stamps(struct tree *tree, const struct distribution_record *known,
               struct distribution_record *out, int64_t *newest, struct error *error)
{
	struct slice child = out->directory;
	uint64_t words[2 * WORDS];
	struct stat status;
	size_t count = 0;
	int code;

	out->directory_stamp = out->files_stamp = 0;
	if (tree->kind != ROOT_DIRECTORY)
		return 0;
	code = tree_status(tree, child, "", &status, error);
	if (code > 0) {
		count = add_words(words, &status, newest);
		if (S_ISDIR(status.st_mode)) /* to be searched by all who may read */
			tree_withhold_unless(tree, (status.st_mode & 0111) << 2);
		else
			out->metadata = outline_of(tree, &status);
	}
	out->directory_stamp = (int64_t)hash_numbers(words, count);
	count = 0;
	if (code >= 0)
		code = is_still_without(known, out->directory_stamp)
		               ? 0
		               : tree_status(tree, child, "entry_points.txt", &status, error);
	if (code > 0) {
		count = add_words(words, &status, newest);
		out->entry_points_txt = outline_of(tree, &status);
	}
	if (code >= 0)
		code = tree_metadata_status(tree, child, &status, error);
	if (code > 0) {
		count += add_words(words + count, &status, newest);
		out->metadata = outline_of(tree, &status);
	}
	out->files_stamp = (int64_t)hash_numbers(words, count);
	return code < 0 ? code : 0;
}

/* Is what @code says, 1 and *status, or 0, the same as @was, as it was carried? 1, 0 or a failure.
 */
static int is_same(struct tree *tree, const struct carried *carried, const struct outline *was,
                   int code, const struct stat *status)
{
	struct outline now = {0};

	if (code > 0)
		now = outline_of(tree, status);
	return code < 0 ? code : carried_same(carried, was, &now);
}

/* --- the rule --- */

static bool may_hold(const struct carried *carried, const struct distribution_record *row)
{
	return row->settled && (!carried || row->metadata.exists);
}

bool row_matches(const struct carried *carried, const struct distribution_record *row,
                 const struct distribution_record *now)
{
	if (!may_hold(carried, row))
		return false;
	if (!carried)
		return now->directory_stamp == row->directory_stamp &&
		       now->files_stamp == row->files_stamp;
	return carried_same(carried, &row->entry_points_txt, &now->entry_points_txt) &&
	       carried_same(carried, &row->metadata, &now->metadata);
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

/* METADATA tells the name and version of what has entry points, and names some directories. */
static bool metadata_shows(const struct distribution_record *row, enum holds_by by)
{
	struct slice stem;

	return (by != HOLDS_BUT_NAMES && row->entry_points_txt.exists) ||
	       !distname_stem(row->directory, &stem);
}

static int matches_carried(struct tree *tree, const struct carried *carried, enum holds_by by,
                           const struct distribution_record *row, struct error *error)
{
	struct stat status;
	int code;

	if (carried_names_suffice(carried, tree->stamp))
		return 1;
	code = tree_status(tree, row->directory, "entry_points.txt", &status, error);
	code = is_same(tree, carried, &row->entry_points_txt, code, &status);
	if (code <= 0 || !metadata_shows(row, by))
		return code;
	code = tree_metadata_status(tree, row->directory, &status, error);
	if (code == 0) { /* it may be that file itself */
		code = tree_status(tree, row->directory, "", &status, error);
		code = code > 0 ? !S_ISDIR(status.st_mode) : code;
	}
	return is_same(tree, carried, &row->metadata, code, &status);
}

int row_holds(struct tree *tree, const struct carried *carried, enum holds_by by,
              const struct distribution_record *row, int64_t *newest, struct error *error)
{
	uint64_t words[WORDS];
	int64_t unused = 0;
	struct stat status;
	int code;

	if (tree->kind != ROOT_DIRECTORY || !may_hold(carried, row))
		return 0;
	if (by == HOLDS_BY_FILES || row->watched)
		return matches_by_files(tree, carried, row, newest, error);
	if (carried)
		return matches_carried(tree, carried, by, row, error);
	code = tree_status(tree, row->directory, "", &status, error);
	if (code <= 0)
		return code;
	return (int64_t)hash_numbers(words, add_words(words, &status, &unused)) ==
	       row->directory_stamp;
}

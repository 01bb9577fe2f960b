/*
 * holds.c - the one rule by which a row is believed or a distribution read again.
 */
#include "libquery/disk/metadata/holds.h"

#include "libquery/disk/tree/distname.h"

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
	int code = tree_stamps(tree, row, &now, newest ? newest : &unused, error);

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
	struct outline now;
	int code;

	if (carried_names_suffice(carried, tree->stamp))
		return 1;
	code = tree_outline(tree, row->directory, TREE_ENTRY_POINTS, &now, error);
	if (code < 0 || !carried_same(carried, &row->entry_points_txt, &now))
		return code;
	if (!metadata_shows(row, by))
		return 1;
	code = tree_outline(tree, row->directory, TREE_METADATA, &now, error);
	return code < 0 ? code : carried_same(carried, &row->metadata, &now);
}

int row_holds(struct tree *tree, const struct carried *carried, enum holds_by by,
              const struct distribution_record *row, int64_t *newest, struct error *error)
{
	int64_t stamp;
	int code;

	if (tree->kind != ROOT_DIRECTORY || !may_hold(carried, row))
		return 0;
	if (by == HOLDS_BY_FILES || row->watched)
		return matches_by_files(tree, carried, row, newest, error);
	if (carried)
		return matches_carried(tree, carried, by, row, error);
	code = tree_directory_stamp(tree, row->directory, &stamp, error);
	return code < 0 ? code : stamp == row->directory_stamp;
}

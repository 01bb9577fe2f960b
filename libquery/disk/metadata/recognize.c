/*
 * recognize.c - see recognize.h.
 */
#include "libquery/disk/metadata/recognize.h"

#include "libquery/disk/tree/distname.h"

/* Can it be known again at all? What has no metadata may be still to come. */
static bool is_familiar(const struct distribution_record *known)
{
	return known->settled && known->metadata.exists;
}

/*
 * Does its METADATA show in no answer? That of what has no entry points does not, where the
 * directory itself says what the distribution is called.
 */
static bool is_silent(const struct distribution_record *known, enum recognize_metadata metadata)
{
	struct slice stem;

	if (metadata == RECOGNIZE_OF_ALL || (known->watched && !known->young))
		return false;
	return (metadata == RECOGNIZE_OF_NONE || !known->entry_points_txt.exists) &&
	       distname_stem(known->directory, &stem);
}

int recognize(struct tree *tree, const struct carried *carried, enum recognize_metadata metadata,
              const struct distribution_record *known, struct error *error)
{
	struct outline now;
	int code;

	if (!is_familiar(known) || tree->kind != ROOT_DIRECTORY)
		return 0;
	if (!known->watched && carried_names_suffice(carried, tree->stamp))
		return 1;
	code = tree_outline(tree, known->directory, TREE_ENTRY_POINTS, &now, error);
	if (code < 0 || !carried_same(carried, &known->entry_points_txt, &now))
		return code;
	if (is_silent(known, metadata))
		return 1;
	code = tree_outline(tree, known->directory, TREE_METADATA, &now, error);
	return code < 0 ? code : carried_same(carried, &known->metadata, &now);
}

bool recognize_stamped(const struct carried *carried, const struct distribution_record *known,
                       const struct distribution_record *now)
{
	return is_familiar(known) &&
	       carried_same(carried, &known->entry_points_txt, &now->entry_points_txt) &&
	       carried_same(carried, &known->metadata, &now->metadata);
}

/*
 * outlines.c - see outlines.h. SQLite itself writes the list (SQL_PUT_OUTLINES): it is read
 * far more often.
 */
#include "db/outlines.h"

#include "db/base/error.h"

/* A number and the space after it: 1; 0: just the space; -1: anything else. */
static int take_number(struct slice *rest, int64_t *out)
{
	const char *at = rest->ptr, *end = at + rest->len;
	bool negative = at < end && *at == '-';
	int64_t number = 0;
	int found = 0;

	for (at += negative; at < end && *at >= '0' && *at <= '9'; at++, found = 1) {
		int digit = negative ? '0' - *at : *at - '0';

		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return -1;
	}
	if (at == end || *at != ' ' || (negative && !found))
		return -1;
	*rest = slice_between(at + 1, end);
	*out = number;
	return found;
}

static bool take_outline(struct slice *rest, struct outline *out)
{
	int has_size = take_number(rest, &out->size);
	int has_mtime = has_size < 0 ? -1 : take_number(rest, &out->mtime);

	out->exists = has_size > 0;
	return has_mtime >= 0 && has_size == has_mtime;
}

/* A name, up to the slash after it, in whose place a NUL comes. */
static bool take_name(struct slice *rest, struct slice *out)
{
	char *slash = rest->len > 0 ? memchr(rest->ptr, '/', rest->len) : NULL;

	*out = slash ? slice_between(rest->ptr, slash) : *rest;
	*rest = slash ? slice_between(slash + 1, rest->ptr + rest->len)
	              : slice_from(*rest, rest->len);
	if (slash)
		*slash = '\0';
	return out->len > 0;
}

static bool take_distribution(struct slice *rest, int64_t root, struct distribution_record *out)
{
	int64_t number, watched, settled;

	if (take_number(rest, &number) <= 0 || number < 0 || number >= DISTRIBUTIONS_MAX ||
	    take_number(rest, &watched) <= 0 || take_number(rest, &settled) <= 0)
		return false;
	out->id = root << DISTRIBUTION_ID_SHIFT | number;
	distribution_set_watched(out, (int)watched);
	out->settled = settled != 0;
	return take_outline(rest, &out->entry_points_txt) && take_outline(rest, &out->metadata) &&
	       take_name(rest, &out->directory);
}

int outlines_read(struct slice list, struct root_record *root)
{
	size_t expected = root->distribution_count, count = 0;
	bool failed = false;
	struct slice rest = arena_copy(&root->arena, list, &failed);

	root->distribution_count = 0;
	if (!failed && expected <= list.len)
		root->distributions =
		        arena_calloc(&root->arena, expected, sizeof(*root->distributions));
	if (failed || !root->distributions)
		return expected <= list.len ? ERROR_NOMEM : 0;
	while (rest.len > 0 && count < expected)
		if (!take_distribution(&rest, root->id, &root->distributions[count++]))
			return 0;
	if (rest.len > 0 || count < expected)
		return 0;
	root->distribution_count = count;
	return 1;
}

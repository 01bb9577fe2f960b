/*
 * choose.c - judges files by their names: versions (PEP 440), tags of wheels (PEP 425), and
 * Requires-Python.
 */
#include "indexer/package_index/choose.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "indexer/version.h"

/* Do two tags of a wheel, "cp39" and "abi3", say, fit the Python 3.@minor? */
static bool fits_python(struct slice python, struct slice abi, struct slice minor)
{
	struct slice own = slice_from(python, 3);
	bool is_older =
	        own.len < minor.len || (own.len == minor.len && slice_compare(own, minor) <= 0);

	if (slice_starts(python, SLICE("py3")))
		return is_older && slice_equal(abi, SLICE("none"));
	if (!slice_starts(python, SLICE("cp3")))
		return false;
	return slice_equal(abi, SLICE("abi3"))
	               ? is_older
	               : slice_equal(own, minor) &&
	                         (slice_equal(abi, SLICE("none")) || slice_equal(abi, python));
}

/* "py2.py3-none-any": each of a set with each of the other. For all platforms it announces the
 * same. */
static bool fits(struct slice tags, struct slice minor)
{
	struct slice pythons = slice_take(&tags, '-'), abis = slice_before(tags, '-');

	while (pythons.len > 0) {
		struct slice python = slice_take(&pythons, '.'), rest = abis;

		while (rest.len > 0)
			if (fits_python(python, slice_take(&rest, '.'), minor))
				return true;
	}
	return false;
}

/* The last @count parts of a name between '-', and what stands before them. */
static struct slice take_last(struct slice *name, int count)
{
	size_t at = name->len;
	struct slice last;

	while (at > 0 && (count -= name->ptr[at - 1] == '-') > 0)
		at--;
	last = slice_from(*name, at);
	*name = slice_first(*name, at > 0 ? at - 1 : 0);
	return last;
}

static bool judge(const struct choice *choice, const struct page_file *file, struct candidate *out)
{
	struct slice name = file->name, tags, ending = SLICE(".tar.gz");
	CLEANUP(cleanup_free) char *python = text_format("%s.99", choice->python);

	*out = (struct candidate){.file = file};
	if (!python || file->is_yanked ||
	    !version_is_allowed(slice_of(python), file->requires_python))
		return false;
	if (slice_ends(name, SLICE(".whl"))) {
		name = slice_first(name, name.len - 4);
		tags = take_last(&name, 3);
		slice_take(&name, '-');
		out->version = slice_before(name, '-'); /* a build's number may follow */
		out->is_wheel = true;
		return fits(tags, slice_of(strchr(choice->python, '.') + 1));
	}
	if (slice_ends(name, SLICE(".zip")))
		ending = SLICE(".zip");
	else if (!slice_ends(name, ending))
		return false;
	name = slice_first(name, name.len - ending.len);
	out->version = take_last(&name, 1);
	return true;
}

/* Is @one to be taken instead of @other? Negative: neither has a version that can be compared. */
static bool is_better(const struct candidate *one, const struct candidate *other)
{
	bool early = version_is_early(one->version), other_early = version_is_early(other->version);
	int order = 0;

	if (early != other_early)
		return other_early;
	if (!version_compare(one->version, other->version, &order))
		return false;
	return order ? order > 0 : one->is_wheel > other->is_wheel;
}

int choose(const struct choice *choice, const struct page *page, struct slice specifiers,
           struct candidate **out, size_t *count, struct error *error)
{
	CLEANUP(name_map_free) struct name_map versions = {0};
	size_t room = 0;
	bool failed = false;

	for (size_t i = 0; i < page->count && !failed; i++) {
		struct candidate one;
		uint32_t at = 0;
		int order;

		if (!judge(choice, &page->files[i], &one) ||
		    !version_compare(one.version, one.version, &order) ||
		    !version_is_allowed(one.version, specifiers))
			continue;
		if (choice->all_versions)
			at = name_map_put(&versions, one.version, (uint32_t)*count, &failed);
		if (!failed && at < *count) {
			if (is_better(&one, &(*out)[at]))
				(*out)[at] = one;
		} else if (failed || !array_grow(out, *count, sizeof(**out), &room)) {
			failed = true;
		} else {
			(*out)[(*count)++] = one;
		}
	}
	return failed ? error_nomem(error) : 0;
}

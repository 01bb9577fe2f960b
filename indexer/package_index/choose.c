/*
 * choose.c - judges files by their names: versions (PEP 440), tags of wheels (PEP 425), and
 * Requires-Python.
 */
#include "indexer/package_index/choose.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "indexer/version.h"

#ifdef __GLIBC__
#define LIBC_TAG SLICE("manylinux")
#else
#define LIBC_TAG SLICE("musllinux")
#endif

enum { FIT_NONE = -1, FIT_SOURCE, FIT_ANY, FIT_EXACT = 2, FIT_ABI3, FIT_OWN };

/* Does a platform tag name this machine? Wheels for it come before those for any. */
static int fit_of_platform(struct slice tag)
{
	struct utsname machine;
	struct slice name;

	if (slice_equal(tag, SLICE("any")))
		return 1;
	if (uname(&machine) != 0)
		return 0;
	name = slice_of(machine.machine);
	return (slice_starts(tag, LIBC_TAG) || slice_starts(tag, SLICE("linux_"))) &&
	                       slice_ends(tag, name)
	               ? 2
	               : 0;
}

/* Of "py3", "cp311" and "abi3", say, for the Python 3.@minor. */
static int fit_of_python(struct slice python, struct slice abi, const char *minor)
{
	struct slice wanted = slice_of(minor), own;
	bool is_older, is_same;

	if (!slice_starts(python, SLICE("py3")) && !slice_starts(python, SLICE("cp3")))
		return 0;
	own = slice_from(python, 3);
	is_same = slice_equal(own, wanted);
	is_older =
	        own.len < wanted.len || (own.len == wanted.len && slice_compare(own, wanted) <= 0);
	if (slice_starts(python, SLICE("py3")))
		return is_older && slice_equal(abi, SLICE("none")) ? FIT_ANY : 0;
	if (slice_equal(abi, SLICE("abi3")))
		return is_older ? FIT_ABI3 : 0;
	if (!is_same)
		return 0;
	return slice_equal(abi, SLICE("none")) ? FIT_EXACT : slice_equal(abi, python) ? FIT_OWN : 0;
}

/* "py2.py3-none-any": each of a set of tags with each of the others. */
static int fit_of_tags(struct slice tags, const char *minor)
{
	struct slice pythons = slice_take(&tags, '-'), abis = slice_before(tags, '-');
	struct slice platforms = slice_from(tags, abis.len + (abis.len < tags.len));
	int best = 0, platform = 0;

	while (platforms.len > 0) {
		int fit = fit_of_platform(slice_take(&platforms, '.'));

		platform = fit > platform ? fit : platform;
	}
	while (pythons.len > 0) {
		struct slice python = slice_take(&pythons, '.'), rest = abis;

		while (rest.len > 0) {
			int fit = fit_of_python(python, slice_take(&rest, '.'), minor);

			best = fit > best ? fit : best;
		}
	}
	return best && platform ? 2 * best + platform : FIT_NONE;
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
	struct slice name = file->name, tags;
	CLEANUP(cleanup_free) char *python = text_format("%s.99", choice->python);
	static const char *const endings[] = {".tar.gz", ".zip"};

	*out = (struct candidate){.file = file, .fit = FIT_NONE};
	if (!python || file->is_yanked ||
	    !version_is_allowed(slice_of(python), file->requires_python))
		return false;
	if (slice_ends(name, SLICE(".whl"))) {
		name = slice_first(name, name.len - 4);
		tags = take_last(&name, 3);
		slice_take(&name, '-');
		out->version = slice_before(name, '-'); /* a build's number may follow */
		out->fit = tags.len ? fit_of_tags(tags, strchr(choice->python, '.') + 1) : FIT_NONE;
	}
	for (size_t i = 0; i < 2; i++)
		if (slice_ends(name, slice_of(endings[i]))) {
			name = slice_first(name, name.len - strlen(endings[i]));
			out->version = take_last(&name, 1);
			out->fit = FIT_SOURCE;
		}
	return out->fit != FIT_NONE && out->version.len > 0 && !slice_is_null(out->version);
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
	return order ? order > 0 : one->fit > other->fit;
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

/*
 * choose.c - selects files by their names: versions (PEP 440), tags of wheels (PEP 425), and
 * Requires-Python.
 */
#include "indexer/package_index/page.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "indexer/version.h"
#include "libquery/disk/tree/distname.h"

/* Are two tags of a wheel, such as "cp39" and "abi3", compatible with Python 3.@minor? */
static bool fits_python(struct slice python, struct slice abi, struct slice minor)
{
	bool is_any = slice_starts(python, SLICE("py3")), is_older;
	struct slice own;

	if (!is_any && !slice_starts(python, SLICE("cp3")))
		return false;
	own = slice_from(python, 3);
	is_older = own.len < minor.len || (own.len == minor.len && slice_compare(own, minor) <= 0);
	if (is_any)
		return is_older && slice_equal(abi, SLICE("none"));
	return slice_equal(abi, SLICE("abi3"))
	               ? is_older
	               : slice_equal(own, minor) &&
	                         (slice_equal(abi, SLICE("none")) || slice_equal(abi, python));
}

/* "py2.py3-none-any": any tag of the first set with any of the second. */
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

/* Split off the last @count parts of a name, separated by '-'. */
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

/* Split the name of @file: return the project; set the version, and the tags of a wheel. */
static struct slice split(struct page_file *file, struct slice *tags)
{
	struct slice name = file->name, project;

	*tags = SLICE("");
	file->is_wheel = slice_ends(name, SLICE(".whl"));
	if (file->is_wheel) {
		name = slice_first(name, name.len - 4);
		*tags = take_last(&name, 3);
		project = name.len ? slice_take(&name, '-') : name;
		file->version = slice_before(name, '-'); /* a build number may follow */
		return project;
	}
	name = slice_ends(name, SLICE(".zip"))      ? slice_first(name, name.len - 4)
	       : slice_ends(name, SLICE(".tar.gz")) ? slice_first(name, name.len - 7)
	                                            : SLICE("");
	file->version = take_last(&name, 1);
	return name;
}

/* "==1.0", which also allows a yanked file (PEP 592). */
static bool is_pinned(struct slice specifiers)
{
	return slice_starts(specifiers, SLICE("==")) &&
	       !memchr(specifiers.ptr, '*', specifiers.len) &&
	       !memchr(specifiers.ptr, ',', specifiers.len);
}

static bool judge(const struct choice *choice, struct page *page, struct page_file *file,
                  struct slice project, struct slice specifiers, bool *failed)
{
	CLEANUP(cleanup_free) char *python = text_format("%s.99", choice->python);
	struct slice tags, name = split(file, &tags);
	struct slice minor = slice_of(strchr(choice->python, '.') + 1);
	int order;

	*failed |= !python;
	return !*failed && (!file->is_yanked || is_pinned(specifiers)) &&
	       (!file->is_wheel || fits(tags, minor)) &&
	       slice_equal(distname_normalize_in(&page->arena, name, failed), project) &&
	       version_compare(file->version, file->version, &order) &&
	       version_is_allowed(file->version, specifiers) &&
	       version_is_allowed(slice_of(python), file->requires_python);
}

/* Is @one preferred to @other? Both have valid versions. */
static bool is_better(const struct page_file *one, const struct page_file *other)
{
	bool early = version_is_early(one->version), other_early = version_is_early(other->version);
	int order = 0;

	if (early != other_early)
		return other_early;
	version_compare(one->version, other->version, &order);
	return order ? order > 0 : one->is_wheel > other->is_wheel;
}

int page_choose(const struct choice *choice, struct page *page, struct slice project,
                struct slice specifiers, struct error *error)
{
	CLEANUP(name_map_free) struct name_map versions = {0};
	size_t count = 0;
	bool failed = false;

	for (size_t i = 0; i < page->count && !failed; i++) {
		struct page_file *file = &page->files[i];
		uint32_t at = 0;

		if (!judge(choice, page, file, project, specifiers, &failed))
			continue;
		if (choice->all_versions)
			at = name_map_put(&versions, file->version, (uint32_t)count, &failed);
		if (at == count)
			page->files[count++] = *file;
		else if (is_better(file, &page->files[at]))
			page->files[at] = *file;
	}
	page->count = count;
	return failed ? error_nomem(error) : 0;
}

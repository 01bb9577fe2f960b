/*
 * distname.c - the expressions of importlib.metadata, each quoted above its function.
 *
 * They are similar but not equal: one applies str.lower() to the whole name, another to a part of
 * it, which matters for a final sigma; and os.path.splitext() treats leading dots as part of the
 * name, while rpartition() does not.
 */
#include "libquery/disk/tree/distname.h"

#include <assert.h>

#include "db/base/path.h"

#define DIST_INFO SLICE(".dist-info")
#define EGG_INFO  SLICE(".egg-info")

/*
 * child.lower().endswith((".dist-info", ".egg-info"))
 * No other character has a lower case that could stand in these words.
 */
bool distname_is_info(struct slice child)
{
	return ascii_ends_ignoring_case(child, DIST_INFO) ||
	       ascii_ends_ignoring_case(child, EGG_INFO);
}

struct slice distname_first_info(struct slice path)
{
	for (struct slice rest = path; rest.len > 0;) {
		struct slice one = slice_take(&rest, '/');

		if (distname_is_info(one))
			return slice_between(path.ptr, one.ptr + one.len);
	}
	return (struct slice){0};
}

/* child.lower() == "egg-info" */
bool distname_is_egg_info(struct slice child)
{
	struct slice name = SLICE("egg-info");

	return child.len == name.len && ascii_ends_ignoring_case(child, name);
}

/* os.path.basename(root).lower().endswith(".egg") */
bool distname_is_egg_base(struct slice path_entry)
{
	return ascii_ends_ignoring_case(path_entry, SLICE(".egg"));
}

static bool is_separator(char c)
{
	return c == '-' || c == '_' || c == '.';
}

/*
 * Copy @name to @out with each run of separators as one '_'. They may overlap if @out is @name: the
 * result is not longer.
 */
static size_t collapse(struct slice name, char *out)
{
	size_t n = 0;
	bool in_run = false;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!is_separator(c))
			out[n++] = c;
		else if (!in_run)
			out[n++] = '_';
		in_run = is_separator(c);
	}
	return n;
}

/* Prepared.normalize(child.lower().rpartition(".")[0].partition("-")[0]) */
size_t distname_lookup_key(struct slice child, char *out, size_t room)
{
	struct slice low = {out, unicode_lower(child, out, room)};
	const char *dot = low.len > 0 ? memrchr(low.ptr, '.', low.len) : NULL;

	if (!dot)
		return 0;
	return collapse(slice_before(slice_between(low.ptr, dot), '-'), out);
}

/* base.lower().rpartition(".")[0].partition("-")[0].replace("-", "_") */
size_t distname_egg_key(struct slice path_entry, char *out, size_t room)
{
	struct slice low = {out, unicode_lower(path_base(path_entry), out, room)};
	const char *dot = low.len > 0 ? memrchr(low.ptr, '.', low.len) : NULL;

	return dot ? slice_before(slice_between(low.ptr, dot), '-').len : 0;
}

/* name.lower().replace("-", "_") */
size_t distname_legacy(struct slice name, char *out, size_t room)
{
	size_t n = unicode_lower(name, out, room);

	for (size_t i = 0; i < n; i++)
		if (out[i] == '-')
			out[i] = '_';
	return n;
}

/* filename, ext = os.path.splitext(os.path.basename(child)); filename.partition("-")[0] */
bool distname_stem(struct slice child, struct slice *stem)
{
	struct slice base = path_base(child), extension, name;
	const char *dot = base.len > 0 ? memrchr(base.ptr, '.', base.len) : NULL;
	size_t dots = 0; /* leading dots, which start no extension */

	while (dots < base.len && base.ptr[dots] == '.')
		dots++;
	if (!dot || dot < base.ptr + dots)
		return false;
	extension = slice_between(dot, base.ptr + base.len);
	name = slice_before(slice_between(base.ptr, dot), '-');
	if (name.len == 0 ||
	    (!slice_equal(extension, DIST_INFO) && !slice_equal(extension, EGG_INFO)))
		return false;
	*stem = name;
	return true;
}

/*
 * re.sub(r"[-_.]+", "-", name).lower().replace("-", "_")
 * A final sigma is not affected by which of '-' and '_' stands in between.
 */
size_t distname_normalize(struct slice name, char *out, size_t room)
{
	char *tail; /* where unicode_lower() allows its input */
	size_t n;

	assert(room >= DISTNAME_ROOM(name.len));
	tail = out + (room - name.len);
	n = collapse(name, tail);
	memmove(out + (room - n), tail, n);
	return unicode_lower((struct slice){out + (room - n), n}, out, room);
}

struct slice distname_normalize_in(struct arena *arena, struct slice name, bool *failed)
{
	size_t room = DISTNAME_ROOM(name.len) + 1;
	char *bytes = arena_alloc(arena, room);

	if (bytes)
		return (struct slice){bytes, distname_normalize(name, bytes, room)};
	*failed = true;
	return (struct slice){0};
}

/*
 * sdist.c - finds the entry points of a source distribution without building it.
 *
 * Declared entry points are rewritten as the entry_points.txt that a build would create, so that
 * one parser handles both. Build back ends sort it by group and name.
 */
#include "indexer/archive/sdist.h"

#include <stdio.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/distname.h"

#define DECIDES " decides, " SDIST_NEEDS_BUILD

/* The state of reading one source distribution. */
struct reading {
	const struct members *members;
	struct slice top;
	sdist_pyproject *pyproject;
	struct arena *arena;
	struct sdist *out;
	bool failed; /* out of memory */
	/* of pyproject.toml: */
	bool has_project, is_dynamic;
	bool other_backend;          /* its build backend is not setuptools */
	FILE *stream;                /* the declared entry points are written there, */
	struct entry_points_txt txt; /* and read back */
	bool differs;
};

/* --- files --- */

/* The content of a file; null if it is missing. */
static struct slice bytes_of(struct reading *reading, struct slice directory, const char *name)
{
	struct slice path =
	        path_join_in(reading->arena, directory, slice_of(name), &reading->failed);
	const struct tree_file *file =
	        slice_is_null(path) ? NULL : members_find(reading->members, path);

	return file ? file->bytes : (struct slice){0};
}

static bool is_mark(struct slice name)
{
	return slice_equal(name, SLICE("PKG-INFO")) || slice_equal(name, SLICE("setup.py")) ||
	       slice_equal(name, SLICE("setup.cfg")) || slice_equal(name, SLICE("pyproject.toml"));
}

bool sdist_find_top(const struct members *members, struct slice *top)
{
	struct slice first = {0};
	bool marked = false;

	for (size_t i = 0; i < members->count; i++) {
		struct slice path = members->files[i].path, rest = path;
		struct slice one = slice_take(&rest, '/');

		if (one.len == path.len || (i > 0 && !slice_equal(one, first)))
			return false;
		first = one;
		marked |= is_mark(rest);
	}
	*top = first;
	return marked && !distname_is_info(first);
}

/* Does the file exist at the top, whether kept or not? */
static bool has_file(const struct reading *reading, struct slice name)
{
	for (size_t i = 0; i < reading->members->count; i++) {
		struct slice path = reading->members->files[i].path;

		if (slice_equal(slice_from(path, reading->top.len + 1), name))
			return true;
	}
	return false;
}

/* --- egg-info --- */

static size_t depth_of(struct slice path)
{
	size_t depth = 0;

	for (size_t i = 0; i < path.len; i++)
		depth += path.ptr[i] == '/';
	return depth;
}

/* Is @path "DIRECTORY/x.egg-info/PKG-INFO" of the distribution @name (null: any)? */
static bool is_own_egg_info(struct reading *reading, struct slice path, struct slice name,
                            struct slice *directory)
{
	struct slice base, stem;

	if (!slice_ends(path, SLICE(".egg-info/PKG-INFO")))
		return false;
	*directory = slice_first(path, path.len - sizeof("/PKG-INFO") + 1);
	base = path_base(*directory);
	stem = slice_first(base, base.len - (sizeof(".egg-info") - 1));
	return slice_is_null(name) ||
	       slice_equal(distname_normalize_in(reading->arena, stem, &reading->failed), name);
}

/* The distribution's own egg-info; its tests may contain others. The topmost is used. */
static struct slice find_egg_info(struct reading *reading, struct slice name)
{
	struct slice own = slice_is_null(name)
	                           ? name
	                           : distname_normalize_in(reading->arena, name, &reading->failed);
	struct slice found = {0}, directory;

	for (size_t i = 0; i < reading->members->count; i++) {
		const struct tree_file *file = &reading->members->files[i];

		if (slice_is_null(file->bytes) ||
		    !is_own_egg_info(reading, file->path, own, &directory))
			continue;
		if (slice_is_null(found) || depth_of(directory) < depth_of(found))
			found = directory;
	}
	return found;
}

/* --- pyproject.toml --- */

static struct slice slice_of_text(struct pyproject_text text)
{
	return (struct slice){text.text, text.length};
}

static int take_fact(void *payload, enum pyproject_fact fact, struct pyproject_text text)
{
	struct reading *reading = payload;
	struct slice value = arena_copy(reading->arena, slice_of_text(text), &reading->failed);

	if (fact == PYPROJECT_NAME)
		reading->out->name = value;
	else if (fact == PYPROJECT_VERSION)
		reading->out->version = value;
	else if (fact == PYPROJECT_BACKEND)
		reading->other_backend = !slice_starts(value, SLICE("setuptools."));
	reading->has_project |= fact == PYPROJECT_PROJECT;
	reading->is_dynamic |= fact == PYPROJECT_DYNAMIC;
	return reading->failed;
}

static int write_entry_point(void *payload, struct pyproject_text group, struct pyproject_text name,
                             struct pyproject_text value)
{
	FILE *stream = ((struct reading *)payload)->stream;

	putc('[', stream);
	fwrite(group.text, 1, group.length, stream);
	fputs("]\n", stream);
	fwrite(name.text, 1, name.length, stream);
	fputs(" = ", stream);
	fwrite(value.text, 1, value.length, stream);
	putc('\n', stream);
	return 0;
}

/* Does the text read back as declared? TOML strings may contain anything. */
static int compare_entry_point(void *payload, struct pyproject_text group,
                               struct pyproject_text name, struct pyproject_text value)
{
	struct reading *reading = payload;
	struct entry_points_line line;

	reading->differs |= entry_points_txt_next(&reading->txt, &line, NULL) <= 0 ||
	                    !slice_equal(line.group, slice_of_text(group)) ||
	                    !slice_equal(line.name, unicode_strip(slice_of_text(name))) ||
	                    !slice_equal(line.value, unicode_strip(slice_of_text(value)));
	return reading->differs;
}

/* Does pyproject.toml determine the entry points? Otherwise the build backend does. */
static bool read_pyproject(struct reading *reading, struct slice text)
{
	struct pyproject_sink sink = {reading, take_fact, write_entry_point};
	struct sdist *out = reading->out;
	char problem[PYPROJECT_PROBLEM_SIZE] = "";
	CLEANUP(cleanup_free) char *written = NULL;
	CLEANUP(cleanup_free) char *reason = NULL;
	struct entry_points_line line;
	enum pyproject_status status = PYPROJECT_NOMEM;
	size_t size = 0;

	reading->stream = open_memstream(&written, &size);
	if (reading->stream)
		status = reading->pyproject(text.ptr, text.len, &sink, problem);
	if (!reading->stream || !text_close(reading->stream, &written) || status == PYPROJECT_NOMEM)
		return reading->failed = true;
	if (status != PYPROJECT_OK) {
		reason = text_format("pyproject.toml: %s", problem);
		reading->failed |= !reason;
		out->error = arena_copy(reading->arena, slice_of(reason), &reading->failed);
		return true;
	}
	if (reading->is_dynamic)
		out->error = SLICE("dynamic, " SDIST_NEEDS_BUILD);
	if (reading->is_dynamic || !reading->has_project || size == 0)
		return reading->has_project || reading->is_dynamic;
	out->entry_points =
	        arena_copy(reading->arena, (struct slice){written, size}, &reading->failed);
	entry_points_txt_begin(&reading->txt, (struct slice){written, size});
	sink.entry_point = compare_entry_point;
	status = reading->pyproject(text.ptr, text.len, &sink, problem);
	if (reading->differs || entry_points_txt_next(&reading->txt, &line, NULL) > 0) {
		out->entry_points = (struct slice){0};
		out->error = SLICE("pyproject.toml: entry_points.txt cannot express one of its "
		                   "groups, names or values");
	} else if (status != PYPROJECT_OK) {
		reading->failed = true;
	}
	return true;
}

/* --- the distribution --- */

/* From name-version.tar.gz, if nothing inside names it; the version starts with a digit. */
static void take_names_from_file(struct sdist *out, struct slice file)
{
	static const char *const endings[] = {".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst",
	                                      ".tgz",    ".zip",     ".tar"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (slice_ends(file, slice_of(endings[i]))) {
			file.len -= strlen(endings[i]);
			break;
		}
	out->name = file;
	for (size_t i = 0; i + 1 < file.len; i++)
		if (file.ptr[i] == '-' && file.ptr[i + 1] >= '0' && file.ptr[i + 1] <= '9') {
			out->name = slice_first(file, i);
			out->version = slice_from(file, i + 1);
			return;
		}
}

static struct slice name_in(struct reading *reading, struct slice metadata)
{
	struct metadata headers = {0};

	if (!slice_is_null(metadata) && metadata_parse(metadata, reading->arena, &headers) < 0)
		reading->failed = true;
	return headers.name;
}

/* Without egg-info and [project]: the build decides. */
static struct slice who_decides(const struct reading *reading)
{
	if (reading->other_backend)
		return SLICE("the build backend" DECIDES);
	if (has_file(reading, SLICE("setup.py")))
		return SLICE("setup.py" DECIDES);
	return has_file(reading, SLICE("setup.cfg")) ? SLICE("setup.cfg" DECIDES)
	                                             : (struct slice){0};
}

static void read_all(struct reading *reading, struct slice file)
{
	struct sdist *out = reading->out;
	struct slice egg_info, pyproject = bytes_of(reading, reading->top, "pyproject.toml");

	out->directory = reading->top;
	out->metadata = bytes_of(reading, reading->top, "PKG-INFO");
	egg_info = find_egg_info(reading, name_in(reading, out->metadata));
	if (!slice_is_null(egg_info)) {
		out->directory = egg_info;
		out->entry_points = bytes_of(reading, egg_info, "entry_points.txt");
		if (slice_is_null(out->metadata))
			out->metadata = bytes_of(reading, egg_info, "PKG-INFO");
	}
	take_names_from_file(out, file);
	if (slice_is_null(out->entry_points) &&
	    (slice_is_null(pyproject) || !read_pyproject(reading, pyproject)) &&
	    slice_is_null(egg_info))
		out->error = who_decides(reading);
}

int sdist_read(const struct members *members, struct slice top, struct slice file,
               sdist_pyproject *pyproject, struct arena *arena, struct sdist *out,
               struct error *error)
{
	struct reading reading = {
	        .members = members, .top = top, .pyproject = pyproject, .arena = arena, .out = out};

	*out = (struct sdist){0};
	read_all(&reading, file);
	return reading.failed ? error_nomem(error) : 0;
}

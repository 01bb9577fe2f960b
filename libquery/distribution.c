/*
 * distribution.c - see distribution.h. Broken, here, is whatever makes stock raise;
 * the reason is kept with the record, and the others are read all the same.
 */
#include "distribution.h"

#include <sys/types.h>

#include "distname.h"
#include "entry_points_txt.h"
#include "metadata.h"
#include "unicode.h"
#include "value.h"

/* What the reading of one distribution works with. */
struct reading {
	struct tree *tree;
	struct arena *arena;
	bool failed; /* no memory */
};

/* --- names --- */

/* Give @distribution the reason why stock would raise. */
static void mark_broken(struct reading *reading, struct distribution_record *distribution,
                        const char *reason)
{
	distribution->error = arena_copy(reading->arena, slice_of(reason), &reading->failed);
}

/* The same, for a file; without memory for the reason there is none, and no answer. */
static void mark_unreadable(struct reading *reading, struct distribution_record *distribution,
                            const struct error *error)
{
	if (error->code != ERROR_NOMEM && error->message)
		mark_broken(reading, distribution, error->message);
	else
		reading->failed = true;
}

/* Read one file of the distribution's; 1, 0, or negative with the reason in @error. */
static int read_file(struct tree *tree, struct arena *arena, struct slice child, const char *file,
                     size_t limit, bool first, struct slice *out, struct error *error)
{
	return tree->operations->read(tree, child, file, limit, first, arena, out, error);
}

/* METADATA, else PKG-INFO, else the child itself: the first that is not empty. */
static int read_headers(struct tree *tree, struct arena *arena, struct slice child, bool first,
                        struct slice *out, struct error *error)
{
	static const char *const files[] = {"METADATA", "PKG-INFO", ""};
	int code = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		code = read_file(tree, arena, child, files[i], METADATA_MAX, first, out, error);
		if (code < 0 || (code > 0 && out->len > 0))
			return code;
	}
	return 0;
}

/*
 * The headers of a distribution. @strict: its very identity depends on them, so
 * that whatever stock would raise on counts; otherwise the beginning will do.
 */
static int parse_headers(struct tree *tree, struct arena *arena, struct slice child, bool strict,
                         struct metadata *out, struct error *error)
{
	struct slice text = SLICE("");
	int code = read_headers(tree, arena, child, !strict, &text, error);

	*out = (struct metadata){0};
	if (code <= 0)
		return code;
	if (strict && !utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "the metadata is not valid UTF-8");
	if (metadata_parse(text, arena, out) < 0)
		return error_nomem(error);
	if (!strict && !out->complete) {
		code = read_headers(tree, arena, child, false, &text, error);
		if (code > 0 && metadata_parse(text, arena, out) < 0)
			return error_nomem(error);
	}
	return code;
}

static struct slice normalize(struct reading *reading, struct slice name)
{
	size_t room = DISTNAME_ROOM(name.len) + 1;
	char *bytes = arena_alloc(reading->arena, room);

	if (!bytes) {
		reading->failed = true;
		return (struct slice){0};
	}
	return (struct slice){bytes, distname_normalize(name, bytes, room)};
}

/* The child's own name, where stock would use it; else the Name in its metadata. */
static void find_name(struct reading *reading, struct distribution_record *distribution)
{
	struct error error = {0};
	struct metadata headers;
	struct slice stem;
	int code;

	if (reading->tree->operations->has_stem(reading->tree, distribution->directory) &&
	    distname_stem(distribution->directory, &stem)) {
		distribution->normalized_name = normalize(reading, stem);
		return;
	}
	code = parse_headers(reading->tree, reading->arena, distribution->directory, true, &headers,
	                     &error);
	if (code < 0) {
		mark_unreadable(reading, distribution, &error);
	} else if (slice_is_null(headers.name)) {
		mark_broken(reading, distribution,
		            "neither its name nor its metadata says what it is called");
	} else {
		distribution->name = headers.name;
		distribution->version = headers.version;
		distribution->has_headers = true;
		distribution->normalized_name = normalize(reading, headers.name);
	}
	error_clear(&error);
}

int distribution_read_headers(struct tree *tree, struct arena *arena,
                              struct distribution_record *distribution, struct error *error)
{
	struct arena scratch = ARENA_INIT; /* of a file of many kilobytes two words are kept */
	struct metadata headers;
	bool failed = false;
	int code = parse_headers(tree, &scratch, distribution->directory, false, &headers, error);

	distribution->has_headers = code != ERROR_NOMEM;
	if (code > 0) {
		distribution->name = arena_copy(arena, headers.name, &failed);
		distribution->version = arena_copy(arena, headers.version, &failed);
	}
	arena_free(&scratch);
	return failed ? error_nomem(error) : code;
}

static bool has_metadata(struct tree *tree, struct slice child)
{
	return tree->operations->exists(tree, child, "METADATA") ||
	       tree->operations->exists(tree, child, "PKG-INFO") ||
	       tree->operations->is_file(tree, child);
}

/* Unreadable metadata is not an error here: stock reads it only when asked for a name. */
static void find_metadata(struct reading *reading, unsigned what,
                          struct distribution_record *distribution)
{
	int code = 0;

	if (what & DISTRIBUTION_HEADERS && !distribution->has_headers)
		code = distribution_read_headers(reading->tree, reading->arena, distribution, NULL);
	if (code == ERROR_NOMEM)
		reading->failed = true;
	if (what & DISTRIBUTION_HAS_METADATA) /* what was read is there: no need to look */
		distribution->has_metadata =
		        code > 0 || has_metadata(reading->tree, distribution->directory);
}

/* --- entry points --- */

static struct slice join_extras(struct reading *reading, struct slice extras)
{
	char *bytes = arena_alloc(reading->arena, extras.len + 1), *at = bytes;
	struct slice word;

	if (!bytes) {
		reading->failed = true;
		return (struct slice){0};
	}
	while (value_next_extra(&extras, &word)) {
		if (at > bytes)
			*at++ = ',';
		memcpy(at, word.ptr, word.len);
		at += word.len;
	}
	*at = '\0';
	return at > bytes ? slice_between(bytes, at) : (struct slice){0};
}

static void fill_entry_point(struct reading *reading, const struct entry_points_line *line,
                             struct entry_point_record *out)
{
	struct value value = {0};

	*out = (struct entry_point_record){
	        .group = line->group, .name = line->name, .value = line->value};
	if (!value_parse(line->value, &value))
		return;
	out->module = value.module;
	out->attr = value.attr;
	if (!slice_is_null(value.extras))
		out->extras = join_extras(reading, value.extras);
}

/* The number of items, or ERROR_FORMAT with @error filled. */
static ssize_t count_lines(struct slice text, struct error *error)
{
	struct entry_points_txt txt;
	struct entry_points_line line;
	ssize_t count = 0;
	int code;

	entry_points_txt_begin(&txt, text);
	while ((code = entry_points_txt_next(&txt, &line, error)) > 0)
		count++;
	if (count > (ssize_t)ENTRY_POINTS_MAX)
		return error_set(error, ERROR_LIMIT, "more than %u entry points", ENTRY_POINTS_MAX);
	return code < 0 ? code : count;
}

static int parse_entry_points(struct reading *reading, struct slice text,
                              struct distribution_record *distribution, struct error *error)
{
	struct entry_points_txt txt;
	struct entry_points_line line;
	struct entry_point_record *rows;
	ssize_t count;

	if (!utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "entry_points.txt is not valid UTF-8");
	count = count_lines(text, error);
	if (count <= 0)
		return (int)count;
	rows = arena_alloc(reading->arena, (size_t)count * sizeof(*rows));
	if (!rows)
		return error_nomem(error);
	distribution->entry_points = rows;
	distribution->entry_point_count = (size_t)count;
	entry_points_txt_begin(&txt, text);
	while (entry_points_txt_next(&txt, &line, NULL) > 0)
		fill_entry_point(reading, &line, rows++);
	return 0;
}

static void find_entry_points(struct reading *reading, struct distribution_record *distribution)
{
	struct error error = {0};
	struct slice text;
	int code = read_file(reading->tree, reading->arena, distribution->directory,
	                     "entry_points.txt", ENTRY_POINTS_TXT_MAX, false, &text, &error);

	if (code > 0)
		code = parse_entry_points(reading, text, distribution, &error);
	if (code < 0)
		mark_unreadable(reading, distribution, &error);
	error_clear(&error);
}

/* --- editable installs --- */

/* --- the whole --- */

bool distribution_read(struct tree *tree, struct arena *arena, unsigned what,
                       struct distribution_record *distribution)
{
	struct reading reading = {.tree = tree, .arena = arena};

	find_name(&reading, distribution);
	find_metadata(&reading, what, distribution);
	if (slice_is_null(distribution->error))
		find_entry_points(&reading, distribution);
	return !reading.failed;
}

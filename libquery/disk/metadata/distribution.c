/*
 * distribution.c - one distribution, as importlib.metadata reads it. It is broken when
 * importlib.metadata would raise on it; the reason is kept in its record, and the others are read
 * all the same.
 */
#include "libquery/disk/metadata/distribution.h"

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "db/value.h"
#include "libquery/disk/metadata/metadata.h"
#include "libquery/disk/tree/distname.h"

/* What the reading of one distribution works with. */
struct reading {
	struct tree *tree;
	struct arena *arena;
	struct distribution_record *distribution;
	bool failed; /* no memory */
	struct error *error;
};

/* --- names --- */

/*
 * Record why importlib.metadata would raise on the distribution: 0. What kept a file from being
 * read may be of no consequence to it a moment later: then there is no answer, but a failure.
 */
static int mark_broken(struct reading *reading, struct error *own)
{
	if (!own->message)
		error_nomem(own);
	if (error_is_failure(own->code))
		return error_move(reading->error, own);
	reading->distribution->error =
	        arena_copy(reading->arena, slice_of(own->message), &reading->failed);
	error_clear(own);
	return 0;
}

/* METADATA, else PKG-INFO, else the child itself: the first that is not empty. */
static int read_headers(struct tree *tree, struct arena *arena, struct slice child, bool first,
                        struct slice *out, struct error *error)
{
	static const char *const files[] = {"METADATA", "PKG-INFO", ""};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct tree_request request = {child, files[i], METADATA_MAX, first};
		int code = tree_read(tree, &request, arena, out, error);

		if (code < 0 || (code > 0 && out->len > 0))
			return code;
	}
	return 0;
}

int distribution_parse_headers(struct tree *tree, struct arena *arena, struct slice child,
                               bool strict, struct metadata *out, struct error *error)
{
	bool first = !strict; /* only the beginning, unless that does not say all */
	struct slice text = SLICE("");
	int code;

	*out = (struct metadata){0};
	for (;; first = false) {
		code = read_headers(tree, arena, child, first, &text, error);
		if (code <= 0)
			return code;
		if (strict && !utf8_valid(text))
			return error_set(error, ERROR_FORMAT, "the metadata is not valid UTF-8");
		if (metadata_parse(text, arena, out) < 0)
			return error_nomem(error);
		if (!first || out->complete)
			return 1;
	}
}

/* Name and version, as they are kept: of a file of many kilobytes two words. */
static void keep_headers(struct arena *arena, const struct metadata *headers,
                         struct distribution_record *distribution, bool *failed)
{
	distribution->name = arena_copy(arena, headers->name, failed);
	distribution->version = arena_copy(arena, headers->version, failed);
}

/* Is the child itself a file? 1, 0 or a failure. */
static int is_file(struct tree *tree, struct slice child, struct error *error)
{
	struct stat status;
	int found = tree_status(tree, child, "", &status, error);

	return found > 0 ? S_ISREG(status.st_mode) : found;
}

/* From the child's own name where importlib.metadata would use it, else from its metadata. */
static int find_name(struct reading *reading)
{
	struct distribution_record *distribution = reading->distribution;
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT;
	struct error own = {0};
	struct metadata headers;
	struct slice name;
	int code = 1;

	if (reading->tree->kind == ROOT_ZIP) /* there the name of a directory does not count */
		code = is_file(reading->tree, distribution->directory, &own);
	if (code <= 0 || !distname_stem(distribution->directory, &name)) {
		if (code >= 0)
			code = distribution_parse_headers(reading->tree, &scratch,
			                                  distribution->directory, true, &headers,
			                                  &own);
		if (code >= 0 && slice_is_null(headers.name))
			code = error_set(
			        &own, ERROR_FORMAT,
			        "neither its name nor its metadata says what it is called");
		if (code < 0)
			return mark_broken(reading, &own);
		keep_headers(reading->arena, &headers, distribution, &reading->failed);
		distribution->has_headers = true;
		name = headers.name;
	}
	distribution->normalized_name =
	        distname_normalize_in(reading->arena, name, &reading->failed);
	return 0;
}

int distribution_read_headers(struct tree *tree, struct arena *arena,
                              struct distribution_record *distribution, struct error *error)
{
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT;
	struct metadata headers;
	bool failed = false;
	struct error own = {0};
	int code = distribution_parse_headers(tree, &scratch, distribution->directory, false,
	                                      &headers, &own);
	int failure;

	if (code > 0)
		keep_headers(arena, &headers, distribution, &failed);
	if (failed)
		error_nomem(&own);
	failure = error_move_failure(error, &own);
	if (failure < 0)
		return failure;
	distribution->has_headers = true;
	return code > 0;
}

/* Unusable metadata is not an error here: Python reads it only when asked for a name. */
static int find_metadata(struct reading *reading, unsigned what)
{
	struct distribution_record *distribution = reading->distribution;
	struct slice child = distribution->directory;
	struct stat status;
	int code = 0;

	if (what & DISTRIBUTION_HEADERS && !distribution->has_headers)
		code = distribution_read_headers(reading->tree, reading->arena, distribution,
		                                 reading->error);
	if (code < 0 || !(what & DISTRIBUTION_HAS_METADATA))
		return code < 0 ? code : 0;
	if (code == 0) /* else it was read just now */
		code = tree_metadata_status(reading->tree, child, &status, reading->error);
	if (code == 0)
		code = is_file(reading->tree, child, reading->error);
	distribution->has_metadata = code > 0;
	return code < 0 ? code : 0;
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

/* All that is kept of one path entry has a bound, too: links may show one file a thousand times. */
static int keep_count(struct tree *tree, size_t bytes, struct error *error)
{
	if (bytes > TREE_KEPT_MAX - tree->kept)
		return error_set(error, ERROR_LIMIT,
		                 "more than %zu bytes of entry points beside each other",
		                 TREE_KEPT_MAX);
	tree->kept += bytes;
	return 0;
}

/* A group is written once in the file, and then with each of its entry points in the database. */
static int parse_entry_points(struct reading *reading, struct slice text, struct error *error)
{
	struct distribution_record *distribution = reading->distribution;
	CLEANUP(cleanup_free) struct entry_point_record *rows = NULL;
	size_t count = 0, room = 0, bytes = 0;
	struct entry_points_txt txt;
	struct entry_points_line line;
	int code;

	if (!utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "entry_points.txt is not valid UTF-8");
	entry_points_txt_begin(&txt, text);
	while ((code = entry_points_txt_next(&txt, &line, error)) > 0) {
		bytes += line.group.len + line.name.len + line.value.len;
		if (count == POINTS_MAX)
			return error_set(error, ERROR_LIMIT, "more than %zu entry points",
			                 POINTS_MAX);
		if (bytes > POINTS_BYTES_MAX)
			return error_set(error, ERROR_LIMIT,
			                 "more than %zu bytes of groups, names and values",
			                 POINTS_BYTES_MAX);
		if (!array_grow(&rows, count, sizeof(*rows), &room))
			return error_nomem(error);
		fill_entry_point(reading, &line, &rows[count++]);
	}
	if (code < 0 || count == 0)
		return code;
	if (keep_count(reading->tree, count * sizeof(*rows), error) < 0)
		return ERROR_LIMIT;
	distribution->entry_points = arena_alloc(reading->arena, count * sizeof(*rows));
	if (!distribution->entry_points)
		return error_nomem(error);
	memcpy(distribution->entry_points, rows, count * sizeof(*rows));
	distribution->entry_point_count = count;
	return 0;
}

static int find_entry_points(struct reading *reading)
{
	struct error own = {0};
	struct tree_request request = {reading->distribution->directory, "entry_points.txt",
	                               ENTRY_POINTS_TXT_MAX, false};
	size_t left = TREE_KEPT_MAX - reading->tree->kept;
	struct slice text;
	int code;

	if (request.limit > left)
		request.limit = left;
	code = tree_read(reading->tree, &request, reading->arena, &text, &own);
	if (code == ERROR_LIMIT && request.limit == left)
		code = keep_count(reading->tree, left + 1, &own);
	if (code > 0)
		code = keep_count(reading->tree, text.len, &own) < 0 ? ERROR_LIMIT : code;
	if (code > 0)
		code = parse_entry_points(reading, text, &own);
	return code < 0 ? mark_broken(reading, &own) : 0;
}

/* --- the whole --- */

int distribution_read(struct tree *tree, struct arena *arena, unsigned what,
                      struct distribution_record *distribution, struct error *error)
{
	struct reading reading = {
	        .tree = tree, .arena = arena, .distribution = distribution, .error = error};
	int code = find_name(&reading);

	if (code == 0)
		code = find_metadata(&reading, what);
	if (code == 0 && slice_is_null(distribution->error) && !distribution->unread)
		code = find_entry_points(&reading);
	return reading.failed ? error_nomem(error) : code;
}

int distribution_read_rest(struct tree *tree, struct arena *arena,
                           struct distribution_record *distribution, struct error *error)
{
	struct reading reading = {
	        .tree = tree, .arena = arena, .distribution = distribution, .error = error};
	int code = find_entry_points(&reading);

	if (reading.failed)
		code = error_nomem(error);
	distribution->unread = code < 0;
	return code;
}

/*
 * distribution.c - reads a distribution as importlib.metadata does. If importlib.metadata would
 * raise an exception on it, it is broken: the reason is stored in its record, and other
 * distributions are not affected.
 */
#include "libquery/disk/metadata/distribution.h"

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/unicode.h"
#include "db/entry_points_txt.h"
#include "libquery/disk/tree/distname.h"

/* --- names --- */

/*
 * Record why importlib.metadata would raise on the distribution, and return 0; but a transient
 * failure is returned.
 */
static int mark_broken(struct arena *arena, struct distribution_record *distribution,
                       struct error *own, struct error *error)
{
	bool failed = false;

	if (!own->message)
		error_nomem(own);
	if (error_is_failure(own->code))
		return error_move(error, own);
	distribution->error = arena_copy(arena, slice_of(own->message), &failed);
	error_clear(own);
	return failed ? error_nomem(error) : 0;
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
	bool first = !strict; /* the start of the file, unless it is not enough */
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

/* Copy name and version: two words out of a file of many kilobytes. */
static int keep_headers(struct arena *arena, const struct metadata *headers,
                        struct distribution_record *distribution, struct error *error)
{
	bool failed = false;

	distribution->name = arena_copy(arena, headers->name, &failed);
	distribution->version = arena_copy(arena, headers->version, &failed);
	return failed ? error_nomem(error) : 0;
}

/* Is the child itself a file? 1, 0 or a failure. */
static int is_file(struct tree *tree, struct slice child, struct error *error)
{
	struct stat status;
	int found = tree_status(tree, child, "", &status, error);

	return found > 0 ? S_ISREG(status.st_mode) : found;
}

/* From the directory name where importlib.metadata would use it, else from the metadata. */
static int find_name(struct tree *tree, struct arena *arena,
                     struct distribution_record *distribution, struct error *error)
{
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT;
	struct slice child = distribution->directory, name;
	struct error own = {0};
	struct metadata headers;
	bool failed = false;
	int code = 1;

	if (tree->kind == ROOT_ZIP) /* where directory names are not used */
		code = is_file(tree, child, &own);
	if (code <= 0 || !distname_stem(child, &name)) {
		if (code >= 0)
			code = distribution_parse_headers(tree, &scratch, child, true, &headers,
			                                  &own);
		if (code >= 0 && slice_is_null(headers.name))
			code = error_set(
			        &own, ERROR_FORMAT,
			        "neither the directory name nor the metadata contains a name");
		if (code >= 0)
			code = keep_headers(arena, &headers, distribution, &own);
		if (code < 0)
			return mark_broken(arena, distribution, &own, error);
		distribution->has_headers = true;
		name = headers.name;
	}
	distribution->normalized_name = distname_normalize_in(arena, name, &failed);
	return failed ? error_nomem(error) : 0;
}

int distribution_read_headers(struct tree *tree, struct arena *arena,
                              struct distribution_record *distribution, struct error *error)
{
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT;
	struct metadata headers;
	struct error own = {0};
	int code = distribution_parse_headers(tree, &scratch, distribution->directory, false,
	                                      &headers, &own);
	int failure = code > 0 ? keep_headers(arena, &headers, distribution, error)
	                       : error_move_failure(error, &own);

	if (failure < 0)
		return failure;
	distribution->has_headers = true;
	return code > 0;
}

/* Invalid metadata is not an error here: Python reads it only when the name is accessed. */
static int find_metadata(struct tree *tree, struct arena *arena, unsigned what,
                         struct distribution_record *distribution, struct error *error)
{
	struct stat status;
	int code = 0;

	if (what & DISTRIBUTION_HEADERS && !distribution->has_headers)
		code = distribution_read_headers(tree, arena, distribution, error);
	if (code < 0 || !(what & DISTRIBUTION_HAS_METADATA))
		return code < 0 ? code : 0;
	if (code == 0) /* else it was just read */
		code = tree_metadata_status(tree, distribution->directory, &status, error);
	if (code == 0)
		code = is_file(tree, distribution->directory, error);
	distribution->has_metadata = code > 0;
	return code < 0 ? code : 0;
}

/* --- entry points --- */

static struct slice join_extras(struct arena *arena, struct slice extras, bool *failed)
{
	char *bytes = arena_alloc(arena, extras.len + 1), *at = bytes;
	struct slice word;

	*failed |= !bytes;
	while (bytes && value_next_extra(&extras, &word)) {
		if (at > bytes)
			*at++ = ',';
		at = mempcpy(at, word.ptr, word.len);
	}
	if (at == bytes)
		return (struct slice){0};
	*at = '\0';
	return slice_between(bytes, at);
}

static struct entry_point_record entry_point_of(const struct entry_points_line *line,
                                                struct arena *arena, bool *failed)
{
	struct value value = {0};

	if (!value_parse(line->value, &value))
		value = (struct value){0};
	return (struct entry_point_record){
	        .group = line->group,
	        .name = line->name,
	        .value = line->value,
	        .module = value.module,
	        .attr = value.attr,
	        .extras = slice_is_null(value.extras) ? value.extras
	                                              : join_extras(arena, value.extras, failed),
	};
}

/* The total for a path entry is limited: links may show one file a thousand times. */
static int keep_count(struct tree *tree, size_t bytes, struct error *error)
{
	if (bytes > TREE_KEPT_MAX - tree->kept)
		return error_set(error, ERROR_LIMIT,
		                 "more than %zu bytes of entry points in one path entry",
		                 TREE_KEPT_MAX);
	tree->kept += bytes;
	return 0;
}

/*
 * A group is written once in the file, but with each of its entry points in the database; the name
 * and version of the distribution once, but with each entry point in lists and reports. So a file
 * could take the square of its size.
 */
static int check_repeated(struct slice text, size_t repeated, struct error *error)
{
	return repeated <= text.len * POINTS_REPEATED_MAX + POINTS_REPEATED_MIN
	               ? 0
	               : error_set(error, ERROR_LIMIT,
	                           "entry_points.txt: too many entry points for a group or "
	                           "distribution of so long a name");
}

static int parse_entry_points(struct tree *tree, struct arena *arena, struct slice text,
                              struct distribution_record *distribution, struct error *error)
{
	CLEANUP(cleanup_free) struct entry_point_record *rows = NULL;
	size_t count = 0, room = 0, repeated = 0;
	struct entry_points_txt txt;
	struct entry_points_line line;
	bool failed = false;
	int code;

	if (!utf8_valid(text))
		return error_set(error, ERROR_FORMAT, "entry_points.txt is not valid UTF-8");
	entry_points_txt_begin(&txt, text);
	while ((code = entry_points_txt_next(&txt, &line, error)) > 0) {
		repeated += line.group.len + distribution->name.len + distribution->version.len;
		if (count == POINTS_MAX)
			return error_set(error, ERROR_LIMIT, "more than %zu entry points",
			                 POINTS_MAX);
		if (check_repeated(text, repeated, error) < 0)
			return ERROR_LIMIT;
		if (!array_grow(&rows, count, sizeof(*rows), &room))
			return error_nomem(error);
		rows[count++] = entry_point_of(&line, arena, &failed);
	}
	if (code < 0 || count == 0)
		return code;
	if (keep_count(tree, count * sizeof(*rows) + repeated, error) < 0)
		return ERROR_LIMIT;
	distribution->entry_points = arena_alloc(arena, count * sizeof(*rows));
	if (failed || !distribution->entry_points)
		return error_nomem(error);
	memcpy(distribution->entry_points, rows, count * sizeof(*rows));
	distribution->entry_point_count = count;
	return 0;
}

static int find_entry_points(struct tree *tree, struct arena *arena,
                             struct distribution_record *distribution, struct error *error)
{
	size_t left = TREE_KEPT_MAX - tree->kept;
	struct tree_request request = {distribution->directory, "entry_points.txt",
	                               left < ENTRY_POINTS_TXT_MAX ? left : ENTRY_POINTS_TXT_MAX,
	                               false};
	struct error own = {0};
	struct slice text;
	int code = tree_read(tree, &request, arena, &text, &own);

	if (code == ERROR_LIMIT && request.limit == left)
		keep_count(tree, left + 1, &own);
	if (code > 0)
		code = keep_count(tree, text.len, &own);
	if (code == 0 && !slice_is_null(text))
		code = parse_entry_points(tree, arena, text, distribution, &own);
	return code < 0 ? mark_broken(arena, distribution, &own, error) : 0;
}

/* --- the whole --- */

int distribution_read(struct tree *tree, struct arena *arena, unsigned what,
                      struct distribution_record *distribution, struct error *error)
{
	int code = find_name(tree, arena, distribution, error);

	if (code == 0)
		code = find_metadata(tree, arena, what, distribution, error);
	if (code == 0 && slice_is_null(distribution->error) && !distribution->unread)
		code = find_entry_points(tree, arena, distribution, error);
	return code;
}

int distribution_read_rest(struct tree *tree, struct arena *arena,
                           struct distribution_record *distribution, struct error *error)
{
	int code = find_entry_points(tree, arena, distribution, error);

	distribution->unread = code < 0;
	return code;
}

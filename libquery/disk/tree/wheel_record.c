/*
 * wheel_record.c - searches a RECORD without parsing all of it.
 *
 * A full update asks this for every entry point of every distribution, so the usual query, "is
 * a/b.py in it?", must cost one search and no allocation. A search reads each line at most once,
 * however often the needle occurs in it.
 */
#include "libquery/disk/tree/wheel_record.h"

/* The start of the line that contains @at. */
static const char *line_start(struct slice record, const char *at)
{
	const char *break_ = memrchr(record.ptr, '\n', (size_t)(at - record.ptr));

	return break_ ? break_ + 1 : record.ptr;
}

static struct slice rest_of_line(struct slice record, const char *at)
{
	size_t left = record.len - (size_t)(at - record.ptr);
	const char *end = memchr(at, '\n', left);
	struct slice line = end ? slice_between(at, end) : (struct slice){at, left};

	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* Take the first field off *line, without its quotes; *line becomes the rest after the comma. */
static bool take_field(struct slice *line, struct slice *out)
{
	bool quoted = line->len > 0 && line->ptr[0] == '"';
	struct slice field = quoted ? slice_from(*line, 1) : *line;
	const char *end = field.len ? memchr(field.ptr, quoted ? '"' : ',', field.len) : NULL;
	struct slice after;

	if (!end && quoted)
		return false;
	field = end ? slice_between(field.ptr, end) : field;
	after = slice_from(*line, field.len + (quoted ? 2 : 0));
	if (after.len > 0 && after.ptr[0] != ',')
		return false; /* a doubled quotation mark, or not CSV */
	*line = after.len > 0 ? slice_from(after, 1) : after;
	*out = field;
	return true;
}

/* x.data/platlib/ and x.data/purelib/ of a wheel are installed in the site directory. */
static struct slice installed_path(struct slice path)
{
	struct slice rest = path;

	if (path.len == 0 || !slice_ends(slice_take(&rest, '/'), SLICE(".data")))
		return path;
	if (slice_starts(rest, SLICE("platlib/")) || slice_starts(rest, SLICE("purelib/")))
		return slice_from(rest, sizeof("platlib/") - 1);
	return path;
}

static bool read_line(struct slice line, struct wheel_file *out)
{
	struct slice hash = {0};

	if (!take_field(&line, &out->spelled))
		return false;
	out->path = installed_path(out->spelled);
	if (!take_field(&line, &hash) || !slice_starts(hash, SLICE("sha256=")))
		hash = (struct slice){0};
	out->sha256 = hash;
	return true;
}

/* --- in the text --- */

/* Find the next line whose path starts with @prefix, from *at on, which is moved past the line. */
static bool find_in_text(struct slice record, struct slice prefix, size_t *at,
                         struct wheel_file *out)
{
	while (*at < record.len) {
		const char *begin = record.ptr + *at;
		struct slice line;

		if (prefix.len > 0) {
			begin = memmem(begin, record.len - *at, prefix.ptr, prefix.len);
			begin = begin ? line_start(record, begin) : NULL;
		}
		if (!begin)
			return false;
		line = rest_of_line(record, begin);
		*at = (size_t)(line.ptr + line.len - record.ptr) + 1;
		if (read_line(line, out) && out->path.len > 0 && slice_starts(out->path, prefix))
			return true;
	}
	return false;
}

/* --- by the index, or in the text --- */

bool wheel_record_index(const struct wheel_record *record, struct path_index *index)
{
	struct wheel_file file;

	for (size_t at = 0; find_in_text(record->text, SLICE(""), &at, &file);)
		if (!path_index_add(index, file.path))
			return false;
	path_index_sort(index);
	return true;
}

/* With an index, *at is 0, or the index of the last result + 1. */
bool wheel_record_find(const struct wheel_record *record, struct slice prefix, size_t *at,
                       struct wheel_file *out)
{
	const struct slice *found;
	struct slice path;

	if (!record->index)
		return find_in_text(record->text, prefix, at, out);
	found = path_index_next(record->index, record->site, prefix, at);
	if (!found)
		return false;
	if (!slice_is_null(record->text))
		return read_line(rest_of_line(record->text, line_start(record->text, found->ptr)),
		                 out);
	path = slice_from(*found, record->site.len);
	*out = (struct wheel_file){.path = path, .spelled = path};
	return true;
}

bool wheel_record_find_object(const struct wheel_record *record, size_t *at, struct wheel_file *out)
{
	while (wheel_record_find(record, SLICE(""), at, out))
		if (slice_ends(out->path, SLICE(".so")))
			return true;
	return false;
}

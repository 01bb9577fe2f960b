/*
 * wheel_record.c - see wheel_record.h.
 *
 * A full update asks this of every entry point of every distribution, so the
 * usual question, "is a/b.py in it?", must cost one search and no allocation.
 */
#include "wheel_record.h"

/* The start of the line in which @at lies. */
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

/* The first field of *line without its quotes; *line becomes what follows the comma. */
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

/* In a wheel, x.data/platlib/ and x.data/purelib/ are installed beside all else. */
static struct slice installed_path(struct slice path)
{
	const char *slash = path.len ? memchr(path.ptr, '/', path.len) : NULL;
	struct slice rest;

	if (!slash || !slice_ends(slice_between(path.ptr, slash), SLICE(".data")))
		return path;
	rest = slice_from(path, (size_t)(slash - path.ptr) + 1);
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

/* The next place of @needle at or behind *at, which is moved behind it. */
static const char *search(struct slice record, struct slice needle, size_t *at)
{
	const char *hit;

	if (*at >= record.len)
		return NULL;
	hit = memmem(record.ptr + *at, record.len - *at, needle.ptr, needle.len);
	if (hit)
		*at = (size_t)(hit - record.ptr) + needle.len;
	return hit;
}

bool wheel_record_find(struct slice record, struct slice prefix, size_t *at, struct wheel_file *out)
{
	const char *hit;

	while ((hit = search(record, prefix, at)) != NULL) {
		const char *start = line_start(record, hit);

		if (read_line(rest_of_line(record, start), out) && out->path.ptr == hit &&
		    out->path.len >= prefix.len)
			return true;
	}
	return false;
}

bool wheel_record_find_object(struct slice record, size_t *at, struct wheel_file *out)
{
	const struct slice suffix = SLICE(".so");
	const char *hit;

	while ((hit = search(record, suffix, at)) != NULL) {
		const char *start = line_start(record, hit);

		if (read_line(rest_of_line(record, start), out) && out->path.len >= suffix.len &&
		    out->path.ptr + out->path.len == hit + suffix.len)
			return true;
	}
	return false;
}

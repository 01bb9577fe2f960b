/*
 * metadata.c - parses two headers of METADATA exactly as Python's mail parser does.
 *
 * If a directory's name does not contain the name of its distribution, the Name in METADATA does,
 * and determines shadowing. So this follows the lines that email.feedparser takes for headers, and
 * what importlib.metadata makes of a folded value, where a general mail parser would differ.
 *
 * The headers end before the first line, empty or not, that does not match ^(From |[!-9;-~]*:|[\t
 * ]). Lines that start with a space or tab continue a header. "From " lines and those without a
 * name before ':' are skipped, with their continuation lines.
 */
#include "libquery/disk/metadata/metadata.h"

#include "db/base/error.h"
#include "db/base/unicode.h"

#define FIRST_INDENT 8 /* spaces that importlib.metadata prepends to a folded value */

/*
 * A header, or a skipped line; the value spans its continuation lines, without the last line end.
 */
struct header {
	struct slice name;
	struct slice value;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Take a line off *rest, without its end: '\n', '\r' or "\r\n". *ended: whether it has one. */
static struct slice take_line(struct slice *rest, bool *ended)
{
	struct slice text = *rest;
	size_t n = 0, next;

	while (n < text.len && text.ptr[n] != '\n' && text.ptr[n] != '\r')
		n++;
	*ended = n < text.len;
	next = n + *ended;
	if (next < text.len && text.ptr[n] == '\r' && text.ptr[next] == '\n')
		next++;
	*rest = slice_from(text, next);
	return slice_first(text, n);
}

/* The length of the header name in @line; false if it is not a header line. */
static bool match_header(struct slice line, size_t *name_len)
{
	size_t n = 0;

	*name_len = 0;
	if (slice_starts(line, SLICE("From ")) || (line.len > 0 && is_blank(line.ptr[0])))
		return true;
	while (n < line.len && line.ptr[n] > ' ' && line.ptr[n] <= '~' && line.ptr[n] != ':')
		n++;
	*name_len = n;
	return n < line.len && line.ptr[n] == ':';
}

static struct slice skip_blanks(struct slice text)
{
	while (text.len > 0 && is_blank(text.ptr[0]))
		text = slice_from(text, 1);
	return text;
}

/* Take the continuation lines of @header off *rest. */
static void take_continuation(struct slice *rest, struct header *header)
{
	bool ended;

	while (rest->len > 0 && is_blank(rest->ptr[0])) {
		struct slice line = take_line(rest, &ended);

		header->value = slice_between(header->value.ptr, line.ptr + line.len);
	}
}

/*
 * Take a header off *rest. False at the end of the headers. *final: whether more text could not
 * change it.
 */
static bool take_header(struct slice *rest, struct header *header, bool *final)
{
	struct slice line = take_line(rest, final);
	size_t n;

	*header = (struct header){0};
	if (!match_header(line, &n))
		return false;
	header->name = slice_first(line, n);
	header->value = n > 0 ? skip_blanks(slice_from(line, n + 1)) : line;
	take_continuation(rest, header);
	*final = rest->len > 0;
	return true;
}

static bool is_named(const struct header *header, struct slice lower)
{
	return header->name.len == lower.len && ascii_ends_ignoring_case(header->name, lower);
}

/* The common indent of all lines that are not blank. */
static size_t find_margin(struct slice text)
{
	const char *indent = NULL;
	size_t margin = 0;
	bool ended;

	while (text.len > 0) {
		struct slice line = take_line(&text, &ended);
		size_t blanks = line.len - skip_blanks(line).len, i = 0;

		if (blanks == line.len)
			continue;
		margin = indent && margin < blanks ? margin : blanks;
		indent = indent ? indent : line.ptr;
		while (i < margin && indent[i] == line.ptr[i])
			i++;
		margin = i;
	}
	return margin;
}

/* textwrap.dedent(), in place, with each line end as '\n'. */
static struct slice dedent(char *bytes, size_t len)
{
	struct slice rest = {bytes, len};
	size_t margin = find_margin(rest), n = 0;
	bool ended = true;

	while (ended) {
		struct slice line = take_line(&rest, &ended);

		if (skip_blanks(line).len > 0) {
			memmove(bytes + n, line.ptr + margin, line.len - margin);
			n += line.len - margin;
		}
		if (ended)
			bytes[n++] = '\n';
	}
	return (struct slice){bytes, n};
}

/* Set *out to the value as in Python; if folded, textwrap.dedent(' ' * 8 + value). */
static int unfold(struct slice value, struct arena *arena, struct slice *out)
{
	struct slice rest = value;
	bool is_folded;
	char *copy;

	*out = value;
	take_line(&rest, &is_folded);
	if (!is_folded)
		return 0;
	copy = arena_alloc(arena, FIRST_INDENT + value.len);
	if (!copy)
		return ERROR_NOMEM;
	memset(copy, ' ', FIRST_INDENT);
	memcpy(copy + FIRST_INDENT, value.ptr, value.len);
	*out = dedent(copy, FIRST_INDENT + value.len);
	return 0;
}

/* Store @header's value in @metadata if it is the first of a wanted name. */
static int keep(struct metadata *metadata, const struct header *header, struct arena *arena)
{
	if (slice_is_null(metadata->name) && is_named(header, SLICE("name")))
		return unfold(header->value, arena, &metadata->name);
	if (slice_is_null(metadata->version) && is_named(header, SLICE("version")))
		return unfold(header->value, arena, &metadata->version);
	return 0;
}

int metadata_parse(struct slice text, struct arena *arena, struct metadata *out)
{
	struct metadata metadata = {0};
	struct header header;
	bool final = false;

	while (text.len > 0 && take_header(&text, &header, &final)) {
		int status = keep(&metadata, &header, arena);

		if (status < 0)
			return status;
		if (final && metadata.name.ptr && metadata.version.ptr)
			break;
	}
	metadata.complete = final;
	*out = metadata;
	return 0;
}

/*
 * metadata.c - reads two headers of METADATA exactly as Python's mail parser does.
 *
 * Where a directory's name does not name its distribution, the Name in its METADATA does, and
 * decides which distribution hides which. A general reader of mail headers would be too clever:
 * what counts is which lines Python's email.feedparser takes for headers, and what
 * importlib.metadata then makes of a value that goes over several lines.
 *
 * A line belongs to the headers when it matches ^(From |[!-9;-~]*:|[\t ]). The first that does
 * not, be it empty or not, ends them. A header goes on over all lines that begin with a space or a
 * tab. "From " lines and those without a name before ':' are dropped, together with what continues
 * them.
 */
#include "libquery/disk/metadata/metadata.h"

#include "db/base/error.h"
#include "db/base/unicode.h"

#define FIRST_INDENT 8 /* spaces that importlib.metadata puts before a folded value */

/* A header, or a line that is none; the value with all its lines, without the last line end. */
struct header {
	struct slice name;
	struct slice value;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * Take a line from *rest, without its end: '\n', '\r' or "\r\n". *ended tells whether it
 * has one.
 */
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

/* The length of the name of the header that @line begins; false when it is not a header line. */
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

/* Take the lines that continue @header from *rest. */
static void take_continuation(struct slice *rest, struct header *header)
{
	bool ended;

	while (rest->len > 0 && is_blank(rest->ptr[0])) {
		struct slice line = take_line(rest, &ended);

		header->value = slice_between(header->value.ptr, line.ptr + line.len);
	}
}

/*
 * Take a header from *rest. False where the headers end. *final tells whether more
 * text could not change this.
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

/* The indent that all lines have in common, blank ones aside. */
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

/* The value as Python gives it, into *out: of several lines, textwrap.dedent(' ' * 8 + value). */
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

/* Keep @header's value in @metadata if it is the first of a name that is wanted. */
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

/*
 * Writes rows for programs immediately, and buffers aligned tables until the column widths are
 * known; writes result files atomically.
 */
#include "indexer/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/file.h"
#include "db/base/path.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "libquery/layout.h"

#define WIDTH_LEAST 12 /* columns of a folded cell; with less room, the last cells are dropped */
#define WIDTH_WIDE  32 /* columns of a folded cell; with less, STYLE_WIDE cells go below the row */
#define GAP         2  /* columns between cells */

struct output output_begin(const struct column *columns, size_t column_count, bool json)
{
	struct output output = {
	        .stream = stdout,
	        .columns = columns,
	        .column_count = column_count,
	        .form = json                  ? OUTPUT_JSON
	                : terminal_is(stdout) ? OUTPUT_ALIGNED
	                                      : OUTPUT_TABS,
	};

	for (size_t i = 0; i < column_count; i++)
		if (columns[i].heading && output.text_count < OUTPUT_TEXTS_MAX)
			output.texts[output.text_count++] =
			        (struct output_text){&columns[i], strlen(columns[i].heading),
			                             columns[i].style == STYLE_PROSE};
	return output;
}

/* --- JSON --- */

/* The letter of the short escape of @c; 0 if there is none. */
static char short_escape(uint32_t c)
{
	static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
	                               ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

	return c < sizeof(letters) ? letters[c] : '\0';
}

/* utf8_next() returns a lone surrogate for an invalid byte. */
static bool is_safe(uint32_t c)
{
	return !escape_is_control(c) && (c < 0xD800 || c > 0xDFFF);
}

static void put_json(struct slice text, bool is_document, FILE *stream)
{
	const char *at = text.ptr, *plain = at;
	const char *end = text.len > 0 ? at + text.len : at;

	while (at < end) {
		const char *begin = at;
		uint32_t c = utf8_next(&at, end);

		if (is_document ? c == '\n' || (is_safe(c) && c != '<')
		                : is_safe(c) && !short_escape(c))
			continue;
		fwrite(plain, 1, (size_t)(begin - plain), stream);
		if (!is_document && short_escape(c))
			fprintf(stream, "\\%c", short_escape(c));
		else
			fprintf(stream, "\\u%04x", (unsigned)c);
		plain = at;
	}
	if (plain < end)
		fwrite(plain, 1, (size_t)(end - plain), stream);
}

void json_string(struct slice text, FILE *stream)
{
	putc('"', stream);
	put_json(text, false, stream);
	putc('"', stream);
}

void json_document(struct slice json, FILE *stream)
{
	put_json(json, true, stream);
}

static void json_words(struct slice words, FILE *stream)
{
	const char *comma;

	putc('[', stream);
	for (bool more = words.len > 0; more;) {
		comma = words.len ? memchr(words.ptr, ',', words.len) : NULL;
		json_string(comma ? slice_between(words.ptr, comma) : words, stream);
		if ((more = comma != NULL)) {
			putc(',', stream);
			words = slice_from(words, (size_t)(comma - words.ptr) + 1);
		}
	}
	putc(']', stream);
}

/* --- aligned --- */

static void keep(struct output *output, struct slice raw)
{
	CLEANUP(cleanup_free) char *escaped = escape_text(raw);
	struct slice text = slice_of(escaped),
	             copy = arena_copy(&output->arena, text, &output->failed);
	struct output_text *column = &output->texts[output->count % output->text_count];
	size_t width = terminal_width(text);

	output->failed |= !escaped || !array_grow(&output->cells, output->count,
	                                          sizeof(*output->cells), &output->room);
	if (output->failed)
		return;
	output->cells[output->count++] = copy.ptr;
	column->width = width > column->width ? width : column->width;
}

/* The width of a row if no column is wider than @most. */
static size_t width_of_row(const struct output *output, size_t count, size_t most)
{
	size_t width = 0;

	for (const struct output_text *text = output->texts; text < output->texts + count; text++)
		if (!text->is_below)
			width += (text->width < most ? text->width : most) + GAP;
	return width;
}

/* The width to which the widest columns are folded so that a row fits into @room. */
static size_t widest_in(const struct output *output, size_t count, size_t room)
{
	size_t most = room;

	while (most > WIDTH_LEAST && width_of_row(output, count, most) > room + GAP)
		most--;
	return most;
}

/* The number of columns that fit the terminal. */
static size_t fit(struct output *output, size_t room)
{
	size_t count = output->text_count, most = widest_in(output, count, room);

	for (size_t i = 0; i < count && most < WIDTH_WIDE; i++)
		output->texts[i].is_below |= output->texts[i].column->style & STYLE_WIDE;
	while (count > 1 && (width_of_row(output, count, WIDTH_LEAST) > room + GAP ||
	                     output->texts[count - 1].is_below))
		count--;
	most = widest_in(output, count, room);
	for (size_t i = 0; i < count; i++)
		if (output->texts[i].width > most)
			output->texts[i].width = most;
	return count;
}

/*
 * The bytes of @text that fit a line of @width columns; broken at the last space, else at the last
 * punctuation character.
 */
static size_t first_line(const char *text, size_t width)
{
	const char *at = text, *cut = NULL, *signs = " ./:,-_";

	while (*at) {
		const char *begin = at, *end = at + strnlen(at, 4); /* of one character */
		uint32_t c = utf8_next(&at, end);
		size_t own = terminal_width(slice_between(begin, at));

		if (own > width)
			return (size_t)((c != ' ' && cut ? cut : begin) - text);
		width -= own;
		if (c == ' ')
			signs = " ";
		if (c < 0x80 && strchr(signs, (int)c) && (*at < '0' || *at > '9' || c == ' '))
			cut = at;
	}
	return (size_t)(at - text);
}

/* Write a line of a row and advance @cells past it; false if nothing remains. */
static bool put_cells(const struct output *output, const char **cells, bool is_heading,
                      size_t shown)
{
	size_t at = 0, begin = 0;
	bool more = false;

	for (size_t i = 0; i < shown; i++) {
		const struct output_text *text = &output->texts[i];
		struct slice part = {cells[i], first_line(cells[i], text->width)};

		if (text->is_below)
			continue;
		if (part.len > 0) {
			fprintf(output->stream, "%*s", (int)(begin - at), "");
			terminal_put(output->stream,
			             is_heading ? STYLE_HEADING : text->column->style, part, true);
			at = begin + terminal_width(part);
		}
		begin += text->width + GAP;
		cells[i] += part.len + strspn(cells[i] + part.len, " ");
		more |= *cells[i] != '\0';
	}
	putc('\n', output->stream);
	return more;
}

static void print_aligned(struct output *output)
{
	size_t room = terminal_columns(output->stream), shown = fit(output, room);
	const char *headings[OUTPUT_TEXTS_MAX];

	for (size_t i = 0; i < shown; i++)
		headings[i] = output->texts[i].column->heading;
	while (output->count > 0 && !output->failed && put_cells(output, headings, true, shown))
		continue;
	for (size_t i = 0; i < output->count && !output->failed; i++) {
		size_t column = i % output->text_count;

		while (column == 0 && put_cells(output, &output->cells[i], false, shown))
			continue;
		if (output->texts[column].is_below && *output->cells[i])
			terminal_put_words(output->stream, output->cells[i], GAP, room);
	}
}

/* --- cells --- */

/* Start a cell; NULL: its column is not shown. */
static const struct column *begin_cell(struct output *output)
{
	const struct column *column = &output->columns[output->at];
	bool is_first = output->shown == 0;

	if (!(output->form == OUTPUT_JSON ? column->key : column->heading))
		return NULL;
	output->shown++;
	if (output->form == OUTPUT_JSON)
		fprintf(output->stream, "%c\"%s\":", is_first ? '{' : ',', column->key);
	else if (output->form == OUTPUT_TABS && !is_first)
		putc('\t', output->stream);
	return column;
}

static void end_cell(struct output *output)
{
	if (++output->at < output->column_count)
		return;
	if (output->form != OUTPUT_ALIGNED && output->shown > 0)
		fputs(output->form == OUTPUT_JSON ? "}\n" : "\n", output->stream);
	output->at = output->shown = 0;
}

void output_text(struct output *output, struct slice text)
{
	const struct column *column = begin_cell(output);

	if (column && output->form == OUTPUT_ALIGNED)
		keep(output, text);
	else if (column && output->form == OUTPUT_TABS)
		terminal_put(output->stream, column->style, text, false);
	else if (column && !slice_is_null(text))
		json_string(text, output->stream);
	else if (column)
		fputs("null", output->stream);
	end_cell(output);
}

void output_string(struct output *output, const char *text)
{
	output_text(output, slice_of(text));
}

void output_number(struct output *output, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	if (output->form != OUTPUT_JSON) {
		output_string(output, text);
		return;
	}
	if (begin_cell(output))
		fputs(text, output->stream);
	end_cell(output);
}

void output_time(struct output *output, int64_t seconds)
{
	const char *form = output->form == OUTPUT_ALIGNED ? "%Y-%m-%d %H:%M" : "%Y-%m-%dT%H:%M:%SZ";
	time_t time = (time_t)seconds;
	char text[32];
	struct tm parts;

	if (!gmtime_r(&time, &parts) || strftime(text, sizeof(text), form, &parts) == 0)
		snprintf(text, sizeof(text), "%lld", (long long)seconds);
	output_string(output, text);
}

void output_words(struct output *output, struct slice words)
{
	if (output->form != OUTPUT_JSON) {
		output_text(output, words);
		return;
	}
	if (begin_cell(output))
		json_words(words, output->stream);
	end_cell(output);
}

int output_end(struct output *output, struct error *error)
{
	bool failed;

	if (output->form == OUTPUT_ALIGNED)
		print_aligned(output);
	failed = output->failed;
	free(output->cells);
	arena_free(&output->arena);
	*output = (struct output){0};
	return failed ? error_nomem(error) : 0;
}

/* --- files --- */

#define FILE_MODE 0600 /* the results may contain private data */

/* The caller's descriptor that @path names, such as /dev/stdout; -1: none. */
static int descriptor_of(const char *path)
{
	static const char *const names[] = {"/dev/fd/%d%n", "/proc/self/fd/%d%n"};
	int fd = -1, end = 0;

	if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0)
		return strcmp(path, "/dev/stderr") == 0 ? STDERR_FILENO : STDOUT_FILENO;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sscanf(path, names[i], &fd, &end) == 1 && !path[end])
			return fd;
	return -1;
}

/*
 * Write to a device or pipe @name in @directory: 1; 0: it is neither, or another user's. Regular
 * files and links are not modified, but replaced.
 */
static int write_in_place(int directory, const char *name, struct slice text)
{
	CLEANUP(cleanup_close) int at = safe_openat(directory, name, O_PATH, 0);
	CLEANUP(cleanup_close) int fd = -1;
	char path[FILE_FD_PATH_ROOM];
	struct stat status;

	if (at < 0 || fstat(at, &status) != 0)
		return errno == ENOENT ? 0 : -1;
	if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode) ||
	    !trust_owner(status.st_uid, TRUST_NO_OTHER))
		return 0;
	file_fd_path(path, at); /* another file may have this name now */
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 && file_write(fd, text.ptr, text.len) == 0 ? 1 : -1;
}

int output_file_write(const char *path, struct slice text, struct error *error)
{
	const struct file_sysroot *sysroot = file_sysroot();
	CLEANUP(cleanup_free) char *absolute = sysroot ? layout_absolute(path) : NULL;
	const char *rest = absolute ? file_in_sysroot(absolute) : NULL;
	CLEANUP(cleanup_free)
	char *inside = rest ? text_format("%s%s", sysroot->given, rest) : NULL;
	CLEANUP(cleanup_free) char *above = NULL;
	CLEANUP(cleanup_close) int directory = -1;
	int given = slice_equal(slice_of(path), SLICE("-")) ? STDOUT_FILENO : descriptor_of(path);
	int code;

	if (given >= 0)
		return fflush(stdout) == 0 && file_write(given, text.ptr, text.len) == 0
		               ? 0
		               : error_errno(error, errno, "cannot write %s", path);
	path = inside ? inside : path;
	above = path_parent(path);
	if (!above || (rest && !inside))
		return error_nomem(error);
	code = safe_directory_open(above, inside ? sysroot->given : NULL, SAFE_EXISTING, &directory,
	                           error);
	if (code < 0)
		return code;
	path = path_base(slice_of(path)).ptr;
	/* Below a sysroot, no device is opened. */
	code = inside ? 0 : write_in_place(directory, path, text);
	if (code > 0 || (code == 0 && small_file_write(directory, path, text, FILE_MODE) == 0))
		return 0;
	return error_errno(error, errno, "cannot write %s", path);
}

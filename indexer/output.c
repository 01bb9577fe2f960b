/*
 * Writes rows for programs at once, and keeps those of an aligned table until its end, when the
 * widths are known.
 */
#include "indexer/output.h"

#include <stdlib.h>
#include <time.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/text.h"
#include "db/base/unicode.h"

#define WIDTH_CUT                                                                                  \
	16    /* columns that a cell keeps when it is cut: else the last ones are not shown */
#define GAP 2 /* columns between two cells */

#define ELLIPSIS "\xe2\x80\xa6" /* in UTF-8, one column */

struct output_cell {
	const char *text; /* escaped */
	size_t width;
};

struct output output_begin(const struct column *columns, size_t column_count, bool json)
{
	return (struct output){
	        .stream = stdout,
	        .columns = columns,
	        .column_count = column_count,
	        .form = json                  ? OUTPUT_JSON
	                : terminal_is(stdout) ? OUTPUT_ALIGNED
	                                      : OUTPUT_TABS,
	};
}

/* --- JSON --- */

/* The letter that stands for @c behind a backslash; 0 if there is none. */
static char short_escape(uint32_t c)
{
	static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
	                               ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

	return c < sizeof(letters) ? letters[c] : '\0';
}

/* A byte that is not UTF-8 has a lone surrogate for its character. */
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
	struct slice text = slice_of(escaped);
	struct slice copy = arena_copy(&output->texts, text, &output->failed);

	output->failed |= !escaped || !array_grow(&output->cells, output->count,
	                                          sizeof(*output->cells), &output->room);
	if (!output->failed)
		output->cells[output->count++] =
		        (struct output_cell){copy.ptr, terminal_width(text)};
}

/* Those of the columns that have a heading, and how wide the cells under it are. */
struct aligned {
	const struct column *column;
	size_t width;
};

static size_t find_widths(const struct output *output, struct aligned *aligned)
{
	size_t count = 0;

	for (size_t i = 0; i < output->column_count; i++)
		if (output->columns[i].heading)
			aligned[count++] = (struct aligned){&output->columns[i],
			                                    strlen(output->columns[i].heading)};
	for (size_t i = 0; i < output->count; i++) {
		size_t width = output->cells[i].width;

		if (width > aligned[i % count].width)
			aligned[i % count].width = width;
	}
	return count;
}

static bool is_prose(const struct aligned *aligned)
{
	return aligned->column->style == STYLE_PROSE;
}

/* How wide the row is if no column is wider than @most; prose has lines of its own. */
static size_t width_of_row(const struct aligned *aligned, size_t count, size_t most)
{
	size_t width = 0;

	for (size_t i = 0; i < count; i++)
		if (!is_prose(&aligned[i]))
			width += (aligned[i].width < most ? aligned[i].width : most) + GAP;
	return width;
}

/* Of the columns, those that the terminal has room for; the widest of them are cut. */
static size_t fit(struct aligned *aligned, size_t count, size_t room)
{
	size_t most = room;

	while (count > 1 && (width_of_row(aligned, count, WIDTH_CUT) > room + GAP ||
	                     is_prose(&aligned[count - 1])))
		count--;
	while (most > WIDTH_CUT && width_of_row(aligned, count, most) > room + GAP)
		most--;
	for (size_t i = 0; i < count; i++)
		aligned[i].width = aligned[i].width < most ? aligned[i].width : most;
	return count;
}

/* Of a path, the end says most. */
static void put_cut(FILE *stream, const char *text, enum style style, size_t width, size_t padding)
{
	struct slice all = slice_of(text), part;
	CLEANUP(cleanup_free) char *cut = NULL;
	bool is_path = strchr(text, '/') && !strchr(text, ' ');

	if (is_path)
		for (part = slice_from(all, all.len - (width - 1));
		     part.len > 0 && (part.ptr[0] & 0xC0) == 0x80;)
			part = slice_from(part, 1);
	else
		part = slice_first(all, utf8_cut(all, width - 1));
	cut = text_format("%s%.*s%s", is_path ? ELLIPSIS : "", (int)part.len, part.ptr,
	                  is_path ? "" : ELLIPSIS);
	terminal_put(stream, style, cut ? cut : "");
	if (padding)
		fprintf(stream, "%*s", (int)(width - 1 - terminal_width(part) + padding), "");
}

static void put_aligned(FILE *stream, struct output_cell cell, enum style style, size_t width,
                        bool is_last)
{
	if (cell.width > width) {
		put_cut(stream, cell.text, style, width, is_last ? 0 : GAP);
	} else {
		terminal_put(stream, style, cell.text);
		if (!is_last)
			fprintf(stream, "%*s", (int)(width - cell.width) + GAP, "");
	}
	if (is_last)
		putc('\n', stream);
}

static void put_row(FILE *stream, const struct output_cell *cells, const struct aligned *aligned,
                    size_t count, size_t shown, size_t room)
{
	for (size_t i = 0; i < shown; i++)
		if (!is_prose(&aligned[i]))
			put_aligned(stream, cells[i], aligned[i].column->style, aligned[i].width,
			            i + 1 == shown);
	for (size_t i = 0; i < count; i++)
		if (is_prose(&aligned[i]))
			terminal_put_words(stream, cells[i].text, GAP, room);
}

static void print_aligned(struct output *output)
{
	CLEANUP(cleanup_free)
	struct aligned *aligned = calloc(output->column_count, sizeof(*aligned));
	size_t count, shown, room = terminal_columns(output->stream);

	output->failed |= !aligned;
	if (output->failed || output->count == 0)
		return;
	count = find_widths(output, aligned);
	shown = fit(aligned, count, room);
	for (size_t i = 0; i < shown; i++) {
		const char *heading = aligned[i].column->heading;

		if (!is_prose(&aligned[i]))
			put_aligned(output->stream, (struct output_cell){heading, strlen(heading)},
			            STYLE_HEADING, aligned[i].width, i + 1 == shown);
	}
	for (size_t i = 0; i < output->count; i += count)
		put_row(output->stream, &output->cells[i], aligned, count, shown, room);
}

/* --- cells --- */

/* What comes before the cell; NULL: its column is not shown. */
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
	if (output->form != OUTPUT_ALIGNED)
		fputs(output->form == OUTPUT_JSON ? "}\n" : "\n", output->stream);
	output->at = output->shown = 0;
}

void output_text(struct output *output, struct slice text)
{
	const struct column *column = begin_cell(output);

	if (column && output->form == OUTPUT_ALIGNED)
		keep(output, text);
	else if (column && output->form == OUTPUT_TABS)
		terminal_put_escaped(output->stream, column->style, text);
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
	arena_free(&output->texts);
	*output = (struct output){0};
	return failed ? error_nomem(error) : 0;
}

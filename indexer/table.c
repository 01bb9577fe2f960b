/*
 * table.c - see table.h. A row for programs is written at once; an aligned table is
 * kept until its end, when the widths are known.
 */
#include "indexer/table.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/escape.h"

#define WIDTH_MAX 48 /* columns; what is wider pushes its own row aside, not all the others */
#define GAP       2  /* columns between two cells */

struct table table_begin(const struct table_column *columns, size_t column_count)
{
	return (struct table){
	        .columns = columns,
	        .column_count = column_count,
	        .aligned = terminal_is(stdout),
	};
}

static void keep(struct table *table, struct slice raw)
{
	CLEANUP(cleanup_free) char *escaped = escape_text(raw);
	struct slice text = slice_of(escaped);
	struct slice copy = arena_copy(&table->texts, text, &table->failed);

	if (!escaped || table->failed ||
	    !array_grow(&table->cells, table->count, sizeof(*table->cells), &table->room)) {
		table->failed = true;
		return;
	}
	table->cells[table->count++] = (struct table_cell){copy.ptr, terminal_width(text)};
}

static void write_cell(struct table *table, struct slice text)
{
	size_t column = table->count++ % table->column_count;

	terminal_put_escaped(stdout, table->columns[column].style, text);
	putchar(column + 1 < table->column_count ? '\t' : '\n');
}

void table_cell(struct table *table, struct slice text)
{
	if (table->aligned)
		keep(table, text);
	else
		write_cell(table, text);
}

/* --- aligned --- */

static void find_widths(const struct table *table, size_t *widths)
{
	for (size_t i = 0; i < table->column_count; i++)
		widths[i] = strlen(table->columns[i].heading);
	for (size_t i = 0; i < table->count; i++) {
		size_t *width = &widths[i % table->column_count];

		if (table->cells[i].width > *width && table->cells[i].width <= WIDTH_MAX)
			*width = table->cells[i].width;
	}
}

/* Nothing is put behind the last cell of a row. */
static void put_aligned(const struct table *table, size_t column, const size_t *widths,
                        enum style style, struct table_cell cell)
{
	size_t padding = widths[column] > cell.width ? widths[column] - cell.width : 0;

	terminal_put(stdout, style, cell.text);
	if (column + 1 < table->column_count)
		printf("%*s", (int)padding + GAP, "");
	else
		putchar('\n');
}

static void print_aligned(struct table *table)
{
	CLEANUP(cleanup_free) size_t *widths = calloc(table->column_count, sizeof(*widths));

	if (!widths) {
		table->failed = true;
		return;
	}
	find_widths(table, widths);
	for (size_t i = 0; i < table->column_count && table->count > 0; i++) {
		const char *heading = table->columns[i].heading;

		put_aligned(table, i, widths, STYLE_HEADING,
		            (struct table_cell){heading, strlen(heading)});
	}
	for (size_t i = 0; i < table->count; i++) {
		size_t column = i % table->column_count;

		put_aligned(table, column, widths, table->columns[column].style, table->cells[i]);
	}
}

int table_end(struct table *table, struct error *error)
{
	bool failed;

	if (table->aligned && !table->failed)
		print_aligned(table);
	failed = table->failed;
	free(table->cells);
	arena_free(&table->texts);
	*table = (struct table){0};
	return failed ? error_nomem(error) : 0;
}

/*
 * Draws a bar on the terminal while long work goes on.
 */
#include "indexer/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/escape.h"
#include "db/base/unicode.h"
#include "indexer/command.h"

#define SHOW_AFTER 300 /* milliseconds; shorter work shows nothing */
#define SHOW_EVERY 100 /* milliseconds between two drawings */
#define BAR_WIDTH  24  /* columns */

struct progress progress_begin(const char *what, bool quiet)
{
	return (struct progress){
	        .what = what,
	        .enabled = !quiet && isatty(STDERR_FILENO),
	        .began = milliseconds_now(),
	};
}

/* The part of the escaped name that there is room for, cut before a character of UTF-8. */
static void put_name(const char *name, int room)
{
	CLEANUP(cleanup_free) char *text = escape_text(slice_of(name));
	size_t len = text ? utf8_cut(slice_of(text), (size_t)room) : 0;

	fprintf(stderr, " %.*s", (int)len, len > 0 ? text : "");
}

static void draw(const struct progress *progress, const char *name, size_t done, size_t total)
{
	int filled = total ? (int)((double)done / (double)total * BAR_WIDTH) : 0;
	int room = (int)terminal_columns(stderr) - BAR_WIDTH - 36;

	fprintf(stderr, "\r\033[K%s [", progress->what);
	for (int i = 0; i < BAR_WIDTH; i++)
		putc(i < filled ? '#' : '.', stderr);
	fprintf(stderr, "] %zu/%zu", done, total);
	if (name && room > 0)
		put_name(name, room);
	fflush(stderr);
}

void progress_show(struct progress *progress, const char *name, size_t done, size_t total)
{
	int64_t now = progress->enabled ? milliseconds_now() : 0;

	if (!progress->enabled || now - progress->began < SHOW_AFTER ||
	    (progress->shown && now - progress->last < SHOW_EVERY))
		return;
	draw(progress, name, done, total);
	progress->shown = true;
	progress->last = now;
}

int progress_ask(void *payload, size_t done, size_t total)
{
	if (payload)
		progress_show(payload, NULL, done, total);
	return interrupted();
}

void progress_erase(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}

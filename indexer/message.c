/*
 * Writes escaped lines to stdout and stderr; handles colours, character widths, signals and the
 * progress bar.
 */
#include "indexer/message.h"

#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/escape.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"

/* --- terminals --- */

/* Global, like the streams: messages are written where no options are known. */
static const char *color = "auto";

bool terminal_color(const char *when)
{
	if (!text_has_word("auto always never", slice_of(when)))
		return false;
	color = when;
	return true;
}

/* Cached, since it is called for each cell of a table. */
bool terminal_is(FILE *stream)
{
	static enum { UNKNOWN, NO, YES } known[2];
	bool is_stderr = stream == stderr;

	if (known[is_stderr] == UNKNOWN)
		known[is_stderr] = isatty(fileno(stream)) ? YES : NO;
	return known[is_stderr] == YES;
}

/* https://no-color.org: set and not empty. */
static bool is_colored(FILE *stream)
{
	const char *unwanted = trust_environment("NO_COLOR"), *type = trust_environment("TERM");

	if (strcmp(color, "auto") != 0)
		return strcmp(color, "always") == 0;
	return terminal_is(stream) && !(unwanted && *unwanted) && type && *type &&
	       strcmp(type, "dumb") != 0;
}

void terminal_put(FILE *stream, enum style style, struct slice text, bool is_escaped)
{
	static const char *const codes[STYLE_COUNT] = {
	        [STYLE_HEADING] = "1", [STYLE_NAME] = "1;36", [STYLE_GOOD] = "32",
	        [STYLE_BAD] = "31",    [STYLE_FAINT] = "2",
	};
	const char *code = codes[style % STYLE_WIDE];
	bool is_styled = code && is_colored(stream);

	if (is_styled)
		fprintf(stream, "\033[%sm", code);
	if (is_escaped)
		fwrite(text.ptr, 1, text.len, stream);
	else
		escape_put(text, stream);
	if (is_styled)
		fputs("\033[0m", stream);
}

size_t terminal_columns(FILE *stream)
{
	struct winsize size;

	return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* wcwidth() knows only ASCII in the locale C. */
static size_t width_of(uint32_t c)
{
	static bool is_utf8;
	int width;

	if (!is_utf8)
		setlocale(LC_CTYPE, "C.UTF-8");
	is_utf8 = true;
	width = wcwidth((wchar_t)c);
	return width < 0 ? 1 : (size_t)width;
}

size_t terminal_width(struct slice text)
{
	const char *at = text.ptr, *end = at + text.len;
	size_t width = 0;

	while (at < end) {
		uint32_t c = utf8_next(&at, end);

		width += c < 0x80 ? 1 : width_of(c);
	}
	return width;
}

void terminal_put_words(FILE *stream, const char *text, size_t indent, size_t room)
{
	size_t at = 0;

	for (const char *end; *text; text = end + strspn(end, " ")) {
		struct slice word = slice_between(text, end = strchrnul(text, ' '));
		size_t width = terminal_width(word);

		if (at > 0 && at + 1 + width > room) {
			putc('\n', stream);
			at = 0;
		}
		at += (size_t)fprintf(stream, "%*s", (int)(at ? 1 : indent), "") + width;
		fwrite(word.ptr, 1, word.len, stream);
	}
	putc('\n', stream);
}

/* --- lines --- */

/* Global, like the streams. */
static bool lost_results;

bool results_were_lost(void)
{
	return lost_results;
}

/* Escaped as a whole: arguments are untrusted text, and the format contains nothing to escape. */
static void put_line(FILE *stream, enum style style, const char *format, va_list arguments)
{
	CLEANUP(cleanup_free) char *text = text_format_list(format, arguments);

	lost_results |= !text && stream == stdout;
	terminal_put(stream, style, slice_of(text ? text : "out of memory"), false);
	putc('\n', stream);
}

void print_line(enum style style, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put_line(stdout, style, format, arguments);
	va_end(arguments);
}

void message(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fputs("entrydb: ", stderr);
	va_start(arguments, format);
	put_line(stderr, STYLE_PLAIN, format, arguments);
	va_end(arguments);
}

enum status fail(struct error *error)
{
	message("%s", error_text(error));
	error_clear(error);
	return STATUS_COULD_NOT;
}

int take_error(int code, entrydb_error *from, struct error *to)
{
	if (code >= 0)
		return code;
	error_set(to, code, "%s", entrydb_error_message(from));
	entrydb_error_clear(from);
	return code;
}

/* --- interruption --- */

static volatile sig_atomic_t signal_seen;

static void note_signal(int number)
{
	signal_seen = number;
}

bool interrupted(void)
{
	return signal_seen != 0;
}

void interruption_over(void)
{
	signal_seen = 0;
}

void catch_signals(bool for_good)
{
	struct sigaction action = {
	        .sa_handler = note_signal,
	        .sa_flags = for_good ? 0 : (int)SA_RESETHAND,
	};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGXFSZ, SIG_IGN); /* exceeding the limit is an error like a full disk */
}

/* --- progress --- */

#define SHOW_AFTER     300   /* milliseconds; shorter work shows nothing */
#define ESTIMATE_AFTER 20000 /* milliseconds */
#define SHOW_EVERY     100   /* milliseconds between two drawings */
#define BAR_WIDTH      24    /* columns */

struct progress progress_begin(const char *what, bool quiet)
{
	return (struct progress){
	        .what = what,
	        .enabled = !quiet && terminal_is(stderr),
	        .began = milliseconds_now(),
	};
}

static void draw(const struct progress *progress, const char *name, size_t done, size_t total)
{
	int filled = total ? (int)((double)done / (double)total * BAR_WIDTH) : 0;
	int64_t past = milliseconds_now() - progress->began;
	CLEANUP(cleanup_free) char *text = name ? escape_text(slice_of(name)) : NULL;
	char left[32] = "";
	int room;

	if (past > ESTIMATE_AFTER && done > 0)
		snprintf(left, sizeof(left), ", %lld min left",
		         (long long)(past / (int64_t)done * (int64_t)(total - done) / 60000 + 1));
	room = (int)terminal_columns(stderr) - BAR_WIDTH - 36 - (int)strlen(left);
	fprintf(stderr, "\r\033[K%s [", progress->what);
	for (int i = 0; i < BAR_WIDTH; i++)
		putc(i < filled ? '#' : '.', stderr);
	fprintf(stderr, "] %zu/%zu%s", done, total, left);
	if (text && room > 0)
		fprintf(stderr, " %.*s", (int)utf8_cut(slice_of(text), (size_t)room), text);
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

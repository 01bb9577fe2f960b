/*
 * Writes lines: results to stdout, messages to stderr, escaped, whatever is formatted into them.
 */
#include "indexer/message.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/text.h"

/* --- messages --- */

/* Of the process, as its streams are. */
static bool lost_results;

bool results_were_lost(void)
{
	return lost_results;
}

/* Escaped as a whole: what is formatted into it is text of others, the rest has no such letters. */
static void put_line(FILE *stream, enum style style, const char *format, va_list arguments)
{
	CLEANUP(cleanup_free) char *text = text_format_list(format, arguments);

	lost_results |= !text && stream == stdout;
	terminal_put_escaped(stream, style, slice_of(text ? text : "out of memory"));
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

void catch_signals(bool for_good)
{
	struct sigaction action = {
	        .sa_handler = note_signal,
	        .sa_flags = for_good ? 0 : (int)SA_RESETHAND,
	};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGXFSZ, SIG_IGN); /* a file too large is an error like a full disk */
}

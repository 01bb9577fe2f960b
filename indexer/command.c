/*
 * command.c - what the verbs share; see command.h.
 */
#include "command.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "cleanup.h"
#include "sites.h"

/* --- messages --- */

/* A control character in a file's name must not make two lines of one, or worse. */
static void put_escaped(struct slice text, FILE *stream)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c < ' ' || c == 0x7f)
			fprintf(stream, "\\x%02x", c);
		else
			putc(c, stream);
	}
}

void print_escaped(struct slice text)
{
	put_escaped(text, stdout);
}

static void put_message(const char *format, va_list arguments)
{
	CLEANUP(cleanup_free) char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	fflush(stdout);
	fputs("entrydb: ", stderr);
	put_escaped(text ? slice_of(text) : SLICE("out of memory"), stderr);
	putc('\n', stderr);
}

void message(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put_message(format, arguments);
	va_end(arguments);
}

void note(const struct options *options, const char *format, ...)
{
	va_list arguments;

	if (options->quiet)
		return;
	va_start(arguments, format);
	put_message(format, arguments);
	va_end(arguments);
}

enum status fail(struct error *error)
{
	message("%s", error_text(error));
	error_clear(error);
	return STATUS_COULD_NOT;
}

void report_problems(const entrydb_set *set)
{
	for (size_t i = 0; i < entrydb_set_problem_count(set); i++)
		message("%s", entrydb_set_problem(set, i));
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
}

/* --- handles --- */

int open_handle(const struct options *options, entrydb **out, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	entrydb_options how = ENTRYDB_OPTIONS_INIT;
	entrydb_error own = ENTRYDB_ERROR_INIT;
	const char *version =
	        options->python && options->rules != ENTRYDB_IM_10_1 ? options->python : NULL;
	int code;

	how.rules = options->rules;
	how.fresh = options->fresh;
	how.database = options->database;
	how.root = options->root;
	if (options->path_count > 0) {
		code = entrydb_open(options->path, options->path_count, &how, out, &own);
	} else if (options->database) {
		code = entrydb_open_file(options->database, &how, out, &own);
	} else {
		code = sites_default(&sites, version, options->root);
		if (code == 0)
			code = entrydb_open((const char *const *)sites.paths, sites.count, &how,
			                    out, &own);
	}
	if (code < 0) {
		error_set(error, code, "%s", entrydb_error_message(&own));
		entrydb_error_clear(&own);
	}
	return code;
}

int select_by(const struct options *options, const char *group, const char *name, entrydb **db,
              entrydb_set **set, struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code = open_handle(options, db, error);

	if (code < 0)
		return code;
	code = entrydb_select(*db, group, name, set, &own);
	if (code < 0) {
		error_set(error, code, "%s", entrydb_error_message(&own));
		entrydb_error_clear(&own);
		entrydb_close(*db);
	}
	return code;
}

/*
 * command.c - what the verbs share; see command.h.
 */
#include "indexer/command.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "db/base/cleanup.h"
#include "db/base/escape.h"
#include "db/base/text.h"
#include "libquery/sites.h"

#define LINE_USUAL 4096 /* bytes */

/* --- messages --- */

/* Of the process, as its streams are. */
static bool lost_results;

bool results_were_lost(void)
{
	return lost_results;
}

/*
 * Escaped as a whole: what is formatted into it is text of others, the rest has no such
 * letters. A line of usual length needs no memory.
 */
static void put_line(FILE *stream, enum style style, const char *format, va_list arguments)
{
	CLEANUP(cleanup_free) char *longer = NULL;
	char text[LINE_USUAL];
	va_list again;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(text, sizeof(text), format, arguments);
	if (length >= (int)sizeof(text))
		longer = text_format_list(format, again);
	va_end(again);
	if (length < 0 || (length >= (int)sizeof(text) && !longer)) {
		lost_results |= stream == stdout;
		snprintf(text, sizeof(text), "out of memory");
	}
	terminal_put_escaped(stream, style, slice_of(longer ? longer : text));
	putc('\n', stream);
}

void print_line(enum style style, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put_line(stdout, style, format, arguments);
	va_end(arguments);
}

static void put_message(const char *format, va_list arguments)
{
	fflush(stdout);
	fputs("entrydb: ", stderr);
	put_line(stderr, STYLE_PLAIN, format, arguments);
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

int default_sites(const struct options *options, struct sites *out, struct error *error)
{
	const char *version =
	        options->python && options->rules != ENTRYDB_IM_10_1 ? options->python : NULL;

	return sites_default(out, version, options->sysroot, error);
}

int take_error(int code, entrydb_error *from, struct error *to)
{
	error_set(to, code, "%s", entrydb_error_message(from));
	entrydb_error_clear(from);
	return code;
}

int open_handle(const struct options *options, entrydb **out, struct error *error)
{
	CLEANUP(sites_free) struct sites sites = {0};
	entrydb_options how = ENTRYDB_OPTIONS_INIT;
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code;

	how.rules = options->rules;
	how.fresh = options->fresh;
	how.database = options->database;
	how.sysroot = options->sysroot;
	how.program = options->program;
	if (options->path_count > 0) {
		code = entrydb_open(options->path, options->path_count, &how, out, &own);
	} else if (options->database) {
		code = entrydb_open_file(options->database, &how, out, &own);
	} else {
		code = default_sites(options, &sites, error);
		if (code < 0)
			return code;
		code = entrydb_open((const char *const *)sites.paths, sites.count, &how, out, &own);
	}
	return code < 0 ? take_error(code, &own, error) : 0;
}

int find_target(entrydb *db, const entrydb_entry_point *entry_point, entrydb_target **target,
                struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code;

	*target = NULL;
	code = entrydb_resolve(db, entry_point, target, &own);
	code = error_is_failure(code) ? take_error(code, &own, error) : 0;
	entrydb_error_clear(&own);
	return code;
}

int select_by(const struct options *options, const char *group, const char *name, entrydb **db,
              entrydb_set **set, struct error *error)
{
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int code = open_handle(options, db, error);

	if (code < 0)
		return code;
	code = options->allowed ? entrydb_select_allowed(*db, group, name, set, &own)
	                        : entrydb_select(*db, group, name, set, &own);
	if (code < 0) {
		take_error(code, &own, error);
		entrydb_close(*db);
	}
	return code;
}

int load_kinds(const struct options *options, struct plugin_kinds **out, struct error *error)
{
	struct error problem = {0};
	int code = site_kinds_load(options->sysroot, out, &problem, error);

	if (problem.code)
		message("%s; the kinds of plugins in it are not looked for", error_text(&problem));
	error_clear(&problem);
	return code;
}

/*
 * run.c - runs a console script found in the database, like the script that an installer writes.
 *
 * The interpreter of its environment replaces this process, so that arguments, signals and the exit
 * status are the script's own.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/interpreter.h"
#include "indexer/verb.h"

/* The program for the interpreter; further arguments are the script's name and its arguments. */
static const char launcher[] = INTERPRETER_BEGIN "del sys.argv[:4]\n"
                                                 "__import__(module)\n"
                                                 "function = sys.modules[module]\n"
                                                 "for part in attribute.split('.'):\n"
                                                 "    function = getattr(function, part)\n"
                                                 "sys.exit(function())\n";

enum { LAUNCHER_WORDS = 7 }; /* the interpreter, -c, the launcher, and its four arguments */

/* Does not return on success. */
static int start(const struct options *options, const entrydb_entry_point *e,
                 const char *interpreter, struct error *error)
{
	size_t count = options->argument_count - 1;
	CLEANUP(cleanup_free)
	const char **words = calloc(LAUNCHER_WORDS + count + 1, sizeof(*words));
	/* The path of the installed script beside the interpreter, existing or not. */
	CLEANUP(cleanup_free)
	char *script = text_format("%.*s/%s", (int)(strrchr(interpreter, '/') - interpreter),
	                           interpreter, entrydb_entry_point_name(e));

	if (!words || !script)
		return error_nomem(error);
	words[0] = interpreter;
	words[1] = "-c";
	words[2] = launcher;
	words[3] = entrydb_entry_point_path(e);
	words[4] = entrydb_entry_point_module(e);
	words[5] = entrydb_entry_point_attr(e);
	words[6] = script;
	memcpy(words + LAUNCHER_WORDS, options->arguments + 1, count * sizeof(*words));
	interpreter_execute(words);
	return error_errno(error, errno, "cannot run %s", interpreter);
}

static int print(const entrydb_entry_point *e, const char *interpreter, struct error *error)
{
	static const struct column columns[] = {
	        HEADING("RUN BY", STYLE_NAME),
	        {NULL, "FUNCTION", STYLE_PLAIN, FIELD(VALUE)},
	        {NULL, "DISTRIBUTION", STYLE_PLAIN, CELL_PROVIDER},
	        {NULL, "VERSION", STYLE_PLAIN, FIELD(VERSION)},
	};
	struct output output = OUTPUT_BEGIN(columns, false);

	output_string(&output, interpreter);
	entry_put(&output, e, NULL);
	return output_end(&output, error);
}

static int run(const struct options *options, entrydb *db, const entrydb_entry_point *e,
               struct error *error)
{
	CLEANUP(cleanup_free) char *interpreter = NULL;
	entrydb_verdict *verdict;
	int code = find_verdict(db, e, &verdict, error);

	if (code < 0)
		return code;
	if (!entrydb_verdict_allowed(verdict))
		code = error_set(error, ERROR_DISABLED, "%s is disabled: %s",
		                 entrydb_entry_point_name(e), entrydb_verdict_reason(verdict));
	entrydb_verdict_free(verdict);
	if (code == 0 && !entrydb_entry_point_attr(e))
		code = error_set(error, ERROR_INVALID,
		                 "%s = %s of %s does not name a function that can be run",
		                 entrydb_entry_point_name(e), entrydb_entry_point_value(e),
		                 entrydb_entry_point_file(e));
	if (code == 0)
		code = interpreter_find(db, e, &interpreter, error);
	if (code < 0)
		return code;
	return options->print ? print(e, interpreter, error)
	                      : start(options, e, interpreter, error);
}

int command_run(const struct options *options, struct error *error)
{
	const char *group = options->group ? options->group : "console_scripts";
	CLEANUP(question_free) struct question found = {0};
	int code = select_by(options, entrydb_select, group, options->arguments[0], &found, error);

	if (code == 0 && entrydb_set_count(found.set) == 0)
		return say_not_found(options, found.db, group, options->arguments[0]);
	return code < 0 ? code : run(options, found.db, entrydb_set_get(found.set, 0), error);
}

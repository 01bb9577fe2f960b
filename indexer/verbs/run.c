/*
 * run.c - start what an entry point names: a console script, as the script that an
 * installer writes for it would, but found in the database.
 *
 * A Python target is run by the interpreter of its environment, in place of this
 * process, so that arguments, signals and the exit status are the script's own. A native
 * one is loaded through the library and called as main() is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/command.h"
#include "indexer/interpreter.h"
#include "indexer/output.h"
#include "indexer/suggest.h"
#include "indexer/verb.h"

/* What the interpreter is given; more arguments are the name of the script, and its own. */
static const char launcher[] = INTERPRETER_BEGIN "del sys.argv[:4]\n"
                                                 "__import__(module)\n"
                                                 "function = sys.modules[module]\n"
                                                 "for part in attribute.split('.'):\n"
                                                 "    function = getattr(function, part)\n"
                                                 "sys.exit(function())\n";

enum { LAUNCHER_WORDS = 7 }; /* the interpreter, -c, the launcher, and its four arguments */

struct job {
	const struct options *options;
	const entrydb_entry_point *entry_point;
	entrydb_target *target; /* NULL: it is not known */
	char *interpreter;      /* of a Python target */
	char *script;           /* what it takes itself for */
};

static void job_free(struct job *job)
{
	entrydb_target_free(job->target);
	free(job->interpreter);
	free(job->script);
}

static bool is_native(const struct job *job)
{
	return job->target && entrydb_target_kind(job->target) == ENTRYDB_KIND_NATIVE &&
	       entrydb_target_state(job->target) == ENTRYDB_STATE_OK;
}

/* --- starting it --- */

static int run_python(const struct job *job, struct error *error)
{
	size_t count = job->options->argument_count - 1;
	CLEANUP(cleanup_free)
	const char **words = calloc(LAUNCHER_WORDS + count + 1, sizeof(*words));

	if (!words)
		return error_nomem(error);
	words[0] = job->interpreter;
	words[1] = "-c";
	words[2] = launcher;
	words[3] = entrydb_entry_point_path(job->entry_point);
	words[4] = entrydb_entry_point_module(job->entry_point);
	words[5] = entrydb_entry_point_attr(job->entry_point);
	words[6] = job->script;
	memcpy(words + LAUNCHER_WORDS, job->options->arguments + 1, count * sizeof(*words));
	execv(job->interpreter, (char *const *)words);
	return error_errno(error, errno, "cannot run %s", job->interpreter);
}

/* Does not come back when it could be loaded. */
static int run_native(const struct job *job, entrydb *db, struct error *error)
{
	size_t count = job->options->argument_count - 1;
	entrydb_error own = ENTRYDB_ERROR_INIT;
	int (*function)(int, char **);
	char **words = calloc(count + 2, sizeof(*words));
	void *symbol;
	int code;

	if (!words)
		return error_nomem(error);
	words[0] = (char *)entrydb_entry_point_name(job->entry_point);
	memcpy(words + 1, job->options->arguments + 1, count * sizeof(*words));
	code = entrydb_load(db, job->entry_point, &symbol, &own);
	if (code < 0) {
		free(words);
		return take_error(code, &own, error);
	}
	memcpy(&function, &symbol, sizeof(function)); /* ISO C has no cast for this */
	exit(function((int)count + 1, words));
}

static int print_job(const struct job *job, struct error *error)
{
	static const struct column columns[] = {
	        HEADING("RUN BY", STYLE_NAME),
	        HEADING("FUNCTION", STYLE_PLAIN),
	        HEADING("DISTRIBUTION", STYLE_PLAIN),
	        HEADING("VERSION", STYLE_PLAIN),
	};
	struct output output = OUTPUT_BEGIN(columns, false);
	const entrydb_entry_point *e = job->entry_point;
	bool native = is_native(job);

	output_string(&output, native ? entrydb_target_object(job->target) : job->interpreter);
	output_string(&output,
	              native ? entrydb_target_symbol(job->target) : entrydb_entry_point_value(e));
	output_string(&output, provider_of(e));
	output_string(&output, entrydb_entry_point_version(e));
	return output_end(&output, error);
}

/* --- the whole --- */

static int check_allowed(entrydb *db, const entrydb_entry_point *e, struct error *error)
{
	entrydb_verdict *verdict;
	int code = find_verdict(db, e, &verdict, error);

	if (code < 0)
		return code;
	if (!entrydb_verdict_allowed(verdict))
		code = error_set(error, ERROR_DISABLED, "%s is disabled: %s",
		                 entrydb_entry_point_name(e), entrydb_verdict_reason(verdict));
	entrydb_verdict_free(verdict);
	return code;
}

static int prepare(struct job *job, entrydb *db, struct error *error)
{
	const entrydb_entry_point *e = job->entry_point;
	int code = check_allowed(db, e, error);

	if (code == 0)
		code = find_target(db, e, &job->target, error);
	if (code < 0 || is_native(job))
		return code;
	if (!entrydb_entry_point_attr(e))
		return error_set(error, ERROR_INVALID,
		                 "%s = %s of %s names no function that could be run",
		                 entrydb_entry_point_name(e), entrydb_entry_point_value(e),
		                 entrydb_entry_point_file(e));
	code = interpreter_find(db, e, &job->interpreter, error);
	if (code < 0)
		return code;
	/* The script that an installer has put beside the interpreter, or there could be. */
	job->script =
	        text_format("%.*s/%s", (int)(strrchr(job->interpreter, '/') - job->interpreter),
	                    job->interpreter, entrydb_entry_point_name(e));
	return job->script ? 0 : error_nomem(error);
}

static enum status run(const struct options *options, entrydb *db, const entrydb_set *set)
{
	CLEANUP(job_free)
	struct job job = {.options = options, .entry_point = entrydb_set_get(set, 0)};
	struct error error = {0};
	int code = prepare(&job, db, &error);

	if (code == 0 && options->print)
		return print_job(&job, &error) < 0 ? fail(&error) : STATUS_DONE;
	fflush(stdout);
	if (code == 0 && is_native(&job))
		run_native(&job, db, &error);
	else if (code == 0)
		run_python(&job, &error);
	return fail(&error);
}

enum status command_run(const struct options *options)
{
	const char *group = options->group ? options->group : "console_scripts";
	CLEANUP(selection_free) struct selection found = {0};
	struct error error = {0};

	if (select_by(options, group, options->arguments[0], &found, &error) < 0)
		return fail(&error);
	if (entrydb_set_count(found.set) > 0)
		return run(options, found.db, found.set);
	return say_not_found(options, found.db, group, options->arguments[0]);
}

/*
 * main.c - the program: from the command line to the verb that does the work.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/libc.h"
#include "db/base/text.h"
#include "indexer/help.h"
#include "indexer/hook.h"
#include "indexer/options.h"

/* --- the standard streams --- */

/* Results that could not be written are no success. */
static enum status finish_output(enum status status)
{
	if (results_were_lost()) {
		message("out of memory");
		return STATUS_COULD_NOT;
	}
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	message("cannot write the results: %s", errno_text(errno));
	return STATUS_COULD_NOT;
}

/*
 * A standard stream that is closed would lend its number to the next file that is
 * opened, and messages would go into that: have /dev/null stand there, read-only,
 * so that writing still fails.
 */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* --- the command line --- */

/* For the audit trail: the words of the command line. */
static char *join_words(int argc, char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	fputs("entrydb", stream);
	for (int i = 1; i < argc; i++)
		fprintf(stream, " %s", argv[i]);
	return text_close(stream, &text) ? text : NULL;
}

/* Whatever else the line says, a hook is quiet, and looks at each distribution. */
static void obey_hook(struct options *options)
{
	options->quiet = true;
	options->fresh = ENTRYDB_FRESH_EXACT;
}

/* Of what the command line gives, does the verb take it all? */
static enum status check(const struct verb *verb, const struct options *options)
{
	for (unsigned i = 0; i < OPTION_COUNT; i++)
		if (options->given & ~verb->takes & OPTION_BIT(i))
			return usage_error(verb->name, "%s takes no --%s", verb->name,
			                   option_name(i));
	if (options->argument_count < verb->least || options->argument_count > verb->most)
		return usage_error(verb->name, "usage: entrydb %s%s%s", verb->name,
		                   *verb->arguments ? " " : "", verb->arguments);
	return STATUS_DONE;
}

/* Where arguments are paths, --path names one more; options->path has room for them all. */
static void join_paths(struct options *options)
{
	for (size_t i = 0; i < options->argument_count; i++)
		options->path[options->path_count++] = options->arguments[i];
	options->arguments = options->path;
	options->argument_count = options->path_count;
	options->path_count = 0;
}

static enum status run_verb(const struct verb *verb, struct options *options)
{
	enum status status;

	if (verb->paths)
		join_paths(options);
	status = check(verb, options);
	if (status != STATUS_DONE)
		return status;
	if (options->hook)
		obey_hook(options);
	else if (verb->stoppable)
		catch_signals(false);
	return verb->run ? verb->run(options) : help(options);
}

static enum status run(struct options *options)
{
	const struct verb *verb;

	if (options->version) {
		printf("entrydb %s\n", entrydb_version());
		return STATUS_DONE;
	}
	if (options->argument_count == 0 && !options->help)
		return usage_error(NULL, "no command");
	if (options->help)
		return help(options);
	verb = verb_find(options->arguments[0]);
	if (!verb)
		return STATUS_USAGE;
	options->arguments++;
	options->argument_count--;
	return run_verb(verb, options);
}

static enum status run_line(int argc, char **argv, const char *hook)
{
	CLEANUP(cleanup_free) char *command = hook ? hook_command(hook) : join_words(argc, argv);
	CLEANUP(cleanup_free) const char **path = calloc((size_t)argc + 1, sizeof(*path));
	struct options options = {.command = command, .path = path};
	enum status status;

	if (!command || !path) {
		message("out of memory");
		return STATUS_COULD_NOT;
	}
	status = options_parse(argc, argv, verb_ends_options, &options);
	return status == STATUS_DONE ? finish_output(run(&options)) : status;
}

int main(int argc, char **argv)
{
	const char *hook = hook_asked(argc, argv);
	enum status status;

	fill_standard_streams();
	if (hook)
		hook_begin(hook);
	status = run_line(argc, argv, hook);
	return hook ? STATUS_DONE : (int)status;
}

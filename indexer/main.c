/*
 * The entry point of the program: parses the command line and runs the command.
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
#include "db/base/trust.h"
#include "indexer/command.h"
#include "indexer/hook.h"

/* --- the standard streams --- */

/* Failing to write the results is a failure. */
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
 * If a standard stream is closed, the next file opened would get its number, and messages would be
 * written into it: open /dev/null there, read-only, so that writing still fails.
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

/* Quoted so that it can be run again, except for URLs, which may contain a password. */
static char *join_words(int argc, char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	fputs("entrydb", stream);
	for (int i = 1; i < argc; i++) {
		CLEANUP(cleanup_free)
		char *word = strstr(argv[i], "://") ? NULL : text_shell_word(argv[i]);

		fprintf(stream, " %s", word ? word : "?");
	}
	return text_close(stream, &text) ? text : NULL;
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
	status = options_parse(argv, &options);
	return status == STATUS_DONE ? finish_output(commands_run(&options)) : status;
}

int main(int argc, char **argv)
{
	const char *hook = hook_asked(argc, argv);
	enum status status;

	/* libcurl and libpq read it, too. */
	if (trust_is_privileged())
		clearenv();
	fill_standard_streams();
	if (hook)
		hook_begin(hook);
	status = run_line(argc, argv, hook);
	return hook ? STATUS_DONE : (int)status;
}

/*
 * main.c - the program: which verb, which options, what help.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "command.h"
#include "hook.h"

/* A verb: how many arguments it takes, and its lines of help. */
static const struct verb {
	const char *name;
	command_function *run;
	size_t least, most;
	const char *arguments, *summary;
	bool stoppable; /* asks interrupted(), so that it ends cleanly */
} verbs[] = {
        {"update", command_update, 0, SIZE_MAX, "[PATH...]",
         "keep the databases in step with installed trees: site directories, or prefixes\n"
         "      such as a virtual environment; without PATH, those of this machine",
         true},
        {"watch", command_watch, 0, SIZE_MAX, "[PATH...]",
         "do so whenever something changes, until stopped", true},
        {"add", command_add, 1, SIZE_MAX, "ARCHIVE...|DIR...",
         "catalogue archives that are not installed;\n"
         "      --into SITE_DIR: record them as installed there",
         true},
        {"forget", command_forget, 1, SIZE_MAX, "PATH...", "drop a site directory or an archive",
         false},
        {"list", command_list, 0, 2, "[GROUP [NAME]]",
         "entry points, as importlib.metadata would order them", false},
        {"groups", command_groups, 0, 0, "", "each group with its count", false},
        {"why", command_why, 2, 2, "GROUP NAME",
         "who provides it, who is shadowed, fresh or stale, which file and symbol", false},
        {"verify", command_verify, 0, SIZE_MAX, "[PATH...]",
         "compare the database with the disk, hashes included; status 1 on differences", true},
        {"log", command_log, 0, 0, "", "the audit trail", false},
};

#define VERB_COUNT (sizeof(verbs) / sizeof(*verbs))

/* --- the standard streams --- */

/* Results that could not be written are no success. */
static enum status finish_output(enum status status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	message("cannot write the results: %s", strerrordesc_np(errno));
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

/* --- help --- */

static void print_help(FILE *stream)
{
	fputs("usage: entrydb COMMAND [OPTION...] [ARGUMENT...]\n"
	      "\n"
	      "A database of Python entry points, kept when packages are installed.\n"
	      "\n"
	      "Commands:\n",
	      stream);
	for (size_t i = 0; i < VERB_COUNT; i++)
		fprintf(stream, "  %s %s\n      %s\n", verbs[i].name, verbs[i].arguments,
		        verbs[i].summary);
	fputs("\n"
	      "Options:\n"
	      "  --db FILE       use this database\n"
	      "  --path ENTRY    a path entry, as sys.path would hold it (repeatable)\n"
	      "  --root DIR      work on another file-system root\n"
	      "  --python X.Y    follow the rules of this Python (default 3.12);\n"
	      "                  im10: of importlib_metadata 10.1 and later\n"
	      "  --fresh LEVEL   trust, roots or exact: how hard the database is doubted\n"
	      "  --into DIR      add: record as installed in this site directory\n"
	      "  --hook NAME     update: for package managers; says little, always status 0\n"
	      "  --json          one JSON object a line\n"
	      "  --quiet         no progress, no summary\n"
	      "  --help, --version\n"
	      "\n"
	      "Exit status: 0 done or found, 1 not found or differences found, 2 usage,\n"
	      "3 could not. See entrydb(1).\n",
	      stream);
}

static enum status usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
static enum status usage_error(const char *format, ...)
{
	va_list arguments;

	fputs("entrydb: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("; see 'entrydb --help'\n", stderr);
	return STATUS_USAGE;
}

/* --- options --- */

enum option_code {
	OPTION_DB = 256,
	OPTION_PATH,
	OPTION_ROOT,
	OPTION_PYTHON,
	OPTION_FRESH,
	OPTION_INTO,
	OPTION_GROUP,
	OPTION_HOOK,
	OPTION_JSON,
	OPTION_QUIET,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option long_options[] = {
        {"db", required_argument, NULL, OPTION_DB},
        {"path", required_argument, NULL, OPTION_PATH},
        {"root", required_argument, NULL, OPTION_ROOT},
        {"python", required_argument, NULL, OPTION_PYTHON},
        {"fresh", required_argument, NULL, OPTION_FRESH},
        {"into", required_argument, NULL, OPTION_INTO},
        {"group", required_argument, NULL, OPTION_GROUP},
        {"hook", required_argument, NULL, OPTION_HOOK},
        {"json", no_argument, NULL, OPTION_JSON},
        {"quiet", no_argument, NULL, OPTION_QUIET},
        {"help", no_argument, NULL, OPTION_HELP},
        {"version", no_argument, NULL, OPTION_VERSION},
        {0},
};

static enum status set_rules(struct options *options)
{
	options->python = optarg;
	if (entrydb_rules_parse(optarg, &options->rules) < 0)
		return usage_error("--python %s: neither 3.10 or later nor im10", optarg);
	return STATUS_DONE;
}

static enum status set_fresh(struct options *options)
{
	if (entrydb_fresh_parse(optarg, &options->fresh) < 0)
		return usage_error("--fresh %s: not one of trust, roots, exact", optarg);
	return STATUS_DONE;
}

static enum status set_hook(struct options *options)
{
	options->hook = optarg;
	if (!hook_name_is_valid(optarg))
		return usage_error("--hook %s: not a short name of letters, digits and hyphens",
		                   optarg);
	return STATUS_DONE;
}

static enum status set_option(struct options *options, int code)
{
	switch (code) {
	case OPTION_DB:
		options->database = optarg;
		return STATUS_DONE;
	case OPTION_PATH:
		options->path[options->path_count++] = optarg;
		return STATUS_DONE;
	case OPTION_ROOT:
		options->root = optarg;
		return STATUS_DONE;
	case OPTION_PYTHON:
		return set_rules(options);
	case OPTION_FRESH:
		return set_fresh(options);
	case OPTION_INTO:
		options->into = optarg;
		return STATUS_DONE;
	case OPTION_GROUP:
		options->group = optarg;
		return STATUS_DONE;
	case OPTION_HOOK:
		return set_hook(options);
	case OPTION_JSON:
		options->json = true;
		return STATUS_DONE;
	case OPTION_QUIET:
		options->quiet = true;
		return STATUS_DONE;
	case OPTION_HELP:
		print_help(stdout);
		exit((int)finish_output(STATUS_DONE));
	case OPTION_VERSION:
		printf("entrydb %s\n", entrydb_version());
		exit((int)finish_output(STATUS_DONE));
	default:
		return usage_error("the command line cannot be understood");
	}
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

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
	return fclose(stream) == 0 ? text : NULL;
}

/* Whatever else the line says, a hook is quiet, and looks at each distribution. */
static void obey_hook(struct options *options)
{
	options->quiet = true;
	options->fresh = ENTRYDB_FRESH_EXACT;
}

static enum status run(struct options *options)
{
	const struct verb *verb;

	if (options->argument_count == 0)
		return usage_error("no command");
	verb = find_verb(options->arguments[0]);
	if (!verb)
		return usage_error("there is no command '%s'", options->arguments[0]);
	options->arguments++;
	options->argument_count--;
	if (options->argument_count < verb->least || options->argument_count > verb->most)
		return usage_error("usage: entrydb %s %s", verb->name, verb->arguments);
	if (options->hook && verb->run != command_update)
		return usage_error("--hook is for update");
	if (options->hook)
		obey_hook(options);
	else if (verb->stoppable)
		catch_signals(false);
	return finish_output(verb->run(options));
}

static enum status parse(int argc, char **argv, struct options *options)
{
	int code;

	opterr = 0;
	while ((code = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		enum status status =
		        code == '?' ? usage_error("%s: no such option, or it lacks its argument",
		                                  argv[optind - 1])
		                    : set_option(options, code == 'h' ? OPTION_HELP : code);

		if (status != STATUS_DONE)
			return status;
	}
	options->arguments = (const char **)argv + optind;
	options->argument_count = (size_t)(argc - optind);
	return STATUS_DONE;
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
	status = parse(argc, argv, &options);
	return status == STATUS_DONE ? run(&options) : status;
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

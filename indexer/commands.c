/*
 * The table of commands: main() dispatches by it, and --help prints it. The usage string of a
 * command determines its number of arguments.
 */
#include "indexer/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "indexer/sysroot.h"
#include "indexer/verb.h"
#include "libquery/layout.h"

/* The sections of the help. */
enum purpose { KEEPS, ASKS, DECIDES, CHECKS, PURPOSES };

enum {
	STOPPABLE = 1, /* checks interrupted(), and stops cleanly */
	PATHS = 2,     /* its arguments are paths, as are those of --path */
	IMAGES = 4,    /* --root may name an image */
};

struct command {
	const char *name, *usage;
	command_function *run;
	enum purpose purpose;
	const char *takes; /* its options */
	unsigned is;       /* flags as above */
	const char *summary, *description, *examples, *statuses;
};

#define FOUND "0 found, 1 nothing found, 2 usage, 3 failed"
#define DONE  "0 success, 2 usage, 3 failed"

#define COMMON  "color quiet help "
#define KEEPING COMMON "db root "
#define RULING  COMMON "root prefix user distribution program "
#define ASKING  KEEPING "platform path python fresh json "

static command_function help;

/* Descriptions are wrapped when printed; examples are lines. */
/* clang-format off */
static const struct command commands[] = {
	{"update", "[PATH...]", command_update, KEEPS,
		KEEPING "path fresh hook sealed", STOPPABLE | PATHS,
		"bring them up to date",
		"Bring the databases up to date with the installed packages. PATH is a site directory, "
		"or a prefix such as a virtual environment, which stands for all site directories in "
		"it. Without PATH, everything on this machine is updated.",
		"  entrydb update ~/venv\n"
		"  entrydb update --root /mnt/image\n",
		"0 success, 2 usage, 3 failed in part; with --hook always 0"},
	{"add", "[ARCHIVE|DIR...]", command_add, KEEPS,
		COMMON "db json python index all all-versions requirements platform", STOPPABLE,
		"record archives that are not installed",
		"Record the entry points of archives that are not installed: wheels, eggs, source "
		"distributions, packages of conda and of Linux distributions, other zips and tarballs; or "
		"of all those in a directory. They are written to your own database, or to that of --db. "
		"With --index [URL] and names of projects, read a package index, without downloading "
		"whole wheels, into the catalogue that 'entrydb search' uses. Container images (OCI, "
		"docker save) are unpacked for use with --root.",
		"  entrydb add --db wheels.db wheelhouse/\n"
		"  entrydb add --index pytest-cov pytest-xdist\n"
		"  entrydb add app.tar; entrydb list --root app.tar\n",
		"0 success, 2 usage, 3 some archives could not be read"},
	{"forget", "PATH...", command_forget, KEEPS, KEEPING "path platform", PATHS,
		"drop a site directory, an archive or an index",
		"Drop site directories, archives and, by their URLs, package indexes from the database that "
		"contains them, or remove the unpacked copy of an image. The files on disk are not touched; "
		"queries read them directly.",
		"  entrydb forget --db wheels.db wheelhouse/thing-1.0-py3-none-any.whl\n",
		"0 success, 1 a path is in no database, 2 usage, 3 failed"},
	{"list", "[GROUP [NAME]]", command_list, ASKS,
		ASKING "group allowed program", IMAGES,
		"entry points, in importlib.metadata's order",
		"Print entry points, one per line: group, name, value, distribution and version. On a "
		"terminal the columns are aligned and fitted to its width; elsewhere they are separated by "
		"tabs. Control characters are printed as \\xNN or \\uNNNN, a backslash as two.",
		"  entrydb list pytest11 --path ~/venv/lib/python3.12/site-packages\n"
		"  entrydb list --json pytest11\n", FOUND},
	{"search", "[GROUP [NAME]]", command_search, ASKS, COMMON "db json command", 0,
		"search packages that are not installed",
		"Search the package indexes and archives recorded by 'entrydb add' for the entry points "
		"of a group, or for a command, and print package, version, group, name and value.",
		"  entrydb search pytest11\n"
		"  entrydb search --command aws\n", FOUND},
	{"groups", "", command_groups, ASKS, ASKING, IMAGES,
		"all groups, with the number of entry points",
		"Print each group with the number of its entry points, sorted by name.",
		"  entrydb groups\n", FOUND},
	{"status", "", command_status, ASKS, ASKING, IMAGES,
		"which databases, how fresh, since when",
		"Print each path entry that is searched: its state, its number of entry points, whether "
		"Python uses entrydb there (see 'python -m entrydb on'), when and by which command its "
		"database was last changed, and the database. This is what 'entrydb' alone prints.",
		"  entrydb status\n", FOUND},
	{"why", "GROUP NAME", command_why, ASKS, ASKING "program", IMAGES,
		"explain an entry point: provider, shadowing, target",
		"Explain each entry point of that name: the distribution that provides it, the one that "
		"shadows it, its target, its database and whether that is up to date, and the rule that "
		"forbids it. If there is none, print the path entries that were searched.",
		"  entrydb why pytest11 cov\n", FOUND},
	{"plugins", "[KIND [NAME]]", command_plugins, ASKS, ASKING, IMAGES,
		"list native plugins, recognized by exported symbols",
		"Print the shared objects of installed packages that are plugins of other programs, but "
		"have no entry point: JAX's devices (pjrt), database drivers (adbc), extensions "
		"(sqlite, duckdb) and others, to which /etc/entrydb/plugin-kinds.conf may add.",
		"  entrydb plugins --path ~/venv/lib/python3.12/site-packages\n"
		"  entrydb plugins adbc sqlite --json\n", FOUND},
	{"verify", "[PATH...]", command_verify, CHECKS, KEEPING "path json platform", PATHS | IMAGES,
		"compare the database with the disk, including hashes",
		"Compare the database with the disk, without relying on times, and print each difference. "
		"Files whose hash is in a RECORD are hashed. PATH is as for update; with --db and without "
		"PATH, everything in the file is compared.",
		"  entrydb verify ~/venv\n",
		"0 no difference, 1 differences found, 2 usage, 3 could not"},
	{"audit", "[PATH...]", command_audit, CHECKS,
		KEEPING "path json sarif html baseline facts fail-on since rules platform", STOPPABLE | PATHS | IMAGES,
		"check entry points for problems",
		"Check entry points against rules, which detect commands that impersonate others, code "
		"that runs automatically, files that have changed since installation, and misleading "
		"names. The disk is read, nothing is run. PATH is as for verify.",
		"  entrydb audit ~/venv\n"
		"  entrydb audit --json ~/venv > known; entrydb audit --baseline known ~/venv\n"
		"  entrydb audit --since '7 days' ~/venv\n",
		"0 no findings at or above --fail-on, 1 findings, 2 usage, 3 failed"},
	{"push", "URL [PATH...]", command_push, CHECKS, KEEPING, STOPPABLE,
		"send them to a fleet's PostgreSQL",
		"Send the contents of the databases and the findings of audit to a fleet's PostgreSQL "
		"server. Only databases that have changed are sent, each in one transaction. URL is a "
		"libpq connection URL; PATH is as for verify.",
		"  entrydb push postgresql://web1@server/fleet\n",
		"0 everything was sent, 2 usage, 3 failed in part"},
	{"log", "", command_log, CHECKS, KEEPING "path python json", 0,
		"the audit trail",
		"Print the audit trail of the databases, oldest first: time (UTC), action, distribution "
		"with its versions, site directory, the command that recorded the change, and the user.",
		"  entrydb log --path ~/venv/lib/python3.12/site-packages\n",
		"0 found, 1 nothing was recorded, 2 usage, 3 failed"},
	{"run", "NAME [ARG...]", command_run, ASKS,
		COMMON "db path python fresh group print", 0,
		"start a console script",
		"Start the console script NAME, or another entry point of --group, with the arguments "
		"that follow. It is run by the interpreter of its environment, in place of entrydb.",
		"  entrydb run torchrun --nproc-per-node 2 train.py\n"
		"  entrydb run --print torchrun\n",
		"0 printed, 1 not found, 2 usage, 3 failed; else the script's"},
	{"disable", "GROUP[/NAME]", command_disable, DECIDES, RULING, 0,
		"forbid loading it",
		"Write a rule into a policy file that forbids loading the entry point, or all of the "
		"group. The file is the system's (/etc/entrydb/policy.conf), an environment's (--prefix) "
		"or your own (--user), which takes precedence. A GROUP of '*' matches every group.",
		"  entrydb disable --user torch.backends/torch_foo\n"
		"  entrydb disable --prefix ~/venv pytest11 --distribution pytest-slow\n"
		"  entrydb disable vllm.general_plugins --program vllm\n", DONE},
	{"enable", "GROUP[/NAME]", command_enable, DECIDES, RULING "priority", 0,
		"allow loading it again",
		"Remove the rule that 'entrydb disable' with the same arguments wrote. If another rule "
		"still forbids the entry point, such as one of the system or for the whole group, write a "
		"rule that allows it. --priority determines the order of loading.",
		"  entrydb enable --user torch.backends/torch_foo\n"
		"  entrydb enable vllm.general_plugins/good --program vllm\n", DONE},
	{"probe", "GROUP NAME", command_probe, DECIDES,
		COMMON "db path python fresh json program timeout", 0,
		"load it in a child process and report",
		"Load the entry point in a child process and print the outcome: loaded, failed, crashed "
		"or hung. A shared object that crashed or hung is quarantined (see quarantine). Python code "
		"is imported by the interpreter of its environment, and not called.",
		"  entrydb probe jax_plugins xla_cuda12\n"
		"  entrydb probe --timeout 5 torch.backends torch_foo\n",
		"0 loaded, 1 not found, 2 usage, 3 it could not be loaded"},
	{"quarantine", "[ID...]", command_quarantine, DECIDES, COMMON "json clear", 0,
		"list objects that crashed or hung when loaded",
		"List the quarantined shared objects, which crashed or hung when they were loaded by "
		"'entrydb probe', or by a program that uses guarded loading. With --clear, allow loading "
		"those with the given IDs again, or all without an ID.",
		"  entrydb quarantine\n"
		"  entrydb quarantine --clear\n",
		"0 success, 1 an ID is not in quarantine, 2 usage, 3 failed"},
	{"export", "HOST [PATH...]", command_export, KEEPS, COMMON "root", STOPPABLE | PATHS,
		"write plugin manifests for adbc or opencl",
		"Write the manifests in which HOST looks up its plugins: PREFIX/etc/adbc/drivers/NAME.toml "
		"(adbc), or PREFIX/etc/OpenCL/vendors/NAME.icd (opencl). Updates and hooks then keep them "
		"up to date. Files not written by entrydb are not changed. PATH is as for update; the "
		"default is the environment that 'entrydb list' uses.",
		"  entrydb export adbc ~/venv\n",
		"0 success, 2 usage, 3 failed in part"},
	{"help", "[COMMAND]", help, CHECKS, COMMON, 0,
		"explain a command, its options, examples",
		"Print a summary of all commands or, with COMMAND, what 'entrydb COMMAND --help' prints.",
		"  entrydb help list\n",
		"0 printed, 2 there is no such command"},
};
/* clang-format on */

#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

/* --- look-up --- */

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* The same, with a usage error if there is none. */
static const struct command *find_or_refuse(const char *name)
{
	const struct command *found = find(name);
	struct nearest nearest = nearest_to(slice_of(name));
	CLEANUP(cleanup_free) char *suggestion = NULL;

	if (found)
		return found;
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		nearest_offer(&nearest, slice_of(commands[i].name));
	suggestion = suggest_near("", &nearest);
	usage_error(NULL, "there is no command '%s'%s", name, suggestion ? suggestion : "");
	return NULL;
}

/* --- help --- */

#define WIDTH          79 /* columns */
#define SUMMARY_COLUMN 26 /* start of the summaries */

static void print_help(void)
{
	static const char *const titles[PURPOSES] = {
	        [KEEPS] = "Update the databases",
	        [ASKS] = "Query",
	        [DECIDES] = "Control loading",
	        [CHECKS] = "Check and explain",
	};

	puts("usage: entrydb COMMAND [OPTION...] [ARGUMENT...]\n\n"
	     "A database of Python entry points, updated when packages are installed.");
	for (enum purpose purpose = 0; purpose < PURPOSES; purpose++) {
		printf("\n%s:\n", titles[purpose]);
		for (size_t i = 0; i < COMMAND_COUNT; i++)
			if (commands[i].purpose == purpose) {
				int width = printf("  %s %s", commands[i].name, commands[i].usage);

				printf("%*s%s\n", SUMMARY_COLUMN - width, "", commands[i].summary);
			}
	}
	puts("\nOptions (each command takes some of them):");
	options_print(NULL, NULL);
	puts("\n'entrydb COMMAND --help' explains a command. See also entrydb(1).\n"
	     "Exit status: 0 success, 1 not found or differences, 2 usage, 3 failed.");
}

static int help(const struct options *options, struct error *error)
{
	const struct command *command;

	(void)error;
	if (options->argument_count == 0) {
		print_help();
		return STATUS_DONE;
	}
	command = find_or_refuse(options->arguments[0]);
	if (!command)
		return STATUS_USAGE;
	printf("usage: entrydb %s [OPTION...]%s%s\n\n", command->name, *command->usage ? " " : "",
	       command->usage);
	terminal_put_words(stdout, command->description, 0, WIDTH);
	puts("\nOptions:");
	options_print(command->takes, command->name);
	printf("\nExamples:\n%s\nExit status: %s.\n", command->examples, command->statuses);
	return STATUS_DONE;
}

/* Each word of the usage is an argument; "[" marks an optional one, "..." a repeated one. */
static bool takes_that_many(const char *usage, size_t count)
{
	size_t least = 0, most = 0;

	for (const char *word = usage; *word; word += strcspn(word, " "), word += *word == ' ') {
		least += *word != '[';
		most++;
	}
	return count >= least && (count <= most || strstr(usage, "..."));
}

/* Check options and number of arguments. */
static enum status check(const struct command *command, const struct options *options)
{
	const char *other = options_not_among(options, command->takes);

	if (other)
		return usage_error(command->name, "%s does not accept --%s", command->name, other);
	if (!takes_that_many(command->usage, options->argument_count))
		return usage_error(command->name, "usage: entrydb %s%s%s", command->name,
		                   *command->usage ? " " : "", command->usage);
	return STATUS_DONE;
}

/* Merge --path and the arguments; options->path has room for all. */
static void join_paths(struct options *options)
{
	for (size_t i = 0; i < options->argument_count; i++)
		options->path[options->path_count++] = options->arguments[i];
	options->arguments = options->path;
	options->argument_count = options->path_count;
	options->path_count = 0;
}

/* --- dispatch --- */

/*
 * Make --db absolute, as its readers do: the paths of roots are relative to its name. A link at
 * that name is not followed. *out: malloc'd, or NULL if its directory does not exist.
 */
static int name_database(struct options *options, char **out, struct error *error)
{
	const char *given = options->database, *name = path_base(slice_of(given)).ptr;
	CLEANUP(cleanup_free) char *directory = NULL;
	CLEANUP(cleanup_free) char *absolute = NULL;

	if (!given || !*name)
		return 0;
	directory = path_parent(given);
	absolute = directory ? layout_absolute(directory) : NULL;
	if (!absolute)
		return errno_is_failure(errno) ? error_errno(error, errno, "%s", given) : 0;
	*out = text_format("%s/%s", strcmp(absolute, "/") == 0 ? "" : absolute, name);
	options->database = *out;
	return *out ? 0 : error_nomem(error);
}

/* --root names a directory, or an image, which only some commands accept. */
static int enter(const struct command *command, struct options *options, struct error *error)
{
	if (!image_is_named(options->sysroot))
		return sysroot_enter(&options->sysroot, error);
	if (!(command->is & IMAGES))
		return usage_error(command->name, "%s does not accept an image as --root",
		                   command->name);
	return image_enter(options, command->run == command_verify, error);
}

static enum status run(const struct command *command, struct options *options)
{
	CLEANUP(cleanup_free) char *database = NULL;
	struct error error = {0};
	int code;

	if (command->is & PATHS)
		join_paths(options);
	options->verb = command->name;
	code = check(command, options);
	if (code == STATUS_DONE)
		code = name_database(options, &database, &error);
	if (code == STATUS_DONE && options->sysroot)
		code = enter(command, options, &error);
	if (options->hook) { /* overrides other options */
		options->quiet = true;
		options->fresh = ENTRYDB_FRESH_EXACT;
	} else if (command->is & STOPPABLE) {
		catch_signals(false);
	}
	if (code == STATUS_DONE)
		code = command->run(options, &error);
	if (code == ERROR_CHANGED && command->run == command_verify) {
		fail(&error);
		return STATUS_NOT_FOUND;
	}
	return code < 0 ? fail(&error) : code;
}

enum status commands_run(struct options *options)
{
	const struct command *command;

	if (options->version) {
		printf("entrydb %s\n", entrydb_version());
		return STATUS_DONE;
	}
	if (options->help)
		return help(options, NULL);
	if (options->argument_count == 0) {
		enum status status = run(find("status"), options);

		if (terminal_is(stdout))
			note(options, "'entrydb help' lists the commands");
		return status;
	}
	command = find_or_refuse(options->arguments[0]);
	options->arguments++;
	options->argument_count--;
	return command ? run(command, options) : STATUS_USAGE;
}

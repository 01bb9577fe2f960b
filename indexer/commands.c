/*
 * The commands of the program: one table, from which main() takes what to run, and --help what to
 * print. The usage string of a command says how many arguments it takes.
 */
#include "indexer/commands.h"

#include <stdint.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "indexer/options.h"
#include "indexer/suggest.h"
#include "indexer/sysroot.h"

/* What a command is for: help groups them so. */
enum purpose { KEEPS, ASKS, DECIDES, CHECKS, PURPOSES };

enum {
	STOPPABLE = 1, /* asks interrupted(), so that it ends cleanly */
	PASSES_ON = 2, /* what follows its first argument is another program's */
	PATHS = 4,     /* its arguments are paths, and so is what --path gives */
};

struct command {
	const char *name, *usage;
	command_function *run; /* NULL: help, which prints this table */
	enum purpose purpose;
	unsigned takes, is; /* options, by OPTION_BIT(); and of what is above */
	const char *summary, *description, *examples;
	const char *statuses; /* NULL: those of most */
};

#define USUAL_STATUSES "0 found, 1 nothing found, 2 usage, 3 could not"

#define BIT(name) OPTION_BIT(OPTION_##name)
#define COMMON    (BIT(COLOR) | BIT(QUIET) | BIT(HELP) | BIT(VERSION))
#define KEEPING   (COMMON | BIT(DB) | BIT(ROOT))
#define RULING    (COMMON | BIT(ROOT) | BIT(PREFIX) | BIT(USER) | BIT(DISTRIBUTION) | BIT(PROGRAM))
#define ASKING    (KEEPING | BIT(PATH) | BIT(PYTHON) | BIT(FRESH) | BIT(JSON))

/* Descriptions and examples are printed as they stand: one literal for each line. */
/* clang-format off */
static const struct command commands[] = {
	{
		.name = "update", .usage = "[PATH...]", .run = command_update, .purpose = KEEPS,
		.takes = KEEPING | BIT(PATH) | BIT(FRESH) | BIT(HOOK) | BIT(SEALED), .is = STOPPABLE | PATHS,
		.summary = "bring them up to date with what is installed",
		.description =
		"Bring the databases up to date with what is installed. PATH is a site directory, or a\n"
		"prefix such as a virtual environment, which stands for all site directories in it.\n"
		"Without PATH, everything on this machine is updated. Only distributions that have\n"
		"changed are read again.",
		.examples =
		"  entrydb update\n"
		"  entrydb update ~/venv\n"
		"  entrydb update --root /mnt/image\n"
		"  entrydb update --sealed /opt/venv\n",
		.statuses = "0 done, 2 usage, 3 could not do all of it; with --hook always 0",
	},
	{
		.name = "add", .usage = "ARCHIVE...|DIR...", .run = command_add, .purpose = KEEPS,
		.takes = COMMON | BIT(DB) | BIT(JSON), .is = STOPPABLE,
		.summary = "catalogue archives that are not installed",
		.description =
		"Record the entry points of archives that are not installed: wheels, eggs, source\n"
		"distributions, conda packages, packages of Linux distributions, and any other zip or\n"
		"tarball with metadata in it. A directory is searched for files with such names. The rows\n"
		"go to your own database, or to the one that --db names.",
		.examples = "  entrydb add --db wheels.db wheelhouse/\n",
		.statuses = "0 done, 2 usage, 3 some archives could not be read",
	},
	{
		.name = "forget", .usage = "PATH...", .run = command_forget, .purpose = KEEPS,
		.takes = KEEPING | BIT(PATH), .is = PATHS,
		.summary = "drop a site directory or an archive",
		.description =
		"Drop site directories or archives from the database that holds them. The files on disk\n"
		"stay, and questions about them are answered by reading them.",
		.examples = "  entrydb forget --db wheels.db wheelhouse/thing-1.0-py3-none-any.whl\n",
		.statuses = "0 done, 1 a path is in no database, 2 usage, 3 could not",
	},
	{
		.name = "list", .usage = "[GROUP [NAME]]", .run = command_list, .purpose = ASKS,
		.takes = ASKING | BIT(GROUP) | BIT(ALLOWED) | BIT(PROGRAM),
		.summary = "entry points, in importlib.metadata's order",
		.description =
		"Print entry points, one per line: group, name, value, distribution and version. GROUP\n"
		"and NAME select some of them. On a terminal the columns are aligned under headings;\n"
		"elsewhere they are separated by tabs. Control characters are printed as \\xNN or \\uNNNN,\n"
		"a backslash as two.",
		.examples =
		"  entrydb list console_scripts\n"
		"  entrydb list pytest11 --path ~/venv/lib/python3.12/site-packages\n"
		"  entrydb list --json pytest11\n",
	},
	{
		.name = "groups", .usage = "", .run = command_groups, .purpose = ASKS,
		.takes = ASKING,
		.summary = "all groups, with the number of entry points",
		.description =
		"Print each group with the number of its entry points, sorted by name.",
		.examples = "  entrydb groups\n",
	},
	{
		.name = "status", .usage = "", .run = command_status, .purpose = ASKS,
		.takes = ASKING,
		.summary = "which databases, how fresh, since when",
		.description =
		"Print each path entry that is searched: its state, whether Python asks entrydb there, when\n"
		"and by which command its database was changed last, and the database. This is what\n"
		"'entrydb' alone prints.",
		.examples = "  entrydb status\n",
	},
	{
		.name = "why", .usage = "GROUP NAME", .run = command_why, .purpose = ASKS,
		.takes = ASKING | BIT(PROGRAM),
		.summary = "who provides it, what shadows it, which file and symbol",
		.description =
		"Explain each entry point of that name: which distribution provides it, from which file,\n"
		"which other distribution shadows it, what it leads to, which database it is known from\n"
		"and how fresh that is, and which rule allows or forbids it. If there is none, the path\n"
		"entries that were searched are printed.",
		.examples = "  entrydb why pytest11 cov\n",
	},
	{
		.name = "plugins", .usage = "[KIND [NAME]]", .run = command_plugins, .purpose = ASKS,
		.takes = ASKING,
		.summary = "native plugins, known by a symbol they export",
		.description =
		"Print the shared objects of installed packages that are plugins of other programs and\n"
		"that no entry point announces: JAX's devices (pjrt), execution providers (onnxruntime),\n"
		"database drivers (adbc), extensions (sqlite, duckdb) and others. They are recognized by\n"
		"the symbols that they export; /etc/entrydb/plugin-kinds.conf may add kinds.",
		.examples =
		"  entrydb plugins --path ~/venv/lib/python3.12/site-packages\n"
		"  entrydb plugins adbc sqlite --json\n",
	},
	{
		.name = "verify", .usage = "[PATH...]", .run = command_verify, .purpose = CHECKS,
		.takes = KEEPING | BIT(PATH) | BIT(JSON), .is = PATHS,
		.summary = "compare the database with the disk, hashes included",
		.description =
		"Compare the database with the disk, without relying on times, and print each difference.\n"
		"Files whose hash is in a RECORD are hashed. PATH is as for update; with --db and without\n"
		"PATH, everything in the file is compared.",
		.examples = "  entrydb verify ~/venv\n",
		.statuses = "0 no difference, 1 differences found, 2 usage, 3 could not",
	},
	{
		.name = "audit", .usage = "[PATH...]", .run = command_audit, .purpose = CHECKS,
		.takes = KEEPING | BIT(PATH) | BIT(JSON) | BIT(SARIF) | BIT(BASELINE) | BIT(FACTS) |
			 BIT(FAIL_ON) | BIT(SINCE) | BIT(RULES),
		.is = STOPPABLE | PATHS,
		.summary = "entry points that are not what they should be",
		.description =
		"Judge an environment by rules about entry points: commands that stand in for others,\n"
		"code that runs unasked, files that are not those that were installed, names that are not\n"
		"what they seem. The disk is read, nothing is run. PATH is as for verify. Notes of one\n"
		"kind are combined into one line, unless --json lists them.",
		.examples =
		"  entrydb audit ~/venv\n"
		"  entrydb audit --json ~/venv > known; entrydb audit --baseline known ~/venv\n"
		"  entrydb audit --since '7 days' ~/venv\n"
		"  entrydb audit --rules\n",
		.statuses = "0 nothing at or above --fail-on, 1 something, 2 usage, 3 could not",
	},
	{
		.name = "push", .usage = "URL [PATH...]", .run = command_push, .purpose = CHECKS,
		.takes = KEEPING, .is = STOPPABLE,
		.summary = "send them to a fleet's PostgreSQL",
		.description =
		"Send what the databases have, and what audit finds, to the fleet's database in\n"
		"PostgreSQL. Only databases that have changed since are sent, each in one transaction.\n"
		"URL is one of libpq's; PATH is as for verify.",
		.examples = "  entrydb push postgresql://web1@server/fleet\n",
		.statuses = "0 the server has all, 2 usage, 3 could not send all of it",
	},
	{
		.name = "log", .usage = "", .run = command_log, .purpose = CHECKS,
		.takes = KEEPING | BIT(PATH) | BIT(PYTHON) | BIT(JSON),
		.summary = "the audit trail",
		.description =
		"Print the audit trail of the databases, oldest first: time (UTC), action, distribution\n"
		"with its old and new version, site directory, the command that recorded the change, and\n"
		"the user.",
		.examples = "  entrydb log --path ~/venv/lib/python3.12/site-packages\n",
		.statuses = "0 found, 1 nothing was recorded, 2 usage, 3 could not",
	},
	{
		.name = "run", .usage = "NAME [ARG...]", .run = command_run, .purpose = ASKS,
		.takes = COMMON | BIT(DB) | BIT(PATH) | BIT(PYTHON) | BIT(FRESH) | BIT(GROUP) | BIT(PRINT),
		.is = PASSES_ON,
		.summary = "start a console script",
		.description =
		"Start the console script NAME, or another entry point of --group, with the arguments\n"
		"that follow. Python code is run by the interpreter of its environment, in place of\n"
		"entrydb; a native entry point is loaded and called as main() is.",
		.examples =
		"  entrydb run torchrun --nproc-per-node 2 train.py\n"
		"  entrydb run --print torchrun\n",
		.statuses = "0 printed, 1 there is none, 2 usage, 3 could not; else that of the script",
	},
	{
		.name = "disable", .usage = "GROUP[/NAME]", .run = command_disable, .purpose = DECIDES,
		.takes = RULING,
		.summary = "forbid loading it",
		.description =
		"Write a rule into a policy file: that entry point, or all of the group, is not loaded.\n"
		"The rule is the system's (/etc/entrydb/policy.conf), an environment's (--prefix) or your\n"
		"own (--user), which counts more than those. libentrydb and an accelerated Python follow\n"
		"it; 'entrydb why' names it. A GROUP of '*' is every group.",
		.examples =
		"  entrydb disable --user torch.backends/torch_foo\n"
		"  entrydb disable --prefix ~/venv pytest11 --distribution pytest-slow\n"
		"  entrydb disable vllm.general_plugins --program vllm\n",
		.statuses = "0 done, 2 usage, 3 could not",
	},
	{
		.name = "enable", .usage = "GROUP[/NAME]", .run = command_enable, .purpose = DECIDES,
		.takes = RULING | BIT(PRIORITY),
		.summary = "allow loading it again",
		.description =
		"Take back what 'entrydb disable' with the same arguments has written. If another rule\n"
		"still forbids it, such as one of the system or about the whole group, write a rule that\n"
		"allows it. --priority sets what is loaded first.",
		.examples =
		"  entrydb enable --user torch.backends/torch_foo\n"
		"  entrydb enable vllm.general_plugins/good --program vllm\n",
		.statuses = "0 done, 2 usage, 3 could not",
	},
	{
		.name = "probe", .usage = "GROUP NAME", .run = command_probe, .purpose = DECIDES,
		.takes = COMMON | BIT(DB) | BIT(PATH) | BIT(PYTHON) | BIT(FRESH) | BIT(JSON) | BIT(PROGRAM) |
			 BIT(TIMEOUT),
		.summary = "load it in a child process and report",
		.description =
		"Load the entry point in a child process and print the outcome: loaded, failed, crashed\n"
		"or hung. A shared object that crashed or hung is set aside: no program of yours\n"
		"loads it through libentrydb until it has changed, or is cleared (see quarantine). Python\n"
		"code is imported by the interpreter of its environment, and not called.",
		.examples =
		"  entrydb probe jax_plugins xla_cuda12\n"
		"  entrydb probe --timeout 5 torch.backends torch_foo\n",
		.statuses = "0 loaded, 1 there is none, 2 usage, 3 it could not be loaded",
	},
	{
		.name = "quarantine", .usage = "[ID...]", .run = command_quarantine, .purpose = DECIDES,
		.takes = COMMON | BIT(JSON) | BIT(CLEAR),
		.summary = "what crashed or hung when it was loaded",
		.description =
		"List the shared objects that are set aside since they crashed or hung when they were\n"
		"loaded: by 'entrydb probe', or by a program that asked libentrydb for protection. With\n"
		"--clear, let those with the given IDs be loaded again; without an ID, all.",
		.examples =
		"  entrydb quarantine\n"
		"  entrydb quarantine --clear\n",
		.statuses = "0 done, 1 an ID is not set aside, 2 usage, 3 could not",
	},
	{
		.name = "export", .usage = "HOST [PATH...]", .run = command_export, .purpose = KEEPS,
		.takes = COMMON | BIT(ROOT), .is = STOPPABLE | PATHS,
		.summary = "write the manifests that adbc or opencl look for",
		.description =
		"Write, for the plugins of HOST that are installed, the files in which it looks for them:\n"
		"PREFIX/etc/adbc/drivers/NAME.toml for ADBC's driver manager (adbc), or\n"
		"PREFIX/etc/OpenCL/vendors/NAME.icd for OpenCL (opencl). Updates and hooks then keep them\n"
		"current. What somebody else has written is left alone. PATH is as for update; without it,\n"
		"the environment is the one that 'entrydb list' would ask.",
		.examples =
		"  entrydb export adbc ~/venv\n"
		"  entrydb export opencl\n",
		.statuses = "0 done, 2 usage, 3 could not do all of it",
	},
	{
		.name = "help", .usage = "[COMMAND]", .purpose = CHECKS,
		.takes = COMMON,
		.summary = "what a command does, its options, examples",
		.description =
		"Print a summary of all commands or, with COMMAND, what 'entrydb COMMAND --help' prints.",
		.examples = "  entrydb help list\n",
		.statuses = "0 printed, 2 there is no such command",
	},
};
/* clang-format on */

#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

/* --- looking one up --- */

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* The same; where there is none, a usage error is printed. */
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

bool commands_pass_on(const char *name, size_t count)
{
	const struct command *found = find(name);

	return found && found->is & PASSES_ON && count >= 1;
}

/* --- help --- */

#define SUMMARY_COLUMN 26 /* where the summaries of the commands begin */

static void print_purpose(enum purpose purpose)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].purpose == purpose) {
			int width = printf("  %s %s", commands[i].name, commands[i].usage);

			printf("%*s%s\n", SUMMARY_COLUMN - width, "", commands[i].summary);
		}
}

static void print_help(void)
{
	static const char *const titles[PURPOSES] = {
	        [KEEPS] = "Update the databases",
	        [ASKS] = "Ask questions",
	        [DECIDES] = "Decide what is loaded",
	        [CHECKS] = "Check and explain",
	};

	puts("usage: entrydb COMMAND [OPTION...] [ARGUMENT...]\n\n"
	     "A database of Python entry points, updated when packages are installed.");
	for (enum purpose purpose = 0; purpose < PURPOSES; purpose++) {
		printf("\n%s:\n", titles[purpose]);
		print_purpose(purpose);
	}
	puts("\nOptions (each command takes some of them):");
	options_print(OPTION_ALL);
	puts("\n'entrydb COMMAND --help' explains a command. See also entrydb(1).\n"
	     "Exit status: 0 done or found, 1 not found or differences found, 2 usage, 3 could "
	     "not.");
}

static enum status help(const struct options *options)
{
	const struct command *command;

	if (options->argument_count == 0) {
		print_help();
		return STATUS_DONE;
	}
	command = find_or_refuse(options->arguments[0]);
	if (!command)
		return STATUS_USAGE;
	printf("usage: entrydb %s [OPTION...]%s%s\n\n%s\n\nOptions:\n", command->name,
	       *command->usage ? " " : "", command->usage, command->description);
	options_print(command->takes & ~BIT(VERSION));
	printf("\nExamples:\n%s\nExit status: %s.\n", command->examples,
	       command->statuses ? command->statuses : USUAL_STATUSES);
	return STATUS_DONE;
}

/* --- running one --- */

/* Each word of the usage is an argument; one that begins with "[" is optional, "..." repeats. */
static bool takes_that_many(const char *usage, size_t count)
{
	size_t least = 0, most = 0;

	for (const char *word = usage; *word; word += strcspn(word, " "), word += *word == ' ') {
		least += *word != '[';
		most++;
	}
	return count >= least && (count <= most || strstr(usage, "..."));
}

/* Does the command take all that the line gives? */
static enum status check(const struct command *command, const struct options *options)
{
	for (unsigned i = 0; i < OPTION_COUNT; i++)
		if (options->given & ~command->takes & OPTION_BIT(i))
			return usage_error(command->name, "%s takes no --%s", command->name,
			                   option_name(i));
	if (!takes_that_many(command->usage, options->argument_count))
		return usage_error(command->name, "usage: entrydb %s%s%s", command->name,
		                   *command->usage ? " " : "", command->usage);
	return STATUS_DONE;
}

/* --path names one more; options->path has room for them all. */
static void join_paths(struct options *options)
{
	for (size_t i = 0; i < options->argument_count; i++)
		options->path[options->path_count++] = options->arguments[i];
	options->arguments = options->path;
	options->argument_count = options->path_count;
	options->path_count = 0;
}

static enum status run(const struct command *command, struct options *options)
{
	enum status status;

	if (command->is & PATHS)
		join_paths(options);
	status = check(command, options);
	if (status == STATUS_DONE && options->sysroot)
		status = sysroot_enter(options);
	if (status != STATUS_DONE)
		return status;
	if (options->hook) { /* whatever else the line says */
		options->quiet = true;
		options->fresh = ENTRYDB_FRESH_EXACT;
	} else if (command->is & STOPPABLE) {
		catch_signals(false);
	}
	return command->run ? command->run(options) : help(options);
}

enum status commands_run(struct options *options)
{
	const struct command *command;

	if (options->version) {
		printf("entrydb %s\n", entrydb_version());
		return STATUS_DONE;
	}
	if (options->help)
		return help(options);
	if (options->argument_count == 0)
		return run(find("status"), options);
	command = find_or_refuse(options->arguments[0]);
	options->arguments++;
	options->argument_count--;
	return command ? run(command, options) : STATUS_USAGE;
}

/*
 * verbs.c - see verbs.h.
 */
#include "indexer/verbs.h"

#include <stdint.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "indexer/options.h"
#include "indexer/suggest.h"

#define BIT(name) OPTION_BIT(OPTION_##name)
#define COMMON    (BIT(COLOR) | BIT(QUIET) | BIT(HELP) | BIT(VERSION))
#define KEEPING   (COMMON | BIT(DB) | BIT(ROOT))
#define RULING    (COMMON | BIT(ROOT) | BIT(PREFIX) | BIT(USER) | BIT(DISTRIBUTION) | BIT(PROGRAM))
#define ASKING    (KEEPING | BIT(PATH) | BIT(PYTHON) | BIT(FRESH) | BIT(JSON))

/* Descriptions and examples are printed as they stand: one literal for each line. */
/* clang-format off */
const struct verb verbs[] = {
        {
                .name = "update",
                .run = command_update,
                .purpose = VERB_KEEPS,
                .most = SIZE_MAX,
                .takes = KEEPING | BIT(PATH) | BIT(FRESH) | BIT(HOOK) | BIT(SEALED),
                .stoppable = true,
                .paths = true,
                .arguments = "[PATH...]",
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
                .name = "add",
                .run = command_add,
                .purpose = VERB_KEEPS,
                .least = 1,
                .most = SIZE_MAX,
                .takes = KEEPING | BIT(JSON),
                .stoppable = true,
                .arguments = "ARCHIVE...|DIR...",
                .summary = "catalogue archives that are not installed",
                .description =
                        "Record the entry points of archives that are not installed: wheels, eggs, source\n"
                        "distributions, conda packages, packages of Linux distributions, and any other zip or\n"
                        "tarball with metadata in it. A directory is searched for files with such names. The rows\n"
                        "go to your own database, or to the one that --db names.",
                .examples =
                        "  entrydb add --db wheels.db wheelhouse/\n",
                .statuses = "0 done, 2 usage, 3 some archives could not be read",
        },
        {
                .name = "forget",
                .run = command_forget,
                .purpose = VERB_KEEPS,
                .least = 1,
                .most = SIZE_MAX,
                .takes = KEEPING | BIT(PATH),
                .paths = true,
                .arguments = "PATH...",
                .summary = "drop a site directory or an archive",
                .description =
                        "Drop site directories or archives from the database that holds them. The files on disk\n"
                        "stay, and questions about them are answered by reading them.",
                .examples =
                        "  entrydb forget --db wheels.db wheelhouse/thing-1.0-py3-none-any.whl\n",
                .statuses = "0 done, 1 a path is in no database, 2 usage, 3 could not",
        },
        {
                .name = "list",
                .run = command_list,
                .purpose = VERB_ASKS,
                .most = 2,
                .takes = ASKING | BIT(GROUP) | BIT(ALLOWED) | BIT(PROGRAM),
                .arguments = "[GROUP [NAME]]",
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
                .statuses = "0 found, 1 nothing found, 2 usage, 3 could not",
        },
        {
                .name = "groups",
                .run = command_groups,
                .purpose = VERB_ASKS,
                .takes = ASKING,
                .arguments = "",
                .summary = "all groups, with the number of entry points",
                .description =
                        "Print each group with the number of its entry points, sorted by name.",
                .examples =
                        "  entrydb groups\n",
                .statuses = "0 found, 1 nothing found, 2 usage, 3 could not",
        },
        {
                .name = "why",
                .run = command_why,
                .purpose = VERB_ASKS,
                .least = 2,
                .most = 2,
                .takes = ASKING | BIT(PROGRAM),
                .arguments = "GROUP NAME",
                .summary = "who provides it, what shadows it, which file and symbol",
                .description =
                        "Explain each entry point of that name: which distribution provides it, from which file,\n"
                        "which other distribution shadows it, what it leads to, which database it is known from\n"
                        "and how fresh that is, and which rule allows or forbids it. If there is none, the path\n"
                        "entries that were searched are printed.",
                .examples =
                        "  entrydb why pytest11 cov\n",
                .statuses = "0 found, 1 nothing found, 2 usage, 3 could not",
        },
        {
                .name = "plugins",
                .run = command_plugins,
                .purpose = VERB_ASKS,
                .most = 2,
                .takes = ASKING,
                .arguments = "[KIND [NAME]]",
                .summary = "native plugins, known by a symbol they export",
                .description =
                        "Print the shared objects of installed packages that are plugins of other programs and\n"
                        "that no entry point announces: JAX's devices (pjrt), execution providers (onnxruntime),\n"
                        "database drivers (adbc), extensions (sqlite, duckdb) and others. They are told by the\n"
                        "symbols that they export; /etc/entrydb/plugin-kinds.conf may add kinds.",
                .examples =
                        "  entrydb plugins --path ~/venv/lib/python3.12/site-packages\n"
                        "  entrydb plugins adbc sqlite --json\n",
                .statuses = "0 found, 1 nothing found, 2 usage, 3 could not",
        },
        {
                .name = "verify",
                .run = command_verify,
                .purpose = VERB_CHECKS,
                .most = SIZE_MAX,
                .takes = KEEPING | BIT(PATH) | BIT(JSON),
                .paths = true,
                .arguments = "[PATH...]",
                .summary = "compare the database with the disk, hashes included",
                .description =
                        "Compare the database with the disk, without relying on times, and print each difference.\n"
                        "Files whose hash is in a RECORD are hashed. PATH is as for update; with --db and without\n"
                        "PATH, everything in the file is compared.",
                .examples =
                        "  entrydb verify ~/venv\n",
                .statuses = "0 no difference, 1 differences found, 2 usage, 3 could not",
        },
        {
                .name = "audit",
                .run = command_audit,
                .purpose = VERB_CHECKS,
                .most = SIZE_MAX,
                .takes = KEEPING | BIT(PATH) | BIT(JSON) | BIT(SARIF) | BIT(BASELINE) | BIT(FACTS) |
                         BIT(FAIL_ON) | BIT(SINCE) | BIT(RULES),
                .stoppable = true,
                .paths = true,
                .arguments = "[PATH...]",
                .summary = "entry points that are not what they should be",
                .description =
                        "Judge an environment by rules about entry points: commands that stand in for others,\n"
                        "code that runs unasked, files that are not those that were installed, names that are not\n"
                        "what they seem. The disk is read, nothing is run. PATH is as for verify. Notes of one\n"
                        "kind are told together, unless --json lists them.",
                .examples =
                        "  entrydb audit ~/venv\n"
                        "  entrydb audit --json ~/venv > known; entrydb audit --baseline known ~/venv\n"
                        "  entrydb audit --since '7 days' ~/venv\n"
                        "  entrydb audit --rules\n",
                .statuses = "0 nothing at or above --fail-on, 1 something, 2 usage, 3 could not",
        },
        {
                .name = "push",
                .run = command_push,
                .purpose = VERB_CHECKS,
                .least = 1,
                .most = SIZE_MAX,
                .takes = KEEPING,
                .stoppable = true,
                .arguments = "URL [PATH...]",
                .summary = "send them to a fleet's PostgreSQL",
                .description =
                        "Send what the databases have, and what audit finds, to the fleet's database in\n"
                        "PostgreSQL. Only databases that have changed since are sent, each in one transaction.\n"
                        "URL is one of libpq's; PATH is as for verify.",
                .examples =
                        "  entrydb push postgresql://web1@server/fleet\n",
                .statuses = "0 the server has all, 2 usage, 3 could not send all of it",
        },
        {
                .name = "log",
                .run = command_log,
                .purpose = VERB_CHECKS,
                .takes = KEEPING | BIT(PATH) | BIT(PYTHON) | BIT(JSON),
                .arguments = "",
                .summary = "the audit trail",
                .description =
                        "Print the audit trail of the databases, oldest first: time (UTC), action, distribution\n"
                        "with its old and new version, site directory, the command that recorded the change, and\n"
                        "the user.",
                .examples =
                        "  entrydb log --path ~/venv/lib/python3.12/site-packages\n",
                .statuses = "0 found, 1 nothing was recorded, 2 usage, 3 could not",
        },
        {
                .name = "run",
                .run = command_run,
                .purpose = VERB_ASKS,
                .least = 1,
                .most = SIZE_MAX,
                .takes = COMMON | BIT(DB) | BIT(PATH) | BIT(PYTHON) | BIT(FRESH) | BIT(GROUP) | BIT(PRINT),
                .passes_on = true,
                .arguments = "NAME [ARG...]",
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
                .name = "disable",
                .run = command_disable,
                .purpose = VERB_DECIDES,
                .least = 1,
                .most = 1,
                .takes = RULING,
                .arguments = "GROUP[/NAME]",
                .summary = "let it not be loaded",
                .description =
                        "Write a rule into a policy file: that entry point, or all of the group, is not loaded.\n"
                        "The rule is the system's (/etc/entrydb/policy.conf), an environment's (--prefix) or your\n"
                        "own (--user), which counts more than those. libentrydb and an accelerated Python obey\n"
                        "it; 'entrydb why' names it. A GROUP of '*' is every group.",
                .examples =
                        "  entrydb disable --user torch.backends/torch_foo\n"
                        "  entrydb disable --prefix ~/venv pytest11 --distribution pytest-slow\n"
                        "  entrydb disable vllm.general_plugins --program vllm\n",
                .statuses = "0 done, 2 usage, 3 could not",
        },
        {
                .name = "enable",
                .run = command_enable,
                .purpose = VERB_DECIDES,
                .least = 1,
                .most = 1,
                .takes = RULING | BIT(PRIORITY),
                .arguments = "GROUP[/NAME]",
                .summary = "let it be loaded again",
                .description =
                        "Take back what 'entrydb disable' with the same arguments has written. Where another rule\n"
                        "forbids it all the same, such as one about the whole group or of the system, write one\n"
                        "that allows it. With --priority, say what is loaded first.",
                .examples =
                        "  entrydb enable --user torch.backends/torch_foo\n"
                        "  entrydb enable vllm.general_plugins/good --program vllm\n",
                .statuses = "0 done, 2 usage, 3 could not",
        },
        {
                .name = "probe",
                .run = command_probe,
                .purpose = VERB_DECIDES,
                .least = 2,
                .most = 2,
                .takes = COMMON | BIT(DB) | BIT(PATH) | BIT(PYTHON) | BIT(FRESH) | BIT(JSON) | BIT(PROGRAM) |
                         BIT(TIMEOUT),
                .arguments = "GROUP NAME",
                .summary = "load it in a child process and report",
                .description =
                        "Load the entry point in a child process and print what became of that: loaded, failed,\n"
                        "crashed or hung. A shared object that crashed or hung is set aside: no program of yours\n"
                        "loads it through libentrydb until it has changed, or is cleared (see quarantine). Python\n"
                        "code is imported by the interpreter of its environment, and not called.",
                .examples =
                        "  entrydb probe jax_plugins xla_cuda12\n"
                        "  entrydb probe --timeout 5 torch.backends torch_foo\n",
                .statuses = "0 loaded, 1 there is none, 2 usage, 3 it could not be loaded",
        },
        {
                .name = "quarantine",
                .run = command_quarantine,
                .purpose = VERB_DECIDES,
                .most = SIZE_MAX,
                .takes = COMMON | BIT(JSON) | BIT(CLEAR),
                .arguments = "[ID...]",
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
                .name = "export",
                .run = command_export,
                .purpose = VERB_KEEPS,
                .least = 1,
                .most = SIZE_MAX,
                .takes = COMMON | BIT(ROOT),
                .stoppable = true,
                .paths = true,
                .arguments = "HOST [PATH...]",
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
                .name = "help",
                .purpose = VERB_CHECKS,
                .most = 1,
                .takes = COMMON,
                .arguments = "[COMMAND]",
                .summary = "what a command does, its options, examples",
                .description =
                        "Print a summary of all commands or, with COMMAND, what 'entrydb COMMAND --help' prints.",
                .examples =
                        "  entrydb help list\n",
                .statuses = "0 printed, 2 there is no such command",
        },
};
/* clang-format on */

const size_t verb_count = sizeof(verbs) / sizeof(*verbs);

static void refuse(const char *name)
{
	struct nearest nearest = nearest_to(slice_of(name));
	CLEANUP(cleanup_free) char *suggestion = NULL;

	for (size_t i = 0; i < verb_count; i++)
		nearest_offer(&nearest, slice_of(verbs[i].name));
	suggestion = suggest_near("", &nearest);
	usage_error(NULL, "there is no command '%s'%s", name, suggestion ? suggestion : "");
}

bool verb_ends_options(const char *name, size_t count)
{
	for (size_t i = 0; i < verb_count; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return verbs[i].passes_on && count >= 1;
	return false;
}

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verb_count; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	refuse(name);
	return NULL;
}

/*
 * Reads the options of the command line, and explains them, by one table.
 */
#include "indexer/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/hook.h"
#include "indexer/suggest.h"
#include "indexer/terminal.h"

#define FIRST_CODE 256 /* what getopt_long() gives for the first option: no letter */

enum status usage_error(const char *verb, const char *format, ...)
{
	CLEANUP(cleanup_free) char *what = NULL;
	va_list arguments;

	va_start(arguments, format);
	what = text_format_list(format, arguments);
	va_end(arguments);
	message("%s%s 'entrydb %s%s--help'", what ? what : "the command line is wrong",
	        what && slice_ends(slice_of(what), SLICE("?")) ? " See" : "; see", verb ? verb : "",
	        verb ? " " : "");
	return STATUS_USAGE;
}

/* --- values that are checked --- */

static bool set_path(struct options *options, const char *value)
{
	options->path[options->path_count++] = value;
	return true;
}

static bool set_python(struct options *options, const char *value)
{
	options->python = value;
	return entrydb_rules_parse(value, &options->rules) == 0;
}

static bool set_fresh(struct options *options, const char *value)
{
	return entrydb_fresh_parse(value, &options->fresh) == 0;
}

static bool set_priority(struct options *options, const char *value)
{
	const char *digits = value + (value[0] == '-');

	options->priority = value;
	return *digits && !digits[strspn(digits, "0123456789")];
}

static bool set_timeout(struct options *options, const char *value)
{
	char *end;
	unsigned long seconds = strtoul(value, &end, 10);

	options->timeout = (unsigned)seconds;
	return *end == '\0' && seconds > 0 && seconds <= 86400;
}

static bool set_hook(struct options *options, const char *value)
{
	options->hook = value;
	return hook_name_is_valid(value);
}

static bool set_color(struct options *options, const char *value)
{
	(void)options;
	return terminal_color(value);
}

/* --- the table --- */

/* Where the value goes: a member of struct options, a string or, without argument, true; */
#define TO(member) offsetof(struct options, member), NULL, NULL
/* or through a function, which says whether it is @expected. */
#define BY(set, expected) 0, set, expected

/* clang-format off */
static const struct fact {
	const char *name, *argument; /* NULL: it takes none */
	size_t member;
	bool (*set)(struct options *options, const char *value);
	const char *expected, *help;
} facts[OPTION_COUNT] = {
	[OPTION_DB] = {"db", "FILE", TO(database), "use this database"},
	[OPTION_PATH] = {"path", "ENTRY", BY(set_path, NULL),
		"a path entry, as sys.path would hold it (repeatable)"},
	[OPTION_ROOT] = {"root", "DIR", TO(sysroot), "work on another file-system root, such as an image"},
	[OPTION_PYTHON] = {"python", "X.Y", BY(set_python, "3.10 or later, or im10"),
		"follow the rules of this version (default 3.12);\n"
		"im10: those of importlib_metadata 10.1 and later"},
	[OPTION_FRESH] = {"fresh", "LEVEL", BY(set_fresh, "trust, roots or exact"),
		"how thoroughly freshness is checked: trust, roots\n"
		"(the default) or exact"},
	[OPTION_GROUP] = {"group", "GROUP", TO(group),
		"list: the same as the GROUP argument; run: instead of\n"
		"console_scripts"},
	[OPTION_PREFIX] = {"prefix", "DIR", TO(prefix), "enable, disable: for this environment"},
	[OPTION_USER] = {"user", NULL, TO(user), "enable, disable: for you"},
	[OPTION_DISTRIBUTION] = {"distribution", "NAME", TO(distribution),
		"enable, disable: only what it provides"},
	[OPTION_PROGRAM] = {"program", "NAME", TO(program), "apply the rules for this program"},
	[OPTION_PRIORITY] = {"priority", "NUMBER", BY(set_priority, "a whole number"),
		"enable: higher ones are loaded first (default 0)"},
	[OPTION_ALLOWED] = {"allowed", NULL, TO(allowed), "list: without what policy forbids"},
	[OPTION_PRINT] = {"print", NULL, TO(print), "run: print what would be run"},
	[OPTION_TIMEOUT] = {"timeout", "SECONDS", BY(set_timeout, "seconds, from 1 to 86400"),
		"probe: how long loading may take (default 30)"},
	[OPTION_CLEAR] = {"clear", NULL, TO(clear), "quarantine: let them be loaded again"},
	[OPTION_HOOK] = {"hook", "NAME", BY(set_hook, "a short name of letters, digits and hyphens"),
		"update: run by a package manager; quiet, exits with 0"},
	[OPTION_SEALED] = {"sealed", NULL, TO(sealed),
		"update: without times and events, to be carried in an image"},
	[OPTION_SARIF] = {"sarif", "FILE", TO(sarif), "audit: write SARIF 2.1.0, too; -: standard output"},
	[OPTION_BASELINE] = {"baseline", "FILE", TO(baseline),
		"audit: leave out what is in this JSON of an earlier run"},
	[OPTION_FACTS] = {"facts", "FILE", TO(facts),
		"audit: keep what was found and the rules, for sqlite3"},
	[OPTION_FAIL_ON] = {"fail-on", "LEVEL", TO(fail_on),
		"audit: note, warning (the default), error or none"},
	[OPTION_SINCE] = {"since", "TIME", TO(since), "audit: news, too: since a date, or '7 days'"},
	[OPTION_RULES] = {"rules", NULL, TO(explain), "audit: explain the rules"},
	[OPTION_JSON] = {"json", NULL, TO(json), "one JSON object per line"},
	[OPTION_COLOR] = {"color", "WHEN", BY(set_color, "auto, always or never"),
		"colours: auto (on terminals), always or never"},
	[OPTION_QUIET] = {"quiet", NULL, TO(quiet), "no progress, no summary, no advice"},
	[OPTION_HELP] = {"help", NULL, TO(help), "print help"},
	[OPTION_VERSION] = {"version", NULL, TO(version), "print the version"},
};
/* clang-format on */

const char *option_name(enum option_code code)
{
	return facts[code].name;
}

static enum status set(struct options *options, const struct fact *fact, const char *value)
{
	char *member = (char *)options + fact->member;

	if (fact->set && !fact->set(options, value))
		return usage_error(NULL, "--%s %s: expected %s", fact->name, value, fact->expected);
	if (!fact->set && fact->argument)
		*(const char **)(void *)member = value;
	else if (!fact->set)
		*(bool *)member = true;
	return STATUS_DONE;
}

/* --- help --- */

#define HELP_COLUMN 24 /* where the explanations begin */

void options_print(unsigned set)
{
	for (const struct fact *fact = facts; fact < facts + OPTION_COUNT; fact++) {
		const char *argument = fact->argument ? fact->argument : "";
		int width = 0;

		if (!(set & OPTION_BIT(fact - facts)))
			continue;
		width = printf("  --%s%s%s", fact->name, *argument ? " " : "", argument);
		for (const char *line = fact->help; *line; line += strspn(line, "\n"), width = 0) {
			printf("%*s%.*s\n", HELP_COLUMN - width, "", (int)strcspn(line, "\n"),
			       line);
			line += strcspn(line, "\n");
		}
	}
}

/* --- the command line --- */

static enum status unknown_option(const char *word)
{
	struct slice name = slice_first(slice_of(word), strcspn(word, "="));
	struct nearest nearest = nearest_to(slice_from(name, 2));
	CLEANUP(cleanup_free) char *suggestion = NULL;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		nearest_offer(&nearest, slice_of(facts[i].name));
	suggestion = suggest_near("--", &nearest);
	return usage_error(NULL, "%.*s: no such option%s", (int)name.len, name.ptr,
	                   suggestion ? suggestion : "");
}

/* getopt_long() returned ':' (no argument) or '?'; optopt says for which option. */
static enum status refuse(int code, const char *word)
{
	const struct fact *fact = optopt >= FIRST_CODE ? &facts[optopt - FIRST_CODE] : NULL;

	if (fact && code == ':')
		return usage_error(NULL, "--%s needs an argument, %s", fact->name, fact->argument);
	if (fact)
		return usage_error(NULL, "--%s takes no argument", fact->name);
	if (optopt)
		return usage_error(NULL, "-%c: no such option", optopt);
	return unknown_option(word);
}

static void fill_long_options(struct option long_options[OPTION_COUNT + 1])
{
	for (int i = 0; i < OPTION_COUNT; i++)
		long_options[i] = (struct option){
		        .name = facts[i].name,
		        .has_arg = facts[i].argument ? required_argument : no_argument,
		        .val = FIRST_CODE + i,
		};
	long_options[OPTION_COUNT] = (struct option){0};
}

static enum status parse_options(int argc, char **argv, struct options *options)
{
	struct option long_options[OPTION_COUNT + 1];
	int code;

	fill_long_options(long_options);
	opterr = 0;
	while ((code = getopt_long(argc, argv, "+:h", long_options, NULL)) != -1) {
		int at = code == 'h' ? OPTION_HELP : code - FIRST_CODE;
		enum status status =
		        at < 0 ? refuse(code, argv[optind - 1]) : set(options, &facts[at], optarg);

		if (status != STATUS_DONE)
			return status;
		options->given |= OPTION_BIT(at);
	}
	return STATUS_DONE;
}

/* Did getopt_long() just stop at "--", and not as the argument of an option? */
static bool is_end_of_options(char **argv, int before)
{
	return optind > before && strcmp(argv[optind - 1], "--") == 0 && optarg != argv[optind - 1];
}

enum status options_parse(int argc, char **argv, options_end *ends, struct options *options)
{
	int count = 0;
	bool ended = false;
	enum status status = STATUS_DONE;

	options->arguments = (const char **)argv + 1;
	while (status == STATUS_DONE && optind < argc) {
		int before = optind;

		ended |= count > 0 && ends(argv[1], (size_t)count - 1);
		if (!ended)
			status = parse_options(argc, argv, options);
		ended |= is_end_of_options(argv, before);
		if (status == STATUS_DONE && optind < argc)
			argv[++count] = argv[optind++];
	}
	options->argument_count = (size_t)count;
	return status;
}

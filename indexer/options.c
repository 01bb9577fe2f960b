/*
 * options.c - see options.h.
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

#define TIMEOUT_MAX 86400 /* seconds: a day */
#define FIRST_CODE  256   /* what getopt_long() gives for the first option: no letter */

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

static enum status set_path(struct options *options, const char *value)
{
	options->path[options->path_count++] = value;
	return STATUS_DONE;
}

static enum status set_python(struct options *options, const char *value)
{
	options->python = value;
	if (entrydb_rules_parse(value, &options->rules) < 0)
		return usage_error(NULL, "--python %s: expected 3.10 or later, or im10", value);
	return STATUS_DONE;
}

static enum status set_fresh(struct options *options, const char *value)
{
	if (entrydb_fresh_parse(value, &options->fresh) < 0)
		return usage_error(NULL, "--fresh %s: expected trust, roots or exact", value);
	return STATUS_DONE;
}

static enum status set_priority(struct options *options, const char *value)
{
	size_t sign = value[0] == '-';

	options->priority = value;
	if (value[sign] == '\0' || value[sign + strspn(value + sign, "0123456789")] != '\0')
		return usage_error(NULL, "--priority %s: expected a whole number", value);
	return STATUS_DONE;
}

static enum status set_timeout(struct options *options, const char *value)
{
	char *end;
	unsigned long seconds = strtoul(value, &end, 10);

	options->timeout = (unsigned)seconds;
	if (*end || seconds == 0 || seconds > TIMEOUT_MAX)
		return usage_error(NULL, "--timeout %s: expected seconds, from 1 to %d", value,
		                   TIMEOUT_MAX);
	return STATUS_DONE;
}

static enum status set_hook(struct options *options, const char *value)
{
	options->hook = value;
	if (!hook_name_is_valid(value))
		return usage_error(
		        NULL, "--hook %s: expected a short name of letters, digits and hyphens",
		        value);
	return STATUS_DONE;
}

static enum status set_color(struct options *options, const char *value)
{
	(void)options;
	if (!terminal_color(value))
		return usage_error(NULL, "--color %s: expected auto, always or never", value);
	return STATUS_DONE;
}

/* --- the table --- */

/* @set, or else where in struct options the value goes: a string, or true without argument. */
static const struct fact {
	const char *name, *argument, *help;
	enum status (*set)(struct options *options, const char *value);
	size_t member;
} facts[OPTION_COUNT] = {
        [OPTION_DB] = {"db", "FILE", "use this database", NULL, offsetof(struct options, database)},
        [OPTION_PATH] = {"path", "ENTRY", "a path entry, as sys.path would hold it (repeatable)",
                         set_path, 0},
        [OPTION_ROOT] = {"root", "DIR", "work on another file-system root, such as an image", NULL,
                         offsetof(struct options, sysroot)},
        [OPTION_PYTHON] = {"python", "X.Y",
                           "follow the rules of this version (default 3.12);\n"
                           "im10: those of importlib_metadata 10.1 and later",
                           set_python, 0},
        [OPTION_FRESH] = {"fresh", "LEVEL",
                          "how thoroughly freshness is checked: trust, roots\n"
                          "(the default) or exact",
                          set_fresh, 0},
        [OPTION_GROUP] = {"group", "GROUP",
                          "list: the same as the GROUP argument; run: instead of\n"
                          "console_scripts",
                          NULL, offsetof(struct options, group)},
        [OPTION_PREFIX] = {"prefix", "DIR", "enable, disable: for this environment", NULL,
                           offsetof(struct options, prefix)},
        [OPTION_USER] = {"user", NULL, "enable, disable: for you", NULL,
                         offsetof(struct options, user)},
        [OPTION_DISTRIBUTION] = {"distribution", "NAME", "enable, disable: only what it provides",
                                 NULL, offsetof(struct options, distribution)},
        [OPTION_PROGRAM] = {"program", "NAME", "policy as it is, or is to be, for this program",
                            NULL, offsetof(struct options, program)},
        [OPTION_PRIORITY] = {"priority", "NUMBER",
                             "enable: higher ones are loaded first (default 0)", set_priority, 0},
        [OPTION_ALLOWED] = {"allowed", NULL, "list: without what policy forbids", NULL,
                            offsetof(struct options, allowed)},
        [OPTION_PRINT] = {"print", NULL, "run: print what would be run", NULL,
                          offsetof(struct options, print)},
        [OPTION_TIMEOUT] = {"timeout", "SECONDS", "probe: how long loading may take (default 30)",
                            set_timeout, 0},
        [OPTION_CLEAR] = {"clear", NULL, "quarantine: let them be loaded again", NULL,
                          offsetof(struct options, clear)},
        [OPTION_HOOK] = {"hook", "NAME", "update: run by a package manager; quiet, exits with 0",
                         set_hook, 0},
        [OPTION_SEALED] = {"sealed", NULL,
                           "update: without times and events, to be carried in an image", NULL,
                           offsetof(struct options, sealed)},
        [OPTION_SARIF] = {"sarif", "FILE", "audit: write SARIF 2.1.0, too; -: standard output",
                          NULL, offsetof(struct options, sarif)},
        [OPTION_BASELINE] = {"baseline", "FILE",
                             "audit: leave out what stands in it, JSON of before", NULL,
                             offsetof(struct options, baseline)},
        [OPTION_FACTS] = {"facts", "FILE", "audit: keep what was found and the rules, for sqlite3",
                          NULL, offsetof(struct options, facts)},
        [OPTION_FAIL_ON] = {"fail-on", "LEVEL", "audit: note, warning (the default), error or none",
                            NULL, offsetof(struct options, fail_on)},
        [OPTION_SINCE] = {"since", "TIME", "audit: news, too: since a date, or '7 days'", NULL,
                          offsetof(struct options, since)},
        [OPTION_RULES] = {"rules", NULL, "audit: explain the rules", NULL,
                          offsetof(struct options, explain)},
        [OPTION_JSON] = {"json", NULL, "one JSON object per line", NULL,
                         offsetof(struct options, json)},
        [OPTION_COLOR] = {"color", "WHEN", "colours: auto (on terminals), always or never",
                          set_color, 0},
        [OPTION_QUIET] = {"quiet", NULL, "no progress, no summary, no advice", NULL,
                          offsetof(struct options, quiet)},
        [OPTION_HELP] = {"help", NULL, "print help", NULL, offsetof(struct options, help)},
        [OPTION_VERSION] = {"version", NULL, "print the version", NULL,
                            offsetof(struct options, version)},
};

const char *option_name(enum option_code code)
{
	return facts[code].name;
}

static enum status set(struct options *options, const struct fact *fact, const char *value)
{
	char *member = (char *)options + fact->member;

	if (fact->set)
		return fact->set(options, value);
	if (fact->argument)
		*(const char **)(void *)member = value;
	else
		*(bool *)member = true;
	return STATUS_DONE;
}

/* --- help --- */

#define HELP_COLUMN 24 /* where the explanations begin */

static void print_fact(const struct fact *fact, FILE *stream)
{
	int width = fprintf(stream, "  --%s%s%s", fact->name, fact->argument ? " " : "",
	                    fact->argument ? fact->argument : "");

	for (const char *line = fact->help; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		fprintf(stream, "%*s%.*s\n", HELP_COLUMN - width, "", (int)strcspn(line, "\n"),
		        line);
		width = 0;
	}
}

void options_print(unsigned set, FILE *stream)
{
	for (unsigned i = 0; i < OPTION_COUNT; i++)
		if (set & OPTION_BIT(i))
			print_fact(&facts[i], stream);
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

/* getopt_long() tells by ':' and '?', and by optopt, what it does not like. */
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

/* Did what getopt_long() has just read end with "--", which is no option's argument? */
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

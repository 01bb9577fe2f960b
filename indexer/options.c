/*
 * Parses options and prints their help, from one table.
 */
#include "indexer/command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/hook.h"
#include "indexer/verb.h"

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

/* --- values --- */

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

/* The destination of the value: a member of struct options, a string or, without argument, true; */
#define TO(member) offsetof(struct options, member), NULL, NULL
/* or a function, which returns false unless it is @expected. */
#define BY(set, expected) 0, set, expected

/* clang-format off */
static const struct fact {
	const char *name, *argument; /* NULL: it takes none */
	size_t member;
	bool (*set)(struct options *options, const char *value);
	const char *expected, *help;
} facts[] = {
	{"db", "FILE", TO(database), "use this database"},
	{"path", "ENTRY", BY(set_path, NULL),
		"a path entry, as on sys.path (repeatable)"},
	{"root", "DIR", TO(sysroot), "another root directory, or an image file"},
	{"platform", "OS/ARCH", TO(platform),
		"platform of an image (default: this machine's)"},
	{"python", "X.Y", BY(set_python, "3.10 or later, or im10"),
		"its rules (default 3.12); im10: importlib_metadata"},
	{"fresh", "LEVEL", BY(set_fresh, "trust, roots or exact"),
		"freshness check: trust, roots (the default) or exact"},
	{"group", "GROUP", TO(group), "this group (run: instead of console_scripts)"},
	{"prefix", "DIR", TO(prefix), "enable, disable: for this environment"},
	{"user", NULL, TO(user), "enable, disable: for you"},
	{"distribution", "NAME", TO(distribution), "enable, disable: only entry points of NAME"},
	{"program", "NAME", TO(program), "apply the rules for this program"},
	{"priority", "NUMBER", BY(set_priority, "a whole number"),
		"enable: higher ones are loaded first (default 0)"},
	{"allowed", NULL, TO(allowed), "list: omit entry points that policy forbids"},
	{"print", NULL, TO(print), "run: print what would be run"},
	{"timeout", "SECONDS", BY(set_timeout, "seconds, from 1 to 86400"),
		"probe: time limit for loading (default 30)"},
	{"clear", NULL, TO(clear), "quarantine: allow loading them again"},
	{"hook", "NAME", BY(set_hook, "a short name of letters, digits and hyphens"),
		"update: run by a package manager; quiet, exits with 0"},
	{"sealed", NULL, TO(sealed), "update: without times and events, for images"},
	{"index", NULL, TO(index), "add: read a package index, as configured for pip"},
	{"all", NULL, TO(all), "add --index: all projects of the index"},
	{"all-versions", NULL, TO(all_versions), "add --index: not just the newest version"},
	{"requirements", "FILE", TO(requirements), "add --index: the projects in this file"},
	{"command", "NAME", TO(script), "search: packages with a command of that name"},
	{"sarif", "FILE", TO(sarif), "audit: also write SARIF 2.1.0; -: standard output"},
	{"html", "FILE", TO(html), "audit: also write an HTML page"},
	{"baseline", "FILE", TO(baseline),
		"audit: omit findings in this JSON of an earlier run"},
	{"facts", "FILE", TO(facts), "audit: save facts and rules for sqlite3"},
	{"fail-on", "LEVEL", TO(fail_on), "audit: note, warning (the default), error or none"},
	{"since", "TIME", TO(since), "audit: also report changes since a date, or '7 days'"},
	{"rules", NULL, TO(explain), "audit: explain the rules"},
	{"json", NULL, TO(json), "one JSON object per line"},
	{"color", "WHEN", BY(set_color, "auto, always or never"),
		"colours: auto (on terminals), always or never"},
	{"quiet", NULL, TO(quiet), "no progress, no summary, no advice"},
	{"help", NULL, TO(help), "print help"},
	{"version", NULL, TO(version), "print the version"},
};
/* clang-format on */

#define FACT_COUNT (sizeof(facts) / sizeof(*facts))

const char *options_not_among(const struct options *options, const char *names)
{
	for (size_t i = 0; i < FACT_COUNT; i++)
		if (options->given & (uint64_t)1 << i &&
		    !text_has_word(names, slice_of(facts[i].name)))
			return facts[i].name;
	return NULL;
}

#define HELP_COLUMN 24 /* start of the explanations */

void options_print(const char *names, const char *verb)
{
	for (const struct fact *fact = facts; fact < facts + FACT_COUNT; fact++) {
		const char *argument = fact->argument ? fact->argument : "";
		const char *colon = strstr(fact->help, ": ");
		const char *own = verb ? strstr(fact->help, verb) : NULL;
		const char *help = own && colon && own < colon ? colon + 2 : fact->help;
		int width = 0;

		if (names && !text_has_word(names, slice_of(fact->name)))
			continue;
		width = printf("  --%s%s%s", fact->name, *argument ? " " : "", argument);
		printf("%*s%s\n", HELP_COLUMN - width, "", help);
	}
}

/* --- the command line --- */

#define PASSES_ON "run" /* words after its first argument belong to another program */

static enum status unknown_option(const char *verb, struct slice name)
{
	struct nearest nearest = nearest_to(name);
	CLEANUP(cleanup_free) char *suggestion = NULL;

	for (size_t i = 0; i < FACT_COUNT; i++)
		nearest_offer(&nearest, slice_of(facts[i].name));
	nearest_offer(&nearest, SLICE("format")); /* a common name for --json */
	if (slice_equal(nearest.found, SLICE("format")))
		nearest.found = SLICE("json");
	suggestion = suggest_near("--", &nearest);
	return usage_error(verb, "--%.*s: no such option%s", (int)name.len, name.ptr,
	                   suggestion ? suggestion : "");
}

/* Parse --NAME, --NAME=VALUE, or --NAME VALUE, which advances *at. */
static enum status read_option(const char *verb, char ***at, struct options *options)
{
	const char *word = **at + 2, *equals = strchr(word, '=');
	struct slice name = equals ? slice_between(word, equals) : slice_of(word);
	const struct fact *fact = facts;
	const char *value = equals ? equals + 1 : NULL;

	while (fact < facts + FACT_COUNT && !slice_equal(slice_of(fact->name), name))
		fact++;
	if (fact == facts + FACT_COUNT)
		return unknown_option(verb, name);
	if (value && !fact->argument)
		return usage_error(verb, "--%s takes no argument", fact->name);
	if (fact->argument && !value && !(value = *++*at))
		return usage_error(verb, "--%s needs an argument, %s", fact->name, fact->argument);
	options->given |= (uint64_t)1 << (fact - facts);
	if (fact->set && !fact->set(options, value))
		return usage_error(NULL, "--%s %s: expected %s", fact->name, value, fact->expected);
	if (!fact->set && fact->argument)
		*(const char **)(void *)((char *)options + fact->member) = value;
	else if (!fact->set)
		*(bool *)((char *)options + fact->member) = true;
	return STATUS_DONE;
}

enum status options_parse(char **argv, struct options *options)
{
	enum status status = STATUS_DONE;
	size_t count = 0;
	bool ended = false;

	options->arguments = (const char **)argv + 1;
	for (char **at = argv + (argv[0] != NULL); status == STATUS_DONE && *at; at++) {
		const char *verb = count > 0 ? argv[1] : NULL;
		bool before = ended |= count > 1 && strcmp(verb, PASSES_ON) == 0;

		ended |= strcmp(*at, "--") == 0;
		if (before || (*at)[0] != '-' || !(*at)[1])
			argv[++count] = *at;
		else if (strcmp(*at, "-h") == 0)
			options->help = true;
		else if ((*at)[1] != '-')
			status = usage_error(verb, "%s: no such option", *at);
		else if (!ended)
			status = read_option(verb, &at, options);
	}
	options->argument_count = count;
	return status;
}

/* --- URLs --- */

static void cover(char *from, const char *to)
{
	memset(from, 'x', (size_t)(to - from));
}

char *options_take_url(char *word)
{
	char *url = strdup(word), *user = strstr(word, "//"), *query = strchr(word, '?');
	char *at = user ? strrchr(user, '@') : NULL;
	char *colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;

	if (at) /* a user without a password can be a token */
		cover(colon ? colon + 1 : user + 2, at);
	if (query) /* libpq has many names for secrets, which may be encoded */
		cover(query + 1, query + strlen(query));
	return url;
}

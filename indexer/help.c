/*
 * help.c - see help.h.
 */
#include "indexer/help.h"

#include "indexer/options.h"

#define SUMMARY_COLUMN 26 /* where the summaries of the commands begin */

static void print_purpose(enum verb_purpose purpose, FILE *stream)
{
	for (size_t i = 0; i < verb_count; i++) {
		int width;

		if (verbs[i].purpose != purpose)
			continue;
		width = fprintf(stream, "  %s %s", verbs[i].name, verbs[i].arguments);
		fprintf(stream, "%*s%s\n", SUMMARY_COLUMN - width, "", verbs[i].summary);
	}
}

void help_print(FILE *stream)
{
	static const char *const titles[VERB_PURPOSES] = {
	        [VERB_KEEPS] = "Update the databases",
	        [VERB_ASKS] = "Ask questions",
	        [VERB_DECIDES] = "Decide what is loaded",
	        [VERB_CHECKS] = "Check and explain",
	};

	fputs("usage: entrydb COMMAND [OPTION...] [ARGUMENT...]\n"
	      "\n"
	      "A database of Python entry points, updated when packages are installed.\n",
	      stream);
	for (enum verb_purpose purpose = 0; purpose < VERB_PURPOSES; purpose++) {
		fprintf(stream, "\n%s:\n", titles[purpose]);
		print_purpose(purpose, stream);
	}
	fputs("\nOptions (each command takes some of them):\n", stream);
	options_print(OPTION_ALL, stream);
	fputs("\n"
	      "'entrydb COMMAND --help' explains a command. See also entrydb(1).\n"
	      "Exit status: 0 done or found, 1 not found or differences found, 2 usage, 3 could "
	      "not.\n",
	      stream);
}

void help_print_verb(const struct verb *verb, FILE *stream)
{
	fprintf(stream, "usage: entrydb %s [OPTION...]%s%s\n\n%s\n\nOptions:\n", verb->name,
	        *verb->arguments ? " " : "", verb->arguments, verb->description);
	options_print(verb->takes & ~OPTION_BIT(OPTION_VERSION), stream);
	fprintf(stream, "\nExamples:\n%s\nExit status: %s.\n", verb->examples, verb->statuses);
}

enum status help(const struct options *options)
{
	const struct verb *verb;

	if (options->argument_count == 0) {
		help_print(stdout);
		return STATUS_DONE;
	}
	verb = verb_find(options->arguments[0]);
	if (!verb)
		return STATUS_USAGE;
	help_print_verb(verb, stdout);
	return STATUS_DONE;
}

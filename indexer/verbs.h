/*
 * verbs.h - the commands of the program: one table, from which main() takes what to run
 * and help what to print.
 */
#ifndef INDEXER_VERBS_H
#define INDEXER_VERBS_H

#include "indexer/command.h"

/* What a verb is for, by which help groups them. */
enum verb_purpose { VERB_KEEPS, VERB_ASKS, VERB_DECIDES, VERB_CHECKS, VERB_PURPOSES };

struct verb {
	const char *name;
	command_function *run; /* NULL: help, which prints this table */
	enum verb_purpose purpose;
	size_t least, most; /* how many arguments it takes */
	unsigned takes;     /* which options, as bits; see options.h */
	bool stoppable;     /* asks interrupted(), so that it ends cleanly */
	bool passes_on;     /* what follows its first argument is another program's */
	bool paths;         /* its arguments are paths, and so is what --path gives */
	const char *arguments, *summary, *description, *examples, *statuses;
};

extern const struct verb verbs[];
extern const size_t verb_count;

/* Is what follows the first @count arguments of that verb another program's? */
bool verb_ends_options(const char *name, size_t count);

/* The verb of that name; NULL, and a usage error is printed, if there is none. */
const struct verb *verb_find(const char *name);

#endif

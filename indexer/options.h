/*
 * options.h - the options of the command line: one table, from which it is read and
 * explained.
 */
#ifndef INDEXER_OPTIONS_H
#define INDEXER_OPTIONS_H

#include "indexer/command.h"

enum option_code {
	OPTION_DB,
	OPTION_PATH,
	OPTION_ROOT,
	OPTION_PYTHON,
	OPTION_FRESH,
	OPTION_GROUP,
	OPTION_PREFIX,
	OPTION_USER,
	OPTION_DISTRIBUTION,
	OPTION_PROGRAM,
	OPTION_PRIORITY,
	OPTION_ALLOWED,
	OPTION_PRINT,
	OPTION_TIMEOUT,
	OPTION_CLEAR,
	OPTION_HOOK,
	OPTION_SEALED,
	OPTION_SARIF,
	OPTION_BASELINE,
	OPTION_FACTS,
	OPTION_FAIL_ON,
	OPTION_SINCE,
	OPTION_RULES,
	OPTION_JSON,
	OPTION_COLOR,
	OPTION_QUIET,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_COUNT,
};

/* A set of options has the bit of each. */
#define OPTION_BIT(code) (1u << (code))
#define OPTION_ALL       (OPTION_BIT(OPTION_COUNT) - 1)

/* Is all that follows @count arguments of the verb another program's? */
typedef bool options_end(const char *verb, size_t count);

/*
 * Fill @options from the command line; options->path has room for all its words. Options
 * may stand before and after arguments, up to "--" and to where @ends says so; the arguments
 * move to the front of @argv. Mistakes are reported.
 */
enum status options_parse(char **argv, options_end *ends, struct options *options);

/* Its name, without the hyphens. */
const char *option_name(enum option_code code);

/* Print the lines of help of the options that are in the set. */
void options_print(unsigned set);

/*
 * The command line is wrong: say so, and where to read more: in the help of @verb, or,
 * where that is NULL, in that of the whole program. Returns STATUS_USAGE.
 */
enum status usage_error(const char *verb, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif

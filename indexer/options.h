/*
 * options.h - the options of the command line: one table, from which it is read and
 * explained.
 */
#ifndef INDEXER_OPTIONS_H
#define INDEXER_OPTIONS_H

#include "indexer/command.h"

/* Is all that follows @count arguments of the verb another program's? */
typedef bool options_end(const char *verb, size_t count);

/*
 * Fill @options from the command line; options->path has room for all its words. Options
 * may stand before and after arguments, up to "--" and to where @ends says so; the arguments
 * move to the front of @argv. Mistakes are reported.
 */
enum status options_parse(char **argv, options_end *ends, struct options *options);

/* The name of a given option that is not among @names (spaces between two); NULL: there is none. */
const char *options_not_among(const struct options *options, const char *names);

/* Print the lines of help of those options, or of all where @names is NULL. */
void options_print(const char *names);

/*
 * The command line is wrong: say so, and where to read more: in the help of @verb, or,
 * where that is NULL, in that of the whole program. Returns STATUS_USAGE.
 */
enum status usage_error(const char *verb, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif

/*
 * help.h - what --help prints, of the program and of each command.
 */
#ifndef INDEXER_HELP_H
#define INDEXER_HELP_H

#include <stdio.h>

#include "indexer/verbs.h"

/* Short: the commands, grouped, and all options. */
void help_print(FILE *stream);

/* One command: what it does, its own options, examples, exit statuses. */
void help_print_verb(const struct verb *verb, FILE *stream);

/* Of the program, or of the verb that is the first argument. */
enum status help(const struct options *options);

#endif

/*
 * commands.h - the commands of the program, by their names.
 */
#ifndef INDEXER_COMMANDS_H
#define INDEXER_COMMANDS_H

#include "indexer/command.h"

/* Is what follows the first @count arguments of that command another program's? */
bool commands_pass_on(const char *name, size_t count);

/* Run the command that the first argument names, or print help or the version. */
enum status commands_run(struct options *options);

#endif

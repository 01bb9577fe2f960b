/*
 * interpreter.h - which Python an entry point is for.
 */
#ifndef INDEXER_INTERPRETER_H
#define INDEXER_INTERPRETER_H

#include "indexer/command.h"

/*
 * The interpreter of the environment that it is installed in, PREFIX/bin/pythonX.Y; else
 * that of the first path entry which has one. malloc'd. ERROR_NOTFOUND, ERROR_NOMEM;
 * ERROR_PERMISSION for root, where either is somebody else's.
 */
int interpreter_find(entrydb *db, const entrydb_entry_point *entry_point, char **out,
                     struct error *error);

/*
 * How a program for it begins that is to import an entry point: its arguments are the path
 * entry, the module and the attribute. The current directory, which -c puts before all
 * else, is not searched.
 */
#define INTERPRETER_BEGIN                                                                          \
	"import sys\n"                                                                             \
	"place, module, attribute = sys.argv[1:4]\n"                                               \
	"if sys.path[:1] == ['']:\n"                                                               \
	"    del sys.path[0]\n"                                                                    \
	"if place not in sys.path:\n"                                                              \
	"    sys.path.insert(0, place)\n"

#endif

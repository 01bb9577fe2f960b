/*
 * interpreter.h - the Python of an entry point.
 */
#ifndef INDEXER_INTERPRETER_H
#define INDEXER_INTERPRETER_H

#include "db/base/error.h"
#include "libquery/entrydb.h"

/*
 * The interpreter of its environment, PREFIX/bin/pythonX.Y; else that of the first path entry with
 * one. malloc'd. ERROR_NOTFOUND, ERROR_NOMEM; ERROR_PERMISSION for root if either, or the
 * standard library, belongs to another user.
 */
int interpreter_find(entrydb *db, const entrydb_entry_point *entry_point, char **out,
                     struct error *error);

/*
 * The start of a Python program that imports an entry point: its arguments are the path entry, the
 * module and the attribute. The current directory, which -c puts first, is removed from the path.
 */
#define INTERPRETER_BEGIN                                                                          \
	"import sys\n"                                                                             \
	"place, module, attribute = sys.argv[1:4]\n"                                               \
	"if sys.path[:1] == ['']:\n"                                                               \
	"    del sys.path[0]\n"                                                                    \
	"import os\n"                                                                              \
	"if os.environ.get('" INTERPRETER_SAFE "') == 'entrydb':\n"                                \
	"    del os.environ['" INTERPRETER_SAFE "']\n"                                             \
	"if place not in sys.path:\n"                                                              \
	"    sys.path.insert(0, place)\n"

#define INTERPRETER_SAFE "PYTHONSAFEPATH"

/*
 * Replace this process by the interpreter words[0], with such a program: Python 3.13 imports a
 * module even before it runs that of -c, from the current directory. Returns only on failure.
 */
void interpreter_execute(const char *const words[]);

#endif

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
	"if place not in sys.path:\n"                                                              \
	"    sys.path.insert(0, place)\n"

#endif

/*
 * marshal.h - the names in compiled Python code, read and never run.
 *
 * Names are those of variables, attributes, modules and functions: what the code can get
 * hold of. Python/marshal.c of CPython describes the form.
 */
#ifndef INDEXER_AUDIT_MARSHAL_H
#define INDEXER_AUDIT_MARSHAL_H

#include <stdbool.h>

#include "db/base/slice.h"

#define MARSHAL_MAX ((size_t)1 << 30) /* bytes */

/* False ends the walk. */
typedef bool marshal_name(void *payload, struct slice name);

enum marshal_end {
	MARSHAL_WHOLE,   /* all names were given */
	MARSHAL_STOPPED, /* by @each */
	MARSHAL_BROKEN,  /* Python could not read it, either; or it is longer than MARSHAL_MAX */
	MARSHAL_NOMEM,
};

/* The magic number of a .pyc file that this understands: CPython 3.8 to 3.14. */
bool marshal_is_known(unsigned magic);

/* Call @each for the names in @code, which a CPython of that magic number has written. */
enum marshal_end marshal_walk(struct slice code, unsigned magic, marshal_name *each, void *payload);

#endif

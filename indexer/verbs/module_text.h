/*
 * module_text.h - what the text of a Python module tells, without running it.
 *
 * No parser: strings and comments are skipped, and of the rest it is known on which
 * line a name stands, and whether that line runs when the module is imported.
 */
#ifndef INDEXER_VERBS_MODULE_TEXT_H
#define INDEXER_VERBS_MODULE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "db/base/slice.h"

#define MODULE_TEXT_MAX ((size_t)4 << 20) /* bytes of a module that are looked at */

/* Lines count from 1; 0: there is none. */
struct module_facts {
	size_t imports_host; /* an import of the host that runs when the module is imported */
	size_t has_attr;     /* the first that runs then and has the name of the attribute in it */
	bool may_have_any; /* names may be there that are not in the text: import *, __getattr__ */
};

/* Of a module whose attribute @attr a plugin's @host, a module too, will ask for. */
struct module_facts module_text_read(struct slice text, struct slice host, struct slice attr);

#endif

/*
 * value.h - the grammar of an entry point's value: "module:attr [extras]".
 *
 * Python matches values by a regular expression that is more liberal than the
 * specification, and only when somebody asks for module, attr or extras. So a value
 * that does not match is kept as it is and is not an error of the file that holds it.
 */
#ifndef DB_VALUE_H
#define DB_VALUE_H

#include "db/base/slice.h"

struct value {
	struct slice module;
	struct slice attr;   /* null when there is none */
	struct slice extras; /* from '[' to ']', both included; null when there are none */
};

/*
 * Take @text apart; the parts point into it. False, with @out untouched, when Python's
 * pattern does not match. @text must be valid UTF-8.
 */
bool value_parse(struct slice text, struct value *out);

/*
 * The next name among the extras: a run of \w, wherever it stands. *rest begins as
 * value.extras (null is accepted) and is moved past the name. False when none is left.
 */
bool value_next_extra(struct slice *rest, struct slice *word);

#endif

/*
 * error_export.c - see error_export.h.
 */
#include "libquery/error_export.h"

#include <stdlib.h>

#include "db/base/cleanup.h"

int error_export(int code, struct error *from, entrydb_error *to)
{
	if (to) {
		free(to->message);
		*to = (entrydb_error){code, take(from->message), NULL};
	}
	error_clear(from);
	return code;
}

const char *entrydb_error_message(const entrydb_error *error)
{
	struct error inner = {error->code, error->message};

	return error_text(&inner);
}

void entrydb_error_clear(entrydb_error *error)
{
	if (!error)
		return;
	free(error->message);
	*error = (entrydb_error)ENTRYDB_ERROR_INIT;
}

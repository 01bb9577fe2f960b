/*
 * handle.c - asks the questions of a handle, one at a time.
 */
#include "libquery/handle.h"

#include "libquery/names.h"

int handle_ask(struct entrydb *db, question *ask, void *payload, entrydb_error *error)
{
	struct error own = {0};
	unsigned before;
	int code;

	pthread_mutex_lock(&db->lock);
	sources_retry(&db->sources);
	do {
		before = db->sources.generation;
		code = ask(db, payload, &own);
	} while ((code == ERROR_FORMAT || code == ERROR_IO) && db->sources.generation != before);
	pthread_mutex_unlock(&db->lock);
	return code < 0 ? error_export(code, &own, error) : 0;
}

bool handle_omits_names(const struct entrydb *db)
{
	return db->omit & ENTRYDB_OMIT_METADATA && policy_is_empty(&db->policy);
}

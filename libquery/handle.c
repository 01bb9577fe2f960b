/*
 * handle.c - runs the queries of a handle, one at a time.
 */
#include "libquery/handle.h"

int handle_query(struct entrydb *db, handle_function *run, void *payload, struct error *error)
{
	struct error own = {0};
	unsigned before;
	int code;

	pthread_mutex_lock(&db->lock);
	sources_retry(&db->sources);
	do {
		before = db->sources.generation;
		code = run(db, payload, &own);
	} while ((code == ERROR_FORMAT || code == ERROR_IO) && db->sources.generation != before);
	pthread_mutex_unlock(&db->lock);
	own.code = code;
	return code < 0 ? error_move(error, &own) : 0;
}

bool handle_omits_names(const struct entrydb *db)
{
	return db->omit & ENTRYDB_OMIT_METADATA && policy_is_empty(&db->policy);
}

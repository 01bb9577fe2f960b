/*
 * handle.c - runs the queries of a handle, one at a time.
 */
#include "libquery/handle.h"

void handle_lock(struct entrydb *db)
{
	pthread_mutex_lock(&db->lock);
	if (!db->sysroot)
		return;
	db->outer = file_sysroot();
	file_sysroot_open(db->sysroot, &db->inside);
	file_set_sysroot(&db->inside);
}

void handle_unlock(struct entrydb *db)
{
	if (db->sysroot) {
		file_set_sysroot(db->outer);
		file_sysroot_close(&db->inside);
	}
	pthread_mutex_unlock(&db->lock);
}

int handle_query(struct entrydb *db, handle_function *run, void *payload, struct error *error)
{
	struct error own = {0};
	unsigned before;
	int code;

	handle_lock(db);
	sources_retry(&db->sources);
	do {
		before = db->sources.generation;
		code = run(db, payload, &own);
	} while ((code == ERROR_FORMAT || code == ERROR_IO) && db->sources.generation != before);
	handle_unlock(db);
	own.code = code;
	return code < 0 ? error_move(error, &own) : 0;
}

bool handle_omits_names(const struct entrydb *db)
{
	return db->omit & ENTRYDB_OMIT_METADATA && policy_is_empty(&db->policy);
}

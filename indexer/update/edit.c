/*
 * Opens a database for writing, lets a verb change it, and publishes it.
 */
#include "indexer/update/edit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/hash.h"
#include "db/base/text.h"
#include "db/publish.h"
#include "indexer/hook.h"

/* Identifies the set of roots: two hooks with the same roots do the same work. */
static uint64_t work_id(const struct database *database)
{
	uint64_t pair[2] = {0};

	for (size_t i = 0; i < database->root_count; i++) {
		const char *path = database->roots[i].root_path;

		pair[1] = hash_stable(path, strlen(path));
		pair[0] = hash_numbers(pair, 2);
	}
	return pair[0] | 1;
}

int edit_database(const struct options *options, const struct database *database, edit_work *work,
                  void *payload, struct edit_result *result, struct error *error)
{
	CLEANUP(cleanup_writer) struct writer *writer = NULL;
	/* Not its arguments: paths may be private, URLs may contain a password. */
	CLEANUP(cleanup_free) char *own = text_format("entrydb %s", options->verb);
	bool is_hook = options->hook != NULL;
	struct writer_options how = {
	        .file = database->file,
	        .command = is_hook ? options->command : own,
	        .wait = {.timeout = is_hook ? HOOK_LOCK_TIMEOUT : PUBLISH_LOCK_TIMEOUT,
	                 .work = is_hook ? work_id(database) : 0,
	                 .stopped = interrupted,
	                 .sysroot = database->sysroot},
	        .may_replace = database->may_replace,
	        .sealed = options->sealed,
	};
	struct edit edit = {.options = options, .database = database, .result = result};
	const char *why_rebuilt;
	mode_t now = 0;
	int code = database_check_owner(database, options->command, error);

	if (code == 0)
		code = own ? writer_open(&how, &writer, error) : error_nomem(error);
	if (code != 0)
		return code < 0 ? code : EDIT_NOTHING;
	why_rebuilt = writer_was_rebuilt(writer);
	if (why_rebuilt)
		message("%s; set aside as %s.damaged and rebuilt", why_rebuilt, database->file);
	edit.writer = writer;
	code = database_mode(options, database, writer_reader(writer), &edit.mode, error);
	if (code == 0)
		code = work(&edit, payload, error);
	if (code < 0 && interrupted())
		return error_set(error, ERROR_IO, "interrupted; nothing was changed");
	if (code < 0 || (code == EDIT_NOTHING && !why_rebuilt &&
	                 !reader_must_narrow(writer_reader(writer), edit.mode)))
		return code;
	/* A directory above what was read may have been closed meanwhile. */
	code = database_mode(options, database, writer_reader(writer), &now, error);
	return code < 0 ? code : writer_commit(writer, edit.mode & now, error);
}

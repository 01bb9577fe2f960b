/*
 * edit.c - see edit.h.
 */
#include "indexer/update/edit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/digest.h"
#include "db/publish.h"
#include "indexer/as_owner.h"
#include "indexer/hook.h"

/* Identifies the set of roots: two hooks do the same work if they update the same ones. */
static uint64_t work_id(const struct database *database)
{
	uint64_t pair[2] = {0};

	for (size_t i = 0; i < database->root_count; i++) {
		const char *path = database->roots[i].root_path;

		pair[1] = digest(path, strlen(path));
		pair[0] = digest_numbers(pair, 2);
	}
	return pair[0] | 1;
}

static int open_writer(const struct options *options, const struct database *database,
                       struct writer **out, struct error *error)
{
	bool is_hook = options->hook != NULL;
	struct writer_options how = {
	        .file = database->file,
	        .sysroot = database->sysroot,
	        .command = options->command,
	        .lock_timeout = is_hook ? HOOK_LOCK_TIMEOUT : PUBLISH_LOCK_TIMEOUT,
	        .work = is_hook ? work_id(database) : 0,
	        .stopped = interrupted,
	        .may_replace = database->may_replace,
	        .sealed = options->sealed,
	};

	return writer_open(&how, out, error);
}

static int edit_here(struct edit *edit, edit_work *work, void *payload, struct error *error)
{
	CLEANUP(cleanup_writer) struct writer *writer = NULL;
	const char *why_rebuilt;
	int code = open_writer(edit->options, edit->database, &writer, error);

	if (code != 0)
		return code < 0 ? code : EDIT_NOTHING;
	why_rebuilt = writer_was_rebuilt(writer);
	if (why_rebuilt)
		message("%s; set aside as %s.damaged and rebuilt", why_rebuilt,
		        edit->database->file);
	edit->writer = writer;
	code = database_mode(edit->database, &edit->mode, error);
	if (code == 0)
		code = work(edit, payload, error);
	if (code < 0 && interrupted())
		return error_set(error, ERROR_IO, "interrupted; nothing was changed");
	if (code < 0 || (code == EDIT_NOTHING && !why_rebuilt))
		return code;
	return writer_commit(writer, edit->mode, error);
}

/* --- in somebody else's territory --- */

struct errand {
	struct edit_result result; /* what comes back: see as_owner.h */
	struct edit edit;
	edit_work *work;
	void *payload;
};

static int run_errand(void *payload, struct error *error)
{
	struct errand *errand = payload;

	errand->edit.result = &errand->result;
	return edit_here(&errand->edit, errand->work, errand->payload, error);
}

static int edit_as_owner(struct edit *edit, edit_work *work, void *payload, struct error *error)
{
	struct errand errand = {*edit->result, *edit, work, payload};
	int code = as_owner(edit->database->uid, edit->database->gid, run_errand, &errand,
	                    sizeof(errand.result), error);

	*edit->result = errand.result;
	return code;
}

int edit_database(const struct options *options, const struct database *database, edit_work *work,
                  void *payload, struct edit_result *result, struct error *error)
{
	struct edit edit = {.options = options, .database = database, .result = result};

	if (geteuid() == 0 && database->uid != 0)
		return edit_as_owner(&edit, work, payload, error);
	return edit_here(&edit, work, payload, error);
}

/* --- where it could not be changed --- */

static int mark_here(void *payload, struct error *error)
{
	const struct database *database = *(const struct database **)payload;
	struct error own = {0};
	int code = publish_mark_stale(database->file, database->sysroot, &own);

	if (code != ERROR_NOTFOUND)
		return error_move(error, &own);
	error_clear(&own);
	return 0;
}

int edit_mark_stale(const struct database *database, struct error *error)
{
	if (geteuid() == 0 && database->uid != 0)
		return as_owner(database->uid, database->gid, mark_here, &database, 0, error);
	return mark_here(&database, error);
}

/*
 * forget.c - drop a site directory or an archive from the database that has it.
 */
#include <stdlib.h>

#include "cleanup.h"
#include "databases.h"
#include "layout.h"
#include "publish.h"
#include "writer.h"

static int forget_root(struct writer *writer, const char *root_path, bool *found,
                       struct error *error)
{
	struct root_record known = {0};
	int code = writer_find_root(writer, slice_of(root_path), &known, error);

	if (code > 0) {
		*found = true;
		code = writer_drop_root(writer, known.id, error);
		if (code == 0)
			code = writer_log(writer,
			                  &(struct event_record){.action = SLICE("forget"),
			                                         .root = slice_of(root_path)},
			                  error);
	}
	root_record_free(&known);
	return code;
}

static int forget_in(const struct options *options, const struct database *database,
                     size_t *forgotten, struct error *error)
{
	struct writer_options how = {
	        .file = database->file,
	        .command = options->command,
	        .lock_timeout = PUBLISH_LOCK_TIMEOUT,
	        .may_replace = database->may_replace,
	};
	struct writer *writer;
	int code;

	if (access(database->file, F_OK) != 0)
		return 0;
	code = writer_open(&how, &writer, error);
	if (code < 0)
		return code;
	for (size_t i = 0; code == 0 && i < database->root_count; i++) {
		bool found = false;

		code = forget_root(writer, database->roots[i].root_path, &found, error);
		*forgotten += found;
	}
	if (code == 0 && *forgotten > 0)
		code = writer_commit(writer, 0644, error);
	writer_close(writer);
	return code;
}

/* An archive, or a site directory that could not be written, is in the user's own database. */
static int add_user_databases(const struct options *options, struct databases *databases,
                              struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && !options->database && i < options->argument_count; i++) {
		CLEANUP(cleanup_free) char *path = layout_absolute(options->arguments[i]);
		CLEANUP(coverage_free) struct coverage user = {0};
		struct options own = *options;

		if (!path || layout_of_user(path, &user) <= 0)
			continue;
		own.database = user.database;
		code = databases_add_path(&own, false, path, databases, error);
	}
	return code;
}

enum status command_forget(const struct options *options)
{
	CLEANUP(databases_free) struct databases databases = {0};
	struct error error = {0};
	size_t forgotten = 0;
	int code = databases_of_arguments(options, false, &databases, &error);

	if (code == 0)
		code = add_user_databases(options, &databases, &error);
	for (size_t i = 0; code == 0 && i < databases.count; i++)
		code = forget_in(options, &databases.items[i], &forgotten, &error);
	if (code < 0)
		return fail(&error);
	if (forgotten == 0) {
		message("%s: in no database", options->arguments[0]);
		return STATUS_NOT_FOUND;
	}
	note(options, "%zu forgotten", forgotten);
	return STATUS_DONE;
}

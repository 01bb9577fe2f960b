/*
 * forget.c - drops a site directory, an archive or a package index from its database.
 */
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/image/kept.h"
#include "indexer/package_index/catalogue.h"
#include "indexer/update/edit.h"
#include "libquery/layout.h"

static int forget_root(struct edit *edit, struct slice path, struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	struct event_record event = {.action = SLICE("forget"), .root = path};
	int code = writer_find_root(edit->writer, path, &known, error);

	if (code <= 0)
		return code;
	edit->result->forgotten++;
	code = writer_drop_root(edit->writer, known.id, error);
	return code < 0 ? code : writer_log(edit->writer, &event, error);
}

static int forget_roots(struct edit *edit, void *payload, struct error *error)
{
	const struct database *database = edit->database;
	size_t before = edit->result->forgotten;
	int code = 0;

	(void)payload;
	for (size_t i = 0; code == 0 && i < database->root_count; i++)
		code = forget_root(edit, slice_of(database->roots[i].root_path), error);
	if (code == 0 && edit->result->forgotten == before)
		code = EDIT_NOTHING;
	return code;
}

/* Forget the arguments that are images; the others remain for the databases. */
static int forget_images(struct options *options, struct edit_result *result, struct error *error)
{
	bool no_images = options->sysroot || options->database || options->argument_count == 0;
	size_t left = 0;
	int code = 0;

	if (no_images)
		return 1;
	for (size_t i = 0; code >= 0 && i < options->argument_count; i++) {
		code = image_forget(options, options->arguments[i], error);
		result->forgotten += code > 0;
		if (code == 0)
			options->arguments[left++] = options->arguments[i];
	}
	options->argument_count = left;
	return code < 0 ? code : left > 0;
}

int command_forget(const struct options *given, struct error *error)
{
	struct options own = *given, *options = &own;
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(coverage_free) struct coverage user = {0};
	CLEANUP(cleanup_free) char *catalogue = NULL;
	struct options in_users;
	struct edit_result result = {0};
	int code = forget_images(options, &result, error), more = code;

	in_users = *options;
	code = more > 0 ? databases_of_arguments(options, false, &databases, error) : more;
	/*
	 * Archives, and site directories that could not be written, are in the user's own database;
	 * package indexes are in the catalogue.
	 */
	if (code == 0 && more && !options->database)
		code = layout_of_user("/", &user) < 0 ? error_nomem(error) : user.database != NULL;
	if (code > 0)
		code = catalogue_file(options, &catalogue, error);
	for (int i = 0; code == 0 && catalogue && i < 2; i++) {
		in_users.database = i == 0 ? user.database : catalogue;
		code = databases_of_arguments(&in_users, false, &databases, error);
	}
	for (size_t i = 0; code >= 0 && i < databases.count; i++) {
		const struct database *database = &databases.items[i];
		struct stat status;

		code = file_status(AT_FDCWD, database->file, &status, error);
		if (code > 0)
			code = edit_database(options, database, forget_roots, NULL, &result, error);
	}
	if (code < 0)
		return code;
	if (result.forgotten == 0) {
		message("%s: not in any database", options->arguments[0]);
		return STATUS_NOT_FOUND;
	}
	note(options, "%zu forgotten", result.forgotten);
	return STATUS_DONE;
}

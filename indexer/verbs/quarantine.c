/*
 * quarantine.c - lists quarantined shared objects and releases them.
 */
#include "libquery/native/quarantine.h"
#include "db/base/cleanup.h"
#include "indexer/command.h"
#include "indexer/output.h"
#include "libquery/layout.h"

/* --- listing --- */

static const struct column columns[] = {
        COLUMN("id", "ID", STYLE_NAME),
        HEADING("REASON", STYLE_BAD),
        COLUMN("object", "OBJECT", STYLE_PLAIN),
        KEY("reason"),
};

static int put_row(void *payload, const char *id, const char *object, const char *reason)
{
	output_string(payload, id);
	output_string(payload, reason);
	output_string(payload, object);
	output_string(payload, reason);
	return 0;
}

static int list(const struct options *options, const char *directory, struct error *error)
{
	struct output output = OUTPUT_BEGIN(columns, options->json);
	int code = quarantine_walk(directory, put_row, &output, error);
	int ended = output_end(&output, code == 0 ? error : NULL);

	return code < 0 ? code : ended;
}

/* --- freeing --- */

struct clearing {
	const char *directory;
	struct error *error;
};

static int clear_one(void *payload, const char *id, const char *object, const char *reason)
{
	const struct clearing *clearing = payload;
	int code = quarantine_remove(clearing->directory, id, clearing->error);

	(void)object;
	(void)reason;
	return code < 0 ? code : 0;
}

static int clear_named(const struct options *options, const char *directory, struct error *error)
{
	int status = STATUS_DONE;

	for (size_t i = 0; i < options->argument_count; i++) {
		int code = quarantine_remove(directory, options->arguments[i], error);

		if (code < 0 && code != ERROR_NOTFOUND)
			return code;
		error_clear(error);
		if (code > 0)
			continue;
		message("%s is not in quarantine", options->arguments[i]);
		status = STATUS_NOT_FOUND;
	}
	return status;
}

int command_quarantine(const struct options *options, struct error *error)
{
	CLEANUP(cleanup_free) char *directory = NULL;
	int code = layout_user_state(LAYOUT_QUARANTINE, &directory) < 0 ? error_nomem(error) : 0;
	struct clearing all = {directory, error};

	if (options->argument_count > 0 && !options->clear)
		return usage_error("quarantine", "IDs require --clear");
	if (code == 0 && !directory)
		code = error_set(error, ERROR_NOTFOUND,
		                 "HOME is not set: cannot locate the quarantine directory");
	if (code < 0)
		return code;
	if (!options->clear)
		return list(options, directory, error);
	return options->argument_count > 0 ? clear_named(options, directory, error)
	                                   : quarantine_walk(directory, clear_one, &all, error);
}

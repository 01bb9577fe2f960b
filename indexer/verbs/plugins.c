/*
 * plugins.c - lists native plugins, which are found by exported symbols.
 */
#include "db/base/cleanup.h"
#include "indexer/verb.h"

static const struct column columns[] = {
        {"kind", "KIND", STYLE_PLAIN, FIELD(GROUP)},
        {"name", "NAME", STYLE_NAME, FIELD(NAME)},
        {NULL, "STATE", STYLE_PLAIN, CELL_STATE},
        {NULL, "OBJECT", STYLE_PLAIN, TARGET(OBJECT)},
        ENTRY_KEY("distribution", FIELD(DISTRIBUTION)),
        {NULL, "DISTRIBUTION", STYLE_PLAIN, CELL_PROVIDER},
        {"version", "VERSION", STYLE_PLAIN, FIELD(VERSION)},
        ENTRY_KEY("path", FIELD(PATH)),
        ENTRY_KEY("file", FIELD(FILE)),
        ENTRY_KEY("object", TARGET(OBJECT)),
        ENTRY_KEY("symbol", FIELD(ATTR)),
        ENTRY_KEY("object_kind", CELL_KIND),
        ENTRY_KEY("state", CELL_STATE),
        TARGET_COLUMNS,
};

int command_plugins(const struct options *options, struct error *error)
{
	const char *kind = options->argument_count > 0 ? options->arguments[0] : NULL;
	const char *name = options->argument_count > 1 ? options->arguments[1] : NULL;
	struct output output = OUTPUT_BEGIN(columns, options->json);
	CLEANUP(question_free) struct question found = {0};
	int code = select_by(options, entrydb_plugins, kind, name, &found, error);

	if (code == 0)
		code = entry_put_all(&output, &found, true, error);
	if (code < 0)
		return code;
	if (entrydb_set_count(found.set) > 0)
		return STATUS_DONE;
	note(options, "no plugin was found");
	return STATUS_NOT_FOUND;
}

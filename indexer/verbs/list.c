/*
 * list.c - lists entry points in importlib.metadata's order.
 */
#include "db/base/cleanup.h"
#include "indexer/verb.h"

static const struct column columns[] = {
        {"group", "GROUP", STYLE_PLAIN, FIELD(GROUP)},
        {"name", "NAME", STYLE_NAME, FIELD(NAME)},
        {"value", "VALUE", STYLE_PLAIN | STYLE_WIDE, FIELD(VALUE)},
        ENTRY_KEY("module", FIELD(MODULE)),
        ENTRY_KEY("attr", FIELD(ATTR)),
        ENTRY_KEY("extras", FIELD(EXTRAS)),
        ENTRY_KEY("distribution", FIELD(DISTRIBUTION)),
        {NULL, "DISTRIBUTION", STYLE_PLAIN, CELL_PROVIDER},
        {"version", "VERSION", STYLE_PLAIN, FIELD(VERSION)},
        ENTRY_KEY("path", FIELD(PATH)),
        ENTRY_KEY("file", FIELD(FILE)),
        ENTRY_KEY("kind", CELL_KIND),
        ENTRY_KEY("object", TARGET(OBJECT)),
        ENTRY_KEY("symbol", TARGET(SYMBOL)),
        ENTRY_KEY("state", CELL_STATE),
        TARGET_COLUMNS,
};

/* Nothing is explained to a program that asked for a group, unless a similar name exists. */
static void explain_nothing(const struct options *options, entrydb *db, const char *group,
                            const char *name)
{
	bool said = group && suggest_entry_point(options, db, group, name);

	if (said || (group && !terminal_is(stderr)))
		return;
	if (!advise_on_nothing(options, db))
		note(options, "nothing was found");
}

int command_list(const struct options *options, struct error *error)
{
	const char *group = options->argument_count > 0 ? options->arguments[0] : options->group;
	const char *name = options->argument_count > 1 ? options->arguments[1] : NULL;
	struct output output = OUTPUT_BEGIN(columns, options->json);
	CLEANUP(question_free) struct question found = {0};
	int code = select_by(options, options->allowed ? entrydb_select_allowed : entrydb_select,
	                     group, name, &found, error);

	/*
	 * Without a target, as when its directory has been removed, JSON has no kind. Text shows
	 * none.
	 */
	if (code == 0)
		code = entry_put_all(&output, &found, options->json, error);
	if (code < 0)
		return code;
	report_problems(found.set);
	if (entrydb_set_count(found.set) > 0)
		return STATUS_DONE;
	explain_nothing(options, found.db, group, name);
	return STATUS_NOT_FOUND;
}

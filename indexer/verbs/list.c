/*
 * list.c - entry points, as importlib.metadata would order them.
 */
#include "db/base/cleanup.h"
#include "indexer/suggest.h"
#include "indexer/target_output.h"
#include "indexer/verb.h"

static const struct column columns[] = {
        {"group", "GROUP", STYLE_PLAIN},
        {"name", "NAME", STYLE_NAME},
        {"value", "VALUE", STYLE_PLAIN},
        KEY("module"),
        KEY("attr"),
        KEY("extras"),
        KEY("distribution"),
        HEADING("DISTRIBUTION", STYLE_PLAIN),
        {"version", "VERSION", STYLE_PLAIN},
        KEY("path"),
        KEY("file"),
        KEY("kind"),
        KEY("object"),
        KEY("symbol"),
        KEY("state"),
        TARGET_COLUMNS,
};

static void put(struct output *output, const entrydb_entry_point *e, const entrydb_target *target)
{
	output_text(output, field_of(e, ENTRYDB_FIELD_GROUP));
	output_text(output, field_of(e, ENTRYDB_FIELD_NAME));
	output_text(output, field_of(e, ENTRYDB_FIELD_VALUE));
	output_text(output, field_of(e, ENTRYDB_FIELD_MODULE));
	output_text(output, field_of(e, ENTRYDB_FIELD_ATTR));
	output_words(output, field_of(e, ENTRYDB_FIELD_EXTRAS));
	output_text(output, field_of(e, ENTRYDB_FIELD_DISTRIBUTION));
	output_string(output, provider_of(e));
	output_text(output, field_of(e, ENTRYDB_FIELD_VERSION));
	output_text(output, field_of(e, ENTRYDB_FIELD_PATH));
	output_text(output, field_of(e, ENTRYDB_FIELD_FILE));
	output_string(output, target_kind(target));
	output_string(output, target_object(target));
	output_string(output, target ? entrydb_target_symbol(target) : NULL);
	output_string(output, target_state(target));
	target_put(output, target);
}

/* Without a target (its directory has vanished, say) there is no kind. Text shows none. */
static int put_all(const struct options *options, const struct selection *found,
                   struct error *error)
{
	struct output output = OUTPUT_BEGIN(columns, options->json);

	return target_put_all(&output, found, options->json, put, error);
}

/* To a program that asked for a group the status is enough, where no name is near. */
static void explain_nothing(const struct options *options, entrydb *db, const char *group,
                            const char *name)
{
	bool said = group && suggest_entry_point(options, db, group, name);

	if (said || (group && !terminal_is(stderr)))
		return;
	if (!advise_on_nothing(options, db))
		note(options, "nothing was found");
}

enum status command_list(const struct options *options)
{
	const char *group = options->argument_count > 0 ? options->arguments[0] : options->group;
	const char *name = options->argument_count > 1 ? options->arguments[1] : NULL;
	CLEANUP(selection_free) struct selection found = {0};
	enum status status = STATUS_DONE;
	struct error error = {0};

	if (select_by(options, group, name, &found, &error) < 0)
		return fail(&error);
	if (put_all(options, &found, &error) < 0)
		status = fail(&error);
	report_problems(found.set);
	if (status != STATUS_DONE || entrydb_set_count(found.set) > 0)
		return status;
	explain_nothing(options, found.db, group, name);
	return STATUS_NOT_FOUND;
}

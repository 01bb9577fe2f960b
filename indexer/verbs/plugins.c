/*
 * plugins.c - native plugins that announce themselves by a symbol alone.
 */
#include "db/base/cleanup.h"
#include "indexer/target_output.h"
#include "indexer/verb.h"

static const struct column columns[] = {
        {"kind", "KIND", STYLE_PLAIN},
        {"name", "NAME", STYLE_NAME},
        HEADING("STATE", STYLE_PLAIN),
        HEADING("OBJECT", STYLE_PLAIN),
        KEY("distribution"),
        HEADING("DISTRIBUTION", STYLE_PLAIN),
        {"version", "VERSION", STYLE_PLAIN},
        KEY("path"),
        KEY("file"),
        KEY("object"),
        KEY("symbol"),
        KEY("object_kind"),
        KEY("state"),
        TARGET_COLUMNS,
};

static void put(struct output *output, const entrydb_entry_point *plugin,
                const entrydb_target *target)
{
	output_string(output, entrydb_entry_point_group(plugin));
	output_string(output, entrydb_entry_point_name(plugin));
	output_string(output, target ? target_state(target) : "missing");
	output_string(output, target_object(target));
	output_string(output, entrydb_entry_point_distribution(plugin));
	output_string(output, provider_of(plugin));
	output_string(output, entrydb_entry_point_version(plugin));
	output_string(output, entrydb_entry_point_path(plugin));
	output_string(output, entrydb_entry_point_file(plugin));
	output_string(output, target_object(target));
	output_string(output, entrydb_entry_point_attr(plugin));
	output_string(output, target_kind(target));
	output_string(output, target_state(target));
	target_put(output, target);
}

static int put_all(const struct options *options, const struct selection *found,
                   struct error *error)
{
	struct output output = OUTPUT_BEGIN(columns, options->json);

	return target_put_all(&output, found, true, put, error);
}

enum status command_plugins(const struct options *options)
{
	const char *kind = options->argument_count > 0 ? options->arguments[0] : NULL;
	const char *name = options->argument_count > 1 ? options->arguments[1] : NULL;
	CLEANUP(selection_free) struct selection found = {0};
	entrydb_error own = ENTRYDB_ERROR_INIT;
	struct error error = {0};
	int code = open_handle(options, &found.db, &error);

	if (code == 0) {
		code = entrydb_plugins(found.db, kind, name, &found.set, &own);
		code = code < 0 ? take_error(code, &own, &error) : 0;
	}
	if (code < 0 || put_all(options, &found, &error) < 0)
		return fail(&error);
	if (entrydb_set_count(found.set) > 0)
		return STATUS_DONE;
	note(options, "no plugin was found");
	return STATUS_NOT_FOUND;
}

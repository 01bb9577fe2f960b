/*
 * search: finds entry points of packages that are not installed, in the catalogue of package
 * indexes and among the archives in the user's own database.
 *
 * There is no shadowing here: every known version is listed.
 */
#include "db/base/cleanup.h"
#include "db/base/trust.h"
#include "db/reader.h"
#include "indexer/package_index/catalogue.h"
#include "indexer/verb.h"
#include "libquery/layout.h"

static const struct column columns[] = {
        COLUMN("distribution", "PACKAGE", STYLE_PLAIN),
        COLUMN("version", "VERSION", STYLE_FAINT),
        COLUMN("group", "GROUP", STYLE_PLAIN),
        COLUMN("name", "NAME", STYLE_NAME),
        COLUMN("value", "VALUE", STYLE_PLAIN | STYLE_WIDE),
        KEY("module"),
        KEY("attr"),
        KEY("extras"),
        KEY("path"),
        KEY("file"),
};

struct search {
	const struct options *options;
	const char *groups[2], *name; /* the second group, and the name, may be NULL */
	bool is_near;                 /* nothing was found: look for near names */
	struct output output;
	struct nearest nearest;
	struct arena arena; /* of offers */
	bool failed;
	size_t found;
};

static void put(struct search *search, struct slice root, const struct reader_row *row)
{
	const struct entry_point_record *point = &row->entry_point;
	const struct distribution_record *from = &row->distribution;
	const struct slice cells[] = {slice_is_null(from->name) ? from->directory : from->name,
	                              from->version,
	                              point->group,
	                              point->name,
	                              point->value,
	                              point->module,
	                              point->attr};

	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		output_text(&search->output, cells[i]);
	output_words(&search->output, point->extras);
	output_text(&search->output, root);
	output_text(&search->output, from->directory);
	search->found++;
}

/* Walk a selection: print its rows, or, if nothing was found, offer their names as suggestions. */
static int walk(struct search *search, struct reader *reader, const char *group, const char *name,
                struct error *error)
{
	int code = reader_select(reader, false, slice_of(group), slice_of(name), error);
	struct root_record root = {0}; /* of the last row */
	struct reader_row row;

	while (code == 0 && (code = reader_next(reader, &row, error)) > 0) {
		struct slice offer = group ? row.entry_point.name : row.entry_point.group;

		if (row.root != root.id)
			code = reader_root_of(reader, row.root, &root, error);
		code = code < 0 ? code : 0;
		if (code < 0 || (root.kind != ROOT_ARCHIVE && root.kind != ROOT_ZIP))
			continue;
		if (!search->is_near)
			put(search, root.path, &row);
		else if (offer.len <= NEAREST_LEN_MAX)
			nearest_offer(&search->nearest,
			              arena_copy(&search->arena, offer, &search->failed));
	}
	return search->failed ? error_nomem(error) : code;
}

/* A missing file counts as empty. */
static int search_file(struct search *search, const char *file, struct error *error)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	bool is_near = search->is_near;
	int code = reader_open(file, TRUST_NO_OTHER, &reader, error);

	if (code == ERROR_NOTFOUND && !search->options->database) {
		error_clear(error);
		return 0;
	}
	for (size_t i = 0; code == 0 && i < 2 && search->groups[i]; i++)
		code = walk(search, reader, is_near && !search->name ? NULL : search->groups[i],
		            is_near ? NULL : search->name, error);
	return code;
}

static int search_all(struct search *search, struct error *error)
{
	CLEANUP(coverage_free) struct coverage user = {0};
	CLEANUP(cleanup_free) char *catalogue = NULL;
	int code = catalogue_file(search->options, &catalogue, error);

	if (code == 0)
		code = search_file(search, catalogue, error);
	if (code == 0 && !search->options->database && layout_of_user("/", &user) > 0)
		code = search_file(search, user.database, error);
	return code;
}

static int say_not_found_near(struct search *search, struct error *error)
{
	CLEANUP(cleanup_free) char *near = NULL;
	int code;

	search->is_near = true;
	search->nearest = nearest_to(slice_of(search->name ? search->name : search->groups[0]));
	code = search_all(search, error);
	if (code < 0)
		return code;
	near = suggest_near("", &search->nearest);
	note(search->options, "no recorded package or archive has %s%s",
	     search->name ? "an entry point of that name" : "that group", near ? near : "");
	return STATUS_NOT_FOUND;
}

static void search_free(struct search *search)
{
	output_end(&search->output, NULL);
	arena_free(&search->arena);
}

int command_search(const struct options *options, struct error *error)
{
	bool has_group = options->argument_count > 0;
	CLEANUP(search_free)
	struct search search = {.options = options,
	                        .groups = {has_group ? options->arguments[0] : "console_scripts",
	                                   has_group ? NULL : "gui_scripts"},
	                        .name = options->argument_count > 1 ? options->arguments[1]
	                                                            : options->script,
	                        .output = OUTPUT_BEGIN(columns, options->json)};
	int code;

	if (has_group == (options->script != NULL))
		return usage_error("search", "search for a GROUP, or for --command NAME");
	code = search_all(&search, error);
	if (code == 0 && search.found == 0)
		return say_not_found_near(&search, error);
	if (code == 0)
		code = output_end(&search.output, error);
	return code < 0 ? code : STATUS_DONE;
}

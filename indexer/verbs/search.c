/*
 * Who provides an entry point, among packages that are not installed: in the catalogue of package
 * indexes, and among the archives of the user's own database.
 *
 * Nothing shadows anything here: each version that is known is listed.
 */
#include <stdlib.h>

#include "db/base/array.h"
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
	struct output output;
	struct arena arena; /* of what near names are kept in */
	struct nearest nearest;
	bool failed;
	size_t found;
	struct slice *roots; /* by their ids: the paths of archives; null: it is none */
	size_t root_count, root_room;
};

static int keep_archive(void *payload, const struct root_record *root)
{
	struct search *search = payload;
	size_t id = (size_t)root->id;

	if (root->kind != ROOT_ARCHIVE && root->kind != ROOT_ZIP)
		return 0;
	while (!search->failed && search->root_count <= id) {
		search->failed = !array_grow(&search->roots, search->root_count,
		                             sizeof(*search->roots), &search->root_room);
		if (!search->failed)
			search->roots[search->root_count++] = (struct slice){0};
	}
	if (!search->failed)
		search->roots[id] = arena_copy(&search->arena, root->path, &search->failed);
	return search->failed ? ERROR_NOMEM : 0;
}

static void put(struct search *search, struct slice root, const struct reader_row *row)
{
	const struct entry_point_record *point = &row->entry_point;
	const struct distribution_record *from = &row->distribution;

	output_text(&search->output, slice_is_null(from->name) ? from->directory : from->name);
	output_text(&search->output, from->version);
	output_text(&search->output, point->group);
	output_text(&search->output, point->name);
	output_text(&search->output, point->value);
	output_text(&search->output, point->module);
	output_text(&search->output, point->attr);
	output_words(&search->output, point->extras);
	output_text(&search->output, root);
	output_text(&search->output, from->directory);
	search->found++;
}

/* All rows of a selection: shown, or where none is found, offered as what was meant. */
static int walk(struct search *search, struct reader *reader, const char *group, const char *name,
                bool shown, struct error *error)
{
	struct reader_row row;
	int code = reader_select(reader, false, slice_of(group), slice_of(name), error);

	while (code == 0 && (code = reader_next(reader, &row, error)) > 0) {
		struct slice root = (size_t)row.root < search->root_count ? search->roots[row.root]
		                                                          : (struct slice){0};
		struct slice offered = group ? row.entry_point.name : row.entry_point.group;

		code = 0;
		if (!slice_is_null(root) && shown)
			put(search, root, &row);
		else if (!slice_is_null(root) && offered.len <= NEAREST_LEN_MAX)
			nearest_offer(&search->nearest,
			              arena_copy(&search->arena, offered, &search->failed));
	}
	return search->failed ? error_nomem(error) : code;
}

static int search_reader(struct search *search, struct reader *reader, bool shown,
                         struct error *error)
{
	const struct options *options = search->options;
	const char *group = options->argument_count > 0 ? options->arguments[0] : NULL;
	const char *name = options->argument_count > 1 ? options->arguments[1] : options->script;
	int code = 0;

	if (options->script) {
		code = walk(search, reader, "console_scripts", shown ? name : NULL, shown, error);
		if (code == 0)
			code = walk(search, reader, "gui_scripts", shown ? name : NULL, shown,
			            error);
		return code;
	}
	return walk(search, reader, shown || name ? group : NULL, shown ? name : NULL, shown,
	            error);
}

/* A file that is not there has nothing. */
static int search_file(struct search *search, const char *file, bool shown, struct error *error)
{
	CLEANUP(cleanup_reader) struct reader *reader = NULL;
	int code = reader_open(file, TRUST_NO_OTHER, &reader, error);

	if (code == ERROR_NOTFOUND && !search->options->database) {
		error_clear(error);
		return 0;
	}
	search->root_count = 0;
	if (code == 0)
		code = reader_roots(reader, keep_archive, search, error);
	return code < 0 ? code : search_reader(search, reader, shown, error);
}

static int search_all(struct search *search, const char *catalogue, bool shown, struct error *error)
{
	CLEANUP(coverage_free) struct coverage user = {0};
	int code = search_file(search, catalogue, shown, error);

	if (code == 0 && !search->options->database && layout_of_user("/", &user) > 0)
		code = search_file(search, user.database, shown, error);
	return code;
}

static int say_not_found_near(struct search *search, const char *catalogue, struct error *error)
{
	const struct options *options = search->options;
	const char *wanted =
	        options->script ? options->script : options->arguments[options->argument_count - 1];
	CLEANUP(cleanup_free) char *near = NULL;
	int code;

	search->nearest = nearest_to(slice_of(wanted));
	code = search_all(search, catalogue, false, error);
	if (code < 0)
		return code;
	near = suggest_near("", &search->nearest);
	note(options, "nothing that is catalogued has %s%s",
	     options->argument_count > 1 || options->script ? "an entry point of that name"
	                                                    : "that group",
	     near ? near : "");
	return STATUS_NOT_FOUND;
}

static void search_free(struct search *search)
{
	output_end(&search->output, NULL);
	arena_free(&search->arena);
	free(search->roots);
}

int command_search(const struct options *options, struct error *error)
{
	CLEANUP(search_free)
	struct search search = {.options = options, .output = OUTPUT_BEGIN(columns, options->json)};
	CLEANUP(cleanup_free) char *catalogue = NULL;
	int code;

	if ((options->argument_count > 0) == (options->script != NULL))
		return usage_error("search", "search for a GROUP, or for --command NAME");
	code = catalogue_file(options, &catalogue, error);
	if (code == 0)
		code = search_all(&search, catalogue, true, error);
	if (code < 0)
		return code;
	if (search.found == 0)
		return say_not_found_near(&search, catalogue, error);
	code = output_end(&search.output, error);
	return code < 0 ? code : STATUS_DONE;
}

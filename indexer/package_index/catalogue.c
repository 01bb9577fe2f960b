/*
 * catalogue.c - reads a package index without installing anything from it.
 *
 *     names -> a project's page -> the files pip would install -> the ends of these wheels
 *           -> the cache, as it arrives
 *           -> at the end, or at Ctrl-C: one root of the database, whose path is the index's URL
 *
 * Many projects are under way at a time. What cannot be read costs one line, and stops no other.
 */
#include "indexer/package_index/catalogue.h"

#include <errno.h>
#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/text.h"
#include "db/base/unicode.h"
#include "indexer/archive/archive_module.h"
#include "indexer/archive/sdist.h"
#include "indexer/package_index/projects.h"
#include "indexer/package_index/settings.h"
#include "indexer/update/edit.h"
#include "indexer/verb.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/layout.h"

#define ROOT_PAGE_MAX ((size_t)512 << 20) /* bytes of the list of all projects */
#define NAMES_FILE    ((size_t)16 << 20)  /* bytes of --requirements */
#define PYTHON        "3.12"              /* where --python does not say */

/* --- which projects --- */

static int want(struct catalogue *all, struct slice name, struct slice specifiers,
                struct error *error)
{
	struct wanted wanted = {.specifiers = specifiers.len ? specifiers : (struct slice){0}};
	bool failed = false;
	char *text;

	if (!text_is_plain(name, "-_."))
		return error_set(error, ERROR_INVALID, "'%.*s' is no name of a project",
		                 (int)name.len, name.ptr);
	wanted.name = distname_normalize_in(&all->arena, name, &failed);
	text = (char *)wanted.name.ptr;
	for (size_t i = 0; !failed && i < wanted.name.len; i++)
		text[i] = text[i] == '_' ? '-' : text[i];
	if (failed || !array_grow(&all->wanted, all->count, sizeof(*all->wanted), &all->room))
		return error_nomem(error);
	all->wanted[all->count++] = wanted;
	return 0;
}

/* "name[extra]>=1,<2; marker"; what is no name, such as an option, is passed over. */
static int want_line(struct catalogue *all, struct slice line, struct error *error)
{
	size_t length = 0;
	struct slice rest;
	const char *bracket;

	line = slice_before(slice_before(line, '#'), ';');
	line = unicode_strip(line);
	while (length < line.len && !strchr("[<>=!~ @(\t", line.ptr[length]))
		length++;
	if (length == 0 || line.ptr[0] == '-')
		return 0;
	rest = slice_from(line, length);
	bracket = memchr(rest.ptr, ']', rest.len);
	if (rest.len && rest.ptr[0] == '[' && bracket)
		rest = slice_between(bracket + 1, line.ptr + line.len);
	return want(all, slice_first(line, length), unicode_strip(rest), error);
}

static int want_file(struct catalogue *all, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	size_t length;
	struct slice rest;
	bool failed = false;
	int code = small_file_read(path, NAMES_FILE, &text, &length, error);

	if (code <= 0)
		return code < 0 ? code : error_set(error, ERROR_NOTFOUND, "%s: no such file", path);
	rest = arena_copy(&all->arena, (struct slice){text, length}, &failed);
	if (failed)
		return error_nomem(error);
	for (code = 0; code == 0 && rest.len > 0;)
		code = want_line(all, slice_take_line(&rest), error);
	return code;
}

static int take_projects(void *payload, const struct transfer_answer *answer, struct error *error)
{
	CLEANUP(page_free) struct page page = {0};
	struct catalogue *all = payload;
	int code;

	all->bytes += answer->body.len;
	if (answer->problem || answer->status != 200)
		return error_set(error, ERROR_NOTFOUND, "%s: %s", all->index,
		                 answer->problem ? answer->problem
		                                 : "it gives no list of projects");
	code = page_read(all->sheet, answer->type, true, answer->body, &page, error);
	for (size_t i = 0; code == 0 && i < page.count; i++)
		if (text_is_plain(page.files[i].name, "-_."))
			code = want(all, page.files[i].name, (struct slice){0}, error);
	return code;
}

static int want_all(struct catalogue *all, struct error *error)
{
	const struct transfer_request request = {.url = all->index,
	                                         .accept = PAGE_ACCEPT,
	                                         .limit = ROOT_PAGE_MAX,
	                                         .done = take_projects,
	                                         .payload = all};
	int code = projects_ask(all, &request, error);

	return code < 0 ? code : all->module->run(all->transfers, error);
}

static int want_named(struct catalogue *all, size_t first, struct error *error)
{
	int code = 0;

	for (size_t i = first; code == 0 && i < all->options->argument_count; i++)
		code = want_line(all, slice_of(all->options->arguments[i]), error);
	if (code == 0 && all->options->requirements)
		code = want_file(all, all->options->requirements, error);
	return code == 0 && all->options->all ? want_all(all, error) : code;
}

/* --- publishing --- */

/* What is as it was keeps its row. */
static int reuse(struct root_record *root, const struct root_record *known, struct error *error)
{
	CLEANUP(name_map_free) struct name_map rows = {0};
	bool failed = false;

	for (size_t i = 0; i < known->distribution_count && !failed; i++)
		name_map_put(&rows, known->distributions[i].directory, (uint32_t)i, &failed);
	for (size_t i = 0; i < root->distribution_count && !failed; i++) {
		struct distribution_record *now = &root->distributions[i];
		uint32_t at = name_map_get(&rows, now->directory);
		const struct distribution_record *old =
		        at == NAME_MAP_NONE ? NULL : &known->distributions[at];

		if (!old || old->files_stamp != now->files_stamp ||
		    !slice_equal(old->error, now->error))
			continue;
		now->id = old->id;
		now->reused = true;
	}
	return failed ? error_nomem(error) : 0;
}

static int publish(struct edit *edit, void *payload, struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	CLEANUP(root_record_free) struct root_record root = {0};
	struct catalogue *all = payload;
	int found = writer_find_root(edit->writer, slice_of(all->index), &known, error);
	int code = found < 0 ? found : cache_root(all->sheet, &root, error);

	if (code == 0 && found)
		code = reuse(&root, &known, error);
	if (code < 0)
		return code;
	root.path = slice_of(all->index);
	edit->result->distributions = root.distribution_count;
	for (size_t i = 0; i < root.distribution_count; i++)
		edit->result->entry_points += root.distributions[i].entry_point_count;
	return store_root(edit->writer, &root, found ? &known : NULL, &edit->result->stored, error);
}

int catalogue_file(const struct options *options, char **out, struct error *error)
{
	CLEANUP(coverage_free) struct coverage user = {0};
	char *slash;

	if (!options->database && layout_of_user("/", &user) == 0)
		return error_set(error, ERROR_NOTFOUND,
		                 "there is no $HOME for a database; name one with --db");
	if (options->database) {
		*out = layout_absolute(options->database);
		return *out ? 0 : error_errno(error, errno, "%s", options->database);
	}
	slash = user.database ? strrchr(user.database, '/') : NULL;
	*out = slash ? text_format("%.*s/catalogue.db", (int)(slash - user.database), user.database)
	             : NULL;
	return *out ? 0 : error_nomem(error);
}

static int publish_all(struct catalogue *all, const char *file, struct error *error)
{
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(cleanup_free) char *command = text_format("entrydb add --index %s", all->index);
	struct options options = *all->options;
	struct edit_result result = {0};
	int code = databases_add_file(file, !all->options->database, &databases, error);

	options.command = command; /* without a password */
	if (code == 0)
		code = command ? edit_database(&options, &databases.items[0], publish, all, &result,
		                               error)
		               : error_nomem(error);
	if (code < 0)
		return code;
	progress_erase(&all->progress);
	note(&options,
	     "%s: %zu projects (%zu unchanged), %zu files by %zu requests and %llu kB; "
	     "%zu could not be read, %zu " SDIST_NEEDS_BUILD "; "
	     "%zu distributions, %zu entry points in all",
	     all->index, all->count, all->unchanged, all->wheels, all->requests,
	     (unsigned long long)(all->bytes / 1024), all->failed, all->needing_build,
	     result.distributions, result.entry_points);
	return 0;
}

/* --- one index --- */

static int run(struct catalogue *all, const char *file, size_t first, struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	bool was_interrupted;
	int code = want_named(all, first, error);

	if (code < 0)
		return code;
	code = projects_start(all, &why);
	if (code == 0)
		code = all->module->run(all->transfers, &why);
	was_interrupted = interrupted();
	if (was_interrupted)
		interruption_over();
	if (cache_keep(all->sheet, code == 0, code == 0 ? &why : NULL) < 0 && code == 0)
		code = why.code;
	if (publish_all(all, file, error) < 0)
		return error ? error->code : ERROR_IO;
	if (was_interrupted)
		return error_set(error, ERROR_IO,
		                 "interrupted after %zu of %zu projects; the same command goes on",
		                 all->done, all->count);
	return code < 0 ? error_move(error, &why) : 0;
}

static void catalogue_free(struct catalogue *all)
{
	if (all->module)
		all->module->close(all->transfers);
	worksheet_close(all->sheet);
	free(all->wanted);
	arena_free(&all->arena);
	output_end(&all->output, NULL);
}

static int add_index(const struct options *options, const struct transfer_module *module,
                     const struct settings *settings, const char *url, size_t first,
                     struct error *error)
{
	CLEANUP(cleanup_free) char *credential = NULL;
	CLEANUP(cleanup_free) char *clean = module->join(NULL, url, &credential);
	CLEANUP(cleanup_free) char *index = NULL;
	CLEANUP(cleanup_free) char *file = NULL;
	CLEANUP(cleanup_free) char *made_for = NULL;
	const char *python =
	        options->python && strchr(options->python, '.') ? options->python : PYTHON;
	CLEANUP(catalogue_free)
	struct catalogue all = {
	        .options = options,
	        .module = module,
	        .choice = {python, options->all_versions},
	        .output = projects_output(options),
	        .progress = progress_begin("reading", options->quiet),
	        .began = milliseconds_now(),
	};
	struct transfer_settings how = {
	        .credential = credential,
	        .proxy = settings->values[SETTING_PROXY],
	        .certificates = settings->values[SETTING_CERTIFICATES],
	        .client_certificate = settings->values[SETTING_CLIENT],
	        .stopped = interrupted,
	};
	int code;

	if (!clean)
		return error_set(error, ERROR_INVALID,
		                 "the URL of an index begins with http or https");
	index = text_format("%s%s", clean, slice_ends(slice_of(clean), SLICE("/")) ? "" : "/");
	made_for = text_format("%s%s", python, options->all_versions ? " all" : "");
	if (!index || !made_for)
		return error_nomem(error);
	how.index = all.index = index;
	all.made_for = slice_of(made_for);
	if (settings->values[SETTING_TIMEOUT])
		how.idle = strtol(settings->values[SETTING_TIMEOUT], NULL, 10);
	code = catalogue_file(options, &file, error);
	if (code == 0)
		code = cache_open(file, index, &all.sheet, error);
	if (code == 0)
		code = module->open(&how, &all.transfers, error);
	if (code == 0)
		code = run(&all, file, first, error);
	return code < 0 ? code : all.failed ? STATUS_COULD_NOT : STATUS_DONE;
}

static bool is_url(struct slice text)
{
	return slice_starts(text, SLICE("http:")) || slice_starts(text, SLICE("https:"));
}

/* Each index that pip would ask. */
static int add_configured(const struct options *options, const struct transfer_module *module,
                          const struct settings *settings, struct error *error)
{
	int worst = STATUS_DONE, code = 0;
	bool any = false;

	for (enum setting which = SETTING_INDEX; which <= SETTING_EXTRAS; which++) {
		struct slice rest = slice_of(settings->values[which]), word;

		while (code >= 0 && !slice_is_null(word = settings_word(&rest))) {
			CLEANUP(cleanup_free) char *url = strndup(word.ptr, word.len);

			if (!is_url(word)) {
				note(options, "an index that is no http or https is passed over");
				continue;
			}
			any = true;
			code = url ? add_index(options, module, settings, url, 0, error)
			           : error_nomem(error);
			worst = code > worst ? code : worst;
		}
	}
	if (code == 0 && !any)
		return error_set(
		        error, ERROR_NOTFOUND,
		        "no index is configured; give its URL, or set index-url as for pip");
	return code < 0 ? code : worst;
}

int catalogue_add(const struct options *options, struct error *error)
{
	CLEANUP(settings_free) struct settings settings = {0};
	const struct transfer_module *module;
	bool has_url = options->argument_count > 0 && is_url(slice_of(options->arguments[0]));
	int code;

	if (options->argument_count == has_url && !options->all && !options->requirements)
		return usage_error("add",
		                   "add --index: name projects, or give --all or --requirements");
	module = program_module("entrydb-transfer.so", "entrydb_transfer_module", "package indexes",
	                        error);
	if (!module)
		return ERROR_LOAD;
	code = settings_read(&settings, error);
	if (code < 0)
		return code;
	return has_url ? add_index(options, module, &settings, options->arguments[0], 1, error)
	               : add_configured(options, module, &settings, error);
}

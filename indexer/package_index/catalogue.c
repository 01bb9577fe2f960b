/*
 * catalogue.c - reads a package index without installing anything from it.
 *
 *     names -> a project's page -> the files that pip would install -> parts of these wheels
 *           -> rows of one root of a database, whose path is the URL of the index
 *
 * The database is published repeatedly while the index is read. The root is settled only when a run
 * is complete; the next run resumes an incomplete one.
 */
#include "indexer/package_index/catalogue.h"

#include <errno.h>
#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "db/base/trust.h"
#include "db/base/unicode.h"
#include "indexer/archive/archive_module.h"
#include "indexer/archive/sdist.h"
#include "indexer/package_index/projects.h"
#include "indexer/package_index/settings.h"
#include "indexer/update/edit.h"
#include "indexer/verb.h"
#include "libquery/disk/tree/distname.h"
#include "libquery/layout.h"

#define ROOT_PAGE_MAX ((size_t)64 << 20)   /* bytes of the list of all projects */
#define NAMES_FILE    ((size_t)16 << 20)   /* bytes of --requirements */
#define PYTHON        "3.12"               /* without --python */
#define RUN_MAX       86400                /* seconds; an older run is not resumed */
#define PUBLISH_MIN   100                  /* milliseconds: minimal time between publications */
#define PUBLISH_SHARE 10                   /* that time as a multiple of the last publication's */
#define PUBLISH_MAX   ((uint64_t)64 << 20) /* bytes read, and kept in memory, between them */

/* --- which projects --- */

static int want(struct catalogue *all, struct slice name, struct slice specifiers, bool is_listed,
                struct error *error)
{
	struct wanted wanted = {.specifiers = specifiers, .is_listed = is_listed};
	bool failed = false;
	char *text;

	if (!text_is_plain(name, "-_."))
		return error_set(error, ERROR_INVALID, "'%.*s' is not the name of a project",
		                 (int)name.len, name.ptr);
	wanted.normalized_name = distname_normalize_in(&all->arena, name, &failed);
	wanted.name = arena_copy(&all->arena, wanted.normalized_name, &failed);
	text = (char *)wanted.name.ptr;
	for (size_t i = 0; !failed && i < wanted.name.len; i++)
		text[i] = text[i] == '_' ? '-' : text[i];
	if (failed || !array_grow(&all->wanted, all->count, sizeof(*all->wanted), &all->room))
		return error_nomem(error);
	all->wanted[all->count++] = wanted;
	return 0;
}

/*
 * "name[extra]>=1,<2 --option; marker"; other lines, such as options, are ignored. What a URL leads
 * to is not in the index, and it may contain a password.
 */
static int want_line(struct catalogue *all, struct slice line, struct error *error)
{
	size_t length = 0;
	struct slice rest;
	const char *bracket, *option;

	line = unicode_strip(slice_before(slice_before(line, '#'), ';'));
	option = memmem(line.ptr, line.len, " --", 3);
	line = option ? slice_between(line.ptr, option) : line;
	while (length < line.len && !strchr("[<>=!~ @(\t", line.ptr[length]))
		length++;
	if (length == 0 || line.ptr[0] == '-' || memchr(line.ptr, '/', line.len))
		return 0;
	rest = slice_from(line, length);
	bracket = memchr(rest.ptr, ']', rest.len);
	if (rest.len && rest.ptr[0] == '[' && bracket)
		rest = slice_between(bracket + 1, line.ptr + line.len);
	rest = unicode_strip(rest);
	if (slice_starts(rest, SLICE("(")))
		rest = slice_before(slice_from(rest, 1), ')');
	return want(all, slice_first(line, length), rest, false, error);
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
	for (char *at = text; (at = strchr(at, '\\')); at++) { /* continued lines */
		size_t end = at[1] == '\r' ? 2 : 1;

		if (at[end] == '\n')
			memset(at, ' ', end + 1);
	}
	rest = arena_copy(&all->arena, (struct slice){text, length}, &failed);
	if (slice_starts(rest, SLICE("\xef\xbb\xbf"))) /* a byte order mark */
		rest = slice_from(rest, 3);
	for (code = failed ? error_nomem(error) : 0; code == 0 && rest.len > 0;)
		code = want_line(all, slice_take_line(&rest), error);
	return code;
}

/*
 * A recorded project may be listed no more: its page is requested, too, and if there is none, its
 * rows are dropped.
 */
static int want_recorded(struct catalogue *all, struct error *error)
{
	CLEANUP(root_record_free) struct root_record root = {0};
	CLEANUP(name_map_free) struct name_map names = {0};
	bool failed = false;
	int code = all->known_root ? reader_root_of(all->reader, all->known_root, &root, error) : 0;

	if (code > 0)
		code = reader_distributions(all->reader, &root, false, error);
	for (size_t i = 0; i < all->count; i++)
		name_map_set(&names, all->wanted[i].normalized_name, 0, &failed);
	for (size_t i = 0; code == 0 && i < root.distribution_count; i++) {
		struct slice name = root.distributions[i].normalized_name;

		if (name_map_get(&names, name) == NAME_MAP_NONE && text_is_plain(name, "-_."))
			code = want(all, name, (struct slice){0}, true, error);
		name_map_set(&names, name, 0, &failed);
	}
	return failed ? error_nomem(error) : code;
}

static int take_projects(void *payload, const struct transfer_answer *answer, struct error *error)
{
	CLEANUP(page_free) struct page page = {0};
	struct catalogue *all = payload;
	int code;

	if (answer->problem)
		return error_set(error, ERROR_NOTFOUND, "%s: %s", all->index, answer->problem);
	code = page_read(all->sheet, answer->type, "project", answer->body, &page, error);
	for (size_t i = 0; code == 0 && i < page.count; i++)
		if (text_is_plain(page.files[i].name, "-_."))
			code = want(all, page.files[i].name, (struct slice){0}, true, error);
	return code < 0 ? code : want_recorded(all, error);
}

/* Collect the projects of the arguments from @first on and of --requirements; request those of
 * --all. */
static int want_all(struct catalogue *all, size_t first, struct error *error)
{
	const struct transfer_request request = {
	        .url = all->index, .limit = ROOT_PAGE_MAX, .done = take_projects, .payload = all};
	int code = 0;

	for (size_t i = first; code == 0 && i < all->options->argument_count; i++)
		code = strchr(all->options->arguments[i], '/')
		               ? error_set(error, ERROR_INVALID,
		                           "an argument with a '/' is not the name of a project")
		               : want_line(all, slice_of(all->options->arguments[i]), error);
	if (code == 0 && all->options->requirements)
		code = want_file(all, all->options->requirements, error);
	return code < 0 || !all->options->all ? code
	                                      : all->module->add(all->transfers, &request, error);
}

/* --- the database --- */

int catalogue_file(const struct options *options, char **out, struct error *error)
{
	if (options->database) {
		*out = layout_absolute(options->database);
		return *out ? 0 : error_errno(error, errno, "%s", options->database);
	}
	if (layout_user_state(LAYOUT_CATALOGUE, out) < 0)
		return error_nomem(error);
	return *out ? 0
	            : error_set(error, ERROR_NOTFOUND,
	                        "there is no $HOME for a database; name one with --db");
}

/* Open the published database, a damaged one will be replaced; find the run to resume. */
static int open_published(struct catalogue *all, struct error *error)
{
	CLEANUP(root_record_free) struct root_record root = {0};
	struct error why = {0};
	int code = reader_open(all->database->file, TRUST_NO_OTHER, &all->reader, &why);

	if (code == 0)
		code = reader_root(all->reader, slice_of(all->index), &root, &why);
	all->run = nanoseconds_now(CLOCK_REALTIME);
	if (root.id && !root.settled && all->run - root.stamp.mtime < RUN_MAX * NANOSECONDS)
		all->run = root.stamp.mtime;
	all->known_root = root.id;
	return code < 0 ? error_move_failure(error, &why) : 0;
}

/* An edit_work function. */
static int store(struct edit *edit, void *payload, struct error *error)
{
	struct catalogue *all = payload;
	struct root_record *root = &all->root;
	int code;

	edit->mode &= S_IRUSR | S_IWUSR; /* the URL of an index may contain a token */
	root_record_free(root);
	*root = (struct root_record){0};
	code = reader_root(writer_reader(edit->writer), slice_of(all->index), root, error);
	root->kind = ROOT_ARCHIVE;
	root->path = slice_of(all->index);
	root->stamp.mtime = all->run;
	root->settled = all->is_complete;
	if (code == 0) { /* a new root needs an identifier */
		const struct event_record event = {.action = SLICE("index"), .root = root->path};

		code = writer_put_root(edit->writer, root, error);
		if (code == 0)
			code = writer_log(edit->writer, &event, error);
	}
	if (code >= 0)
		code = projects_store(all, edit->writer, error);
	return code < 0 ? code : writer_put_root(edit->writer, root, error);
}

/* Publish what was read; the next time, so that it takes at most a tenth of the time. */
static int publish(struct catalogue *all, struct error *error)
{
	struct edit_result result = {0};
	int64_t began = milliseconds_now(), pause;
	int code;

	code = edit_database(all->options, all->database, store, all, &result, error);
	if (code < 0)
		return code;
	projects_free(all, false);
	all->published = all->done;
	pause = PUBLISH_SHARE * (milliseconds_now() - began);
	all->until = milliseconds_now() + (pause > PUBLISH_MIN ? pause : PUBLISH_MIN);
	all->limit = all->totals.decoded + PUBLISH_MAX;
	return 0;
}

/* A transfer_next function. */
static int read_next(void *payload, bool has_room, struct error *error)
{
	struct catalogue *all = payload;
	bool is_due = milliseconds_now() >= all->until || all->totals.decoded > all->limit;
	int code = 0;

	if (interrupted())
		return error_set(error, ERROR_IO, "interrupted");
	if (is_due && all->done > all->published)
		code = publish(all, error);
	return code < 0 || !has_room ? code : projects_start_next(all, error);
}

static int read_all(struct catalogue *all, struct error *error)
{
	CLEANUP(error_clear) struct error failure = {0};
	bool was_interrupted;
	int code = open_published(all, error), read;

	if (code < 0)
		return code;
	read = all->module->run(all->transfers, read_next, all, &failure);
	was_interrupted = interrupted();
	if (was_interrupted)
		interruption_over();
	all->is_complete = read == 0;
	if (all->is_complete || all->done > all->published)
		code = publish(all, error);
	if (code == 0 && was_interrupted)
		return error_set(error, ERROR_IO,
		                 "interrupted after %zu of %zu projects; the same command resumes",
		                 all->done, all->count);
	return code < 0 ? code : error_move(error, &failure);
}

/* --- one index --- */

static void catalogue_free(struct catalogue *all)
{
	if (all->module)
		all->module->close(all->transfers);
	projects_free(all, true);
	reader_close(all->reader);
	root_record_free(&all->root);
	worksheet_close(all->sheet);
	free(all->wanted);
	arena_free(&all->arena);
	output_end(&all->output, NULL);
}

static int add_index(const struct options *options, const struct transfer_module *module,
                     const struct settings *settings, const char *url, size_t first,
                     struct error *error)
{
	CLEANUP(cleanup_free) char *clean = module->join(NULL, url);
	CLEANUP(cleanup_free) char *index = NULL;
	CLEANUP(cleanup_free) char *file = NULL;
	const char *python =
	        options->python && strchr(options->python, '.') ? options->python : PYTHON;
	CLEANUP(databases_free) struct databases databases = {0};
	CLEANUP(catalogue_free)
	struct catalogue all = {
	        .options = options,
	        .module = module,
	        .choice = {python, options->all_versions},
	        .output = projects_output(options),
	        .progress = progress_begin("reading", options->quiet),
	};
	int code;

	if (!clean)
		return error_set(error, ERROR_INVALID,
		                 "the URL of an index begins with http or https");
	index = text_format("%s%s", clean, slice_ends(slice_of(clean), SLICE("/")) ? "" : "/");
	all.index = index;
	code = index ? catalogue_file(options, &file, error) : error_nomem(error);
	if (code == 0)
		code = databases_add_file(file, NULL, !options->database, &databases, error);
	if (code == 0)
		code = worksheet_open(page_script, &all.sheet, error);
	if (code == 0)
		code = module->open(settings, index, url, &all.totals, &all.transfers, error);
	if (code == 0)
		code = want_all(&all, first, error);
	all.database = databases.items;
	if (code == 0)
		code = read_all(&all, error);
	progress_erase(&all.progress);
	if (code < 0)
		return code;
	note(options,
	     "%s: %zu projects (%zu unchanged), %zu files by %zu requests and %llu kB; "
	     "%zu could not be read, %zu have no file for Python %s, %zu " SDIST_NEEDS_BUILD
	     "; %zu distributions in all",
	     index, all.count, all.unchanged, all.wheels, all.totals.requests,
	     (unsigned long long)(all.totals.received / 1024), all.failed, all.empty, python,
	     all.needing_build, all.root.distribution_count);
	return all.failed ? STATUS_COULD_NOT : STATUS_DONE;
}

int catalogue_add(const struct options *options, struct error *error)
{
	CLEANUP(settings_free) struct settings settings = {0};
	CLEANUP(cleanup_free) char *urls = NULL;
	const struct transfer_module *module;
	const char *index, *extras;
	bool has_url =
	        options->argument_count > 0 && layout_is_url(slice_of(options->arguments[0]));
	struct slice rest, word;
	int worst = -1, code;

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
	index = settings.values[SETTING_INDEX];
	extras = settings.values[SETTING_EXTRAS];
	urls = has_url ? options_take_url((char *)options->arguments[0])
	               : text_format("%s %s", index ? index : "", extras ? extras : "");
	if (!urls)
		return error_nomem(error);
	for (rest = slice_of(urls); code >= 0 && (word = unicode_take_word(&rest)).len > 0;) {
		CLEANUP(cleanup_free) char *url = strndup(word.ptr, word.len);

		if (!layout_is_url(word)) {
			note(options, "ignored: an index that is neither http nor https");
			continue;
		}
		code = url ? add_index(options, module, &settings, url, has_url, error)
		           : error_nomem(error);
		worst = code > worst ? code : worst;
	}
	if (code >= 0 && worst < 0)
		return error_set(
		        error, ERROR_NOTFOUND,
		        "no index is configured; give its URL, or set index-url as for pip");
	return code < 0 ? code : worst;
}

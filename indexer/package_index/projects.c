/*
 * projects.c - reads projects: the page, then parts of the wheels that pip would install.
 *
 * The source column of a project's rows records their origin:
 *
 *     RUN SHA256 PYTHON newest|all [SPECIFIERS]     1764085617 - 3.12 newest >=2
 *     ETAG                                          "ab12"
 *
 * So the next run fetches only changed pages, a killed run is resumed, and a wheel is read once,
 * unless the page gives another hash ('-' for none). The rows of a project without a page, or
 * without a suitable file, are dropped.
 */
#include "indexer/package_index/projects.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/name_map.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "indexer/archive/sdist.h"
#include "indexer/package_index/wheel.h"
#include "libquery/disk/tree/distname.h"

#define PAGE_MAX ((size_t)32 << 20) /* bytes of a project's page */
#define ETAG_MAX 256                /* bytes; a longer one is not stored */

/* A project being read. */
struct job {
	struct catalogue *all;
	struct job *next; /* in the list of all jobs */
	struct wanted wanted;
	struct page page;
	struct items shared;
	struct item *items;       /* the files of the page */
	size_t left;              /* unfinished ones */
	struct slice etag;        /* of the page */
	char *made_for;           /* the choice and its specifiers; malloc'd */
	struct name_map names;    /* of the page's files: their indexes */
	bool is_over;             /* it was read, or failed */
	bool is_gone;             /* it has no page or no suitable file any more */
	bool has_etag;            /* the page's ETag is known from an earlier run */
	bool is_unsure;           /* a file must be fetched again even if the page is unchanged */
	struct root_record known; /* rows in the database */
};

static const struct column columns[] = {
        KEY("distribution"), KEY("version"), KEY("file"),
        KEY("state"),        KEY("checked"), KEY("error"),
};

struct output projects_output(const struct options *options)
{
	return OUTPUT_BEGIN(columns, options->json);
}

/* --- reports --- */

static void put(struct catalogue *all, const struct distribution_record *row, const char *checked,
                const char *state)
{
	output_text(&all->output, row->name);
	output_text(&all->output, row->version);
	output_text(&all->output, row->directory);
	output_string(&all->output, state);
	output_string(&all->output, checked);
	output_text(&all->output, row->error);
}

static void complain(struct catalogue *all, struct slice what, struct slice why)
{
	all->failed++;
	progress_erase(&all->progress);
	message("%.*s: %.*s", (int)what.len, what.ptr, (int)why.len, why.ptr);
}

/* --- jobs --- */

static void job_free(struct job *job)
{
	for (size_t i = 0; job->items && i < job->page.count; i++)
		arena_free(&job->items[i].arena);
	page_free(&job->page);
	free(job->items);
	root_record_free(&job->known);
	free(job->made_for);
	name_map_free(&job->names);
	arena_free(&job->shared.arena);
	free(job);
}

void projects_free(struct catalogue *all, bool running)
{
	struct job **at = &all->jobs, *job;

	while ((job = *at))
		if (running || job->is_over) {
			*at = job->next;
			job_free(job);
		} else {
			at = &job->next;
		}
}

static int end_job(struct job *job)
{
	job->is_over = true;
	progress_show(&job->all->progress, NULL, ++job->all->done, job->all->count);
	return 0;
}

/* @code: ERROR_NOTFOUND if it has no page or no suitable file, which is common in an index. */
static int fail_job(struct job *job, int code, const char *why)
{
	const struct distribution_record row = {.name = job->wanted.name, .error = slice_of(why)};
	bool is_empty = code == ERROR_NOTFOUND && job->wanted.is_listed;

	job->is_gone = code == ERROR_NOTFOUND;
	job->all->empty += is_empty;
	if (!is_empty)
		complain(job->all, row.name, row.error);
	put(job->all, &row, NULL, is_empty ? "empty" : "failed");
	return end_job(job);
}

static struct item *item_of(const struct job *job, struct slice file)
{
	uint32_t at = name_map_get(&job->names, file);

	return at == NAME_MAP_NONE ? NULL : &job->items[at];
}

/* --- known rows of a project --- */

static int find_known(struct job *job, struct reader *reader, int64_t root, struct error *error)
{
	root_record_free(&job->known);
	job->known = (struct root_record){0};
	return reader ? reader_project(reader, root, job->wanted.normalized_name, &job->known,
	                               error)
	              : 0;
}

/* The ETag of the page from which the rows were made; null: none, or for another choice. */
static const char *known_etag(const struct job *job, bool *is_of_run)
{
	const struct root_record *known = &job->known;
	const char *source = known->distribution_count ? known->distributions->source.ptr : NULL;
	size_t made_for = strlen(job->made_for);
	long long run = 0;
	int length = 0;

	if (!source || sscanf(source, "%lld %*s %n", &run, &length) != 1 ||
	    strncmp(source + length, job->made_for, made_for) != 0)
		return NULL;
	*is_of_run = run == job->all->run;
	return source + length + made_for;
}

/* As in the source column. */
static struct slice hash_of(const struct item *item)
{
	return item->file->sha256.len == SHA256_HEX_SIZE ? item->file->sha256 : SLICE("-");
}

static bool has_hash(const struct distribution_record *row, struct slice hash)
{
	struct slice source = row->source;

	slice_take(&source, ' ');
	return slice_equal(slice_take(&source, ' '), hash);
}

/* The text of the source column; without the choice, the page is read again in any case. */
static struct slice source_of(struct job *job, const struct item *item, bool *failed)
{
	struct slice hash = hash_of(item);
	CLEANUP(cleanup_free) char *text = NULL;

	text = text_format("%lld %.*s %s%s", (long long)job->all->run, (int)hash.len, hash.ptr,
	                   job->is_unsure ? "" : job->made_for, job->etag.ptr);
	*failed |= !text;
	return arena_copy(&job->shared.arena, slice_of(text), failed);
}

/* Replace the rows of the project by those of its items. */
static int store(struct job *job, struct writer *writer, struct error *error)
{
	struct root_record *root = &job->all->root;
	bool failed = false;
	int code = find_known(job, writer_reader(writer), root->id, error);

	for (size_t i = 0; code == 0 && i < job->known.distribution_count; i++) {
		struct distribution_record *row = &job->known.distributions[i];
		const struct item *item = item_of(job, row->directory);

		row->settled = true;
		if (item && item->is_known) {
			row->source = source_of(job, item, &failed);
			code = failed ? error_nomem(error)
			              : writer_anchor_distribution(writer, row, error);
			continue;
		}
		root->distribution_count--;
		root->broken -= !slice_is_null(row->error);
		code = writer_drop_distribution(writer, row->id, error);
	}
	for (size_t i = 0; code == 0 && i < job->page.count; i++) {
		struct distribution_record *row = &job->items[i].row;

		if (job->items[i].is_known)
			continue;
		row->source = source_of(job, &job->items[i], &failed);
		row->settled = true;
		row->position = (uint32_t)++root->distribution_count;
		root->broken += !slice_is_null(row->error);
		code = failed ? error_nomem(error)
		              : writer_put_distribution(writer, root, row, error);
	}
	return code;
}

int projects_store(struct catalogue *all, struct writer *writer, struct error *error)
{
	int code = 0;

	for (struct job *job = all->jobs; code == 0 && job; job = job->next)
		if (job->is_over && (job->items || job->is_gone))
			code = store(job, writer, error);
	return code;
}

static int finish_job(struct job *job)
{
	struct catalogue *all = job->all;

	for (size_t i = 0; i < job->page.count; i++) {
		const struct item *item = &job->items[i];
		const struct distribution_record *row = &item->row;
		bool needs_build = slice_ends(row->error, SLICE(SDIST_NEEDS_BUILD));

		all->wheels += !item->is_known;
		all->needing_build += needs_build;
		if (!needs_build && !slice_is_null(row->error))
			complain(all, row->directory, row->error);
		put(all, row, item->checked,
		    item->is_known              ? "unchanged"
		    : slice_is_null(row->error) ? "added"
		                                : "failed");
	}
	return end_job(job);
}

static int item_done(struct item *item)
{
	arena_free(&item->arena);
	item->job->all->totals.decoded += item->kept;
	item->job->is_unsure |= item->is_unsure;
	return --item->job->left > 0 ? 0 : finish_job(item->job);
}

/* --- pages --- */

/* List the item to be started, unless its row is known. */
static void begin_item(struct item *item)
{
	struct job *job = item->job;

	item->row = (struct distribution_record){.directory = item->file->name,
	                                         .name = job->wanted.name,
	                                         .normalized_name = job->wanted.normalized_name,
	                                         .version = item->file->version};
	item->items = &job->shared;
	if (item->is_known)
		return;
	item->next = job->all->items;
	job->all->items = item;
	job->left++;
}

static int read_page(struct job *job, const struct transfer_answer *answer, struct error *error)
{
	struct catalogue *all = job->all;
	size_t length = strcspn(answer->etag, "\r"); /* to some servers, the end of a header */
	bool failed = false;
	int code = page_read(all->sheet, answer->type, "file", answer->body, &job->page, error);

	if (code == 0)
		code = page_choose(&all->choice, &job->page, job->wanted.normalized_name,
		                   job->wanted.specifiers, error);
	if (code == 0 && job->page.count == 0)
		code = error_set(error, ERROR_NOTFOUND, "no file of it is for this Python");
	if (code < 0)
		return code;
	job->items = calloc(job->page.count, sizeof(*job->items));
	job->shared.url = arena_copy(&job->shared.arena, slice_of(answer->url), &failed);
	job->etag =
	        arena_copy(&job->shared.arena,
	                   (struct slice){answer->etag, length < ETAG_MAX ? length : 0}, &failed);
	for (size_t i = 0; job->items && i < job->page.count; i++) {
		job->items[i].job = job;
		job->items[i].file = &job->page.files[i];
		name_map_set(&job->names, job->page.files[i].name, (uint32_t)i, &failed);
	}
	if (!job->items || failed)
		return error_nomem(error);
	for (size_t i = 0; i < job->known.distribution_count; i++) {
		const struct distribution_record *row = &job->known.distributions[i];
		struct item *item = item_of(job, row->directory);

		if (item && slice_is_null(row->error) && has_hash(row, hash_of(item)))
			item->is_known = true;
	}
	for (size_t i = 0; i < job->page.count; i++)
		begin_item(&job->items[i]);
	return job->left > 0 ? 0 : finish_job(job);
}

static int take_page(void *payload, const struct transfer_answer *answer, struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	struct job *job = payload;
	const struct distribution_record row = {.name = job->wanted.name};
	int code;

	if (answer->problem)
		return fail_job(job, answer->status == 404 ? ERROR_NOTFOUND : ERROR_IO,
		                answer->problem);
	if (answer->status == 304 && job->has_etag) {
		job->all->unchanged++;
		put(job->all, &row, NULL, "unchanged");
		return end_job(job);
	}
	code = read_page(job, answer, &why);
	if (code < 0 && !error_is_failure(code))
		return fail_job(job, code, error_text(&why));
	return error_move(error, &why);
}

/* --- projects --- */

static int start_project(struct catalogue *all, const struct wanted *wanted, struct error *error)
{
	CLEANUP(cleanup_free)
	char *url = text_format("%s%.*s/", all->index, (int)wanted->name.len, wanted->name.ptr);
	struct job *job = calloc(1, sizeof(*job));
	struct transfer_request request = {
	        .url = url, .limit = PAGE_MAX, .done = take_page, .payload = job};
	bool is_of_run = false;
	int code;

	if (!job || !url) {
		free(job);
		return error_nomem(error);
	}
	job->all = all;
	job->shared = (struct items){.module = all->module,
	                             .transfers = all->transfers,
	                             .project = wanted->normalized_name,
	                             .done = item_done};
	job->wanted = *wanted;
	job->next = all->jobs;
	all->jobs = job;
	job->made_for = text_format(
	        "%s %s %.*s\n", all->choice.python, all->choice.all_versions ? "all" : "newest",
	        (int)wanted->specifiers.len, wanted->specifiers.len ? wanted->specifiers.ptr : "");
	if (!job->made_for)
		return error_nomem(error);
	code = find_known(job, all->reader, all->known_root, error);
	request.etag = known_etag(job, &is_of_run);
	if (code < 0 || is_of_run) {
		all->unchanged++;
		return code < 0 ? code : end_job(job);
	}
	request.etag = request.etag && *request.etag ? request.etag : NULL;
	job->has_etag = request.etag != NULL;
	return all->module->add(all->transfers, &request, error);
}

int projects_start_next(struct catalogue *all, struct error *error)
{
	struct item *item = all->items;
	int code;

	if (!item && all->next == all->count)
		return 0;
	if (item)
		all->items = item->next;
	code = item ? item_start(item, error)
	            : start_project(all, &all->wanted[all->next++], error);
	return code < 0 ? code : 1;
}

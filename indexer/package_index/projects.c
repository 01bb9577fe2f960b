/*
 * projects.c - reads projects: the page, then the ends of the wheels that pip would install.
 *
 * What cannot be read costs one line, and stops no other.
 */
#include "indexer/package_index/projects.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "indexer/archive/sdist.h"
#include "indexer/package_index/wheel.h"
#include "libquery/disk/metadata/distribution.h"

#define PROJECTS_MAX 16                 /* under way at a time */
#define KEEP_EVERY   8                  /* projects: what a kill may cost */
#define PAGE_MAX     ((size_t)32 << 20) /* bytes of a project's page */

/* A project under way. */
struct job {
	struct catalogue *all;
	struct wanted wanted;
	struct page page;
	struct item *items;
	struct cache_row *rows; /* of the items */
	size_t count, left;
	char *url, *etag; /* of the page, in the end */
	bool is_known;    /* its page was read before */
	bool is_unsure;   /* something is to be asked again, whether or not the page changes */
	struct arena arena;
};

/* A wheel under way. */
struct item {
	struct job *job;
	const struct page_file *file;
	struct cache_row *row;
	struct wheel wheel;
	char *url, *etag;
	bool is_asked_for_size, is_known;
};

static const struct column columns[] = {
        KEY("distribution"), KEY("version"), KEY("file"),
        KEY("state"),        KEY("checked"), KEY("error"),
};

struct output projects_output(const struct options *options)
{
	return OUTPUT_BEGIN(columns, options->json);
}

/* --- what is said --- */

static void put(struct catalogue *all, struct slice project, const struct cache_row *row,
                const char *state)
{
	output_text(&all->output, row && row->name.len ? row->name : project);
	output_text(&all->output, row ? row->version : (struct slice){0});
	output_text(&all->output, row ? row->file : (struct slice){0});
	output_string(&all->output, state);
	output_text(&all->output, row ? row->checked : (struct slice){0});
	output_text(&all->output, row ? row->error : (struct slice){0});
}

static void complain(struct catalogue *all, struct slice name, const char *what)
{
	struct cache_row row = {.error = slice_of(what)};

	all->failed++;
	progress_erase(&all->progress);
	message("%.*s: %s", (int)name.len, name.ptr, what);
	put(all, name, &row, "failed");
}

/* How far it has come, and how long it will still take at this pace. */
static void show(struct catalogue *all)
{
	int64_t past = milliseconds_now() - all->began;
	char left[64] = "";

	if (all->done > PROJECTS_MAX && past > 5000)
		snprintf(left, sizeof(left), "about %lld min left",
		         (long long)(past * (int64_t)(all->count - all->done) / (int64_t)all->done /
		                             60000 +
		                     1));
	progress_show(&all->progress, left, all->done, all->count);
}

/* --- jobs --- */

static void job_free(struct job *job)
{
	for (size_t i = 0; job->items && i < job->count; i++) {
		wheel_free(&job->items[i].wheel);
		free(job->items[i].url);
		free(job->items[i].etag);
	}
	page_free(&job->page);
	free(job->items);
	free(job->rows);
	free(job->url);
	free(job->etag);
	arena_free(&job->arena);
	free(job);
}

/* Whatever became of it, another one takes its place. */
static int end_job(struct job *job, int code, struct error *error)
{
	struct catalogue *all = job->all;

	job_free(job);
	all->done++;
	show(all);
	return code < 0 ? code : projects_start(all, error);
}

static int fail_job(struct job *job, const char *what, struct error *error)
{
	complain(job->all, job->wanted.name, what);
	return end_job(job, 0, error);
}

/* All files are read: keep them. */
static int finish_job(struct job *job, struct error *error)
{
	struct catalogue *all = job->all;
	const struct cache_project project = {
	        all->made_for, job->is_unsure ? (struct slice){0} : slice_of(job->etag), true};
	int code = cache_put(all->sheet, job->wanted.name, &project, job->rows, job->count, error);

	if (code == 0 && ++all->unsaved % KEEP_EVERY == 0)
		code = cache_keep(all->sheet, false, error);
	for (size_t i = 0; i < job->count; i++) {
		const struct cache_row *row = &job->rows[i];
		bool needs_build = slice_ends(row->error, SLICE(SDIST_NEEDS_BUILD));

		all->wheels += !job->items[i].is_known;
		all->needing_build += needs_build;
		all->failed += !needs_build && !slice_is_null(row->error);
		if (!needs_build && !slice_is_null(row->error)) {
			progress_erase(&all->progress);
			message("%.*s: %.*s", (int)row->file.len, row->file.ptr,
			        (int)row->error.len, row->error.ptr);
		}
		put(all, job->wanted.name, row,
		    job->items[i].is_known      ? "unchanged"
		    : slice_is_null(row->error) ? "added"
		                                : "failed");
	}
	return end_job(job, code, error);
}

static int item_done(struct item *item, struct error *error)
{
	return --item->job->left == 0 ? finish_job(item->job, error) : 0;
}

/* Its row says why; without a lasting reason, it is asked for again next time. */
static int item_failed(struct item *item, const char *why, bool is_lasting, struct error *error)
{
	bool failed = false;

	item->row->error = arena_copy(&item->job->arena, slice_of(why), &failed);
	item->job->is_unsure |= !is_lasting;
	return failed ? error_nomem(error) : item_done(item, error);
}

/* --- wheels --- */

static transfer_done take_piece, take_metadata;

int projects_ask(struct catalogue *all, const struct transfer_request *request, struct error *error)
{
	all->requests++;
	return all->module->add(all->transfers, request, error);
}

static int ask_range(struct item *item, const char *range, size_t limit, struct error *error)
{
	const struct transfer_request request = {.url = item->url,
	                                         .range = range,
	                                         .limit = limit,
	                                         .done = take_piece,
	                                         .payload = item};

	return projects_ask(item->job->all, &request, error);
}

static int ask_piece(struct item *item, uint64_t at, uint64_t size, size_t limit,
                     struct error *error)
{
	char range[64];

	snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)at,
	         (unsigned long long)(at + size - 1));
	return ask_range(item, range, limit, error);
}

/* The end of the wheel: by its size, where the index gives it, since PyPI does not count from
 * there.
 */
static int ask_tail(struct item *item, struct error *error)
{
	uint64_t size = item->wheel.size, tail = size < WHEEL_TAIL ? size : WHEEL_TAIL;
	char range[64];

	if (size > 0)
		return ask_piece(item, size - tail, tail, (size_t)WHEEL_WHOLE_MAX, error);
	snprintf(range, sizeof(range), "-%llu", (unsigned long long)WHEEL_TAIL);
	return ask_range(item, range, (size_t)WHEEL_WHOLE_MAX, error);
}

/* PEP 658: METADATA by itself, if the index has it and the wheel's end does not. */
static int ask_metadata(struct item *item, struct error *error)
{
	CLEANUP(cleanup_free) char *url = text_format("%s.metadata", item->url);
	const struct transfer_request request = {
	        .url = url, .limit = METADATA_MAX, .done = take_metadata, .payload = item};

	return url ? projects_ask(item->job->all, &request, error) : error_nomem(error);
}

/* All is read. */
static int keep_wheel(struct item *item, struct error *error)
{
	struct arena *arena = &item->job->arena;
	struct cache_row *row = item->row;
	bool failed = false;

	row->info = arena_copy(arena, item->wheel.info, &failed);
	row->name = arena_copy(arena, item->wheel.name, &failed);
	row->version = arena_copy(arena, item->wheel.version, &failed);
	row->entry_points = arena_copy(arena, item->wheel.entry_points, &failed);
	if (slice_is_null(row->checked) && item->wheel.metadata_is_right)
		row->checked = SLICE("metadata");
	return failed ? error_nomem(error) : item_done(item, error);
}

static int read_on(struct item *item, struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	struct wheel *wheel = &item->wheel;
	int code = wheel_read(wheel, item->file->name.ptr, item->file->metadata_sha256, &why);
	struct slice reason = slice_of(error_text(&why)), name = item->file->name;

	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (code < 0 && slice_starts(reason, name) && reason.len > name.len + 2)
		reason = slice_from(reason, name.len + 2);
	if (code < 0)
		return item_failed(item, reason.ptr, true, error);
	if (code > 0)
		return keep_wheel(item, error);
	if (!wheel->has_metadata && wheel->info.len && !slice_is_null(item->file->metadata_sha256))
		return ask_metadata(item, error);
	return ask_piece(item, wheel->missing_at, wheel->missing_size, (size_t)wheel->missing_size,
	                 error);
}

static int take_metadata(void *payload, const struct transfer_answer *answer, struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	struct item *item = payload;
	int code;

	item->job->all->bytes += answer->body.len;
	if (answer->problem || answer->status != 200)
		return item_failed(item,
		                   answer->problem ? answer->problem : "its METADATA is not there",
		                   false, error);
	code = wheel_take_metadata(&item->wheel, answer->body, item->file->metadata_sha256, &why);
	if (code < 0)
		return item_failed(item, error_text(&why), true, error);
	return read_on(item, error);
}

/* A server that knows no ranges gives all of it: then its hash can be compared, and must agree. */
static int take_whole(struct item *item, const struct transfer_answer *answer, struct error *error)
{
	char hex[SHA256_HEX_SIZE + 1];
	uint8_t digest[SHA256_SIZE];

	if (!slice_is_null(item->file->sha256)) {
		sha256_of(answer->body.ptr, answer->body.len, digest);
		sha256_hex(digest, hex);
		if (!slice_equal(slice_of(hex), item->file->sha256))
			return item_failed(item, "its hash is not the one that the index gives",
			                   true, error);
		item->row->checked = SLICE("file");
	}
	return 1;
}

/* The wheel must be one and the same at each request. */
static const char *judge_range(struct item *item, const struct transfer_answer *answer)
{
	bool is_first = !item->etag;

	if (!answer->has_range)
		return "the server's answer is no range";
	if (item->wheel.size && item->wheel.size != answer->total)
		return "its size is not the one that the index, or the server, gave before";
	if (!is_first && strcmp(item->etag, answer->etag) != 0)
		return "it was replaced while it was read";
	return NULL;
}

static const char *judge_piece(struct item *item, const struct transfer_answer *answer,
                               bool is_whole)
{
	if (answer->is_too_large && answer->status == 200)
		return "the server gives no parts of files, and this one is larger than 4 MiB";
	if (answer->problem || is_whole)
		return answer->problem;
	return answer->status == 206 ? judge_range(item, answer) : "the server does not give it";
}

static int take_piece(void *payload, const struct transfer_answer *answer, struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	struct item *item = payload;
	/* Also as a part: of a small wheel that is all of it. */
	bool is_whole =
	        answer->status == 200 || (answer->has_range && answer->body.len == answer->total);
	const char *problem = judge_piece(item, answer, is_whole);
	int code;

	item->job->all->bytes += answer->body.len;
	if (problem)
		return item_failed(item, problem, !answer->problem, error);
	if (is_whole && (code = take_whole(item, answer, error)) != 1)
		return code;
	if (!item->etag && !(item->etag = strdup(answer->etag)))
		return error_nomem(error);
	item->wheel.size = is_whole ? answer->body.len : answer->total;
	code = wheel_add(&item->wheel, is_whole ? 0 : answer->first, answer->body, &why);
	if (code == ERROR_NOMEM)
		return error_nomem(error);
	return code < 0 ? item_failed(item, error_text(&why), true, error) : read_on(item, error);
}

/* --- projects --- */

static const struct cache_row *known_row(const struct cache_row *known, size_t count,
                                         struct slice file)
{
	for (size_t i = 0; i < count; i++)
		if (slice_equal(known[i].file, file) && slice_is_null(known[i].error))
			return &known[i];
	return NULL;
}

/* A wheel never changes under its name: what was read of it is not read again. */
static int start_item(struct item *item, const struct candidate *candidate,
                      const struct cache_row *known, size_t known_count, struct error *error)
{
	const struct cache_row *old = known_row(known, known_count, candidate->file->name);
	struct job *job = item->job;
	const char *base = job->url;
	CLEANUP(cleanup_free) char *other = NULL;

	item->file = candidate->file;
	if (old) {
		*item->row = *old;
		item->is_known = true;
		return 0;
	}
	item->row->file = candidate->file->name;
	item->row->name = job->wanted.name;
	item->row->version = candidate->version;
	if (!candidate->is_wheel) {
		item->row->error = SLICE("a source distribution: " SDIST_NEEDS_BUILD);
		return 0;
	}
	if (!slice_is_null(job->page.base)) {
		other = job->all->module->join(base, job->page.base.ptr, NULL);
		base = other ? other : base;
	}
	item->url = job->all->module->join(base, candidate->file->url.ptr, NULL);
	if (!item->url) {
		item->row->error = SLICE("its URL is neither http nor https");
		return 0;
	}
	item->wheel.size = candidate->file->size > 0 ? (uint64_t)candidate->file->size : 0;
	job->left++;
	return ask_tail(item, error);
}

static int start_items(struct job *job, struct error *error)
{
	struct catalogue *all = job->all;
	CLEANUP(cleanup_free) struct candidate *chosen = NULL;
	CLEANUP(cleanup_free) struct cache_row *known = NULL;
	size_t count = 0, known_count = 0;
	int code = choose(&all->choice, &job->page, job->wanted.specifiers, &chosen, &count, error);

	if (code == 0)
		code = cache_rows(all->sheet, job->wanted.name, &job->arena, &known, &known_count,
		                  error);
	if (code < 0)
		return code;
	job->items = calloc(count + 1, sizeof(*job->items));
	job->rows = calloc(count + 1, sizeof(*job->rows));
	if (!job->items || !job->rows)
		return error_nomem(error);
	job->left = 1; /* this function itself */
	for (job->count = 0; code == 0 && job->count < count; job->count++) {
		struct item *item = &job->items[job->count];

		item->job = job;
		item->row = &job->rows[job->count];
		code = start_item(item, &chosen[job->count], known, known_count, error);
	}
	return code;
}

static int take_page(void *payload, const struct transfer_answer *answer, struct error *error)
{
	CLEANUP(error_clear) struct error why = {0};
	struct job *job = payload;
	struct catalogue *all = job->all;
	int code;

	all->bytes += answer->body.len;
	if (answer->problem)
		return fail_job(job, answer->problem, error);
	if (answer->status == 304 && job->is_known) {
		all->unchanged++;
		put(all, job->wanted.name, NULL, "unchanged");
		return end_job(job, 0, error);
	}
	if (answer->status == 404)
		return fail_job(job, "the index has no such project", error);
	if (answer->status == 401 || answer->status == 403)
		return fail_job(job, "the index wants another user or password", error);
	if (answer->status != 200)
		return fail_job(job, "the index does not give its page", error);
	code = page_read(all->sheet, answer->type, false, answer->body, &job->page, &why);
	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (code < 0)
		return fail_job(job, error_text(&why), error);
	job->url = strdup(answer->url);
	job->etag = strdup(answer->etag);
	code = job->url && job->etag ? start_items(job, error) : error_nomem(error);
	if (code < 0)
		return code;
	if (job->count == 0)
		return fail_job(job, "no file of it is for this Python", error);
	return --job->left == 0 ? finish_job(job, error) : 0;
}

/* PEP 503: the normalized name, with '-'. */
static int start_project(struct catalogue *all, const struct wanted *wanted,
                         const struct cache_project *known, struct error *error)
{
	CLEANUP(cleanup_free)
	char *url = text_format("%s%.*s/", all->index, (int)wanted->name.len, wanted->name.ptr);
	struct job *job = calloc(1, sizeof(*job));
	const struct transfer_request request = {
	        .url = url,
	        .accept = PAGE_ACCEPT,
	        .etag = slice_is_null(wanted->specifiers) ? known->etag.ptr : NULL,
	        .limit = PAGE_MAX,
	        .done = take_page,
	        .payload = job,
	};

	if (!job || !url) {
		free(job);
		return error_nomem(error);
	}
	job->all = all;
	job->wanted = *wanted;
	job->is_known = request.etag != NULL;
	return projects_ask(all, &request, error);
}

/* As many as may be under way; those that a killed run has done are done. */
int projects_start(struct catalogue *all, struct error *error)
{
	int code = 0;

	while (code == 0 && all->next < all->count && all->next - all->done < PROJECTS_MAX) {
		const struct wanted *wanted = &all->wanted[all->next++];
		CLEANUP(arena_free) struct arena arena = ARENA_INIT;
		struct cache_project known = {0};

		if (!cache_find(all->sheet, wanted->name, &arena, &known) ||
		    !slice_equal(known.made_for, all->made_for))
			known = (struct cache_project){0};
		if (known.is_done) {
			all->unchanged++;
			all->done++;
			continue;
		}
		code = start_project(all, wanted, &known, error);
	}
	return code;
}

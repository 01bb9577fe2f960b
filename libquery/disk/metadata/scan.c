/*
 * scan.c - reads a path entry by the rules of importlib.metadata, with which the tests compare it.
 */
#include "libquery/disk/metadata/scan.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "db/base/cleanup.h"
#include "db/base/clock.h"
#include "db/base/unicode.h"
#include "libquery/disk/tree/ahead.h"
#include "libquery/disk/tree/distname.h"

#define SCAN_TRIES   10 /* reads of a directory that keeps changing */
#define ASK_PROGRESS 16 /* distributions between two calls */
#define WAITS_MAX    10 /* waits for the next tick in one scan: files may change all the time */

/* The state of a scan. */
struct scan {
	struct tree *tree;
	const struct scan_options *options;
	struct root_record *out;
	struct path_index names;                  /* of the distributions, in the tree's order */
	const struct distribution_record **known; /* the row of each, or NULL */
	struct import_cache cache;
	bool wants_startups;
	struct path_index startups;
	int64_t began;         /* nanoseconds since 1970 */
	int64_t now;           /* began, or the end of the last wait for a tick */
	int64_t settled_after; /* nanoseconds; the minimum age of a settled file */
	unsigned waits;
	bool egg;    /* the path entry is an egg, which has EGG-INFO */
	bool unread; /* some distribution could not be read */
};

/* --- listing --- */

static int add_child(void *payload, struct slice name)
{
	struct scan *scan = payload;
	bool is_startup = scan->wants_startups && scan->options->startup->is_file(name);
	bool is_info = distname_is_info(name) || (scan->egg && distname_is_egg_info(name));
	bool failed = false;

	if (!is_startup && !is_info)
		return 0;
	if (is_info && scan->names.count == DISTRIBUTIONS_MAX)
		return ERROR_LIMIT;
	name = arena_copy(&scan->out->arena, name, &failed);
	if (failed || (is_startup && !path_index_add(&scan->startups, name)) ||
	    (is_info && !path_index_add(&scan->names, name)))
		return ERROR_NOMEM;
	return 0;
}

static int list(struct scan *scan, struct error *error)
{
	struct root_record *out = scan->out;
	int code;

	scan->wants_startups = scan->options->startup && scan->tree->kind == ROOT_DIRECTORY;
	code = tree_children(scan->tree, add_child, scan, error);
	path_index_sort(&scan->startups);
	if (code == ERROR_LIMIT)
		return error_set(error, code, "more than %u distributions", DISTRIBUTIONS_MAX);
	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (error_is_failure(code))
		return code;
	/* importlib.metadata suppresses all other errors. */
	out->distribution_count = code < 0 ? 0 : scan->names.count;
	out->distributions =
	        arena_calloc(&out->arena, out->distribution_count, sizeof(*out->distributions));
	if (!out->distributions)
		return error_nomem(error);
	for (size_t i = 0; i < out->distribution_count; i++) {
		out->distributions[i].directory = scan->names.paths[i];
		out->distributions[i].settled = true;
	}
	return 0;
}

/* --- reuse --- */

/* Find the known row of each distribution; usually they are in the same order. */
static int match_known(struct scan *scan, struct error *error)
{
	static const struct root_record nothing;
	const struct root_record *known = scan->options->known ? scan->options->known : &nothing;
	CLEANUP(name_map_free) struct name_map by_name = {0};
	size_t next = 0, count = known->distribution_count;
	bool failed;

	scan->known = calloc(scan->out->distribution_count + 1, sizeof(*scan->known));
	failed = !scan->known;
	for (size_t i = 0; count > 0 && !failed && i < scan->out->distribution_count; i++) {
		struct slice directory = scan->out->distributions[i].directory;

		if (next >= count ||
		    !slice_equal(known->distributions[next].directory, directory)) {
			for (size_t j = by_name.count; j < count; j++)
				name_map_put(&by_name, known->distributions[j].directory,
				             (uint32_t)j, &failed);
			next = name_map_get(&by_name, directory); /* or NAME_MAP_NONE */
		}
		if (next < count)
			scan->known[i] = &known->distributions[next++];
	}
	return failed ? error_nomem(error) : 0;
}

/* Use the row's content at the distribution's current position. */
static void take_row(struct distribution_record *distribution,
                     const struct distribution_record *known)
{
	const struct distribution_record here = *distribution;

	*distribution = *known;
	distribution->directory = here.directory;
	distribution->position = here.position;
	distribution->reused = true;
}

/* --- checking rows --- */

static int check_row(const struct scan *scan, size_t i, struct error *error)
{
	const struct scan_options *options = scan->options;

	return scan->known[i] ? row_is_valid(scan->tree, options->carried, options->row_check,
	                                     scan->known[i], NULL, error)
	                      : 0;
}

static void look_ahead(const void *payload, size_t index, struct ahead_file *out)
{
	out->answer = check_row(payload, index, NULL);
	out->left = out->answer < 0; /* the caller retries, and reports the error */
}

/*
 * Mark valid rows as reused; the others will be read, and those that change in place stay watched.
 * On slow file systems several rows are checked concurrently. 0 or a failure.
 */
static int check_rows(struct scan *scan, struct error *error)
{
	size_t count = scan->out->distribution_count;
	struct ahead_pace pace = {0};
	struct ahead *ahead = NULL;
	int code = 0;

	for (size_t i = 0; code >= 0 && i < count; i++) {
		struct distribution_record *distribution = &scan->out->distributions[i];
		const struct distribution_record *known = scan->known[i];
		struct ahead_file file = {.left = true};
		int64_t began;

		if (ahead)
			ahead_take(ahead, i, &file);
		code = file.answer;
		if (file.left) {
			began = nanoseconds_now(CLOCK_MONOTONIC);
			code = check_row(scan, i, error);
			if (!ahead && ahead_pays(&pace, began, count - i - 1))
				ahead = ahead_begin(look_ahead, scan, i + 1, count);
		}
		if (code < 0 || !known)
			continue;
		distribution->id = known->id;
		distribution->reused = code > 0;
		distribution->watched = code == 0 && known->watched == WATCHED_ALWAYS;
	}
	ahead_end(ahead);
	return code < 0 ? code : 0;
}

/* --- reading a distribution --- */

/* Clear the content, and set stamps that never match. */
static void withhold(struct distribution_record *distribution)
{
	distribution->entry_points = NULL;
	distribution->entry_point_count = 0;
	distribution->plugins = NULL;
	distribution->plugin_count = 0;
	distribution->name = distribution->version = distribution->error = (struct slice){0};
	distribution->record_sha256 = (struct slice){0};
	distribution->directory_stamp = distribution->files_stamp = 0;
	distribution->entry_points_txt = distribution->metadata = (struct outline){0};
	distribution->has_metadata = distribution->settled = true; /* private, too */
	distribution->watched = WATCHED_ALWAYS;
}

/*
 * Is a file last changed at @newest older than now? If it has changed within this tick, after the
 * path entry itself, it is so a tick later.
 */
static bool is_past(struct scan *scan, int64_t newest)
{
	const struct scan_options *options = scan->options;

	if (newest >= scan->now && scan->settled_after == 0 && options->now_after &&
	    scan->waits++ < WAITS_MAX)
		scan->now = nanoseconds_of(options->now_after(options->payload, newest));
	return newest + scan->settled_after < scan->now;
}

/* 1: the known row is valid; 0: read the distribution; or a failure. */
static int compare_stamps(struct scan *scan, struct distribution_record *distribution,
                          const struct distribution_record *known, struct error *error)
{
	const struct scan_options *options = scan->options;
	const struct carried *carried = options->carried;
	int64_t newest = 0;
	int code = row_stamps(scan->tree, known, distribution, &newest, error);
	/*
	 * An unchanged distribution may have plugins of newly added kinds. And the rows may be a
	 * private database's.
	 */
	bool may_reuse =
	        known && scan->tree->kind == ROOT_DIRECTORY && !scan->tree->withheld &&
	        (!options->kinds || options->known->kinds == plugin_kinds_digest(options->kinds));

	if (code < 0)
		return code;
	if (known)
		distribution->id = known->id;
	if (may_reuse && !known->watched && row_matches(NULL, known, distribution)) {
		take_row(distribution, known);
		return 1;
	}
	distribution->settled = is_past(scan, newest);
	code = tree_is_editable(scan->tree, distribution->directory, error);
	distribution->watched |= code > 0;
	if (code < 0)
		return code;
	if (may_reuse && carried && row_matches(carried, known, distribution)) {
		/* Keep the row's content, with the current stamps. */
		const struct distribution_record now = *distribution;

		take_row(distribution, known);
		distribution->directory_stamp = now.directory_stamp;
		distribution->files_stamp = now.files_stamp;
		distribution->entry_points_txt = now.entry_points_txt;
		distribution->metadata = now.metadata;
		distribution->settled = now.settled;
		distribution->watched = now.watched;
		return 1;
	}
	if (!distribution->watched && newest + WATCHED_FOR >= scan->began)
		distribution->watched = WATCHED_YOUNG;
	return 0;
}

static int examine(struct scan *scan, struct distribution_record *distribution,
                   const struct distribution_record *known, struct error *error)
{
	const struct target_context context = {&scan->cache, scan->options->linkage,
	                                       scan->options->place, scan->options->kinds};
	unsigned depth = scan->options->depth;
	int code = 0;

	scan->tree->withheld = false;
	distribution->watched |=
	        scan->options->in_place &&
	        ascii_ends_ignoring_case(distribution->directory, SLICE("egg-info"));
	if (distribution->reused)
		return 0;
	if (depth & SCAN_STAMPS)
		code = compare_stamps(scan, distribution, known, error);
	if (code != 0)
		return code;
	code = distribution_read(scan->tree, &scan->out->arena, depth, distribution, error);
	if (depth & SCAN_STAMPS && depth & SCAN_HAS_METADATA && !distribution->has_metadata)
		distribution->watched = WATCHED_ALWAYS;
	if (code == 0 && scan->options->targets &&
	    (distribution->entry_point_count > 0 || context.kinds))
		code = scan->options->targets(scan->tree, &context, distribution, &scan->out->arena,
		                              error);
	if (scan->tree->withheld) /* by any of its files; RECORD is read last */
		withhold(distribution);
	return code;
}

/*
 * 1: keep it; 0: drop it; or an error. A distribution that could not be read keeps its known row,
 * if any, but nothing is settled.
 */
static int examine_or_leave(struct scan *scan, struct distribution_record *distribution,
                            const struct distribution_record *known, struct error *error)
{
	CLEANUP(error_clear) struct error own = {0};
	int code = examine(scan, distribution, known, &own);

	if (code >= 0)
		return 1;
	if (!scan->options->on_unread)
		return error_set(error, code, "%.*s: %s", (int)distribution->directory.len,
		                 distribution->directory.ptr, error_text(&own));
	scan->options->on_unread(scan->options->payload, distribution->directory, &own);
	scan->unread = true;
	if (!known)
		return 0;
	take_row(distribution, known);
	distribution->settled = false;
	return 1;
}

static int examine_all(struct scan *scan, struct error *error)
{
	const struct scan_options *options = scan->options;
	struct root_record *out = scan->out;
	size_t count = out->distribution_count, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct distribution_record *distribution = &out->distributions[i];
		int code;

		if (i % ASK_PROGRESS == 0 && options->on_progress &&
		    options->on_progress(options->payload, i, count))
			return error_set(error, ERROR_IO, "interrupted");
		code = examine_or_leave(scan, distribution,
		                        options->depth & SCAN_STAMPS ? scan->known[i] : NULL,
		                        error);
		if (code < 0)
			return code;
		if (code == 0)
			continue;
		out->broken += !slice_is_null(distribution->error);
		out->watched += distribution->watched != WATCHED_NOT;
		out->distributions[kept++] = *distribution;
	}
	out->distribution_count = kept;
	return 0;
}

/* --- order --- */

/*
 * importlib.metadata keeps a dict from look-up keys to lists: a distribution whose key was seen
 * before moves up behind those with the same key, its family. EGG-INFO comes last.
 */
static int put_in_order(struct scan *scan, struct error *error)
{
	CLEANUP(arena_free) struct arena keys = ARENA_INIT;
	CLEANUP(name_map_free) struct name_map families = {0};
	struct root_record *out = scan->out;
	size_t count = out->distribution_count;
	CLEANUP(cleanup_free) uint32_t *family = calloc(2 * count + 2, sizeof(*family));
	uint32_t *start = family ? family + count : NULL;
	bool failed = !family;

	for (size_t i = 0; !failed && i < count; i++) {
		struct slice directory = out->distributions[i].directory;
		size_t room = DISTNAME_ROOM(directory.len) + 1;
		char *key = arena_alloc(&keys, room);

		failed = !key;
		family[i] = (uint32_t)count;
		if (key && distname_is_info(directory))
			family[i] = name_map_put(
			        &families,
			        (struct slice){key, distname_lookup_key(directory, key, room)},
			        (uint32_t)families.count, &failed);
		if (!failed)
			start[family[i] + 1]++;
	}
	if (failed)
		return error_nomem(error);
	for (size_t f = 0; f < count; f++)
		start[f + 1] += start[f];
	for (size_t i = 0; i < count; i++)
		out->distributions[i].position = start[family[i]]++;
	root_record_sort(out);
	return 0;
}

/* --- shadowed distributions --- */

void scan_seen_free(struct scan_seen *seen)
{
	name_map_free(&seen->names);
	arena_free(&seen->arena);
}

/*
 * Skip the entry points of distributions that seem to be shadowed, as far as the directory names
 * show it; not if the order depends on METADATA.
 */
static int pass_over_shadowed(struct scan *scan, struct error *error)
{
	struct scan_seen *seen = scan->options->seen;
	struct root_record *out = scan->out;
	bool failed = false;
	struct slice name;

	if (!seen || scan->tree->kind != ROOT_DIRECTORY || scan->options->depth & SCAN_HAS_METADATA)
		return 0;
	for (size_t i = 0; !failed && i < out->distribution_count; i++) {
		size_t before = seen->names.count;

		if (!distname_stem(out->distributions[i].directory, &name))
			continue;
		name = distname_normalize_in(&seen->arena, name, &failed);
		if (!failed)
			name_map_put(&seen->names, name, 0, &failed);
		out->distributions[i].unread = seen->names.count == before;
	}
	return failed ? error_nomem(error) : 0;
}

/* --- the scan --- */

/* On a file system that stores whole seconds, a tick is a second. */
static void set_clock(struct scan *scan)
{
	const struct scan_options *options = scan->options;
	struct timespec now =
	        options->now_after ? options->now_after(options->payload, 0) : options->now;

	scan->settled_after = now.tv_nsec == 0 ? CLOCK_SKEW : 0;
	if (now.tv_sec == 0)
		clock_gettime(CLOCK_REALTIME, &now);
	scan->began = scan->now = nanoseconds_of(now);
}

/* Has the directory no times, as the root of a FAT, so that none shows a change? */
static bool has_no_times(const struct tree *tree)
{
	struct statvfs system;

	return tree->kind == ROOT_DIRECTORY && tree->stamp.ctime == 0 &&
	       (fstatvfs(tree->fd, &system) != 0 || !(system.f_flag & ST_RDONLY));
}

static bool is_settled(const struct scan *scan)
{
	struct stamp stamp = scan->tree->stamp;
	int64_t newest = stamp.mtime > stamp.ctime ? stamp.mtime : stamp.ctime;

	if (has_no_times(scan->tree))
		return false;
	if (scan->tree->kind == ROOT_DIRECTORY && !(scan->options->depth & SCAN_STAMPS))
		return newest + WATCHED_FOR < scan->began;
	for (size_t i = 0; i < scan->out->distribution_count; i++)
		if (!scan->out->distributions[i].settled)
			return false;
	return newest + scan->settled_after < scan->began;
}

int64_t scan_kinds(enum root_kind kind, const struct plugin_kinds *kinds)
{
	return kind == ROOT_ABSENT ? 0 : plugin_kinds_digest(kinds);
}

static void cleanup_scan(struct scan *scan)
{
	path_index_free(&scan->names);
	path_index_free(&scan->startups);
	import_cache_free(&scan->cache);
	free(scan->known);
}

int scan_tree(struct tree *tree, const struct scan_options *options, struct root_record *out,
              struct error *error)
{
	CLEANUP(root_record_free) struct root_record root = {.kind = tree->kind};
	CLEANUP(cleanup_scan)
	struct scan scan = {
	        .tree = tree,
	        .options = options,
	        .out = &root,
	        .egg = distname_is_egg_base(options->egg_base),
	};
	struct stat status;
	int code;

	set_clock(&scan);
	tree->readers = options->readers;
	code = list(&scan, error);
	if (code == 0)
		code = put_in_order(&scan, error);
	if (code == 0)
		code = pass_over_shadowed(&scan, error);
	if (code == 0)
		code = match_known(&scan, error);
	if (code == 0 && options->known && !(options->depth & SCAN_STAMPS))
		code = check_rows(&scan, error);
	if (code < 0)
		return code;
	tree_expect(tree, root.distributions, root.distribution_count);
	code = examine_all(&scan, error);
	tree_expect(tree, NULL, 0);
	if (code == 0 && scan.wants_startups)
		code = options->startup->read(tree, &scan.startups, &root, error);
	if (code < 0)
		return code;
	root.stamp = tree->stamp;
	root.kinds = options->kinds ? scan_kinds(tree->kind, options->kinds) : 0;
	if (tree->kind == ROOT_ZIP && fstat(tree->fd, &status) == 0)
		root.size =
		        status.st_size; /* for directories, st_size depends on the file system */
	root.settled = !scan.unread && is_settled(&scan);
	*out = root;
	root = (struct root_record){0};
	return 0;
}

int scan_opened(struct tree *tree, const char *path, const struct scan_options *options,
                struct root_record *out, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *opened = tree;
	CLEANUP(root_record_free) struct root_record root = {0};
	CLEANUP(error_clear) struct error own = {0};
	struct scan_options how = *options;
	struct stat status;
	bool changed = true; /* since opening */
	int code = 0;

	for (int tries = 0; code == 0 && changed && tries < SCAN_TRIES; tries++) {
		root_record_free(&root);
		code = opened ? 0 : tree_open_for(how.readers, path, &opened, &own);
		if (code < 0 && !error_is_failure(code)) {
			*out = (struct root_record){.kind = ROOT_ABSENT, .settled = true};
			return 0;
		}
		if (code == 0)
			code = scan_tree(opened, &how, &root, &own);
		changed = code == 0 && (fstat(opened->fd, &status) != 0 ||
		                        !stamp_equal(stamp_of(&status), opened->stamp));
		root.settled &= !changed;
		how.seen = NULL; /* it already contains the names of this entry */
		tree_close(take(opened));
	}
	if (code < 0)
		return error_set(error, code, "%s: %s", path, error_text(&own));
	*out = root;
	root = (struct root_record){0};
	return 0;
}

int scan_path(const char *path, const struct scan_options *options, struct root_record *out,
              struct error *error)
{
	return scan_opened(NULL, path, options, out, error);
}

/*
 * scan.c - see scan.h. The rules followed here are those of Python's
 * importlib.metadata; the tests compare with it.
 */
#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "distname.h"
#include "distribution.h"
#include "name_map.h"
#include "target_record.h"
#include "unicode.h"

#define SCAN_TRIES   10  /* how often a directory that changes meanwhile is read */
#define ASK_PROGRESS 256 /* distributions between two calls */
#define NANOSECONDS  1000000000

/* A scan under way. */
struct scan {
	struct tree *tree;
	const struct scan_options *options;
	struct root_record *out;
	struct distribution_record *rows; /* malloc'd while their number is not known */
	size_t count, room;
	struct name_map known; /* directory -> index in options->known, made at need */
	size_t next_known;
	FILE *objects; /* the names of the shared objects beside the distributions */
	char *object_names;
	size_t object_size;
	int64_t began;         /* nanoseconds since 1970 */
	int64_t settled_after; /* nanoseconds that something must be older than began */
	bool egg;              /* the path entry is an egg: EGG-INFO counts */
	bool failed;           /* no memory */
};

/* --- listing --- */

static int add_child(void *payload, struct slice name, enum child_type type)
{
	struct scan *scan = payload;
	struct distribution_record *rows;

	(void)type;
	if (scan->objects && slice_ends(name, SLICE(".so")))
		fprintf(scan->objects, "%.*s\n", (int)name.len, name.ptr);
	if (!distname_is_info(name) && !(scan->egg && distname_is_egg_info(name)))
		return 0;
	if (scan->count == DISTRIBUTIONS_MAX)
		return ERROR_LIMIT;
	if (scan->count == scan->room) {
		size_t room = scan->room ? scan->room * 2 : 64;

		rows = realloc(scan->rows, room * sizeof(*rows));
		if (!rows)
			return ERROR_NOMEM;
		scan->rows = rows;
		scan->room = room;
	}
	scan->rows[scan->count] = (struct distribution_record){
	        .directory = arena_copy(&scan->out->arena, name, &scan->failed),
	        .settled = true,
	};
	scan->count++;
	return scan->failed ? ERROR_NOMEM : 0;
}

/* To know them spares a listing for each module that might be one of them. */
static bool begin_objects(struct scan *scan)
{
	if (!(scan->options->depth & SCAN_TARGETS) || scan->tree->kind != ROOT_DIRECTORY)
		return true;
	scan->objects = open_memstream(&scan->object_names, &scan->object_size);
	return scan->objects != NULL;
}

static void end_objects(struct scan *scan)
{
	if (scan->objects && fclose(scan->objects) != 0)
		scan->failed = true;
	scan->objects = NULL;
}

static struct slice scan_objects(const struct scan *scan)
{
	return (struct slice){scan->object_names, scan->object_size};
}

static int list(struct scan *scan, struct error *error)
{
	struct root_record *out = scan->out;
	int code = begin_objects(scan) ? 0 : ERROR_NOMEM;

	if (code == 0)
		code = scan->tree->operations->children(scan->tree, add_child, scan, error);
	end_objects(scan);
	if (code == ERROR_LIMIT)
		return error_set(error, code, "more than %u distributions", DISTRIBUTIONS_MAX);
	if (code == ERROR_NOMEM)
		return error_nomem(error);
	if (code < 0)
		scan->count = 0; /* stock suppresses the error and finds nothing */
	out->distribution_count = scan->count;
	out->distributions = arena_calloc(&out->arena, scan->count, sizeof(*out->distributions));
	if (!out->distributions)
		return error_nomem(error);
	if (scan->count)
		memcpy(out->distributions, scan->rows, scan->count * sizeof(*scan->rows));
	return 0;
}

/* --- reuse --- */

static const struct distribution_record *find_known(struct scan *scan, struct slice directory)
{
	const struct root_record *known = scan->options->known;
	uint32_t at;

	if (!known || known->distribution_count == 0)
		return NULL;
	if (scan->next_known < known->distribution_count &&
	    slice_equal(known->distributions[scan->next_known].directory, directory))
		return &known->distributions[scan->next_known++];
	for (size_t i = scan->known.count; i < known->distribution_count; i++)
		name_map_put(&scan->known, known->distributions[i].directory, (uint32_t)i,
		             &scan->failed);
	at = name_map_get(&scan->known, directory);
	if (at == NAME_MAP_NONE)
		return NULL;
	scan->next_known = at + 1;
	return &known->distributions[at];
}

/* Take over the row of a distribution whose stamps have not changed since it was settled. */
static bool reuse(struct scan *scan, struct distribution_record *distribution)
{
	const struct distribution_record *known = find_known(scan, distribution->directory);
	struct distribution_record fresh = *distribution;

	if (!known)
		return false;
	distribution->id = known->id;
	if (scan->tree->kind != ROOT_DIRECTORY || !known->settled || known->watched ||
	    known->directory_stamp != distribution->directory_stamp ||
	    known->files_stamp != distribution->files_stamp)
		return false;
	*distribution = *known;
	distribution->directory = fresh.directory;
	distribution->reused = true;
	return true;
}

/* --- all of one distribution --- */

static unsigned parts(const struct scan *scan)
{
	unsigned depth = scan->options->depth;

	return (depth & SCAN_METADATA ? DISTRIBUTION_HEADERS : 0) |
	       (depth & SCAN_HAS_METADATA ? DISTRIBUTION_HAS_METADATA : 0);
}

static void examine(struct scan *scan, struct distribution_record *distribution)
{
	int64_t newest = 0;

	distribution->watched =
	        scan->options->in_place &&
	        ascii_ends_ignoring_case(distribution->directory, SLICE("egg-info"));
	if (scan->options->depth & SCAN_STAMPS) {
		scan->tree->operations->stamps(scan->tree, distribution->directory, distribution,
		                               &newest);
		distribution->settled = newest + scan->settled_after < scan->began;
		if (reuse(scan, distribution))
			return;
		distribution->watched |= newest + WATCHED_FOR >= scan->began ||
		                         tree_is_editable(scan->tree, distribution->directory);
	}
	scan->failed |=
	        !distribution_read(scan->tree, &scan->out->arena, parts(scan), distribution);
	if (scan->options->depth & SCAN_STAMPS && scan->options->depth & SCAN_HAS_METADATA)
		distribution->watched |= !distribution->has_metadata;
	if (scan->options->depth & SCAN_TARGETS && distribution->entry_point_count > 0)
		scan->failed |= target_records(scan->tree, scan_objects(scan), distribution,
		                               &scan->out->arena, NULL) < 0;
}

static int examine_all(struct scan *scan, struct error *error)
{
	struct root_record *out = scan->out;

	for (size_t i = 0; i < out->distribution_count; i++) {
		if (i % ASK_PROGRESS == 0 && scan->options->progress &&
		    scan->options->progress(scan->options->payload, i, out->distribution_count))
			return error_set(error, ERROR_IO, "interrupted");
		examine(scan, &out->distributions[i]);
		if (scan->failed)
			return error_nomem(error);
		out->broken += !slice_is_null(out->distributions[i].error);
		out->watched += out->distributions[i].watched;
	}
	return 0;
}

/* --- order --- */

/*
 * Stock keeps a dict from look-up key to a list: a child whose key was seen
 * before moves up behind the children of that key. EGG-INFO comes after all.
 */
static int put_in_order(struct scan *scan, struct error *error)
{
	struct root_record *out = scan->out;
	size_t count = out->distribution_count;
	CLEANUP(cleanup_free) uint32_t *family = calloc(count + 1, sizeof(*family));
	CLEANUP(cleanup_free) uint32_t *start = calloc(count + 2, sizeof(*start));
	struct arena keys = ARENA_INIT;
	struct name_map families = {0};
	bool failed = !family || !start;
	uint32_t last = (uint32_t)count; /* the family of EGG-INFO */

	for (size_t i = 0; !failed && i < count; i++) {
		struct slice directory = out->distributions[i].directory;
		size_t room = DISTNAME_ROOM(directory.len) + 1;
		char *key = arena_alloc(&keys, room);

		failed |= key == NULL;
		if (failed)
			break;
		family[i] = last;
		if (distname_is_info(directory))
			family[i] = name_map_put(
			        &families,
			        (struct slice){key, distname_lookup_key(directory, key, room)},
			        (uint32_t)families.count, &failed);
		start[family[i] + 1]++;
	}
	for (size_t f = 0; !failed && f < count; f++)
		start[f + 1] += start[f];
	for (size_t i = 0; !failed && i < count; i++)
		out->distributions[i].position = start[family[i]]++;
	if (!failed)
		root_record_sort(out);
	name_map_free(&families);
	arena_free(&keys);
	return failed ? error_nomem(error) : 0;
}

/* --- the whole --- */

/* A file system that keeps whole seconds ticks once a second. */
static void set_clock(struct scan *scan)
{
	struct timespec now = scan->options->now;

	scan->settled_after = now.tv_nsec == 0 ? CLOCK_SKEW : 0;
	if (now.tv_sec == 0)
		clock_gettime(CLOCK_REALTIME, &now);
	scan->began = (int64_t)now.tv_sec * NANOSECONDS + now.tv_nsec;
}

static bool is_settled(const struct scan *scan)
{
	struct stamp stamp = scan->tree->stamp;
	int64_t newest = stamp.mtime > stamp.ctime ? stamp.mtime : stamp.ctime;

	for (size_t i = 0; i < scan->out->distribution_count; i++)
		if (!scan->out->distributions[i].settled)
			return false;
	return newest + scan->settled_after < scan->began;
}

static int run(struct scan *scan, struct error *error)
{
	int code = list(scan, error);

	if (code == 0)
		code = examine_all(scan, error);
	if (code == 0)
		code = put_in_order(scan, error);
	scan->out->kind = scan->tree->kind;
	scan->out->stamp = scan->tree->stamp;
	scan->out->settled = code == 0 && is_settled(scan);
	return code;
}

int scan_tree(struct tree *tree, const struct scan_options *options, struct root_record *out,
              struct error *error)
{
	CLEANUP(root_record_free) struct root_record root = {0};
	struct scan scan = {
	        .tree = tree,
	        .options = options,
	        .out = &root,
	        .egg = distname_is_egg_base(options->egg_base),
	};
	int code;

	set_clock(&scan);
	code = run(&scan, error);
	free(scan.rows);
	free(scan.object_names);
	name_map_free(&scan.known);
	if (code < 0)
		return code;
	*out = root;
	root = (struct root_record){0};
	return 0;
}

static void cleanup_tree(struct tree **tree)
{
	tree_close(*tree);
}

/* Has the directory changed since @tree was opened? */
static bool has_changed(const struct tree *tree)
{
	struct stat status;

	return fstat(tree->fd, &status) != 0 || !stamp_equal(stamp_of(&status), tree->stamp);
}

static int scan_once(const char *path, const struct scan_options *options, struct root_record *out,
                     bool *changed, struct error *error)
{
	CLEANUP(cleanup_tree) struct tree *tree = NULL;
	int code = tree_open(path, &tree, error);

	*changed = false;
	if (code == ERROR_NOMEM)
		return code;
	if (code < 0) {
		error_clear(error);
		*out = (struct root_record){.kind = ROOT_ABSENT, .settled = true};
		return 0;
	}
	code = scan_tree(tree, options, out, error);
	if (code == 0 && has_changed(tree)) {
		*changed = true;
		out->settled = false;
	}
	return code;
}

int scan_path(const char *path, const struct scan_options *options, struct root_record *out,
              struct error *error)
{
	struct root_record root = {0};
	struct error own = {0};
	bool changed = true;
	int code = 0;

	for (int tries = 0; code == 0 && changed && tries < SCAN_TRIES; tries++) {
		root_record_free(&root);
		code = scan_once(path, options, &root, &changed, &own);
	}
	if (code == 0)
		*out = root;
	else
		error_set(error, code, "%s: %s", path, error_text(&own));
	error_clear(&own);
	return code;
}

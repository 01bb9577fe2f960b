/*
 * trail.c - see trail.h.
 */
#include "indexer/update/trail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/arena.h"
#include "db/base/cleanup.h"
#include "db/base/name_map.h"
#include "db/base/text.h"
#include "indexer/version.h"

#define TEXT_MAX     200 /* bytes of a value, or of a line of code, in the trail */
#define CHANGES_TOLD 100 /* entry points of one distribution, in one change of it */

/* The first bytes of a text, for "%.*s". */
#define SHOWN(text)                                                                                \
	(int)((text).len < TEXT_MAX ? (text).len : TEXT_MAX), (text).ptr ? (text).ptr : ""

static int put(struct trail *trail, const struct event_record *event)
{
	return writer_log(trail->writer, event, trail->error);
}

/* A key of several parts, in @arena. */
static struct slice joined(const struct slice *parts, size_t count, char separator,
                           struct arena *arena, bool *failed)
{
	size_t size = count - 1, at = 0;
	char *key;

	for (size_t i = 0; i < count; i++)
		size += parts[i].len;
	key = arena_alloc(arena, size);
	if (!key) {
		*failed = true;
		return SLICE("");
	}
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			key[at++] = separator;
		if (parts[i].len > 0)
			memcpy(key + at, parts[i].ptr, parts[i].len);
		at += parts[i].len;
	}
	return (struct slice){key, size};
}

int trail_first_sight(struct trail *trail, size_t distributions)
{
	char detail[64];

	snprintf(detail, sizeof(detail), "%zu distributions", distributions);
	return put(trail, &(struct event_record){.action = SLICE("index"),
	                                         .root = trail->root,
	                                         .detail = slice_of(detail)});
}

/* --- distributions --- */

/* What people call it: its Name, else its directory. */
static struct slice title(const struct distribution_record *distribution)
{
	return slice_is_null(distribution->name) ? distribution->directory : distribution->name;
}

static int put_distribution(struct trail *trail, struct slice action,
                            const struct distribution_record *old,
                            const struct distribution_record *now)
{
	struct event_record event = {
	        .action = action,
	        .root = trail->root,
	        .distribution = title(now ? now : old),
	};

	if (old)
		event.old_version = old->version;
	if (now) {
		event.version = now->version;
		event.detail = now->error;
	}
	return put(trail, &event);
}

int trail_install(struct trail *trail, const struct distribution_record *now)
{
	return put_distribution(trail, SLICE("install"), NULL, now);
}

int trail_remove(struct trail *trail, const struct distribution_record *old)
{
	return put_distribution(trail, SLICE("remove"), old, NULL);
}

/* Versions that PEP 440 cannot order, and two spellings of one, are neither up nor down. */
static struct slice action_of_change(struct slice old, struct slice now)
{
	int order;

	if (!version_compare(old, now, &order) || order == 0)
		return SLICE("change");
	return order < 0 ? SLICE("upgrade") : SLICE("downgrade");
}

/* --- the entry points of one that stays --- */

/* Old and new, to look up by group and name, and with the value. */
struct entry_points {
	const struct entry_point_record *items;
	size_t count;
	struct name_map names, whole; /* -> index in items, of the first of that name */
};

/* One that differs: @old and @now, NULL where it is not there. */
static int put_entry_point(struct trail *trail, struct slice distribution,
                           const struct entry_point_record *old,
                           const struct entry_point_record *now)
{
	const struct entry_point_record *one = now ? now : old;
	CLEANUP(cleanup_free)
	char *before = old && now ? text_format("%.*s -> ", SHOWN(old->value)) : NULL;
	CLEANUP(cleanup_free)
	char *detail = text_format("%.*s/%.*s: %s%.*s", SHOWN(one->group), SHOWN(one->name),
	                           before ? before : "", SHOWN(one->value));

	if (!detail || (old && now && !before))
		return error_nomem(trail->error);
	return put(trail, &(struct event_record){
	                          .action = !old   ? SLICE("entry-point")
	                                    : !now ? SLICE("entry-point-gone")
	                                           : SLICE("entry-point-changed"),
	                          .root = trail->root,
	                          .distribution = distribution,
	                          .detail = slice_of(detail),
	                  });
}

static struct slice key_of(const struct entry_point_record *row, bool with_value,
                           struct arena *keys, bool *failed)
{
	const struct slice parts[] = {row->group, row->name, with_value ? row->value : SLICE("")};

	return joined(parts, 3, '\n', keys, failed); /* which is in none of them */
}

static void index_entry_points(struct entry_points *of, struct arena *keys, bool *failed)
{
	for (size_t i = 0; i < of->count && !*failed; i++) {
		name_map_put(&of->names, key_of(&of->items[i], false, keys, failed), (uint32_t)i,
		             failed);
		name_map_put(&of->whole, key_of(&of->items[i], true, keys, failed), (uint32_t)i,
		             failed);
	}
}

/* Those of @these that @those do not have with that value; @is_now: @these are the new ones. */
static int put_missing(struct trail *trail, struct slice distribution,
                       const struct entry_points *these, const struct entry_points *those,
                       bool is_now, struct arena *keys, size_t *told)
{
	bool failed = false;
	int code = 0;

	for (size_t i = 0; code == 0 && i < these->count && *told < CHANGES_TOLD; i++) {
		const struct entry_point_record *one = &these->items[i], *other = NULL;
		uint32_t at;

		if (name_map_get(&those->whole, key_of(one, true, keys, &failed)) != NAME_MAP_NONE)
			continue;
		at = name_map_get(&those->names, key_of(one, false, keys, &failed));
		if (failed)
			return error_nomem(trail->error);
		if (at != NAME_MAP_NONE)
			other = &those->items[at];
		if (other && !is_now) /* it was told when the new ones were */
			continue;
		++*told;
		code = put_entry_point(trail, distribution, is_now ? other : one,
		                       is_now ? one : NULL);
	}
	return code;
}

static int compare_entry_points(struct trail *trail, struct slice distribution,
                                struct entry_points *old, struct entry_points *now,
                                struct arena *keys)
{
	size_t told = 0;
	bool failed = false;
	int code;

	index_entry_points(old, keys, &failed);
	index_entry_points(now, keys, &failed);
	if (failed)
		return error_nomem(trail->error);
	code = put_missing(trail, distribution, now, old, true, keys, &told);
	return code < 0 ? code : put_missing(trail, distribution, old, now, false, keys, &told);
}

static void cleanup_entry_points(struct entry_points *of)
{
	name_map_free(&of->names);
	name_map_free(&of->whole);
}

int trail_change(struct trail *trail, const struct distribution_record *old,
                 const struct distribution_record *now)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	CLEANUP(cleanup_entry_points) struct entry_points before = {0};
	CLEANUP(cleanup_entry_points)
	struct entry_points after = {.items = now->entry_points, .count = now->entry_point_count};
	struct distribution_record rows = {.id = old->id};
	int code = put_distribution(trail, action_of_change(old->version, now->version), old, now);

	if (code == 0)
		code = writer_entry_points(trail->writer, &rows, &arena, trail->error);
	before.items = rows.entry_points;
	before.count = rows.entry_point_count;
	return code < 0 ? code : compare_entry_points(trail, title(now), &before, &after, &arena);
}

/* --- start-up code --- */

/* What makes a line the same line: not its number. */
static struct slice startup_key(const struct startup_record *row, struct arena *arena, bool *failed)
{
	const struct slice parts[] = {row->file, row->code};

	return joined(parts, 2, '/', arena, failed); /* which is in no name of a file */
}

static int put_startup(struct trail *trail, struct slice action, const struct startup_record *row)
{
	CLEANUP(cleanup_free)
	char *detail = text_format("%.*s%s%.*s", (int)row->file.len, row->file.ptr,
	                           row->code.len ? ": " : "", SHOWN(row->code));

	if (!detail)
		return error_nomem(trail->error);
	return put(trail, &(struct event_record){.action = action,
	                                         .root = trail->root,
	                                         .detail = slice_of(detail)});
}

/* An event for each line of @these that is not among @those. */
static int put_startups(struct trail *trail, struct slice action, const struct root_record *these,
                        const struct root_record *those)
{
	CLEANUP(arena_free) struct arena keys = ARENA_INIT;
	CLEANUP(name_map_free) struct name_map there = {0};
	bool failed = false;
	int code = 0;

	for (size_t i = 0; i < those->startup_count; i++)
		name_map_put(&there, startup_key(&those->startups[i], &keys, &failed), 0, &failed);
	for (size_t i = 0; !failed && code == 0 && i < these->startup_count; i++) {
		struct slice key = startup_key(&these->startups[i], &keys, &failed);

		if (!failed && name_map_get(&there, key) == NAME_MAP_NONE)
			code = put_startup(trail, action, &these->startups[i]);
	}
	return failed ? error_nomem(trail->error) : code;
}

int trail_startups(struct trail *trail, const struct root_record *old,
                   const struct root_record *now)
{
	int code = put_startups(trail, SLICE("startup"), now, old);

	return code < 0 ? code : put_startups(trail, SLICE("startup-gone"), old, now);
}

/*
 * Writes the audit trail: what differs between what the database had and what is there now.
 */
#include "indexer/update/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/arena.h"
#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/version.h"

#define TEXT_MAX     200 /* bytes of a value, or of a line of code, in the trail */
#define CHANGES_TOLD 100 /* entry points of one distribution, in one change of it */

/* The first bytes of a text, for "%.*s". */
#define SHOWN(text)                                                                                \
	(int)((text).len < TEXT_MAX ? (text).len : TEXT_MAX), (text).ptr ? (text).ptr : ""

static int put(struct events *events, const struct event_record *event)
{
	return writer_log(events->writer, event, events->error);
}

/* --- distributions --- */

/* What people call it: its Name, else its directory. */
static struct slice title(const struct distribution_record *distribution)
{
	return slice_is_null(distribution->name) ? distribution->directory : distribution->name;
}

/* The first names, as many as there is room for. */
int events_first_sight(struct events *events, const struct root_record *root)
{
	CLEANUP(cleanup_free) char *detail = NULL;
	size_t size = 0, i = 0;
	FILE *stream = open_memstream(&detail, &size);

	if (!stream)
		return error_nomem(events->error);
	fprintf(stream, "%zu distributions", root->distribution_count);
	for (; i < root->distribution_count && ftell(stream) < TEXT_MAX; i++) {
		struct slice name = title(&root->distributions[i]);

		fprintf(stream, "%s%.*s", i == 0 ? ": " : ", ", SHOWN(name));
	}
	fputs(i < root->distribution_count ? ", ..." : "", stream);
	if (!text_close(stream, &detail))
		return error_nomem(events->error);
	return put(events, &(struct event_record){.action = SLICE("index"),
	                                          .root = events->root,
	                                          .detail = slice_of(detail)});
}

/* Versions that PEP 440 cannot order, and two spellings of one, are neither up nor down. */
static struct slice action_of_change(struct slice old, struct slice now)
{
	int order;

	if (!version_compare(old, now, &order) || order == 0)
		return SLICE("change");
	return order < 0 ? SLICE("upgrade") : SLICE("downgrade");
}

/* --- what differs --- */

/* Pointers to records, sorted. */
struct sorted {
	const void **items;
	size_t count;
};

typedef int order_function(const void *left, const void *right); /* of such pointers */

static void cleanup_sorted(struct sorted *sorted)
{
	free(sorted->items);
}

static bool sort(struct sorted *out, const void *items, size_t count, size_t size,
                 order_function *order)
{
	out->items = calloc(count + 1, sizeof(*out->items));
	if (!out->items)
		return false;
	for (out->count = 0; out->count < count; out->count++)
		out->items[out->count] = (const char *)items + out->count * size;
	qsort(out->items, count, sizeof(*out->items), order);
	return true;
}

/* Drop from both what they have in common. */
static void drop_common(struct sorted *a, struct sorted *b, order_function *order)
{
	size_t i = 0, j = 0, left = 0, right = 0;

	while (i < a->count || j < b->count) {
		int which = i == a->count   ? 1
		            : j == b->count ? -1
		                            : order(&a->items[i], &b->items[j]);

		if (which < 0)
			a->items[left++] = a->items[i];
		else if (which > 0)
			b->items[right++] = b->items[j];
		i += which <= 0;
		j += which >= 0;
	}
	a->count = left;
	b->count = right;
}

/* --- the entry points of one that stays --- */

static int order_by_name(const void *left, const void *right)
{
	const struct entry_point_record *a = *(const void *const *)left;
	const struct entry_point_record *b = *(const void *const *)right;
	int order = slice_compare(a->group, b->group);

	return order ? order : slice_compare(a->name, b->name);
}

static int order_by_value(const void *left, const void *right)
{
	const struct entry_point_record *a = *(const void *const *)left;
	const struct entry_point_record *b = *(const void *const *)right;
	int order = order_by_name(left, right);

	return order ? order : slice_compare(a->value, b->value);
}

/* One that differs: @old and @now, NULL where it is not there. */
static int put_entry_point(struct events *events, struct slice distribution,
                           const struct entry_point_record *old,
                           const struct entry_point_record *now)
{
	const struct entry_point_record *one = now ? now : old;
	CLEANUP(cleanup_free)
	char *before = old && now ? text_format("%.*s -> ", SHOWN(old->value)) : strdup("");
	CLEANUP(cleanup_free)
	char *detail = text_format("%.*s/%.*s: %s%.*s", SHOWN(one->group), SHOWN(one->name),
	                           before ? before : "", SHOWN(one->value));

	if (!detail || !before)
		return error_nomem(events->error);
	return put(events, &(struct event_record){
	                           .action = !old   ? SLICE("entry-point")
	                                     : !now ? SLICE("entry-point-gone")
	                                            : SLICE("entry-point-changed"),
	                           .root = events->root,
	                           .distribution = distribution,
	                           .detail = slice_of(detail),
	                   });
}

static int compare_entry_points(struct events *events, const struct distribution_record *old,
                                const struct distribution_record *now)
{
	CLEANUP(cleanup_sorted) struct sorted before = {0}, after = {0};
	int code = 0;

	if (!sort(&before, old->entry_points, old->entry_point_count, sizeof(*old->entry_points),
	          order_by_value) ||
	    !sort(&after, now->entry_points, now->entry_point_count, sizeof(*now->entry_points),
	          order_by_value))
		return error_nomem(events->error);
	drop_common(&before, &after, order_by_value);
	for (size_t i = 0, j = 0, told = 0;
	     code == 0 && (i < before.count || j < after.count) && told < CHANGES_TOLD; told++) {
		int which = i == before.count  ? 1
		            : j == after.count ? -1
		                               : order_by_name(&before.items[i], &after.items[j]);

		code = put_entry_point(events, title(now), which <= 0 ? before.items[i++] : NULL,
		                       which >= 0 ? after.items[j++] : NULL);
	}
	return code;
}

int events_distribution(struct events *events, const struct distribution_record *old,
                        const struct distribution_record *now)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT;
	struct distribution_record rows = {.id = old ? old->id : 0};
	struct event_record event = {
	        .action = !old   ? SLICE("install")
	                  : !now ? SLICE("remove")
	                         : action_of_change(old->version, now->version),
	        .root = events->root,
	        .distribution = title(now ? now : old),
	};
	int code;

	if (old)
		event.old_version = old->version;
	if (now) {
		event.version = now->version;
		event.detail = now->error;
	}
	code = put(events, &event);
	if (code < 0 || !old || !now)
		return code;
	code = reader_entry_points(writer_reader(events->writer), &rows, &arena, events->error);
	return code < 0 ? code : compare_entry_points(events, &rows, now);
}

/* --- start-up code --- */

/* What makes a line the same line: not its number. */
static int order_of_startups(const void *left, const void *right)
{
	const struct startup_record *a = *(const void *const *)left;
	const struct startup_record *b = *(const void *const *)right;
	int order = slice_compare(a->file, b->file);

	return order ? order : slice_compare(a->code, b->code);
}

static int put_startups(struct events *events, struct slice action, const struct sorted *startups)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < startups->count; i++) {
		const struct startup_record *row = startups->items[i];
		CLEANUP(cleanup_free)
		char *detail = text_format("%.*s%s%.*s", (int)row->file.len, row->file.ptr,
		                           row->code.len ? ": " : "", SHOWN(row->code));

		code = detail ? put(events, &(struct event_record){.action = action,
		                                                   .root = events->root,
		                                                   .detail = slice_of(detail)})
		              : error_nomem(events->error);
	}
	return code;
}

int events_startups(struct events *events, const struct root_record *old,
                    const struct root_record *now)
{
	CLEANUP(cleanup_sorted) struct sorted before = {0}, after = {0};
	int code;

	if (!sort(&before, old->startups, old->startup_count, sizeof(*old->startups),
	          order_of_startups) ||
	    !sort(&after, now->startups, now->startup_count, sizeof(*now->startups),
	          order_of_startups))
		return error_nomem(events->error);
	drop_common(&before, &after, order_of_startups);
	code = put_startups(events, SLICE("startup"), &after);
	return code < 0 ? code : put_startups(events, SLICE("startup-gone"), &before);
}

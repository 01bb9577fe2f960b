/*
 * Writes the audit trail: the differences between the rows and the disk.
 */
#include "indexer/update/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/base/arena.h"
#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "indexer/version.h"

#define TEXT_MAX     200 /* bytes of a value or a line of code in the trail */
#define CHANGES_TOLD 100 /* entry points of one distribution, in one change of it */

/* The first bytes of a text, for "%.*s". */
#define SHOWN(text)                                                                                \
	(int)((text).len < TEXT_MAX ? (text).len : TEXT_MAX), (text).ptr ? (text).ptr : ""

static int put(struct events *events, const struct event_record *event)
{
	return writer_log(events->writer, event, events->error);
}

/* --- distributions --- */

/* The Name, else the directory. */
static struct slice title(const struct distribution_record *distribution)
{
	return slice_is_null(distribution->name) ? distribution->directory : distribution->name;
}

/* The detail lists the first names. */
int events_first_sight(struct events *events, const struct root_record *root)
{
	CLEANUP(cleanup_free) char *detail = NULL;
	size_t size = 0, i = 0;
	FILE *stream;

	if (root->distribution_count == 0)
		return 0;
	stream = open_memstream(&detail, &size);
	if (!stream)
		return error_nomem(events->error);
	fprintf(stream, "%zu distribution%s", root->distribution_count,
	        root->distribution_count == 1 ? "" : "s");
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

/* Versions that PEP 440 cannot compare, and two spellings of one version, are a "change". */
static struct slice action_of_change(struct slice old, struct slice now)
{
	int order;

	if (!version_compare(old, now, &order) || order == 0)
		return SLICE("change");
	return order < 0 ? SLICE("upgrade") : SLICE("downgrade");
}

/* --- differences --- */

/* Pointers to entry points, sorted. */
struct sorted {
	const struct entry_point_record **items;
	size_t count;
};

typedef int order_function(const void *left, const void *right); /* of such pointers */

static void cleanup_sorted(struct sorted *sorted)
{
	free(sorted->items);
}

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

static bool sort(struct sorted *out, const struct distribution_record *row)
{
	out->items = calloc(row->entry_point_count + 1, sizeof(*out->items));
	if (!out->items)
		return false;
	for (; out->count < row->entry_point_count; out->count++)
		out->items[out->count] = &row->entry_points[out->count];
	qsort(out->items, out->count, sizeof(*out->items), order_by_value);
	return true;
}

/* Remove common items from both. */
static void drop_common(struct sorted *a, struct sorted *b)
{
	size_t i = 0, j = 0, left = 0, right = 0;

	while (i < a->count || j < b->count) {
		int which = i == a->count   ? 1
		            : j == b->count ? -1
		                            : order_by_value(&a->items[i], &b->items[j]);

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

/*
 * Log one difference: @old and @now, NULL if it does not exist. @kind: the action for a new one. A
 * line of start-up code has neither distribution nor name.
 */
static int put_change(struct events *events, const char *kind, struct slice distribution,
                      const struct entry_point_record *old, const struct entry_point_record *now)
{
	const struct entry_point_record *one = now ? now : old;
	bool is_code = slice_is_null(distribution);
	CLEANUP(cleanup_free)
	char *action = text_format("%s%s", kind, !old ? "" : !now ? "-gone" : "-changed");
	CLEANUP(cleanup_free)
	char *before = old && now ? text_format("%.*s -> ", SHOWN(old->value)) : strdup("");
	CLEANUP(cleanup_free)
	char *detail = text_format("%.*s%s%.*s%s%s%.*s", SHOWN(one->group), is_code ? "" : "/",
	                           SHOWN(one->name), is_code && !one->value.len ? "" : ": ",
	                           before ? before : "", SHOWN(one->value));

	if (!action || !before || !detail)
		return error_nomem(events->error);
	return put(events, &(struct event_record){.action = slice_of(action),
	                                          .root = events->root,
	                                          .distribution = distribution,
	                                          .detail = slice_of(detail)});
}

/*
 * Log the differences of @distribution; or, if null, of start-up code: without a limit, and never
 * as changed.
 */
static int compare(struct events *events, const char *kind, struct slice distribution,
                   const struct distribution_record *old, const struct distribution_record *now)
{
	CLEANUP(cleanup_sorted) struct sorted before = {0}, after = {0};
	bool is_code = slice_is_null(distribution);
	order_function *order = is_code ? order_by_value : order_by_name;
	size_t most = is_code ? SIZE_MAX : CHANGES_TOLD;
	int code = 0;

	if (!sort(&before, old) || !sort(&after, now))
		return error_nomem(events->error);
	drop_common(&before, &after);
	for (size_t i = 0, j = 0, told = 0;
	     code == 0 && (i < before.count || j < after.count) && told < most; told++) {
		int which = i == before.count  ? 1
		            : j == after.count ? -1
		                               : order(&before.items[i], &after.items[j]);

		code = put_change(events, kind, distribution, which <= 0 ? before.items[i++] : NULL,
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
	return code < 0 ? code : compare(events, "entry-point", title(now), &rows, now);
}

/* --- start-up code --- */

/*
 * Treat start-up code as entry points: the file is the group, the line the value; line numbers are
 * ignored.
 */
static bool as_entry_points(const struct root_record *root, struct distribution_record *out)
{
	*out = (struct distribution_record){.entry_point_count = root->startup_count};
	out->entry_points = calloc(root->startup_count + 1, sizeof(*out->entry_points));
	for (size_t i = 0; out->entry_points && i < root->startup_count; i++) {
		out->entry_points[i].group = root->startups[i].file;
		out->entry_points[i].value = root->startups[i].code;
	}
	return out->entry_points;
}

int events_startups(struct events *events, const struct root_record *old,
                    const struct root_record *now)
{
	struct distribution_record before, after = {0};
	int code = as_entry_points(old, &before) && as_entry_points(now, &after)
	                   ? compare(events, "startup", (struct slice){0}, &before, &after)
	                   : error_nomem(events->error);

	free(before.entry_points);
	free(after.entry_points);
	return code;
}

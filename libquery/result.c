/*
 * result.c - immutable answers: sets, their entry points and distributions.
 *
 * A set holds copies of everything, so it outlives the handle and any change of the database, and
 * can be shared between threads.
 */
#include "libquery/result.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "libquery/names.h"

/* --- making a set --- */

void entrydb_set_free(entrydb_set *set)
{
	if (!set)
		return;
	arena_free(&set->arena);
	free(set->entry_points);
	free(set->problems);
	free(set->distributions);
	free(set);
}

struct entrydb_entry_point *set_add(struct entrydb_set *set)
{
	set->failed |=
	        !array_grow(&set->entry_points, set->count, sizeof(*set->entry_points), &set->room);
	if (set->failed)
		return NULL;
	set->entry_points[set->count] = (struct entrydb_entry_point){0};
	return &set->entry_points[set->count++];
}

void set_add_distribution(struct entrydb_set *set, const struct entrydb_distribution *added)
{
	set->failed |= !array_grow(&set->distributions, set->distribution_count,
	                           sizeof(*set->distributions), &set->distribution_room);
	if (!set->failed)
		set->distributions[set->distribution_count++] = *added;
}

struct slice set_copy(struct entrydb_set *set, struct slice text)
{
	return arena_copy(&set->arena, text, &set->failed);
}

struct slice set_join(struct entrydb_set *set, struct slice a, struct slice b)
{
	char *text = arena_alloc(&set->arena, a.len + b.len + 1);

	set->failed |= !text;
	if (!text)
		return SLICE("");
	memcpy(text, a.ptr, a.len);
	memcpy(text + a.len, b.ptr, b.len);
	text[a.len + b.len] = '\0';
	return (struct slice){text, a.len + b.len};
}

void set_copy_record(struct entrydb_set *set, struct entrydb_entry_point *entry_point,
                     const struct entry_point_record *record)
{
	entry_point->text[ENTRYDB_FIELD_GROUP] = set_copy(set, record->group);
	entry_point->text[ENTRYDB_FIELD_NAME] = set_copy(set, record->name);
	entry_point->text[ENTRYDB_FIELD_VALUE] = set_copy(set, record->value);
	entry_point->text[ENTRYDB_FIELD_MODULE] = set_copy(set, record->module);
	entry_point->text[ENTRYDB_FIELD_ATTR] = set_copy(set, record->attr);
	entry_point->text[ENTRYDB_FIELD_EXTRAS] = set_copy(set, record->extras);
}

void set_add_problem(struct entrydb_set *set, struct slice file, struct slice reason)
{
	struct slice line = set_join(set, set_join(set, file, SLICE(": ")), reason);

	set->failed |= !array_grow(&set->problems, set->problem_count, sizeof(*set->problems),
	                           &set->problem_room);
	if (!set->failed)
		set->problems[set->problem_count++] = line.ptr;
}

static int by_place(const void *left, const void *right)
{
	const struct entrydb_entry_point *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static int by_group(const void *left, const void *right)
{
	const struct entrydb_entry_point *a = left, *b = right;
	int groups = slice_compare(a->text[ENTRYDB_FIELD_GROUP], b->text[ENTRYDB_FIELD_GROUP]);

	return groups ? groups : by_place(left, right);
}

static int by_priority(const void *left, const void *right)
{
	const struct entrydb_entry_point *a = left, *b = right;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return by_place(left, right);
}

void set_sort(struct entrydb_set *set, enum set_order order)
{
	static int (*const orders[])(const void *, const void *) = {
	        [SET_BY_PLACE] = by_place,
	        [SET_BY_GROUP] = by_group,
	        [SET_BY_PRIORITY] = by_priority,
	};

	if (set->count > 1)
		qsort(set->entry_points, set->count, sizeof(*set->entry_points), orders[order]);
}

/* --- sets --- */

GETTER(size_t, entrydb_set_count, entrydb_set, count)
GETTER(size_t, entrydb_set_problem_count, entrydb_set, problem_count)
GETTER(size_t, entrydb_set_distribution_count, entrydb_set, distribution_count)

const entrydb_entry_point *entrydb_set_get(const entrydb_set *set, size_t index)
{
	return index < set->count ? &set->entry_points[index] : NULL;
}

const char *entrydb_set_problem(const entrydb_set *set, size_t index)
{
	return index < set->problem_count ? set->problems[index] : NULL;
}

const entrydb_distribution *entrydb_set_distribution(const entrydb_set *set, size_t index)
{
	return index < set->distribution_count ? &set->distributions[index] : NULL;
}

/* --- entry points --- */

const char *entrydb_entry_point_text(const entrydb_entry_point *entry_point,
                                     enum entrydb_field field, size_t *length)
{
	if ((int)field < 0 || (int)field >= FIELD_COUNT)
		return NULL;
	if (length)
		*length = entry_point->text[field].len;
	return entry_point->text[field].ptr;
}

#define TEXT(what, field)                                                                          \
	GETTER(const char *, entrydb_entry_point_##what, entrydb_entry_point, text[field].ptr)

TEXT(group, ENTRYDB_FIELD_GROUP)
TEXT(name, ENTRYDB_FIELD_NAME)
TEXT(value, ENTRYDB_FIELD_VALUE)
TEXT(module, ENTRYDB_FIELD_MODULE)
TEXT(attr, ENTRYDB_FIELD_ATTR)
TEXT(extras, ENTRYDB_FIELD_EXTRAS)
TEXT(distribution, ENTRYDB_FIELD_DISTRIBUTION)
TEXT(version, ENTRYDB_FIELD_VERSION)
TEXT(path, ENTRYDB_FIELD_PATH)
TEXT(file, ENTRYDB_FIELD_FILE)
TEXT(shadowed_by, ENTRYDB_FIELD_SHADOWED_BY)

/* --- distributions --- */

GETTER(const char *, entrydb_distribution_path, entrydb_distribution, path)
GETTER(const char *, entrydb_distribution_file, entrydb_distribution, file)
GETTER(const char *, entrydb_distribution_name, entrydb_distribution, name)
GETTER(const char *, entrydb_distribution_version, entrydb_distribution, version)
GETTER(const char *, entrydb_distribution_problem, entrydb_distribution, problem)
GETTER(size_t, entrydb_distribution_count, entrydb_distribution, count)

const entrydb_entry_point *entrydb_distribution_get(const entrydb_distribution *distribution,
                                                    size_t index)
{
	return index < distribution->count
	               ? &distribution->set->entry_points[distribution->first + index]
	               : NULL;
}

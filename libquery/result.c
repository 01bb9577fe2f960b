/*
 * result.c - the immutable answers: entrydb_set and entrydb_entry.
 *
 * A set holds copies of all it says, so that it outlives the handle and any
 * change of the database, and may be shared between threads.
 */
#include "result.h"

#include <stdlib.h>

#define FIRST_ROOM 4 /* entries: most selections by group and name find one */

struct entrydb_set *set_create(void)
{
	return calloc(1, sizeof(struct entrydb_set));
}

void entrydb_set_free(entrydb_set *set)
{
	if (!set)
		return;
	arena_free(&set->arena);
	free(set->entries);
	free(set->problems);
	free(set->distributions);
	free(set);
}

struct entrydb_entry *set_add(struct entrydb_set *set)
{
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : FIRST_ROOM;
		struct entrydb_entry *entries = realloc(set->entries, room * sizeof(*entries));

		if (!entries) {
			set->failed = true;
			return NULL;
		}
		set->entries = entries;
		set->room = room;
	}
	set->entries[set->count] = (struct entrydb_entry){0};
	return &set->entries[set->count++];
}

bool set_reserve_distributions(struct entrydb_set *set, size_t count)
{
	struct entrydb_distribution *distributions = realloc(
	        set->distributions, (set->distribution_count + count + 1) * sizeof(*distributions));

	if (!distributions) {
		set->failed = true;
		return false;
	}
	set->distributions = distributions;
	return true;
}

struct slice set_copy(struct entrydb_set *set, struct slice text)
{
	return arena_copy(&set->arena, text, &set->failed);
}

struct slice set_join(struct entrydb_set *set, struct slice a, struct slice b)
{
	char *text = arena_alloc(&set->arena, a.len + b.len + 1);

	if (!text) {
		set->failed = true;
		return SLICE("");
	}
	memcpy(text, a.ptr, a.len);
	memcpy(text + a.len, b.ptr, b.len);
	text[a.len + b.len] = '\0';
	return (struct slice){text, a.len + b.len};
}

void set_copy_record(struct entrydb_set *set, struct entrydb_entry *entry,
                     const struct entry_point_record *record)
{
	entry->text[ENTRYDB_GROUP] = set_copy(set, record->group);
	entry->text[ENTRYDB_NAME] = set_copy(set, record->name);
	entry->text[ENTRYDB_VALUE] = set_copy(set, record->value);
	entry->text[ENTRYDB_MODULE] = set_copy(set, record->module);
	entry->text[ENTRYDB_ATTR] = set_copy(set, record->attr);
	entry->text[ENTRYDB_EXTRAS] = set_copy(set, record->extras);
}

void set_add_problem(struct entrydb_set *set, struct slice file, struct slice reason)
{
	const char **problems =
	        realloc(set->problems, (set->problem_count + 1) * sizeof(*problems));
	struct slice start = set_join(set, file, SLICE(": "));

	if (!problems) {
		set->failed = true;
		return;
	}
	set->problems = problems;
	problems[set->problem_count++] = set_join(set, start, reason).ptr;
}

static int by_place(const void *left, const void *right)
{
	const struct entrydb_entry *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static int by_group_and_place(const void *left, const void *right)
{
	const struct entrydb_entry *a = left, *b = right;
	int groups = slice_compare(a->text[ENTRYDB_GROUP], b->text[ENTRYDB_GROUP]);

	return groups ? groups : by_place(left, right);
}

void set_sort(struct entrydb_set *set, bool by_group)
{
	if (set->count > 1)
		qsort(set->entries, set->count, sizeof(*set->entries),
		      by_group ? by_group_and_place : by_place);
}

size_t entrydb_set_count(const entrydb_set *set)
{
	return set->count;
}

const entrydb_entry *entrydb_set_get(const entrydb_set *set, size_t index)
{
	return index < set->count ? &set->entries[index] : NULL;
}

size_t entrydb_set_problem_count(const entrydb_set *set)
{
	return set->problem_count;
}

const char *entrydb_set_problem(const entrydb_set *set, size_t index)
{
	return index < set->problem_count ? set->problems[index] : NULL;
}

size_t entrydb_set_distribution_count(const entrydb_set *set)
{
	return set->distribution_count;
}

const entrydb_distribution *entrydb_set_distribution(const entrydb_set *set, size_t index)
{
	return index < set->distribution_count ? &set->distributions[index] : NULL;
}

const char *entrydb_entry_text(const entrydb_entry *entry, enum entrydb_field field, size_t *length)
{
	if ((int)field < 0 || (int)field >= ENTRY_FIELDS)
		return NULL;
	if (length)
		*length = entry->text[field].len;
	return entry->text[field].ptr;
}

#define ACCESSOR(what, field)                                                                      \
	const char *entrydb_entry_##what(const entrydb_entry *entry)                               \
	{                                                                                          \
		return entry->text[field].ptr;                                                     \
	}

ACCESSOR(group, ENTRYDB_GROUP)
ACCESSOR(name, ENTRYDB_NAME)
ACCESSOR(value, ENTRYDB_VALUE)
ACCESSOR(module, ENTRYDB_MODULE)
ACCESSOR(attr, ENTRYDB_ATTR)
ACCESSOR(extras, ENTRYDB_EXTRAS)
ACCESSOR(distribution, ENTRYDB_DISTRIBUTION)
ACCESSOR(version, ENTRYDB_VERSION_TEXT)
ACCESSOR(path, ENTRYDB_PATH)
ACCESSOR(file, ENTRYDB_FILE)
ACCESSOR(shadowed_by, ENTRYDB_SHADOWED_BY)

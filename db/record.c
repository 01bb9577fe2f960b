/*
 * record.c - the words for what records hold stand here and nowhere else:
 * they are a contract, with those who read the database by SQL and with users.
 */
#include "db/record.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const root_kinds[] = {
        [ROOT_ABSENT] = "absent",
        [ROOT_DIRECTORY] = "directory",
        [ROOT_ZIP] = "zip",
        [ROOT_ARCHIVE] = "archive",
};

static const char *const kinds[] = {
        [TARGET_UNRESOLVED] = "unresolved", [TARGET_PYTHON] = "python",
        [TARGET_NATIVE] = "native",         [TARGET_EXTENSION] = "extension",
        [TARGET_BUNDLED] = "bundled",
};

static const char *const states[] = {
        [TARGET_OK] = "ok",
        [TARGET_MISSING] = "missing",
        [TARGET_NO_SYMBOL] = "no-symbol",
        [TARGET_AMBIGUOUS] = "ambiguous",
        [TARGET_UNRESOLVED_EDITABLE] = "unresolved-editable",
        [TARGET_WRONG_ARCHITECTURE] = "wrong-architecture",
        [TARGET_MISSING_DEPENDENCY] = "missing-dependency",
        [TARGET_NEEDS_HOST] = "needs-host",
        [TARGET_NOT_EXAMINED] = "not-examined",
};

static const char *const startup_kinds[] = {
        [STARTUP_IMPORT] = "import",
        [STARTUP_ENTRY] = "start",
        [STARTUP_MODULE] = "module",
};

const char *target_kind_name(enum target_kind kind)
{
	return kinds[kind];
}

const char *target_state_name(enum target_state state)
{
	return states[state];
}

/* The index of @name among @names; @count where it is not one of them. */
static size_t find_name(const char *const *names, size_t count, struct slice name)
{
	size_t i = 0;

	while (i < count && !slice_equal(slice_of(names[i]), name))
		i++;
	return i;
}

const char *root_kind_name(enum root_kind kind)
{
	return root_kinds[kind];
}

void root_kind_find(struct slice name, enum root_kind *out)
{
	size_t found = find_name(root_kinds, COUNT(root_kinds), name);

	*out = found < COUNT(root_kinds) ? (enum root_kind)found : ROOT_ABSENT;
}

bool target_kind_find(struct slice name, enum target_kind *out)
{
	size_t found = find_name(kinds, COUNT(kinds), name);

	if (found < COUNT(kinds))
		*out = (enum target_kind)found;
	return found < COUNT(kinds);
}

bool target_state_find(struct slice name, enum target_state *out)
{
	size_t found = find_name(states, COUNT(states), name);

	if (found < COUNT(states))
		*out = (enum target_state)found;
	return found < COUNT(states);
}

const char *startup_kind_name(enum startup_kind kind)
{
	return startup_kinds[kind];
}

bool startup_kind_find(struct slice name, enum startup_kind *out)
{
	size_t found = find_name(startup_kinds, COUNT(startup_kinds), name);

	if (found < COUNT(startup_kinds))
		*out = (enum startup_kind)found;
	return found < COUNT(startup_kinds);
}

void target_texts(struct target_record *target, struct slice *texts[TARGET_TEXTS])
{
	struct slice *const all[TARGET_TEXTS] = {
	        &target->object,  &target->symbol,    &target->build_id,
	        &target->sha256,  &target->glibc,     &target->glibcxx,
	        &target->missing, &target->undefined, &target->python_by,
	};

	memcpy(texts, all, sizeof(all));
}

static int by_position(const void *left, const void *right)
{
	const struct distribution_record *a = left, *b = right;

	return (a->position > b->position) - (a->position < b->position);
}

void root_record_sort(struct root_record *root)
{
	if (root->distribution_count > 1)
		qsort(root->distributions, root->distribution_count, sizeof(*root->distributions),
		      by_position);
}

bool startups_equal(const struct root_record *a, const struct root_record *b)
{
	bool same = a->startup_count == b->startup_count;

	for (size_t i = 0; same && i < a->startup_count; i++)
		same = a->startups[i].line == b->startups[i].line &&
		       slice_equal(a->startups[i].file, b->startups[i].file) &&
		       slice_equal(a->startups[i].code, b->startups[i].code);
	return same;
}

void root_record_free(struct root_record *root)
{
	arena_free(&root->arena);
	*root = (struct root_record){0};
}

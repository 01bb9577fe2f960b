/*
 * record.c - the names of enum values, defined only here: they are part of the contract with users
 * and with SQL queries.
 */
#include "db/record.h"

#include <stdlib.h>

#define WORDS(...)                                                                                 \
	{                                                                                          \
		(const char *const[]){__VA_ARGS__},                                                \
		        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                \
	}

const struct words root_kinds = WORDS([ROOT_ABSENT] = "absent", [ROOT_DIRECTORY] = "directory",
                                      [ROOT_ZIP] = "zip", [ROOT_ARCHIVE] = "archive");

const struct words target_kinds = WORDS(
        [TARGET_UNRESOLVED] = "unresolved", [TARGET_PYTHON] = "python", [TARGET_NATIVE] = "native",
        [TARGET_EXTENSION] = "extension", [TARGET_BUNDLED] = "bundled");

const struct words target_states = WORDS(
        [TARGET_OK] = "ok", [TARGET_MISSING] = "missing", [TARGET_NO_SYMBOL] = "no-symbol",
        [TARGET_AMBIGUOUS] = "ambiguous", [TARGET_UNRESOLVED_EDITABLE] = "unresolved-editable",
        [TARGET_WRONG_ARCHITECTURE] = "wrong-architecture",
        [TARGET_MISSING_DEPENDENCY] = "missing-dependency", [TARGET_NEEDS_HOST] = "needs-host",
        [TARGET_NOT_EXAMINED] = "not-examined");

const struct words startup_kinds =
        WORDS([STARTUP_IMPORT] = "import", [STARTUP_ENTRY] = "start", [STARTUP_MODULE] = "module");

bool words_find(const struct words *words, struct slice word, unsigned *out)
{
	for (unsigned i = 0; i < words->count; i++) {
		if (!slice_equal(slice_of(words->all[i]), word))
			continue;
		*out = i;
		return true;
	}
	return false;
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

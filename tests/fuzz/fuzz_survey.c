/*
 * fuzz_survey.c - whatever lies in a site directory and in an egg beside it, the database
 * gives the answers that the disk gives.
 *
 * The input is a byte that says how long the tree is, at 64 bytes a step; a tree, see
 * scratch.h; and the egg, as archives_of_input() takes it.
 */
#include "db/base/cleanup.h"
#include "tests/fuzz/answers.h"
#include "tests/fuzz/archives.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

#define SITE     "venv/lib/python3.12/site-packages"
#define DATABASE "venv/var/lib/entrydb/entry_points.db"

static void make(struct slice input)
{
	size_t len = 64 * (size_t)input_byte(&input);
	struct bytes egg;
	const char *name;

	if (len > input.len)
		len = input.len;
	scratch_tree(SITE, slice_first(input, len));
	if (len == input.len)
		return;
	egg = archives_of_input(slice_from(input, len), &name);
	(void)name;
	scratch_write("x-1.egg", (struct slice){egg.ptr, egg.len});
	free(egg.ptr);
}

/* Rows without contents, which each reader is to read for himself, are not to be trusted. */
static bool trusted(void)
{
	return answers_count(scratch_path(DATABASE),
	                     "SELECT count(*) FROM distribution WHERE"
	                     " directory_stamp = 0 AND files_stamp = 0") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(cleanup_free) char *before = NULL;
	CLEANUP(cleanup_free) char *site = NULL;
	CLEANUP(cleanup_free) char *egg = NULL;
	char *path[2];

	scratch_clear();
	scratch_silence();
	make(input_of(data, size));
	path[0] = site = strdup(scratch_path(SITE));
	path[1] = egg = strdup(scratch_path("x-1.egg"));
	before = answers_of(path, 2, ENTRYDB_FRESH_ROOTS);
	answers_update(scratch_path("venv"));
	answers_update_any(egg);
	answers_check_sound(scratch_path(DATABASE));
	for (int fresh = trusted() ? ENTRYDB_FRESH_TRUST : ENTRYDB_FRESH_ROOTS;
	     fresh <= ENTRYDB_FRESH_EXACT; fresh++)
		answers_check(before, path, 2, (enum entrydb_fresh)fresh);
	answers_update(scratch_path("venv"));
	answers_check(before, path, 2, ENTRYDB_FRESH_EXACT);
	require(access(scratch_path(DATABASE ".damaged"), F_OK) != 0);
	return 0;
}

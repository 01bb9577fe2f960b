/*
 * fuzz_into.c - archives recorded in a site directory before they are installed there:
 * whatever they hold, the database stays sound, readers go on to answer what the disk
 * says, and the next update leaves nothing but that.
 *
 * The input is files, "path\0content\0", whose path begins with where it goes: 1 or 2, an
 * archive; anything else, the site directory.
 */
#include <fcntl.h>

#include "db/base/cleanup.h"
#include "indexer/command.h"
#include "tests/fuzz/answers.h"
#include "tests/fuzz/archives.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

#define FILES_MAX 48
#define SITE      "venv/lib/python3.12/site-packages"
#define DATABASE  "venv/var/lib/entrydb/entry_points.db"

static struct tree_file files[FILES_MAX];
static size_t file_count;

static bool goes_to(const struct tree_file *file, char place)
{
	char first = file->path.len ? file->path.ptr[0] : '1';

	return place ? first == place : first != '1' && first != '2';
}

static void make_archive(char place, const char *name)
{
	struct tree_file chosen[FILES_MAX];
	struct bytes zip;
	size_t count = 0;

	for (size_t i = 0; i < file_count; i++)
		if (goes_to(&files[i], place))
			chosen[count++] = (struct tree_file){
			        slice_from(files[i].path, files[i].path.len > 0), files[i].bytes};
	zip = archives_zip(chosen, count);
	scratch_write(name, (struct slice){zip.ptr, zip.len});
	free(zip.ptr);
}

static void make_site(void)
{
	scratch_directory(SITE);
	for (size_t i = 0; i < file_count; i++) {
		CLEANUP(cleanup_free) char *thing = NULL;
		size_t len = files[i].path.len + files[i].bytes.len + 3;

		if (!goes_to(&files[i], '\0'))
			continue;
		thing = calloc(1, len);
		require(thing != NULL);
		thing[0] = 'f';
		memcpy(thing + 1, files[i].path.ptr, files[i].path.len);
		memcpy(thing + 2 + files[i].path.len, files[i].bytes.ptr, files[i].bytes.len);
		scratch_tree(SITE, (struct slice){thing, len});
	}
}

static void add_into(const char *archive, const char *site)
{
	CLEANUP(cleanup_free) char *path = strdup(scratch_path(archive));
	const char *arguments[] = {path};
	struct options options = {
	        .command = "fuzz",
	        .into = site,
	        .quiet = true,
	        .arguments = arguments,
	        .argument_count = 1,
	};
	enum status status = command_add(&options);

	require(status == STATUS_DONE || status == STATUS_COULD_NOT);
	answers_check_sound(scratch_path(DATABASE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(cleanup_free) char *before = NULL;
	CLEANUP(cleanup_free) char *site = NULL;

	scratch_clear();
	scratch_silence();
	file_count = input_files(input_of(data, size), files, FILES_MAX);
	make_site();
	make_archive('1', "one-1-py3-none-any.whl");
	make_archive('2', "two.zip");
	site = strdup(scratch_path(SITE));
	before = answers_of(&site, 1, ENTRYDB_FRESH_ROOTS);
	add_into("one-1-py3-none-any.whl", site);
	add_into("two.zip", site);
	add_into("one-1-py3-none-any.whl", site);
	answers_check(before, &site, 1, ENTRYDB_FRESH_ROOTS);
	answers_update(scratch_path("venv"));
	require(answers_count(scratch_path(DATABASE),
	                      "SELECT count(*) FROM distribution WHERE files_stamp = 0") == 0);
	answers_check(before, &site, 1, ENTRYDB_FRESH_ROOTS);
	require(access(scratch_path(DATABASE ".damaged"), F_OK) != 0);
	return 0;
}

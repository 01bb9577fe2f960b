/*
 * fuzz_package.c - any file, of any kind and name, read as a package, yields distributions or an
 * error.
 *
 * The input is that of archives_of_input().
 */
#include "indexer/archive/package.h"

#include "tests/fuzz/archives.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/rows.h"
#include "tests/fuzz/scratch.h"

static void scan_it(struct package *package)
{
	struct root_record root = {0}, again = {0};
	struct scan_options how = {0};

	if (package_scan(package, &how, &root, NULL) < 0)
		return;
	rows_check(&root);
	how.known = &root;
	require(package_scan(package, &how, &again, NULL) == 0);
	rows_check_same(&root, &again);
	root_record_free(&again);
	root_record_free(&root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name, *path;
	struct bytes bytes = archives_of_input(input_of(data, size), &name);
	struct package package = PACKAGE_INIT;
	struct error error = {0};
	int code;

	scratch_clear();
	path = scratch_write(name, (struct slice){bytes.ptr, bytes.len});
	code = package_open(path, READERS_NONE, NULL, &package, &error);
	require(code == 0 || (code == error.code && error.message && code != ERROR_LOAD));
	if (code == 0)
		scan_it(&package);
	package_close(&package);
	error_clear(&error);
	free(bytes.ptr);
	return 0;
}

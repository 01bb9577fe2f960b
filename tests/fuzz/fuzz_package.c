/*
 * fuzz_package.c - no file, whatever its kind and its name, may do more as a package than
 * give distributions or an error: as it is, and as it will be once it is installed.
 *
 * The input is that of archives_of_input().
 */
#include "indexer/archive/package.h"

#include <fcntl.h>
#include <unistd.h>

#include "indexer/verbs/placed.h"
#include "tests/fuzz/archives.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/rows.h"
#include "tests/fuzz/scratch.h"

static void scan_it(struct package *package)
{
	struct root_record root = {0}, again = {0};
	struct package_scan how = {0};

	if (package_scan(package, &how, &root, NULL) < 0)
		return;
	rows_check(&root);
	how.known = &root;
	require(package_scan(package, &how, &again, NULL) == 0);
	rows_check_same(&root, &again);
	root_record_free(&again);
	root_record_free(&root);
}

static void scan_placed(struct package *package, int site)
{
	struct root_record root = {0};

	if (placed_scan(package, site, NULL, &root, NULL) == 0) {
		rows_check(&root);
		for (size_t i = 0; i < root.distribution_count; i++)
			require(placed_is_pending(&root.distributions[i]) &&
			        !memchr(root.distributions[i].directory.ptr, '/',
			                root.distributions[i].directory.len));
	}
	root_record_free(&root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *name, *path;
	struct bytes bytes = archives_of_input(input_of(data, size), &name);
	struct package package = PACKAGE_INIT;
	struct error error = {0};
	int site, code;

	scratch_clear();
	path = scratch_write(name, (struct slice){bytes.ptr, bytes.len});
	site = open(scratch_directory("site"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = package_open(path, NULL, &package, &error);
	require(code == 0 || (code == error.code && error.message && code != ERROR_LOAD));
	if (code == 0) {
		scan_it(&package);
		scan_placed(&package, -1);
		scan_placed(&package, site);
	}
	package_close(&package);
	error_clear(&error);
	close(site);
	free(bytes.ptr);
	return 0;
}

/*
 * fuzz_sites.c - whatever layouts, links, .pth and pyvenv.cfg files a machine has, its site
 * directories are absolute paths, each there and named once.
 *
 * The input is the tree of a file-system root, see scratch.h, whose /venv is also asked
 * as the active environment of this machine.
 */
#include "libquery/sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/text.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

static void check(struct sites *sites, int code, const char *sysroot)
{
	require(code <= 0);
	for (size_t i = 0; i < sites->count; i++) {
		CLEANUP(cleanup_free) char *real = text_format("%s%s", sysroot, sites->paths[i]);

		require(sites->paths[i][0] == '/');
		require(real && access(real, F_OK) == 0);
		for (size_t j = 0; j < i; j++)
			require(strcmp(sites->paths[i], sites->paths[j]) != 0);
	}
	sites_free(sites);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = {NULL, "3.12", "3.14t", "../.."};
	CLEANUP(cleanup_free) char *root = NULL;
	struct sites sites = {0};

	scratch_clear();
	scratch_tree("root", input_of(data, size));
	root = strdup(scratch_path("root"));
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		check(&sites, sites_default(&sites, versions[i], root, NULL), root);
	check(&sites, sites_of_machine(&sites, root, NULL), root);
	check(&sites, sites_of_prefix(&sites, "/venv", root, NULL), root);
	check(&sites, sites_of_prefix(&sites, "/", root, NULL), root);
	check(&sites, sites_of_prefix(&sites, scratch_path("root/venv"), NULL, NULL), "");
	setenv("VIRTUAL_ENV", scratch_path("root/venv"), 1);
	setenv("HOME", scratch_path("root/home"), 1);
	check(&sites, sites_default(&sites, NULL, NULL, NULL), "");
	check(&sites, sites_default(&sites, "3.12", NULL, NULL), "");
	return 0;
}

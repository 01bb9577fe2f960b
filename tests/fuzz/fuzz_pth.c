/*
 * fuzz_pth.c - any .pth files add absolute paths without "." and "..", never lines of code, and the
 * same paths each time.
 */
#include "db/base/hash.h"
#include "libquery/disk/metadata/pth.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scratch.h"

struct seen {
	uint64_t digest; /* of all paths so far */
	size_t count;
};

static void check_components(const char *path)
{
	const char *at = path + (path[1] == '/' && path[2] != '/'); /* "//" is kept */

	if (strcmp(at, "/") == 0)
		return;
	while (*at) {
		size_t len = strcspn(++at, "/");

		require(len > 0);
		require(!(len == 1 && at[0] == '.') && !(len == 2 && at[0] == '.' && at[1] == '.'));
		at += len;
	}
}

static int each(void *payload, const char *path)
{
	struct seen *seen = payload;
	uint64_t pair[2] = {seen->digest, hash_stable(path, strlen(path))};

	require(path[0] == '/');
	check_components(path);
	seen->digest = hash_numbers(pair, 2);
	seen->count++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen first = {0}, again = {0};

	scratch_clear();
	scratch_tree("site", input_of(data, size));
	require(pth_walk(scratch_path("site"), "/venv/site", READERS_NONE, each, &first, NULL) <=
	        0);
	require(pth_walk(scratch_path("site"), "/venv/site", READERS_NONE, each, &again, NULL) <=
	        0);
	require(first.count <= size && first.count == again.count && first.digest == again.digest);
	return 0;
}

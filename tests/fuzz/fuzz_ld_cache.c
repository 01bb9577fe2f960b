/*
 * fuzz_ld_cache.c - the input is a cache. Paths found in it are absolute and within the input, and
 * the search ends.
 */
#include <stdint.h>
#include <stdlib.h>

#include "libquery/disk/elf/ld_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A buffer of the exact size, so that reading beyond it is detected. */
	char *copy = malloc(size + !size);
	struct ld_cache cache;
	struct slice path;
	size_t found = 0;

	if (size > 0)
		memcpy(copy, data, size);
	if (ld_cache_open((struct slice){copy, size}, &cache))
		for (size_t at = 0; ld_cache_find(&cache, SLICE("a"), &at, &path);)
			if (path.len == 0 || path.ptr[0] != '/' || path.ptr < copy ||
			    path.ptr + path.len > copy + size || ++found > size)
				abort();
	free(copy);
	return 0;
}

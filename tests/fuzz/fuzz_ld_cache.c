/*
 * fuzz_ld_cache.c - the bytes are a cache. What is found in it is an absolute path within
 * those bytes, and the search comes to an end.
 */
#include <stdint.h>
#include <stdlib.h>

#include "libquery/disk/elf/ld_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as large as it is, so that one byte too far is noticed. */
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

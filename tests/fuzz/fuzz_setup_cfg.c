/*
 * fuzz_setup_cfg.c - no bytes, taken for a setup.cfg, may do more than give a text
 * or an error.
 */
#include <stdint.h>
#include <stdlib.h>

#include "indexer/archive/setup_cfg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touch every byte of what was given. */
static unsigned sum_of(struct slice text)
{
	unsigned sum = 0;

	for (size_t i = 0; i < text.len; i++)
		sum += (unsigned char)text.ptr[i];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct setup_cfg cfg = {0};
	struct error error = {0};
	struct slice file;
	int code = setup_cfg_read((struct slice){(const char *)data, size}, &arena, &cfg, &error);

	if (code < 0 && (code != error.code || !slice_is_null(cfg.entry_points)))
		abort();
	if (sum_of(cfg.entry_points) + sum_of(cfg.files) == UINT32_MAX)
		abort();
	while (setup_cfg_next_file(&cfg.files, &file))
		if (file.len == 0)
			abort();
	error_clear(&error);
	arena_free(&arena);
	return 0;
}

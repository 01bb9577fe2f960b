/*
 * fuzz_pyproject.c - any bytes, read as a pyproject.toml, yield facts or a problem of one line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "indexer/archive/pyproject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_fact(void *payload, enum pyproject_fact fact, struct pyproject_text text)
{
	*(size_t *)payload += (size_t)fact + strnlen(text.text, text.length);
	return 0;
}

static int take_entry_point(void *payload, struct pyproject_text group, struct pyproject_text name,
                            struct pyproject_text value)
{
	*(size_t *)payload += strnlen(group.text, group.length) + strnlen(name.text, name.length) +
	                      strnlen(value.text, value.length);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char problem[PYPROJECT_PROBLEM_SIZE] = "";
	size_t total = 0;
	struct pyproject_sink sink = {&total, take_fact, take_entry_point};

	if (pyproject_read((const char *)data, size, &sink, problem) != PYPROJECT_OK && !problem[0])
		abort();
	return total == SIZE_MAX;
}

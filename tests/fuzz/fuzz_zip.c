/*
 * fuzz_zip.c - no bytes, taken for a zip, may do more than give members or an
 * error, and a member's place must lead to it again.
 */
#include "db/base/cleanup.h"
#include "libquery/disk/zip/zip.h"
#include "tests/fuzz/input.h"

#define READ_MAX  ((size_t)1 << 20) /* bytes of a member */
#define READS_MAX 16                /* members that are read */

static void check(struct zip *zip, size_t place, const struct zip_member *m)
{
	CLEANUP(cleanup_free) char *owned = NULL;
	struct zip_member again;
	struct slice bytes;

	require(zip_next(zip, &place, &again) && slice_equal(again.name, m->name));
	if (zip_read(zip, m, READ_MAX, &bytes, NULL) < 0)
		return;
	owned = (char *)bytes.ptr;
	require(bytes.len <= READ_MAX && bytes.ptr[bytes.len] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(cleanup_close) int fd = input_descriptor(data, size);
	CLEANUP(error_clear) struct error error = {0};
	CLEANUP(cleanup_zip) struct zip *zip = NULL;
	struct zip_member m;
	size_t count = 0;

	if (zip_open(fd, "fuzz", &zip, &error) < 0)
		return 0;
	for (size_t place = 0; zip_next(zip, &place, &m);)
		if (count++ < READS_MAX)
			check(zip, place - 1, &m);
	return 0;
}

/*
 * fuzz_zip.c - any bytes, read as a zip, yield members or an error.
 */
#include "db/base/cleanup.h"
#include "libquery/disk/zip/zip.h"
#include "tests/fuzz/input.h"

#define READ_MAX  ((size_t)1 << 20) /* bytes of a member */
#define READS_MAX 16                /* members read */

static void check(const struct zip *zip, const struct zip_member *m)
{
	CLEANUP(cleanup_free) char *owned = NULL;
	struct slice bytes;

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

	if (zip_open(fd, "fuzz", &zip, &error) < 0)
		return 0;
	for (size_t i = 0; i < zip->count && i < READS_MAX; i++)
		check(zip, &zip->members[i]);
	return 0;
}

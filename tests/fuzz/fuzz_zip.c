/*
 * fuzz_zip.c - no bytes, taken for a zip, may do more than give members or an
 * error, and every member found by name must be the last one of that name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libquery/disk/zip/zip.h"

#define READ_MAX  ((size_t)1 << 20) /* bytes of a member */
#define READS_MAX 16                /* members that are read; each read walks the directory */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_found(struct zip *zip, const struct zip_member *m)
{
	struct zip_member found;

	if (!zip_find(zip, m->name, &found) || found.place < m->place)
		abort();
}

static void walk(struct zip *zip)
{
	struct zip_cursor cursor = ZIP_CURSOR_INIT;
	struct zip_member m;
	size_t count = 0;

	while (zip_next(zip, &cursor, &m)) {
		struct error error = {0};
		struct slice bytes;

		if (count++ >= READS_MAX)
			continue;
		check_found(zip, &m);
		if (zip_read(zip, &m, READ_MAX, &bytes, &error) == 0) {
			if (bytes.len > READ_MAX || bytes.ptr[bytes.len] != '\0')
				abort();
			free((char *)bytes.ptr);
		}
		error_clear(&error);
	}
	if (count != zip_count(zip))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("zip", MFD_CLOEXEC);
	struct error error = {0};
	struct zip *zip = NULL;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (zip_open(fd, "fuzz", &zip, &error) == 0)
		walk(zip);
	zip_close(zip);
	error_clear(&error);
	close(fd);
	return 0;
}

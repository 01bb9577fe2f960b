/*
 * object_id.c - tells builds of shared objects apart: what crashed stays in quarantine at
 * any path, and another build of it is free.
 */
#include "libquery/object_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/sha256.h"
#include "db/base/text.h"
#include "libquery/disk/elf/elf_file.h"

#define BUILD_PREFIX "build-id-"

int object_id(const char *object, char **id, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, object, 0);
	CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
	char text[SHA256_HEX_SIZE + 1];
	uint8_t digest[SHA256_SIZE];
	const char *build_id;
	struct error own = {0};
	int code;

	if (fd < 0)
		return error_errno(error, errno, "cannot read %s", object);
	code = elf_file_open(fd, &file, &own);
	if (error_is_failure(code))
		return error_move(error, &own);
	error_clear(&own);
	build_id = code < 0 ? "" : elf_file_header(file)->build_id;
	if (!*build_id && (lseek(fd, 0, SEEK_SET) != 0 || sha256_of_file(fd, NULL, digest) != 0))
		return error_errno(error, errno, "cannot read %s", object);
	if (!*build_id)
		sha256_hex(digest, text);
	*id = *build_id ? text_format(BUILD_PREFIX "%s", build_id) : text_format("sha256-%s", text);
	return *id ? 0 : error_nomem(error);
}

const char *object_id_build(const char *id)
{
	size_t len = sizeof(BUILD_PREFIX) - 1;

	return strncmp(id, BUILD_PREFIX, len) == 0 ? id + len : NULL;
}

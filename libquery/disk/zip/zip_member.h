/*
 * zip_member.h - a member of a zip, as the directory of the zip describes it.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_MEMBER_H
#define LIBQUERY_DISK_ZIP_ZIP_MEMBER_H

#include <stdint.h>

#include "db/base/slice.h"

#define ZIP_DIRECTORY_MAX ((uint64_t)512 << 20) /* bytes of a central directory */
#define ZIP_MEMBERS_MAX   ((size_t)4 << 20)     /* members of a zip */

struct zip_member {
	struct slice name;      /* UTF-8, up to its first NUL; lives as long as the zip */
	uint64_t size, packed;  /* bytes, unpacked and packed, as declared */
	uint64_t header_offset; /* from the start of the file; UINT64_MAX: outside of any file */
	uint32_t crc;
	uint16_t method, flags;
	size_t record; /* where it stands in the central directory */
};

#endif

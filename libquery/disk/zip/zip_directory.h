/*
 * zip_directory.h - the bytes of a zip file, and its central directory: which members
 * there are.
 *
 * The directory is read into memory once, checked as a whole, and kept: names stay where they
 * are in it.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_DIRECTORY_H
#define LIBQUERY_DISK_ZIP_ZIP_DIRECTORY_H

#include <stdint.h>
#include <sys/types.h>

#include "db/base/arena.h"
#include "db/base/error.h"

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

/* Bits of a member's flags. */
enum zip_flag {
	ZIP_ENCRYPTED = 1 << 0,
	ZIP_PATCH = 1 << 5,
	ZIP_STRONG_ENCRYPTION = 1 << 6,
	ZIP_UTF8 = 1 << 11,
};

/* Where the bytes come from that are in no file: as pread(). */
struct zip_source {
	ssize_t (*read)(void *payload, char *to, size_t size, uint64_t at);
	void *payload;
	uint64_t size;
};

/*
 * The file is read, never mapped: a file that somebody truncates under a mapping
 * would kill the host with SIGBUS.
 */
struct zip {
	int fd; /* borrowed; -1: there is a source instead */
	struct zip_source source;
	char *path;               /* for messages */
	uint64_t size;            /* bytes of the file */
	uint64_t start, declared; /* in it: where the directory is, and where the end record says */
	char *bytes;              /* of the directory */
	size_t length;
	struct zip_member *members; /* in the directory's order, duplicates included */
	size_t count, room;
	uint64_t *starts;   /* where they start in the file, sorted */
	struct arena names; /* those that are not UTF-8 in the file */
};

/* Up to @size bytes from @at, fewer only at the end of the file; *got says how many. */
int zip_file_read_some(const struct zip *zip, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error);

/* Exactly @size bytes from @at; ERROR_FORMAT when the file ends before. */
int zip_file_read(const struct zip *zip, uint64_t at, char *to, size_t size, struct error *error);

/*
 * Read and check the directory of the file at zip->fd, which is open, with its path. Whatever
 * makes Python's ZipFile() raise is an error here.
 */
int zip_directory_load(struct zip *zip, struct error *error);

/* Where the first member behind @offset starts in the file, or else the directory. */
uint64_t zip_directory_next_start(const struct zip *zip, uint64_t offset);

/*
 * Does the local header of @member name it @local, which is UTF-8 or cp437 as @flags say?
 * 1, 0 or ERROR_NOMEM.
 */
int zip_directory_is_named(const struct zip *zip, const struct zip_member *member,
                           struct slice local, unsigned flags);

/* --- little-endian numbers, at any alignment --- */

static inline uint16_t get16(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t get32(const char *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static inline uint64_t get64(const char *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* Every record begins with PK and two characters of its own. */
static inline bool has_signature(const char *p, char a, char b)
{
	return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

#endif

/*
 * zip_directory.h - reads the central directory of a zip file.
 *
 * The directory is read into memory once, checked as a whole, and kept: names point into it.
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
	uint64_t header_offset; /* from the start of the file; UINT64_MAX: out of range */
	uint32_t crc;
	uint16_t method, flags;
	size_t record; /* its offset in the central directory */
};

/* Bits of a member's flags. */
enum zip_flag {
	ZIP_ENCRYPTED = 1 << 0,
	ZIP_PATCH = 1 << 5,
	ZIP_STRONG_ENCRYPTION = 1 << 6,
	ZIP_UTF8 = 1 << 11,
};

/* A source of bytes other than a file; read() as pread(). */
struct zip_source {
	ssize_t (*read)(void *payload, char *to, size_t size, uint64_t at);
	void *payload;
	uint64_t size;
};

/* The file is read, never mapped: truncating a mapped file would kill the host with SIGBUS. */
struct zip {
	int fd; /* borrowed; -1: use the source */
	struct zip_source source;
	char *path;               /* for messages */
	uint64_t size;            /* bytes of the file */
	uint64_t start, declared; /* offset of the directory: actual, and in the end record */
	char *bytes;              /* of the directory */
	size_t length;
	struct zip_member *members; /* in the directory's order, duplicates included */
	size_t count, room;
	uint64_t *starts;   /* sorted offsets of the members */
	struct arena names; /* converted to UTF-8 */
};

/* Read up to @size bytes at @at, fewer only at the end of the file; *got is their number. */
int zip_file_read_some(const struct zip *zip, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error);

/* Read exactly @size bytes at @at; ERROR_FORMAT if the file ends before. */
int zip_file_read(const struct zip *zip, uint64_t at, char *to, size_t size, struct error *error);

/*
 * Read and check the directory of zip->fd (or source); zip->path is set. Fails wherever Python's
 * ZipFile() raises.
 */
int zip_directory_load(struct zip *zip, struct error *error);

/* The offset of the first member after @offset, or of the directory. */
uint64_t zip_directory_next_start(const struct zip *zip, uint64_t offset);

/*
 * Does the name @local in the local header, UTF-8 or cp437 by its @flags, equal the name of
 * @member? 1, 0 or ERROR_NOMEM.
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

/* Every record begins with PK and two characters for its type. */
static inline bool has_signature(const char *p, char a, char b)
{
	return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

#endif

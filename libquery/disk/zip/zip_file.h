/*
 * zip_file.h - the bytes of a zip file, and the numbers in them.
 *
 * The file is read, never mapped: a file that somebody truncates under a mapping
 * would kill the host with SIGBUS.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_FILE_H
#define LIBQUERY_DISK_ZIP_ZIP_FILE_H

#include <stdint.h>

#include "db/base/error.h"
#include "db/base/slice.h"

struct zip_file {
	int fd;           /* borrowed */
	const char *name; /* for messages; borrowed */
	uint64_t size;    /* bytes */
};

/* Look at the file at @fd. ERROR_FORMAT where it is not a regular file. */
int zip_file_open(int fd, const char *name, struct zip_file *out, struct error *error);

/* Up to @size bytes from @at, fewer only at the end of the file; *got says how many. */
int zip_file_read_some(const struct zip_file *file, uint64_t at, char *to, size_t size, size_t *got,
                       struct error *error);

/* Exactly @size bytes from @at; ERROR_FORMAT when the file ends before. */
int zip_file_read(const struct zip_file *file, uint64_t at, char *to, size_t size,
                  struct error *error);

/* ERROR_FORMAT: there is no directory in the file. */
int zip_file_not_a_zip(const struct zip_file *file, struct error *error);

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

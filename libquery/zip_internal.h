/*
 * zip_internal.h - what zip.c, zip_read.c and zip_text.c share.
 *
 * zip.c knows the directory, zip_read.c the members, zip_text.c the character
 * sets of names. Nobody else includes this.
 */
#ifndef LIBQUERY_ZIP_INTERNAL_H
#define LIBQUERY_ZIP_INTERNAL_H

#include "arena.h"
#include "zip.h"

enum member_flag {
	FLAG_ENCRYPTED = 1 << 0,
	FLAG_PATCH = 1 << 5,
	FLAG_STRONG_ENCRYPTION = 1 << 6,
	FLAG_UTF8 = 1 << 11,
};

/* A name that is not UTF-8 in the file, so that its UTF-8 must be kept here. */
struct foreign {
	size_t place; /* of the record that bears it */
	struct slice name;
};

struct headers; /* where all members start, known to zip_read.c */

struct zip {
	int fd;
	char *path;
	uint64_t file_size;
	uint64_t start, declared; /* of the directory: where it is, and where the end record says */
	char *directory;
	size_t size, count;
	struct foreign *foreign; /* ordered by place */
	size_t foreigners, room;
	struct arena names; /* the bytes of foreign names */
	struct headers *headers;
};

/* One record of the directory, as it stands in the file. */
struct record {
	const char *fixed;
	struct slice name, extra; /* cut where the directory ends */
	size_t end;               /* the place of the next, possibly behind the directory */
};

/* Little-endian numbers, at any alignment. */

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

static inline bool has_signature(const char *p, char a, char b)
{
	return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

/* The path for messages. */
static inline const char *zip_path(const struct zip *zip)
{
	return zip->path ? zip->path : "zip";
}

/* Up to @size bytes from @at, fewer only at the end of the file; *got says how many. */
int zip_read_some(const struct zip *zip, uint64_t at, char *to, size_t size, size_t *got,
                  struct error *error);

/* Exactly @size bytes from @at; ERROR_FORMAT when the file ends before. */
int zip_read_all(const struct zip *zip, uint64_t at, char *to, size_t size, struct error *error);

/* NULL when there is no memory. */
struct headers *zip_headers_new(void);

/* NULL is accepted. */
void zip_headers_free(struct headers *headers);

/* The parts of the record at @place, which has at least its fixed part. */
void zip_split_record(const struct zip *zip, size_t place, struct record *out);

#define UTF8_PER_BYTE 3 /* the most bytes of UTF-8 for one of cp437 */

bool zip_is_ascii(struct slice s);

/* Write the UTF-8 of @s to @to, which has room for UTF8_PER_BYTE a byte; returns its length. */
size_t zip_convert_cp437(struct slice s, char *to);

#endif

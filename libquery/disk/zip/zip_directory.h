/*
 * zip_directory.h - the central directory of a zip: which members there are.
 *
 * It is read into memory once, checked as a whole, and walked there: a member costs no
 * allocation, and a wheel of 12,000 members nothing but its last megabyte.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_DIRECTORY_H
#define LIBQUERY_DISK_ZIP_ZIP_DIRECTORY_H

#include "db/base/arena.h"
#include "libquery/disk/zip/zip_file.h"
#include "libquery/disk/zip/zip_member.h"

/* A name that is not UTF-8 in the file, so that its UTF-8 must be kept here. */
struct zip_foreign {
	size_t place; /* of the record that bears it */
	struct slice name;
};

struct zip_directory {
	uint64_t start, declared; /* in the file: where it is, and where the end record says */
	char *bytes;
	size_t size, count;          /* in bytes; members, duplicates included */
	struct zip_foreign *foreign; /* ordered by place */
	size_t foreigners, room;
	struct arena names; /* the bytes of foreign names */
};

/*
 * Read and check the directory of @file into @out, which is zero. Whatever makes
 * Python's ZipFile() raise is an error here. @out is released by zip_directory_free(),
 * also after an error.
 */
int zip_directory_load(struct zip_directory *out, const struct zip_file *file, struct error *error);

void zip_directory_free(struct zip_directory *directory);

/* The next member, in the order of the directory (Python's namelist()); false at the end. */
bool zip_directory_next(const struct zip_directory *directory, struct zip_cursor *cursor,
                        struct zip_member *out);

/* The name of the member whose record is at @place, as the record spells it. */
struct slice zip_directory_name(const struct zip_directory *directory, size_t place);

#endif

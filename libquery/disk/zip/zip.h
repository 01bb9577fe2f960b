/*
 * zip.h - the members of a zip file, as Python's zipfile sees them.
 *
 * The only reader of zips here: path entries that are zips or eggs, wheels, source
 * distributions and .conda packages.
 *
 * Functions return 0 or a negative enum error_code:
 *   ERROR_FORMAT  the file is not a zip, or damaged, wherever Python raises;
 *                 also an encrypted member, or a method other than stored and
 *                 deflate (Python reads bzip2 and lzma, this reader does not)
 *   ERROR_LIMIT   larger than a limit of zip_member.h or than the caller's
 *   ERROR_IO      the system could not read
 *   ERROR_NOMEM   out of memory
 *
 * An open zip is not changed by any function but zip_close(), as far as callers
 * can tell: threads may share it. (What zip_read() remembers, it guards.)
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_H
#define LIBQUERY_DISK_ZIP_ZIP_H

#include "db/base/error.h"
#include "libquery/disk/zip/zip_member.h"

struct zip;
struct zip_file;

/*
 * Read the directory of the zip at @fd, whose position is neither used nor
 * changed. @fd is borrowed and must stay open as long as members are read.
 * @path (may be NULL) serves error messages only, and is copied. On success the
 * caller owns *@out. Whatever makes Python's ZipFile() raise is an error here.
 */
int zip_open(int fd, const char *path, struct zip **out, struct error *error);

/* NULL is accepted. */
void zip_close(struct zip *zip);

static inline void cleanup_zip(struct zip **zip)
{
	zip_close(*zip);
}

/* How many members there are, duplicates included. */
size_t zip_count(const struct zip *zip);

/* The next member, in the order of the directory (Python's namelist()); false at the end. */
bool zip_next(const struct zip *zip, struct zip_cursor *cursor, struct zip_member *out);

/*
 * The member of that name, the last one where there are several. Walks the whole
 * directory: whoever asks often keeps cursors by name.
 */
bool zip_find(const struct zip *zip, struct slice name, struct zip_member *out);

/*
 * The bytes of a member of this zip, at most @limit of them. On success the
 * caller frees out->ptr; a NUL follows the last byte. As in Python, the bytes
 * must match the checksum, but may be fewer than declared. More than declared
 * is ERROR_LIMIT.
 *
 * Members that overlap the next one are refused, as CPython 3.13 and the later
 * releases of 3.10 to 3.12 do.
 */
int zip_read(struct zip *zip, const struct zip_member *member, size_t limit, struct slice *out,
             struct error *error);

/* Where in the file the packed bytes of a member lie, after the same checks but the sum's. */
int zip_locate(struct zip *zip, const struct zip_member *member, uint64_t *offset,
               struct error *error);

/* The file that the zip is. */
const struct zip_file *zip_file_of(const struct zip *zip);

/*
 * Where in the file the bytes of a member lie that is stored, not packed: for what is too
 * large to be had in memory. 1, after the same checks as for zip_read() (@stop, which may
 * be NULL, is asked now and then and ends them with ERROR_IO); 0: it is packed.
 */
int zip_find_stored(struct zip *zip, const struct zip_member *member, bool (*stop)(void),
                    uint64_t *offset, struct error *error);

#endif

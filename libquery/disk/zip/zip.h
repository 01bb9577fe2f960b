/*
 * zip.h - the members of a zip file, as Python's zipfile sees them.
 *
 * Functions return 0 or a negative enum error_code:
 *   ERROR_FORMAT  the file is not a zip, or damaged, wherever Python raises;
 *                 also an encrypted member, or a method other than stored and
 *                 deflate (Python reads bzip2 and lzma, this reader does not)
 *   ERROR_LIMIT   larger than a limit of zip_directory.h or than the caller's
 *   ERROR_IO      the system could not read
 *   ERROR_NOMEM   out of memory
 *
 * The members of an open zip are zip->members, in the order of Python's namelist(). Nothing
 * but zip_close() changes it: threads may share it.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_H
#define LIBQUERY_DISK_ZIP_ZIP_H

#include "libquery/disk/zip/zip_directory.h"

/*
 * Read the directory of the zip at @fd, whose position is neither used nor
 * changed. @fd is borrowed and must stay open as long as members are read.
 * @path (may be NULL) serves error messages only, and is copied. On success the
 * caller owns *@out. Whatever makes Python's ZipFile() raise is an error here.
 */
int zip_open(int fd, const char *path, struct zip **out, struct error *error);

/* The same of what @source gives, for as long as the zip is open; its errno is reported. */
int zip_open_source(const struct zip_source *source, const char *path, struct zip **out,
                    struct error *error);

/* NULL is accepted. */
void zip_close(struct zip *zip);

static inline void cleanup_zip(struct zip **zip)
{
	zip_close(*zip);
}

/* Takes the next bytes of a member. A negative answer ends the unpacking, which returns it. */
typedef int zip_sink(void *payload, struct slice bytes, struct error *error);

/*
 * Give the bytes of a member of this zip, at most @limit of them, to @sink, piece by piece.
 * As in Python, the bytes must match the checksum, which is known only after the last
 * piece, but may be fewer than declared. More than declared is ERROR_LIMIT.
 *
 * Members that overlap the next one are refused, as CPython 3.13 and the later
 * releases of 3.10 to 3.12 do.
 */
int zip_unpack(const struct zip *zip, const struct zip_member *member, uint64_t limit,
               zip_sink *sink, void *payload, struct error *error);

/* The same into memory: the caller frees out->ptr; a NUL follows the last byte. */
int zip_read(const struct zip *zip, const struct zip_member *member, size_t limit,
             struct slice *out, struct error *error);

#endif

/*
 * zip.h - reads the members of a zip file, as Python's zipfile does.
 *
 * Functions return 0 or a negative enum error_code:
 *     ERROR_FORMAT  not a zip, or damaged, wherever Python raises; also an encrypted
 *                   member, or a method other than stored and deflate (Python also
 *                   reads bzip2 and lzma, this reader does not)
 *     ERROR_LIMIT   larger than a limit of zip_directory.h or of the caller
 *     ERROR_IO      could not be read
 *     ERROR_NOMEM   out of memory
 *
 * The members of an open zip are zip->members, in the order of Python's namelist(). An open zip is
 * immutable: threads may share it.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_H
#define LIBQUERY_DISK_ZIP_ZIP_H

#include "libquery/disk/zip/zip_directory.h"

/*
 * Open the zip @fd and read its directory. @fd is borrowed, must stay open as long as members are
 * read, and its position is neither used nor changed. @path (may be NULL) is for error messages
 * only, and is copied. On success the caller owns *out. Fails wherever Python's ZipFile() raises.
 */
int zip_open(int fd, const char *path, struct zip **out, struct error *error);

/* The same with data from @source, which must outlive the zip; its errno is reported. */
int zip_open_source(const struct zip_source *source, const char *path, struct zip **out,
                    struct error *error);

/* NULL is accepted. */
void zip_close(struct zip *zip);

static inline void cleanup_zip(struct zip **zip)
{
	zip_close(*zip);
}

/* Callback for the next bytes of a member. A negative result ends the unpacking and is returned. */
typedef int zip_sink(void *payload, struct slice bytes, struct error *error);

/*
 * Unpack a member of this zip, at most @limit bytes, to @sink, piece by piece. As in Python, the
 * bytes must match the checksum, which is known only after the last piece, but may be fewer than
 * declared. More than declared is ERROR_LIMIT.
 *
 * Members that overlap the next one are rejected, as in CPython 3.13 and the later releases of 3.10
 * to 3.12.
 */
int zip_unpack(const struct zip *zip, const struct zip_member *member, uint64_t limit,
               zip_sink *sink, void *payload, struct error *error);

/* The same into memory: the caller frees out->ptr; a NUL follows the last byte. */
int zip_read(const struct zip *zip, const struct zip_member *member, size_t limit,
             struct slice *out, struct error *error);

#endif

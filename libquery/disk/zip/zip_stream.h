/*
 * zip_stream.h - a member of a zip as a stream, for what is too large to be had in memory.
 *
 * Any part of it may be read, without its checksum. To go back means to unpack it from the
 * beginning again, unless it is stored; so the bytes that are unpacked, skipped ones included,
 * have a limit. Functions return 0 or the errors of zip.h.
 */
#ifndef LIBQUERY_DISK_ZIP_ZIP_STREAM_H
#define LIBQUERY_DISK_ZIP_ZIP_STREAM_H

#include "libquery/disk/zip/zip.h"

struct zip_stream;

/* Both, and the zip, must stay; the caller closes *@out. */
int zip_stream_open(struct zip *zip, const struct zip_member *member, uint64_t limit,
                    struct zip_stream **out, struct error *error);
void zip_stream_close(struct zip_stream *stream); /* NULL is accepted */

static inline void cleanup_zip_stream(struct zip_stream **stream)
{
	zip_stream_close(*stream);
}

/* Up to @size bytes from @at, fewer only at the end; *got says how many. ERROR_LIMIT: too deep. */
int zip_stream_read(struct zip_stream *stream, uint64_t at, char *to, size_t size, size_t *got,
                    struct error *error);

/* Bytes that have been unpacked so far. */
uint64_t zip_stream_unpacked(const struct zip_stream *stream);

#endif

/*
 * archives.h - builds archives with valid checksums, so that a fuzz target gets past these.
 */
#ifndef TESTS_FUZZ_ARCHIVES_H
#define TESTS_FUZZ_ARCHIVES_H

#include "libquery/disk/tree/archive.h"

/* A growing buffer; free with free(). */
struct bytes {
	char *ptr;
	size_t len;
};

/* Archives with valid headers and checksums: stored, or ustar; a .deb contains a data.tar. */
struct bytes archives_zip(const struct tree_file *files, size_t count);
struct bytes archives_tar(const struct tree_file *files, size_t count);
struct bytes archives_deb(const struct tree_file *files, size_t count);
struct bytes archives_conda(const struct tree_file *files, size_t count);

/*
 * An archive described by the input: a byte for its kind, then files as "path\0content\0". A file
 * without path overwrites bytes of the archive, from the offset in its first four bytes. *@name is
 * a file name that suits the kind. For any other kind, the rest of the input is the archive.
 */
struct bytes archives_of_input(struct slice input, const char **name);

#endif

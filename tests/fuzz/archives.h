/*
 * archives.h - archives made of files, so that a fuzz target gets past their checksums.
 */
#ifndef TESTS_FUZZ_ARCHIVES_H
#define TESTS_FUZZ_ARCHIVES_H

#include "libquery/disk/tree/archive.h"

/* Bytes that grow; released with free(). */
struct bytes {
	char *ptr;
	size_t len;
};

/* With sound headers and checksums: stored, or of ustar; a .deb holds a data.tar. */
struct bytes archives_zip(const struct tree_file *files, size_t count);
struct bytes archives_tar(const struct tree_file *files, size_t count);
struct bytes archives_deb(const struct tree_file *files, size_t count);
struct bytes archives_conda(const struct tree_file *files, size_t count);

/*
 * Of what the input says: a byte for the kind, then files as "path\0content\0"; a file
 * without a path is what stands in the bytes of the archive, from the place in its first
 * four bytes on. *@name: one that suits the kind. With the kind beyond those above, the
 * input is the archive.
 */
struct bytes archives_of_input(struct slice input, const char **name);

#endif

/*
 * file_hash.h - hashes a file and compares it with its RECORD.
 */
#ifndef INDEXER_FILE_HASH_H
#define INDEXER_FILE_HASH_H

#include <sys/types.h>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/sha256.h"
#include "db/base/slice.h"

/* What ERROR_LIMIT means. */
#define FILE_HASH_TOO_LARGE                                                                        \
	"it is too large, has too large holes, or comes after too many large files, to be "        \
	"compared with its hash"

/* Bytes of all files of a site directory: one file can have many names. */
#define FILE_HASH_ALL ((off_t)16 << 30)

/*
 * Does the file at @path have the hash @recorded: "sha256=" and the digest in base64url without
 * padding (PEP 376, PEP 427), or in hexadecimal, as in Debian's packages? 1: yes; 0: no;
 * ERROR_NOTFOUND, ERROR_PERMISSION, ERROR_IO and the like: it could not be read. ERROR_LIMIT: it is
 * too large. ERROR_INVALID: another kind of hash. @readers: of the result, as for file_open_for().
 * *left, at first FILE_HASH_ALL, decreases.
 */
int file_hash_matches(struct readers readers, const char *path, struct slice recorded, off_t *left,
                      struct error *error);

/* The SHA-256 of the file at @path, in hexadecimal. */
int file_hash(const char *path, char hex[SHA256_HEX_SIZE + 1], struct error *error);

#endif

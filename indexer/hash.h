/*
 * hash.h - is a file the one whose hash RECORD gives?
 */
#ifndef INDEXER_HASH_H
#define INDEXER_HASH_H

#include "db/base/error.h"
#include "db/base/slice.h"

/*
 * Is the SHA-256 of the file at @path the one that RECORD gives, @recorded: "sha256=" and
 * the digest in base64url without padding (PEP 376, PEP 427), or in hexadecimal, as
 * Debian's packages have it? 1: yes; 0: no; ERROR_NOTFOUND, ERROR_PERMISSION,
 * ERROR_IO and the like: the file could not be read. ERROR_INVALID: another kind of hash.
 */
int hash_matches(const char *path, struct slice recorded, struct error *error);

#define HASH_FILE_HEX 64 /* digits that hash_file() gives */

/* The SHA-256 of the file at @path, in hexadecimal and with a NUL behind it. */
int hash_file(const char *path, char hex[HASH_FILE_HEX + 1], struct error *error);

#define HASH_HEX 32 /* digits that hash_text() gives */

/* The first half of the SHA-256 of @text, in hexadecimal and with a NUL behind it. */
void hash_text(struct slice text, char hex[HASH_HEX + 1]);

#endif

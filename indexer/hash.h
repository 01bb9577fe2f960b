/*
 * hash.h - the hash of a file, as RECORD writes it.
 */
#ifndef INDEXER_HASH_H
#define INDEXER_HASH_H

#include "error.h"

#define HASH_TEXT_SIZE 64 /* bytes, the NUL included; "sha256=" and 43 characters */

/*
 * "sha256=" and the unpadded base64url of the SHA-256 of the file at @path
 * (PEP 376, PEP 427).
 */
int hash_file(const char *path, char text[HASH_TEXT_SIZE], struct error *error);

#endif

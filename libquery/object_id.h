/*
 * object_id.h - which build of a shared object it is, wherever the file lies. Private to
 * libquery/ and the program.
 */
#ifndef LIBQUERY_OBJECT_ID_H
#define LIBQUERY_OBJECT_ID_H

#include "db/base/error.h"

/* "build-id-HEX", or "sha256-HEX" of one that has no build-id; malloc'd. */
int object_id(const char *object, char **id, struct error *error);

/* The HEX of a build-id; NULL of any other. */
const char *object_id_build(const char *id);

#endif

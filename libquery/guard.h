/*
 * guard.h - what was set aside (native/quarantine.h) as loading sees it: by the path of a
 * shared object. Private to libquery/ and the program.
 */
#ifndef LIBQUERY_GUARD_H
#define LIBQUERY_GUARD_H

#include "libquery/native/quarantine.h"

/*
 * The user's directory of what is set aside, malloc'd; *out is NULL where there is none: no
 * home, or a privileged process.
 */
int guard_directory(char **out, struct error *error);

/* Which build is it? "build-id-HEX", or "sha256-HEX" of one without; malloc'd. */
int guard_identify(const char *object, char **id, struct error *error);

/* ERROR_SET_ASIDE if it must not be loaded; the message says why, and how to free it. */
int guard_check(const char *object, const char *distribution, struct error *error);

/* It is about to be loaded by a host that wants to be protected. */
int guard_begin(const char *object, struct quarantine_watch *watch, struct error *error);

/* It crashed, or hung, when it was tried. */
int guard_set_aside(const char *object, const char *reason, struct error *error);

#endif

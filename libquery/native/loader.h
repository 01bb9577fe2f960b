/*
 * loader.h - opens a shared object and looks a symbol up.
 *
 * The only module that opens shared objects to run them. What it opens runs with all the
 * rights of the process: loader_check() first asks who could have put it there.
 */
#ifndef LIBQUERY_NATIVE_LOADER_H
#define LIBQUERY_NATIVE_LOADER_H

#include <stdbool.h>

#include "db/base/error.h"

/* A shared object, and whose it is, for messages. */
struct loadable {
	const char *path; /* absolute */
	const char *distribution;
	const char *sysroot; /* NULL, or what the path begins with: links stay inside */
};

/*
 * May this process run it? The object must belong to root or the effective user, and so
 * must every directory above it, along the path as given and as it is after symbolic
 * links. None of these may be writable by others, except directories with the sticky
 * bit such as /tmp.
 *
 * ERROR_NOTFOUND, ERROR_IO: there is no such file, or it cannot be read. ERROR_FORMAT: it
 * is not a regular file. ERROR_PERMISSION: somebody else could have changed it; the
 * message says what to do. ERROR_NOMEM.
 */
int loader_check(const struct loadable *object, struct error *error);

/*
 * Open it, unless it is open, and store the address of @symbol, never NULL, in *out. All the
 * symbols that it needs are resolved at once unless @lazy, and its own are offered to nobody. It
 * stays open until the process ends: what is handed out remains valid, and C++ libraries cannot be
 * closed anyway. No lock is held while constructors run, so they may call back.
 *
 * The dynamic linker refused, whose own words are in the message: ERROR_DEPENDENCY, a library
 * that it needs is missing, ERROR_UNDEFINED, a symbol that it needs, ERROR_LOAD, anything else;
 * ERROR_NO_SYMBOL.
 */
int loader_open(const struct loadable *object, bool lazy, const char *symbol, void **out,
                struct error *error);

/* Which code a text of dlerror()'s stands for: glibc's words, or musl's. */
int loader_code_of(const char *reason);

#endif

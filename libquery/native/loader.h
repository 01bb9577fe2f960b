/*
 * loader.h - checks, opens and looks up symbols in shared objects.
 *
 * The only module that opens shared objects in order to run them. They run with all rights of the
 * process: loader_check() first checks who can have written them.
 */
#ifndef LIBQUERY_NATIVE_LOADER_H
#define LIBQUERY_NATIVE_LOADER_H

#include <stdbool.h>

#include "db/base/error.h"

/* A shared object; its distribution is for messages. */
struct loadable {
	const char *path; /* absolute */
	const char *distribution;
	const char *sysroot; /* NULL, or what the path begins with: links stay inside */
	bool listed;         /* in a manifest: other processes open it, later */
	bool lasting; /* and the manifest is in no sticky directory, which may be cleaned up */
};

/*
 * May this process run the object? It and every directory above it, along the given path and along
 * its symbolic links, must belong to root or the effective user and not be writable by others,
 * except sticky directories such as /tmp.
 *
 * ERROR_NOTFOUND, ERROR_IO: it does not exist, or cannot be read. ERROR_FORMAT: it is not a regular
 * file. ERROR_PERMISSION: another user can change it; the message says what to do. ERROR_NOMEM.
 */
int loader_check(const struct loadable *object, struct error *error);

/* Report a reason not to load the object, if @why has one, and clear it. Returns its code, or 0. */
int loader_refuse(const struct loadable *object, struct error *why, struct error *error);

/*
 * Open the object and store the address of @symbol, never NULL, in *out. Undefined symbols are
 * resolved at once unless @lazy; its own symbols are not visible to others (RTLD_LOCAL). It stays
 * open until the process ends, so that symbols remain valid; C++ libraries cannot be closed anyway.
 * No lock is held while constructors run, so they may call back.
 *
 * If dlopen() fails, with dlerror() in the message: ERROR_DEPENDENCY, a needed library is missing;
 * ERROR_UNDEFINED, a needed symbol; ERROR_LOAD, anything else. ERROR_NO_SYMBOL: it does not export
 * @symbol.
 */
int loader_open(const struct loadable *object, bool lazy, const char *symbol, void **out,
                struct error *error);

/* The code for a message of dlerror(), as worded by glibc or musl. */
int loader_code_of(const char *reason);

#endif

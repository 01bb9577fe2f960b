/*
 * loader.h - opening a shared object and looking a symbol up, with due suspicion.
 *
 * The only module that opens shared objects to run. What it opens runs with all
 * the rights of the process, so it first asks who could have put it there.
 */
#ifndef LIBQUERY_NATIVE_LOADER_H
#define LIBQUERY_NATIVE_LOADER_H

#include <stdbool.h>

#include "db/base/error.h"

struct loader;

/* NULL when there is no memory. Threads may share a loader. */
struct loader *loader_create(void);

/*
 * Forget the objects; NULL is accepted. They stay open until the process ends:
 * symbols handed out remain valid, and C++ libraries cannot be closed anyway.
 */
void loader_free(struct loader *loader);

/* What is to be loaded. */
struct load_request {
	const char *object;       /* an absolute path */
	const char *symbol;       /* in it */
	const char *distribution; /* the owner's name, for messages only; or NULL */
	bool lazy;                /* its functions are looked up as they are called */
	/* Asked before it is opened for the first time, and told afterwards; or NULL. */
	int (*before)(void *payload, const struct load_request *request, struct error *error);
	void (*after)(void *payload);
	void *payload;
};

/*
 * Look the symbol up in the shared object, and open that before if need be (all its own
 * symbols resolved at once unless lazy, none of them offered to others). On success *@out
 * is the symbol's address, never NULL.
 *
 * The object must belong to root or the caller (the effective user), and so
 * must every directory above it, along the path as given and as it is
 * after symbolic links. None of these may be writable by a group other than
 * root's or the caller's, or by everybody, but for directories with the sticky
 * bit such as /tmp. Access lists count by the group bits, in which they show.
 *
 * ERROR_INVALID: the path is not absolute, or the symbol is missing.
 * ERROR_NOTFOUND, ERROR_IO: there is no such file, or it cannot be read.
 * ERROR_FORMAT: it is not a regular file. ERROR_PERMISSION: somebody else could have
 * changed it; the message says what to do. The dynamic linker refused, whose own words are in
 * the message: ERROR_DEPENDENCY, a library that it needs is missing, ERROR_UNDEFINED, a
 * symbol that it needs, ERROR_NO_SYMBOL, the one that was asked for, ERROR_LOAD, anything
 * else. What @before has returned. ERROR_NOMEM.
 *
 * The loader's lock is not held while constructors run, so they may call back.
 */
int loader_symbol(struct loader *loader, const struct load_request *request, void **out,
                  struct error *error);

/* Which code a text of dlerror()'s stands for: glibc's words, or musl's. */
int loader_code_of(const char *reason);

#endif

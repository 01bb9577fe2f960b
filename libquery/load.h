/*
 * load.h - opening a shared object and looking a symbol up, with due suspicion.
 *
 * The only module that opens shared objects to run. What it opens runs with all
 * the rights of the process, so it first asks who could have put it there.
 */
#ifndef LIBQUERY_LOAD_H
#define LIBQUERY_LOAD_H

#include "error.h"

struct loader;

/* NULL when there is no memory. Threads may share a loader. */
struct loader *loader_create(void);

/*
 * Forget the objects; NULL is accepted. They stay open until the process ends:
 * symbols handed out remain valid, and C++ libraries cannot be closed anyway.
 */
void loader_free(struct loader *loader);

/*
 * Look @symbol up in the shared object @object_path, which is absolute, and open
 * it before if need be (all its own symbols resolved at once, none of them
 * offered to others). @distribution, the owner's name, serves messages only and
 * may be NULL. On success *@out is the symbol's address, never NULL.
 *
 * The object must belong to root or the caller (the effective user), and so
 * must every directory above it, along @object_path as given and as it is
 * after symbolic links. None of these may be writable by a group other than
 * root's or the caller's, or by everybody, but for directories with the sticky
 * bit such as /tmp. Access lists count by the group bits, in which they show.
 *
 * ERROR_INVALID: the path is not absolute, or the symbol is missing.
 * ERROR_NOTFOUND, ERROR_IO: there is no such file, or it cannot be read.
 * ERROR_PERMISSION: somebody else could have changed it; the message says what
 * to do. ERROR_LOAD: the dynamic linker refused; its own words are in the
 * message. ERROR_NOMEM.
 *
 * The loader's lock is not held while constructors run, so they may call back.
 */
int loader_symbol(struct loader *loader, const char *object_path, const char *symbol,
                  const char *distribution, void **out, struct error *error);

#endif

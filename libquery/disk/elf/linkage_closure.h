/*
 * linkage_closure.h - one object with all the libraries that would be loaded along; see linkage.h.
 *
 *     linkage_memory.c   the libraries that were read, each once
 *     linkage_search.c   where the library of a name is, as ld.so looks for it
 *     linkage_closure.c  all that an object needs, breadth first, as ld.so collects them
 *     linkage.c          what is missing in that
 *
 * Functions return 0, or 1 where something was to be found, or a negative enum error_code.
 */
#ifndef LIBQUERY_DISK_ELF_LINKAGE_CLOSURE_H
#define LIBQUERY_DISK_ELF_LINKAGE_CLOSURE_H

#include "libquery/disk/elf/linkage_memory.h"

#define LINKAGE_CLOSURE_MAX ((size_t)512)     /* libraries needed by one object, all told */
#define LINKAGE_TRIES_MAX   ((size_t)1 << 13) /* paths where libraries are looked for, for one */
#define LINKAGE_LOOKUPS_MAX ((size_t)1 << 26) /* of symbols in libraries, for one object */
#define LINKAGE_TOLD_MAX    ((size_t)8)       /* names in each list of a report */

/* The C library's name for what was linked with musl, elsewhere than on Alpine Linux. */
#define LINKAGE_MUSL "libc.so"

/*
 * Where the libraries are that lie beside an object that is not on the disk but in an
 * archive. @fetch gives a descriptor, the caller's, of the file that the archive has at
 * @path, which begins with @directory; ERROR_NOTFOUND and the like, or a failure.
 */
struct linkage_archive {
	int (*fetch)(void *payload, struct slice path, struct error *error);
	void *payload;
	struct slice directory; /* ends in a slash; nothing on the disk begins so */
};

/* One object with all the libraries that would be loaded along. */
struct closure {
	struct linkage *linkage;
	const struct linkage_archive *archive;
	struct library *libraries[LINKAGE_CLOSURE_MAX];
	size_t needed_by[LINKAGE_CLOSURE_MAX];
	size_t count;
	struct library_names missing;             /* borrowed texts */
	struct library *own[LINKAGE_CLOSURE_MAX]; /* not in the linkage's memory */
	size_t own_count;
	size_t tries, lookups; /* so far; see LINKAGE_TRIES_MAX */
	bool not_examined;     /* some library was not read: too large, or there are too many */
	bool any_machine;      /* a library will do that is not for the object's machine */
	struct error *error;
};

/* --- linkage_search.c --- */

/* The library that the one at @user needs by that name. */
int closure_find(struct closure *closure, size_t user, struct slice name, struct library **out);

/* The same among the system's. */
int closure_find_system(struct closure *closure, struct slice name, struct library **out);

/* --- linkage_closure.c --- */

/* All that the first library, which is there, needs. */
int closure_collect(struct closure *closure);

/*
 * The C library for the object, part of any program. 1: it is known; 0: there is none for
 * it, and *is_foreign says whether for others; or a failure.
 */
int closure_add_libc(struct closure *closure, bool *is_foreign);

/* The library of that name, or at that path, which is to be loaded anyway; NULL: none is. */
struct library *closure_loaded(const struct closure *closure, struct slice name);

/* Note a name that is missing: once each, and the first few: a list of hundreds tells no more. */
int closure_tell(struct closure *closure, struct library_names *names, struct slice name);

#endif

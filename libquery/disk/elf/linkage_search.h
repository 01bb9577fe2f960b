/*
 * linkage_search.h - where the library of a name is, as ld.so looks for it; and the libraries
 * that were read so far, each once. See linkage.h.
 *
 * Functions return 0, or 1 where something was to be found, or a negative enum error_code.
 */
#ifndef LIBQUERY_DISK_ELF_LINKAGE_SEARCH_H
#define LIBQUERY_DISK_ELF_LINKAGE_SEARCH_H

#include <limits.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/name_map.h"
#include "libquery/disk/elf/elf_file.h"
#include "libquery/disk/elf/ld_cache.h"

#define LIBRARY_SYMBOLS_MAX ((size_t)1 << 21) /* of one library; those beyond are left out */
#define LIBRARY_LINKS_MAX   ((size_t)1 << 12) /* names of libraries, and versions, of one */

#define LINKAGE_SYMBOLS_MAX ((size_t)1 << 22) /* kept; beyond, libraries are read again */
#define LINKAGE_CLOSURE_MAX ((size_t)512)     /* libraries needed by one object, all told */
#define LINKAGE_TRIES_MAX   ((size_t)1 << 13) /* paths where libraries are looked for, for one */

/* The C library's name for what was linked with musl, elsewhere than on Alpine Linux. */
#define LINKAGE_MUSL "libc.so"

/* What it needs, or has: see enum elf_link. */
struct library_link {
	enum elf_link what;
	struct slice text, of;
};

/* What the dynamic linker would have to know of one shared object; all texts are its own. */
struct library {
	struct slice path;               /* where it was found; $ORIGIN is the directory of it */
	struct slice single[ELF_NEEDED]; /* of ELF_SONAME and the like; null where there is none */
	struct library_link *links;      /* the others: libraries, and versions */
	size_t link_count, link_room;
	struct elf_header header;
	bool is_system; /* not brought along: what it leaves undefined is not our affair */
	struct name_map exports;
	size_t export_count;
	struct slice *undefined; /* that may not stay so; of a system's one, only Python's */
	size_t undefined_count, undefined_room;
	struct arena arena;
	bool failed; /* no memory */
};

/*
 * What the file at @path, which is open, says; *@out is malloc'd. @is_system as above.
 * ERROR_FORMAT: it is damaged; or a failure.
 */
int library_read(struct elf_file *file, struct slice path, bool is_system, struct library **out,
                 struct error *error);
void library_free(struct library *library); /* NULL is accepted */

/* For one thread at a time. */
struct linkage {
	char *sysroot; /* "" for none */
	char *hosts;   /* directories, a colon between two, or NULL; see linkage_add_host() */
	char *cache_text;
	struct ld_cache cache; /* empty where there is none */
	struct library **libraries;
	size_t count, room, symbols;
	struct name_map by_path; /* absolute path -> index in libraries */
	bool has_cache;          /* it has been read, or is not there */
	bool has_libc, looked_for_libc;
};

/* @sysroot: the file-system root in which libraries are looked for, or NULL. NULL: no memory. */
struct linkage *linkage_create(const char *sysroot);
void linkage_free(struct linkage *linkage); /* NULL is accepted */

/*
 * Libraries in @directory, absolute and without the sysroot, are found by whoever has found
 * none elsewhere: those of a host, which has loaded them by the time that it loads plugins.
 * False without memory.
 */
bool linkage_add_host(struct linkage *linkage, struct slice directory);

static inline void cleanup_linkage(struct linkage **linkage) /* for CLEANUP() */
{
	linkage_free(*linkage);
}

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

/* One object with all the libraries that would be loaded along, breadth first. */
struct closure {
	struct linkage *linkage;
	const struct linkage_archive *archive;
	struct library *libraries[LINKAGE_CLOSURE_MAX];
	size_t needed_by[LINKAGE_CLOSURE_MAX];
	size_t count;
	struct library *own[LINKAGE_CLOSURE_MAX]; /* not in the linkage's memory */
	size_t own_count;
	size_t tries, lookups; /* so far; see LINKAGE_TRIES_MAX */
	bool not_examined;     /* some library was not read: too large, or there are too many */
	bool any_machine;      /* a library will do that is not for the object's machine */
	struct error *error;
};

/*
 * An entry of RPATH or RUNPATH, with $ORIGIN replaced, put into @to. False for what leads
 * nowhere that is known here: other tokens, of which @to has the directory above, and paths
 * relative to where the process is.
 */
bool linkage_expand(struct slice entry, struct slice origin, char to[PATH_MAX], struct slice *out);

/* Take the next directory off @paths, a colon between two; entries that lead nowhere are left out.
 */
bool linkage_next_path(struct slice *paths, struct slice origin, char to[PATH_MAX],
                       struct slice *out);

/* Before the first search for an object: its libraries are kept until the next one. */
void closure_begin(struct closure *closure);

/* The library that the one at @user needs by that name. */
int closure_find(struct closure *closure, size_t user, struct slice name, struct library **out);

/* The same among the system's. */
int closure_find_system(struct closure *closure, struct slice name, struct library **out);

#endif

/*
 * linkage_search.h - finds libraries by name as ld.so does, and caches those read. See linkage.h.
 *
 * Functions return 0, or 1 if something was found, or a negative enum error_code.
 */
#ifndef LIBQUERY_DISK_ELF_LINKAGE_SEARCH_H
#define LIBQUERY_DISK_ELF_LINKAGE_SEARCH_H

#include <sys/types.h>

#include <limits.h>

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/name_map.h"
#include "libquery/disk/elf/elf_file.h"
#include "libquery/disk/elf/ld_cache.h"

#define LIBRARY_SYMBOLS_MAX ((size_t)1 << 21) /* of one library; further ones are ignored */
#define LIBRARY_TEXT_MAX    ((size_t)1 << 26) /* bytes of names in one library */
#define LIBRARY_LINKS_MAX   ((size_t)1 << 12) /* dependencies and versions of one library */

#define LINKAGE_SYMBOLS_MAX ((size_t)1 << 22) /* in the cache; beyond, it is emptied */
#define LINKAGE_CLOSURE_MAX ((size_t)512)     /* libraries needed by one object */
#define LINKAGE_TRIES_MAX   ((size_t)1 << 13) /* paths tried for one object */
#define LINKAGE_LOOKUPS_MAX ((size_t)1 << 26) /* comparisons of names for one object */
#define LINKAGE_WORK_MAX    ((size_t)1 << 28) /* for all, which may need the same large libraries */

/* The C library's name in objects linked with musl, except on Alpine Linux. */
#define LINKAGE_MUSL "libc.so"

/* A dependency or version; see enum elf_link. */
struct library_link {
	enum elf_link what;
	struct slice text, of;
};

/* The dynamic linker's view of one shared object; it owns all texts. */
struct library {
	struct slice path;               /* where it was found; $ORIGIN is its directory */
	struct slice single[ELF_NEEDED]; /* ELF_SONAME to ELF_RUNPATH; null for none */
	struct library_link *links;      /* dependencies and versions */
	size_t link_count, link_room;
	struct elf_header header;
	bool is_system; /* the system's: its undefined symbols are not reported */
	struct name_map exports;
	size_t export_count;
	struct slice *undefined; /* not weak; of a system library, only Python's */
	size_t undefined_count, undefined_room;
	struct arena arena;
	size_t text; /* bytes of names */
	bool failed; /* no memory */
};

/*
 * Read the open file at @path; *out is malloc'd. @is_system as above. ERROR_FORMAT: damaged;
 * ERROR_LIMIT: too many names; or a failure.
 */
int library_read(struct elf_file *file, struct slice path, bool is_system, struct library **out,
                 struct error *error);
void library_free(struct library *library); /* NULL is accepted */

/* The cache of libraries. For one thread at a time. */
struct linkage {
	char *sysroot;          /* "" for none */
	struct readers readers; /* see linkage_create() */
	char *hosts;            /* colon-separated directories, or NULL; see linkage_add_host() */
	char *cache_text;
	struct ld_cache cache; /* empty if there is none */
	struct library **libraries;
	size_t count, room, symbols;
	size_t work;             /* look-ups so far, for all objects; see LINKAGE_WORK_MAX */
	struct name_map by_path; /* absolute path -> index in libraries */
	bool has_cache;          /* ld.so.cache was read, or does not exist */
	bool has_libc, looked_for_libc;
};

/*
 * @sysroot: the file-system root in which libraries are searched, or NULL. @readers: of the result,
 * as for file_open_for(). NULL: out of memory.
 */
struct linkage *linkage_create(const char *sysroot, struct readers readers);
void linkage_free(struct linkage *linkage); /* NULL is accepted */

/*
 * Add a directory, absolute and without the sysroot, that is searched last: that of a host, which
 * has loaded its libraries before it loads plugins. False if out of memory.
 */
bool linkage_add_host(struct linkage *linkage, struct slice directory);

static inline void cleanup_linkage(struct linkage **linkage) /* for CLEANUP() */
{
	linkage_free(*linkage);
}

/*
 * Access to the libraries beside an object in an archive. @fetch returns a descriptor, owned by the
 * caller, of the file at @path, which starts with @directory; ERROR_NOTFOUND and the like, or a
 * failure.
 */
struct linkage_archive {
	int (*fetch)(void *payload, struct slice path, struct error *error);
	void *payload;
	struct slice directory; /* ends in a slash; not a path on the disk */
};

/* An object with all libraries that would be loaded with it, breadth first. */
struct closure {
	struct linkage *linkage;
	const struct linkage_archive *archive;
	struct library *libraries[LINKAGE_CLOSURE_MAX];
	size_t needed_by[LINKAGE_CLOSURE_MAX];
	size_t count;
	struct library *own[LINKAGE_CLOSURE_MAX]; /* owned by the closure, not the linkage */
	size_t own_count;
	size_t tries, lookups; /* so far; see LINKAGE_TRIES_MAX, LINKAGE_LOOKUPS_MAX */
	bool not_examined;     /* some library was not read: too large, or too many */
	bool any_machine;      /* accept libraries for other machines */
	struct error *error;
};

/*
 * Expand each $ORIGIN in an entry of RPATH or RUNPATH, or in the name of a needed library. False if
 * the result is unknown or too long: $LIB and $PLATFORM depend on the dynamic linker.
 */
bool linkage_expand(struct slice text, struct slice origin, char to[PATH_MAX], struct slice *out);

/* Call before the first search for an object: libraries stay cached until the next call. */
void closure_begin(struct closure *closure);

/* Count comparisons with @name. False after too much work: the result is unknown then. */
bool closure_spend(struct closure *closure, size_t lookups, struct slice name);

/* Find the library @name needed by library number @user. */
int closure_find(struct closure *closure, size_t user, struct slice name, struct library **out);

/* Find the system's library @name. */
int closure_find_system(struct closure *closure, struct slice name, struct library **out);

#endif

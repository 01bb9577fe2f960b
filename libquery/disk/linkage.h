/*
 * linkage.h - would the dynamic linker load it? Answered by reading, never by dlopen().
 *
 *     plugin.so --NEEDED--> libhelper.so --NEEDED--> libc.so.6
 *          |                     |                      |
 *       RPATH, RUNPATH      undefined symbols        versions
 *       with $ORIGIN        (of Python's?)           that it has
 *
 * The libraries that it needs are looked for as ld.so(8) does: in the RPATH and RUNPATH
 * of whoever needs them, in /etc/ld.so.cache, in the system's directories. What depends on
 * a process, LD_LIBRARY_PATH and what is loaded already, is not known here: so that a
 * library is missing, or a symbol, need not mean that a host that has it could not load
 * the plugin all the same.
 */
#ifndef LIBQUERY_DISK_LINKAGE_H
#define LIBQUERY_DISK_LINKAGE_H

#include "db/base/arena.h"
#include "libquery/disk/elf_file.h"

#define LINKAGE_CLOSURE_MAX ((size_t)512)     /* libraries needed by one object, all told */
#define LINKAGE_SYMBOLS_MAX ((size_t)1 << 22) /* kept; beyond, libraries are read again */
#define LINKAGE_TRIES_MAX   ((size_t)1 << 13) /* paths where libraries are looked for, for one */
#define LINKAGE_LOOKUPS_MAX ((size_t)1 << 26) /* of symbols in libraries, for one object */
#define LINKAGE_TOLD_MAX    ((size_t)8)       /* names in each list of a report */

/* A memory of libraries, each read once; for one thread at a time. */
struct linkage;

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
 * archive. @fetch gives the file that the archive has at @path, which begins with
 * @directory, its bytes malloc'd and the caller's: 0, ERROR_NOTFOUND and the like, or a
 * failure.
 */
struct linkage_archive {
	int (*fetch)(void *payload, struct slice path, struct elf_image *image,
	             struct error *error);
	void *payload;
	struct slice directory; /* ends in a slash; nothing on the disk begins so */
};

/* What there is to tell; texts are in the arena, lists have a space between two words. */
struct linkage_report {
	bool is_foreign;             /* this machine has C libraries, but none for it */
	bool not_examined;           /* by a limit above, or because a library in the archive was */
	                             /* too large: what is missing or undefined is not known */
	bool needs_python;           /* some symbol of Python's interface is not given, */
	struct slice python_by;      /* in this needed library; null: in the object itself */
	struct slice missing;        /* libraries, and versions of libraries */
	struct slice undefined;      /* symbols that none of the libraries gives */
	struct slice glibc, glibcxx; /* the newest versions asked for, "2.34" */
};

/*
 * Judge the object @file, which is at the absolute @path (without the sysroot). @archive:
 * NULL, or where it comes from. Each error is a failure (error.h); what cannot be read is
 * missing. Where no C library is found at all, nothing is said to be missing.
 */
int linkage_judge(struct linkage *linkage, struct elf_file *file, struct slice path,
                  const struct linkage_archive *archive, struct arena *arena,
                  struct linkage_report *out, struct error *error);

#endif

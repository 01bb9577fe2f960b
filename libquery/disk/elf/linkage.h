/*
 * linkage.h - predicts whether the dynamic linker would load an object, without dlopen().
 *
 *     plugin.so --NEEDED--> libhelper.so --NEEDED--> libc.so.6
 *          |                     |                      |
 *       RPATH, RUNPATH      undefined symbols        defined
 *       with $ORIGIN        (Python's?)              versions
 *
 * Needed libraries are searched for as in ld.so(8): in the RPATH and RUNPATH of the object that
 * needs them, in /etc/ld.so.cache, and in the system's directories. LD_LIBRARY_PATH and libraries
 * that a process has already loaded are unknown here: so a plugin with a missing library or symbol
 * may still load in a host that provides it.
 */
#ifndef LIBQUERY_DISK_ELF_LINKAGE_H
#define LIBQUERY_DISK_ELF_LINKAGE_H

#include "libquery/disk/elf/linkage_search.h"

#define LINKAGE_NAMES_MAX ((size_t)8) /* names in each list of a report */

/* The result; texts are in the arena, lists are space-separated. */
struct linkage_report {
	bool is_foreign;             /* this machine has a C library, but none for the object */
	bool not_examined;           /* a limit was reached, or a library in the archive is */
	                             /* too large: missing and undefined are unknown */
	bool needs_python;           /* a symbol of Python's C API is undefined */
	struct slice python_by;      /* in this needed library; null: in the object itself */
	struct slice missing;        /* libraries, and versions of libraries */
	struct slice undefined;      /* symbols that no library defines */
	struct slice glibc, glibcxx; /* the newest versions needed, "2.34" */
};

/*
 * Examine the object @file at the absolute @path (without the sysroot). @archive: NULL, or the
 * archive it is in. Each error is transient (error.h); unreadable libraries count as missing. If no
 * C library is found at all, nothing is reported as missing.
 */
int linkage_judge(struct linkage *linkage, struct elf_file *file, struct slice path,
                  const struct linkage_archive *archive, struct arena *arena,
                  struct linkage_report *out, struct error *error);

#endif

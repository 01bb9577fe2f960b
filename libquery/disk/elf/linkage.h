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
#ifndef LIBQUERY_DISK_ELF_LINKAGE_H
#define LIBQUERY_DISK_ELF_LINKAGE_H

#include "libquery/disk/elf/linkage_search.h"

#define LINKAGE_TOLD_MAX ((size_t)8) /* names in each list of a report */

/* What there is to tell; texts are in the arena, lists have a space between two words. */
struct linkage_report {
	bool is_foreign;             /* this machine has C libraries, but none for it */
	bool not_examined;           /* by a limit, or because a library in the archive was */
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

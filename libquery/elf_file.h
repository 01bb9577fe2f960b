/*
 * elf_file.h - what a shared object says about itself, without opening it to run.
 *
 * An index must tell a native plugin from an extension of Python before
 * anybody loads either. The answers are in the ELF file; this is the only
 * module that reads one.
 *
 * Not called elf.h, which would hide the system's header of that name.
 *
 * ERROR_FORMAT: not an ELF file, or damaged. ERROR_IO: could not be read.
 * The functions keep nothing between calls: threads may call them at once.
 */
#ifndef LIBQUERY_ELF_FILE_H
#define LIBQUERY_ELF_FILE_H

#include "error.h"
#include "slice.h"

#define ELF_BUILD_ID_MAX ((size_t)64)        /* bytes; a longer build-id is left out */
#define ELF_TABLE_MAX    ((size_t)256 << 20) /* bytes of a symbol or string table */

struct elf_facts {
	bool is_shared_object; /* what dlopen() takes: not a program, position-independent or not */
	int elf_class;         /* 32 or 64 */
	int machine;           /* EM_... of <elf.h> */
	bool exports_wanted;   /* dlsym() would find the wanted symbol */
	bool exports_init;     /* ... and the init symbol */
	bool needs_python;     /* a symbol Py... or _Py... must come from elsewhere */
	char build_id[2 * ELF_BUILD_ID_MAX + 1]; /* hexadecimal; empty when there is none */
};

/*
 * Read the ELF file at @fd, which is borrowed. Either symbol may be the null
 * slice. A symbol with a version counts by its bare name, unless the version is
 * an old one that dlsym() passes over. *@out is written on success only.
 */
int elf_examine(int fd, struct slice wanted_symbol, struct slice init_symbol, struct elf_facts *out,
                struct error *error);

/* The same for the file whose bytes are @image, which is only read. */
int elf_examine_memory(struct slice image, struct slice wanted_symbol, struct slice init_symbol,
                       struct elf_facts *out, struct error *error);

#endif

/*
 * elf_file.h - what a shared object says about itself, without opening it to run.
 *
 * An index must tell a native plugin from an extension of Python before
 * anybody loads either. The answers are in the ELF file; this is the only
 * module that reads one.
 *
 * Not called elf.h, which would hide the system's header of that name.
 *
 * ERROR_FORMAT: not an ELF file, or damaged. ERROR_IO, ERROR_NOMEM: could not be read.
 * The functions keep nothing between calls: threads may call them at once.
 */
#ifndef LIBQUERY_DISK_ELF_ELF_FILE_H
#define LIBQUERY_DISK_ELF_ELF_FILE_H

#include <stdint.h>

#include "db/base/error.h"
#include "db/base/slice.h"

#define ELF_BUILD_ID_MAX ((size_t)64)        /* bytes; a longer build-id is left out */
#define ELF_TABLE_MAX    ((size_t)256 << 20) /* bytes of a symbol or string table */

struct elf_file;

/* What an open file is. */
struct elf_header {
	bool is_shared_object; /* what dlopen() takes: not a program, position-independent or not */
	int elf_class;         /* 32 or 64 */
	int machine;           /* EM_... of <elf.h> */
	char build_id[2 * ELF_BUILD_ID_MAX + 1]; /* hexadecimal; empty when there is none */
};

/*
 * Open the ELF file at @fd, which is borrowed, and must stay until it is closed. *@out is
 * written on success only.
 */
int elf_file_open(int fd, struct elf_file **out, struct error *error);
void elf_file_close(struct elf_file *file); /* NULL is accepted */

static inline void cleanup_elf_file(struct elf_file **file) /* for CLEANUP() */
{
	elf_file_close(*file);
}

const struct elf_header *elf_file_header(const struct elf_file *file);

/* A dynamic symbol: one that others can find, or one that others must give. */
struct elf_symbol {
	struct slice name; /* without its version; it is the file's */
	bool is_defined;   /* it is the file's own */
	bool is_old;       /* of a version that only what was linked long ago finds, not dlsym() */
	bool is_weak;      /* may stay undefined */
};

/* Begin a walk over them, which ends any other of this file. 0, also where there are none. */
int elf_file_symbols(struct elf_file *file, struct error *error);

/* The next of them; false at the end. */
bool elf_file_next_symbol(struct elf_file *file, struct elf_symbol *out);

/* What the dynamic linker reads in a file; all texts are the file's. */
enum elf_link {
	ELF_SONAME,          /* what it is called */
	ELF_RPATH,           /* where to look for what it needs, colon-separated */
	ELF_RUNPATH,         /* the same, since 1999 */
	ELF_NEEDED,          /* a library to be loaded with it; from here on, of each many */
	ELF_AUXILIARY,       /* one that is asked for symbols before it, where it is there */
	ELF_FILTER,          /* one that is asked for its symbols */
	ELF_VERSION_NEEDED,  /* a version, of the library @of */
	ELF_VERSION_DEFINED, /* a version that it has itself */
};

/* Called for each of them; false ends the walk. */
typedef bool elf_link_each(void *payload, enum elf_link what, struct slice text, struct slice of);

/* 0, also where there are none or the walk was ended; a version that may be absent is left out. */
int elf_file_links(struct elf_file *file, elf_link_each *each, void *payload, struct error *error);

/* What the dynamic symbols of a file say where two of them are looked for. */
struct elf_facts {
	bool exports_wanted; /* dlsym() would find the wanted symbol */
	bool exports_init;   /* ... and the init symbol */
	bool needs_python;   /* a symbol Py... or _Py... must come from elsewhere */
};

/*
 * Either symbol may be the null slice. A symbol with a version counts by its bare name,
 * unless the version is an old one that dlsym() passes over. *@out is written on success only.
 */
int elf_file_find(struct elf_file *file, struct slice wanted_symbol, struct slice init_symbol,
                  struct elf_facts *out, struct error *error);

/* Is that a symbol of Python's C interface? And one that must come from elsewhere? */
bool elf_is_python(struct slice name);
bool elf_needs_python(const struct elf_symbol *symbol);

#endif

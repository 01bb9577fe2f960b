/*
 * elf_file.h - reads symbols and dependencies of shared objects without loading them.
 *
 * The index must distinguish native plugins from Python extensions before anything loads them. This
 * is the only module that reads ELF files.
 *
 * Not named elf.h, which would hide the system's header.
 *
 * ERROR_FORMAT: not an ELF file, or damaged. ERROR_IO, ERROR_NOMEM: could not be read. The
 * functions keep no state between calls and are thread-safe for different files.
 */
#ifndef LIBQUERY_DISK_ELF_ELF_FILE_H
#define LIBQUERY_DISK_ELF_ELF_FILE_H

#include <stdint.h>

#include "db/base/error.h"
#include "db/base/slice.h"

#define ELF_BUILD_ID_MAX ((size_t)64)        /* bytes; longer ones are ignored */
#define ELF_TABLE_MAX    ((size_t)256 << 20) /* bytes of a symbol or string table */

struct elf_file;

/* The header of an open file. */
struct elf_header {
	bool is_shared_object; /* accepted by dlopen(): not a program, even if it is PIE */
	int elf_class;         /* 32 or 64 */
	int machine;           /* EM_... of <elf.h> */
	char build_id[2 * ELF_BUILD_ID_MAX + 1]; /* hexadecimal; empty for none */
};

/*
 * Open the ELF file @fd, which is borrowed and must stay open until elf_file_close(). *out is
 * written on success only.
 */
int elf_file_open(int fd, struct elf_file **out, struct error *error);
void elf_file_close(struct elf_file *file); /* NULL is accepted */

static inline void cleanup_elf_file(struct elf_file **file) /* for CLEANUP() */
{
	elf_file_close(*file);
}

const struct elf_header *elf_file_header(const struct elf_file *file);

/* A dynamic symbol, defined or undefined. */
struct elf_symbol {
	struct slice name; /* without its version; valid until the file is closed */
	bool is_defined;
	bool is_old;  /* of an old version, which dlsym() does not find */
	bool is_weak; /* may stay undefined */
};

/*
 * Start a walk over the symbols, which ends any other walk of this file. 0 also if there are none.
 * ERROR_LIMIT: they are unknown, since the file has no section headers.
 */
int elf_file_symbols(struct elf_file *file, struct error *error);

/* The next symbol; false at the end. */
bool elf_file_next_symbol(struct elf_file *file, struct elf_symbol *out);

/* The dynamic linker's information; all texts are valid until the file is closed. */
enum elf_link {
	ELF_SONAME,
	ELF_RPATH,           /* colon-separated search path */
	ELF_RUNPATH,         /* the same, its replacement since 1999 */
	ELF_NEEDED,          /* a needed library; this and the following may occur repeatedly */
	ELF_AUXILIARY,       /* a library that is searched first, if it exists */
	ELF_FILTER,          /* a library that is searched in its place */
	ELF_VERSION_NEEDED,  /* a needed version of the library @of */
	ELF_VERSION_DEFINED, /* a version that it defines */
};

/* Callback for each item; false ends the walk. */
typedef bool elf_link_each(void *payload, enum elf_link what, struct slice text, struct slice of);

/*
 * 0, also if there are none or the walk was ended. Weak versions, which may be missing, are
 * skipped.
 */
int elf_file_links(struct elf_file *file, elf_link_each *each, void *payload, struct error *error);

/* The result of elf_file_find(). */
struct elf_facts {
	bool exports_wanted; /* dlsym() would find the wanted symbol */
	bool exports_init;   /* ... and the init symbol */
	bool needs_python;   /* a symbol Py... or _Py... is undefined */
};

/*
 * Look for two symbols, each of which may be null. Versioned symbols match by their bare name,
 * except old versions that dlsym() does not find. *out is written on success only.
 */
int elf_file_find(struct elf_file *file, struct slice wanted_symbol, struct slice init_symbol,
                  struct elf_facts *out, struct error *error);

/* Does the symbol belong to Python's C API? And is it undefined, and not weak? */
bool elf_is_python(struct slice name);
bool elf_needs_python(const struct elf_symbol *symbol);

#endif

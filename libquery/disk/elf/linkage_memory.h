/*
 * linkage_memory.h - the libraries that were read so far, each once; see linkage.h.
 */
#ifndef LIBQUERY_DISK_ELF_LINKAGE_MEMORY_H
#define LIBQUERY_DISK_ELF_LINKAGE_MEMORY_H

#include "libquery/disk/elf/ld_cache.h"
#include "libquery/disk/elf/library.h"

#define LINKAGE_SYMBOLS_MAX ((size_t)1 << 22) /* kept; beyond, libraries are read again */

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

/* Forget libraries where there are too many of them: between two objects, which borrow them. */
void linkage_make_room(struct linkage *linkage);

/* The library read from that absolute path; NULL: it was not read yet. */
struct library *linkage_known(const struct linkage *linkage, struct slice path);

/* The library becomes the linkage's. */
int linkage_remember(struct linkage *linkage, struct library *library, struct error *error);

/* Read the dynamic linker's cache at first need: most objects ask for none. */
int linkage_read_cache(struct linkage *linkage, struct error *error);

#endif

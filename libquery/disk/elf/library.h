/*
 * library.h - what the dynamic linker would have to know of one shared object.
 */
#ifndef LIBQUERY_DISK_ELF_LIBRARY_H
#define LIBQUERY_DISK_ELF_LIBRARY_H

#include "db/base/arena.h"
#include "db/base/error.h"
#include "db/base/name_map.h"
#include "libquery/disk/elf/elf_file.h"

#define LIBRARY_SYMBOLS_MAX ((size_t)1 << 21) /* of one library; those beyond are left out */
#define LIBRARY_LINKS_MAX   ((size_t)1 << 12) /* names of libraries, and versions, of one */

/* What it needs, or has: see enum elf_link. */
struct library_link {
	enum elf_link what;
	struct slice text, of;
};

/* All texts are its own. */
struct library {
	struct slice path;               /* where it was found; $ORIGIN is the directory of it */
	struct slice single[ELF_NEEDED]; /* of ELF_SONAME and the like; null where there is none */
	struct library_link *links;      /* the others: libraries, and versions */
	size_t link_count, link_room;
	int elf_class, machine;
	bool is_shared_object;
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

#endif

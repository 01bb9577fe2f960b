/*
 * object.h - one shared object of a distribution, on the disk or in an archive.
 */
#ifndef LIBQUERY_DISK_TARGET_OBJECT_H
#define LIBQUERY_DISK_TARGET_OBJECT_H

#include <sys/types.h>

#include "db/record.h"
#include "libquery/disk/elf/elf_file.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/tree/wheel_record.h"

/*
 * Gives a descriptor, closed by the caller, of the file that RECORD spells @path; see
 * tree_fetch(). A failure (error.h) ends the resolution; any other error but ERROR_NOTFOUND
 * and ERROR_LIMIT makes it an object that exports nothing.
 */
typedef int object_fetch(void *payload, struct slice path, uint64_t *unpacked, struct error *error);

/*
 * Bytes of shared objects that are examined for one distribution; as many entry points as
 * it likes may lead to the same large one. Those of an archive count as far as they are
 * unpacked. An installed object, of which the symbol tables alone are read, counts for no
 * more than OBJECT_INSTALLED_COST.
 */
#define OBJECTS_EXAMINED_MAX  (UINT64_C(4) << 30)
#define OBJECT_INSTALLED_COST (UINT64_C(16) << 20)

/* Where the objects of one distribution are. */
struct object_site {
	int fd;              /* the directory of the path entry, borrowed; -1: not on the disk */
	object_fetch *fetch; /* where the files are in an archive; NULL: below fd */
	void *payload;       /* for fetch */
	uint64_t *examined;  /* bytes so far; NULL: without limit */
	mode_t readers;      /* of what is published; an object not for them is not there; or 0 */
	struct linkage *linkage; /* NULL: what an object needs is not judged */
	struct slice place;      /* the absolute path of the path entry, without the sysroot */
};

/* One that is open. */
struct object {
	const struct wheel_file *listed; /* borrowed */
	struct elf_file *file;
	int fd;
	int64_t size;
	struct elf_facts facts; /* zeros for what is no shared object */
};

#define OBJECT_INIT ((struct object){.fd = -1})

/*
 * Open the object @file, closed by object_close(), also after an error. ERROR_NOTFOUND,
 * ERROR_FORMAT: it is not there, or no ELF file; ERROR_LIMIT: not examined; or a failure.
 */
int object_open(const struct object_site *site, const struct wheel_file *file, struct object *out,
                struct error *error);
void object_close(struct object *object);

/* The same, with what it says of two symbols, either of which may be null: see elf_file_find(). */
int object_find(const struct object_site *site, const struct wheel_file *file, struct slice wanted,
                struct slice init, struct object *out, struct error *error);

/* Fill @target, zeros so far, with where it is and what it says, if it is open. ERROR_NOMEM. */
int object_describe(const struct object *object, struct arena *arena, struct target_record *target,
                    struct error *error);

/*
 * The same for a native object, and judge whether it would load: set @target's kind and state,
 * and what it needs. Each error is a failure.
 */
int object_judge(const struct object_site *site, const struct object *object, struct arena *arena,
                 struct target_record *target, struct error *error);

#endif

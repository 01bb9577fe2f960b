/*
 * object.h - opens and examines a shared object of a distribution, on the disk or in an archive.
 */
#ifndef LIBQUERY_DISK_TARGET_OBJECT_H
#define LIBQUERY_DISK_TARGET_OBJECT_H

#include <sys/types.h>

#include "db/base/file.h"
#include "db/record.h"
#include "libquery/disk/elf/elf_file.h"
#include "libquery/disk/elf/linkage.h"
#include "libquery/disk/tree/wheel_record.h"

/*
 * Returns a descriptor, closed by the caller, of the file named @path in RECORD; see tree_fetch().
 * A transient failure (error.h) ends the resolution; after other errors, except ERROR_NOTFOUND and
 * ERROR_LIMIT, the object counts as exporting nothing.
 */
typedef int object_fetch(void *payload, struct slice path, uint64_t *unpacked, struct error *error);

/*
 * The bytes of shared objects that are examined for one distribution, in which any number of entry
 * points may refer to the same large object. Objects in an archive count by their unpacked size;
 * installed ones, of which only the symbol tables are read, by at most OBJECT_INSTALLED_COST.
 */
#define OBJECTS_EXAMINED_MAX  (UINT64_C(4) << 30)
#define OBJECT_INSTALLED_COST (UINT64_C(16) << 20)

/* The location of the objects of one distribution. */
struct object_site {
	int fd;                  /* the path entry's directory, borrowed; -1: not on the disk */
	object_fetch *fetch;     /* for files in an archive; NULL: below fd */
	void *payload;           /* for fetch */
	uint64_t *examined;      /* bytes so far; NULL: no limit */
	struct readers readers;  /* of the published result: to them, others are missing */
	bool *withheld;          /* set if one is; or NULL */
	struct linkage *linkage; /* NULL: dependencies are not examined */
	struct slice place;      /* the absolute path of the path entry, without the sysroot */
};

/* An open object. */
struct object {
	const struct wheel_file *listed; /* borrowed */
	struct elf_file *file;
	int fd;
	int64_t size;
	struct elf_facts facts; /* zeros if it is not a shared object */
};

#define OBJECT_INIT ((struct object){.fd = -1})

/*
 * Open the object @file; call object_close(), even after an error. ERROR_NOTFOUND, ERROR_FORMAT:
 * missing, or not ELF; ERROR_LIMIT: not examined; or a failure.
 */
int object_open(const struct object_site *site, const struct wheel_file *file, struct object *out,
                struct error *error);
void object_close(struct object *object);

/* object_open() and elf_file_find(). */
int object_find(const struct object_site *site, const struct wheel_file *file, struct slice wanted,
                struct slice init, struct object *out, struct error *error);

/* Fill the zeroed @target with the object's path and header, if it is open. ERROR_NOMEM. */
int object_describe(const struct object *object, struct arena *arena, struct target_record *target,
                    struct error *error);

/*
 * The same for a native object, with its dependencies; also sets @target's kind and state. Each
 * error is transient.
 */
int object_judge(const struct object_site *site, const struct object *object, struct arena *arena,
                 struct target_record *target, struct error *error);

#endif

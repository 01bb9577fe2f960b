/*
 * object.c - see object.h.
 */
#include "libquery/disk/target/object.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"

/* What the paths of an archive's files begin with; nothing on a disk is looked for there. */
#define ARCHIVE_DIRECTORY SLICE("/\001/")

/* --- opening --- */

/* Another object of @size bytes, or of a size that is yet to come, 0: may it be examined? */
static int spend(const struct object_site *site, uint64_t size, struct error *error)
{
	if (!site->examined)
		return 0;
	if (size > OBJECTS_EXAMINED_MAX - *site->examined)
		size = OBJECTS_EXAMINED_MAX - *site->examined;
	*site->examined += size;
	if (*site->examined < OBJECTS_EXAMINED_MAX)
		return 0;
	return error_set(error, ERROR_LIMIT,
	                 "more than %llu bytes of shared objects in one distribution",
	                 (unsigned long long)OBJECTS_EXAMINED_MAX);
}

static int fetch(const struct object_site *site, struct slice spelled, struct elf_image *image,
                 struct error *error)
{
	int code = spend(site, 0, error), spent;

	if (code < 0)
		return code;
	code = site->fetch(site->payload, spelled, image, error);
	spent = spend(site, image->unpacked, code < 0 ? NULL : error);
	return code < 0 ? code : spent;
}

static int open_fetched(const struct object_site *site, struct slice spelled, struct object *out,
                        struct error *error)
{
	struct elf_image image = {.size = 0};
	int code = fetch(site, spelled, &image, error);

	out->image = (char *)image.bytes.ptr;
	out->size = image.size;
	return code < 0 ? code : elf_file_open_memory(image.bytes, &out->file, error);
}

static int open_installed(const struct object_site *site, struct slice path, struct object *out,
                          struct error *error)
{
	char name[PATH_MAX];
	struct stat st;
	uint64_t cost;

	if (site->fd < 0 || path.len >= sizeof(name))
		return error_set(error, ERROR_NOTFOUND, "no such file");
	memcpy(name, path.ptr, path.len);
	name[path.len] = '\0';
	out->fd = file_open(site->fd, name, 0);
	if (out->fd < 0 || fstat(out->fd, &st) < 0)
		return error_errno(error, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(error, ERROR_FORMAT, "%s: not a file", name);
	if ((st.st_mode & site->readers) != site->readers)
		return error_set(error, ERROR_NOTFOUND, "%s: not for everybody", name);
	cost = (uint64_t)st.st_size;
	if (cost > OBJECT_INSTALLED_COST)
		cost = OBJECT_INSTALLED_COST;
	if (spend(site, cost, error) < 0)
		return ERROR_LIMIT;
	out->size = st.st_size;
	return elf_file_open(out->fd, &out->file, error);
}

int object_open(const struct object_site *site, const struct wheel_file *file, struct object *out,
                struct error *error)
{
	return site->fetch ? open_fetched(site, file->spelled, out, error)
	                   : open_installed(site, file->path, out, error);
}

void object_close(struct object *object)
{
	elf_file_close(object->file);
	if (object->fd >= 0)
		close(object->fd);
	free(object->image);
	*object = OBJECT_INIT;
}

int object_describe(const struct object *object, struct arena *arena, struct target_record *target,
                    struct error *error)
{
	const struct elf_header *header = elf_file_header(object->file);
	bool failed = false;

	target->machine = header->machine;
	target->size = object->size;
	if (header->build_id[0])
		target->build_id = arena_copy(arena, slice_of(header->build_id), &failed);
	return failed ? error_nomem(error) : 0;
}

/* --- judging --- */

/* The linker's name for a file of the archive, without what it begins with, is the archive's. */
static int fetch_beside(void *payload, struct slice path, struct elf_image *image,
                        struct error *error)
{
	return fetch(payload, slice_from(path, ARCHIVE_DIRECTORY.len), image, error);
}

static int judge(const struct object_site *site, const struct object *object, struct slice path,
                 struct arena *arena, struct linkage_report *report, struct error *error)
{
	struct linkage_archive archive = {fetch_beside, (void *)site, ARCHIVE_DIRECTORY};
	struct arena scratch = ARENA_INIT;
	bool failed = false;
	struct slice directory = site->fetch ? SLICE("/\001") : site->place, whole;
	int code;

	whole = path_join_in(&scratch, directory, path, &failed);
	code = failed ? error_nomem(error)
	              : linkage_judge(site->linkage, object->file, whole,
	                              site->fetch ? &archive : NULL, arena, report, error);
	arena_free(&scratch);
	return code;
}

static enum target_state state_of(const struct linkage_report *report)
{
	if (report->not_examined)
		return TARGET_NOT_EXAMINED;
	if (!slice_is_null(report->missing))
		return TARGET_MISSING_DEPENDENCY;
	return slice_is_null(report->undefined) ? TARGET_OK : TARGET_NEEDS_HOST;
}

int object_judge(const struct object_site *site, const struct object *object,
                 const struct wheel_file *file, struct arena *arena, struct target_record *target,
                 struct error *error)
{
	struct linkage_report report = {0};
	int code = 0;

	target->kind = TARGET_NATIVE;
	target->state = TARGET_OK;
	if (site->linkage)
		code = judge(site, object, file->path, arena, &report, error);
	if (code < 0)
		return code;
	target->glibc = report.glibc;
	target->glibcxx = report.glibcxx;
	if (report.is_foreign) {
		target->kind = TARGET_UNRESOLVED;
		target->state = TARGET_WRONG_ARCHITECTURE;
	} else if (report.needs_python) {
		target->kind = TARGET_EXTENSION;
		target->python_by = report.python_by;
	} else {
		target->state = state_of(&report);
		target->missing = report.missing;
		target->undefined = report.undefined;
	}
	return 0;
}

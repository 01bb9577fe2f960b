/*
 * object.c - opens a shared object and predicts whether it would load.
 */
#include "libquery/disk/target/object.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/path.h"

/* The prefix of paths in an archive; not a path on the disk. */
#define ARCHIVE_DIRECTORY SLICE("/\001/")

/* --- opening --- */

/* Count an object of @size bytes (0: size not known yet) against the limit. */
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

static int fetch(const struct object_site *site, struct slice spelled, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	uint64_t unpacked = 0;
	int code = spend(site, 0, error);

	if (code < 0)
		return code;
	fd = site->fetch(site->payload, spelled, &unpacked, error);
	code = spend(site, unpacked, fd < 0 ? NULL : error);
	return fd < 0 || code == 0 ? take_fd(&fd) : code;
}

/* Open an object on the disk, if it may be examined. */
static int open_installed(const struct object_site *site, struct slice path, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct stat status;
	char name[PATH_MAX];
	uint64_t cost;
	int code;

	if (site->fd < 0 || path.len >= sizeof(name))
		return error_set(error, ERROR_NOTFOUND, "no such file");
	path_join(name, path, SLICE(""));
	fd = file_open_for(site->readers, site->fd, name);
	if (fd < 0 && errno == EACCES && site->readers.mode && site->withheld)
		*site->withheld = true;
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_errno(error, errno, "%s", name);
	if (!S_ISREG(status.st_mode))
		return error_set(error, ERROR_FORMAT, "not a file");
	cost = (uint64_t)status.st_size;
	code = spend(site, cost < OBJECT_INSTALLED_COST ? cost : OBJECT_INSTALLED_COST, error);
	return code < 0 ? code : take_fd(&fd);
}

int object_open(const struct object_site *site, const struct wheel_file *file, struct object *out,
                struct error *error)
{
	int fd = site->fetch ? fetch(site, file->spelled, error)
	                     : open_installed(site, file->path, error);
	struct stat status;

	out->listed = file;
	if (fd < 0)
		return fd;
	out->fd = fd;
	if (fstat(fd, &status) < 0)
		return error_errno(error, errno, "cannot examine a shared object");
	out->size = status.st_size;
	return elf_file_open(fd, &out->file, error);
}

void object_close(struct object *object)
{
	elf_file_close(object->file);
	cleanup_close(&object->fd);
	*object = OBJECT_INIT;
}

int object_find(const struct object_site *site, const struct wheel_file *file, struct slice wanted,
                struct slice init, struct object *out, struct error *error)
{
	int code = object_open(site, file, out, error);

	if (code == 0)
		code = elf_file_find(out->file, wanted, init, &out->facts, error);
	if (code == 0 && !elf_file_header(out->file)->is_shared_object)
		out->facts = (struct elf_facts){0};
	return code;
}

int object_describe(const struct object *object, struct arena *arena, struct target_record *target,
                    struct error *error)
{
	const struct elf_header *header;
	bool failed = false;

	target->object = object->listed->path;
	target->sha256 = object->listed->sha256;
	if (!object->file)
		return 0;
	header = elf_file_header(object->file);
	target->machine = header->machine;
	target->size = object->size;
	if (header->build_id[0])
		target->build_id = arena_copy(arena, slice_of(header->build_id), &failed);
	return failed ? error_nomem(error) : 0;
}

/* --- examining --- */

/* Strip the prefix to get the path in the archive. */
static int fetch_beside(void *payload, struct slice path, struct error *error)
{
	return fetch(payload, slice_from(path, ARCHIVE_DIRECTORY.len), error);
}

static int judge(const struct object_site *site, const struct object *object, struct arena *arena,
                 struct linkage_report *report, struct error *error)
{
	struct linkage_archive archive = {fetch_beside, (void *)site, ARCHIVE_DIRECTORY};
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT;
	bool failed = false;
	struct slice path = path_join_in(&scratch, site->fetch ? SLICE("/\001") : site->place,
	                                 object->listed->path, &failed);

	return failed ? error_nomem(error)
	              : linkage_judge(site->linkage, object->file, path,
	                              site->fetch ? &archive : NULL, arena, report, error);
}

int object_judge(const struct object_site *site, const struct object *object, struct arena *arena,
                 struct target_record *target, struct error *error)
{
	struct linkage_report report = {0};
	int code = object_describe(object, arena, target, error);

	target->kind = TARGET_NATIVE;
	target->state = TARGET_OK;
	if (code == 0 && site->linkage)
		code = judge(site, object, arena, &report, error);
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
		target->state = report.not_examined                ? TARGET_NOT_EXAMINED
		                : !slice_is_null(report.missing)   ? TARGET_MISSING_DEPENDENCY
		                : !slice_is_null(report.undefined) ? TARGET_NEEDS_HOST
		                                                   : TARGET_OK;
		target->missing = report.missing;
		target->undefined = report.undefined;
	}
	return 0;
}

/*
 * catalogue.c - archives as roots of their own.
 *
 * A zip is recorded as stock would read it on sys.path, so that a query which names
 * it there finds the rows; all else is never on a path, and just written down. An
 * archive that is as the database has it, by its times, is not read again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "add.h"
#include "cleanup.h"
#include "layout.h"

/* The lock file was touched just now: its file system's clock. */
struct timespec add_time(struct add *add, int64_t dev)
{
	CLEANUP(cleanup_free) char *lock = NULL;
	struct stat status;

	if (asprintf(&lock, "%s.lock", add->database->file) < 0) {
		lock = NULL;
		return (struct timespec){0};
	}
	if (stat(lock, &status) != 0 || (int64_t)status.st_dev != dev)
		return (struct timespec){0};
	return writer_time(add->writer, false);
}

static int ask(void *payload, size_t done, size_t total)
{
	(void)payload;
	(void)done;
	(void)total;
	return interrupted();
}

/* Open and scan; any failure is the archive's own. */
static int read_archive(struct add *add, const char *path, const struct root_record *known,
                        struct root_record *root, struct error *error)
{
	CLEANUP(package_close) struct package package = PACKAGE_INIT;
	int code = package_open(path, interrupted, &package, error);

	if (code < 0)
		return code;
	add_note_ignored(add, &package);
	return package_scan(&package,
	                    &(struct package_scan){
	                            .known = known,
	                            .now = add_time(add, package.stamp.dev),
	                            .progress = ask,
	                    },
	                    root, error);
}

static bool is_unchanged(const struct root_record *known, const char *path)
{
	struct stat status;

	return known->settled && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       stamp_equal(known->stamp, stamp_of(&status));
}

static int catalogue(struct add *add, const char *path, const char *root_path, struct error *error)
{
	CLEANUP(root_record_free) struct root_record known = {0};
	CLEANUP(root_record_free) struct root_record root = {0};
	struct error own = {0};
	int found = writer_find_root(add->writer, slice_of(root_path), &known, error);
	int code;

	if (found < 0)
		return found;
	if (found && is_unchanged(&known, path))
		return add_report(add, path, &known, ADD_UNCHANGED, error);
	code = read_archive(add, path, found ? &known : NULL, &root, &own);
	if (code < 0)
		return add_failed(add, path, &own, error);
	root.path = slice_of(root_path);
	code = add_report(add, path, &root, ADD_ADDED, error);
	if (code == 0)
		code = store_root(add->writer, &root, found ? &known : NULL, &add->stored, error);
	return code;
}

/* Archives are named by their absolute path, or as the prefix of the database spells it. */
static int catalogue_path(struct add *add, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *absolute = layout_absolute(path);
	CLEANUP(cleanup_free) char *root_path = NULL;
	struct error own = {0};

	if (!absolute) {
		error_errno(&own, errno, "%s", path);
		return add_failed(add, path, &own, error);
	}
	root_path = layout_root_path(add->database->file, absolute);
	return root_path ? catalogue(add, path, root_path, error) : error_nomem(error);
}

int add_to_catalogue(struct add *add, struct error *error)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < add->count; i++) {
		if (interrupted())
			return error_set(error, ERROR_IO, "interrupted; nothing was changed");
		progress_show(&add->progress, add->paths[i], i, add->count);
		code = catalogue_path(add, add->paths[i], error);
	}
	return code;
}

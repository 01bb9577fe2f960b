/*
 * pyc.c - checks bytecode that runs in place of its source.
 *
 * Python runs __pycache__/NAME.cpython-XY.pyc instead of NAME.py if its first 16 bytes match the
 * source: a magic number, flags, and the size and time or a hash of the source; or without a check,
 * if the flags say so (PEP 552). Nothing vouches for the rest: so only users who may write the
 * source should be able to write it.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "indexer/audit/collect.h"

#define HEADER  16 /* bytes */
#define BY_HASH 1u /* flags */

/* The sources in one directory whose bytecode is checked. */
struct sources {
	struct collect *collect;
	int64_t site;
	struct slice path;      /* of the site */
	struct slice directory; /* below it, "" or with a trailing slash */
	struct stat status;     /* of __pycache__ */
	struct name_map stems;  /* names of the sources without ".py" */
};

/*
 * The NAME in "NAME.cpython-312.pyc", "NAME.cpython-313t.opt-2.pyc"; null for names that Python
 * would not use.
 */
static struct slice stem_of(const char *name)
{
	const char *dot = strchr(name, '.'), *rest;
	int len = 0;

	if (!dot || sscanf(dot, ".cpython-%*[0-9]%n", &len) < 0 || len == 0)
		return (struct slice){0};
	rest = dot + len;
	rest += *rest == 't';
	if (strncmp(rest, ".opt-1", 6) == 0 || strncmp(rest, ".opt-2", 6) == 0)
		rest += 6;
	return strcmp(rest, ".pyc") == 0 ? slice_between(name, dot) : (struct slice){0};
}

/* Does its header say that it is never compared with the source? */
static bool is_unchecked(struct collect *collect, int fd)
{
	char header[HEADER] = {0};
	uint32_t flags;
	ssize_t got = file_read(fd, header, sizeof(header));

	if (got < 0 && errno_is_failure(errno))
		error_errno(&collect->error, errno, "cannot read bytecode");
	memcpy(&flags, header + 4, sizeof(flags));
	return got == HEADER && memcmp(header + 2, "\r\n", 2) == 0 && le32toh(flags) == BY_HASH;
}

static void put(const struct sources *sources, struct slice source, const char *name,
                const char *what)
{
	CLEANUP(cleanup_free)
	char *file = collect_path(sources->collect, "%.*s__pycache__/%s",
	                          SLICE_ARGS(sources->directory), name);

	if (file)
		worksheet_put(sources->collect->sheet, "bytecode",
		              FACTS(fact(sources->site), fact(file), fact(source), fact(what)));
}

/* Check who may write it, or replace it in its directory. */
static void check_owner(const struct sources *sources, struct slice source, const char *name,
                        int fd, const struct stat *status, uid_t owner)
{
	CLEANUP(cleanup_free)
	char *what = files_complaint(sources->collect, trust_of(fd, status, owner), status);

	if (what)
		put(sources, source, name, what);
}

static void look_at(const struct sources *sources, DIR *directory, const char *name)
{
	struct slice stem = stem_of(name), path = sources->path;
	CLEANUP(cleanup_close) int fd = -1;
	CLEANUP(cleanup_free) char *file = NULL;
	struct slice source;
	struct stat pyc, status;

	if (slice_is_null(stem) || name_map_get(&sources->stems, stem) == NAME_MAP_NONE)
		return;
	file = collect_path(sources->collect, "%.*s/%.*s%.*s.py", SLICE_ARGS(path),
	                    SLICE_ARGS(sources->directory), SLICE_ARGS(stem));
	fd = file_open_for(sources->collect->readers, dirfd(directory), name);
	if (fd < 0 || fstat(fd, &pyc) != 0 || !S_ISREG(pyc.st_mode) ||
	    !collect_status(sources->collect, file, &status) || !S_ISREG(status.st_mode))
		return;
	source = slice_of(file + path.len + 1);
	check_owner(sources, source, name, fd, &pyc, status.st_uid);
	check_owner(sources, source, "", dirfd(directory), &sources->status, status.st_uid);
	if (is_unchecked(sources->collect, fd))
		put(sources, source, name, NULL);
}

static void read_directory(struct sources *sources)
{
	struct collect *collect = sources->collect;
	CLEANUP(cleanup_free)
	char *path = collect_path(collect, "%.*s/%.*s__pycache__", SLICE_ARGS(sources->path),
	                          SLICE_ARGS(sources->directory));
	CLEANUP(cleanup_close)
	int fd = path ? file_open_for(collect->readers, AT_FDCWD, path) : -1;
	CLEANUP(cleanup_closedir) DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const char *name;
	int left = directory ? 1 : -1;

	if (directory)
		take_fd(&fd);
	if (directory && fstat(dirfd(directory), &sources->status) != 0)
		return;
	while (directory && collect_goes_on(collect) && (left = file_next(directory, &name)) > 0)
		look_at(sources, directory, name);
	if (path && left < 0 && errno_is_failure(errno))
		error_errno(&collect->error, errno, "cannot list %s", path);
}

void pyc_read(struct collect *collect)
{
	struct worksheet_rows *row = worksheet_walk(collect->sheet, "runs_from_source", NULL);

	while (collect_goes_on(collect) && worksheet_next(row)) {
		struct sources sources = {.collect = collect,
		                          .site = worksheet_number(row, 0),
		                          .path = worksheet_text(row, 1),
		                          .directory = worksheet_text(row, 2)};
		struct slice stems = worksheet_text(row, 3);

		while (stems.len > 0)
			name_map_put(&sources.stems, slice_take(&stems, '/'), 0,
			             &collect->no_memory);
		read_directory(&sources);
		name_map_free(&sources.stems);
	}
}

/*
 * quarantine.c - keeps the quarantine in files of one directory.
 */
#include "libquery/native/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"

#define LOADING    ".loading"
#define RECORD_MAX 8192 /* bytes of a file; longer paths are cut */
#define TRIES      8    /* for a file that is being removed concurrently */
#define FILE_MODE  0600

static const char not_survived[] = "a process ended while it was being loaded";

/* --- one file --- */

/* Read a trusted file: 1; 0: empty, missing or not trusted. */
static int read_record(int directory, const char *name, char **text, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(directory, name, O_NOFOLLOW);
	struct stat status;
	size_t len = 0;
	int code;

	if (fd < 0 && error_code(errno) == ERROR_NOTFOUND)
		return 0;
	if (fd < 0 || fstat(fd, &status) != 0)
		return error_errno(error, errno, "cannot read what is set aside as %s", name);
	if (trust_check(name, fd, &status, TRUST_NO_OTHER, NULL) < 0)
		return 0;
	code = small_file_read_fd(fd, name, RECORD_MAX, text, &len, error);
	return code < 0 ? code : len > 0;
}

static int write_record(int directory, const char *name, const char *object, const char *reason,
                        struct error *error)
{
	CLEANUP(cleanup_free) char *text = text_format("%s\n%s", reason, object);

	if (!text)
		return error_nomem(error);
	if (small_file_write(directory, name, (struct slice){text, strnlen(text, RECORD_MAX)},
	                     FILE_MODE) != 0)
		return error_errno(error, errno, "cannot set %s aside", object);
	return 0;
}

/* The names of the files identify objects, which may be private. */
static int open_own(const char *path, int *fd, struct error *error)
{
	int code = safe_directory_open(path, NULL, SAFE_PRIVATE, fd, error);

	return code == 0 && fchmod(*fd, S_IRWXU) != 0 ? error_errno(error, errno, "%s", path)
	                                              : code;
}

/* --- the watch --- */

/* Open and lock the file: 1. 0: another process holds it, or it is missing or not trusted. */
static int open_loading(int directory, const char *name, int flags, int *out, struct error *error)
{
	for (int i = 0; i < TRIES; i++) {
		CLEANUP(cleanup_close)
		int fd = safe_openat(directory, name, flags | O_NONBLOCK, FILE_MODE);
		struct stat status;

		if (fd < 0 && error_code(errno) == ERROR_NOTFOUND)
			return 0;
		if (fd < 0)
			return error_errno(error, errno, "cannot open %s", name);
		if (flock(fd, LOCK_EX | LOCK_NB) != 0)
			return 0;
		if (fstat(fd, &status) != 0)
			return error_errno(error, errno, "cannot read %s", name);
		if (trust_check(name, fd, &status, TRUST_NO_OTHER, NULL) < 0 ||
		    status.st_nlink > 1) /* a link to another file */
			return 0;
		if (status.st_nlink == 0)
			continue; /* its process has just finished */
		*out = take_fd(&fd);
		return 1;
	}
	return 0;
}

/* Quarantine the object if the file was left by a process that ended. */
static int judge(int directory, const char *id, const char *loading, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	CLEANUP(cleanup_free) char *object = NULL;
	size_t len = 0;
	int code = open_loading(directory, loading, O_RDWR, &fd, error);

	if (code > 0)
		code = small_file_read_fd(fd, loading, RECORD_MAX, &object, &len, error);
	if (code <= 0)
		return code;
	code = len > 0 ? write_record(directory, id, object, not_survived, error) : 0;
	if (code == 0)
		unlinkat(directory, loading, 0);
	return code;
}

int quarantine_watch_begin(const char *directory, const char *id, const char *object,
                           struct quarantine_watch *watch, struct error *error)
{
	struct error own = {0};
	int code;

	*watch = QUARANTINE_WATCH_INIT;
	watch->name = text_format("%s" LOADING, id);
	if (!watch->name)
		return error_nomem(error);
	code = open_own(directory, &watch->directory, &own);
	if (code == 0)
		code = open_loading(watch->directory, watch->name, O_RDWR | O_CREAT, &watch->file,
		                    &own);
	if (code < 0)
		code = error_move_failure(error, &own);
	if (code > 0 && (ftruncate(watch->file, 0) != 0 ||
	                 file_write(watch->file, object, strnlen(object, RECORD_MAX)) != 0))
		code = error_errno(error, errno, "cannot note that %s is being loaded", object);
	if (code < 0)
		quarantine_watch_end(watch);
	return code < 0 ? code : 0;
}

void quarantine_watch_end(struct quarantine_watch *watch)
{
	if (watch->file >= 0)
		unlinkat(watch->directory, watch->name, 0);
	cleanup_close(&watch->file);
	cleanup_close(&watch->directory);
	free(watch->name);
	*watch = QUARANTINE_WATCH_INIT;
}

/* --- quarantined objects --- */

/* Open the directory: 1; 0: missing, or others can write to it. */
static int open_existing(const char *path, int *fd, struct error *error)
{
	struct error own = {0};
	int code = safe_believe(path, NULL, TRUST_NO_OTHER, NULL, &own);

	if (code == 0)
		code = safe_directory_open(path, NULL, SAFE_EXISTING, fd, &own);
	return code == 0 ? 1 : error_move_failure(error, &own);
}

int quarantine_find(const char *directory, const char *id, char **reason, struct error *error)
{
	CLEANUP(cleanup_free) char *loading = text_format("%s" LOADING, id);
	CLEANUP(cleanup_free) char *text = NULL;
	CLEANUP(cleanup_close) int fd = -1;
	int code = loading ? open_existing(directory, &fd, error) : error_nomem(error);

	if (code > 0 && (code = judge(fd, id, loading, error)) == 0)
		code = read_record(fd, id, &text, error);
	if (code <= 0)
		return code;
	text[strcspn(text, "\n")] = '\0';
	*reason = take(text);
	return 1;
}

int quarantine_add(const char *directory, const char *id, const char *object, const char *reason,
                   struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	int code = open_own(directory, &fd, error);

	return code == 0 ? write_record(fd, id, object, reason, error) : code;
}

int quarantine_remove(const char *directory, const char *id, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	int code = safe_directory_open(directory, NULL, SAFE_EXISTING, &fd, error);

	if (code < 0)
		return code;
	if (strchr(id, '/') || id[0] == '.')
		return 0;
	if (unlinkat(fd, id, 0) == 0)
		return 1;
	return errno == ENOENT ? 0 : error_errno(error, errno, "cannot free %s", id);
}

static int tell(int directory, const char *id, quarantine_each *each, void *payload,
                struct error *error)
{
	CLEANUP(cleanup_free) char *text = NULL;
	int code = read_record(directory, id, &text, error);
	char *end;

	if (code <= 0)
		return code;
	end = strchrnul(text, '\n');
	if (*end)
		*end++ = '\0';
	return each(payload, id, end, text);
}

int quarantine_walk(const char *directory, quarantine_each *each, void *payload,
                    struct error *error)
{
	CLEANUP(cleanup_closedir) DIR *opened = NULL;
	CLEANUP(cleanup_close) int fd = -1;
	const char *name;
	int more = 0, code = open_existing(directory, &fd, error);

	if (code <= 0)
		return code;
	opened = file_open_directory(fd, ".");
	for (code = 0; code == 0 && opened && (more = file_next(opened, &name)) > 0;)
		if (!strchr(name, '.'))
			code = tell(fd, name, each, payload, error);
	return !opened || more < 0 ? error_errno(error, errno, "cannot read %s", directory) : code;
}

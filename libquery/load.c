/*
 * load.c - see load.h. The only file that includes <dlfcn.h>.
 *
 * Between the checks and dlopen() a file could be exchanged, but only by those
 * who may write to its directory, and those are whom the checks allow. The
 * object is opened by the path under which it is installed, not by a descriptor
 * or its real path: libraries grafted into a wheel are found relative to it.
 */
#include "load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"

/* One object that is open. Objects are told apart by inode: a symlink is no second one. */
struct object {
	struct object *next;
	dev_t dev;
	ino_t ino;
	void *handle;
};

struct loader {
	pthread_mutex_t mutex; /* guards objects */
	struct object *objects;
};

/* What is being loaded, as messages name it. */
struct subject {
	const char *path, *distribution;
};

struct loader *loader_create(void)
{
	struct loader *loader = calloc(1, sizeof(*loader));

	if (loader)
		pthread_mutex_init(&loader->mutex, NULL);
	return loader;
}

void loader_free(struct loader *loader)
{
	struct object *next;

	if (!loader)
		return;
	for (struct object *object = loader->objects; object; object = next) {
		next = object->next;
		free(object);
	}
	pthread_mutex_destroy(&loader->mutex);
	free(loader);
}

/* Whom to trust. */

static bool is_trusted_owner(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* In a sticky directory others may create, but not replace what is not theirs. */
static bool is_writable_by_others(const struct stat *st)
{
	if (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX))
		return false;
	if (st->st_mode & S_IWOTH)
		return true;
	return (st->st_mode & S_IWGRP) && st->st_gid != 0 && st->st_gid != getegid();
}

static int check_stat(const struct subject *subject, const char *path, const struct stat *st,
                      struct error *error)
{
	if (!is_trusted_owner(st))
		return error_set(error, ERROR_PERMISSION,
		                 "%s (of %s) is not loaded: %s belongs to user %u, neither root "
		                 "nor you; install it again as yourself or as root",
		                 subject->path, subject->distribution, path, st->st_uid);
	if (is_writable_by_others(st))
		return error_set(error, ERROR_PERMISSION,
		                 "%s (of %s) is not loaded: others may write to %s; if you trust "
		                 "what is there now, run: chmod go-w '%s'",
		                 subject->path, subject->distribution, path, path);
	return 0;
}

/* Check each directory above @path, from the root down. @path is absolute. */
static int check_directories(const struct subject *subject, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *prefix = strdup(path);
	struct stat st;
	int r = 0;

	if (!prefix)
		return error_nomem(error);
	for (char *slash = strchr(prefix, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
		const char *directory = slash == prefix ? "/" : prefix;

		*slash = '\0';
		if (stat(directory, &st) < 0)
			r = error_errno(error, errno, "%s", directory);
		else
			r = check_stat(subject, directory, &st, error);
		*slash = '/';
	}
	return r;
}

static int check_file(const struct subject *subject, struct stat *st, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;

	fd = open(subject->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, st) < 0)
		return error_errno(error, errno, "%s (of %s)", subject->path,
		                   subject->distribution);
	if (!S_ISREG(st->st_mode))
		return error_set(error, ERROR_LOAD, "%s (of %s) is not a file", subject->path,
		                 subject->distribution);
	return check_stat(subject, subject->path, st, error);
}

/* Check the object and all above it; *@st tells which object it is. */
static int check(const struct subject *subject, struct stat *st, struct error *error)
{
	CLEANUP(cleanup_free) char *real = NULL;
	int r = check_file(subject, st, error);

	if (r == 0)
		r = check_directories(subject, subject->path, error);
	if (r < 0)
		return r;
	real = realpath(subject->path, NULL);
	if (!real)
		return error_errno(error, errno, "%s", subject->path);
	return strcmp(real, subject->path) == 0 ? 0 : check_directories(subject, real, error);
}

/* Opening. */

static void *find_handle(struct loader *loader, const struct stat *st)
{
	void *handle = NULL;

	pthread_mutex_lock(&loader->mutex);
	for (struct object *object = loader->objects; object && !handle; object = object->next)
		if (object->dev == st->st_dev && object->ino == st->st_ino)
			handle = object->handle;
	pthread_mutex_unlock(&loader->mutex);
	return handle;
}

/* Two threads may add the same object; it is then found twice with the same handle. */
static int keep_handle(struct loader *loader, const struct stat *st, void *handle)
{
	struct object *object = malloc(sizeof(*object));

	if (!object)
		return ERROR_NOMEM;
	*object = (struct object){.dev = st->st_dev, .ino = st->st_ino, .handle = handle};
	pthread_mutex_lock(&loader->mutex);
	object->next = loader->objects;
	loader->objects = object;
	pthread_mutex_unlock(&loader->mutex);
	return 0;
}

static int refused(const struct subject *subject, struct error *error)
{
	const char *reason = dlerror();

	return error_set(error, ERROR_LOAD, "cannot load %s (of %s): %s", subject->path,
	                 subject->distribution, reason ? reason : "unknown error");
}

static int open_object(struct loader *loader, const struct subject *subject, void **out,
                       struct error *error)
{
	struct stat st;
	void *handle;
	int r = check(subject, &st, error);

	if (r < 0)
		return r;
	handle = find_handle(loader, &st);
	if (!handle) {
		handle = dlopen(subject->path, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			return refused(subject, error);
		if (keep_handle(loader, &st, handle) < 0)
			return error_nomem(error);
	}
	*out = handle;
	return 0;
}

int loader_symbol(struct loader *loader, const char *object_path, const char *symbol,
                  const char *distribution, void **out, struct error *error)
{
	struct subject subject = {object_path, distribution ? distribution : "no distribution"};
	void *handle = NULL, *address;
	int r;

	if (object_path[0] != '/' || !symbol || !symbol[0])
		return error_set(error, ERROR_INVALID,
		                 "cannot load \"%s\" from \"%s\": a symbol and an absolute path "
		                 "are needed",
		                 symbol ? symbol : "", object_path);
	r = open_object(loader, &subject, &handle, error);
	if (r < 0)
		return r;
	dlerror(); /* forget what failed before */
	address = dlsym(handle, symbol);
	if (!address)
		return refused(&subject, error);
	*out = address;
	return 0;
}

/*
 * loader.c - opens shared objects that nobody else could have put there. The only file that
 * includes <dlfcn.h>.
 *
 * Between the checks and dlopen() a file could be exchanged, but only by those who may write
 * to its directory, and the checks allow only those who are trusted anyway. The object is
 * opened by the path under which it is installed, not by a descriptor or its real path:
 * libraries that are bundled with a wheel are found relative to it.
 */
#include "libquery/native/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
#include "db/base/file.h"
#include "db/base/trust.h"

/* One object that is open. Objects are told apart by inode: a symlink is not a second one. */
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

/* --- whom to trust --- */

static int check_stat(const struct loadable *object, const char *path, const struct stat *st,
                      struct error *error)
{
	enum trust trust = trust_of(st, TRUST_NO_OTHER);

	if (trust == TRUST_FOREIGN)
		return error_set(error, ERROR_PERMISSION,
		                 "%s (of %s) is not loaded: %s belongs to user %u, neither root "
		                 "nor you; install it again as yourself or as root",
		                 object->path, object->distribution, path, st->st_uid);
	if (trust == TRUST_WRITABLE)
		return error_set(error, ERROR_PERMISSION,
		                 "%s (of %s) is not loaded: others may write to %s; if you trust "
		                 "what is there now, run: chmod go-w '%s'",
		                 object->path, object->distribution, path, path);
	return 0;
}

/* Check each directory above @path, from the root down. @path is absolute. */
static int check_directories(const struct loadable *object, const char *path, struct error *error)
{
	CLEANUP(cleanup_free) char *prefix = strdup(path);
	struct stat st;
	int code = 0;

	if (!prefix)
		return error_nomem(error);
	for (char *slash = strchr(prefix, '/'); code == 0 && slash;
	     slash = strchr(slash + 1, '/')) {
		const char *directory = slash == prefix ? "/" : prefix;

		*slash = '\0';
		if (stat(directory, &st) < 0)
			code = error_errno(error, errno, "%s", directory);
		else
			code = check_stat(object, directory, &st, error);
		*slash = '/';
	}
	return code;
}

static int check_file(const struct loadable *object, struct stat *st, struct error *error)
{
	CLEANUP(cleanup_close) int fd = file_open(AT_FDCWD, object->path, 0);

	if (fd < 0 || fstat(fd, st) < 0)
		return error_errno(error, errno, "%s (of %s)", object->path, object->distribution);
	if (!S_ISREG(st->st_mode))
		return error_set(error, ERROR_FORMAT, "%s (of %s) is not a file", object->path,
		                 object->distribution);
	return check_stat(object, object->path, st, error);
}

int loader_check(const struct loadable *object, struct stat *status, struct error *error)
{
	CLEANUP(cleanup_free) char *real = NULL;
	int code = check_file(object, status, error);

	if (code == 0)
		code = check_directories(object, object->path, error);
	if (code < 0)
		return code;
	real = realpath(object->path, NULL);
	if (!real)
		return error_errno(error, errno, "%s", object->path);
	return strcmp(real, object->path) == 0 ? 0 : check_directories(object, real, error);
}

/* --- opening --- */

void *loader_find(struct loader *loader, const struct stat *status)
{
	void *handle = NULL;

	pthread_mutex_lock(&loader->mutex);
	for (struct object *object = loader->objects; object && !handle; object = object->next)
		if (object->dev == status->st_dev && object->ino == status->st_ino)
			handle = object->handle;
	pthread_mutex_unlock(&loader->mutex);
	return handle;
}

/* Two threads may add the same object; it is then found twice with the same handle. */
static int keep_handle(struct loader *loader, const struct stat *status, void *handle)
{
	struct object *object = malloc(sizeof(*object));

	if (!object)
		return ERROR_NOMEM;
	*object = (struct object){.dev = status->st_dev, .ino = status->st_ino, .handle = handle};
	pthread_mutex_lock(&loader->mutex);
	object->next = loader->objects;
	loader->objects = object;
	pthread_mutex_unlock(&loader->mutex);
	return 0;
}

int loader_code_of(const char *reason)
{
	static const struct {
		const char *words;
		int code;
	} known[] = {
	        {"undefined symbol", ERROR_UNDEFINED},
	        {"symbol not found", ERROR_UNDEFINED},
	        {"cannot open shared object file", ERROR_DEPENDENCY},
	        {"(needed by ", ERROR_DEPENDENCY}, /* musl; else it is the file itself */
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(reason, known[i].words))
			return known[i].code;
	return ERROR_LOAD;
}

/* In the dynamic linker's words. @code 0: the one that they stand for. */
static int refused(const struct loadable *object, int code, struct error *error)
{
	const char *reason = dlerror();

	if (!reason)
		reason = "unknown error";
	return error_set(error, code ? code : loader_code_of(reason), "cannot load %s (of %s): %s",
	                 object->path, object->distribution, reason);
}

int loader_open(struct loader *loader, const struct loadable *object, const struct stat *status,
                bool lazy, void **handle, struct error *error)
{
	*handle = dlopen(object->path, (lazy ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
	if (!*handle)
		return refused(object, 0, error);
	return keep_handle(loader, status, *handle) < 0 ? error_nomem(error) : 0;
}

int loader_symbol(void *handle, const struct loadable *object, const char *symbol, void **out,
                  struct error *error)
{
	void *address;

	dlerror(); /* forget what failed before */
	address = dlsym(handle, symbol);
	if (!address)
		return refused(object, ERROR_NO_SYMBOL, error);
	*out = address;
	return 0;
}

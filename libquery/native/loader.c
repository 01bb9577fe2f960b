/*
 * loader.c - opens shared objects that nobody else could have put there. The only file that
 * includes <dlfcn.h>.
 *
 * Between the check and dlopen() a file could be exchanged, but only by those who may write to
 * a directory on its way, and the check allows only root and the user. The object is
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
#include "db/base/safe_path.h"

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

int loader_check(const struct loadable *object, struct stat *status, struct error *error)
{
	struct error own = {0};
	int code = safe_load_check(object->path, status, &own);

	if (code == 0 && !S_ISREG(status->st_mode))
		code = error_set(&own, ERROR_FORMAT, "it is not a file");
	if (code < 0)
		error_set(error, code, "%s (of %s) is not loaded: %s", object->path,
		          object->distribution, error_text(&own));
	error_clear(&own);
	return code;
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

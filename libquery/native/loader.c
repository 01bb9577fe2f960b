/*
 * loader.c - see loader.h. The only file that includes <dlfcn.h>.
 *
 * Between the checks and dlopen() a file could be exchanged, but only by those
 * who may write to its directory, and those are whom the checks allow. The
 * object is opened by the path under which it is installed, not by a descriptor
 * or its real path: libraries grafted into a wheel are found relative to it.
 */
#include "libquery/native/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "db/base/cleanup.h"
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

/* --- whom to trust --- */

static int check_stat(const struct subject *subject, const char *path, const struct stat *st,
                      struct error *error)
{
	enum trust trust = trust_of(st, TRUST_NO_OTHER);

	if (trust == TRUST_FOREIGN)
		return error_set(error, ERROR_PERMISSION,
		                 "%s (of %s) is not loaded: %s belongs to user %u, neither root "
		                 "nor you; install it again as yourself or as root",
		                 subject->path, subject->distribution, path, st->st_uid);
	if (trust == TRUST_WRITABLE)
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
			code = check_stat(subject, directory, &st, error);
		*slash = '/';
	}
	return code;
}

static int check_file(const struct subject *subject, struct stat *st, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;

	fd = open(subject->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, st) < 0)
		return error_errno(error, errno, "%s (of %s)", subject->path,
		                   subject->distribution);
	if (!S_ISREG(st->st_mode))
		return error_set(error, ERROR_FORMAT, "%s (of %s) is not a file", subject->path,
		                 subject->distribution);
	return check_stat(subject, subject->path, st, error);
}

/* Check the object and all above it; *@st tells which object it is. */
static int check(const struct subject *subject, struct stat *st, struct error *error)
{
	CLEANUP(cleanup_free) char *real = NULL;
	int code = check_file(subject, st, error);

	if (code == 0)
		code = check_directories(subject, subject->path, error);
	if (code < 0)
		return code;
	real = realpath(subject->path, NULL);
	if (!real)
		return error_errno(error, errno, "%s", subject->path);
	return strcmp(real, subject->path) == 0 ? 0 : check_directories(subject, real, error);
}

/* --- opening --- */

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

/* In the dynamic linker's words; @code 0: as they tell. */
static int refused(const struct subject *subject, int code, struct error *error)
{
	const char *reason = dlerror();

	if (!reason)
		reason = "unknown error";
	return error_set(error, code ? code : loader_code_of(reason), "cannot load %s (of %s): %s",
	                 subject->path, subject->distribution, reason);
}

/* No lock is held: constructors may take their time, and load others. */
static int open_first(const struct load_request *request, const struct subject *subject, void **out,
                      struct error *error)
{
	int code = request->before ? request->before(request->payload, request, error) : 0;

	if (code < 0)
		return code;
	*out = dlopen(subject->path, (request->lazy ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
	if (!*out)
		code = refused(subject, 0, error);
	if (request->after)
		request->after(request->payload);
	return code;
}

static int open_object(struct loader *loader, const struct load_request *request,
                       const struct subject *subject, void **out, struct error *error)
{
	struct stat st;
	int code = check(subject, &st, error);

	if (code < 0)
		return code;
	*out = find_handle(loader, &st);
	if (*out)
		return 0;
	code = open_first(request, subject, out, error);
	if (code == 0 && keep_handle(loader, &st, *out) < 0)
		return error_nomem(error);
	return code;
}

int loader_symbol(struct loader *loader, const struct load_request *request, void **out,
                  struct error *error)
{
	struct subject subject = {request->object, request->distribution ? request->distribution
	                                                                 : "no distribution"};
	void *handle = NULL, *address;
	int code;

	if (request->object[0] != '/' || !request->symbol || !request->symbol[0])
		return error_set(error, ERROR_INVALID,
		                 "cannot load \"%s\" from \"%s\": a symbol and an absolute path "
		                 "are needed",
		                 request->symbol ? request->symbol : "", request->object);
	code = open_object(loader, request, &subject, &handle, error);
	if (code < 0)
		return code;
	dlerror(); /* forget what failed before */
	address = dlsym(handle, request->symbol);
	if (!address)
		return refused(&subject, ERROR_NO_SYMBOL, error);
	*out = address;
	return 0;
}

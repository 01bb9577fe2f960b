/*
 * loader.c - loads shared objects. The only file that includes <dlfcn.h>.
 *
 * Between the check and dlopen() a file can only be replaced by a user who can write to a directory
 * on its path, and the check admits only root and the effective user. The object is opened by its
 * installed path, not by a descriptor or its real path: libraries bundled with a wheel are found
 * relative to it.
 */
#include "libquery/native/loader.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#include "db/base/safe_path.h"
#include "db/base/trust.h"

int loader_refuse(const struct loadable *object, struct error *why, struct error *error)
{
	int code = why->code;

	if (code < 0)
		error_set(error, code, "%s (of %s) is not loaded: %s", object->path,
		          object->distribution, error_text(why));
	error_clear(why);
	return code;
}

int loader_check(const struct loadable *object, struct error *error)
{
	struct error own = {0};
	struct stat status;

	if (safe_believe(object->path, object->sysroot, TRUST_NO_OTHER, &status, &own) == 0 &&
	    !S_ISREG(status.st_mode))
		error_set(&own, ERROR_FORMAT, "it is not a file");
	if (own.code == 0 && object->lasting)
		safe_believe_place(object->path, object->sysroot, true, &own);
	return loader_refuse(object, &own, error);
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

/* Report dlerror(). @code 0: derived from the message. */
static int refused(const struct loadable *object, int code, struct error *error)
{
	const char *reason = dlerror();

	if (!reason)
		reason = "unknown error";
	return error_set(error, code ? code : loader_code_of(reason), "cannot load %s (of %s): %s",
	                 object->path, object->distribution, reason);
}

int loader_open(const struct loadable *object, bool lazy, const char *symbol, void **out,
                struct error *error)
{
	void *handle = dlopen(object->path, (lazy ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
	void *address;

	if (!handle)
		return refused(object, 0, error);
	dlerror(); /* clear earlier errors */
	address = dlsym(handle, symbol);
	if (!address)
		return refused(object, ERROR_NO_SYMBOL, error);
	*out = address;
	return 0;
}

/*
 * archive_module.c - loads a module of the program.
 *
 * A module is beside the program in the build tree, and in the program's library directory when
 * installed; both are found from the program's own path, so that an installation can be moved.
 * Only root, the user or the program's owner may control the way to it: in /tmp, others could add
 * it, and a set-uid program may have been linked elsewhere.
 */
#include "indexer/archive/archive_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "db/base/cleanup.h"
#include "db/base/safe_path.h"
#include "db/base/text.h"
#include "db/base/trust.h"

#ifndef ENTRYDB_MODULE_DIRECTORY
#define ENTRYDB_MODULE_DIRECTORY "../lib/entrydb" /* relative to the program's directory */
#endif

/* The directory of the running program, without a trailing slash; false if unknown. */
static bool find_own_directory(char directory[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
	char *slash;

	if (length <= 0)
		return false;
	directory[length] = '\0';
	slash = strrchr(directory, '/');
	if (slash)
		*slash = '\0';
	return slash != NULL;
}

static int check_module(const char *path, const char *purpose, struct error *error)
{
	CLEANUP(cleanup_close) int fd = -1;
	struct stat program, module;
	struct safe_way way;
	mode_t search;
	int code;

	if (trust_is_privileged())
		return safe_believe(path, NULL, TRUST_NO_OTHER, &module, error);
	fd = safe_publish_open(path, NULL, NULL, &search);
	if (fd >= 0)
		return 0;
	if (stat("/proc/self/exe", &program) != 0)
		return error_errno(error, errno, "%s need %s", purpose, path);
	code = safe_path_look(path, NULL, NULL, &way, error);
	if (code < 0)
		return code;
	return way.uid == program.st_uid && way.uid != geteuid()
	               ? 0
	               : error_set(error, ERROR_PERMISSION, "%s need %s, which belongs to user %u",
	                           purpose, path, way.uid);
}

/* By its path: its own libraries can be found relative to that. */
static void *load_module(const char *path, const char *purpose, struct error *error)
{
	void *handle = NULL;

	if (check_module(path, purpose, error) < 0)
		return NULL;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		error_set(error, ERROR_LOAD, "%s need a part of entrydb that cannot be loaded: %s",
		          purpose, dlerror());
	return handle;
}

static void *open_module(const char *file, const char *purpose, struct error *error)
{
	CLEANUP(cleanup_free) char *path = NULL;
	char directory[PATH_MAX];

	if (!find_own_directory(directory)) {
		error_set(error, ERROR_LOAD, "/proc is needed to find %s", file);
		return NULL;
	}
	path = text_format("%s/%s", directory, file);
	if (path && access(path, F_OK) != 0) {
		free(path);
		path = text_format("%s/" ENTRYDB_MODULE_DIRECTORY "/%s", directory, file);
	}
	if (path && access(path, F_OK) == 0)
		return load_module(path, purpose, error);
	if (!path)
		error_nomem(error);
	else
		error_set(error, ERROR_LOAD,
		          "%s need %s, which is not installed: packages of distributions have it, "
		          "and hooks/install.sh builds it; wheels lack it",
		          purpose, file);
	return NULL;
}

const void *program_module(const char *file, const char *symbol, const char *purpose,
                           struct error *error)
{
	void *handle = open_module(file, purpose, error);
	const void *module = handle ? dlsym(handle, symbol) : NULL;

	if (handle && !module)
		error_set(error, ERROR_LOAD, "%s", dlerror());
	return module;
}

const struct archive_module *archive_module_open(struct error *error)
{
	static const struct archive_module *module;

	if (!module)
		module = program_module("entrydb-archive.so", "entrydb_archive_module",
		                        "archives other than wheels", error);
	return module;
}

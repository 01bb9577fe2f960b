/*
 * archive_module.c - see archive_module.h. The module lies beside the program
 * where it was built, and in the program's library directory where it is installed;
 * both are found from the program's own path, so that an installation can be moved.
 * Who can replace the module can replace the program: nothing is to be checked.
 */
#include "archive_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "cleanup.h"

#define MODULE_FILE   "entrydb-archive.so"
#define MODULE_SYMBOL "entrydb_archive_module"

#ifndef ENTRYDB_MODULE_DIRECTORY
#define ENTRYDB_MODULE_DIRECTORY "../lib/entrydb" /* as seen from the program's directory */
#endif

/* The directory of the running program, without a slash at the end; false if not known. */
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

static void *open_in(const char *directory, const char *below)
{
	CLEANUP(cleanup_free) char *path = NULL;

	if (asprintf(&path, "%s%s/" MODULE_FILE, directory, below) < 0) {
		path = NULL;
		return NULL;
	}
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_module(struct error *error)
{
	CLEANUP(cleanup_free) char *beside = NULL;
	char directory[PATH_MAX];
	void *handle;

	if (!find_own_directory(directory)) {
		error_set(error, ERROR_LOAD, "/proc is needed to find " MODULE_FILE);
		return NULL;
	}
	if (asprintf(&beside, "%s/" MODULE_FILE, directory) < 0) {
		beside = NULL;
		error_nomem(error);
		return NULL;
	}
	handle = access(beside, F_OK) == 0 ? open_in(directory, "")
	                                   : open_in(directory, "/" ENTRYDB_MODULE_DIRECTORY);
	if (!handle)
		error_set(error, ERROR_LOAD,
		          "archives other than wheels need a part of entrydb "
		          "that cannot be loaded: %s",
		          dlerror());
	return handle;
}

const struct archive_module *archive_module_open(struct error *error)
{
	static const struct archive_module *module;
	void *handle = module ? NULL : open_module(error);

	if (handle)
		module = dlsym(handle, MODULE_SYMBOL);
	if (handle && !module)
		error_set(error, ERROR_LOAD, "%s", dlerror());
	return module;
}

/*
 * linkage_closure.c - see linkage_closure.h.
 */
#include "libquery/disk/elf/linkage_closure.h"

#include "db/base/array.h"
#include "db/base/path.h"

/* The names of C libraries: glibc's, musl's on Alpine Linux, and musl's own. */
static const char *const c_libraries[] = {"libc.so.6", "libc.musl-x86_64.so.1",
                                          "libc.musl-aarch64.so.1", LINKAGE_MUSL};

/* The other parts of glibc, which hardly a program does without. */
static const char *const c_parts[] = {"libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"};

#define C_LIBRARY_COUNT (sizeof(c_libraries) / sizeof(*c_libraries))

/* --- the closure --- */

struct library *closure_loaded(const struct closure *closure, struct slice name)
{
	for (size_t i = 0; i < closure->count; i++) {
		struct library *library = closure->libraries[i];

		if (slice_equal(library->soname, name) ||
		    slice_equal(path_base(library->path), name) || slice_equal(library->path, name))
			return library;
	}
	return NULL;
}

static bool has_name(const struct library_names *names, struct slice name)
{
	for (size_t i = 0; i < names->count; i++)
		if (slice_equal(names->items[i], name))
			return true;
	return false;
}

int closure_tell(struct closure *closure, struct library_names *names, struct slice name)
{
	if (names->count >= LINKAGE_TOLD_MAX || has_name(names, name))
		return 0;
	if (!array_grow(&names->items, names->count, sizeof(*names->items), &names->room))
		return error_nomem(closure->error);
	names->items[names->count++] = name;
	return 0;
}

static void add_library(struct closure *closure, size_t user, struct library *library)
{
	if (closure->count == LINKAGE_CLOSURE_MAX) {
		closure->not_examined = true;
		return;
	}
	closure->needed_by[closure->count] = user;
	closure->libraries[closure->count++] = library;
}

static int add_needed(struct closure *closure, size_t user, struct slice name)
{
	struct library *found;
	int code;

	if (closure_loaded(closure, name))
		return 0;
	if (closure->count == LINKAGE_CLOSURE_MAX) {
		closure->not_examined = true;
		return 0;
	}
	code = closure_find(closure, user, name, &found);
	if (code == 0)
		return closure_tell(closure, &closure->missing, name);
	if (code < 0)
		return code;
	if (!closure_loaded(closure, found->path))
		add_library(closure, user, found);
	return 0;
}

int closure_collect(struct closure *closure)
{
	int code = 0;

	for (size_t i = 0; i < closure->count; i++) {
		const struct library *library = closure->libraries[i];

		for (size_t j = 0; code == 0 && j < library->needed.count; j++)
			code = add_needed(closure, i, library->needed.items[j]);
	}
	return code;
}

/* --- this machine --- */

/* One of the C libraries: 1, 0 for none, or a failure. */
static int find_libc(struct closure *closure, struct library **out)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < C_LIBRARY_COUNT; i++)
		code = closure_find_system(closure, slice_of(c_libraries[i]), out);
	return code;
}

/* Does this machine have a C library at all, for whatever processor? */
static int look_for_libc(struct closure *closure)
{
	struct linkage *linkage = closure->linkage;
	struct library *found;
	int code;

	if (linkage->looked_for_libc)
		return 0;
	closure->any_machine = true;
	code = find_libc(closure, &found);
	closure->any_machine = false;
	linkage->has_libc = code > 0;
	linkage->looked_for_libc = code >= 0;
	return code < 0 ? code : 0;
}

static struct library *loaded_libc(const struct closure *closure)
{
	struct library *libc = NULL;

	for (size_t i = 0; !libc && i < C_LIBRARY_COUNT; i++)
		libc = closure_loaded(closure, slice_of(c_libraries[i]));
	return libc;
}

/* 1, or a failure. What is not there was merged into the C library itself. */
static int add_parts(struct closure *closure)
{
	struct library *part;
	int code = 0;

	for (size_t i = 0; code >= 0 && i < sizeof(c_parts) / sizeof(*c_parts); i++) {
		struct slice name = slice_of(c_parts[i]);

		if (closure_loaded(closure, name))
			continue;
		code = closure_find_system(closure, name, &part);
		if (code > 0)
			add_library(closure, 0, part);
	}
	return code < 0 ? code : 1;
}

int closure_add_libc(struct closure *closure, bool *is_foreign)
{
	struct library *libc;
	int code;

	if (loaded_libc(closure))
		return add_parts(closure);
	code = find_libc(closure, &libc);
	if (code > 0)
		add_library(closure, 0, libc);
	if (code != 0)
		return code < 0 ? code : add_parts(closure);
	code = look_for_libc(closure);
	*is_foreign = closure->linkage->has_libc;
	return code;
}

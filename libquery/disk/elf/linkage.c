/*
 * linkage.c - collects all libraries that an object needs, breadth first as ld.so does, and reports
 * missing ones.
 */
#include "libquery/disk/elf/linkage.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "libquery/disk/elf/object_name.h"

/* The names of C libraries: glibc's, musl's on Alpine Linux, and musl's own. */
static const char *const c_libraries[] = {"libc.so.6", "libc.musl-x86_64.so.1",
                                          "libc.musl-aarch64.so.1", LINKAGE_MUSL};

/* The other parts of glibc, which nearly every program loads. */
static const char *const c_parts[] = {"libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"};

#define C_LIBRARY_COUNT (sizeof(c_libraries) / sizeof(*c_libraries))

/* A space-separated list of names in a report. */
struct name_list {
	struct arena *arena;
	struct slice text; /* null: none */
	size_t count;
	bool failed; /* out of memory */
};

/* --- the closure --- */

/* The library with that name or path in the closure; NULL if there is none. */
static struct library *loaded(const struct closure *closure, struct slice name)
{
	for (size_t i = 0; i < closure->count; i++) {
		struct library *library = closure->libraries[i];

		if (slice_equal(library->single[ELF_SONAME], name) ||
		    slice_equal(path_base(library->path), name) || slice_equal(library->path, name))
			return library;
	}
	return NULL;
}

/* Add a name, once, up to the limit: longer lists are of no use. */
static void add_name(struct name_list *name_list, struct slice name)
{
	size_t before = name_list->text.len;
	char *text, *at;

	if (name_list->count == LINKAGE_NAMES_MAX ||
	    (before && text_has_word(name_list->text.ptr, name)))
		return;
	name_list->count++;
	text = at = arena_alloc(name_list->arena, before + name.len + 2);
	name_list->failed |= !text;
	if (!text)
		return;
	if (before) {
		at = mempcpy(at, name_list->text.ptr, before);
		*at++ = ' ';
	}
	at = mempcpy(at, name.ptr, name.len);
	*at = '\0';
	name_list->text = slice_between(text, at);
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

/* Collect everything that the first library needs, recursively. */
static int collect(struct closure *closure, struct name_list *missing)
{
	struct library *found;

	for (size_t i = 0; i < closure->count; i++) {
		const struct library *library = closure->libraries[i];

		for (size_t j = 0; j < library->link_count; j++) {
			struct slice name = library->links[j].text;
			int code;

			if (library->links[j].what != ELF_NEEDED)
				continue;
			if (!closure_spend(closure, closure->count, name))
				return 0;
			if (loaded(closure, name))
				continue;
			code = closure_find(closure, i, name, &found);
			if (code < 0)
				return code;
			if (code == 0)
				add_name(missing, name);
			else if (!loaded(closure, found->path))
				add_library(closure, i, found);
		}
	}
	return 0;
}

/* --- this machine --- */

/* Add the system's library of that name: 1; 0 if there is none; or a failure. */
static int add_system(struct closure *closure, const char *name)
{
	struct library *found;
	int code;

	if (loaded(closure, slice_of(name)))
		return 1;
	code = closure_find_system(closure, slice_of(name), &found);
	if (code > 0)
		add_library(closure, 0, found);
	return code;
}

/* Does this machine have a C library for any processor? */
static int look_for_libc(struct closure *closure)
{
	struct linkage *linkage = closure->linkage;
	struct library *found;
	int code = 0;

	if (linkage->looked_for_libc)
		return 0;
	closure->any_machine = true;
	for (size_t i = 0; code == 0 && i < C_LIBRARY_COUNT; i++)
		code = closure_find_system(closure, slice_of(c_libraries[i]), &found);
	closure->any_machine = false;
	linkage->has_libc = code > 0;
	linkage->looked_for_libc = code >= 0;
	return code < 0 ? code : 0;
}

/*
 * Add the C library, which every program loads. 1: added; 0: none for the object's machine, with
 * *is_foreign set if there are others; or a failure.
 */
static int add_libc(struct closure *closure, bool *is_foreign)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < C_LIBRARY_COUNT; i++)
		code = loaded(closure, slice_of(c_libraries[i])) != NULL;
	for (size_t i = 0; code == 0 && i < C_LIBRARY_COUNT; i++)
		code = add_system(closure, c_libraries[i]);
	if (code == 0) {
		code = look_for_libc(closure);
		*is_foreign = closure->linkage->has_libc;
		return code;
	}
	for (size_t i = 0; code >= 0 && i < sizeof(c_parts) / sizeof(*c_parts); i++)
		code = add_system(closure, c_parts[i]); /* in some versions part of libc itself */
	return code < 0 ? code : 1;
}

/* --- missing symbols and versions --- */

/* Or unknown. */
static bool is_given(struct closure *closure, struct slice symbol)
{
	for (size_t i = 0; i < closure->count; i++)
		if (!closure_spend(closure, 1, symbol) ||
		    (closure->libraries[i]->export_count &&
		     name_map_get(&closure->libraries[i]->exports, symbol) != NAME_MAP_NONE))
			return true;
	return false;
}

/* Report the undefined symbols of library @index. */
static void judge_symbols(struct closure *closure, size_t index, struct name_list *undefined,
                          struct linkage_report *report)
{
	const struct library *library = closure->libraries[index];

	for (size_t i = 0; i < library->undefined_count; i++) {
		struct slice symbol = library->undefined[i];

		if (is_given(closure, symbol))
			continue;
		if (!elf_is_python(symbol)) {
			add_name(undefined, symbol);
		} else if (!report->needs_python) {
			report->needs_python = true;
			if (index > 0)
				report->python_by = path_base(library->path);
		}
	}
}

/* Is the library of @wanted present, with versions, but without that one? */
static bool lacks_version(struct closure *closure, const struct library_link *wanted)
{
	const struct library *library = closure_spend(closure, closure->count, wanted->of)
	                                        ? loaded(closure, wanted->of)
	                                        : NULL;
	bool has_versions = false;

	if (library && !closure_spend(closure, library->link_count, wanted->text))
		return false;
	for (size_t i = 0; library && i < library->link_count; i++) {
		if (library->links[i].what != ELF_VERSION_DEFINED)
			continue;
		if (slice_equal(library->links[i].text, wanted->text))
			return false;
		has_versions = true;
	}
	return has_versions;
}

/* Update @newest from "GLIBC_2.34", if it is newer; names such as GLIBC_PRIVATE are ignored. */
static void note_newest(struct slice name, struct slice prefix, struct slice *newest)
{
	struct slice version;

	if (!slice_starts(name, prefix))
		return;
	version = slice_from(name, prefix.len);
	if (version.len && dotted_is(version) &&
	    (slice_is_null(*newest) || dotted_is_newer(version, *newest)))
		*newest = version;
}

static void judge_versions(struct closure *closure, const struct library *library,
                           struct name_list *missing, struct linkage_report *report)
{
	for (size_t i = 0; i < library->link_count; i++) {
		const struct library_link *wanted = &library->links[i];

		if (wanted->what != ELF_VERSION_NEEDED)
			continue;
		if (!library->is_system) {
			note_newest(wanted->text, SLICE("GLIBC_"), &report->glibc);
			note_newest(wanted->text, SLICE("GLIBCXX_"), &report->glibcxx);
		}
		if (lacks_version(closure, wanted))
			add_name(missing, wanted->text);
	}
}

/* --- the report --- */

/* Fill the report from the closure, which holds the object; texts are copied to @arena. */
static int judge(struct closure *closure, struct arena *arena, struct linkage_report *report)
{
	struct name_list missing = {.arena = arena}, undefined = {.arena = arena};
	bool failed = false;
	int code = collect(closure, &missing), has_libc = 0;

	if (code == 0)
		has_libc = code = add_libc(closure, &report->is_foreign);
	if (code < 0)
		return code;
	for (size_t i = 0; i < closure->count; i++) {
		judge_versions(closure, closure->libraries[i], &missing, report);
		judge_symbols(closure, i, &undefined, report);
	}
	report->not_examined = closure->not_examined;
	report->glibc = arena_copy(arena, report->glibc, &failed);
	report->glibcxx = arena_copy(arena, report->glibcxx, &failed);
	report->python_by = arena_copy(arena, report->python_by, &failed);
	if (has_libc > 0 && !report->not_examined) { /* else unknown */
		report->missing = missing.text;
		if (missing.count == 0) /* else symbols of the missing library are undefined, too */
			report->undefined = undefined.text;
	}
	return failed || missing.failed || undefined.failed ? error_nomem(closure->error) : 0;
}

int linkage_judge(struct linkage *linkage, struct elf_file *file, struct slice path,
                  const struct linkage_archive *archive, struct arena *arena,
                  struct linkage_report *out, struct error *error)
{
	CLEANUP(cleanup_free) struct closure *closure = calloc(1, sizeof(*closure));
	struct linkage_report report = {0};
	int code;

	if (!closure)
		return error_nomem(error);
	closure->linkage = linkage;
	closure->archive = archive;
	closure->error = error;
	closure_begin(closure);
	code = library_read(file, path, false, &closure->own[0], error);
	if (code == 0) {
		closure->own_count = closure->count = 1;
		closure->libraries[0] = closure->own[0];
		code = judge(closure, arena, &report);
	}
	for (size_t i = 0; i < closure->own_count; i++)
		library_free(closure->own[i]);
	if (code == ERROR_LIMIT) {
		error_clear(error);
		report = (struct linkage_report){.not_examined = true};
		code = 0;
	}
	if (code == 0)
		*out = report;
	return code;
}

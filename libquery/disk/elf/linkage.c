/*
 * linkage.c - collects all that an object needs, breadth first, as ld.so does, and tells what
 * is missing in that.
 */
#include "libquery/disk/elf/linkage.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "db/base/text.h"
#include "libquery/disk/elf/object_name.h"

#define LOOKUPS_MAX ((size_t)1 << 26) /* of symbols in libraries, for one object */

/* The names of C libraries: glibc's, musl's on Alpine Linux, and musl's own. */
static const char *const c_libraries[] = {"libc.so.6", "libc.musl-x86_64.so.1",
                                          "libc.musl-aarch64.so.1", LINKAGE_MUSL};

/* The other parts of glibc, which hardly a program does without. */
static const char *const c_parts[] = {"libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"};

#define C_LIBRARY_COUNT (sizeof(c_libraries) / sizeof(*c_libraries))

/* Names in a list of a report, a space between two. */
struct told {
	struct arena *arena;
	struct slice text; /* null: none */
	size_t count;
	bool failed; /* no memory */
};

/* --- the closure --- */

/* The library of that name, or at that path, which is to be loaded anyway; NULL: none is. */
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

/* Note a name: once each, and the first few. A list of hundreds tells no more. */
static void tell(struct told *told, struct slice name)
{
	size_t before = told->text.len;
	char *text, *at;

	if (told->count == LINKAGE_TOLD_MAX || (before && text_has_word(told->text.ptr, name)))
		return;
	told->count++;
	text = at = arena_alloc(told->arena, before + name.len + 2);
	told->failed |= !text;
	if (!text)
		return;
	if (before) {
		at = mempcpy(at, told->text.ptr, before);
		*at++ = ' ';
	}
	at = mempcpy(at, name.ptr, name.len);
	*at = '\0';
	told->text = slice_between(text, at);
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

/* All that the first library, which is there, needs. */
static int collect(struct closure *closure, struct told *missing)
{
	struct library *found;

	for (size_t i = 0; i < closure->count; i++) {
		const struct library *library = closure->libraries[i];

		for (size_t j = 0; j < library->link_count; j++) {
			struct slice name = library->links[j].text;
			int code;

			if (library->links[j].what != ELF_NEEDED || loaded(closure, name))
				continue;
			code = closure_find(closure, i, name, &found);
			if (code < 0)
				return code;
			if (code == 0)
				tell(missing, name);
			else if (!loaded(closure, found->path))
				add_library(closure, i, found);
		}
	}
	return 0;
}

/* --- this machine --- */

/* Have the library of the system that is called so: 1; 0: there is none; or a failure. */
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

/* Does this machine have a C library at all, for whatever processor? */
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
 * The C library for the object, part of any program. 1: it is known; 0: there is none for
 * it, and *is_foreign says whether for others; or a failure.
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
		code = add_system(closure, c_parts[i]); /* or it is part of the C library itself */
	return code < 0 ? code : 1;
}

/* --- what is missing in it --- */

/* When there have been too many look-ups, it is not known what is given. */
static bool is_given(struct closure *closure, struct slice symbol)
{
	closure->lookups += closure->count;
	if (closure->lookups > LOOKUPS_MAX) {
		closure->not_examined = true;
		return true;
	}
	for (size_t i = 0; i < closure->count; i++)
		if (closure->libraries[i]->export_count &&
		    name_map_get(&closure->libraries[i]->exports, symbol) != NAME_MAP_NONE)
			return true;
	return false;
}

/* What nothing gives of what @index needs. */
static void judge_symbols(struct closure *closure, size_t index, struct told *undefined,
                          struct linkage_report *report)
{
	const struct library *library = closure->libraries[index];

	for (size_t i = 0; i < library->undefined_count; i++) {
		struct slice symbol = library->undefined[i];

		if (is_given(closure, symbol))
			continue;
		if (!elf_is_python(symbol)) {
			tell(undefined, symbol);
		} else if (!report->needs_python) {
			report->needs_python = true;
			if (index > 0)
				report->python_by = path_base(library->path);
		}
	}
}

/* Is the library of @wanted there, and without that version, having others? */
static bool lacks_version(const struct closure *closure, const struct library_link *wanted)
{
	const struct library *library = loaded(closure, wanted->of);
	bool has_versions = false;

	for (size_t i = 0; library && i < library->link_count; i++) {
		if (library->links[i].what != ELF_VERSION_DEFINED)
			continue;
		if (slice_equal(library->links[i].text, wanted->text))
			return false;
		has_versions = true;
	}
	return has_versions;
}

/* @newest becomes "2.34" of GLIBC_2.34, if that is newer; other names are GLIBC_PRIVATE and such.
 */
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

static void judge_versions(const struct closure *closure, const struct library *library,
                           struct told *missing, struct linkage_report *report)
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
			tell(missing, wanted->text);
	}
}

/* --- the report --- */

/* What the closure, whose first library is there, says; texts are copied to @arena. */
static int judge(struct closure *closure, struct arena *arena, struct linkage_report *report)
{
	struct told missing = {.arena = arena}, undefined = {.arena = arena};
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
	if (has_libc > 0 && !report->not_examined) { /* else it is not known what there is */
		report->missing = missing.text;
		if (missing.count == 0) /* else whatever it would have given is undefined, too */
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
	if (code == 0)
		*out = report;
	return code;
}

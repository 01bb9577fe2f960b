/*
 * linkage.c - see linkage.h. A closure is collected breadth first, as ld.so does, and
 * then asked for what is missing in it; see linkage_closure.h.
 */
#include "libquery/disk/elf/linkage.h"

#include <stdlib.h>

#include "db/base/cleanup.h"
#include "db/base/path.h"
#include "libquery/disk/elf/dotted.h"

/* --- what is missing in it --- */

/* When there have been too many look-ups, it is not known what is given. */
static bool is_given(struct closure *closure, struct slice symbol)
{
	closure->lookups += closure->count;
	if (closure->lookups > LINKAGE_LOOKUPS_MAX) {
		closure->not_examined = true;
		return true;
	}
	for (size_t i = 0; i < closure->count; i++)
		if (library_exports(closure->libraries[i], symbol))
			return true;
	return false;
}

/* What nothing gives of what @index needs. */
static int judge_symbols(struct closure *closure, size_t index, struct library_names *undefined,
                         struct linkage_report *report)
{
	const struct library *library = closure->libraries[index];
	int code = 0;

	for (size_t i = 0; code == 0 && i < library->undefined.count; i++) {
		struct slice symbol = library->undefined.items[i];

		if (is_given(closure, symbol))
			continue;
		if (!elf_is_python(symbol)) {
			code = closure_tell(closure, undefined, symbol);
		} else if (!report->needs_python) {
			report->needs_python = true;
			if (index > 0)
				report->python_by = path_base(library->path);
		}
	}
	return code;
}

/* Is the library of @wanted there, and without that version? */
static bool lacks_version(const struct closure *closure, const struct library_version *wanted)
{
	const struct library *library = closure_loaded(closure, wanted->library);

	return library && library->defined.count && !library_defines(library, wanted->version);
}

/* "2.34" of GLIBC_2.34; null for other names, such as GLIBC_PRIVATE. */
static struct slice version_of(struct slice name, struct slice prefix)
{
	struct slice rest;

	if (!slice_starts(name, prefix))
		return (struct slice){0};
	rest = slice_from(name, prefix.len);
	for (size_t i = 0; i < rest.len; i++)
		if (rest.ptr[i] != '.' && (rest.ptr[i] < '0' || rest.ptr[i] > '9'))
			return (struct slice){0};
	return rest.len ? rest : (struct slice){0};
}

static void note_newest(struct slice version, struct slice *newest)
{
	if (version.len && (slice_is_null(*newest) || dotted_is_newer(version, *newest)))
		*newest = version;
}

static int judge_versions(struct closure *closure, const struct library *library,
                          struct linkage_report *report)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < library->wanted_count; i++) {
		const struct library_version *wanted = &library->wanted[i];

		if (!library->is_system) {
			note_newest(version_of(wanted->version, SLICE("GLIBC_")), &report->glibc);
			note_newest(version_of(wanted->version, SLICE("GLIBCXX_")),
			            &report->glibcxx);
		}
		if (lacks_version(closure, wanted))
			code = closure_tell(closure, &closure->missing, wanted->version);
	}
	return code;
}

/* --- the report --- */

static struct slice join(const struct library_names *names, struct arena *arena, bool *failed)
{
	size_t length = 0;
	char *text, *at;

	if (names->count == 0)
		return (struct slice){0};
	for (size_t i = 0; i < names->count; i++)
		length += names->items[i].len + 1;
	text = at = arena_alloc(arena, length);
	if (!text) {
		*failed = true;
		return (struct slice){0};
	}
	for (size_t i = 0; i < names->count; i++) {
		memcpy(at, names->items[i].ptr, names->items[i].len);
		at += names->items[i].len;
		*at++ = ' ';
	}
	at[-1] = '\0';
	return slice_between(text, at - 1);
}

static int finish(const struct closure *closure, const struct library_names *undefined,
                  struct arena *arena, struct linkage_report *report)
{
	bool failed = false;

	report->glibc = arena_copy(arena, report->glibc, &failed);
	report->glibcxx = arena_copy(arena, report->glibcxx, &failed);
	report->python_by = arena_copy(arena, report->python_by, &failed);
	report->missing = join(&closure->missing, arena, &failed);
	if (closure->missing.count == 0) /* else whatever it would have given is undefined, too */
		report->undefined = join(undefined, arena, &failed);
	return failed ? error_nomem(closure->error) : 0;
}

static int judge(struct closure *closure, struct library_names *undefined,
                 struct linkage_report *report)
{
	int code = closure_collect(closure), has_libc = 0;

	if (code == 0)
		has_libc = code = closure_add_libc(closure, &report->is_foreign);
	for (size_t i = 0; code >= 0 && i < closure->count; i++) {
		code = judge_versions(closure, closure->libraries[i], report);
		if (code == 0)
			code = judge_symbols(closure, i, undefined, report);
	}
	report->not_examined = closure->not_examined;
	if (code == 0 && (has_libc == 0 || report->not_examined)) /* not known what there is */
		closure->missing.count = undefined->count = 0;
	return code < 0 ? code : 0;
}

int linkage_judge(struct linkage *linkage, struct elf_file *file, struct slice path,
                  const struct linkage_archive *archive, struct arena *arena,
                  struct linkage_report *out, struct error *error)
{
	CLEANUP(cleanup_free) struct closure *closure = calloc(1, sizeof(*closure));
	struct library_names undefined = {0};
	struct linkage_report report = {0};
	int code;

	if (!closure)
		return error_nomem(error);
	closure->linkage = linkage;
	closure->archive = archive;
	closure->error = error;
	linkage_make_room(linkage);
	code = library_read(file, path, false, &closure->own[0], error);
	if (code == 0) {
		closure->own_count = closure->count = 1;
		closure->libraries[0] = closure->own[0];
		code = judge(closure, &undefined, &report);
	}
	if (code == 0)
		code = finish(closure, &undefined, arena, &report);
	for (size_t i = 0; i < closure->own_count; i++)
		library_free(closure->own[i]);
	free(closure->missing.items);
	free(undefined.items);
	if (code == 0)
		*out = report;
	return code;
}

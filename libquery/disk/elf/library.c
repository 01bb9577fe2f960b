/*
 * library.c - keeps what linking asks of a library, so that its file is read once.
 */
#include "libquery/disk/elf/library.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"

static struct slice keep(struct library *library, struct slice text)
{
	return arena_copy(&library->arena, text, &library->failed);
}

static void add_name(struct library *library, struct library_names *names, struct slice name)
{
	if (!array_grow(&names->items, names->count, sizeof(*names->items), &names->room)) {
		library->failed = true;
		return;
	}
	names->items[names->count++] = keep(library, name);
}

static bool note_symbol(void *payload, const struct elf_symbol *symbol)
{
	struct library *library = payload;

	if (library->export_count + library->undefined.count >= LIBRARY_SYMBOLS_MAX)
		return false;
	if (symbol->is_defined) {
		library->export_count++;
		name_map_put(&library->exports, keep(library, symbol->name), 0, &library->failed);
	} else if (!symbol->is_weak && (!library->is_system || elf_is_python(symbol->name))) {
		add_name(library, &library->undefined, symbol->name);
	}
	return !library->failed;
}

static void add_version(struct library *library, struct slice version, struct slice of)
{
	if (!array_grow(&library->wanted, library->wanted_count, sizeof(*library->wanted),
	                &library->wanted_room)) {
		library->failed = true;
		return;
	}
	library->wanted[library->wanted_count++] =
	        (struct library_version){keep(library, of), keep(library, version)};
}

static bool note_link(void *payload, enum elf_link what, struct slice text, struct slice of)
{
	struct library *library = payload;

	if (library->needed.count + library->defined.count + library->wanted_count >=
	    LIBRARY_LINKS_MAX)
		return false;
	switch (what) {
	case ELF_SONAME:
		library->soname = keep(library, text);
		break;
	case ELF_NEEDED:
		add_name(library, &library->needed, text);
		break;
	case ELF_RPATH:
		library->rpath = keep(library, text);
		break;
	case ELF_RUNPATH:
		library->runpath = keep(library, text);
		break;
	case ELF_VERSION_NEEDED:
		add_version(library, text, of);
		break;
	case ELF_VERSION_DEFINED:
		add_name(library, &library->defined, text);
		break;
	}
	return !library->failed;
}

static void cleanup_library(struct library **library)
{
	library_free(*library);
}

int library_read(struct elf_file *file, struct slice path, bool is_system, struct library **out,
                 struct error *error)
{
	CLEANUP(cleanup_library) struct library *library = calloc(1, sizeof(*library));
	const struct elf_header *header = elf_file_header(file);
	int code;

	if (!library)
		return error_nomem(error);
	library->path = keep(library, path);
	library->is_system = is_system;
	library->elf_class = header->elf_class;
	library->machine = header->machine;
	library->is_shared_object = header->is_shared_object;
	code = elf_file_links(file, note_link, library, error);
	if (code == 0)
		code = elf_file_symbols(file, note_symbol, library, error);
	if (code == 0 && library->failed)
		code = error_nomem(error);
	if (code == 0)
		*out = take(library);
	return code;
}

void library_free(struct library *library)
{
	if (!library)
		return;
	free(library->needed.items);
	free(library->defined.items);
	free(library->undefined.items);
	free(library->wanted);
	name_map_free(&library->exports);
	arena_free(&library->arena);
	free(library);
}

bool library_exports(const struct library *library, struct slice symbol)
{
	return library->export_count && name_map_get(&library->exports, symbol) != NAME_MAP_NONE;
}

bool library_defines(const struct library *library, struct slice version)
{
	for (size_t i = 0; i < library->defined.count; i++)
		if (slice_equal(library->defined.items[i], version))
			return true;
	return false;
}

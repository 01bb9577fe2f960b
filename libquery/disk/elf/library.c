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

static void note_symbol(struct library *library, const struct elf_symbol *symbol)
{
	if (symbol->is_defined) {
		library->export_count++;
		name_map_put(&library->exports, keep(library, symbol->name), 0, &library->failed);
	} else if (!symbol->is_weak && (!library->is_system || elf_is_python(symbol->name))) {
		if (array_grow(&library->undefined, library->undefined_count,
		               sizeof(*library->undefined), &library->undefined_room))
			library->undefined[library->undefined_count++] =
			        keep(library, symbol->name);
		else
			library->failed = true;
	}
}

static bool note_link(void *payload, enum elf_link what, struct slice text, struct slice of)
{
	struct library *library = payload;

	if (what < ELF_NEEDED) {
		library->single[what] = keep(library, text);
		return !library->failed;
	}
	if (library->link_count == LIBRARY_LINKS_MAX)
		return false;
	library->failed |= !array_grow(&library->links, library->link_count,
	                               sizeof(*library->links), &library->link_room);
	if (!library->failed)
		library->links[library->link_count++] =
		        (struct library_link){what, keep(library, text), keep(library, of)};
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
	struct elf_symbol symbol;
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
		code = elf_file_symbols(file, error);
	while (code == 0 && !library->failed &&
	       library->export_count + library->undefined_count < LIBRARY_SYMBOLS_MAX &&
	       elf_file_next_symbol(file, &symbol))
		note_symbol(library, &symbol);
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
	free(library->links);
	free(library->undefined);
	name_map_free(&library->exports);
	arena_free(&library->arena);
	free(library);
}

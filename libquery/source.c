/*
 * source.c - the database files of a handle. Opening a file again, or marking it damaged, starts a
 * new generation, which invalidates everything derived from it.
 */
#include "libquery/source.h"

#include <stdlib.h>
#include <string.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/file.h"

static void open_reader(struct source *source)
{
	reader_close(take(source->reader));
	error_clear(&source->why);
	source->damaged = false;
	source->was_carried = CARRIED_UNKNOWN;
	reader_open(source->file, source->owner, &source->reader, &source->why);
}

/* The generation changes unless the file was and remains unusable. */
static void reopen_source(struct sources *sources, struct source *source)
{
	bool was_of_use = source->reader != NULL;

	open_reader(source);
	sources->generation += was_of_use || source->reader;
}

static void free_source(struct source *source)
{
	reader_close(source->reader);
	error_clear(&source->why);
	free(source->file);
}

static size_t add_source(struct sources *sources, const char *file, uid_t owner)
{
	bool failed = !array_grow(&sources->items, sources->count, sizeof(*sources->items),
	                          &sources->room);
	struct source source = {
	        .file = strdup(file),
	        .owner = owner,
	        .older = name_map_get(&sources->by_file, slice_of(file)),
	};

	failed |= !source.file;
	if (!failed)
		name_map_set(&sources->by_file, slice_of(source.file), (uint32_t)sources->count,
		             &failed);
	if (failed) {
		free_source(&source);
		return SOURCE_NONE;
	}
	open_reader(&source); /* nothing is derived from it yet */
	sources->items[sources->count] = source;
	return sources->count++;
}

static size_t find_of(struct sources *sources, const char *file, uid_t owner)
{
	uint32_t at = name_map_get(&sources->by_file, slice_of(file));

	while (at != NAME_MAP_NONE && sources->items[at].owner != owner)
		at = sources->items[at].older;
	return at == NAME_MAP_NONE ? add_source(sources, file, owner) : at;
}

/* Most files belong to root or the user: one source serves all path entries. */
size_t sources_find(struct sources *sources, const char *file, uid_t owner)
{
	size_t own = find_of(sources, file, TRUST_NO_OTHER);

	if (own == SOURCE_NONE || sources->items[own].why.code != ERROR_PERMISSION ||
	    trust_owner(owner, TRUST_NO_OTHER))
		return own;
	return find_of(sources, file, owner);
}

void sources_retry(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		if (error_is_failure(sources->items[i].why.code))
			reopen_source(sources, &sources->items[i]);
}

void sources_refresh(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		struct source *source = &sources->items[i];
		struct stat status;

		if (source->reader ? reader_is_current(source->reader)
		                   : file_status(AT_FDCWD, source->file, &status, NULL) <= 0)
			continue;
		reopen_source(sources, source);
	}
}

int sources_check(struct sources *sources, size_t index, int code, struct error *why)
{
	struct source *source = &sources->items[index];

	if ((code != ERROR_FORMAT && code != ERROR_IO) || why->code == 0)
		return code;
	error_clear(&source->why);
	source->why = *why;
	*why = (struct error){0};
	source->damaged = true;
	sources->generation++;
	return code;
}

/* Computed once, and only when the stamp of a path entry does not match. */
const struct carried *source_carried(struct source *source)
{
	struct reader *reader = source_reader(source);

	if (reader && source->was_carried == CARRIED_UNKNOWN)
		source->was_carried = reader_carried(reader, &source->carried, NULL) > 0;
	return reader && source->was_carried > 0 ? &source->carried : NULL;
}

void sources_free(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		free_source(&sources->items[i]);
	free(sources->items);
	name_map_free(&sources->by_file);
	*sources = (struct sources){0};
}

/*
 * linkage_memory.c - see linkage_memory.h.
 */
#include "libquery/disk/elf/linkage_memory.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "db/base/cleanup.h"
#include "db/base/small_file.h"
#include "db/base/text.h"

#define CACHE "/etc/ld.so.cache"

struct linkage *linkage_create(const char *sysroot)
{
	struct linkage *linkage = calloc(1, sizeof(*linkage));

	if (!linkage)
		return NULL;
	linkage->sysroot = strdup(sysroot ? sysroot : "");
	if (linkage->sysroot)
		return linkage;
	linkage_free(linkage);
	return NULL;
}

static void forget_libraries(struct linkage *linkage)
{
	for (size_t i = 0; i < linkage->count; i++)
		library_free(linkage->libraries[i]);
	name_map_free(&linkage->by_path);
	linkage->count = linkage->symbols = 0;
}

void linkage_free(struct linkage *linkage)
{
	if (!linkage)
		return;
	forget_libraries(linkage);
	free(linkage->libraries);
	free(linkage->cache_text);
	free(linkage->sysroot);
	free(linkage->hosts);
	free(linkage);
}

bool linkage_add_host(struct linkage *linkage, struct slice directory)
{
	const char *hosts = linkage->hosts ? linkage->hosts : "";
	char *more = text_format("%s%s%.*s", hosts, *hosts ? ":" : "", (int)directory.len,
	                         directory.ptr);

	if (!more)
		return false;
	free(linkage->hosts);
	linkage->hosts = more;
	return true;
}

void linkage_make_room(struct linkage *linkage)
{
	if (linkage->symbols > LINKAGE_SYMBOLS_MAX)
		forget_libraries(linkage);
}

struct library *linkage_known(const struct linkage *linkage, struct slice path)
{
	uint32_t at = name_map_get(&linkage->by_path, path);

	return at == NAME_MAP_NONE ? NULL : linkage->libraries[at];
}

int linkage_remember(struct linkage *linkage, struct library *library, struct error *error)
{
	bool failed = false;

	if (array_grow(&linkage->libraries, linkage->count, sizeof(struct library *),
	               &linkage->room))
		name_map_put(&linkage->by_path, library->path, (uint32_t)linkage->count, &failed);
	else
		failed = true;
	if (failed) {
		library_free(library);
		return error_nomem(error);
	}
	linkage->libraries[linkage->count++] = library;
	linkage->symbols += library->export_count;
	return 0;
}

/* What is no cache is none: there are the directories. */
int linkage_read_cache(struct linkage *linkage, struct error *error)
{
	CLEANUP(cleanup_free) char *path = text_format("%s%s", linkage->sysroot, CACHE);
	size_t length = 0;
	int code;

	if (linkage->has_cache)
		return 0;
	code = path ? small_file_read(path, LD_CACHE_MAX, &linkage->cache_text, &length, error)
	            : error_nomem(error);
	if (code > 0)
		ld_cache_open((struct slice){linkage->cache_text, length}, &linkage->cache);
	linkage->has_cache = code >= 0;
	return code < 0 ? code : 0;
}

/*
 * members.c - decides what counts in an archive, and keeps that.
 */
#include "indexer/archive/members.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "libquery/disk/elf/object_name.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/distname.h"

/* A file that is kept, by its name. */
struct rule {
	const char *name;
	size_t limit; /* bytes */
};

/* Right in a metadata directory. */
static const struct rule metadata_rules[] = {
        {"METADATA", METADATA_MAX},
        {"PKG-INFO", METADATA_MAX},
        {"RECORD", RECORD_MAX},
        {"SOURCES.txt", METADATA_MAX},
        {"direct_url.json", METADATA_MAX},
        {"entry_points.txt", ENTRY_POINTS_TXT_MAX},
        {NULL, 0},
};

/* In the one directory at the top of a source distribution. */
static const struct rule source_rules[] = {
        {"PKG-INFO", METADATA_MAX},
        {"pyproject.toml", METADATA_MAX},
        {NULL, 0},
};

void members_free(struct members *members)
{
	free(members->files);
	name_map_free(&members->kept);
	arena_free(&members->arena);
	*members = (struct members){0};
}

/* --- paths --- */

static struct slice take_component(struct slice *rest)
{
	const char *slash = rest->len ? memchr(rest->ptr, '/', rest->len) : NULL;
	struct slice component = slash ? slice_between(rest->ptr, slash) : *rest;

	*rest = slice_from(*rest, component.len + (slash != NULL));
	return component;
}

static struct slice without_dot(struct slice path)
{
	while (slice_starts(path, SLICE("./")))
		path = slice_from(path, 2);
	return path;
}

/* No path may lead out of the directory where the archive would be unpacked. */
static bool is_safe(struct slice path)
{
	struct slice rest = path;

	if (path.len == 0 || path.ptr[0] == '/')
		return false;
	while (rest.len > 0)
		if (slice_equal(take_component(&rest), SLICE("..")))
			return false;
	return true;
}

/* --- what to keep --- */

static size_t limit_of(const struct rule *rules, struct slice name)
{
	for (; rules->name; rules++)
		if (slice_equal(slice_of(rules->name), name))
			return rules->limit;
	return 0;
}

/* A known file of a metadata directory, or a metadata file such as old eggs have. */
static size_t metadata_limit(struct slice path)
{
	struct slice info = distname_first_info(path);

	if (slice_is_null(info) || info.len == path.len)
		return slice_is_null(info) ? 0 : METADATA_MAX;
	return limit_of(metadata_rules, slice_from(path, info.len + 1));
}

static size_t source_limit(struct slice path)
{
	struct slice rest = path;

	take_component(&rest);
	return rest.len > 0 ? limit_of(source_rules, rest) : 0;
}

size_t members_wanted(void *payload, struct slice path, uint64_t size)
{
	struct members *members = payload;
	size_t limit;

	path = without_dot(path);
	if (!is_safe(path))
		return 0;
	limit = metadata_limit(path);
	if (limit == 0)
		limit = source_limit(path);
	if (limit > 0)
		return limit;
	if (!object_name_may_be(path) || size > ARCHIVE_OBJECT_MEMORY ||
	    size > MEMBERS_OBJECTS_MAX - members->object_bytes)
		return 0;
	return (size_t)size;
}

/* --- adding --- */

static int ignore(struct members *members, struct slice path, struct error *error)
{
	bool failed = false;

	if (members->ignored++ == 0)
		members->example = arena_copy(&members->arena, path, &failed);
	return failed ? error_nomem(error) : 0;
}

static int count_bytes(struct members *members, struct slice path, size_t size, struct error *error)
{
	bool is_object = object_name_may_be(path);

	members->object_bytes += is_object ? size : 0;
	members->metadata_bytes += path.len + (is_object ? 0 : size);
	if (members->metadata_bytes > MEMBERS_METADATA_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "%s: more than %zu bytes of paths and metadata", members->path,
		                 MEMBERS_METADATA_MAX);
	return 0;
}

int members_add(void *payload, struct slice path, struct slice bytes, struct error *error)
{
	struct members *members = payload;
	struct tree_file file;
	bool failed = false;
	uint32_t at;
	int code;

	path = without_dot(path);
	if (!is_safe(path))
		return ignore(members, path, error);
	code = count_bytes(members, path, bytes.len, error);
	if (code < 0)
		return code;
	file.path = arena_copy(&members->arena, path, &failed);
	file.bytes = arena_copy(&members->arena, bytes, &failed);
	if (failed ||
	    !array_grow(&members->files, members->count, sizeof(*members->files), &members->room))
		return error_nomem(error);
	at = (uint32_t)members->count;
	if (!slice_is_null(bytes))
		at = name_map_put(&members->kept, file.path, at, &failed);
	members->files[at] = file;
	members->count += at == members->count;
	return failed ? error_nomem(error) : 0;
}

const struct tree_file *members_find(const struct members *members, struct slice path)
{
	uint32_t at = name_map_get(&members->kept, path);

	return at == NAME_MAP_NONE ? NULL : &members->files[at];
}

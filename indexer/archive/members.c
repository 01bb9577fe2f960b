/*
 * members.c - selects and stores the relevant files of an archive.
 */
#include "indexer/archive/members.h"

#include <stdlib.h>

#include "db/base/array.h"
#include "libquery/disk/elf/object_name.h"
#include "libquery/disk/metadata/distribution.h"
#include "libquery/disk/target/target_record.h"
#include "libquery/disk/tree/distname.h"

/* Files to keep: directly in a metadata directory, and at the top of a source distribution. */
static const struct rule {
	const char *name;
	size_t limit; /* bytes */
	bool in_metadata, in_source;
} rules[] = {
        {"METADATA", METADATA_MAX, true, false},
        {"PKG-INFO", METADATA_MAX, true, true},
        {"RECORD", RECORD_MAX, true, false},
        {"SOURCES.txt", METADATA_MAX, true, false},
        {"direct_url.json", METADATA_MAX, true, false},
        {"entry_points.txt", ENTRY_POINTS_TXT_MAX, true, false},
        {"pyproject.toml", METADATA_MAX, false, true},
};

void members_free(struct members *members)
{
	free(members->files);
	name_map_free(&members->kept);
	arena_free(&members->arena);
	*members = (struct members){0};
}

/* --- paths --- */

static struct slice without_dot(struct slice path)
{
	while (slice_starts(path, SLICE("./")))
		path = slice_from(path, 2);
	return path;
}

/* No path may leave the directory where the archive would be unpacked. */
static bool is_safe(struct slice path)
{
	struct slice rest = path;

	if (path.len == 0 || path.ptr[0] == '/')
		return false;
	while (rest.len > 0)
		if (slice_equal(slice_take(&rest, '/'), SLICE("..")))
			return false;
	return true;
}

/* --- what to keep --- */

/* The limit for a file that is no shared object; includes metadata files of old eggs. */
static size_t limit_of(struct slice path)
{
	struct slice info = distname_first_info(path), top = path;
	bool has_info = !slice_is_null(info), is_under_top;

	if (has_info && info.len == path.len)
		return METADATA_MAX;
	is_under_top = slice_take(&top, '/').len > 0 && top.len > 0;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct slice name = slice_of(rules[i].name);

		if ((has_info && rules[i].in_metadata &&
		     slice_equal(slice_from(path, info.len + 1), name)) ||
		    (is_under_top && rules[i].in_source && slice_equal(top, name)))
			return rules[i].limit;
	}
	return 0;
}

size_t members_wanted(void *payload, struct slice path, uint64_t size)
{
	struct members *members = payload;
	size_t limit;

	path = without_dot(path);
	limit = is_safe(path) ? limit_of(path) : 0;
	if (limit > 0 || !is_safe(path) || !object_name_may_be(path) ||
	    size > ARCHIVE_OBJECT_MEMORY || size > MEMBERS_OBJECTS_MAX - members->object_bytes)
		return limit;
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

int members_link(void *payload, struct slice path, struct slice target, struct error *error)
{
	struct members *members = payload;
	const struct tree_file *file = members_find(members, without_dot(target));
	uint32_t at = name_map_get(&members->kept, without_dot(path));

	if (file)
		return members_add(members, path, file->bytes, error);
	if (at != NAME_MAP_NONE)
		members->files[at].bytes = (struct slice){0};
	return ignore(members, path, error);
}

const struct tree_file *members_find(const struct members *members, struct slice path)
{
	uint32_t at = name_map_get(&members->kept, path);

	if (at == NAME_MAP_NONE || slice_is_null(members->files[at].bytes))
		return NULL;
	return &members->files[at];
}

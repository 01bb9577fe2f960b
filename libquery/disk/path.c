/*
 * path.c - see path.h.
 */
#include "libquery/disk/path.h"

size_t path_room(struct slice directory, struct slice name)
{
	return directory.len + (name.len > 0) + name.len + 1;
}

struct slice path_join(char *to, struct slice directory, struct slice name)
{
	char *at = to;

	if (directory.len > 0)
		memcpy(at, directory.ptr, directory.len);
	at += directory.len;
	if (name.len > 0) {
		*at++ = '/';
		memcpy(at, name.ptr, name.len);
		at += name.len;
	}
	*at = '\0';
	return slice_between(to, at);
}

struct slice path_join_in(struct arena *arena, struct slice directory, struct slice name,
                          bool *failed)
{
	char *to = arena_alloc(arena, path_room(directory, name));

	if (to)
		return path_join(to, directory, name);
	*failed = true;
	return (struct slice){0};
}

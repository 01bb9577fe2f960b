/*
 * path.c - path names as text.
 */
#include "db/base/path.h"

static const char *last_slash(struct slice path)
{
	return path.len > 0 ? memrchr(path.ptr, '/', path.len) : NULL;
}

struct slice path_base(struct slice path)
{
	const char *slash = last_slash(path);

	return slash ? slice_between(slash + 1, path.ptr + path.len) : path;
}

struct slice path_directory(struct slice path)
{
	const char *slash = last_slash(path);

	return slash ? slice_between(path.ptr, slash) : slice_first(path, 0);
}

char *path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

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

bool path_tidy(char *path, bool ups)
{
	char *to = path;
	bool has_up = false;

	for (char *from = path; *from;) {
		size_t len;
		bool is_up;

		while (*from == '/')
			from++;
		len = strcspn(from, "/");
		is_up = len == 2 && from[0] == '.' && from[1] == '.';
		has_up |= is_up;
		if (is_up && ups) {
			while (to > path && *--to != '/')
				;
		} else if (len > 0 && !(len == 1 && from[0] == '.')) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
	return !has_up;
}

char *path_normalize(char *path)
{
	path_tidy(path + (path[1] == '/' && path[2] != '/'), true);
	return path;
}

/*
 * object_name.c - tells by its name alone whether a file may be a shared object.
 */
#include "libquery/disk/elf/object_name.h"

const char *const object_name_others[] = {"duckdb_extension", NULL};

size_t object_name_suffix(struct slice name)
{
	size_t at = name.len;

	while (at > 0 &&
	       (name.ptr[at - 1] == '.' || (name.ptr[at - 1] >= '0' && name.ptr[at - 1] <= '9')))
		at--;
	if (at == name.len || name.ptr[at] == '.')
		return slice_ends(slice_first(name, at), SLICE(".so")) ? name.len - at + 3 : 0;
	return 0;
}

bool object_name_may_be(struct slice name)
{
	const char *dot;

	if (object_name_suffix(name))
		return true;
	dot = name.len ? memrchr(name.ptr, '.', name.len) : NULL;
	for (const char *const *other = object_name_others; dot && *other; other++)
		if (slice_equal(slice_between(dot + 1, name.ptr + name.len), slice_of(*other)))
			return true;
	return false;
}

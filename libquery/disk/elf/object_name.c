/*
 * object_name.c - recognizes shared objects by their file names.
 */
#include "libquery/disk/elf/object_name.h"

#include <limits.h>

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
	return object_name_suffix(name) || slice_ends(name, SLICE("." OBJECT_NAME_OTHER));
}

bool dotted_is(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != '.' && (text.ptr[i] < '0' || text.ptr[i] > '9'))
			return false;
	return true;
}

/* Take the leading number and its dot off *text. */
static unsigned long take_number(struct slice *text)
{
	unsigned long number = 0;
	size_t i = 0;

	for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++)
		number = number < ULONG_MAX / 16 ? 10 * number + (unsigned long)(text->ptr[i] - '0')
		                                 : number;
	*text = slice_from(*text, i < text->len ? i + 1 : i);
	return number;
}

bool dotted_is_newer(struct slice a, struct slice b)
{
	while (a.len > 0 || b.len > 0) {
		unsigned long left = take_number(&a), right = take_number(&b);

		if (left != right)
			return left > right;
	}
	return false;
}

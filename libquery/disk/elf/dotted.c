/*
 * dotted.c - compares versions by their numbers, not their letters.
 */
#include "libquery/disk/elf/dotted.h"

#include <limits.h>

/* The number at the beginning of *text, which is moved behind it and its dot. */
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

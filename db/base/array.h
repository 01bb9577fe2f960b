/*
 * array.h - dynamic arrays that grow by one item at a time.
 */
#ifndef DB_BASE_ARRAY_H
#define DB_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define ARRAY_ROOM_FIRST 4 /* items: most arrays stay short */

/*
 * Make room for one more item in a malloc'd array. @items points to the pointer to its first item;
 * it has @count items of @size bytes and a capacity of *@room items. Returns false if out of
 * memory; the array is then unchanged.
 */
static inline bool array_grow(void *items, size_t count, size_t size, size_t *room)
{
	void **array = items;
	size_t wanted = *room ? 2 * *room : ARRAY_ROOM_FIRST;
	void *bigger;

	if (count < *room)
		return true;
	bigger = reallocarray(*array, wanted, size);
	if (!bigger)
		return false;
	*array = bigger;
	*room = wanted;
	return true;
}

#endif

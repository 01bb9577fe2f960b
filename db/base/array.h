/*
 * array.h - arrays that grow by one item at a time.
 */
#ifndef DB_BASE_ARRAY_H
#define DB_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define ARRAY_ROOM_FIRST 4 /* items: most arrays stay short */

/*
 * Have room for one more item in the malloc'd array at *@items (a pointer to the
 * pointer to the first of them), which has @count items of @size bytes and room for
 * *@room of them. False, and nothing is changed, without memory.
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

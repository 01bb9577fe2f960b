/*
 * arena.h - memory that is released all at once.
 *
 * The records of one root, or of one result, live and die together: they are
 * carved from large blocks, with no call to free for each. Memory from an arena
 * is aligned for any type and is not initialised unless said.
 */
#ifndef DB_BASE_ARENA_H
#define DB_BASE_ARENA_H

#include "db/base/slice.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	char *next, *end;           /* what is left of the newest */
};

#define ARENA_INIT ((struct arena){0})

/* @size bytes, or NULL when there is no memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* @count zeroed objects of @size bytes, or NULL; the product is checked. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);

/* A NUL-terminated copy of @s; the null slice stays null. *failed is set when there is no memory.
 */
struct slice arena_copy(struct arena *arena, struct slice s, bool *failed);

/* Release everything; the arena is empty and usable afterwards. */
void arena_free(struct arena *arena);

#endif

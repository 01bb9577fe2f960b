/*
 * arena.h - a region allocator: memory that is released all at once.
 *
 * The records of one root, or of one result, live and die together: they are carved from large
 * blocks and are never freed one by one. Memory from an arena is aligned for any type and
 * uninitialised, except from arena_calloc().
 */
#ifndef DB_BASE_ARENA_H
#define DB_BASE_ARENA_H

#include "db/base/slice.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	char *next, *end;           /* the free part of the newest block */
};

#define ARENA_INIT ((struct arena){0})

/* @size bytes, or NULL if out of memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* @count zeroed objects of @size bytes; NULL if out of memory or on overflow. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);

/* A NUL-terminated copy of @s; the null slice stays null. Sets *failed if out of memory. */
struct slice arena_copy(struct arena *arena, struct slice s, bool *failed);

/* Free all memory; the arena is then empty and can be used again. */
void arena_free(struct arena *arena);

#endif

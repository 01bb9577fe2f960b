/*
 * arena.c - a region allocator with blocks that grow after the first.
 */
#include "db/base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#define BLOCK_SIZE     ((size_t)64 * 1024) /* bytes of every later block */
#define FIRST_SIZE     ((size_t)960)       /* bytes of the first block: most results are small */
#define ALIGNMENT      _Alignof(max_align_t)
#define ROUND_UP(size) (((size) + ALIGNMENT - 1) & ~(ALIGNMENT - 1))

struct arena_block {
	struct arena_block *older;
	size_t size;
	_Alignas(max_align_t) char bytes[];
};

static void *new_block(struct arena *arena, size_t size)
{
	size_t usual = arena->blocks ? BLOCK_SIZE : FIRST_SIZE;
	size_t room = size > usual ? size : usual;
	struct arena_block *block = malloc(sizeof(*block) + room);

	if (!block)
		return NULL;
	block->size = room;
	block->older = arena->blocks;
	arena->blocks = block;
	arena->next = block->bytes + size;
	arena->end = block->bytes + room;
	return block->bytes;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	char *result = arena->next;

	if (size > SIZE_MAX - ALIGNMENT - sizeof(struct arena_block))
		return NULL;
	size = ROUND_UP(size);
	if (!result || (size_t)(arena->end - arena->next) < size)
		return new_block(arena, size);
	arena->next += size;
	return result;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
	size_t total;
	void *result;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	result = arena_alloc(arena, total);
	return result ? memset(result, 0, total) : NULL;
}

struct slice arena_copy(struct arena *arena, struct slice s, bool *failed)
{
	char *copy;

	if (slice_is_null(s))
		return s;
	copy = arena_alloc(arena, s.len + 1);
	if (!copy) {
		*failed = true;
		return (struct slice){0};
	}
	memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return (struct slice){copy, s.len};
}

void arena_free(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;

		arena->blocks = block->older;
		free(block);
	}
	*arena = ARENA_INIT;
}
